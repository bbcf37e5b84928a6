"""Exact derivatives of kernels against finite differences and closed forms."""

import numpy as np
import pytest

from gnc.batch import batched, jacobian, where
from tests.gnc.batch.kernels import ALL, advance, product, random_arguments


def finite_differences(kernel, args, i, step=1e-6):
    """Differentiate by central differences of fourth order."""

    def shifted(j, d):
        moved = [np.array(a, float) for a in args]
        moved[i].flat[j] += d
        y = kernel(*moved)
        return y if isinstance(y, tuple) else (y,)

    columns = []
    for j in range(np.size(args[i])):
        f = [shifted(j, k * step) for k in (1, -1, 2, -2)]
        columns.append([(8 * (a - b) - (c - d)) / (12 * step) for a, b, c, d in zip(*f, strict=True)])
    shape = np.shape(args[i])
    return [
        np.stack([c[r] for c in columns], -1).reshape(np.shape(columns[0][r]) + shape) for r in range(len(columns[0]))
    ]


@pytest.mark.parametrize("kernel", ALL, ids=lambda k: k.__name__)
def test_derivatives_match_finite_differences_for_every_argument(kernel):
    args = random_arguments(kernel, (), np.random.default_rng(1))
    names = kernel.layout.names
    exact = jacobian(kernel, names)(*args)
    for i in range(len(names)):
        for r, slope in enumerate(finite_differences(kernel, args, i, 1e-3)):
            np.testing.assert_allclose(exact[r * len(names) + i], slope, rtol=1e-8, atol=1e-8)


def test_derivatives_broadcast_over_trials():
    args = random_arguments(advance, (6,), np.random.default_rng(2))
    slopes = jacobian(advance, "phi")(*args)
    assert [s.shape for s in slopes] == [(6, 4, 3), (6, 3, 3)]
    assert np.array_equal(slopes[1][4], jacobian(advance, "phi")(*[a[4] for a in args])[1])


def test_values_come_first_when_asked_for():
    a, b = random_arguments(product, (), np.random.default_rng(3))
    value, slope = jacobian(product, "a", value=True)(a, b)
    assert np.array_equal(value, product(a, b))
    assert np.array_equal(slope, jacobian(product, "a")(a, b))


def test_second_derivatives_come_from_nesting():
    @batched("(),()->()")
    def f(x, y):
        return np.sin(x * y) / (1.0 + x**2)

    mixed = jacobian(jacobian(f, "x"), "y")
    x, y = 0.7, -1.3
    c, s, d = np.cos(x * y), np.sin(x * y), 1 + x * x
    expected = (c - x * y * s) / d - 2 * x * x * c / d**2
    assert mixed(x, y) == pytest.approx(expected, rel=1e-14)


def test_derivatives_of_different_levels_are_not_confused():
    inner = batched("(),()->()")(lambda y, x: x * y)

    @batched("()->()")
    def f(x):
        return x * jacobian(inner, "y")(x, x)  # d(x y)/dy = x, so f = x^2

    assert jacobian(f, "x")(3.0) == 6.0


def test_the_branch_not_taken_spoils_no_derivative():
    @batched("()->()")
    def f(x):
        return where(x > 0.0, np.sqrt(x), -2.0 * x)

    assert jacobian(f, "x")(-1.0) == -2.0
    assert jacobian(f, "x")(4.0) == 0.25


def test_a_kernel_may_use_the_derivative_of_another():
    @batched("(4),(3),(3,3)->(3)")
    def determinant_row(q, phi, J):
        return jacobian(advance, "phi")(q, phi, J)[1][0]

    args = random_arguments(advance, (), np.random.default_rng(5))
    assert np.array_equal(determinant_row(*args), jacobian(advance, "phi")(*args)[1][0])


def test_an_unknown_argument_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match="product has no argument 'c', only a, b"):
        jacobian(product, "c")
