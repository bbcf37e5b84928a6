"""Splines of the environment against SciPy's."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from gnc.models.environment.spline import cubic, evaluated


@pytest.mark.parametrize("knots", [4, 5, 50])
def test_splines_have_the_bits_of_scipy(knots):
    random = np.random.default_rng(knots)
    x = np.cumsum(random.uniform(0.5, 20.0, knots))
    y, ends = random.normal(size=(knots, 3)), random.normal(size=(2, 3))
    at = random.uniform(x[0], x[-1], 200)
    for coefficients, scipy in (
        (cubic(x, y), CubicSpline(x, y)),
        (cubic(x, y, (ends[0], ends[1])), CubicSpline(x, y, bc_type=((1, ends[0]), (1, ends[1])))),
    ):
        assert np.array_equal(coefficients, scipy.c)
        assert np.array_equal(evaluated(x, coefficients, at), scipy(at))
        assert np.array_equal(evaluated(x, coefficients, x), scipy(x))
