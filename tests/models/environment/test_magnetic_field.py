"""The field against published values and an evaluation of its own (spherical_harmonics.py)."""

import erfa
import numpy as np
import pytest

from gnc.errors import InputError
from gnc.models.environment import Dipole, Epoch, Igrf
from gnc.models.environment import magnetic_field as module
from gnc.models.environment.epoch import inertial_to_earth, turn
from tests.models.environment import spherical_harmonics

RNG = np.random.default_rng(0)

# NOAA's calculator, IGRF-13 at 2020.0, 5 km above the ellipsoid: latitude, longitude, north, east, down [deg, nT]
NOAA = np.array(
    [
        (80.0, -179.0, 4038.2, -50.2, 57586.4),
        (80.0, -90.0, 1596.1, -1590.6, 56550.9),
        (80.0, 0.0, 6560.4, -151.6, 54497.7),
        (80.0, 90.0, 1909.8, 1881.7, 58247.8),
        (-80.0, 180.0, -7775.0, 9413.2, -59329.6),
    ]
)


def local_axes(latitude_deg, longitude_deg):
    """Return north, east and down of the ellipsoid, in Earth-fixed axes, as rows."""
    (sf, sl), (cf, cl) = (f(np.radians([latitude_deg, longitude_deg])) for f in (np.sin, np.cos))
    return np.array([[-sf * cl, -sf * sl, cf], [-sl, cl, 0.0], [-cf * cl, -cf * sl, -sf]])


def random_points(count):
    direction = RNG.normal(size=(count, 3))
    radius = RNG.uniform(6.5e6, 8e6, (count, 1))
    return radius * direction / np.linalg.norm(direction, axis=-1, keepdims=True)


def to_earth(epoch, t, v_I):
    return turn(inertial_to_earth(epoch, t), v_I)


def from_earth(epoch, t, v_E):
    return turn(np.swapaxes(inertial_to_earth(epoch, t), -1, -2), v_E)


@pytest.mark.parametrize("row", NOAA)
def test_the_oracle_reproduces_published_values_to_half_a_nanotesla(row):
    """They differ by up to 0.36 nT; ppigrf with the same coefficients agrees with the oracle to 2e-5 nT here."""
    latitude, longitude, *published = row
    gauss = spherical_harmonics.coefficients("IGRF13", 2020.0)
    r_E = erfa.gd2gc(1, np.radians(longitude), np.radians(latitude), 5e3)
    B = local_axes(latitude, longitude) @ spherical_harmonics.field(gauss, r_E)
    np.testing.assert_allclose(B, published, rtol=0, atol=0.5)


@pytest.mark.parametrize("row", NOAA)
def test_the_field_lies_within_20_nT_of_the_published_values_of_the_generation_before(row):
    latitude, longitude, *published = row
    epoch = Epoch("2020-01-01")
    r_E = erfa.gd2gc(1, np.radians(longitude), np.radians(latitude), 5e3)
    B_I = Igrf().at(epoch, 0.0, from_earth(epoch, 0.0, r_E))
    B = local_axes(latitude, longitude) @ to_earth(epoch, 0.0, B_I) * 1e9
    np.testing.assert_allclose(B, published, rtol=0, atol=20.0)


MIDDLE = 2025.0 + 5.0 * 912.5 / 1826.0  # ppigrf goes linearly through the days of five years, one of them longer


@pytest.mark.parametrize(
    ("date", "year"), [("2025-01-01", 2025.0), ("2027-07-02T12:00:00", MIDDLE), ("1980-01-01", 1980.0)]
)
def test_the_field_is_the_gradient_of_the_official_coefficients_to_a_hundredth_of_a_nanotesla(date, year):
    epoch, r_E = Epoch(date), random_points(40)
    exact = spherical_harmonics.field(spherical_harmonics.coefficients("IGRF14", year), r_E)
    B_I = Igrf().at(epoch, 0.0, from_earth(epoch, 0.0, r_E))
    np.testing.assert_allclose(to_earth(epoch, 0.0, B_I) * 1e9, exact, rtol=0, atol=0.01)


def test_lower_degrees_leave_the_higher_ones_out():
    epoch, r_E = Epoch("2025-01-01"), random_points(20)
    gauss = spherical_harmonics.coefficients("IGRF14", 2025.0)
    exact = spherical_harmonics.field({key: value for key, value in gauss.items() if key[0] <= 4}, r_E)
    B_I = Igrf(max_degree=4).at(epoch, 0.0, from_earth(epoch, 0.0, r_E))
    np.testing.assert_allclose(to_earth(epoch, 0.0, B_I) * 1e9, exact, rtol=0, atol=0.01)


def test_ten_years_at_once_are_each_date_alone():
    # The model is linear in time between its epochs only: by the two ends alone the middle was 52 nT off.
    epoch, t = Epoch("2016-03-01"), np.linspace(0.0, 10.0 * 365.25 * 86400.0, 23)
    r_I = np.array([7.0e6, 1.0e6, 2.0e6]) + np.zeros((len(t), 3))
    alone = [Igrf().at(epoch, time, r) for time, r in zip(t, r_I, strict=True)]
    np.testing.assert_allclose(Igrf().at(epoch, t, r_I), alone, rtol=0, atol=1e-12)


def test_many_times_at_once_are_each_time_alone(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 7)  # so that the points cross it
    epoch, t, r_I = Epoch("2026-01-01"), np.sort(RNG.uniform(0.0, 30 * 86400.0, 20)), random_points(20)
    together = Igrf().at(epoch, t, r_I)
    alone = [Igrf().at(epoch, t[k], r_I[k]) for k in range(20)]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-15)
    np.testing.assert_allclose(Igrf().at(epoch, t.reshape(4, 5), r_I.reshape(4, 5, 3)).reshape(20, 3), together)


def test_the_poles_have_a_field_like_their_surroundings():
    epoch = Epoch("2025-01-01")
    for z in (7e6, -7e6):
        pole, beside = (from_earth(epoch, 0.0, np.array([x, 0.0, z])) for x in (0.0, 50.0))
        B, near = Igrf().at(epoch, 0.0, pole), Igrf().at(epoch, 0.0, beside)
        assert np.linalg.norm(B - near) < 1e-9
        assert 3e-5 < np.linalg.norm(B) < 6e-5


def test_the_tilted_dipole_is_the_first_degree_of_igrf():
    epoch, r_I = Epoch("2025-01-01"), random_points(30)
    np.testing.assert_allclose(Dipole().at(epoch, 0.0, r_I), Igrf(max_degree=1).at(epoch, 0.0, r_I), rtol=0, atol=1e-15)


def test_the_dipole_is_20_percent_off_in_the_median_and_points_along_its_axis_over_the_pole():
    epoch, r_I = Epoch("2025-01-01"), random_points(500)
    B, dipole = Igrf().at(epoch, 0.0, r_I), Dipole().at(epoch, 0.0, r_I)
    off = np.linalg.norm(dipole - B, axis=-1) / np.linalg.norm(B, axis=-1)
    assert 0.15 < np.median(off) < 0.25
    axial = Dipole((0.0, 0.0, -30000.0))
    over = from_earth(epoch, 0.0, np.array([0.0, 0.0, 6371.2e3]))
    np.testing.assert_allclose(to_earth(epoch, 0.0, axial.at(epoch, 0.0, over)), [0.0, 0.0, -6e-5], atol=1e-16)


@pytest.mark.parametrize("date", ["2030-01-01T00:00:01", "2055-06-01"])
def test_a_date_after_2030_raises_and_prints_nothing(date, capsys):
    with pytest.raises(InputError, match="epoch: IGRF-14 is valid from 1900 to 2030, not on 20.*; use Dipole there"):
        Igrf().at(Epoch(date), 0.0, np.array([7e6, 0.0, 0.0]))
    assert capsys.readouterr() == ("", "")


def test_the_last_valid_second_works_and_the_next_raises():
    epoch, r_I = Epoch("2029-12-31T23:59:59"), np.array([[7e6, 0.0, 0.0]] * 2)
    assert np.all(np.isfinite(Igrf().at(epoch, np.array([0.0, 1.0]), r_I)))
    with pytest.raises(InputError, match="valid from 1900 to 2030"):
        Igrf().at(epoch, np.array([0.0, 2.0]), r_I)


def test_the_dipole_has_no_date_of_expiry():
    assert np.all(np.isfinite(Dipole().at(Epoch("2060-01-01"), 0.0, np.array([7e6, 0.0, 0.0]))))


@pytest.mark.parametrize("degree", [0, 14, 2.5, "all"])
def test_degrees_that_igrf_has_not_are_refused(degree):
    with pytest.raises(InputError, match=r"max_degree: .* is not a degree of IGRF; give 1 to 13"):
        Igrf(degree)


def test_a_dipole_needs_three_numbers():
    with pytest.raises(InputError, match="gauss_nT"):
        Dipole((1.0, 2.0))
