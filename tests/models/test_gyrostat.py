"""A body with wheels: driven wheels, orders, linearisation, flights, lost trials, the momentum of the whole."""

import numpy as np
import pytest

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.flight import LostTrials, StepTooLong
from gnc.models.rigid_body import Gyrostat, GyrostatState
from tests.models.turning import (
    Q0,
    START,
    TAU,
    J,
    dispersed,
    error,
    last,
    order,
    same_bits,
    slopes,
    solution,
    torque,
    trial,
)

RHO = np.array([0.3, -0.2, 0.4])
SPIN_UP = np.array([0.3, 0.2, -0.4])  # momentum that the wheels take up in a second
X0 = GyrostatState(quaternion.normalize(Q0), START.w_B, RHO)
WHEELED = ["vi2", "vi4", "taylor", "midpoint", "rk4", "rk4-normalized"]


def attitude_error(x, truth):
    return error(x._replace(q_IB=quaternion.normalize(x.q_IB)), truth)


# Accuracy


@pytest.mark.jit
@pytest.mark.parametrize(("method", "expected", "counts"), [("vi2", 2, (40, 80, 160)), ("vi4", 4, (16, 24, 36))])
def test_at_constant_wheel_speed_a_users_torque_keeps_the_order(method, expected, counts):
    truth, body = solution(START, torque, 2.0, rho=lambda t: RHO), Gyrostat(J, method)
    errors = [attitude_error(last(body.fly(X0, n, 2.0 / n, every=n, tau_B=torque)), truth) for n in counts]
    assert order(counts, errors) == pytest.approx(expected, abs=0.05)


@pytest.mark.jit
@pytest.mark.parametrize("load", [TAU, torque], ids=["constant", "function"])
def test_driven_wheels_keep_second_order_and_end_with_what_they_were_given(load):
    function = load if callable(load) else lambda x, t: TAU
    truth = solution(START, function, 2.0, rho=lambda t: RHO + SPIN_UP * t, rho_rate=SPIN_UP)
    counts, body = (40, 80, 160), Gyrostat(J, "vi2")
    ends = [last(body.fly(X0, n, 2.0 / n, every=n, tau_B=load, rho_rate_B=SPIN_UP)) for n in counts]
    assert order(counts, [attitude_error(x, truth) for x in ends]) == pytest.approx(2.0, abs=0.05)
    np.testing.assert_allclose(ends[-1].rho_B, RHO + 2.0 * SPIN_UP, rtol=0, atol=1e-13)


def test_the_taylor_series_moves_wheels_at_constant_speed_as_eulers_equation_says():
    truth = solution(START, lambda x, t: TAU, 4.0, rho=lambda t: RHO)
    assert attitude_error(last(Gyrostat(J, "taylor").fly(X0, 8, 0.5, every=8, tau_B=TAU)), truth) < 1e-11


@pytest.mark.jit
@pytest.mark.parametrize(("rotor", "stable"), [(0.0, False), (1.5, True)])
def test_a_rotor_steadies_the_spin_about_the_intermediate_axis(rotor, stable):
    """Stable iff ((J2 - J1) w + rho) ((J2 - J3) w + rho) > 0."""
    J1, J2, J3, w = 1.0, 2.0, 3.0, 1.0
    assert (((J2 - J1) * w + rotor) * ((J2 - J3) * w + rotor) > 0) is stable
    start = GyrostatState([1.0, 0, 0, 0], [1e-4, w, -1e-4], [0.0, rotor, 0.0])
    tilt = np.abs(Gyrostat(np.diag([J1, J2, J3])).fly(start, 500, 0.2).x.w_B[:, [0, 2]]).max()
    assert bool(tilt < 1e-3) is stable


# Linearisation


@pytest.mark.parametrize("method", WHEELED)
def test_linearize_is_the_derivative_of_step_at_constant_wheel_speed(method):
    body = Gyrostat(J, method)

    def step(x, tau_B):
        return type(x)(*body.step(GyrostatState(*x, RHO), tau_B, 0.4)[:2])

    numeric = slopes(step, START._replace(q_IB=X0.q_IB), TAU)
    for exact, difference in zip(body.linearize(X0, TAU, 0.4), numeric, strict=True):
        np.testing.assert_allclose(exact, difference, rtol=0, atol=1e-8)


# Flights


@pytest.mark.parametrize("rate", [np.zeros(3), SPIN_UP], ids=["fused", "driven"])
def test_a_flight_ends_where_single_steps_end(rate):
    body, x = Gyrostat(J), X0
    for k in range(20):
        x = body.step(x, TAU, 0.1, rate, 0.1 * k)
    end = last(body.fly(X0, 20, 0.1, every=5, tau_B=TAU, rho_rate_B=rate))
    for a, b in zip(end, x, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


# Conservation


@pytest.mark.jit
def test_wheels_that_are_driven_take_from_the_body_what_they_gain():
    body = Gyrostat(J)
    x = body.fly(X0, 500, 0.1, every=50, rho_rate_B=0.02 * SPIN_UP).x
    np.testing.assert_allclose(body.momentum(x), np.broadcast_to(body.momentum(X0), (11, 3)), rtol=0, atol=1e-13)
    assert np.linalg.norm(x.w_B[-1] - X0.w_B) > 0.1


@pytest.mark.jit
def test_wheels_at_constant_speed_keep_momentum_and_the_energy_without_their_own():
    body = Gyrostat(J, "taylor")
    x = body.fly(X0, 500, 0.2, every=50).x
    assert body.energy(X0) == pytest.approx(0.5 * X0.w_B @ J @ X0.w_B)
    assert body.momentum(X0) == pytest.approx(quaternion.to_matrix(X0.q_IB) @ (J @ X0.w_B + RHO))
    np.testing.assert_allclose(body.energy(x), body.energy(X0), rtol=1e-13)
    np.testing.assert_allclose(body.momentum(x), np.broadcast_to(body.momentum(X0), (11, 3)), rtol=0, atol=1e-13)


# Steps that are too long, batches, bad input


def test_without_substeps_a_step_too_long_raises_alone_and_loses_its_own_trial_of_a_batch():
    body = Gyrostat(J, "vi2", substeps=False)
    with pytest.raises(StepTooLong, match=r"\|w\| h = 5\.\d* rad is beyond the limit of 1 rad"):
        body.step(X0._replace(w_B=np.array([0.0, 0.0, 5.1])), np.zeros(3), 1.0)
    batch = GyrostatState(np.tile(X0.q_IB, (2, 1)), np.array([[0.0, 0, 0.2], [0.0, 0, 5.0]]), 0.1 * RHO)
    with pytest.warns(LostTrials, match=r"1 of 2 trials lost \(1\)"):
        x = body.step(batch, np.zeros(3), 1.0)
    assert np.isfinite(x.w_B[0]).all() and np.isnan(x.w_B[1]).all()


@pytest.mark.parametrize("load", [TAU, torque], ids=["constant", "function"])
def test_a_trial_has_the_same_bits_alone_and_in_a_batch(load):
    rng = np.random.default_rng(8)
    x, bodies = dispersed(rng, 4, rate=1.5)
    x = GyrostatState(*x, 0.2 * rng.normal(size=(4, 3)))
    together = Gyrostat(bodies).step(x, load, 0.4, SPIN_UP, 1.0)
    for k in range(4):
        assert same_bits(trial(together, k), Gyrostat(bodies[k]).step(trial(x, k), load, 0.4, SPIN_UP, 1.0))


def test_bad_bodies_and_wheels_are_refused_by_name():
    with pytest.raises(InputError, match="J: not symmetric: \\[0,1\\] is 1 and \\[1,0\\] is 0"):
        Gyrostat(np.eye(3) + np.eye(3, k=1))
    with pytest.raises(InputError, match="method: 'preprocessed' is for bodies without wheels; use 'vi4' or 'taylor'"):
        Gyrostat(J, "preprocessed").step(X0, TAU, 0.1)
    assert np.isnan(Gyrostat(J).step(X0._replace(rho_B=np.array([0.0, np.nan, 0.0])), TAU, 0.1).w_B).all()
