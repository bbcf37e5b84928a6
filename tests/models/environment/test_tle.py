"""Two-line elements against the verification vectors that ship with sgp4."""

from pathlib import Path

import numpy as np
import pytest
import sgp4

from gnc.errors import InputError
from gnc.models.environment import Epoch, TleOrbit

FOLDER = Path(sgp4.__file__).parent
LINE_1 = "1 06251U 62025E   06176.82412014  .00008885  00000-0  12808-3 0  3985"
LINE_2 = "2 06251  58.0579  54.0425 0030035 139.1568 221.1854 15.56387291  6774"


def elements():
    """Read the elements of the verification set, by satellite number."""
    lines = (FOLDER / "SGP4-VER.TLE").read_text().splitlines()
    pairs = zip(lines, lines[1:], strict=False)
    return {a[2:7].lstrip("0"): (a[:69], b[:69]) for a, b in pairs if a.startswith("1 ") and b.startswith("2 ")}


def vectors():
    """Read the published states [minutes, km, km/s], by satellite number."""
    found: dict[str, list] = {}
    rows: list = []
    for line in (FOLDER / "tcppver.out").read_text().splitlines():
        words = line.split()
        if len(words) == 2 and words[1] == "xx":
            rows = found.setdefault(words[0], [])
        elif words:
            rows.append([float(word) for word in words[:7]])
    return {number: np.array(rows) for number, rows in found.items()}


@pytest.mark.parametrize("number", ["5", "4632", "6251", "8195", "11801", "22312", "25954", "28129", "28872"])
def test_states_are_the_published_ones_to_a_millimetre(number):
    """Near Earth, deep space, resonant, low perigee, high drag; printed with 1e-8 km and 1e-9 km/s."""
    reference = vectors()[number]
    state = TleOrbit(*elements()[number]).teme(60.0 * reference[:, 0])
    np.testing.assert_allclose(state.r_I, 1e3 * reference[:, 1:4], rtol=0, atol=1e-3)
    np.testing.assert_allclose(state.v_I, 1e3 * reference[:, 4:7], rtol=0, atol=1e-5)


def test_inertial_states_are_those_of_sgp4_turned():
    orbit = TleOrbit(LINE_1, LINE_2)
    inertial, teme = orbit.at(np.arange(5.0)), orbit.teme(np.arange(5.0))
    for a, b in zip(inertial, teme, strict=True):
        np.testing.assert_allclose(np.linalg.norm(a, axis=-1), np.linalg.norm(b, axis=-1), rtol=1e-15)
    apart = np.linalg.norm(inertial.r_I - teme.r_I, axis=-1)
    assert np.all((apart > 1e3) & (apart < 1.5e4))  # six years of precession, 50 arcsec each


def test_another_epoch_shifts_time():
    orbit = TleOrbit(LINE_1, LINE_2)
    assert orbit.epoch == Epoch("2006-06-25T19:46:43.980096")
    later = TleOrbit(LINE_1, LINE_2, epoch="2006-06-25T20:46:43.980096")
    np.testing.assert_allclose(later.at(10.0).r_I, orbit.at(3610.0).r_I, rtol=0, atol=1e-2)


def test_one_time_has_no_leading_axis():
    state = TleOrbit(LINE_1, LINE_2).at(0.0)
    assert state.r_I.shape == state.v_I.shape == (3,)


@pytest.mark.parametrize(
    ("line1", "line2", "message"),
    [
        (LINE_1[:-1] + "6", LINE_2, "line1: checksum is '6', expected 5"),
        (LINE_1, LINE_2.replace("58.0579", "58.0578"), "line2: checksum is '4', expected 3"),
        (LINE_2, LINE_1, "line1: expected 69 characters that begin with '1'"),
        (LINE_1, LINE_2[:40], "line2: expected 69 characters"),
        (LINE_1, None, "line2: expected 69 characters"),
        (LINE_1, elements()["5"][1], "line2: satellite 00005 is not that of line1, 06251"),
    ],
)
def test_broken_lines_are_refused(line1, line2, message):
    with pytest.raises(InputError, match=message):
        TleOrbit(line1, line2)


def test_a_satellite_that_has_come_down_is_refused_with_the_time():
    decays = TleOrbit(*elements()["28872"])
    with pytest.raises(InputError, match=r"t: SGP4 cannot reach 3600 s: .*; stay near the epoch"):
        decays.at(np.array([0.0, 3600.0]))
