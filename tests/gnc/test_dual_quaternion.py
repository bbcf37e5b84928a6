"""Dual quaternions: the laws of the algebra, poses, screws, and the errata of DQVI and DQMB that concern them."""

import inspect

import mpmath as mp
import numpy as np
import pytest
import pytransform3d.transformations as pt
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import RigidTransform, Rotation

from gnc import dual_quaternion as dq
from gnc import quaternion
from gnc.batch import Kernel, jacobian

ULP = 2.0**-52
ONE = np.eye(8)[0]
LEADS = ((), (7,), (2, 3))
KERNELS = [f for _, f in inspect.getmembers(dq, lambda x: isinstance(x, Kernel))]
# Both borders between series and closed form (0.440 in log, 2 and 2 sqrt(10) in exp) have an angle on either side.
ANGLES = (0.0, 1e-300, 1e-160, 1e-16, 1e-8, 1e-4, 0.1, 0.19, 0.21, 0.43, 0.45, 1.0, 1.99, 2.01, 3.0, np.pi - 1e-8)
SIZES = (0.0, 1e-300, 1.0, 1e8)  # of the translation

laws = settings(max_examples=60, deadline=None)
numbers = st.floats(-4, 4, allow_subnormal=False)
dual_quaternions = arrays(float, 8, elements=numbers)
six_vectors = arrays(float, 6, elements=numbers)
points = arrays(float, 3, elements=numbers)
directions = arrays(float, 3, elements=numbers).filter(lambda v: np.linalg.norm(v) > 0.1)
angles = st.one_of(st.sampled_from(ANGLES), st.floats(0, np.pi - 1e-8))


@st.composite
def twists(draw):
    """[rotation vector below pi, translation part]."""
    axis = draw(directions)
    return np.concatenate([axis / np.linalg.norm(axis) * draw(angles), draw(points)])


poses = st.builds(lambda xi, sign: sign * dq.exp(xi), twists(), st.sampled_from((1.0, -1.0)))


def some_twists(angle, size, n=2, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n, 3))
    a *= angle / np.linalg.norm(a, axis=-1, keepdims=True)
    return np.concatenate([a, size * b], axis=-1)


def some_poses(n, seed=0):
    rng = np.random.default_rng(seed)
    return dq.from_pose(Rotation.random(n, rng=rng).as_quat(scalar_first=True), rng.normal(size=(n, 3)))


def norm(x):
    """The length, where squares would underflow or overflow too."""
    largest = np.max(np.abs(x), axis=-1)
    safe = np.where(largest == 0, 1.0, largest)
    return safe * np.linalg.norm(x / safe[..., None], axis=-1)


def mp_left(a):
    """The 8x8 matrix that multiplies by a from the left, for mpmath."""

    def left(s, x, y, z):
        return mp.matrix([[s, -x, -y, -z], [x, s, -z, y], [y, z, s, -x], [z, -y, x, s]])

    A = mp.zeros(8)
    A[:4, :4] = A[4:, 4:] = left(*map(mp.mpf, a[:4]))
    A[4:, :4] = left(*map(mp.mpf, a[4:]))
    return A


def exact_exp(xi):
    """exp(xi/2) in 50 digits, as a matrix exponential."""
    half = [mp.mpf(x) / 2 for x in xi]
    return mp.expm(mp_left([0, *half[:3], 0, *half[3:]]))[:, 0]


def assert_same_pose(a, b, atol=1e-13):
    sign = np.sign(np.sum(a[..., :4] * b[..., :4], axis=-1, keepdims=True))
    np.testing.assert_allclose(a, sign * b, rtol=0, atol=atol * max(1.0, np.abs(b).max()))


# The algebra of DQMB Tables 1 and 2


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("lead", LEADS)
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
@given(dual_quaternions, dual_quaternions, dual_quaternions)
def test_the_product_is_associative_and_conjugation_reverses_it(a, b, c):
    np.testing.assert_allclose(dq.mul(dq.mul(a, b), c), dq.mul(a, dq.mul(b, c)), atol=1e-11)
    np.testing.assert_array_equal(dq.mul(a, ONE), a)
    np.testing.assert_allclose(dq.conj(dq.mul(a, b)), dq.mul(dq.conj(b), dq.conj(a)), atol=1e-13)


@laws
@given(dual_quaternions, dual_quaternions)
def test_product_and_conjugate_agree_with_pytransform3d(a, b):
    np.testing.assert_allclose(dq.mul(a, b), pt.concatenate_dual_quaternions(a, b, unit=False), atol=1e-12)
    np.testing.assert_array_equal(dq.conj(a), pt.dq_q_conj(a, unit=False))


@laws
@given(dual_quaternions, dual_quaternions)
def test_the_identities_of_dqmb_table_2_hold(a, b):
    ab, ba = dq.mul(dq.conj(a), b), dq.mul(dq.conj(b), a)
    np.testing.assert_allclose(np.insert(np.zeros(6), (0, 3), dq.dot(a, b)), (ab + ba) / 2, atol=1e-12)
    cross = (dq.mul(a, b) - dq.mul(dq.conj(b), dq.conj(a))) / 2
    np.testing.assert_allclose(dq.cross(a, b), cross, atol=1e-12)
    np.testing.assert_allclose(dq.circle(a, b), np.dot(a, b), atol=1e-12)
    np.testing.assert_allclose(dq.norm(a) ** 2, dq.circle(a, a), rtol=1e-14)
    np.testing.assert_array_equal(dq.swap(a), np.roll(a, 4))
    np.testing.assert_array_equal(dq.pure(dq.vector_part(a)), a * [0, 1, 1, 1, 0, 1, 1, 1])
    np.testing.assert_array_equal(dq.scalar_part(a), a[[0, 4]])


@laws
@given(dual_quaternions, dual_quaternions)
def test_left_and_right_matrices_multiply(a, b):
    np.testing.assert_allclose(dq.left_matrix(a) @ b, dq.mul(a, b), atol=1e-12)
    np.testing.assert_allclose(dq.right_matrix(b) @ a, dq.mul(a, b), atol=1e-12)


@laws
@given(dual_quaternions, dual_quaternions, dual_quaternions)
def test_the_swap_moves_factors_across_the_circle_product_as_in_dqvi_eq_3(p1, p2, p3):
    whole = dq.circle(dq.mul(p1, p2), p3)
    left = dq.circle(dq.mul(dq.conj(p1), dq.swap(p3)), dq.swap(p2))
    right = dq.circle(dq.mul(dq.swap(p3), dq.conj(p2)), dq.swap(p1))
    np.testing.assert_allclose((left, right), whole, atol=1e-11)


@laws
@given(dual_quaternions.filter(lambda a: norm(a[:4]) > 0.1))
def test_the_inverse_inverts_any_dual_quaternion_with_a_real_part(a):
    np.testing.assert_allclose(dq.mul(a, dq.inverse(a)), ONE, atol=1e-11)
    np.testing.assert_allclose(dq.mul(dq.inverse(a), a), ONE, atol=1e-11)


@laws
@given(dual_quaternions.filter(lambda a: norm(a[:4]) > 0.1))
def test_normalisation_makes_unit_and_keeps_rotation_and_position(a):
    unit = dq.normalize(a)
    np.testing.assert_allclose(dq.dot(unit, unit), (1, 0), atol=1e-14 * max(1, norm(unit)))
    np.testing.assert_allclose(unit[:4], a[:4] / norm(a[:4]), atol=1e-15)
    position = 2 * quaternion.mul(a[4:], quaternion.conj(a[:4]))[1:] / norm(a[:4]) ** 2
    np.testing.assert_allclose(dq.to_pose(unit)[1], position, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(dq.normalize(unit), unit, rtol=1e-13, atol=1e-14)


def test_normalisation_divides_by_the_dual_norm():
    pose, (scale, dual_scale) = some_poses(50), np.random.default_rng(2).uniform(0.5, 2, size=(2, 50, 1))
    dual_number = np.concatenate([scale, np.zeros((50, 3)), dual_scale, np.zeros((50, 3))], axis=-1)
    np.testing.assert_allclose(dq.normalize(dq.mul(dual_number, pose)), pose, atol=1e-14)


# Poses


def test_poses_agree_with_scipy():
    rng = np.random.default_rng(3)
    rotation, r, p = Rotation.random(100, rng=rng), rng.normal(size=(100, 3)), rng.normal(size=(100, 3))
    theirs = RigidTransform.from_components(r, rotation)
    ours = dq.from_pose(rotation.as_quat(scalar_first=True), r)
    other = some_poses(100, seed=4)
    product = theirs * RigidTransform.from_dual_quat(other, scalar_first=True)
    assert_same_pose(ours, theirs.as_dual_quat(scalar_first=True))
    assert_same_pose(dq.mul(ours, other), product.as_dual_quat(scalar_first=True))
    assert_same_pose(dq.from_matrix(theirs.as_matrix()), ours)
    np.testing.assert_allclose(dq.to_matrix(ours), theirs.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(dq.transform_point(ours, p), theirs.apply(p), atol=1e-14)
    np.testing.assert_allclose(dq.inverse_transform_point(ours, p), theirs.apply(p, inverse=True), atol=1e-14)
    np.testing.assert_allclose(dq.to_pose(ours)[1], r, atol=1e-14)
    np.testing.assert_array_equal(dq.to_pose(ours)[0], rotation.as_quat(scalar_first=True))
    np.testing.assert_allclose(dq.log(ours), theirs.as_exp_coords(), atol=1e-12)


def test_poses_agree_with_pytransform3d():
    for pose in some_poses(20):
        q, r = dq.to_pose(pose)
        np.testing.assert_allclose(pt.dual_quaternion_from_pq(np.concatenate([r, q])), pose, atol=1e-15)
        np.testing.assert_allclose(dq.to_matrix(pose), pt.transform_from_dual_quaternion(pose), atol=1e-14)
        p = np.array([0.3, -2.0, 1.5])
        np.testing.assert_allclose(dq.transform_point(pose, p), pt.dq_prod_vector(pose, p), atol=1e-14)


@laws
@given(poses, poses, points)
def test_frames_chain_and_invert(dq_AB, dq_BC, p_C):
    p_A = dq.transform_point(dq_AB, dq.transform_point(dq_BC, p_C))
    dq_AC = dq.mul(dq_AB, dq_BC)
    np.testing.assert_allclose(dq.transform_point(dq_AC, p_C), p_A, atol=1e-13)
    np.testing.assert_allclose(dq.inverse_transform_point(dq_AC, p_A), p_C, atol=1e-13)
    np.testing.assert_allclose(dq.mul(dq_AC, dq.conj(dq_AC)), ONE, atol=1e-13)


# Twists and wrenches


@laws
@given(poses, six_vectors, six_vectors)
def test_power_does_not_depend_on_the_frame(dq_AB, twist_B, wrench_B):
    power = dq.transform_twist(dq_AB, twist_B) @ dq.transform_wrench(dq_AB, wrench_B)
    np.testing.assert_allclose(power, twist_B @ wrench_B, atol=1e-11)


@laws
@given(poses, six_vectors)
def test_twists_and_wrenches_change_by_the_sandwich_of_dqmb_eqs_19_and_21(dq_AB, x):
    def sandwich(s):
        return dq.mul(dq.mul(dq_AB, s), dq.conj(dq_AB))

    np.testing.assert_allclose(dq.pure(dq.transform_twist(dq_AB, x)), sandwich(dq.pure(x)), atol=1e-12)
    force_first = sandwich(dq.swap(dq.pure(x)))  # the paper's wrench is f + eps tau
    np.testing.assert_allclose(dq.pure(dq.transform_wrench(dq_AB, x)), dq.swap(force_first), atol=1e-12)


def test_twists_and_wrenches_change_as_elementary_mechanics_has_it():
    rng = np.random.default_rng(5)
    R, r, (twist, wrench) = Rotation.random(rng=rng), rng.normal(size=3), rng.normal(size=(2, 6))
    pose = dq.from_pose(R.as_quat(scalar_first=True), r)
    w, v, torque, force = R.apply([twist[:3], twist[3:], wrench[:3], wrench[3:]])
    # The body's point at the origin of A is -r from the one at the origin of B.
    np.testing.assert_allclose(dq.transform_twist(pose, twist), [*w, *(v + np.cross(w, -r))], atol=1e-14)
    np.testing.assert_allclose(dq.transform_wrench(pose, wrench), [*(torque + np.cross(r, force)), *force], atol=1e-14)


@laws
@given(poses, poses, six_vectors)
def test_the_adjoint_is_the_matrix_of_the_change_and_chains(dq_AB, dq_BC, x):
    A = dq.adjoint(dq_AB)
    np.testing.assert_allclose(A @ x, dq.transform_twist(dq_AB, x), atol=1e-12)
    np.testing.assert_allclose(A.T @ dq.transform_wrench(dq_AB, x), x, atol=1e-11)
    np.testing.assert_allclose(dq.adjoint(dq.mul(dq_AB, dq_BC)), A @ dq.adjoint(dq_BC), atol=1e-12)
    moved = dq.mul(dq.mul(dq_AB, dq.exp(x)), dq.conj(dq_AB))
    np.testing.assert_allclose(dq.exp(A @ x), moved, atol=1e-11)


# Exponential and logarithm


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("angle", (*ANGLES, np.pi, 4.0, 6.2, 6.4))
def test_exp_is_right_to_a_few_ulp_from_angle_zero_to_beyond_a_turn(angle, size):
    with mp.workdps(50):
        for xi in some_twists(angle, size):
            ours, exact = dq.exp(xi), exact_exp(xi)
            for part, scale in ((slice(0, 4), 1.0), (slice(4, 8), norm(xi[3:]) / 2)):
                assert mp.norm(mp.matrix(ours[part]) - exact[part]) <= 4 * ULP * scale
            vector = mp.norm(exact[1:4])  # relative: a tiny rotation keeps its digits
            assert mp.norm(mp.matrix(ours[1:4]) - exact[1:4]) <= 4 * ULP * max(vector, angle > 3)


@pytest.mark.parametrize("angle", ANGLES)
def test_exp_is_the_matrix_exponential_of_se3(angle):
    with mp.workdps(50):
        for xi in some_twists(angle, 1.0, n=3):
            a, b, c, *v = map(mp.mpf, xi)
            T = mp.expm(mp.matrix([[0, -c, b, v[0]], [c, 0, -a, v[1]], [-b, a, 0, v[2]], [0, 0, 0, 0]]))
            np.testing.assert_allclose(dq.to_matrix(dq.exp(xi)), np.array(T.tolist(), dtype=float), atol=8 * ULP)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("angle", ANGLES)
def test_log_returns_the_twist_to_a_few_ulp_on_both_covers(angle, size):
    for xi in some_twists(angle, size):
        with mp.workdps(50):
            pose = np.array([float(x) for x in exact_exp(xi)])
        for cover in (pose, -pose):
            got = dq.log(cover)
            assert norm(got[:3] - xi[:3]) <= 6 * ULP * norm(xi[:3])
            assert norm(got[3:] - xi[3:]) <= 6 * ULP * norm(xi[3:])


@pytest.mark.parametrize("angle", (np.pi, np.pi - 1e-15, np.pi + 1e-15, 3.5, 6.2))
def test_log_takes_the_short_way_round(angle):
    xi = some_twists(angle, 1.0, n=50)
    shortest = dq.log(dq.exp(xi))
    assert np.all(norm(shortest[:, :3]) <= np.pi * (1 + ULP))
    assert_same_pose(dq.exp(shortest), dq.exp(xi), atol=1e-14)


@laws
@given(twists(), st.floats(0.5, 2), numbers)
def test_log_does_not_see_the_dual_norm(xi, scale, dual_scale):
    dual_number = np.array([scale, 0, 0, 0, dual_scale, 0, 0, 0])
    np.testing.assert_allclose(dq.log(dq.mul(dual_number, dq.exp(xi))), xi, atol=2e-13)


@laws
@given(twists())
def test_dual_parts_are_derivatives_of_the_real_functions_along_the_dual_direction(xi):
    along = jacobian(quaternion.exp, quaternion.exp.layout.names[0])(xi[:3]) @ xi[3:]
    np.testing.assert_allclose(dq.exp(xi), [*quaternion.exp(xi[:3]), *along], atol=1e-14)


@pytest.mark.parametrize("angle", (0.0, 1e-300, 1e-8, 0.43, 1.99, 2.01, np.pi))
def test_the_jacobian_of_exp_is_exact_at_the_identity_and_away_from_it(angle):
    xi, step = some_twists(angle, 1.0, n=1)[0], mp.mpf(10) ** -20
    with mp.workdps(60):
        for i, column in enumerate(jacobian(dq.exp, "xi")(xi).T):
            ahead, behind = ([mp.mpf(x) + sign * step * (i == j) for j, x in enumerate(xi)] for sign in (1, -1))
            exact = (exact_exp(ahead) - exact_exp(behind)) / (2 * step)
            np.testing.assert_allclose(column, np.array(exact.tolist(), dtype=float).ravel(), rtol=0, atol=1e-15)


@pytest.mark.parametrize("angle", ANGLES)
def test_the_jacobian_of_log_inverts_that_of_exp(angle):
    xi = some_twists(angle, 1.0, n=50)
    product = jacobian(dq.log, "dq")(dq.exp(xi)) @ jacobian(dq.exp, "xi")(xi)
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(6), product.shape), atol=5e-15)


# Screws


@laws
@given(directions, points, st.floats(-3.1, 3.1), numbers)
def test_a_screw_turns_about_its_line_and_slides_along_it(direction, point, angle, distance):
    axis = direction / norm(direction)
    turn = RigidTransform.from_components(distance * axis, Rotation.from_rotvec(angle * axis))
    to_line = RigidTransform.from_translation(point)
    expected = (to_line * turn * to_line.inv()).as_dual_quat(scalar_first=True)
    assert_same_pose(dq.from_screw(axis, np.cross(point, axis), angle, distance), expected)


@laws
@given(poses)
def test_screw_parameters_restore_the_pose_at_every_angle(pose):
    axis, moment, angle, distance = dq.to_screw(pose)
    assert abs(norm(axis) - 1) <= 2 * ULP and 0 <= angle <= np.pi
    assert abs(axis @ moment) <= 8 * ULP * norm(moment)
    assert_same_pose(dq.from_screw(axis, moment, angle, distance), pose, atol=4 * ULP)


def test_screw_parameters_agree_with_pytransform3d():
    for pose in dq.canonical(some_poses(20)):
        axis, moment, angle, distance = dq.to_screw(pose)
        point, their_axis, pitch, their_angle = pt.screw_parameters_from_dual_quaternion(pose)
        np.testing.assert_allclose(axis, their_axis, atol=1e-14)
        np.testing.assert_allclose(np.cross(axis, moment), point, atol=1e-12)
        np.testing.assert_allclose((angle, distance), (their_angle, pitch * their_angle), atol=1e-13)
        back = pt.dual_quaternion_from_screw_parameters(point, axis, distance / angle, angle)
        np.testing.assert_allclose(dq.from_screw(axis, moment, angle, distance), back, atol=1e-13)


@pytest.mark.parametrize("size", (1e-300, 1.0, 1e200))
def test_a_pure_translation_is_a_screw_along_its_direction(size):
    r = size * np.array([2.0, -3.0, 6.0])
    axis, moment, angle, distance = dq.to_screw(dq.from_pose([1, 0, 0, 0], r))
    np.testing.assert_allclose(axis, [2 / 7, -3 / 7, 6 / 7], rtol=2 * ULP)
    np.testing.assert_allclose(distance, 7 * size, rtol=2 * ULP)
    assert angle == 0 and not moment.any()
    np.testing.assert_array_equal(dq.to_screw(ONE)[0], [1, 0, 0])


def test_a_rotation_whose_axis_is_beyond_the_numbers_counts_as_none():
    axis, moment, angle, distance = dq.to_screw(dq.from_pose([1, 0, 1e-310, 0], [2.0, 0, 0]))
    np.testing.assert_allclose([*axis, *moment, angle, distance], [1, 0, 0, 0, 0, 0, 0, 2], rtol=0, atol=1e-300)


def test_a_rotation_of_1e_300_keeps_its_axis_and_angle():
    axis, moment, angle, distance = dq.to_screw(dq.from_screw([0.6, 0, 0.8], [0, 5.0, 0], 1e-300, 2.0))
    np.testing.assert_allclose([*axis, *moment, distance], [0.6, 0, 0.8, 0, 5.0, 0, 2.0], rtol=4 * ULP, atol=4 * ULP)
    np.testing.assert_allclose(angle, 1e-300, rtol=4 * ULP, atol=0)


@pytest.mark.parametrize("lost", range(8))
def test_a_lost_pose_has_no_screw_and_no_log(lost):
    pose = np.where(np.arange(8) == lost, np.nan, some_poses(1)[0])
    assert np.isnan(np.hstack(dq.to_screw(pose))).any() and np.isnan(dq.log(pose)).any()


# Interpolation


@laws
@given(poses, poses, st.floats(0, 1))
def test_screw_interpolation_holds_one_twist_from_start_to_end(start, end, t):
    whole = dq.log(dq.mul(dq.conj(start), end))
    there = dq.mul(dq.conj(start), dq.sclerp(start, end, t))
    np.testing.assert_allclose(there, dq.exp(t * whole), atol=1e-12)
    assert_same_pose(dq.sclerp(start, end, 0.0), start)
    assert_same_pose(dq.sclerp(start, end, 1.0), end)
    np.testing.assert_array_equal(dq.sclerp(start, -end, t), dq.sclerp(start, end, t))


def test_screw_extrapolation_keeps_its_digits_between_poses_that_nearly_agree():
    """A difference of 1e-12, magnified 1e10 times: a product that cancels would leave six digits."""
    for start in some_poses(10):
        end = dq.mul(start, dq.exp(1e-12 * np.array([1.0, -2.0, 3.0, 0.5, 1.5, -1.0])))
        with mp.workdps(50):
            between = mp_left(dq.conj(start)) * mp.matrix(end)
            twist = [float(2 * mp.mpf(10) ** 10 * between[i]) for i in (1, 2, 3, 5, 6, 7)]
        np.testing.assert_allclose(dq.sclerp(start, -end, 1e10), dq.mul(start, dq.exp(twist)), atol=1e-14)


def test_screw_interpolation_agrees_with_pytransform3d():
    start, end = some_poses(20), some_poses(20, seed=6)
    for a, b in zip(start, end, strict=True):
        b = b * np.sign(a[:4] @ b[:4])  # theirs does not choose the short way
        assert_same_pose(dq.sclerp(a, b, 0.3), pt.dual_quaternion_sclerp(a, b, 0.3))


# Errata


def test_erratum_dqvi_eq_4_scales_the_moment_and_slides_along_the_axis():
    """Printed: s.Theta = [Theta_a s_a, Theta_a s_b, Theta_b s_a], nine numbers; the last two belong together."""
    axis, point, angle, distance = np.array([0.6, 0, 0.8]), np.array([1.0, -2.0, 0.5]), 1.3, 0.7
    moment = np.cross(point, axis)
    turn = RigidTransform.from_components(distance * axis, Rotation.from_rotvec(angle * axis))
    to_line = RigidTransform.from_translation(point)
    screw = (to_line * turn * to_line.inv()).as_dual_quat(scalar_first=True)
    assert_same_pose(dq.exp(np.concatenate([angle * axis, angle * moment + distance * axis])), screw, 1e-14)
    for printed in (angle * moment, distance * axis):
        assert np.abs(dq.exp(np.concatenate([angle * axis, printed])) - screw).max() > 0.1


def moving_pose():
    """A pose, its rate of change, and the angular velocity and velocity of the body's origin in the world."""
    rng = np.random.default_rng(7)
    q, r, w_W, rdot = Rotation.random(rng=rng).as_quat(scalar_first=True), *rng.normal(size=(3, 3))
    qdot = quaternion.mul(np.array([0, *w_W]), q) / 2
    along_q, along_r = jacobian(dq.from_pose, ("q_AB", "r_AB"))(q, r)
    return dq.from_pose(q, r), along_q @ qdot + along_r @ rdot, w_W, rdot


def test_erratum_dqvi_eq_8_world_twist_is_of_the_body_point_at_the_world_origin():
    """Printed: chi_W = 2 pdot p; right: chi_W = 2 pdot p^dagger, with v of the body's point at the world origin."""
    p, pdot, w_W, rdot = moving_pose()
    (q, r), chi_W = dq.to_pose(p), 2 * dq.mul(pdot, dq.conj(p))
    np.testing.assert_allclose(chi_W, dq.pure([*w_W, *(rdot + np.cross(w_W, -r))]), atol=1e-14)
    chi_B = 2 * dq.mul(dq.conj(p), pdot)
    in_body = Rotation.from_quat(q, scalar_first=True).inv().apply([w_W, rdot])
    np.testing.assert_allclose(chi_B, dq.pure(in_body.ravel()), atol=1e-14)
    np.testing.assert_allclose(dq.derivative(p, in_body.ravel()), pdot, atol=1e-14)
    np.testing.assert_allclose(dq.transform_twist(p, dq.vector_part(chi_B)), dq.vector_part(chi_W), atol=1e-14)
    assert np.abs(dq.scalar_part(2 * dq.mul(pdot, p))).max() > 0.1  # the printed one is not even a twist


def test_erratum_dqmb_eq_11_lost_the_half_of_the_cross_product():
    """Lemma 1 holds; the proof's second line, q*(a b - b* a*) q, is twice q* (a x b) q."""
    pose, (a, b) = some_poses(1)[0], np.random.default_rng(8).normal(size=(2, 8))

    def to_Y(x):
        return dq.mul(dq.mul(dq.conj(pose), x), pose)

    np.testing.assert_allclose(dq.cross(to_Y(a), to_Y(b)), to_Y(dq.cross(a, b)), atol=1e-13)
    printed = to_Y(dq.mul(a, b) - dq.mul(dq.conj(b), dq.conj(a)))
    np.testing.assert_allclose(printed / 2, to_Y(dq.cross(a, b)), atol=1e-13)
