"""Tangent kernels: exact slopes along one direction, through branches, calls and repetition."""

import numpy as np
import pytest

from gnc.batch import Assembly, batched, jacobian, tangent, when, where
from gnc.batch.layout import Layout
from tests.gnc.batch.kernels import advance

STEP = 1e-6


@batched("(3),(3,3),()->(3),()")
def bent(x, A, h):
    """A kernel with functions, branches and a result that does not depend on all."""
    y = np.sin(A @ x) + h * np.arctan2(x[1], x[0] * x[0] + 1.0)
    return where(x[0] > 0.0, y, y / (1.0 + x @ x)), np.sqrt(1.0 + x[2] * x[2])


@batched("(3),()->(3)")
def drift(x, h):
    return x + h * np.cos(x[::-1])


def assembled(x, h):
    """An assembly: calls on stacks, arithmetic and a masked call between them."""
    pair = np.stack([x, x[::-1]])
    moved = drift(pair, h)
    y = when(x[0] > 0.0, drift, (moved[0] * moved[1], 2.0 * h), moved[0])
    return y / (1.0 + moved[1] * moved[1])


ASSEMBLY = Assembly(assembled, Layout.parse("(3),()->(3)", ("x", "h")))


def drawn(kernel, trials=7):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(trials, *core)) for core in kernel.layout.ins * 2]


def differences(kernel, x, dx):
    """Central differences along a direction."""
    ends = [kernel(*[a + sign * STEP * b for a, b in zip(x, dx, strict=True)]) for sign in (1.0, -1.0)]
    ends = [end if isinstance(end, tuple) else (end,) for end in ends]
    return [(a - b) / (2.0 * STEP) for a, b in zip(*ends, strict=True)]


@pytest.mark.jit
@pytest.mark.parametrize("kernel", [bent, drift, ASSEMBLY], ids=lambda k: k.__name__)
@pytest.mark.parametrize("trials", [1, 4, 7])
def test_slopes_are_those_of_finite_differences_and_values_those_of_the_kernel(kernel, trials):
    numbers = drawn(kernel, trials)
    names, n = kernel.layout.names, len(kernel.layout.ins)
    given = dict(zip((*names, *(f"d_{name}" for name in names)), numbers, strict=True))
    made = tangent(kernel)(*[given[name] for name in tangent(kernel).layout.names])
    values = kernel(*numbers[:n])
    for y, exact in zip(made, values if isinstance(values, tuple) else (values,), strict=False):
        assert y.tobytes() == exact.tobytes()
    for slope, expected in zip(made[len(made) // 2 :], differences(kernel, numbers[:n], numbers[n:]), strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-8)


def test_the_slope_is_the_product_with_the_jacobian():
    q, phi, J = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.1, -0.05, 0.02]), np.diag([1.0, 2.0, 3.0])
    d_phi = np.array([0.3, -1.0, 0.7])
    twin = tangent(advance, ["phi"])
    assert twin.layout.names == ("q", "phi", "d_q", "d_phi", "J")  # a kernel that can be repeated changes q and phi
    *_, dq, dphi = twin(q, phi, np.zeros(4), d_phi, J)
    for slope, matrix in zip((dq, dphi), jacobian(advance, "phi")(q, phi, J), strict=True):
        np.testing.assert_allclose(slope, matrix @ d_phi, rtol=1e-12, atol=1e-15)


@pytest.mark.jit
def test_a_repeated_tangent_is_the_tangent_of_the_repeated_kernel():
    x, h, dx, dh = drawn(drift)
    twin = tangent(drift)
    assert twin.layout.names == ("x", "d_x", "h", "d_h")
    y, dy = twin.repeat(4, x, dx, h, dh)
    assert y.tobytes() == drift.repeat(4, x, h).tobytes()
    slope = differences(lambda *args: drift.repeat(4, *args), [x, h], [dx, dh])[0]
    np.testing.assert_allclose(dy, slope, rtol=1e-7, atol=1e-8)


def test_an_argument_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="drift has no argument 'y', only x, h"):
        tangent(drift, ["y"])
