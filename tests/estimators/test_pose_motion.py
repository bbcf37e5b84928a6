import numpy as np
import pytest

from gnc import dual_quaternion as dq
from gnc import spatial
from gnc.estimators import pose_motion
from gnc.estimators.cramer_rao import pose_flow
from gnc.integrators import dqvi, qvi
from gnc.models.pose_body import PoseState

M = spatial.inertia(200.0, [-1.0, 0.2, -0.1], np.array([[120.0, 6, -4], [6, 90, 5], [-4, 5, 60]]))
POSE = dq.from_pose([0.5, 0.5, -0.5, 0.5], [1.0, 2.0, 3.0])
CHI = np.array([0.03, -0.04, 0.02, 0.2, -0.1, 0.3])
WRENCH = np.array([0.05, -0.02, 0.03, 0.4, -0.3, 0.2])


def off(moved, flow):
    """Return the largest difference in pose, twist and F from the exact motion."""
    p, chi, F = moved[:3]
    pose = dq.to_matrix(p) - dq.to_matrix(flow.x[1, :8])
    return max(np.abs(pose).max(), np.abs(chi - flow.x[1, 8:]).max(), np.abs(F - flow.F[0]).max())


def test_a_rotation_by_qvi_about_the_centre_of_mass_is_dqvi():
    """With its filler DQVI is that, about any point: pose, twist and Jacobian agree to round-off."""
    made = pose_motion.drift(qvi.drift_jacobian, POSE, 4 * CHI, M, 3.0)
    for part, expected in zip(made, dqvi.drift_jacobian(POSE, 4 * CHI, M, 200.0, 3.0), strict=True):
        np.testing.assert_allclose(part, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("h", [1.0, 30.0, 100.0, -20.0])
def test_the_exact_motion_of_a_free_body_has_no_limit_on_the_step(h):
    """Up to 310 deg, with F, against DOP853 at 1e-12: what remains is DOP853's."""
    flow = pose_flow(M, PoseState(POSE, CHI), [0.0, h])
    assert off(pose_motion.move("exact", POSE, CHI, None, M, h), flow) < 1e-8


@pytest.mark.parametrize(("method", "order"), [("vi2", 2), ("vi4", 4), ("rk4", 4)])
def test_every_method_moves_mean_and_transition_matrix_to_its_order(method, order):
    flow = pose_flow(M, PoseState(POSE, 4 * CHI), [0.0, 2.0], WRENCH)
    errors = []
    for n in (2, 4, 8):
        p, chi, F = POSE, 4 * CHI, np.eye(12)
        for _ in range(n):
            p, chi, F_part, _ = pose_motion.move(method, p, chi, WRENCH, M, 2.0 / n, turn=None)
            F = F_part @ F
        errors.append(off((p, chi, F), flow))
    assert np.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize(("h", "scale"), [(0.5, 1.0), (5.0, 1.0), (5.0, 20.0), (-4.0, 1.0)])
def test_under_a_wrench_the_taylor_series_is_exact(h, scale):
    """Against DOP853 at 1e-12, with F; the splitting of 'exact' is 4 sigma off at 1e-4 of the usual noise."""
    flow = pose_flow(M, PoseState(POSE, 4 * CHI), [0.0, h], scale * WRENCH)
    assert off(pose_motion.move("auto", POSE, 4 * CHI, scale * WRENCH, M, h), flow) < 2e-9
    coarse = pose_motion.move("auto", POSE, 4 * CHI, scale * WRENCH, M, h, C=1e-6 * np.eye(12))
    assert off(coarse, flow) < 1e-7


def test_a_weak_wrench_between_exact_drifts_is_of_fourth_order_and_proportional():
    errors = []
    for h, size in ((8.0, 1.0), (4.0, 1.0), (4.0, 0.1)):
        flow = pose_flow(M, PoseState(POSE, CHI), [0.0, h], size * WRENCH * [1, 1, 1, 0, 0, 0])
        errors.append(off(pose_motion.move("exact", POSE, CHI, size * WRENCH * [1, 1, 1, 0, 0, 0], M, h), flow))
    assert errors[0] / errors[1] > 2**3.5
    assert errors[1] / errors[2] > 9.0


@pytest.mark.parametrize("method", pose_motion.METHODS)
def test_the_jacobians_are_those_of_what_was_done(method):
    """Central differences over state and wrench, in substeps."""
    h, e = 5.0, 1e-5
    p, chi, F, G = pose_motion.move(method, POSE, 4 * CHI, WRENCH, M, h)
    columns = []
    for d in e * np.eye(18):
        ends = []
        for s in (d, -d):
            start = dq.mul(POSE, dq.exp(s[:6])), 4 * CHI + s[6:12], WRENCH + s[12:]
            q, x = pose_motion.move(method, *start, M, h)[:2]
            ends.append(np.r_[dq.log(dq.mul(dq.conj(p), q)), x - chi])
        columns.append((ends[0] - ends[1]) / (2 * e))
    np.testing.assert_allclose(np.column_stack([F, G]), np.column_stack(columns), rtol=0, atol=2e-7)


@pytest.mark.parametrize("method", pose_motion.METHODS)
def test_trials_take_the_substeps_that_they_need_and_have_the_bits_of_one_alone(method):
    chi = CHI * np.array([1.0, 10.0, 40.0])[:, None]
    together = pose_motion.move(method, POSE, chi, WRENCH, M, 4.0)
    for k in range(3):
        for whole, alone in zip(together, pose_motion.move(method, POSE, chi[k], WRENCH, M, 4.0), strict=True):
            np.testing.assert_array_equal(whole[k], alone)


@pytest.mark.parametrize("method", pose_motion.METHODS)
def test_a_trial_that_is_lost_stays_lost_and_touches_no_other(method):
    chi = CHI * np.array([1.0, np.nan, 1e12])[:, None]
    p, moved, F, _ = pose_motion.move(method, POSE, chi, None, M, 4.0)
    np.testing.assert_array_equal(np.isnan(moved).any(axis=-1), [False, True, True])
    assert np.isfinite(p[0]).all() and np.isfinite(F[0]).all()


@pytest.mark.parametrize("method", pose_motion.METHODS)
@pytest.mark.parametrize("wrench", [None, WRENCH], ids=["free", "forced"])
def test_the_mean_alone_moves_to_the_same_bits(method, wrench):
    twists = CHI * np.linspace(0.5, 4.0, 5)[:, None]
    whole, mean = (move(method, POSE, twists, wrench, M, 2.0) for move in (pose_motion.move, pose_motion.move_mean))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(whole[:2], mean, strict=True))
