"""SO(3) and SE(3) against power series in 50 digits, SciPy and pytransform3d; `test_group_laws.py` has the laws."""

import mpmath as mp
import numpy as np
import pytest
import pytransform3d.rotations as pr
import pytransform3d.transformations as pt
from scipy.spatial.transform import RigidTransform, Rotation

from gnc import lie
from gnc.batch import jacobian
from tests.gnc.groups import ANGLES, BEYOND_PI, ULP, directions


def twists(angle, count=2, length=1.0):
    rng = np.random.default_rng(1)
    return np.concatenate([angle * directions(rng, count), length * directions(rng, count)], axis=-1)


def twist_matrix(twist):
    M = np.zeros((4, 4))
    M[:3, :3], M[:3, 3] = lie.hat(twist[:3]), twist[3:]
    return M


def power_series(A, first):
    """Return the sum of A^n / (n + first)! in 50 digits, times first!."""
    with mp.workdps(50):
        A = mp.matrix(A.tolist())
        term = total = mp.eye(A.rows)
        for n in range(1, 60):
            term = term * A / (n + first)
            total += term
        return total


def error(computed, reference):
    """Return the largest difference to a matrix of 50 digits."""
    with mp.workdps(50):
        return float(max(abs(reference[i, j] - float(x)) for (i, j), x in np.ndenumerate(computed)))


def test_hat_is_the_cross_product_and_vee_undoes_it():
    a, b = np.random.default_rng(0).normal(size=(2, 10, 3))
    np.testing.assert_allclose((lie.hat(a) @ b[..., None])[..., 0], np.cross(a, b), atol=4 * ULP)
    np.testing.assert_array_equal(lie.vee(lie.hat(a)), a)


@pytest.mark.parametrize("angle", ANGLES + BEYOND_PI)
def test_exponentials_are_the_matrix_exponentials(angle):
    for twist in twists(angle):
        T = power_series(twist_matrix(twist), 0)
        assert error(lie.se3_exp(twist), T) < 8 * ULP
        assert error(lie.so3_exp(twist[:3]), T) < 8 * ULP
        assert error(lie.Ad(lie.se3_exp(twist)), power_series(lie.ad(twist), 0)) < 8 * ULP


@pytest.mark.parametrize("angle", ANGLES[1:])
@pytest.mark.parametrize("length", [1e-300, 1e8])
def test_translations_of_any_size_keep_their_digits(angle, length):
    for twist in twists(angle, length=length):
        r = power_series(twist_matrix(twist), 0)[:3, 3]
        with mp.workdps(50):
            assert error(lie.se3_exp(twist)[:3, 3:] / length, r / length) < 4 * ULP


@pytest.mark.parametrize("angle", ANGLES + BEYOND_PI)
def test_left_jacobians_are_the_power_series(angle):
    for twist in twists(angle):
        J = power_series(lie.ad(twist), 1)
        assert error(lie.se3_left_jacobian(twist), J) < 4 * ULP
        assert error(lie.so3_left_jacobian(twist[:3]), J) < 4 * ULP


@pytest.mark.parametrize("angle", ANGLES + BEYOND_PI)
def test_inverse_left_jacobians_are_the_inverses_of_the_power_series(angle):
    for twist in twists(angle):
        with mp.workdps(50):
            J_inverse = power_series(lie.ad(twist), 1) ** -1
        size = float(mp.mnorm(J_inverse, mp.inf))
        assert error(lie.se3_left_jacobian_inverse(twist), J_inverse) < 4 * ULP * size
        assert error(lie.so3_left_jacobian_inverse(twist[:3]), J_inverse) < 4 * ULP * size


@pytest.mark.parametrize("angle", [a for a in ANGLES if a])
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_lower_block_is_as_exact_as_it_is_small(angle, side):
    """For a translation of 1e-200 the block is of that size, and has all digits."""
    sign = 1 if side == "left" else -1
    for twist in twists(angle, length=1e-200):
        computed = getattr(lie, f"se3_{side}_jacobian")(twist)[3:, :3]
        computed_inverse = getattr(lie, f"se3_{side}_jacobian_inverse")(twist)[3:, :3]
        with mp.workdps(50):
            J = power_series(lie.ad(sign * twist), 1)
            Q, Q_inverse = J[3:, :3], -(J[:3, :3] ** -1) * J[3:, :3] * J[:3, :3] ** -1
            assert error(1e200 * computed, 1e200 * Q) < 4 * ULP
            assert error(1e200 * computed_inverse, 1e200 * Q_inverse) < 8 * ULP


def test_jacobians_agree_with_pytransform3d():
    for twist in twists(2.5, count=10):
        np.testing.assert_allclose(lie.so3_left_jacobian(twist[:3]), pr.left_jacobian_SO3(twist[:3]), atol=1e-14)
        np.testing.assert_allclose(
            lie.so3_left_jacobian_inverse(twist[:3]), pr.left_jacobian_SO3_inv(twist[:3]), atol=1e-14
        )
        np.testing.assert_allclose(lie.se3_left_jacobian(twist), pt.left_jacobian_SE3(twist), atol=1e-14)
        np.testing.assert_allclose(lie.se3_left_jacobian_inverse(twist), pt.left_jacobian_SE3_inv(twist), atol=1e-14)


def test_exponential_and_logarithm_agree_with_scipy_and_pytransform3d():
    twist = twists(2.5, count=10)
    T = RigidTransform.from_exp_coords(twist)
    np.testing.assert_allclose(lie.se3_exp(twist), T.as_matrix(), atol=16 * ULP)
    np.testing.assert_allclose(lie.se3_log(T.as_matrix()), T.as_exp_coords(), atol=64 * ULP)
    np.testing.assert_allclose(lie.so3_log(T.as_matrix()[:, :3, :3]), T.rotation.as_rotvec(), atol=64 * ULP)
    np.testing.assert_allclose(
        lie.se3_exp(twist), [pt.transform_from_exponential_coordinates(x) for x in twist], atol=64 * ULP
    )
    np.testing.assert_allclose(
        lie.Ad(T.as_matrix()), [pt.adjoint_from_transform(x) for x in T.as_matrix()], atol=8 * ULP
    )
    np.testing.assert_allclose(lie.se3_inverse(T.as_matrix()), T.inv().as_matrix(), atol=8 * ULP)


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-12, 1e-8, 1e-4])
def test_the_logarithm_near_a_half_turn_finds_axis_and_angle(gap):
    for axis in (*directions(np.random.default_rng(0), 20), *np.eye(3), np.array([0.6, 0.0, -0.8])):
        w = lie.so3_log(Rotation.from_rotvec((np.pi - gap) * axis).as_matrix())
        np.testing.assert_allclose(np.linalg.norm(w), np.pi - gap, rtol=4 * ULP)
        np.testing.assert_allclose(w * np.sign(w @ axis) / np.linalg.norm(w), axis, atol=4 * ULP)
        assert gap <= 1e-15 or w @ axis > 0


def test_ad_is_the_lie_bracket_of_twists():
    x, y = np.random.default_rng(0).normal(size=(2, 6))
    X, Y = twist_matrix(x), twist_matrix(y)
    np.testing.assert_allclose(twist_matrix(lie.ad(x) @ y), X @ Y - Y @ X, atol=8 * ULP)


def test_the_lower_blocks_are_the_derivatives_of_the_rotational_jacobians_along_v():
    twist = np.concatenate([twists(angle) for angle in (0.0, 1e-300, 1e-8, 1.0, 3.0)])
    w, v = twist[:, :3], twist[:, 3:]
    for so3, se3 in (
        (lie.so3_left_jacobian, lie.se3_left_jacobian),
        (lie.so3_left_jacobian_inverse, lie.se3_left_jacobian_inverse),
    ):
        along = np.einsum("nijk,nk->nij", jacobian(so3, "w")(w), v)
        np.testing.assert_allclose(se3(twist)[:, 3:, :3], along, rtol=0, atol=16 * ULP)
