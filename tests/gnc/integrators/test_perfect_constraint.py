"""The seven-degree-of-freedom body of PC, and the rigid body the unit constraint makes of it."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.batch import jacobian
from gnc.integrators import perfect_constraint as pc

THETA = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, -0.1], [0.2, -0.1, 4.0]])
MASS = 3.0


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def unit(q):
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def cloud(rng):
    """Mass points about their centre of mass, and their inertia."""
    masses, X = rng.uniform(0.5, 2.0, 20), rng.normal(size=(20, 3))
    X = X - masses @ X / masses.sum()
    squares = np.einsum("k,ki,kj->ij", masses, X, X)
    return masses, X, np.trace(squares) * np.eye(3) - squares


# The kinematics and the mass


def test_the_kinetic_energy_is_that_of_the_scaled_and_turned_mass_points(rng):
    masses, X, Theta = cloud(rng)
    p, p_dot, v = rng.normal(size=4), rng.normal(size=4), rng.normal(size=3)
    along_p = jacobian(pc.place, "p")(np.zeros(3), p, X)
    speeds = v + np.einsum("kij,j->ki", along_p, p_dot)
    T = 0.5 * masses @ np.sum(speeds**2, axis=-1)
    nu, Om = pc.velocities(p, p_dot)
    assert pc.kinetic_energy(v, nu, Om, masses.sum(), Theta) == pytest.approx(T, rel=1e-14)


def test_all_forms_of_the_kinetic_energy_agree(rng):
    p, p_dot = rng.normal(size=(2, 50, 4))
    nu, Om = pc.velocities(p, p_dot)
    u = quaternion.mul(quaternion.conj(p), p_dot)
    D = np.block([[np.array([[np.trace(THETA) / 2]]), np.zeros((1, 3))], [np.zeros((3, 1)), THETA]])
    T = pc.kinetic_energy(np.zeros(3), nu, Om, MASS, THETA)
    np.testing.assert_allclose(np.einsum("ti,tij,tj->t", p_dot, pc.quaternion_mass(p, THETA), p_dot) / 2, T, rtol=1e-13)
    np.testing.assert_allclose(2 * np.einsum("ti,ij,tj->t", u, D, u), T, rtol=1e-13)
    w = np.concatenate([rng.normal(size=(50, 3)), nu[:, None], Om], axis=1)
    whole = np.einsum("ti,ij,tj->t", w, pc.mass(MASS, THETA), w) / 2
    np.testing.assert_allclose(pc.kinetic_energy(w[:, :3], nu, Om, MASS, THETA), whole, rtol=1e-13)


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_the_quaternion_mass_is_positive_definite_for_every_length(rng, length):
    p = length * unit(rng.normal(size=(20, 4)))
    M = pc.quaternion_mass(p, THETA)
    expected = np.sort([np.trace(THETA) / 2, *np.linalg.eigvalsh(THETA)]) * 4 * length**2
    np.testing.assert_allclose(np.linalg.eigvalsh(M), np.broadcast_to(expected, (20, 4)), rtol=1e-12)


def test_the_scaling_velocity_is_the_rate_of_the_squared_length_and_om_is_the_scaled_angular_velocity(rng):
    p, p_dot, X = rng.normal(size=4), rng.normal(size=4), rng.normal(size=3)
    nu, Om = pc.velocities(p, p_dot)
    assert nu == pytest.approx(2 * p @ p_dot, rel=1e-14)
    np.testing.assert_allclose(pc.quaternion_rate(p, nu, Om), p_dot, rtol=1e-13)
    s, R = p @ p, quaternion.to_matrix(unit(p))
    np.testing.assert_allclose(jacobian(pc.place, "p")(np.zeros(3), p, X) @ p_dot, R @ (nu * X + np.cross(Om, X)))
    turning = unit(p), p_dot / np.sqrt(s) - p * (p @ p_dot) / s**1.5  # the unit quaternion and its rate
    np.testing.assert_allclose(s * pc.velocities(*turning)[1], Om, rtol=1e-13)


# Motion


def test_the_accelerations_are_lagranges(rng):
    """d/dt (M pdot) - (1/2) d(pdot.M pdot)/dp = 2 Q (f_nu, tau), with pddot from nu' and Om'."""
    p, p_dot, tau, f_nu = rng.normal(size=4), rng.normal(size=4), rng.normal(size=3), rng.normal()
    nu, Om = pc.velocities(p, p_dot)
    nu_dot, Om_dot = pc.accelerations(p, nu, Om, f_nu, tau, THETA)
    rate = jacobian(pc.quaternion_rate, ("p", "nu", "Om_B"))(p, nu, Om)
    p_ddot = rate[0] @ p_dot + rate[1] * nu_dot + rate[2] @ Om_dot
    slopes = jacobian(pc.quaternion_mass, "p")(p, THETA)  # d M[i, j] / d p[k]
    momentum_rate = pc.quaternion_mass(p, THETA) @ p_ddot + np.einsum("ijk,k,j->i", slopes, p_dot, p_dot)
    force = momentum_rate - 0.5 * np.einsum("ijk,i,j->k", slopes, p_dot, p_dot)
    np.testing.assert_allclose(force, 2 * quaternion.left_matrix(p) @ [f_nu, *tau], rtol=1e-12, atol=1e-12)


def test_the_multiplier_stops_the_scaling_and_is_minus_four_times_the_rotational_energy(rng):
    q, w, f_nu = unit(rng.normal(size=4)), rng.normal(size=3), 0.7
    T_rot = w @ THETA @ w / 2
    assert pc.multiplier(q, w, 0.0, THETA) == pytest.approx(-4 * T_rot, rel=1e-14)
    with_force = pc.multiplier(q, w, f_nu, THETA)
    nu_dot, _ = pc.accelerations(q, 0.0, w, f_nu + with_force / 2, np.zeros(3), THETA)
    assert abs(nu_dot) < 1e-14
    free, _ = pc.accelerations(q, 0.0, w, f_nu, np.zeros(3), THETA)
    assert abs(free) > 0.1  # without the multiplier the body would swell


def test_the_quaternion_equation_with_the_multiplier_flies_the_rigid_body(rng):
    """M pddot + ... = lambda p in the four numbers of p, by DOP853, against Euler's equation."""
    q, w = unit(rng.normal(size=4)), np.array([0.5, -0.6, 0.7])

    def constrained(t, y):
        p, p_dot = y[:4], y[4:]
        slopes = jacobian(pc.quaternion_mass, "p")(p, THETA)
        lam = pc.multiplier(p, pc.velocities(p, p_dot)[1], 0.0, THETA)
        drift = np.einsum("ijk,k,j->i", slopes, p_dot, p_dot) - 0.5 * np.einsum("ijk,i,j->k", slopes, p_dot, p_dot)
        return np.concatenate([p_dot, np.linalg.solve(pc.quaternion_mass(p, THETA), lam * p - drift)])

    y0 = np.concatenate([q, pc.quaternion_rate(q, 0.0, w)])
    end = solve_ivp(constrained, (0, 5), y0, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    assert end[:4] @ end[:4] == pytest.approx(1, abs=1e-9)
    q_ref, _, w_ref, _ = flown(q, np.zeros(3), w, np.zeros(3), np.zeros(3), np.zeros(3), 5.0)
    np.testing.assert_allclose(end[:4], q_ref, atol=1e-9)
    np.testing.assert_allclose(pc.velocities(end[:4], end[4:])[1], w_ref, atol=1e-9)


def flown(q, r, w, v, tau, f, t):
    """The rigid body by DOP853: torque held in body axes, force in inertial axes."""

    def rates(_, y):
        q, w = y[:4], y[7:10]
        w_dot = np.linalg.solve(THETA, np.cross(THETA @ w, w) + tau)
        q_dot = 0.5 * quaternion.left_matrix(q) @ [0, *w]
        return np.concatenate([q_dot, y[10:], w_dot, f / MASS])

    y0 = np.concatenate([q, r, w, v])
    y = solve_ivp(rates, (0, t), y0, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return y[:4], y[4:7], y[7:10], y[10:]


def test_the_step_is_of_second_order(rng):
    q, (r, w, v) = unit(rng.normal(size=4)), rng.normal(size=(3, 3))
    start = (q, r, w, v)
    tau, f = np.array([0.5, -0.3, 0.2]), np.array([1.0, 2.0, -0.5])
    exact = np.concatenate(flown(q, r, w, v, tau, f, 1.0))
    counts = np.array([50, 100, 200, 400])
    errors = [
        np.abs(np.concatenate(pc.step.repeat(n, *start, tau, f, MASS, THETA, 1 / n)) - exact).max() for n in counts
    ]
    order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert abs(order - 2) < 0.05


@pytest.mark.jit
@pytest.mark.parametrize("angle_per_step", [0.01, 0.1, 1.0])
def test_free_flight_keeps_energy_and_momentum_to_round_off(rng, angle_per_step):
    h, steps = 0.01, 1000
    q, v = unit(rng.normal(size=(8, 4))), rng.normal(size=(8, 3))
    w = unit(rng.normal(size=(8, 3))) * angle_per_step / h
    x, none = (q, np.zeros((8, 3)), w, v), np.zeros(3)
    E, P = pc.kinetic_energy(v, 0.0, w, MASS, THETA), pc.momentum(q, np.zeros(3), w, v, MASS, THETA)
    scale = np.linalg.norm(P[:, :3], axis=-1)
    for _ in range(10):
        x = pc.step.repeat(steps // 10, *x, none, none, MASS, THETA, h)
        assert np.abs(pc.kinetic_energy(x[3], 0.0, x[2], MASS, THETA) / E - 1).max() < 1e-14
        spin = quaternion.rotate(x[0], x[2] @ THETA)
        assert (np.linalg.norm(spin - P[:, :3], axis=-1) / scale).max() < 1e-14
        np.testing.assert_array_equal(x[3], v)


def test_energy_and_momentum_change_by_the_work_and_the_impulses(rng):
    q, (r, w, v) = unit(rng.normal(size=4)), rng.normal(size=(3, 3))
    tau, f, h = np.array([0.5, -0.3, 0.2]), np.array([1.0, 2.0, -0.5]), 0.1
    q1, r1, w1, v1 = pc.step(q, r, w, v, tau, f, MASS, THETA, h)
    gained = pc.kinetic_energy(v1, 0.0, w1, MASS, THETA) - pc.kinetic_energy(v, 0.0, w, MASS, THETA)
    assert gained == pytest.approx(f @ (r1 - r) + h * tau @ (w + w1) / 2, abs=1e-14)
    P, P1 = pc.momentum(q, r, w, v, MASS, THETA), pc.momentum(q1, r1, w1, v1, MASS, THETA)
    np.testing.assert_allclose(P1[3:] - P[3:], h * f, atol=1e-15)
    turned = pc.momentum(*pc.step(q, r, w, v, np.zeros(3), f, MASS, THETA, h), MASS, THETA)
    np.testing.assert_allclose(turned[:3] - P[:3], np.cross((r + r1) / 2, h * f), atol=1e-14)


def test_a_step_back_undoes_a_step(rng):
    x = (unit(rng.normal(size=4)), *rng.normal(size=(3, 3)))
    held = (np.array([0.5, -0.3, 0.2]), np.array([1.0, 2.0, -0.5]), MASS, THETA)
    back = pc.step(*pc.step(*x, *held, 0.1), *held, -0.1)
    np.testing.assert_allclose(np.concatenate(back), np.concatenate(x), atol=1e-14)


def test_a_trial_has_the_same_bits_alone_and_in_a_batch(rng):
    x = (unit(rng.normal(size=(9, 4))), *rng.normal(size=(3, 9, 3)))
    tau, f, h = rng.normal(size=(9, 3)), rng.normal(size=(9, 3)), rng.uniform(0.01, 0.1, 9)
    together = pc.step(*x, tau, f, MASS, THETA, h)
    for k in range(9):
        alone = pc.step(*(a[k] for a in x), tau[k], f[k], MASS, THETA, h[k])
        assert all(np.array_equal(a, b[k]) for a, b in zip(alone, together, strict=True))


# The scaling free


def flow(p, nu, Om, f_nu, tau, T):
    """The smooth motion by DOP853."""

    def rate(t, y):
        nu_dot, Om_dot = pc.accelerations(y[:4], y[4], y[5:], f_nu, tau, THETA)
        return np.concatenate([pc.quaternion_rate(y[:4], y[4], y[5:]), [nu_dot], Om_dot])

    return solve_ivp(rate, (0.0, T), [*p, nu, *Om], "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]


@pytest.mark.jit
@pytest.mark.parametrize("f_nu", [0.0, -0.7])
def test_a_body_that_may_change_its_size_moves_with_order_2_and_keeps_its_momentum(f_nu):
    p, nu, Om, tau = (
        np.array([1.1, 0.2, -0.3, 0.1]),
        -0.4,
        np.array([0.5, -0.4, 0.8]),
        f_nu * np.array([0.2, 0.1, -0.3]),
    )
    end, errors = flow(p, nu, Om, f_nu, tau, 2.0), []
    for n in (40, 80):
        *state, Om_end = pc.scaling_step.repeat(n, p, nu, Om, f_nu, tau, THETA, 2.0 / n)
        errors.append(np.linalg.norm(np.concatenate([state[0], [state[1]], Om_end]) - end))
        if f_nu == 0.0:
            np.testing.assert_allclose(
                pc.scaling_momentum(state[0], Om_end, THETA), pc.scaling_momentum(p, Om, THETA), atol=1e-13
            )
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)


def test_a_step_of_the_free_size_is_undone_by_the_step_back():
    p, nu, Om, tau = np.array([0.9, 0.2, -0.3, 0.4]), 0.3, np.array([0.5, -0.4, 0.8]), np.zeros(3)
    there = pc.scaling_step(p, nu, Om, 0.2, tau, THETA, 0.1)
    for a, b in zip(pc.scaling_step(*there, 0.2, tau, THETA, -0.1), (p, nu, Om), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-14)
