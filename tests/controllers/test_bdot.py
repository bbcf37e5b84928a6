import numpy as np
import pytest

from gnc import quaternion
from gnc.controllers.attitude import AttitudeController
from gnc.controllers.bdot import Bdot, BdotMemory, MomentumUnloading
from gnc.controllers.reference import AttitudeReference
from gnc.errors import InputError
from gnc.models.actuators.magnetorquers import Magnetorquers, torque
from gnc.models.environment import EnvironmentTable, KeplerOrbit, sun_synchronous_inclination
from gnc.models.rigid_body import Gyrostat, GyrostatState, RigidBody
from gnc.models.states import AttitudeState

J = np.array([[0.22, 0.004, -0.003], [0.004, 0.19, 0.002], [-0.003, 0.002, 0.13]])
A = 6878e3
I_SUN = float(sun_synchronous_inclination(A))
ORBIT = KeplerOrbit(a=A, inclination=I_SUN, raan=np.radians(22.5))
N = 12


@pytest.fixture(scope="module")
def table():
    return EnvironmentTable.along(ORBIT, 5600.0, knot_s=30.0)


def test_the_dipole_is_minus_the_gain_times_the_difference_over_the_field_squared():
    law, before, after = Bdot(gain=2.0), np.array([3e-5, 0.0, 0.0]), np.array([3e-5, 4e-6, 0.0])
    _, memory = law.command(before, law.start(), 0.5)
    m_B, _ = law.command(after, memory, 0.5)
    assert m_B == pytest.approx(-2.0 * np.array([0.0, 8e-6, 0.0]) / (9e-10 + 16e-12), rel=1e-12)


def test_first_and_missing_measurements_give_no_dipole():
    law, B = Bdot(gain=1.0), 1e-5 * np.random.default_rng(1).normal(size=(5, 3))
    memory, dipoles = law.start(), []
    for field in (B[0], B[1], np.full(3, np.nan), B[2], B[3]):
        m_B, memory = law.command(field, memory, 1.0)
        dipoles.append(m_B)
    assert [bool(m.any()) for m in dipoles] == [False, True, False, False, True]
    assert np.isfinite(dipoles).all()


def test_it_rests_below_one_rate_and_wakes_above_another():
    law, memory, h, angle, active = Bdot(gain=1.0, quiet_rate=0.01, wake_rate=0.03), None, 1.0, 0.0, []
    memory = law.command(np.array([1e-5, 0.0, 0.0]), law.start(), h)[1]
    for rate in (0.02, 0.005, 0.02, 0.04, 0.02):
        angle += rate * h
        m_B, memory = law.command(1e-5 * np.array([np.cos(angle), np.sin(angle), 0.0]), memory, h)
        active.append(bool(m_B.any()))
    assert active == [True, False, False, True, True]


def test_a_tumble_on_a_real_orbit_loses_nine_tenths_of_its_rate_within_an_orbit(table):
    rng, h, body = np.random.default_rng(2), 1.0, RigidBody(J)
    law, coils = Bdot.tuned(J, ORBIT.mean_motion, I_SUN), Magnetorquers(dipole_limit=1.0)
    w0 = rng.normal(size=(N, 3))
    w0 *= np.radians(5.0) / np.linalg.norm(w0, axis=-1, keepdims=True)
    x, memory = AttitudeState(quaternion.normalize(rng.normal(size=(N, 4))), w0), law.start((N,))
    rates = [np.linalg.norm(x.w_B, axis=-1)]
    for k in range(5400):
        B_B = quaternion.inverse_rotate(x.q_IB, table.at(k * h).B_I)
        m_B, memory = law.command(B_B + 3e-8 * rng.normal(size=(N, 3)), memory, h)
        x = body.step(x, torque(coils.dipole_B(m_B), B_B), h)
        rates.append(np.linalg.norm(x.w_B, axis=-1))
    every = np.array(rates)[::300]
    assert every[-1].max() < 0.1 * np.radians(5.0)
    # As long as the body turns ten times faster than the field does on its own, every five minutes take rate away.
    assert (np.diff(every, axis=0)[every[:-1] > 10 * 2 * ORBIT.mean_motion] < 0.0).all()


def test_the_torque_of_unloading_takes_away_what_is_normal_to_the_field():
    rng = np.random.default_rng(3)
    rho, B = rng.normal(size=(N, 3)), 3e-5 * rng.normal(size=(N, 3))
    tau = torque(MomentumUnloading(gain=0.01).command(rho, B, [0.1, 0.0, 0.0]), B)
    excess, b = rho - [0.1, 0.0, 0.0], B / np.linalg.norm(B, axis=-1, keepdims=True)
    assert tau == pytest.approx(-0.01 * (excess - np.sum(excess * b, -1)[:, None] * b), rel=1e-9, abs=1e-14)


def test_unloading_empties_the_wheels_while_the_attitude_is_held(table):
    rng, h, craft = np.random.default_rng(4), 2.0, Gyrostat(J)
    law, unloading = AttitudeController.tuned(J, 0.1), MomentumUnloading(gain=2e-3)
    hold = AttitudeReference(np.array([1.0, 0.0, 0.0, 0.0]))
    x = GyrostatState(np.tile(hold.q_IR, (N, 1)), np.zeros((N, 3)), 0.01 * rng.normal(size=(N, 3)))
    start, memory = np.linalg.norm(x.rho_B, axis=-1), law.start((N,))
    for k in range(2700):
        B_B = quaternion.inverse_rotate(x.q_IB, table.at(k * h).B_I)
        tau, memory = law.command(x, hold, memory)
        x = craft.step(x, torque(unloading.command(x.rho_B, B_B), B_B), h, rho_rate_B=-tau)
    assert (np.linalg.norm(x.rho_B, axis=-1) < 0.1 * start).all()
    assert np.degrees(quaternion.angle_between(x.q_IB, hold.q_IR)).max() < 0.5


def test_an_unknown_field_unloads_nothing():
    dipole = MomentumUnloading(gain=1.0).command(np.ones(3), np.array([[np.nan] * 3, [0.0] * 3]))
    assert not dipole.any()


def test_a_batch_equals_single_trials_bit_for_bit():
    law, rng = Bdot(gain=1.0, quiet_rate=0.5, wake_rate=1.0), np.random.default_rng(5)
    before, after = 1e-5 * rng.normal(size=(2, N, 3))
    memory = BdotMemory(before, rng.choice([0.0, 1.0], N))
    m_B, kept = law.command(after, memory, 1.0)
    for k in range(N):
        one, kept_k = law.command(after[k], BdotMemory(before[k], memory.active[k]), 1.0)
        assert np.array_equal(m_B[k], one) and kept.active[k] == kept_k.active
        assert np.array_equal(kept.B_B[k], kept_k.B_B)


def test_a_wake_rate_below_the_quiet_rate_is_refused():
    with pytest.raises(InputError, match="^wake_rate:"):
        Bdot(gain=1.0, quiet_rate=0.1, wake_rate=0.05)
