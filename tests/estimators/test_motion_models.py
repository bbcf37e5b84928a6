import numpy as np
import pytest

from gnc import dual_quaternion, quaternion
from gnc.estimators.motion_fit import Poses, _Direct, fitted
from gnc.estimators.motion_models import MotionBelief, MotionFilter, MotionModel, _retracted

KINDS = ("white", "damped", "singer")
STEP = 1e-6


def a_belief(seed=0):
    rng = np.random.default_rng(seed)
    q = quaternion.normalize(rng.standard_normal(4))
    dq = dual_quaternion.from_pose(q, rng.standard_normal(3))
    chi, alpha = rng.standard_normal(6), 0.5 * rng.standard_normal(6)
    return MotionBelief(dq, chi, alpha, np.eye(18), np.zeros(()), np.zeros(()))


def local(a, b):
    """The error d with b = a retracted by d."""
    (q_a, r_a), (q_b, r_b) = dual_quaternion.to_pose(a.dq_IB), dual_quaternion.to_pose(b.dq_IB)
    theta = quaternion.log(quaternion.mul(quaternion.conj(q_a), q_b))
    rho = quaternion.inverse_rotate(q_a, r_b - r_a)
    v = [quaternion.rotate(q, x.chi_B[3:]) for q, x in ((q_a, a), (q_b, b))]
    return np.concatenate([theta, rho, b.chi_B[:3] - a.chi_B[:3], v[1] - v[0], b.alpha - a.alpha])


@pytest.mark.parametrize("kind", KINDS)
def test_the_transition_is_the_derivative_of_the_motion(kind):
    model = MotionModel(kind, 0.0, 0.7)
    motion, belief, h = MotionFilter((model,), (model,)), a_belief(), 0.4
    F = motion.predict(belief, h).C  # F F^T
    after = motion.predict(belief, h)
    numeric = np.zeros((18, 18))
    for i in range(18):
        ends = [motion.predict(_retracted(belief, s * STEP * np.eye(18)[i]), h) for s in (1.0, -1.0)]
        numeric[:, i] = (local(after, ends[0]) - local(after, ends[1])) / (2 * STEP)
    np.testing.assert_allclose(numeric @ numeric.T, F, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_two_half_steps_add_the_noise_of_one(kind):
    model = MotionModel(kind, 2.0, 0.7)
    A, Q = model.axis(0.4)
    A_half, Q_half = model.axis(0.2)
    np.testing.assert_allclose(A_half @ A_half, A, atol=1e-12)
    np.testing.assert_allclose(A_half @ Q_half @ A_half.T + Q_half, Q, atol=1e-12)


def simulated(model, n=400, h=0.1, sigma=(0.01, 0.02), seed=0):
    """Poses of a body that moves by a model."""
    rng, x = np.random.default_rng(seed), np.zeros((3, 6))
    A, Q = model.axis(h)
    L = np.linalg.cholesky(Q + 1e-18 * np.eye(3))
    q, found = np.array([1.0, 0.0, 0.0, 0.0]), []
    for _ in range(n):
        before = x[0].copy()
        x = A @ x + L @ rng.standard_normal((3, 6))
        q = quaternion.mul(q, quaternion.exp(x[0, :3] - before[:3]))
        noise = np.concatenate([sigma[0] * rng.standard_normal(3), sigma[1] * rng.standard_normal(3)])
        found.append(dual_quaternion.mul(dual_quaternion.from_pose(q, x[0, 3:]), dual_quaternion.exp(noise)))
    return Poses(h * np.arange(n), np.array(found), np.diag([sigma[0] ** 2] * 3 + [sigma[1] ** 2] * 3))


@pytest.mark.parametrize("kind", KINDS)
def test_kind_and_density_of_a_simulated_motion_are_found(kind):
    """The grid has half decades: the density is within one of them; a damped velocity of 3 s is nearly white."""
    truth = MotionModel(kind, 1.0, 0.3)
    turning, moving = fitted([simulated(truth)], KINDS)
    for found in (turning, moving):
        assert found.kind == kind
        assert abs(np.log10(found.psd / truth.psd * (found.tau / truth.tau) ** (2 if kind == "singer" else 0))) < 0.8


def test_a_gate_costs_nothing_on_honest_poses_and_an_outlier_is_refused():
    poses = simulated(MotionModel("white", 1.0), seed=3)
    models = fitted([poses], KINDS)
    poses.dq_IB[200] = dual_quaternion.from_pose(np.array([0.0, 1.0, 0.0, 0.0]), np.array([50.0, 0.0, 0.0]))
    refused = {}
    for probability in (0.999, 1.0):
        motion = MotionFilter((models[0],), (models[1],), probability)
        belief = motion.start(poses.dq_IB[0], np.diag([1e-4] * 6 + [1.0] * 6), np.zeros(6))
        refused[probability] = []
        for k in range(1, len(poses.t)):
            belief = motion.predict(belief, poses.t[k] - poses.t[k - 1])
            belief, innovation = motion.update(belief, _Direct(poses.R), (poses.dq_IB[k], True))
            if not innovation.used:
                refused[probability].append(k)
    assert 200 in refused[0.999]
    assert len(refused[0.999]) < 8  # 0.4 expected; 8 or more have a probability of 1e-8
    assert refused[1.0] == []


def test_two_refused_poses_that_agree_are_believed():
    model = MotionModel("white", 1e-6)
    motion = MotionFilter((model,), (model,))
    start = dual_quaternion.from_pose(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
    belief = motion.start(start, np.diag([1e-6] * 12), np.zeros(6))
    far = dual_quaternion.from_pose(np.array([1.0, 0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    used = []
    for _ in range(3):
        belief = motion.predict(belief, 0.1)
        belief, innovation = motion.update(belief, _Direct(1e-6 * np.eye(6)), (far, True))
        used.append(bool(innovation.used))
    assert used == [False, True, True]
    assert dual_quaternion.to_pose(belief.dq_IB)[1][0] == pytest.approx(1.0, abs=0.1)


def test_a_body_that_is_swift_when_the_log_begins_is_followed_from_the_second_pose_on():
    """At 5 m/s where a velocity of 1 m/s (sigma) is stated: no pose is refused, and the velocity is learned."""
    model = MotionModel("white", 0.01, livelier=10.0)
    motion, R = MotionFilter((model,), (model,)), 1e-6 * np.eye(6)
    poses = [dual_quaternion.from_pose(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.5 * k, 0.0, 0.0])) for k in range(4)]
    belief = motion.start(poses[0], np.diag([1e-6] * 6 + [1.0] * 6), np.zeros(6))
    for pose in poses[1:]:
        belief, innovation = motion.update(motion.predict(belief, 0.1), _Direct(R), (pose, True))
        assert innovation.used
    assert belief.chi_B[3] == pytest.approx(5.0, abs=0.1)
