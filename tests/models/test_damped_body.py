"""A body with a Kane damper: orders, linearisation, flights, dissipation, lost trials."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.damped_body import DampedBody, DampedState
from tests.models.turning import START, TAU, J, dispersed, error, hamilton, last, order, same_bits, slopes, trial

J_D, C = 0.3, 0.4
RHO = np.array([0.3, -0.2, 0.4])
X0 = DampedState(quaternion.normalize(START.q_IB), START.w_B, np.array([0.4, 0.5, -0.3]))
ORDERS = pytest.mark.parametrize("n", [1, 2, 4])


def body(n, **changes):
    return DampedBody(**{"J": J, "J_D": J_D, "C": C, "rho_B": RHO, "order": n, **changes})


def solution(x, duration):
    """Return the state by DOP853, the ball's rate in *inertial* axes: a formulation of its own."""

    def rotated(q, v):
        return hamilton(hamilton(q, np.array([0.0, *v])), q * [1, -1, -1, -1])[1:] / (q @ q)

    def rate(_, y):
        q, w, ball_I = y[:4], y[4:7], y[7:]
        viscous = C * (rotated(q * [1, -1, -1, -1], ball_I) - w)
        w_rate = np.linalg.solve(J, np.cross(J @ w + RHO, w) + viscous + TAU)
        return np.concatenate([0.5 * hamilton(q, np.array([0.0, *w])), w_rate, -rotated(q, viscous) / J_D])

    start = np.concatenate([x.q_IB, x.w_B, rotated(x.q_IB, x.w_D)])
    y = solve_ivp(rate, (0.0, duration), start, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    q = y[:4] / np.linalg.norm(y[:4])
    return DampedState(q, y[4:7], rotated(q * [1, -1, -1, -1], y[7:]))


@pytest.mark.jit
@pytest.mark.parametrize(("n", "counts"), [(1, (640, 1280, 2560)), (2, (40, 80, 160)), (4, (20, 40, 80))])
def test_the_order_is_what_the_body_says(n, counts):
    truth = solution(X0, 4.0)
    ends = [last(body(n).fly(X0, k, 4.0 / k, every=k, tau_B=TAU)) for k in counts]
    errors = [error(x, truth) + np.linalg.norm(x.w_D - truth.w_D) for x in ends]
    assert order(counts, errors) == pytest.approx(n, abs=0.05)


@ORDERS
def test_linearize_is_the_derivative_of_step_in_momenta(n):
    """The error state is (a, dP_B, dP_D): differences in rates become those by J and J_D."""
    F, G = body(n).linearize(X0, TAU, 0.2)
    numeric_F, numeric_G = slopes(lambda x, tau_B: body(n).step(x, tau_B, 0.2), X0, TAU)
    scale = np.block(
        [[np.eye(3), np.zeros((3, 6))], [np.zeros((3, 3)), J, np.zeros((3, 3))], [np.zeros((3, 6)), J_D * np.eye(3)]]
    )
    np.testing.assert_allclose(F, scale @ numeric_F @ np.linalg.inv(scale), rtol=0, atol=1e-8)
    np.testing.assert_allclose(G, scale @ numeric_G, rtol=0, atol=1e-8)


@ORDERS
def test_a_fused_flight_ends_where_single_steps_end(n):
    x = X0
    for _ in range(20):
        x = body(n).step(x, TAU, 0.1)
    end = last(body(n).fly(X0, 20, 0.1, every=10, tau_B=TAU))
    for a, b in zip(end, x, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


@pytest.mark.jit
@ORDERS
def test_free_of_torque_the_whole_keeps_its_momentum(n):
    x = body(n).fly(X0, 1000, 0.1, every=100).x
    start = quaternion.to_matrix(X0.q_IB) @ (J @ X0.w_B + RHO + J_D * X0.w_D)
    np.testing.assert_allclose(body(n).momentum(x), np.broadcast_to(start, (11, 3)), rtol=0, atol=1e-13)


@pytest.mark.jit
def test_energy_falls_at_the_rate_of_viscous_work_and_the_body_ends_on_its_major_axis():
    model = body(2, rho_B=np.zeros(3))
    slip, h = X0.w_D - X0.w_B, 1e-3
    assert model.energy(X0) == pytest.approx(0.5 * X0.w_B @ J @ X0.w_B + 0.5 * J_D * X0.w_D @ X0.w_D)
    rise = model.energy(model.step(X0, np.zeros(3), h)) - model.energy(model.step(X0, np.zeros(3), -h))
    assert rise / (2 * h) == pytest.approx(-C * slip @ slip, rel=1e-3)
    end = last(model.fly(X0, 10_000, 0.2, every=10_000))
    greatest = np.linalg.eigh(J)[0][2]
    rate = np.linalg.norm(model.momentum(X0)) / (greatest + J_D)
    assert np.linalg.norm(end.w_B) == pytest.approx(rate, rel=1e-8)
    np.testing.assert_allclose(end.w_D, end.w_B, rtol=0, atol=1e-8)
    np.testing.assert_allclose(J @ end.w_B, greatest * end.w_B, rtol=0, atol=1e-8)


def test_a_step_too_long_marks_only_its_own_trial():
    w = np.array([1.0, 20.0, 1.0])[:, None] * START.w_B
    x = body(2).step(X0._replace(w_B=w), np.zeros(3), 0.3)
    assert [np.isnan(np.concatenate([a[k] for a in x])).all() for k in range(3)] == [False, True, False]
    assert np.isfinite(np.concatenate([a[[0, 2]] for a in x], -1)).all()


@ORDERS
def test_a_trial_has_the_same_bits_alone_and_in_a_batch(n):
    rng = np.random.default_rng(9)
    x, bodies = dispersed(rng, 4, rate=0.4)
    x = DampedState(*x, x.w_B + 0.1 * rng.normal(size=(4, 3)))
    constants, balls = rng.uniform(0.0, 0.2, 4), rng.uniform(0.1, 0.3, 4)
    together = DampedBody(bodies, balls, constants, order=n).step(x, TAU, 0.3)
    for k in range(4):
        assert same_bits(
            trial(together, k), DampedBody(bodies[k], balls[k], constants[k], order=n).step(trial(x, k), TAU, 0.3)
        )


def test_bad_bodies_are_refused_by_name():
    with pytest.raises(InputError, match="J_D: 0 is not positive; give a number > 0"):
        body(2, J_D=0.0)
    with pytest.raises(InputError, match="C: -1 is negative; give a number >= 0"):
        body(2, C=-1.0)
    with pytest.raises(InputError, match="order: 3 is not one of 1, 2, 4"):
        body(3)
    with pytest.raises(InputError, match="rho_B: expected \\(..., 3\\), got \\(2,\\)"):
        body(2, rho_B=(0.0, 1.0))
