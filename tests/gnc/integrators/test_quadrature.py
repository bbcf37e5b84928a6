"""Gauss-Legendre nodes."""

import numpy as np
import pytest

from gnc.integrators.euler_top import gauss_legendre


@pytest.mark.parametrize("n", [2, 8, 28, 64])
def test_n_nodes_are_exact_for_polynomials_below_twice_n(n):
    x, w = np.array(gauss_legendre(n)).T
    for power in range(0, 2 * n, 2):  # on both sides: odd powers vanish
        assert 2 * np.sum(w * x**power) == pytest.approx(2 / (power + 1), rel=1e-14)


@pytest.mark.parametrize("n", [8, 28])
def test_the_nodes_are_those_of_numpy(n):
    x, w = np.polynomial.legendre.leggauss(n)
    np.testing.assert_allclose(np.array(gauss_legendre(n))[::-1], np.stack([x, w], -1)[n // 2 :], atol=3e-15)


@pytest.mark.parametrize("n", [0, -2, 7])
def test_an_odd_number_of_nodes_is_refused(n):
    with pytest.raises(ValueError, match=f"n: expected an even number of nodes, got {n}"):
        gauss_legendre(n)
