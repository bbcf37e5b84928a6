from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2

from gnc import noise, quaternion
from gnc.errors import InputError
from gnc.estimators import consistency, initialise
from gnc.estimators.augmentation import Augmentation
from gnc.estimators.extra_states import (
    ExtraState,
    Inertia,
    Kick,
    ResidualDipole,
    SensorBias,
    SteadyTorque,
    sensor_biases,
)
from gnc.estimators.mekf import Mekf
from gnc.models.sensors import FineSunSensor, Gyro, Magnetometer, UnitDirection, VectorSensor
from gnc.models.sensors.interface import Measurement
from gnc.models.states import AttitudeState
from tests.estimators.tumble import NONE, SENSORS, W_0, J, attitude_error, begin, flown, measured, run

RNG = np.random.default_rng(8)
TILTED = np.array([[1.0, 0.05, -0.03], [0.05, 2.0, 0.08], [-0.03, 0.08, 2.6]])
ENV = SimpleNamespace(B_I=np.array([3e-5, -1e-5, 2e-5]))
STRONG = SimpleNamespace(B_I=np.array([0.03, -0.01, 0.02]))  # so that derivatives are not lost in round-off
GYRO = Gyro(rate_hz=1.0, arw=1e-5)
SETS = {
    "torque": (SteadyTorque(),),
    "dipole": (ResidualDipole(),),
    "inertia": (Inertia(),),
    "ratios": (Inertia(form="ratios"),),
    "all": (SteadyTorque(), SensorBias(of=Gyro), Inertia(form="ratios"), ResidualDipole()),
}


def derivative(mekf, belief, predict):
    """F of a prediction over (a, dP, extras), by central differences."""
    end, columns = predict(belief), []
    for i in range(mekf.size):
        sides = []
        for eps in (1e-6, -1e-6):
            d = eps * np.eye(mekf.size)[i]
            moved = predict(
                belief._replace(
                    q_IB=quaternion.mul(belief.q_IB, quaternion.exp(d[:3])),
                    P_B=belief.P_B + d[3:6],
                    extras=belief.extras + d[6:],
                )
            )
            parts = attitude_error(end.q_IB, moved.q_IB), moved.P_B - end.P_B, moved.extras - end.extras
            sides.append(np.concatenate(parts) / eps)
        columns.append(0.5 * (sides[0] + sides[1]))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("method", ["vi2", "vi4"])
@pytest.mark.parametrize("h", [0.5, 7.0])
@pytest.mark.parametrize("names", SETS)
def test_the_covariance_moves_by_the_exact_derivative_of_the_step(names, h, method) -> None:
    mekf = Mekf(TILTED, method, extras=SETS[names])
    values = 0.01 * RNG.standard_normal(mekf.size - 6)
    x = AttitudeState([0.5, 0.5, 0.5, 0.5], W_0)
    belief = mekf.start(x, np.eye(6), [0.02, -0.01, 0.03], values, np.eye(mekf.size - 6))
    predict = lambda b: mekf.predict(b, np.array([1e-3, 2e-3, -1e-3]), h, env=STRONG)  # noqa: E731
    F = derivative(mekf, belief, predict)
    C = predict(belief).C
    np.testing.assert_allclose(C, F @ belief.C @ F.T, rtol=1e-6, atol=2e-8 * np.abs(C).max())


@pytest.mark.parametrize("method", ["rk4", "taylor"])
def test_other_methods_have_the_sensitivity_to_the_inertia_of_order_four(method) -> None:
    mekf = Mekf(TILTED, method, extras=SETS["inertia"])
    belief = mekf.start(AttitudeState([0.5, 0.5, 0.5, 0.5], W_0), np.eye(6), NONE, np.zeros(6), np.eye(6))
    F = derivative(mekf, belief, lambda b: mekf.predict(b, NONE, 5.0))
    C = mekf.predict(belief, NONE, 5.0).C
    np.testing.assert_allclose(C, F @ belief.C @ F.T, rtol=0, atol=1e-3 * np.abs(C).max())


def test_a_free_tumble_looks_the_same_with_twice_the_inertia() -> None:
    # What the ratios leave out cannot be seen: the attitude does not depend on it.
    x = AttitudeState([1.0, 0, 0, 0], W_0)
    ends = [mekf.predict(mekf.start(x, np.eye(6)), NONE, 9.0) for mekf in (Mekf(TILTED), Mekf(2.0 * TILTED))]
    np.testing.assert_allclose(ends[0].q_IB, ends[1].q_IB, rtol=0, atol=1e-13)


def test_rates_and_inertia_errors_are_converted_both_ways() -> None:
    mekf = Mekf(TILTED, extras=SETS["inertia"])
    A = RNG.standard_normal((6, 6))
    C, C_extras = A @ A.T, np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    belief = mekf.start(AttitudeState([1.0, 0, 0, 0], W_0), C, NONE, 0.02 * np.ones(6), C_extras)
    np.testing.assert_allclose(mekf.covariance(belief)[:6, :6], C, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(mekf.covariance(belief)[6:, 6:], C_extras, rtol=1e-13)
    w_x, w_y, w_z = W_0
    N = np.array([[w_x, 0, 0, w_y, w_z, 0], [0, w_y, 0, w_x, 0, w_z], [0, 0, w_z, 0, w_x, w_y]])
    expected = mekf.inertia(belief) @ C[3:, 3:] @ mekf.inertia(belief) + N @ C_extras @ N.T
    np.testing.assert_allclose(belief.C[3:6, 3:6], expected, rtol=1e-12)


def test_a_random_walk_adds_its_density_times_the_time() -> None:
    mekf = Mekf(J, extras=(SteadyTorque(walk=[1e-8, 2e-8, 3e-8]), SensorBias(of=Gyro, walk=1e-10)))
    belief = mekf.start(AttitudeState([1.0, 0, 0, 0], NONE), np.eye(6) * 1e-12)
    for _ in range(100):
        belief = mekf.predict(belief, NONE, 0.1)
    walk = np.array([1e-8, 2e-8, 3e-8])
    np.testing.assert_allclose(np.diag(belief.C)[6:9], 10.0 * walk, rtol=1e-12)
    np.testing.assert_allclose(np.diag(belief.C)[9:], 10.0 * 1e-10, rtol=1e-12)
    np.testing.assert_allclose(
        np.diag(belief.C)[3:6] - np.diag(np.array(J) ** 2) * 1e-12, walk * 10.0**3 / 3, rtol=1e-3
    )


def test_a_bias_of_one_of_two_equal_sensors_is_that_of_the_one_it_names() -> None:
    other = Gyro(rate_hz=1.0, arw=1e-5)
    one = SensorBias(of=GYRO)
    assert one.is_bias_of(GYRO) and not one.is_bias_of(other)
    assert SensorBias(of=Gyro).is_bias_of(other) and not SensorBias(of=Gyro).is_bias_of(SENSORS[0])


@pytest.mark.parametrize("uneven", [0.0, 0.02])
def test_a_sensor_that_is_askew_and_uneven_is_predicted_as_it_reads_with_exact_derivatives(uneven) -> None:
    """Against the true sensor of that mounting and iron; derivatives by central differences of the readings."""
    believed = Magnetometer(rate_hz=1.0, sigma_T=1e-7, bias_sigma=1e-6, askew=0.03, uneven=uneven)
    bias, tilt = sensor_biases({"m": believed})
    assert (bias.size, tilt.size) == (3, 9 if uneven else 3)
    together, x = Augmentation((bias, tilt)), AttitudeState([0.5, 0.5, 0.5, 0.5], W_0)
    values = np.concatenate([[2e-6, -1e-6, 3e-6], 0.03 * RNG.standard_normal(tilt.size)])

    def reading(v):
        b_B = quaternion.inverse_rotate(x.q_IB, ENV.B_I)
        even = np.zeros((3, 3)) if tilt.size == 3 else v[6:][[[0, 3, 4], [3, 1, 5], [4, 5, 2]]]
        return quaternion.rotate(quaternion.exp(-v[3:6]), b_B) + even @ b_B + v[:3]

    z, H, _ = together.expect(believed, x, ENV, values)
    np.testing.assert_allclose(z, reading(values), rtol=1e-13)
    if tilt.size == 3:
        true = Magnetometer(rate_hz=1.0, sigma_T=0.0, bias=values[:3], misalignment=values[3:])
        np.testing.assert_allclose(z, true.measure(x, ENV, NONE).z, rtol=1e-13)
    steps = 1e-4 * np.eye(values.size)
    slopes = [(reading(values + step) - reading(values - step)) / 2e-4 for step in steps]
    np.testing.assert_allclose(H[:, 6:], np.transpose(slopes), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("fixed", [True, False])
def test_a_direction_of_unit_length_is_predicted_askew_with_exact_derivatives(fixed) -> None:
    """Across what is expected a reading off by little is off by H times that; derivatives by central differences."""
    r_I = np.array([0.36, 0.48, 0.8])
    known = {"rate_hz": 1.0, "sigma_deg": 0.1, "askew": 0.03}
    whole = VectorSensor(r_I=r_I, **known) if fixed else FineSunSensor(q_BS=[0.5, 0.5, -0.5, 0.5], **known)
    sensor, q_IB = UnitDirection(whole), np.array([0.1, 0.7, -0.1, 0.7])
    together, env = Augmentation(tuple(sensor_biases({"s": sensor}))), SimpleNamespace(sun_I=r_I, shadow=0.0)
    tilt, R_BS = np.array([0.02, -0.03, 0.04]), np.eye(3) if fixed else quaternion.to_matrix(whole.q_BS)

    def reading(a, more):
        b_B = quaternion.inverse_rotate(quaternion.mul(q_IB, quaternion.exp(a)), r_I)
        return quaternion.rotate(quaternion.exp(-tilt - more), R_BS.T @ b_B)

    z, H, _ = together.expect(sensor, AttitudeState(q_IB, W_0), env, tilt)
    np.testing.assert_allclose(z, reading(np.zeros(3), np.zeros(3)), rtol=1e-13)
    for i, step in enumerate(1e-4 * np.eye(9)):
        off = (sensor.residual(reading(sign * step[:3], sign * step[6:]), z) for sign in (1.0, -1.0))
        np.testing.assert_allclose(H[:, i], np.subtract(*off) / 2e-4, atol=1e-8)


def test_two_extra_states_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two have the same name"):
        Mekf(J, extras=(SteadyTorque(), SteadyTorque()))
    with pytest.raises(InputError, match="form: 'half'"):
        Inertia(form="half")


# Estimates. Errors of the extra states at the end are judged by their NEES over all trials: chi-square, 1e-3.


def consistent(error, C, false_alarm=1e-3):
    trials, n = error.shape
    low, high = chi2.ppf([false_alarm / 2, 1 - false_alarm / 2], trials * n)
    return low < consistency.nees(error, C).sum() < high


def field(t):
    """A field that turns as along an orbit."""
    return SimpleNamespace(B_I=4e-5 * np.array([np.cos(2e-3 * t), np.sin(2e-3 * t), 0.5 * np.sin(1e-3 * t)]))


def test_dipole_torque_and_biases_are_found_together() -> None:
    trials, h, body = 40, 2.0, np.diag([0.22, 0.19, 0.13])
    dipole, torque = np.array([0.05, -0.03, 0.04]), np.array([2e-6, -1e-6, 1.5e-6])
    magnetometer_bias, gyro_bias = np.array([1e-6, -2e-6, 5e-7]), np.array([1e-3, -2e-3, 5e-4])
    t = h * np.arange(401)

    def load(time, q, _):
        return torque + np.cross(dipole, quaternion.inverse_rotate(q, field(time).B_I))

    x = flown(t, body, np.array([2e-3, -4e-3, 3e-3]), load)
    magnetometer = Magnetometer(rate_hz=0.5, sigma_T=4e-7)
    gyro = Gyro(rate_hz=0.5, arw=1e-4)
    extras = (
        ResidualDipole(),
        SteadyTorque(),
        SensorBias(name="field", of=Magnetometer),
        SensorBias(name="gyro", of=gyro),
    )
    mekf = Mekf(body, extras=extras, gate_probability=1.0)
    sigmas = np.repeat([0.05, 2e-6, 2e-6, 2e-3], 3)
    true = np.concatenate([dipole, torque, magnetometer_bias, gyro_bias])
    start = true + sigmas * noise.normal(4, trials, "extras", 12)
    C = initialise.attitude_covariance(1e-4 * np.eye(3), 1e-3)
    q_IB = quaternion.mul(x.q_IB[0], quaternion.exp(0.01 * noise.normal(4, trials, "a", 3)))
    belief = mekf.start(
        AttitudeState(q_IB, x.w_B[0] + 1e-3 * noise.normal(4, trials, "w", 3)), C, NONE, start, np.diag(sigmas**2)
    )
    random = np.swapaxes(noise.normal(4, trials, "z", (len(t), 3, 3)), 0, 1)
    for k in range(1, len(t)):
        belief = mekf.predict(belief, NONE, h, env=field(t[k] - h / 2))
        truth, env = AttitudeState(x.q_IB[k], x.w_B[k]), field(t[k])
        z = SENSORS[0].measure(truth, None, random[k, :, 0])
        belief, _ = mekf.update(belief, SENSORS[0], z)
        z = magnetometer.measure(truth, env, random[k, :, 1], bias=magnetometer_bias)
        belief, _ = mekf.update(belief, magnetometer, z, env)
        belief, _ = mekf.update(belief, gyro, gyro.measure(truth, None, random[k, :, 2], bias=gyro_bias))
    error = true - belief.extras
    assert consistent(error, belief.C[:, 6:, 6:])
    found = np.sqrt(np.mean(error**2, axis=0)).reshape(4, 3).max(axis=1)
    assert (found < np.array([0.05, 2e-6, 2e-6, 2e-3]) * 0.5).all()
    np.testing.assert_array_equal(mekf.extra(belief, "field"), belief.extras[:, 6:9])


def test_inertia_that_is_two_percent_off_is_found_in_a_free_tumble() -> None:
    # 8.8 deg/s at 0.2 Hz, 1 deg vectors, 300 s; the scale cannot be seen and is right. Against it stands a filter
    # without inertia states at the process noise that suits it best (1.28 deg at 1e-5, 1.35 at 1e-6, 2.1 at 1e-7).
    trials, hz, sigmas, state = 60, 0.2, np.array([0.02, 0.04, 0.01, 0.01, 0.01]), Inertia(form="ratios")
    true = sigmas * noise.normal(2, trials, "J", 5)
    guess = J - state.inertia(true)
    exact = run(Mekf(J, gate_probability=1.0), hz, trials)
    without = run(Mekf(guess, torque_psd=1e-5, gate_probability=1.0, allow_unphysical=True), hz, trials)
    mekf = Mekf(guess, extras=(state,), gate_probability=1.0, allow_unphysical=True)
    first = [Measurement(m.z[0], m.valid[0]) for m in measured(flown(np.arange(2.0)), trials, 1)]
    start = begin(mekf, AttitudeState(NONE, W_0), first, trials, 1, C_extras=np.diag(sigmas**2))
    found = run(mekf, hz, trials, belief=start)
    assert found.rms_deg() < 1.3 * exact.rms_deg()
    assert without.rms_deg() > 2.0 * found.rms_deg()
    error = true - found.belief.extras
    assert consistent(error, found.belief.C[:, 6:, 6:])
    assert np.sqrt(np.mean((error[:, :2] / [1.0, 2.0]) ** 2)) < 0.005


def test_a_users_own_state_may_act_by_a_kick() -> None:
    class Spring(ExtraState):
        """A torque -k times the rotation vector from inertial axes, k unknown."""

        def kick(self, q_IB, value, env):
            a = quaternion.log(q_IB)
            return Kick(-value * a, -value[..., None] * np.eye(3), -a[..., None])

    mekf = Mekf(np.eye(3), extras=(Spring(name="spring", size=1),))
    belief = mekf.start(AttitudeState(quaternion.exp([0.1, 0.0, 0.0]), NONE), 1e-9 * np.eye(6), extras=[0.04])
    for _ in range(100):
        belief = mekf.predict(belief, NONE, np.pi / 0.2 / 100)
    np.testing.assert_allclose(quaternion.log(belief.q_IB), [-0.1, 0.0, 0.0], atol=1e-4)  # half a period


@dataclass(frozen=True, eq=False, kw_only=True)
class Fuel(ExtraState):
    """A user's own state, fuel in a tank on the x axis; not linear, so that the slope depends on the estimate."""

    name: str = "fuel"
    size: int = 1

    def inertia(self, value):
        """Return dJ."""
        shape = np.diag([0.0, 1.0, 1.0])
        return (value + 0.5 * value**2)[..., None] * shape


def test_an_inertia_of_ones_own_moves_the_covariance_by_the_derivative_of_the_step() -> None:
    tau_B, h, at = np.array([1e-3, 2e-3, -1e-3]), 3.0, np.array([0.3])
    mekf = Mekf(J, extras=(Fuel(),))
    start = mekf.start(AttitudeState([1.0, 0, 0, 0], W_0), 1e-6 * np.eye(6), extras=at, C_extras=[[1.0]])
    # C of (a, dw) and the value: in (a, dP) they are correlated, by dP = J dw + dJ w.
    slope = start.C[3:6, 6]
    np.testing.assert_allclose(slope, (1.0 + at[0]) * np.array([0.0, W_0[1], W_0[2]]), rtol=1e-7)
    end = mekf.predict(start, tau_B, h)
    ends = []
    for e in (1e-5, -1e-5):
        moved = start._replace(extras=at + e, P_B=start.P_B)
        ends.append(mekf.predict(moved, tau_B, h))
    column = np.concatenate([attitude_error(end.q_IB, ends[0].q_IB), ends[0].P_B]) - np.concatenate(
        [attitude_error(end.q_IB, ends[1].q_IB), ends[1].P_B]
    )
    only = start._replace(C=np.diag([0.0] * 6 + [1.0]) + 1e-30 * np.eye(7))
    np.testing.assert_allclose(mekf.predict(only, tau_B, h).C[:6, 6], column / 2e-5, rtol=0, atol=2e-4)
    np.testing.assert_allclose(mekf.covariance(start)[:6, :6], 1e-6 * np.eye(6), atol=1e-12)
