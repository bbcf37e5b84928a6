"""The Sun against astropy and the Astronomical Almanac; shadow against rays traced to the Sun's disc."""

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import get_sun
from astropy.time import Time
from astropy.utils import iers

from gnc.models.environment import Epoch, shadow_cone, sun_position
from gnc.models.environment.constants import ASTRONOMICAL_UNIT, EARTH_RADIUS, SUN_RADIUS

RNG = np.random.default_rng(0)
SUN = np.array([ASTRONOMICAL_UNIT, 0.0, 0.0])


def angle(a, b):
    cross = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.arctan2(cross, np.sum(a * b, axis=-1))


@pytest.mark.filterwarnings("ignore:.*dubious year")  # beyond the last announcement of leap seconds
def test_the_sun_is_where_astropy_sees_it_over_twenty_years():
    years = np.arange(2010, 2030)
    t = np.linspace(0.0, 360 * 86400.0, 25)
    with iers.conf.set_temp("auto_download", False), iers.conf.set_temp("auto_max_age", None):
        for year in years:
            epoch = Epoch(f"{year}-01-03T04:05:06")
            time = Time(epoch.utc.replace(tzinfo=None), scale="utc").tai + t * u.s
            reference = get_sun(time).cartesian.xyz.to_value(u.m).T
            position = sun_position(epoch, t)
            assert angle(position, reference).max() < 1e-8
            distance = np.linalg.norm(reference, axis=-1)
            np.testing.assert_allclose(np.linalg.norm(position, axis=-1), distance, rtol=1e-9)


def test_the_sun_is_where_the_almanac_puts_it_to_a_hundredth_of_a_degree():
    """Astronomical Almanac, page C5: low-precision formulas, of date; precession is the matrix of 50 arcsec a year."""
    epoch = Epoch("2025-01-01T12:00")
    t = np.linspace(0.0, 365 * 86400.0, 100)
    days = 9132.0 + t / 86400.0  # since J2000
    g = np.radians(357.528 + 0.9856003 * days)
    longitude = np.radians(280.460 + 0.9856474 * days + 1.915 * np.sin(g) + 0.020 * np.sin(2 * g))
    longitude = longitude - np.radians(50.29 / 3600 * days / 365.25)  # back to the equinox of J2000
    obliquity = np.radians(23.4393)
    c, s = np.cos(longitude), np.sin(longitude)
    almanac = np.stack([c, np.cos(obliquity) * s, np.sin(obliquity) * s], axis=-1)
    assert np.degrees(angle(sun_position(epoch, t), almanac)).max() < 0.012


def test_one_time_has_no_leading_axis():
    assert sun_position(Epoch("2025-01-01"), 0.0).shape == (3,)


def traced(r, sun=SUN, rings=400):
    """Return the fraction of the Sun's disc whose rays to r meet the Earth."""
    to_sun = (sun - r) / np.linalg.norm(sun - r)
    side = np.cross(to_sun, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side)
    sine = SUN_RADIUS / np.linalg.norm(sun - r)
    rho = sine * np.sqrt((np.arange(rings) + 0.5) / rings)  # rings of equal area
    phi = 2 * np.pi * (np.arange(rings) + 0.5) / rings
    offset = rho[:, None, None] * (np.cos(phi)[:, None] * side + np.sin(phi)[:, None] * np.cross(side, to_sun))
    ray = to_sun * np.sqrt(1.0 - rho**2)[:, None, None] + offset
    along = ray @ r
    return np.mean((along < 0.0) & (r @ r - along**2 < EARTH_RADIUS**2))


def penumbra_points(radius, count):
    """Return points on a circle in the plane of the Sun, across both edges of the penumbra."""
    earth, sun = np.arcsin(EARTH_RADIUS / radius), np.arcsin(SUN_RADIUS / ASTRONOMICAL_UNIT)
    angles = np.linspace(np.pi - earth - 1.5 * sun, np.pi - earth + 1.5 * sun, count)
    return radius * np.stack([np.cos(angles), np.zeros(count), np.sin(angles)], axis=-1)


@pytest.mark.parametrize("radius", [6.6e6, 6.9e6, 8e6, 4.2164e7, 3.8e8])
def test_the_cone_hides_as_much_of_the_sun_as_traced_rays_meet_the_earth(radius):
    points = penumbra_points(radius, 31)
    reference = np.array([traced(r) for r in points])
    np.testing.assert_allclose(shadow_cone(points, SUN), reference, rtol=0, atol=2e-3)
    assert reference.min() == 0.0 and reference.max() == 1.0 and np.any((reference > 0.2) & (reference < 0.8))


def test_the_day_side_is_lit_and_behind_the_earth_it_is_dark():
    around = RNG.normal(size=(2000, 3))
    around *= RNG.uniform(6.5e6, 5e7, (2000, 1)) / np.linalg.norm(around, axis=-1, keepdims=True)
    value = shadow_cone(around, SUN)
    assert np.all((value >= 0.0) & (value <= 1.0))
    assert np.all(value[around[:, 0] > 0.0] == 0.0)
    np.testing.assert_array_equal(shadow_cone(np.array([[-7e6, 0.0, 0.0], [7e6, 0.0, 0.0]]), SUN), [1.0, 0.0])


def test_shadow_deepens_steadily_from_the_edge_of_the_penumbra_to_the_umbra():
    value = shadow_cone(penumbra_points(6.9e6, 2001), SUN)
    partly = (value > 0.0) & (value < 1.0)
    assert np.all(np.diff(value) >= -1e-9) and partly.sum() > 1200
    assert np.abs(np.diff(value)).max() < 2e-3  # no jump at the edges


def test_a_batch_has_the_bits_of_each_alone():
    points = penumbra_points(7e6, 50)
    together = shadow_cone(points, SUN)
    np.testing.assert_array_equal(together, [shadow_cone(r, SUN) for r in points])
