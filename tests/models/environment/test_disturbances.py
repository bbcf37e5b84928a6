"""Torques against energies, point masses and libration; their gradients against differences."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.environment import (
    Disturbance,
    Drag,
    Environment,
    GravityGradient,
    ResidualDipole,
    SolarPressure,
    box,
)
from gnc.models.environment.constants import EARTH_MU

RNG = np.random.default_rng(0)
J = np.array([[0.22, 0.004, -0.003], [0.004, 0.19, 0.002], [-0.003, 0.002, 0.13]])
BODY = box((0.2, 0.2, 0.34), centre_B=(0.01, -0.02, 0.03))
TRIALS = 40
Q = Rotation.random(TRIALS, rng=RNG).as_quat(scalar_first=True)


def environments(count):
    r = Rotation.random(count, rng=RNG).apply([6.85e6, 0.0, 0.0])
    v = np.cross(Rotation.random(count, rng=RNG).apply([0.0, 0.0, 1.0]), r) * 1.1e-3
    sun = Rotation.random(count, rng=RNG).apply([1.0, 0.0, 0.0])
    return Environment(r, v, RNG.normal(0, 3e-5, (count, 3)), sun, RNG.uniform(0.0, 1.0, count))


ENV = environments(TRIALS)
SOURCES: dict[str, Disturbance] = {
    "gravity gradient": GravityGradient(J),
    "residual dipole": ResidualDipole((0.02, -0.01, 0.005)),
    "drag": Drag(BODY),
    "solar pressure": SolarPressure(BODY, mirrored=0.3, scattered=0.2),
}
every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


def one(env, k):
    return Environment(*(a[k] for a in env))


def turned(q_IB, a):
    return quaternion.mul(q_IB, quaternion.exp(a))


@every_source
def test_a_batch_has_the_bits_of_each_alone(source):
    torque, force = source.torque(Q, ENV), source.force(Q, ENV)
    for k in range(TRIALS):
        np.testing.assert_array_equal(torque[k], source.torque(Q[k], one(ENV, k)))
        np.testing.assert_array_equal(force[k], source.force(Q[k], one(ENV, k)))


@every_source
def test_many_attitudes_share_one_environment(source):
    shared = source.torque(Q, one(ENV, 0))
    assert shared.shape == (TRIALS, 3) and source.force(Q, one(ENV, 0)).shape == (TRIALS, 3)
    np.testing.assert_array_equal(shared[5], source.torque(Q[5], one(ENV, 0)))


def energy_slope(energy):
    """Return the torque -dE/da of an energy of attitude."""
    h = 1e-3
    slopes = []
    for e in np.eye(3):
        near, far = ((energy(turned(Q, k * h * e)) - energy(turned(Q, -k * h * e))) / (2 * k * h) for k in (1, 2))
        slopes.append(-(4 * near - far) / 3)
    return np.stack(slopes, axis=-1)


def test_the_dipole_turns_towards_the_field():
    m_B = np.array([0.02, -0.01, 0.005])
    torque = ResidualDipole(m_B).torque(Q, ENV)
    slope = energy_slope(lambda q: -np.sum(quaternion.rotate(q, m_B) * ENV.B_I, axis=-1))
    np.testing.assert_allclose(torque, slope, rtol=0, atol=1e-10 * np.abs(torque).max())


def test_gravity_turns_the_long_axis_down():
    def energy(q):
        r_B = quaternion.inverse_rotate(q, ENV.r_I)
        radius = np.linalg.norm(r_B, axis=-1)
        return 1.5 * EARTH_MU / radius**5 * np.einsum("ni,ij,nj->n", r_B, J, r_B)

    torque = GravityGradient(J).torque(Q, ENV)
    np.testing.assert_allclose(torque, energy_slope(energy), rtol=0, atol=1e-9 * np.abs(torque).max())


def test_gravity_acts_as_on_point_masses():
    """Masses 30 m apart; what the gradient leaves out is of the order 30 m / 6850 km."""
    points, mass = RNG.normal(0, 30.0, (12, 3)), RNG.uniform(1.0, 5.0, 12)
    points -= mass @ points / mass.sum()
    inertia = np.einsum("n,nij->ij", mass, np.einsum("nk,nk,ij->nij", points, points, np.eye(3)) - _outer(points))
    for k in range(10):
        r_B = quaternion.inverse_rotate(Q[k], ENV.r_I[k])
        forces = -EARTH_MU * mass[:, None] * (r_B + points) / np.linalg.norm(r_B + points, axis=-1)[:, None] ** 3
        exact = np.cross(points, forces).sum(axis=0)
        torque = GravityGradient(inertia).torque(Q[k], one(ENV, k))
        np.testing.assert_allclose(torque, exact, rtol=0, atol=1e-4 * float(np.linalg.norm(exact)))


def _outer(points):
    return points[:, :, None] * points[:, None, :]


SOMEWHERE = one(ENV, 0)


def pitch_crossings(Jx, Jy, Jz):
    """Integrate a body that librates a thousandth of a radian in pitch, and return when it crosses the vertical."""
    radius = 6.878e6
    n = np.sqrt(EARTH_MU / radius**3)
    source = GravityGradient(np.diag([Jx, Jy, Jz]))
    inertia = np.array([Jx, Jy, Jz])

    def position(t):
        return radius * np.array([np.cos(n * t), np.sin(n * t), 0.0])

    def motion(t, y):
        env = SOMEWHERE._replace(r_I=position(t))
        w = y[4:]
        w_rate = (source.torque(y[:4], env) - np.cross(w, inertia * w)) / inertia
        return np.concatenate([quaternion.derivative(y[:4], w), w_rate])

    def crosses(t, y):  # z down, x ahead, y against the momentum of the orbit
        down_B = quaternion.inverse_rotate(y[:4] / np.linalg.norm(y[:4]), -position(t))
        return down_B[0]

    level = quaternion.from_matrix(np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]))
    start = np.concatenate([turned(level, np.array([0.0, 1e-3, 0.0])), [0.0, -n, 0.0]])
    span = (0.0, 1.6 * 2 * np.pi / n)
    flight = solve_ivp(motion, span, start, "DOP853", rtol=1e-11, atol=1e-13, events=crosses)
    return flight.t_events[0], n


@pytest.mark.parametrize("moments", [(0.22, 0.25, 0.13), (1.0, 1.05, 0.1)])
@pytest.mark.jit
def test_gravity_gradient_libration_has_the_frequency_of_the_textbook(moments):
    """sqrt(3 (Jx - Jz)/Jy) n; a thousandth of a radian makes it slower by 2.5e-7 only."""
    times, n = pitch_crossings(*moments)
    Jx, Jy, Jz = moments
    frequency = np.pi / np.mean(np.diff(times))
    assert len(times) >= 3
    assert frequency == pytest.approx(np.sqrt(3.0 * (Jx - Jz) / Jy) * n, rel=2e-6)


def test_dispersed_parameters_act_each_on_their_own_trial():
    factors = RNG.uniform(0.5, 2.0, TRIALS)
    dispersed = GravityGradient(factors[:, None, None] * J).torque(Q, ENV)
    np.testing.assert_allclose(dispersed, factors[:, None] * GravityGradient(J).torque(Q, ENV), rtol=1e-12)
    dipoles = RNG.normal(size=(TRIALS, 3))
    np.testing.assert_array_equal(
        ResidualDipole(dipoles).torque(Q, ENV)[3], ResidualDipole(dipoles[3]).torque(Q[3], one(ENV, 3))
    )
    thicker = Drag(BODY, density_factor=factors).torque(Q, ENV)
    np.testing.assert_allclose(thicker, factors[:, None] * Drag(BODY).torque(Q, ENV), rtol=1e-12)


def test_what_only_turns_has_no_force():
    for name in ("gravity gradient", "residual dipole"):
        np.testing.assert_array_equal(SOURCES[name].force(Q, ENV), np.zeros((TRIALS, 3)))


@every_source
def test_a_lost_trial_is_nan_and_touches_no_other(source):
    lost = Q.copy()
    lost[7] = np.nan
    tau_B, healthy = source.torque(lost, ENV), source.torque(Q, ENV)
    assert np.all(np.isnan(tau_B[7]))
    np.testing.assert_array_equal(np.delete(tau_B, 7, axis=0), np.delete(healthy, 7, axis=0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GravityGradient(np.diag([1.0, 1.0, 3.0])), "J: triangle inequality violated"),
        (lambda: ResidualDipole((1.0, np.nan, 0.0)), "m_B: nan at .1. is not finite"),
    ],
)
def test_impossible_sources_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
