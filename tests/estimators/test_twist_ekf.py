import numpy as np
import pytest
from scipy.linalg import expm

from gnc import dual_quaternion as dq
from gnc import lie, noise
from gnc.errors import InputError
from gnc.estimators import consistency
from gnc.estimators.twist_ekf import TwistEkf
from gnc.models.pose_body import PoseState
from gnc.models.sensors import RelativePosition
from tests.estimators.rendezvous import C_0, CAMERA, START, Velocity, in_band

TWIST = np.array([0.3, -0.2, 0.25, 0.4, 0.5, -0.6])


WHITE, WALK = np.array([1e-4, 2e-4, 3e-4, 4e-4, 5e-4, 6e-4]), np.array([3e-5, 1e-5, 2e-5, 1e-5, 4e-5, 1e-5])


def van_loan(h, white, walk):
    """Return F and Q of the linear equation by matrix exponentials."""
    A = np.zeros((12, 12))
    A[:6, :6], A[:6, 6:] = -lie.ad(TWIST), -np.eye(6)
    big = expm(np.block([[-A, np.diag(np.r_[white, walk])], [np.zeros((12, 12)), A.T]]) * h)
    F = big[12:, 12:].T
    return F, F @ big[:12, 12:]


@pytest.mark.parametrize("h", [0.1, 1.0, 10.0])
def test_pose_and_transition_matrix_are_exact_for_any_interval(h):
    bias, F = 0.1 * np.ones(6), van_loan(h, 0.0 * WHITE, 0.0 * WALK)[0]
    after = TwistEkf().predict(TwistEkf().start(START.dq_IB, C_0, bias), TWIST + bias, h)
    np.testing.assert_allclose(after.C, F @ C_0 @ F.T, rtol=0, atol=1e-13 * h**2)
    moved = dq.to_matrix(START.dq_IB) @ lie.se3_exp(h * TWIST)
    np.testing.assert_allclose(dq.to_matrix(after.dq_IB), moved, rtol=0, atol=1e-12)
    np.testing.assert_allclose(after.chi_B, TWIST, rtol=0, atol=1e-15)


def test_process_noise_is_the_integral_to_sixth_order():
    """Three Gauss points: 1e-6 of the standard deviations at 0.44 rad; the order from 0.22 rad and half of that."""
    ekf, off = TwistEkf(twist_psd=WHITE, walk_psd=WALK), []
    for h in (1.0, 0.5, 0.25):
        Q = van_loan(h, WHITE, WALK)[1]
        sigma = np.sqrt(np.diag(Q))
        C = ekf.predict(ekf.start(START.dq_IB, np.zeros((12, 12))), TWIST, h).C
        off.append(np.abs((C - Q) / np.outer(sigma, sigma)).max())
    assert off[0] < 1e-6
    assert np.log2(off[1] / off[2]) == pytest.approx(6.0, abs=0.05)


def test_driven_by_gyro_and_velocity_it_is_consistent_and_finds_their_bias():
    """NEES (12) of 100 trials after 100 samples, false alarm 1e-3; a pose every tenth sample."""
    trials, h, white, walk = 100, 0.2, 1e-6, 1e-10
    ekf, C = TwistEkf(twist_psd=white, walk_psd=walk), C_0.copy()
    drawn = noise.normal(1, trials, "all", (100, 20))
    e = noise.normal(1, trials, "start", 12) * np.sqrt(np.diag(C))
    truth, bias = np.tile(START.dq_IB, (trials, 1)), e[:, 6:]
    belief = ekf.start(dq.mul(truth, dq.exp(-e[:, :6])), C)
    for k in range(100):
        chi = TWIST * np.sin(0.05 * k + np.arange(6))
        z = chi + bias + np.sqrt(white / h) * drawn[:, k, :6]
        truth, bias = dq.mul(truth, dq.exp(np.tile(h * chi, (trials, 1)))), bias + np.sqrt(walk * h) * drawn[:, k, 6:12]
        belief = ekf.predict(belief, z, h)
        if k % 10 == 9:
            seen = CAMERA.measure(PoseState(truth, None), None, drawn[:, k, 12:])
            belief, _ = ekf.update(belief, CAMERA, seen, None, gated=False)
    error = np.concatenate([dq.log(dq.mul(dq.conj(belief.dq_IB), truth)), bias - belief.bias], axis=-1)
    assert in_band(consistency.nees(error, belief.C), 12)
    assert np.abs(error[:, 6:]).mean() < 0.3 * np.abs(e[:, 6:]).mean()


def test_without_sensors_of_the_twist_the_bias_is_minus_the_twist():
    """A body that moves evenly, seen by the camera only; five standard deviations."""
    ekf = TwistEkf(walk_psd=1e-12)
    belief, truth = ekf.start(START.dq_IB, np.diag([1e-4] * 6 + [1.0] * 6)), START.dq_IB
    drawn = noise.normal(2, 1, "camera", (60, 8))[0]
    for k in range(60):
        truth = dq.mul(truth, dq.exp(0.5 * TWIST))
        belief, _ = ekf.update(
            ekf.predict(belief, np.zeros(6), 0.5), CAMERA, CAMERA.measure(PoseState(truth, None), None, drawn[k])
        )
    np.testing.assert_array_equal(belief.chi_B.shape, (6,))
    assert (np.abs(belief.chi_B - TWIST) < 5 * np.sqrt(np.diag(belief.C)[6:])).all()
    assert np.sqrt(np.diag(belief.C)[6:]).max() < 0.002


def test_a_sensor_of_the_twist_corrects_the_bias_with_the_opposite_sign():
    velocity, ekf = Velocity(sigma=1e-6), TwistEkf()
    belief = ekf.predict(ekf.start(START.dq_IB, C_0), TWIST, 0.1)
    truth = PoseState(belief.dq_IB, TWIST - 0.01)
    after, _ = ekf.update(belief, velocity, velocity.measure(truth, None, np.zeros(3)), None)
    np.testing.assert_allclose(after.bias[3:], 0.01, rtol=1e-4)
    np.testing.assert_allclose(after.chi_B[3:], TWIST[3:] - 0.01, rtol=1e-4)


def test_a_twist_that_drops_out_is_bridged_by_the_last_one_and_trusted_less():
    ekf = TwistEkf(twist_psd=1e-8, coast_psd=1e-2)
    belief = ekf.predict(ekf.start(np.tile(START.dq_IB, (2, 1)), C_0), TWIST, 1.0)
    after = ekf.predict(belief, np.where([[True], [False]], TWIST, 0.0), 1.0, np.array([True, False]))
    np.testing.assert_allclose(after.dq_IB[1], after.dq_IB[0], rtol=0, atol=1e-15)
    assert after.C[1, 0, 0] > after.C[0, 0, 0] + 0.9e-2


def test_a_trial_has_the_same_bits_alone_and_in_a_batch_and_a_lost_one_stays_lost():
    ekf, position = TwistEkf(twist_psd=1e-6), RelativePosition(rate_hz=1.0)
    poses = dq.mul(START.dq_IB, dq.exp(0.1 * noise.normal(1, 3, "poses", 6)))
    poses[1] = np.nan

    def fly(p):
        belief = ekf.predict(ekf.start(p, C_0), TWIST, 1.0)
        return ekf.update(belief, position, position.measure(START, None, np.zeros(5)), None)[0]

    together = fly(poses)
    for whole, alone in zip(together, fly(poses[2]), strict=True):
        np.testing.assert_array_equal(whole[2], alone)
    np.testing.assert_array_equal(np.isnan(together.dq_IB).any(axis=-1), [False, True, False])


def test_bad_parameters_are_refused_by_name():
    for name in ("twist_psd", "walk_psd", "coast_psd", "gate_probability"):
        with pytest.raises(InputError, match=name):
            TwistEkf(**{name: -1.0})
