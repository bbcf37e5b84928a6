"""Density against the published scale heights, altitude against ERFA's ellipsoid."""

import erfa
import numpy as np
import pytest

from gnc.errors import InputError
from gnc.models.environment import Atmosphere
from gnc.models.environment.disturbances import altitude_above_ellipsoid

RNG = np.random.default_rng(0)

# Vallado, 4th ed., table 8-4: base altitude [km], scale height [km], printed beside the densities
SCALE_HEIGHTS = [
    (100, 5.877), (110, 7.263), (120, 9.473), (130, 12.636), (140, 16.149), (150, 22.523), (180, 29.740), (200, 37.105),
    (250, 45.546), (300, 53.628), (350, 53.298), (400, 58.515), (450, 60.828), (500, 63.822), (600, 71.835),
    (700, 88.667), (800, 124.64), (900, 181.05),
]  # fmt: skip


def above_equator(altitude_km):
    return np.array([6378137.0 + 1e3 * altitude_km, 0.0, 0.0])


@pytest.mark.parametrize(("base_km", "scale_height_km"), SCALE_HEIGHTS)
def test_densities_fall_with_the_published_scale_heights(base_km, scale_height_km):
    low, high = (Atmosphere().at(above_equator(base_km + k)) for k in (1.0, 6.0))
    assert 5.0 / np.log(low / high) == pytest.approx(scale_height_km, rel=2e-3)


@pytest.mark.parametrize(
    ("altitude_km", "density"), [(200, 2.789e-10), (400, 3.725e-12), (500, 6.967e-13), (1000, 3.019e-15)]
)
def test_densities_at_the_levels_are_the_published_ones(altitude_km, density):
    assert Atmosphere().at(above_equator(altitude_km)) == pytest.approx(density, rel=1e-9)


def test_beyond_the_levels_the_last_scale_heights_go_on():
    densities = Atmosphere().at(np.stack([above_equator(km) for km in (900, 950, 1000, 1050, 1500)]))
    assert densities[3] / densities[2] == pytest.approx(densities[1] / densities[0], rel=1e-9)
    assert 0.0 < densities[4] < densities[3]


def test_one_scale_height_is_an_exponential():
    air = Atmosphere.exponential(density=1e-12, altitude=450e3, scale_height=60e3)
    km = np.array([100.0, 450.0, 480.0, 900.0])
    expected = 1e-12 * np.exp(-(km - 450.0) / 60.0)
    np.testing.assert_allclose(air.at(np.stack([above_equator(h) for h in km])), expected, rtol=1e-9)


def test_altitude_is_geodetic_to_100_metres_in_low_orbit():
    direction = RNG.normal(size=(500, 3))
    r = RNG.uniform(6.55e6, 7.4e6, (500, 1)) * direction / np.linalg.norm(direction, axis=-1, keepdims=True)
    _, _, height = erfa.gc2gd(1, r)
    assert np.abs(altitude_above_ellipsoid(r) - height).max() < 100.0


def test_a_batch_has_the_bits_of_each_alone():
    r = RNG.normal(size=(200, 3)) * 1e4 + above_equator(500)
    together = Atmosphere().at(r)
    np.testing.assert_array_equal(together, [Atmosphere().at(row) for row in r])
    np.testing.assert_array_equal(together[::3], Atmosphere().at(r[::3]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"altitude": [1e5, 2e5]}, "density: expected one for each of two or more altitudes"),
        ({"altitude": [1e5], "density": [1.0]}, "density: expected one for each of two or more"),
        ({"altitude": [2e5, 1e5], "density": [1.0, 2.0]}, "altitude: levels do not rise"),
        ({"altitude": [1e5, 2e5], "density": [1.0, 0.0]}, "density .trial 1.: 0 is not positive"),
    ],
)
def test_impossible_atmospheres_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Atmosphere(**change)
