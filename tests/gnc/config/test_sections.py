"""Sections are frozen and comparable, and what TOML cannot hold is refused when the class is written."""

import numpy as np
import pytest
from pydantic import ValidationError

from gnc.config import Section, difference, digest, parse
from tests.gnc.config.mission import MISSION, Magnetometer, Mission, Spacecraft


def test_a_section_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Magnetometer(rate_hz=1.0).rate_hz = 2.0  # type: ignore[misc]


def test_equal_sections_hash_alike_and_others_differ() -> None:
    a, b = parse(MISSION, Mission), parse(MISSION, Mission)
    other = parse(MISSION.replace("sigma = 0.5", "sigma = 0.6"), Mission)
    assert len({a, b, other}) == 2


def test_arrays_are_taken_from_numpy_and_given_back_bit_for_bit() -> None:
    J = np.diag([0.22, 0.19, 0.13])
    spacecraft = Spacecraft(mass_kg=12, J=J)  # type: ignore[arg-type]
    np.testing.assert_array_equal(np.array(spacecraft.J), J)
    assert isinstance(spacecraft.J[0], tuple)


@pytest.mark.parametrize(
    ("annotation", "default", "remedy"),
    [
        (list[float], (), r"use tuple\[X, ...\]"),
        (dict[str, list[float]], {}, r"use tuple\[X, ...\]"),
        (float | None, 1.0, "needs the default None"),
        (float | None, ..., "needs the default None"),
        (tuple[float | None, ...], (), "None cannot stand inside"),
    ],
)
def test_a_field_that_toml_cannot_hold_is_refused_with_the_class(
    annotation: object, default: object, remedy: str
) -> None:
    content = {"__annotations__": {"x": annotation}} | ({} if default is ... else {"x": default})
    with pytest.raises(TypeError, match=rf"Bad\.x: .*{remedy}"):
        type("Bad", (Section,), content)


def test_the_order_of_keys_does_not_matter_to_the_digest() -> None:
    a = parse(MISSION, Mission)
    lines = MISSION.splitlines()
    b = parse("\n".join([lines[2], lines[1], lines[0], *lines[9:12], *lines[6:9], *lines[3:6], *lines[12:]]), Mission)
    assert list(a.sensors) != list(b.sensors)
    assert digest(a) == digest(b)
    assert difference(a, b) == []


def test_a_default_written_out_does_not_change_the_digest() -> None:
    a, b = parse(MISSION, Mission), parse("eclipse = true\n" + MISSION, Mission)
    assert digest(a) == digest(b)


def test_the_digest_is_the_same_in_every_process_and_release() -> None:
    """SHA-256 of the two lines by sha256sum: printf 'x = 1.5\\ny = "a"\\n'."""

    class Small(Section):
        y: str
        x: float

    assert digest(Small(y="a", x=1.5)) == "b9fc78ed60381b1cf0b319a092eafcdcd1c26ac1cf63877bbb434e97771713c7"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("rate_hz = 0.2", "rate_hz = 0.25", "sensors.magnetometer.rate_hz: 0.2 != 0.25"),
        ("sigma = 0.5", "sigma = 0.25", "dispersions.1.sigma: 0.5 != 0.25"),
        ("start = 2025-03-20T09:01:00Z\n", "", "start: 2025-03-20T09:01:00+00:00 != absent"),
    ],
)
def test_the_key_that_differs_is_named_with_both_values(old: str, new: str, line: str) -> None:
    a, b = parse(MISSION, Mission), parse(MISSION.replace(old, new), Mission)
    assert difference(a, b) == [line]
    assert digest(a) != digest(b)
