"""The functions of kernels, against 40-digit arithmetic."""

import mpmath
import numpy as np
import pytest

from gnc.batch import batched, maximum, minimum

mpmath.mp.dps = 40

ORACLE = {
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
}


def lifted(name):
    return batched("()->()")(lambda x: getattr(np, name)(x))


FUNCTION = {name: lifted(name) for name in ORACLE}


@batched("(),()->()")
def angle(y, x):
    return np.arctan2(y, x)


def ulps(value, exact):
    return float(abs(mpmath.mpf(float(value)) - exact) / np.spacing(abs(float(exact))))


def arguments():
    rng = np.random.default_rng(0)
    multiples = np.arange(-40, 41) * (np.pi / 8)
    sizes = 10.0 ** rng.uniform(-300, 0, 60) * rng.choice([-1, 1], 60)
    return [0.0, 1e-300, *multiples, *np.nextafter(multiples, 9), *sizes, *rng.uniform(-20, 20, 300)]


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "arctan"])
def test_functions_of_an_angle_are_right_within_two_ulp(name):
    for x in [*arguments(), *np.random.default_rng(1).uniform(-1e6, 1e6, 100)]:
        assert ulps(FUNCTION[name](x), ORACLE[name](mpmath.mpf(float(x)))) <= 2.0, x


@pytest.mark.parametrize("name", ["arcsin", "arccos"])
def test_inverse_functions_are_right_within_four_ulp(name):
    rng = np.random.default_rng(2)
    for x in [*rng.uniform(-1, 1, 300), 1.0, -1.0, 0.5, 1 - 1e-12, -1 + 1e-15, 1e-200]:
        assert ulps(FUNCTION[name](x), ORACLE[name](mpmath.mpf(float(x)))) <= 4.0, x


def test_the_angle_of_a_point_is_right_in_all_quadrants_and_sizes():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(400, 2)) * 10.0 ** rng.uniform(-150, 150, (400, 1)) * 10.0 ** rng.uniform(-9, 9, (400, 2))
    for y, x in points:
        assert ulps(angle(y, x), mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))) <= 2.5, (y, x)


def test_the_angle_on_the_axes_and_of_signed_zeros_is_numpys():
    for y in (0.0, -0.0, 1.0, -1.0):
        for x in (0.0, -0.0, 2.0, -2.0):
            expected = np.arctan2(y, x)
            assert angle(y, x) == pytest.approx(expected, abs=3e-16)
            assert np.signbit(angle(y, x)) == np.signbit(expected)


def test_smallest_and_largest_keep_nan():
    low, high = batched("(),()->()")(lambda a, b: minimum(a, b)), batched("(),()->()")(lambda a, b: maximum(a, b))
    assert (low(1.0, 2.0), low(2.0, 1.0), high(1.0, 2.0), high(2.0, 1.0)) == (1.0, 1.0, 2.0, 2.0)
    assert np.isnan([low(np.nan, 1.0), low(1.0, np.nan), high(np.nan, 1.0), high(1.0, np.nan)]).all()


def test_division_and_roots_outside_their_domain_follow_ieee():
    ratio, root = batched("(),()->()")(lambda a, b: a / b), batched("()->()")(lambda a: np.sqrt(a))
    for run in (lambda k, *a: k(*a), lambda k, *a: k._interpret(np.ones(()), a)):
        assert run(ratio, 1.0, 0.0) == np.inf
        assert run(ratio, -1.0, 0.0) == run(ratio, 1.0, -0.0) == -np.inf
        assert np.isnan([run(ratio, 0.0, 0.0), run(root, -1.0)]).all()
