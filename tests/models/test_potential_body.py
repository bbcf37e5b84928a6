"""A body that turns and moves in a potential: orders, linearisation, flights, conservation, a field of one's own."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.batch import batched
from gnc.errors import InputError
from gnc.integrators import fields
from gnc.models.potential_body import PotentialBody, PotentialState
from tests.models.turning import START, J, dispersed, error, hamilton, last, order, same_bits, slopes, trial

MU, M = 1.0, np.array([1.0, 2.0])
ARMS = np.array([[0.4, 0.2, 0.0], [-0.2, -0.1, 0.0]])  # around the centre of mass
MASS = M.sum()
X0 = PotentialState(quaternion.normalize(START.q_IB), START.w_B, np.array([1.5, 0.2, -0.1]), np.array([0.1, 0.6, 0.3]))
ORDERS = pytest.mark.parametrize("n", [2, 4])


def dumbbell(n, mass=MASS, J=J):
    return PotentialBody(mass, J, fields.point_masses(2), (MU, M, ARMS), n)


def solution(x, duration):
    """Return the state by DOP853 from Newton's law for each point of mass."""

    def rate(_, y):
        q, w, r, v = y[:4], y[4:7], y[7:10], y[10:]
        conj = q * [1, -1, -1, -1]
        balls = np.array([hamilton(hamilton(q, np.array([0.0, *b])), conj)[1:] / (q @ q) for b in ARMS])
        forces = np.array([-MU * m * (r + b) / np.linalg.norm(r + b) ** 3 for m, b in zip(M, balls, strict=True)])
        torque_I = np.cross(balls, forces).sum(0)
        torque = hamilton(hamilton(conj, np.array([0.0, *torque_I])), q)[1:] / (q @ q)
        w_rate = np.linalg.solve(J, np.cross(J @ w, w) + torque)
        return np.concatenate([0.5 * hamilton(q, np.array([0.0, *w])), w_rate, v, forces.sum(0) / MASS])

    y = solve_ivp(rate, (0.0, duration), np.concatenate(x), "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return PotentialState(y[:4] / np.linalg.norm(y[:4]), y[4:7], y[7:10], y[10:])


@pytest.mark.jit
@pytest.mark.parametrize(("n", "counts"), [(2, (80, 160, 320)), (4, (40, 60, 90))])
def test_the_order_is_what_the_body_says(n, counts):
    truth = solution(X0, 3.0)
    ends = [last(dumbbell(n).fly(X0, k, 3.0 / k, every=k)) for k in counts]
    errors = [error(x, truth) + np.linalg.norm(x.r_I - truth.r_I) + np.linalg.norm(x.v_I - truth.v_I) for x in ends]
    assert order(counts, errors) == pytest.approx(n, abs=0.05)


@ORDERS
def test_linearize_is_the_derivative_of_step_in_momenta(n):
    """The error state is (a, dP, dr, dp): differences in rate and velocity become those by J and mass."""
    scale = np.zeros((12, 12))
    for k, part in enumerate((np.eye(3), J, np.eye(3), MASS * np.eye(3))):
        scale[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = part
    numeric, _ = slopes(lambda x, _: dumbbell(n).step(x, 0.2), X0, np.zeros(1))
    np.testing.assert_allclose(
        dumbbell(n).linearize(X0, 0.2), scale @ numeric @ np.linalg.inv(scale), rtol=0, atol=1e-8
    )


@ORDERS
def test_a_fused_flight_ends_where_single_steps_end(n):
    x = X0
    for _ in range(20):
        x = dumbbell(n).step(x, 0.05)
    end = last(dumbbell(n).fly(X0, 20, 0.05, every=10))
    for a, b in zip(end, x, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


@pytest.mark.jit
@ORDERS
def test_angular_momentum_is_exact_and_energy_swings_by_the_order_without_drift(n):
    body = dumbbell(n)
    coarse, fine = body.fly(X0, 10_000, 0.01, every=10).x, body.fly(X0, 20_000, 0.005, every=20).x
    np.testing.assert_allclose(body.momentum(coarse), np.broadcast_to(body.momentum(X0), (1001, 3)), rtol=0, atol=1e-12)
    swing, half_step = (np.abs(body.energy(x) - body.energy(X0)) for x in (coarse, fine))
    assert swing.max() / half_step.max() == pytest.approx(2.0**n, rel=0.02)
    assert swing[501:].max() < 1.1 * swing[:501].max()


def test_energy_and_momentum_are_those_of_orbit_and_spin():
    R = quaternion.to_matrix(X0.q_IB)
    balls = X0.r_I + ARMS @ R.T
    fall = -MU * np.sum(M / np.linalg.norm(balls, axis=1))
    assert dumbbell(2).energy(X0) == pytest.approx(0.5 * X0.w_B @ J @ X0.w_B + 0.5 * MASS * X0.v_I @ X0.v_I + fall)
    assert dumbbell(2).momentum(X0) == pytest.approx(MASS * np.cross(X0.r_I, X0.v_I) + R @ J @ X0.w_B)


@batched("(4),(3),()->()")
def spring(q_IB, r_I, k):
    return 0.5 * k * (r_I @ r_I)


@pytest.mark.jit
def test_a_field_of_ones_own_needs_its_energy_only():
    """A spring to the origin: the centre of mass swings as a cosine, whatever the body does."""
    body = PotentialBody(2.0, J, fields.from_energy(spring), (8.0,))
    t, x = body.fly(X0, 200, 0.01)
    expected = X0.r_I * np.cos(2.0 * t)[:, None] + X0.v_I / 2.0 * np.sin(2.0 * t)[:, None]
    np.testing.assert_allclose(x.r_I, expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(body.energy(x), body.energy(X0), rtol=1e-8)


def test_a_body_falls_under_uniform_gravity_as_galileo_says():
    g, h = np.array([0.0, 0.0, -9.81]), 0.1
    x = last(PotentialBody(2.0, J, fields.uniform_gravity, (2.0, g), 2).fly(X0, 10, h))
    np.testing.assert_allclose(x.r_I, X0.r_I + X0.v_I + 0.5 * g, rtol=0, atol=1e-13)
    np.testing.assert_allclose(x.v_I, X0.v_I + g, rtol=0, atol=1e-13)


def test_a_step_too_long_marks_only_its_own_trial():
    w = np.array([1.0, 50.0, 1.0])[:, None] * START.w_B
    x = dumbbell(2).step(X0._replace(w_B=w), 0.05)
    assert np.isnan(x.w_B).all(-1).tolist() == [False, True, False]
    assert np.isfinite(x.q_IB[[0, 2]]).all()


@ORDERS
def test_a_trial_has_the_same_bits_alone_and_in_a_batch(n):
    rng = np.random.default_rng(11)
    x, bodies = dispersed(rng, 4)
    x = PotentialState(*x, X0.r_I + 0.1 * rng.normal(size=(4, 3)), X0.v_I + 0.1 * rng.normal(size=(4, 3)))
    mass, mu, arms = rng.uniform(1.0, 3.0, 4), rng.uniform(0.5, 1.5, 4), rng.normal(size=(4, 2, 3)) * 0.1
    field = fields.point_masses(2)
    together = PotentialBody(mass, bodies, field, (mu, M, arms), n).step(x, 0.1)
    for k in range(4):
        alone = PotentialBody(mass[k], bodies[k], field, (mu[k], M, arms[k]), n)
        assert same_bits(trial(together, k), alone.step(trial(x, k), 0.1))


def test_bad_bodies_are_refused_by_name():
    with pytest.raises(InputError, match="mass: 0 is not positive"):
        dumbbell(2, mass=0.0)
    with pytest.raises(InputError, match="J: not positive definite"):
        dumbbell(2, J=np.zeros((3, 3)))
    with pytest.raises(InputError, match="order: 3 is not one of 2, 4"):
        dumbbell(3)
    with pytest.raises(InputError, match="parameters: the field takes 3 \\(mu, m, rho_B\\)"):
        PotentialBody(MASS, J, fields.point_masses(2), (MU, M))
    with pytest.raises(InputError, match="m: expected \\(..., 2\\), got \\(3,\\)"):
        PotentialBody(MASS, J, fields.point_masses(2), (MU, np.ones(3), ARMS))
