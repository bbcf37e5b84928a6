"""The coefficient functions, against 150 digits."""

import functools
from collections.abc import Callable
from functools import partial

import mpmath as mp
import numpy as np
import pytest

from gnc import coefficients
from gnc.batch import batched, jacobian
from tests.gnc.groups import ULP


def series(z, term):
    """Sum an alternating series of factorials in 150 digits; it converges for every z."""
    with mp.workdps(150):
        return mp.nsum(lambda k: term(int(k)) * (-mp.mpf(z)) ** int(k), [0, mp.inf], method="direct")


def shifted(z, first):
    return series(z, lambda k: 1 / mp.factorial(2 * k + first))


def shifted_slope(z, first):
    return series(z, lambda k: -(k + 1) / mp.factorial(2 * k + 2 + first))


def cot_gap(z):
    if z < 1e-40:
        return mp.mpf(1) / 12
    with mp.workdps(150):
        half = mp.sqrt(mp.mpf(z)) / 2
        return (1 - half * mp.cot(half)) / z


def cot_gap_slope(z):
    if z < 1e-40:
        return mp.mpf(1) / 720
    with mp.workdps(150):
        half = mp.sqrt(mp.mpf(z)) / 2
        return (half * mp.cot(half) / 2 + half**2 / mp.sin(half) ** 2 / 2 - 1) / mp.mpf(z) ** 2


REFERENCES: dict[str, Callable[[float], mp.mpf]] = {
    "cosine": partial(shifted, first=0),
    "sinc": partial(shifted, first=1),
    "versine": partial(shifted, first=2),
    "sine_gap": partial(shifted, first=3),
    "cot_gap": cot_gap,
    "sinc_slope": partial(shifted_slope, first=1),
    "versine_slope": partial(shifted_slope, first=2),
    "sine_gap_slope": partial(shifted_slope, first=3),
    "cot_gap_slope": cot_gap_slope,
}
TO_PI = np.concatenate([[0.0, 1e-300, 1e-160, 1e-20, 1e-8, 1e-4], np.linspace(0.01, 3.5, 100)])
BEYOND = np.linspace(3.5, 6.0, 40)


@functools.cache
def kernel(name):
    @batched("()->()")
    def coefficient(z):
        return getattr(coefficients, name)(z)

    return coefficient


def errors(name, angles):
    z = angles**2
    exact = [REFERENCES[name](x) for x in z]
    computed = kernel(name)(z)
    absolute = [abs(float(mp.mpf(float(y)) - x)) for y, x in zip(computed, exact, strict=True)]
    return np.array(absolute) / ULP, size(name, exact)


def size(name, values):
    """Return what errors are measured against: the value, but 1 for the sines, which pass through zero."""
    return 1.0 if name in ("cosine", "sinc") else np.abs(np.array(values, dtype=float))


@pytest.mark.parametrize("name", REFERENCES)
def test_coefficients_are_right_to_three_ulp_from_zero_to_beyond_pi(name):
    error, value = errors(name, TO_PI)
    assert np.max(error / value) < 3


@pytest.mark.parametrize("name", REFERENCES)
def test_coefficients_stay_right_up_to_near_a_full_turn(name):
    error, value = errors(name, BEYOND)
    sensitivity = 1.0 / (2 * np.pi - BEYOND)  # to the rounding of the angle, near the pole
    assert np.max(error / (np.maximum(value, 0.01) * sensitivity)) < 16


@pytest.mark.parametrize("name", ["sinc", "versine", "sine_gap", "cot_gap"])
def test_the_slopes_are_the_derivatives(name):
    z = np.concatenate([[0.0, 1e-300], np.linspace(0.01, 25.0, 50)])
    slope = kernel(f"{name}_slope")(z)
    np.testing.assert_allclose(jacobian(kernel(name), "z")(z), slope, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", REFERENCES)
def test_nothing_jumps_where_the_formulas_change_hands(name):
    for border in (coefficients.SMALL, 4 * coefficients.SMALL, coefficients.HALF_TURN, coefficients.COT_LIMIT):
        z = np.array([np.nextafter(border, 0.0), border])
        below, above = kernel(name)(z)
        assert abs(below - above) < 8 * ULP * size(name, above)


@pytest.mark.parametrize("tangent_squared", [0.0, 1e-300, 1e-16, 0.0099999, 0.01, 1.0, 1e8, 1e300])
@pytest.mark.parametrize("x", [1.0, 0.3, -0.3, 1e-20])
def test_arctan_ratio_is_the_angle_over_the_length(x, tangent_squared):
    @batched("(),()->()")
    def ratio(y, x):
        return coefficients.arctan_ratio(y, x)

    y = tangent_squared * x * x
    if y == 0.0:
        assert x < 0 or ratio(y, x) == pytest.approx(1 / x, rel=2 * ULP, abs=0)
        return
    with mp.workdps(50):
        t = mp.sqrt(mp.mpf(y))
        assert ratio(y, x) == pytest.approx(float(mp.atan2(t, mp.mpf(x)) / t), rel=3 * ULP, abs=0)
