"""Quaternions against SciPy, pytransform3d and 50 digits; `test_group_laws.py` has the laws."""

import mpmath as mp
import numpy as np
import pytest
import pytransform3d.rotations as pr
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from gnc import quaternion
from gnc.batch import jacobian
from tests.gnc.groups import ANGLES, BEYOND_PI, SHAPES, ULP, directions, laws, vectors

RNG = np.random.default_rng(0)
Q = Rotation.random(40, rng=RNG).as_quat(scalar_first=True)
P = Rotation.random(40, rng=RNG).as_quat(scalar_first=True)
V = RNG.normal(size=(40, 3))
ONE = np.eye(4)[0]


def close(x, y, ulps):
    np.testing.assert_allclose(x, y, rtol=0, atol=ulps * ULP)


def same_rotation(p, q, ulps):
    close(np.min([np.abs(p - q).max(-1), np.abs(p + q).max(-1)], axis=0), 0.0, ulps)


def exact(x):
    return [mp.mpf(float(number)) for number in x]


def relative_error(x, reference):
    """Return the error against the length of the reference, both in 50 digits."""
    with mp.workdps(50):
        apart = mp.norm([a - b for a, b in zip(exact(x), reference, strict=True)])
        return float(apart / mp.norm(reference)) if apart else 0.0


# The algebra


def test_mul_conj_and_the_matrices_agree_with_hamilton_and_pytransform3d():
    i, j, k = np.eye(4)[1:]
    for a, b, c in ((i, j, k), (j, k, i), (k, i, j)):
        np.testing.assert_array_equal(quaternion.mul(a, b), c)
        np.testing.assert_array_equal(quaternion.mul(b, a), -c)
        np.testing.assert_array_equal(quaternion.mul(a, a), -ONE)
    close(quaternion.mul(P, Q), [pr.concatenate_quaternions(p, q) for p, q in zip(P, Q, strict=True)], 2)
    close(quaternion.conj(Q), [pr.q_conj(q) for q in Q], 0)
    close(np.einsum("nij,nj->ni", quaternion.left_matrix(P), Q), quaternion.mul(P, Q), 2)
    close(np.einsum("nij,nj->ni", quaternion.right_matrix(Q), P), quaternion.mul(P, Q), 2)


def test_rotation_agrees_with_scipy_and_its_inverse_undoes_it():
    close(quaternion.rotate(Q, V), Rotation.from_quat(Q, scalar_first=True).apply(V), 16)
    close(quaternion.inverse_rotate(Q, V), Rotation.from_quat(Q, scalar_first=True).apply(V, inverse=True), 16)
    close(quaternion.inverse_rotate(Q, quaternion.rotate(Q, V)), V, 16)


def test_frames_chain():
    q_AB, q_BC, v_C = P, Q, V
    q_AC = quaternion.mul(q_AB, q_BC)
    close(quaternion.rotate(q_AC, v_C), quaternion.rotate(q_AB, quaternion.rotate(q_BC, v_C)), 16)


def test_normalising_divides_by_the_length():
    scaled = Q * np.random.default_rng(11).uniform(0.1, 10.0, size=(40, 1))
    close(quaternion.normalize(scaled), Q, 2)


def test_canonical_is_one_of_the_two_covers_and_the_same_for_both():
    corners = np.array([[0.0, 1, 0, 0], [-0.0, 0, 1, 0], [0, 0, 0, 1], [0, -0.6, 0.8, 0], [0.0, 0, -0.6, 0.8]])
    q = np.concatenate([Q, corners])
    chosen = quaternion.canonical(q)
    np.testing.assert_array_equal(chosen, quaternion.canonical(-q))
    assert np.all(chosen[:, 0] >= 0)
    assert np.all((chosen == q).all(-1) | (chosen == -q).all(-1))


def test_the_derivative_is_that_of_turning_at_the_body_rate():
    w_B, h = V, 1e-5
    ahead, behind = (quaternion.mul(Q, quaternion.exp(s * h * w_B)) for s in (1, -1))
    np.testing.assert_allclose(quaternion.derivative(Q, w_B), (ahead - behind) / (2 * h), atol=1e-9)


# Rotation vectors


def exact_exp(a):
    with mp.workdps(50):
        angle = mp.norm(exact(a))
        scale = mp.sin(angle / 2) / angle if angle else mp.mpf(0.5)
        return [mp.cos(angle / 2), *(scale * x for x in exact(a))]


def exact_log(q):
    with mp.workdps(50):
        scalar, *vector = exact(q if q[0] >= 0 else -q)
        length = mp.norm(vector)
        return [x * 2 * mp.atan2(length, scalar) / length for x in vector]


@pytest.mark.parametrize("angle", ANGLES + BEYOND_PI)
def test_exp_is_right_to_two_ulp_and_so_is_its_vector_part_by_itself(angle):
    for a in angle * directions(np.random.default_rng(1), 10):
        q, reference = quaternion.exp(a), exact_exp(a)
        assert relative_error(q, reference) < 2 * ULP
        assert angle == 0.0 or relative_error(q[1:], reference[1:]) < (2 if angle < np.pi else 4) * ULP


@pytest.mark.parametrize("angle", ANGLES[1:] + BEYOND_PI)
@pytest.mark.parametrize("cover", [1, -1])
def test_log_is_right_to_three_ulp_on_both_covers_up_to_the_half_turn(angle, cover):
    for axis in directions(np.random.default_rng(1), 10):
        q = cover * np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])
        assert relative_error(quaternion.log(q), exact_log(q)) < 3 * ULP


def test_log_is_the_same_for_both_covers_and_at_most_pi_long():
    half_turns = np.concatenate([np.zeros((3, 1)), np.eye(3)], axis=1)
    q = np.concatenate([Q, half_turns])
    np.testing.assert_array_equal(quaternion.log(q), quaternion.log(-q))
    assert np.all(np.linalg.norm(quaternion.log(q), axis=-1) <= np.pi * (1 + ULP))


def test_log_does_not_see_the_length():
    close(quaternion.log(3.7 * Q), quaternion.log(Q), 8)


@laws
@given(a=vectors(3), cover=st.sampled_from((1.0, -1.0)))
def test_the_cover_preserving_log_leads_back_to_the_same_cover(a, cover):
    q = cover * quaternion.exp(a)
    close(quaternion.exp(quaternion.log_cover(q)), q, 8)


def test_the_cover_preserving_log_of_minus_one_is_a_full_turn():
    close(quaternion.log_cover(-ONE), [2 * np.pi, 0, 0], 0)
    tiny = np.array([-1.0, 0.0, 1e-300, 0.0])
    close(quaternion.log_cover(tiny), [0, 2 * np.pi, 0], 0)


@pytest.mark.parametrize("angle", ANGLES + BEYOND_PI)
def test_axis_and_angle_agree_with_the_rotation_vector_for_axes_of_any_length(angle):
    axes = directions(np.random.default_rng(2), 10)
    for length in (1e-300, 1.0, 1e150):
        close(quaternion.from_axis_angle(length * axes, angle), quaternion.exp(angle * axes), 4)


def test_a_zero_axis_is_lost():
    assert np.all(np.isnan(quaternion.from_axis_angle(np.zeros(3), 1.0)[1:]))


# Matrices


def test_matrices_agree_with_scipy():
    close(quaternion.to_matrix(Q), Rotation.from_quat(Q, scalar_first=True).as_matrix(), 4)


@pytest.mark.parametrize("angle", ANGLES + BEYOND_PI)
def test_from_matrix_restores_the_quaternion_at_every_angle_about_every_axis(angle):
    axes = np.concatenate([directions(np.random.default_rng(3), 20), np.eye(3), -np.eye(3), [[0.6, 0.8, 0]]])
    q = quaternion.from_axis_angle(axes, angle)
    back = quaternion.from_matrix(quaternion.to_matrix(q))
    same_rotation(back, q, 4)
    assert np.all(back[:, 0] >= 0)
    vector, expected = back[:, 1:], quaternion.canonical(q)[:, 1:]
    if angle < 1.0:  # tiny vector parts have all their digits
        assert np.all(np.abs(vector - expected).max(-1) <= 4 * ULP * np.abs(expected).max(-1))


# Two directions


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("from_pi", [False, True])
def test_from_two_vectors_takes_one_to_the_other_to_a_few_ulp_even_if_nearly_opposite(angle, from_pi):
    rng = np.random.default_rng(4)
    a, b = directions(rng, 2, 50)
    b = np.cross(a, b)
    b = np.cos(angle) * a + np.sin(angle) * b / np.linalg.norm(b, axis=-1, keepdims=True)
    b = -b if from_pi else b
    q = quaternion.from_two_vectors(3e-200 * a, 5e200 * b)
    close(quaternion.rotate(q, a), b, 8)
    close(np.linalg.norm(q, axis=-1), 1.0, 2)
    turned = np.linalg.norm(quaternion.log(q), axis=-1)
    close(turned, np.pi - angle if from_pi else angle, 8)  # the shortest: no turn about the directions themselves


def test_a_turn_of_1e_300_between_two_vectors_keeps_its_digits():
    close(quaternion.from_two_vectors([0, 2.0, 0], [0, 3.0, 3e-300]) * 1e300, [1e300, 0.5, 0, 0], 2)


def test_opposite_vectors_turn_by_pi_about_a_normal():
    a = np.concatenate([directions(np.random.default_rng(5), 50), np.eye(3), [[1.0, 2, 3], [1, 1, 1], [0, 1e-8, 1]]])
    q = quaternion.from_two_vectors(a, -7 * a)
    size = np.linalg.norm(a, axis=-1, keepdims=True)
    close(quaternion.rotate(q, a / size), -a / size, 8)
    close(np.sum(q[:, 1:] * a / size, axis=-1), 0.0, 4)


def test_a_zero_vector_is_lost():
    assert np.all(np.isnan(quaternion.from_two_vectors([1.0, 0, 0], [0.0, 0, 0])))


# Two rotations


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("cover", [1, -1])
def test_the_angle_between_rotations_is_right_near_zero_and_near_pi(angle, cover):
    step = np.array([np.cos(angle / 2), *(np.sin(angle / 2) * np.array([0.48, -0.6, 0.64]))])
    assert quaternion.angle_between(ONE, cover * step) == pytest.approx(angle, rel=4 * ULP, abs=0)
    close(quaternion.angle_between(Q, cover * quaternion.mul(Q, step)), angle, 8)
    close(quaternion.angle_between(quaternion.mul(Q, step), cover * Q), angle, 8)


def test_the_angle_between_near_rotations_has_all_digits_of_what_it_is_given():
    for q in Q:
        near = q + np.array([3, -1, 2, 1]) * 2.0**-50
        with mp.workdps(60):
            (a, b, c, d), (e, f, g, h) = exact(q), exact(near)
            vector = (a * f - b * e - c * h + d * g, a * g + b * h - c * e - d * f, a * h - b * g + c * f - d * e)
            angle = 2 * mp.atan2(mp.norm(vector), a * e + b * f + c * g + d * h)
        assert quaternion.angle_between(q, near) == pytest.approx(float(angle), rel=8 * ULP, abs=0)


def test_slerp_agrees_with_scipy_and_runs_from_one_end_to_the_other():
    for p, q in zip(P, Q, strict=True):
        t = np.linspace(0, 1, 7)
        reference = Slerp([0, 1], Rotation.from_quat([p, q], scalar_first=True))(t).as_quat(scalar_first=True)
        same_rotation(quaternion.slerp(p, q, t), reference, 16)
    np.testing.assert_array_equal(quaternion.slerp(P, Q, 0.0), P)
    same_rotation(quaternion.slerp(P, Q, 1.0), Q, 8)


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("cover", [1, -1])
def test_slerp_goes_the_short_way_at_a_constant_rate(angle, cover):
    step = angle * directions(np.random.default_rng(6), 40)
    end = cover * quaternion.mul(Q, quaternion.exp(step))
    close(quaternion.slerp(Q, end, 0.3), quaternion.mul(Q, quaternion.exp(0.3 * step)), 8)


def test_slerp_between_the_identity_and_a_tiny_turn_keeps_its_digits():
    middle = quaternion.slerp(ONE, np.array([-1.0, 0, 0, -4e-300]), 0.25)
    assert middle[3] == pytest.approx(1e-300, rel=2 * ULP, abs=0)


# Euler angles


def test_euler_angles_agree_with_scipy_both_ways():
    angles = np.random.default_rng(12).uniform([-np.pi, -1.5, -np.pi], [np.pi, 1.5, np.pi], size=(40, 3))
    reference = Rotation.from_euler("ZYX", angles)
    same_rotation(quaternion.from_euler321(angles), reference.as_quat(scalar_first=True), 4)
    np.testing.assert_allclose(quaternion.to_euler321(reference.as_quat(scalar_first=True)), angles, atol=1e-13)


def test_euler_angles_are_yaw_pitch_and_roll_about_z_y_and_x_of_the_turned_axes():
    yaw, pitch, roll = angles = np.array([0.3, -0.4, 2.0])
    turns = [quaternion.exp(angle * axis) for angle, axis in zip(angles, np.eye(3)[::-1], strict=True)]
    close(quaternion.from_euler321(angles), quaternion.mul(quaternion.mul(turns[0], turns[1]), turns[2]), 2)
    assert quaternion.rotate(quaternion.from_euler321(angles), [1, 0, 0])[2] == pytest.approx(-np.sin(pitch))


@pytest.mark.parametrize("gap", [0.0, 1e-17, 1e-16, 1e-15, 1e-12, 1e-8, 1e-4, 0.1])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("cover", [1, -1])
def test_euler_angles_describe_the_rotation_and_its_pitch_to_a_few_ulp_next_to_gimbal_lock(gap, sign, cover):
    angles = np.random.default_rng(13).uniform(-np.pi, np.pi, size=(40, 3))
    angles[:, 1] = sign * (np.pi / 2 - gap)
    q = cover * quaternion.from_euler321(angles)
    back = quaternion.to_euler321(q)
    same_rotation(quaternion.from_euler321(back), q, 16)
    close(back[:, 1], angles[:, 1], 4)
    assert np.all(np.abs(back[:, (0, 2)]) <= np.pi)


@pytest.mark.parametrize("sign", [1, -1])
def test_gimbal_lock_puts_all_the_turn_into_yaw(sign):
    s = np.sqrt(0.5)
    locked = quaternion.mul(quaternion.exp([0, 0, 0.7]), np.array([s, 0, sign * s, 0]))
    close(quaternion.to_euler321(locked), [0.7, sign * np.pi / 2, 0.0], 4)


def test_tiny_euler_angles_keep_their_digits():
    angles = np.array([1e-300, -2e-300, 3e-300])
    np.testing.assert_allclose(quaternion.to_euler321(quaternion.from_euler321(angles)), angles, rtol=4 * ULP)


# SciPy, derivatives, lost trials


def test_scipy_rotations_convert_both_ways():
    rotation = quaternion.to_scipy(Q)
    close(rotation.apply(V), quaternion.rotate(Q, V), 16)
    same_rotation(quaternion.from_scipy(rotation), Q, 2)
    same_rotation(quaternion.from_scipy(Rotation.from_rotvec([0.1, 0.2, 0.3])), quaternion.exp([0.1, 0.2, 0.3]), 2)


UNARY = [quaternion.exp, quaternion.log, quaternion.log_cover, quaternion.to_matrix, quaternion.from_matrix]
UNARY += [quaternion.from_euler321, quaternion.to_euler321, quaternion.normalize]
STARTS = {(3,): np.zeros(3), (4,): ONE, (3, 3): np.eye(3)}


@pytest.mark.parametrize("kernel", UNARY, ids=lambda k: k.__name__)
@pytest.mark.parametrize("distance", [0.0, 1e-300, 1e-8, 0.3])
def test_derivatives_meet_finite_differences_at_the_identity_and_away_from_it(kernel, distance):
    core = kernel.layout.ins[0]
    x = STARTS[core] + distance * np.random.default_rng(7).uniform(-1, 1, size=core)
    steps = 1e-5 * np.eye(x.size).reshape(x.size, *core)
    columns = np.moveaxis((kernel(x + steps) - kernel(x - steps)) / 2e-5, 0, -1)
    exact_slopes = jacobian(kernel, kernel.layout.names[0])(x)
    np.testing.assert_allclose(exact_slopes.reshape(columns.shape), columns, rtol=0, atol=2e-9)


def test_slerp_and_two_vectors_differentiate_where_their_ends_meet():
    slopes = jacobian(quaternion.slerp, ("q_0", "q_1"))(ONE, ONE, 0.3)
    close(slopes[0][1:, 1:], 0.7 * np.eye(3), 2)
    close(slopes[1][1:, 1:], 0.3 * np.eye(3), 2)
    slope = jacobian(quaternion.from_two_vectors, "v_A")([1.0, 0, 0], [1.0, 0, 0])
    close(slope, 0.5 * np.array([[0, 0, 0], [0, 0, 0], [0, 0, -1], [0, 1, 0]]), 2)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nan_and_a_zero_quaternion_are_lost_and_touch_no_other_trial(shape):
    q = np.broadcast_to(Q[0], (*shape, 4)).copy()
    lost = np.stack([q, np.full_like(q, np.nan), np.zeros_like(q)])
    for kernel in (quaternion.log, quaternion.normalize):
        result = kernel(lost)
        np.testing.assert_array_equal(result[0], kernel(q))
        assert np.all(np.isnan(result[1:]))
