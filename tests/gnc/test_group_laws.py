"""Laws that every group obeys, over batch shapes, tiny angles and half turns."""

import functools
import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc import dual_quaternion, lie, quaternion
from gnc.batch import Kernel, jacobian
from tests.gnc.groups import (
    DUAL_QUATERNIONS,
    GROUPS,
    POSE_MATRICES,
    QUATERNIONS,
    SHAPES,
    ULP,
    directions,
    laws,
    vectors,
)

every_group = pytest.mark.parametrize("group", GROUPS, ids=str)
KERNELS = [f for module in (quaternion, lie) for _, f in inspect.getmembers(module, lambda x: isinstance(x, Kernel))]


@functools.cache
def derivative(kernel):
    return jacobian(kernel, kernel.layout.names[0])


def relative_error(x, y):
    """Return the largest error of algebra vectors; w against |w| and v against |v|, which may be very different."""
    x, y = (np.reshape(a, (*a.shape[:-1], -1, 3)) for a in (x, y))
    length = np.max(np.abs(y), axis=-1)
    return np.max(np.max(np.abs(x - y), axis=-1) / np.where(length == 0.0, 1.0, length))


@every_group
@laws
@given(data=st.data())
def test_log_restores_what_exp_was_given_digit_for_digit_down_to_1e_300(group, data):
    x = data.draw(vectors(group.dim))
    assert relative_error(group.log(group.exp(x)), x) < 16 * ULP


@every_group
@laws
@given(data=st.data())
def test_exp_restores_what_log_was_given(group, data):
    g = group.mul(*map(group.exp, data.draw(vectors(group.dim, 2))))
    assert group.error(group.exp(group.log(g)), g) < 32 * ULP


@every_group
@laws
@given(data=st.data())
def test_product_is_associative_with_unit_and_inverse(group, data):
    f, g, h = map(group.exp, data.draw(vectors(group.dim, 3)))
    assert group.error(group.mul(group.mul(f, g), h), group.mul(f, group.mul(g, h))) < 16 * ULP
    assert np.all(group.mul(group.identity, g) == g) and np.all(group.mul(g, group.identity) == g)
    lost = np.max(np.abs(g))  # what large translations leave behind when they cancel
    assert np.max(np.abs(group.mul(g, group.inverse(g)) - group.identity)) < 16 * ULP * max(1.0, lost)


@every_group
@laws
@given(data=st.data())
def test_exp_of_the_negative_is_the_inverse(group, data):
    x = data.draw(vectors(group.dim, beyond_pi=True))
    assert group.error(group.exp(-x), group.inverse(group.exp(x))) < 16 * ULP


@every_group
@laws
@given(data=st.data(), share=st.floats(-1, 2))
def test_one_vector_makes_a_one_parameter_subgroup(group, data, share):
    x = data.draw(vectors(group.dim))
    assert group.error(group.mul(group.exp(share * x), group.exp((1 - share) * x)), group.exp(x)) < 32 * ULP


@every_group
@laws
@given(data=st.data())
def test_the_adjoint_moves_exponentials(group, data):
    x, y = data.draw(vectors(group.dim, 2))
    g = group.exp(x)
    moved = group.mul(group.mul(g, group.exp(y)), group.inverse(g))
    y_moved = (group.Ad(g) @ y[..., None])[..., 0]
    lost = max(1.0, np.max(np.abs(g)))
    assert group.error(moved, group.exp(y_moved)) < 32 * ULP * lost


@every_group
@laws
@given(data=st.data())
def test_the_adjoint_is_a_homomorphism(group, data):
    g, h = map(group.exp, data.draw(vectors(group.dim, 2)))
    product = group.Ad(g) @ group.Ad(h)
    np.testing.assert_allclose(group.Ad(group.mul(g, h)), product, rtol=0, atol=32 * ULP * _scale(product))


@every_group
@laws
@given(data=st.data())
def test_left_and_right_jacobians_differ_by_the_adjoint(group, data):
    x = data.draw(vectors(group.dim, beyond_pi=True))
    left, right = group.left_jacobian(x), group.right_jacobian(x)
    np.testing.assert_allclose(group.Ad(group.exp(x)) @ right, left, rtol=0, atol=16 * ULP * _scale(left))
    left, right = group.left_jacobian_inverse(x), group.right_jacobian_inverse(x)
    np.testing.assert_allclose(left @ group.Ad(group.exp(x)), right, rtol=0, atol=64 * ULP * _scale(right))


@every_group
@laws
@given(data=st.data())
def test_inverse_jacobians_invert(group, data):
    x = data.draw(vectors(group.dim, beyond_pi=True))
    for J, K in (
        (group.left_jacobian(x), group.left_jacobian_inverse(x)),
        (group.right_jacobian(x), group.right_jacobian_inverse(x)),
    ):
        one = np.broadcast_to(np.eye(group.dim), J.shape)
        np.testing.assert_allclose(J @ K, one, rtol=0, atol=16 * ULP * _scale(J) * _scale(K))


def _scale(x):
    return max(1.0, np.max(np.abs(x)))


@every_group
@laws
@given(data=st.data())
def test_the_left_jacobian_is_the_derivative_of_exp(group, data):
    x = data.draw(vectors(group.dim, beyond_pi=True))
    h = 1e-5 * np.eye(group.dim)
    x = x[..., None, :]
    ahead, behind, back = group.exp(x + h), group.exp(x - h), group.exp(-x)
    columns = (group.log(group.mul(ahead, back)) - group.log(group.mul(behind, back))) / 2e-5
    J = group.left_jacobian(x[..., 0, :])
    np.testing.assert_allclose(np.swapaxes(columns, -1, -2), J, rtol=0, atol=1e-9 * _scale(J) ** 2)


@every_group
@laws
@given(data=st.data())
def test_differentiating_the_exp_kernel_gives_the_left_jacobian_at_the_identity_too(group, data):
    """Differentiated exactly, d exp(x) = (d exp(0) J d) exp(x)."""
    x = data.draw(vectors(group.dim, lengths=(0.0, 1e-300, 1.0)))
    slope = derivative(group.exp)
    generators = np.moveaxis(slope(np.zeros(group.dim)), -1, 0)
    moved = np.stack([group.mul(generator, group.exp(x)) for generator in generators], axis=-1)
    columns = moved.reshape(*x.shape[:-1], -1, group.dim)
    np.testing.assert_allclose(slope(x).reshape(columns.shape), columns @ group.left_jacobian(x), rtol=0, atol=32 * ULP)


@every_group
@laws
@given(data=st.data())
def test_differentiating_the_log_kernel_inverts_the_derivative_of_exp_at_the_identity_too(group, data):
    x = data.draw(vectors(group.dim, lengths=(0.0, 1e-300, 1.0)))
    there, back = derivative(group.exp)(x), derivative(group.log)(group.exp(x))
    shape = x.shape[:-1]
    round_trip = back.reshape(*shape, group.dim, -1) @ there.reshape(*shape, -1, group.dim)
    one = np.broadcast_to(np.eye(group.dim), round_trip.shape)
    np.testing.assert_allclose(round_trip, one, rtol=0, atol=128 * ULP)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_a_stack_has_the_bits_of_its_trials(kernel, shape):
    rng = np.random.default_rng(0)
    args = [rng.normal(size=(*shape, *core)) for core in kernel.layout.ins]
    stack = kernel(*args)
    assert np.shape(stack) == (*shape, *kernel.layout.outs[0])
    for trial in np.ndindex(shape):
        np.testing.assert_array_equal(stack[trial], kernel(*[a[trial] for a in args]))


def test_dual_quaternions_quaternions_and_matrices_are_the_same_motions():
    rng = np.random.default_rng(0)
    twist = np.concatenate([3 * directions(rng, 20), rng.normal(size=(20, 3))], axis=-1)
    T = POSE_MATRICES.exp(twist)
    np.testing.assert_allclose(dual_quaternion.to_matrix(DUAL_QUATERNIONS.exp(twist)), T, atol=16 * ULP)
    np.testing.assert_allclose(quaternion.to_matrix(QUATERNIONS.exp(twist[:, :3])), T[:, :3, :3], atol=16 * ULP)
