import dataclasses

import numpy as np
import pytest
from scipy.stats import chi2

from gnc import dual_quaternion as dq
from gnc import noise
from gnc.errors import InputError
from gnc.estimators import consistency
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.extra_states import ExtraState, Inertia, ResidualDipole, SensorBias, SteadyTorque
from gnc.estimators.pose_belief import lost
from gnc.models.pose_body import PoseState
from gnc.models.sensors import Gyro, Measurement
from tests.estimators.rendezvous import (
    C_0,
    CAMERA,
    FREE,
    J_COM,
    R_G,
    START,
    M,
    Velocity,
    dispersed,
    errors,
    flight,
    in_band,
    track,
)

# Extra states


@pytest.mark.slow  # to compile kernels of 18 states
def test_biases_of_gyro_and_velocity_sensor_are_found_by_18_states():
    """NEES (18) of 100 trials at the end, false alarm 1e-3."""
    gyro, velocity, trials = Gyro(rate_hz=1.0, arw=2e-4), Velocity(), 100
    biases = SensorBias(name="gyro", of=gyro, walk=1e-10), SensorBias(name="velocity", of=velocity, walk=1e-10)
    dqekf = DqEkf(M, wrench_psd=1e-12, extras=biases)
    C_biases = np.diag([np.radians(0.5) ** 2] * 3 + [0.02**2] * 3)
    true = noise.normal(9, trials, "biases", 6) * np.sqrt(np.diag(C_biases))
    walks, drawn = noise.normal(9, trials, "walks", (60, 6)) * 1e-5, noise.normal(9, trials, "sensors", (60, 14))
    truths, _ = flight(START, 60.0, 1.0)
    belief = dqekf.start(dispersed(9, trials), C_0, C_extras=C_biases)
    for k, truth in enumerate(truths[1:]):
        belief, true = dqekf.predict(belief, FREE, 1.0), true + walks[:, k]
        n = drawn[:, k]
        belief, _ = dqekf.update(belief, CAMERA, CAMERA.measure(truth, None, n[:, :8]), None, gated=False)
        belief, _ = dqekf.update(belief, gyro, gyro.measure(truth, None, n[:, 8:11], true[:, :3]), None, gated=False)
        measurement = velocity.measure(truth, None, n[:, 11:], true[:, 3:])
        belief, _ = dqekf.update(belief, velocity, measurement, None, gated=False)
    e = np.concatenate([errors(truths[-1], belief), true - belief.extras], axis=-1)
    assert in_band(consistency.nees(e, belief.C), 18)
    np.testing.assert_array_equal(dqekf.extra(belief, "velocity"), belief.extras[:, 3:])
    assert np.abs(true - belief.extras).mean() < 0.2 * np.abs(true).mean()


def test_a_steady_torque_that_nobody_told_is_found():
    """NEES (15) of 100 trials at the end, false alarm 1e-3."""
    torque, trials = np.array([0.02, -0.03, 0.01]), 100
    dqekf = DqEkf(M, extras=(SteadyTorque(),))
    truths, _ = flight(START, 60.0, 2.0, wrench_B=np.r_[torque, 0, 0, 0])
    belief, drawn = (
        dqekf.start(dispersed(4, trials), C_0, C_extras=0.03**2 * np.eye(3)),
        noise.normal(4, trials, "z", (30, 8)),
    )
    guess = noise.normal(4, trials, "torque", 3) * 0.03
    belief = belief._replace(extras=torque - guess)
    for k, truth in enumerate(truths[1:]):
        belief = dqekf.predict(belief, FREE, 2.0)
        belief, _ = dqekf.update(belief, CAMERA, CAMERA.measure(truth, None, drawn[:, k]), None, gated=False)
    e = np.concatenate([errors(truths[-1], belief), torque - belief.extras], axis=-1)
    assert in_band(consistency.nees(e, belief.C), 15)
    assert np.abs(e[:, 12:]).mean() < 0.2 * np.abs(guess).mean()


# Robustness


def test_outliers_and_drop_outs_lose_no_trial_and_cost_little():
    """10 % outliers of 20 times the noise, 30 % drop-outs: none of 200 lost, RMS within 1.5 of the clean run."""
    truths, _ = flight(START, 120.0, 1.0)
    rough = dataclasses.replace(CAMERA, outlier=0.1, dropout=0.3)
    clean = track(DqEkf(M), truths, 1.0, 200)[0]
    e, _, belief = track(DqEkf(M), truths, 1.0, 200, sensor=rough, gated=True)
    assert not lost(belief).any()
    late = slice(60, None)
    for part in (slice(0, 3), slice(3, 6)):
        worst = np.abs(e[-1, :, part]).max()
        assert np.sqrt((e[late, :, part] ** 2).mean()) < 1.5 * np.sqrt((clean[late, :, part] ** 2).mean())
        assert worst < 6.0 * np.sqrt((clean[late, :, part] ** 2).mean())


def test_a_measurement_that_is_not_valid_or_is_refused_changes_nothing_but_the_count():
    dqekf = DqEkf(M)
    belief = dqekf.predict(dqekf.start(dispersed(1, 3), C_0), FREE, 1.0)
    far = dq.mul(START.dq_IB, dq.exp(np.array([1.0, 0, 0, 0, 0, 0])))
    z, valid = np.stack([np.zeros(8), far, START.dq_IB]), np.array([False, True, True])
    after, innovation = dqekf.update(belief, CAMERA, Measurement(z, valid), None)
    np.testing.assert_array_equal(innovation.used, [False, False, True])
    np.testing.assert_array_equal(after.watch[:, 0], [0, 1, 0])  # seconds of doubt
    for name in ("dq_IB", "chi_B", "C"):
        np.testing.assert_array_equal(getattr(after, name)[:2], getattr(belief, name)[:2])
        assert (getattr(after, name)[2] != getattr(belief, name)[2]).any()


def test_the_gate_refuses_as_many_good_measurements_as_it_was_told():
    """Of 20 000 innovations 1 % each, false alarm 1e-5 (binomial, near normal): 4.4 standard deviations of 14."""
    dqekf = DqEkf(M, gate_probability=0.99)
    belief = dqekf.start(dispersed(2, 20000), C_0)
    drawn = noise.normal(2, 20000, "camera", 8)
    refused = ~dqekf.update(belief, CAMERA, CAMERA.measure(START, None, drawn), None)[1].used
    assert abs(refused.sum() - 200) < 4.4 * np.sqrt(200 * 0.99)


def test_a_filter_that_is_wrong_and_sure_recovers():
    """60 deg and 2 m off with the covariance of a good start: refused, then let in, and it converges."""
    dqekf = DqEkf(M)
    truths, _ = flight(START, 120.0, 1.0)
    off = dq.mul(START.dq_IB, dq.exp(np.array([0.6, -0.7, 0.5, 1.0, -1.0, 1.5])))
    belief, drawn = dqekf.start(PoseState(off, START.chi_B), C_0), noise.normal(6, 1, "camera", (120, 8))[0]
    for k, truth in enumerate(truths[1:]):
        belief = dqekf.predict(belief, FREE, 1.0)
        belief, _ = dqekf.update(belief, CAMERA, CAMERA.measure(truth, None, drawn[k]), None)
        if k == dqekf.patience_s - 2:
            assert belief.watch[0] == dqekf.patience_s - 1 and belief.recoveries == 0
    assert belief.recoveries >= 1
    assert consistency.nees(errors(truths[-1], belief), belief.C) < chi2.isf(1e-4, 12)


def test_recovery_widens_pose_and_twist_to_the_limits_at_most_and_leaves_extra_states_alone():
    dqekf = DqEkf(M, extras=(Inertia(form="ratios"),), patience_s=1e-3, widest=(1.0, 10.0, 0.2, 1.0))
    off = dq.mul(START.dq_IB, dq.exp(np.array([2.0, 0.0, 0.0, 100.0, 0.0, 0.0])))
    z = CAMERA.measure(PoseState(off, START.chi_B), None, np.array([0.0] * 6 + [5.0, 5.0]))
    sigma = np.repeat([0.5, 1e-3, 0.01, 3.0], 3)  # ten times as wide: beyond the limit, within, within; already beyond
    belief = dqekf.start(START, np.diag(sigma**2), C_extras=4.0 * np.eye(5))
    for _ in range(5):  # the least that may be refused
        belief = belief._replace(idle=np.array(1.0))
        belief, innovation = dqekf.update(belief, CAMERA, z, None)
        assert not innovation.used
    assert belief.recoveries == 1
    wide = np.concatenate([np.repeat([1.0, 1e-2, 0.1, 3.0], 3), [2.0] * 5])
    np.testing.assert_allclose(belief.C, np.diag(wide**2), rtol=1e-12)


def test_a_trial_that_diverges_becomes_nan_and_the_others_fly_on():
    dqekf = DqEkf(M)
    belief = dqekf.start(dispersed(1, 4), C_0)
    belief.C[1] = -belief.C[1]
    belief.chi_B[2] = 1e9
    drawn = noise.normal(1, 4, "camera", 8)
    after, _ = dqekf.update(dqekf.predict(belief, FREE, 1.0), CAMERA, CAMERA.measure(START, None, drawn), None)
    np.testing.assert_array_equal(lost(after), [False, True, True, False])
    again, _ = dqekf.update(dqekf.predict(after, FREE, 1.0), CAMERA, CAMERA.measure(START, None, drawn), None)
    np.testing.assert_array_equal(lost(again), [False, True, True, False])


def test_a_trial_has_the_same_bits_alone_and_in_a_batch():
    truths, _ = flight(START, 12.0, 3.0)
    rough = dataclasses.replace(CAMERA, outlier=0.3, dropout=0.2)
    dqekf = DqEkf(M, wrench_psd=1e-6)

    def fly(trials):
        x, drawn = dispersed(1, 9), noise.normal(1, 9, "camera", (4, 8))[trials]
        belief = dqekf.start(PoseState(x.dq_IB[trials], x.chi_B[trials] * np.arange(1, 10)[trials, None]), C_0)
        for k, truth in enumerate(truths[1:]):
            belief = dqekf.predict(belief, 0.1 * np.ones(6), 3.0)
            belief, _ = dqekf.update(belief, rough, rough.measure(truth, None, drawn[:, k]), None)
        return belief

    together = fly(np.arange(9))
    for trial in (0, 4, 8):
        for whole, alone in zip(together, fly(np.array([trial])), strict=True):
            np.testing.assert_array_equal(whole[trial], alone[0])


def test_the_covariance_stays_positive_and_symmetric_over_many_steps():
    dqekf = DqEkf(M)
    belief, drawn = dqekf.start(dispersed(8, 2), C_0), noise.normal(8, 2, "camera", (3000, 8))
    for k in range(3000):
        belief = dqekf.predict(belief, FREE, 1.0)
        belief, _ = dqekf.update(belief, CAMERA, CAMERA.measure(dqekf.state(belief), None, drawn[:, k]), None)
    np.testing.assert_array_equal(belief.C, np.swapaxes(belief.C, -1, -2))
    sigma = np.sqrt(np.diagonal(belief.C, axis1=-2, axis2=-1))
    assert (np.linalg.eigvalsh(belief.C / sigma[..., :, None] / sigma[..., None, :]) > 0).all()
    assert not lost(belief).any()
    np.testing.assert_allclose(np.linalg.norm(belief.dq_IB[..., :4], axis=-1), 1.0, rtol=1e-14)


def test_bad_parameters_are_refused_by_name():
    class Fuel(ExtraState):
        """An inertia of a user's own, of which the filter would not know the derivative of the step."""

        def inertia(self, value):
            return value[..., None] * np.eye(3)

    for options, words in (
        ({"method": "euler"}, "method: 'euler'"),
        ({"wrench_psd": -1.0}, "wrench_psd"),
        ({"gate_probability": 1.1}, "gate_probability"),
        ({"turn": 0.0}, "turn"),
        ({"extras": (Fuel(),)}, "extras: Fuel"),
        ({"extras": (ResidualDipole(),)}, "extras: ResidualDipole"),
    ):
        with pytest.raises(InputError, match=words):
            DqEkf(M, **options)
    np.testing.assert_allclose(DqEkf.of(200.0, R_G, J_COM).M, M, rtol=1e-15)
