"""Faults of sensors and actuators, against what each says of itself, computed by hand; every trial at its own time."""

import numpy as np
import pytest
from scipy.stats import binom

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.actuators.reaction_wheels import ReactionWheels, WheelSet
from gnc.models.actuators.thrusters import Thrusters, ThrusterSet
from gnc.models.faults.base import BiasFault, DriftFault, FailingSensor, NoiseFault, OutliersFault, ScaleFault
from gnc.models.faults.commands import (
    DeadFault,
    DelayFault,
    FrictionFault,
    LeakFault,
    RunawayFault,
    SignFault,
    StuckFault,
    WeakFault,
)

N = 4
BEGIN = np.array([2.0, 3.0, 5.0, 100.0])  # of each trial; the last never fails
SENSOR = FailingSensor(3, 1.0)


def fault(kind, **fields):
    """Return a fault with one time per trial, as dispersal leaves it."""
    return kind(part="sat.x", **fields).model_copy(update={"from_s": BEGIN, "to_s": BEGIN + 4.0})


def readings(one, t_end=12, size=3):
    """Return z and valid (times, trials, ...) of a sensor that reads (t, 2 t, -t) with a fault."""
    memory, found = one.start(N), []
    for t in range(t_end):
        z = t * np.tile([1.0, 2.0, -1.0], (N, 1))
        changed = one.change(z, np.ones(N), float(t), memory if one.remembers else np.zeros((N, one.normals)))
        memory = changed[2] if one.remembers else memory
        found.append(changed[:2])
    return np.array([z for z, _ in found]), np.array([valid for _, valid in found])


def on(t):
    return (t >= BEGIN) & (t < BEGIN + 4.0)


CASES = {
    "bias": (fault(BiasFault, size=(0.5, 0.0, -1.0)), lambda t, b: np.array([t + 0.5, 2 * t, -t - 1.0]), True),
    "bias in degrees": (fault(BiasFault, size_deg=(180.0,)), lambda t, b: np.array([t, 2 * t, -t]) + np.pi, True),
    "drift": (fault(DriftFault, size=(0.1,)), lambda t, b: np.array([t, 2 * t, -t]) + 0.1 * (t - b), True),
    "scale": (fault(ScaleFault, factor=3.0), lambda t, b: 3.0 * np.array([t, 2 * t, -t]), True),
    "sign": (fault(SignFault), lambda t, b: -np.array([t, 2 * t, -t]), True),
    "dead": (fault(DeadFault), lambda t, b: np.zeros(3), False),
    "stuck": (fault(StuckFault), lambda t, b: (b - 1.0) * np.array([1.0, 2.0, -1.0]), True),
    "delay": (fault(DelayFault, delay_s=2.0), lambda t, b: (t - 2.0) * np.array([1.0, 2.0, -1.0]), True),
}


@pytest.mark.parametrize("name", CASES)
def test_a_reading_is_changed_while_the_fault_lasts_and_only_then(name):
    one, wrong, lives = CASES[name]
    z, valid = readings(one.of_sensor(SENSOR))
    for t in range(12):
        for trial in range(N):
            bad = on(t)[trial]
            expected = wrong(t, BEGIN[trial]) if bad else t * np.array([1.0, 2.0, -1.0])
            assert z[t, trial] == pytest.approx(expected, abs=1e-12), (t, trial)
            assert valid[t, trial] == (1.0 if lives or not bad else 0.0)


def test_what_is_not_valid_stays_so_and_zero():
    z, valid = BiasFault(part="a.b", size=(1.0,)).of_sensor(SENSOR).change(np.zeros((N, 3)), np.zeros(N), 5.0, None)
    assert not z.any() and not valid.any()


def test_the_bias_of_a_star_tracker_turns_its_attitude_about_its_own_axes():
    q = quaternion.normalize(np.random.default_rng(1).normal(size=(N, 4)))
    one = BiasFault(part="a.b", size_deg=(2.0, 0.0, 0.0)).of_sensor(FailingSensor(4, 1.0))
    z, _ = one.change(q, np.ones(N), 0.0, None)
    turn = quaternion.log(quaternion.mul(quaternion.conj(q), z))
    assert np.degrees(turn) == pytest.approx(np.tile([2.0, 0.0, 0.0], (N, 1)), abs=1e-12)
    with pytest.raises(InputError, match="no scale"):
        SignFault(part="a.b").of_sensor(FailingSensor(4, 1.0))


def test_noise_grows_by_the_factor_and_outliers_come_as_often_as_said():
    # The count of outliers is binomial; a band of 1e-6 on either side.
    noise = np.random.default_rng(2).normal(size=(N, 3))
    louder = fault(NoiseFault, factor=7.0).of_sensor(SENSOR).louder(noise, 4.0)
    assert np.array_equal(louder, np.where(on(4.0)[:, None], 7.0 * noise, noise))
    one, n = OutliersFault(part="a.b", size=(100.0,), probability=0.1).of_sensor(SENSOR), 20_000
    given = np.random.default_rng(3).normal(size=(n, one.normals))
    z, _ = one.change(np.zeros((n, 3)), np.ones(n), 1.0, given)
    wild = np.any(z != 0.0, axis=-1)
    assert binom.ppf(1e-6, n, 0.1) <= wild.sum() <= binom.ppf(1.0 - 1e-6, n, 0.1)
    assert np.array_equal(z[wild], 100.0 * given[wild, 1:])


# Actuators

WHEELS = WheelSet(ReactionWheels(axes_B=np.eye(3), torque_limit=0.1, momentum_limit=5.0), np.zeros(3))
H = 0.5


def momenta(one, command, steps=24):
    """Return the momentum (steps + 1, trials, 3) of wheels under a command of the time."""
    state, found = one.start(N), []
    for k in range(steps):
        found.append(one.telemetry(state))
        state = one.act(np.tile(command(k * H), (N, 1)), state, H)[1]
    return np.array([*found, one.telemetry(state)])


ACTUATORS = {  # torque of wheel 1 while the fault lasts
    "dead": (DeadFault, {}, lambda t, b: 0.0),
    "stuck": (StuckFault, {}, lambda t, b: 0.008 * (b - H)),
    "weak": (WeakFault, {"factor": 0.25}, lambda t, b: 0.002 * t),
    "sign": (SignFault, {}, lambda t, b: -0.008 * t),
    "runaway": (RunawayFault, {"direction": -1}, lambda t, b: -0.1),
}


@pytest.mark.parametrize("name", ACTUATORS)
def test_a_wheel_fails_while_the_fault_lasts_and_the_others_do_as_they_are_told(name):
    kind, fields, torque = ACTUATORS[name]
    one = fault(kind, which=(1,), **fields).of_actuator(WHEELS)
    found = momenta(one, lambda t: np.array([0.02, 0.008 * t, -0.03]))
    for trial in range(N):
        expected = np.zeros(3)
        for k in range(24):
            assert found[k, trial] == pytest.approx(expected, abs=1e-13)
            t, told = k * H, 0.008 * k * H
            u = torque(t, BEGIN[trial]) if on(t)[trial] else told
            expected = expected - H * np.array([0.02, u, -0.03])


def test_friction_slows_a_wheel_down_and_momentum_is_kept_by_those_that_have_none():
    one = fault(FrictionFault, which=(0,), coulomb_Nm=0.01).of_actuator(WHEELS)
    found = momenta(one, lambda t: np.array([-0.1, -0.1, 0.0]) if t < 1.0 else np.zeros(3))
    lost = found[4, 0, 0] - found[8, 0, 0]  # two seconds of friction in the first trial, from 2 s on
    assert lost == pytest.approx(0.01 * 4 * H, rel=1e-12) and found[-1, 0, 0] > 0.0
    assert np.ptp(found[2:, :, 1]) == 0.0 and np.ptp(found[2:, 3, 0]) == 0.0


def test_a_leak_adds_its_share_of_thrust_to_what_is_commanded():
    thrusters = Thrusters(positions_B=np.zeros((2, 3)), directions_B=np.eye(3)[:2], thrust=2.0)
    one = fault(LeakFault, which=(1,), fraction=0.1).of_actuator(ThrusterSet(thrusters))
    state = one.start(N)
    for k in range(24):
        made, state = one.act(np.full((N, 2), 0.5), state, H)
        assert made[:, 3:5] == pytest.approx(np.stack([np.full(N, 1.0), np.where(on(k * H), 1.2, 1.0)], -1), abs=1e-15)
    with pytest.raises(InputError, match="thrusters leak"):
        LeakFault(part="a.b").of_actuator(WHEELS)


def test_members_that_are_not_there_are_refused():
    with pytest.raises(InputError, match="there are 3 members"):
        DeadFault(part="a.b", which=(3,)).of_actuator(WHEELS)
