"""Spatial inertia against sums over point masses, which know nothing of 6x6 matrices."""

import inspect
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import Kernel, jacobian

KERNELS = [f for _, f in inspect.getmembers(spatial, lambda x: isinstance(x, Kernel))]

laws = settings(max_examples=40, deadline=None)
numbers = st.floats(-3, 3, allow_subnormal=False)
points = arrays(float, 3, elements=numbers)
twists = wrenches = arrays(float, 6, elements=numbers)
quaternions = st.integers(0, 2**32).map(lambda s: Rotation.random(rng=s).as_quat(scalar_first=True))


class Cloud(NamedTuple):
    """Point masses fixed to a body, seen from its reference point."""

    m: np.ndarray
    r: np.ndarray

    def seen_from(self, point):
        return Cloud(self.m, self.r - point)

    def momentum(self, twist):
        p = self.m[:, None] * (twist[3:] + np.cross(twist[:3], self.r))
        return np.concatenate([np.cross(self.r, p).sum(0), p.sum(0)])

    def energy(self, twist):
        v = twist[3:] + np.cross(twist[:3], self.r)
        return 0.5 * self.m @ np.sum(v * v, axis=1)

    def inertia(self):
        """Column by column, as the momentum of unit twists."""
        return np.transpose([self.momentum(unit) for unit in np.eye(6)])

    def parts(self):
        m, r_g = self.m.sum(), self.m @ self.r / self.m.sum()
        d = self.r - r_g
        return m, r_g, np.einsum("k,kij->ij", self.m, [(x @ x) * np.eye(3) - np.outer(x, x) for x in d])


def cloud(seed):
    rng = np.random.default_rng(seed)
    return Cloud(rng.uniform(0.1, 2, size=9), rng.normal(size=(9, 3)) + rng.normal(size=3))


clouds = st.integers(0, 2**32).map(cloud)


def assert_close(a, b, tolerance=1e-13):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max()))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("lead", ((), (7,), (2, 3)))
def test_a_stack_has_the_bits_of_its_trials(kernel, lead):
    rng = np.random.default_rng(1)
    args = [rng.normal(size=lead + core) for core in kernel.layout.ins]
    together = kernel(*args)
    together = together if isinstance(together, tuple) else (together,)
    for trial in np.ndindex(lead):
        alone = kernel(*[a[trial] for a in args])
        alone = alone if isinstance(alone, tuple) else (alone,)
        for a, b in zip(alone, together, strict=True):
            np.testing.assert_array_equal(a, b[trial])


@laws
@given(clouds, twists)
def test_momentum_and_energy_are_those_of_the_point_masses(body, twist):
    M = spatial.inertia(*body.parts())
    assert_close(M, body.inertia())
    assert_close(spatial.momentum(M, twist), body.momentum(twist))
    assert_close(spatial.kinetic_energy(M, twist), body.energy(twist))


@laws
@given(clouds)
def test_parts_return_mass_centre_and_central_inertia(body):
    for ours, theirs in zip(spatial.parts(body.inertia()), body.parts(), strict=True):
        assert_close(ours, theirs)


@laws
@given(clouds, points)
def test_a_shifted_inertia_is_that_of_the_points_seen_from_there(body, r_PQ):
    assert_close(spatial.shift_inertia(body.inertia(), r_PQ), body.seen_from(r_PQ).inertia())


@laws
@given(clouds, quaternions, points)
def test_a_transformed_inertia_is_that_of_the_points_in_the_other_frame(body, q_AB, r_AB):
    turned = Cloud(body.m, Rotation.from_quat(q_AB, scalar_first=True).apply(body.r))
    assert_close(spatial.rotate_inertia(q_AB, body.inertia()), turned.inertia())
    dq_AB = dual_quaternion.from_pose(q_AB, r_AB)
    assert_close(spatial.transform_inertia(dq_AB, body.inertia()), turned.seen_from(-r_AB).inertia())


@laws
@given(clouds, clouds)
def test_combining_is_the_union_of_the_points_and_splitting_undoes_it(a, b):
    both = spatial.combine(a.inertia(), b.inertia())
    assert_close(both, Cloud(np.concatenate([a.m, b.m]), np.concatenate([a.r, b.r])).inertia())
    assert_close(spatial.split(both, a.inertia()), b.inertia())


@laws
@given(clouds, quaternions, points)
def test_every_inertia_is_symmetric_to_the_bit(body, q_AB, r):
    M = spatial.inertia(*body.parts())
    moved = spatial.transform_inertia(dual_quaternion.from_pose(q_AB, r), M)
    for matrix in (M, moved, spatial.inverse(moved), spatial.parts(moved)[2]):
        np.testing.assert_array_equal(matrix, matrix.T)


@laws
@given(clouds, twists)
def test_the_inverse_returns_the_twist_of_a_momentum(body, twist):
    assert_close(spatial.inverse(body.inertia()) @ body.momentum(twist), twist, 1e-11)


def test_the_inverse_holds_for_added_mass_too():
    A = np.random.default_rng(2).normal(size=(50, 6, 6))
    M = A @ np.swapaxes(A, -1, -2) + np.eye(6)
    np.testing.assert_allclose(spatial.inverse(M), np.linalg.inv(M), atol=1e-12)


def test_the_shift_holds_for_added_mass_too():
    """Energy belongs to the motion, not to the point that describes it."""
    rng = np.random.default_rng(3)
    A, twist_P, r_PQ = rng.normal(size=(50, 6, 6)), rng.normal(size=(50, 6)), rng.normal(size=(50, 3))
    M_P = A @ np.swapaxes(A, -1, -2)
    energy = spatial.kinetic_energy(spatial.shift_inertia(M_P, r_PQ), spatial.shift_twist(twist_P, r_PQ))
    np.testing.assert_allclose(energy, spatial.kinetic_energy(M_P, twist_P), rtol=1e-12)


@laws
@given(clouds, twists, points)
def test_momentum_shifts_as_a_wrench_does(body, twist_P, r_PQ):
    twist_Q = spatial.shift_twist(twist_P, r_PQ)
    assert_close(twist_Q[3:], twist_P[3:] + np.cross(twist_P[:3], r_PQ))
    shifted = spatial.shift_wrench(body.momentum(twist_P), r_PQ)
    assert_close(shifted, body.seen_from(r_PQ).momentum(twist_Q))


@laws
@given(twists, wrenches, points, quaternions)
def test_power_depends_neither_on_the_point_nor_on_the_axes(twist, wrench, r_PQ, q_AB):
    shifted = spatial.shift_twist(twist, r_PQ) @ spatial.shift_wrench(wrench, r_PQ)
    rotated = spatial.rotate(q_AB, twist) @ spatial.rotate(q_AB, wrench)
    np.testing.assert_allclose((shifted, rotated), twist @ wrench, atol=1e-11)


@laws
@given(twists, quaternions, points)
def test_rotation_and_shift_together_are_the_change_of_frame(x, q_AB, r_AB):
    dq_AB = dual_quaternion.from_pose(q_AB, r_AB)
    twist = spatial.shift_twist(spatial.rotate(q_AB, x), -r_AB)
    wrench = spatial.shift_wrench(spatial.rotate(q_AB, x), -r_AB)
    assert_close(dual_quaternion.transform_twist(dq_AB, x), twist)
    assert_close(dual_quaternion.transform_wrench(dq_AB, x), wrench)


@laws
@given(wrenches, points)
def test_a_wrench_shifts_by_its_lever_arm_as_in_dqmb_eq_17(wrench_p, r_pq):
    """The paper's r_p/q leads from the new point q to the old point p."""
    torque, force = wrench_p[:3], wrench_p[3:]
    assert_close(spatial.shift_wrench(wrench_p, -r_pq), [*(torque + np.cross(r_pq, force)), *force])


@laws
@given(clouds, twists)
def test_dqmb_eqs_22_to_24_in_the_papers_order_give_our_momentum_and_energy(body, twist):
    """The paper: about the centre of mass, momentum p + eps h, M8 acting on the swapped dual velocity."""
    m, _, J_com = body.parts()
    M8 = block_diag(1, m * np.eye(3), 1, J_com)
    swapped = dual_quaternion.swap(dual_quaternion.pure(twist))
    M = spatial.inertia(m, np.zeros(3), J_com)
    assert_close(dual_quaternion.swap(M8 @ swapped), dual_quaternion.pure(spatial.momentum(M, twist)))
    assert_close(dual_quaternion.circle(swapped, M8 @ swapped) / 2, spatial.kinetic_energy(M, twist))


def test_the_derivative_of_the_energy_is_the_momentum():
    body, twist = cloud(4), np.random.default_rng(5).normal(size=6)
    slope = jacobian(spatial.kinetic_energy, "twist")(body.inertia(), twist)
    assert_close(slope, body.momentum(twist))


def test_erratum_dqvi_eq_14_needs_the_conjugate_of_the_pose():
    """Printed: T = 2 (p pdot)^T M8 (p pdot); right: with p^dagger pdot, as in eq. (15)."""
    rng = np.random.default_rng(6)
    body, q, (r, w_B, rdot) = cloud(7), Rotation.random(rng=rng).as_quat(scalar_first=True), rng.normal(size=(3, 3))
    along_q, along_r = jacobian(dual_quaternion.from_pose, ("q_AB", "r_AB"))(q, r)
    p = dual_quaternion.from_pose(q, r)
    pdot = along_q @ (quaternion.mul(q, np.array([0, *w_B])) / 2) + along_r @ rdot
    M8 = np.zeros((8, 8))
    M8[np.ix_([1, 2, 3, 5, 6, 7], [1, 2, 3, 5, 6, 7])] = body.inertia()
    v_W = rdot + Rotation.from_quat(q, scalar_first=True).apply(np.cross(w_B, body.r))
    truth = 0.5 * body.m @ np.sum(v_W * v_W, axis=1)
    half_twist, printed = dual_quaternion.mul(dual_quaternion.conj(p), pdot), dual_quaternion.mul(p, pdot)
    np.testing.assert_allclose(2 * half_twist @ M8 @ half_twist, truth, rtol=1e-13)
    assert abs(2 * printed @ M8 @ printed / truth - 1) > 0.05
