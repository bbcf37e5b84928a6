"""A rigid body that turns: a user's torque, linearisation, fused flights, lost trials, conservation."""

import warnings

import numpy as np
import pytest

from gnc import quaternion
from gnc.errors import InputError
from gnc.integrators.table import METHODS, AttitudeMethod
from gnc.models.flight import LostTrials, StepTooLong
from gnc.models.rigid_body import RigidBody
from gnc.models.states import AttitudeState
from tests.models.turning import (
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

ATTITUDE = [name for name, method in METHODS.items() if isinstance(method, AttitudeMethod)]
SPLITTING = [name for name in ATTITUDE if METHODS[name].drift is not None]
CONSERVING = [name for name in ATTITUDE if "momentum" in METHODS[name].conserves]
ALL = pytest.mark.parametrize("method", ATTITUDE)
UNIT = np.array([1.0, 0.0, 0.0, 0.0])


# Accuracy


UNDER_A_USERS_TORQUE = {  # order, and numbers of steps in 2 s that show it
    "vi2": (2, (40, 80, 160)),
    "vi4": (4, (16, 24, 36)),
    "preprocessed": (2, (40, 80, 160)),
    "exact": (4, (8, 16, 32)),
    "taylor": (4, (8, 16, 32)),
    "taylor10": (4, (40, 56, 80)),  # in which no step is divided
}


@pytest.mark.jit
@pytest.mark.parametrize("method", SPLITTING)
def test_a_users_torque_of_attitude_rate_and_time_keeps_the_order(method):
    expected, counts = UNDER_A_USERS_TORQUE[method]
    truth, body = solution(START, torque, 2.0), RigidBody(J, method)
    errors = [error(last(body.fly(START, n, 2.0 / n, every=n, tau_B=torque)), truth) for n in counts]
    assert order(counts, errors) == pytest.approx(expected, abs=0.05)


@pytest.mark.jit
@ALL
def test_a_constant_torque_moves_the_body_as_eulers_equation_says(method):
    truth = solution(START, lambda x, t: TAU, 4.0)
    x = last(RigidBody(J, method).fly(START, 400, 0.01, every=400, tau_B=TAU))
    bounds = {"vi4": 1e-8, "rk4": 1e-8, "rk4-normalized": 1e-8, "taylor": 1e-11, "taylor10": 1e-11, "exact": 1e-6}
    assert error(x, truth) < bounds.get(method, 1e-3)


def test_the_clock_of_a_users_torque_starts_where_the_flight_does():
    body, late = RigidBody(J), lambda x, t: torque(x, t + 3.0)
    flight = body.fly(START, 4, 0.1, tau_B=torque, t0=3.0)
    assert flight.t == pytest.approx([3.0, 3.1, 3.2, 3.3, 3.4])
    assert error(last(flight), last(body.fly(START, 4, 0.1, tau_B=late))) < 1e-14


def test_a_fast_body_is_divided_into_substeps_and_stays_accurate():
    fast = AttitudeState(START.q_IB, 6.0 * START.w_B)  # 3.4 rad in half a second
    truth = solution(fast, lambda x, t: TAU, 0.5)
    assert error(RigidBody(J, "vi4").step(fast, TAU, 0.5), truth) < 0.02
    assert error(RigidBody(J, "taylor").step(fast, TAU, 0.5), truth) < 1e-11


@pytest.mark.parametrize("method", CONSERVING)
def test_a_step_back_recovers_the_start(method):
    body = RigidBody(J, method)
    assert (
        error(body.step(body.step(START, TAU, 0.3), TAU, -0.3), START._replace(q_IB=quaternion.normalize(START.q_IB)))
        < 1e-13
    )


# Linearisation


@ALL
@pytest.mark.parametrize("speed", [1.0, 5.0], ids=["one step", "substeps"])
def test_linearize_is_the_derivative_of_step(method, speed):
    x = AttitudeState(quaternion.normalize(START.q_IB), speed * START.w_B)
    body = RigidBody(J, method)
    numeric = slopes(lambda x, tau_B: body.step(x, tau_B, 0.4), x, TAU)
    for exact, difference in zip(body.linearize(x, TAU, 0.4), numeric, strict=True):
        np.testing.assert_allclose(exact, difference, rtol=0, atol=1e-8)


# Flights


@pytest.mark.jit
@ALL
def test_a_fused_flight_ends_where_single_steps_end(method):
    body, x = RigidBody(J, method), START
    for _ in range(30):
        x = body.step(x, TAU, 0.1)
    assert (
        error(last(body.fly(START, 30, 0.1, every=30, tau_B=TAU)), x._replace(q_IB=quaternion.normalize(x.q_IB)))
        < 1e-13
    )


def test_what_is_kept_does_not_change_the_flight():
    body = RigidBody(J)
    every, some = body.fly(START, 30, 0.1, tau_B=TAU), body.fly(START, 30, 0.1, every=5, tau_B=TAU)
    assert np.array_equal(every.t[::5], some.t) and every.x.w_B.shape == (31, 3)
    assert same_bits((every.x.q_IB[::5], every.x.w_B[::5]), some.x)


def test_a_flight_under_a_users_torque_is_its_steps():
    body, x = RigidBody(J), START
    for k in range(10):
        x = body.step(x, torque, 0.1, 0.1 * k)
    assert error(last(body.fly(START, 10, 0.1, tau_B=torque)), x._replace(q_IB=quaternion.normalize(x.q_IB))) < 1e-13


# Conservation


def test_energy_and_momentum_are_those_of_a_rigid_body():
    body = RigidBody(np.diag([1.0, 2.0, 3.0]))
    quarter = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])  # x of the body lies along y
    x = AttitudeState(quarter, np.array([0.5, 0.25, -1.0]))
    assert body.energy(x) == pytest.approx(0.5 * (0.25 + 2 * 0.0625 + 3.0))
    assert body.momentum(x) == pytest.approx([-0.5, 0.5, -3.0])


@pytest.mark.jit
@pytest.mark.parametrize("method", CONSERVING)
def test_a_free_flight_keeps_energy_and_momentum_to_round_off(method):
    body, start = RigidBody(J, method), START._replace(q_IB=quaternion.normalize(START.q_IB))
    x = body.fly(start, 2000, 0.2, every=100).x
    np.testing.assert_allclose(body.energy(x), body.energy(start), rtol=1e-13)
    np.testing.assert_allclose(body.momentum(x), np.broadcast_to(body.momentum(start), (21, 3)), rtol=0, atol=3e-13)


# Steps that are too long


def test_without_substeps_a_step_too_long_raises_for_a_single_trial_and_says_what_to_do():
    body = RigidBody(np.eye(3), "vi2", substeps=False)
    with pytest.raises(
        StepTooLong, match=r"\|w\| h = 1.01 rad is beyond the limit of 1 rad: take shorter steps or substeps=True"
    ):
        body.step(AttitudeState(UNIT, np.array([0.0, 0.0, 1.01])), np.zeros(3), 1.0)
    with pytest.raises(StepTooLong, match=r"\|w\| h = 2 rad"):
        body.fly(AttitudeState(UNIT, np.array([0.0, 0.0, 2.0])), 10, 1.0, every=5)
    assert np.isfinite(body.step(AttitudeState(UNIT, np.array([0.0, 0.0, 0.99])), np.zeros(3), 1.0).w_B).all()


def test_without_substeps_a_step_too_long_loses_only_its_own_trial_of_a_batch_and_warns():
    body, w = RigidBody(np.eye(3), "vi2", substeps=False), np.zeros((4, 3))
    w[:, 2] = [0.5, 1.01, 0.99, 3.0]
    batch = AttitudeState(np.tile(UNIT, (4, 1)), w)
    with pytest.warns(LostTrials, match=r"2 of 4 trials lost \(1, 3\): \|w\| h = 3 rad is beyond the limit of 1 rad"):
        x = body.step(batch, np.zeros(3), 1.0)
    assert np.isnan(x.w_B).all(-1).tolist() == [False, True, False, True]
    with pytest.warns(LostTrials) as told:
        flight = body.fly(batch, 10, 1.0, every=5)
    assert len(told) == 1, "a trial is reported lost once"
    assert np.isnan(flight.x.w_B[-1]).all(-1).tolist() == [False, True, False, True]


@pytest.mark.parametrize("load", [np.zeros(3), lambda x, t: 0.0 * x.w_B], ids=["constant", "function"])
def test_with_substeps_no_trial_is_lost(load):
    w = np.zeros((4, 3))
    w[:, 1] = [0.5, 0.99, 1.01, 3.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = RigidBody(np.diag([1.0, 2.0, 2.5]), "vi2").step(AttitudeState(np.tile(UNIT, (4, 1)), w), load, 1.0)
    assert np.isfinite(x.q_IB).all() and x.w_B == pytest.approx(w, abs=1e-12)


# Batches


@ALL
def test_a_trial_has_the_same_bits_alone_and_in_a_batch(method):
    rng = np.random.default_rng(5)
    x, bodies = dispersed(rng, 5, rate=2.0)
    tau, h = 0.1 * rng.normal(size=(5, 3)), rng.uniform(0.1, 0.6, 5)
    together = RigidBody(bodies, method).step(x, tau, h)
    for k in range(5):
        alone = RigidBody(bodies[k], method)
        assert same_bits(trial(together, k), alone.step(trial(x, k), tau[k], h[k]))


@pytest.mark.parametrize("method", SPLITTING)
def test_under_a_users_torque_a_trial_has_the_same_bits_alone_and_in_a_batch(method):
    x, bodies = dispersed(np.random.default_rng(6), 4, rate=2.0)
    together = RigidBody(bodies, method).step(x, torque, 0.4, 1.0)
    for k in range(4):
        assert same_bits(trial(together, k), RigidBody(bodies[k], method).step(trial(x, k), torque, 0.4, 1.0))


def test_one_inertia_serves_many_states_and_one_state_many_inertias():
    x, bodies = dispersed(np.random.default_rng(7), 3)
    assert RigidBody(J).fly(x, 4, 0.1, every=2).x.q_IB.shape == (3, 3, 4)
    flight = RigidBody(bodies).fly(trial(x, 0), 4, 0.1, every=2)
    assert flight.x.q_IB.shape == (3, 3, 4)
    assert same_bits(trial(last(flight), 1), last(RigidBody(bodies[1]).fly(trial(x, 0), 4, 0.1, every=2)))


# Bad input


def test_bad_bodies_and_flights_are_refused_by_name():
    with pytest.raises(InputError, match="J: triangle inequality violated: 5 > 1 \\+ 2"):
        RigidBody(np.diag([1.0, 2.0, 5.0]))
    assert RigidBody(np.diag([1.0, 2.0, 5.0]), allow_unphysical=True).J[2, 2] == 5.0
    with pytest.raises(InputError, match="method: 'vi3' is no attitude method; there are vi2, vi4"):
        RigidBody(J, "vi3")
    with pytest.raises(InputError, match="every: expected a whole number > 0 that divides steps = 10, got 3"):
        RigidBody(J).fly(START, 10, 0.1, every=3)
    with pytest.raises(InputError, match="steps: expected a whole number >= 0, got -1"):
        RigidBody(J).fly(START, -1, 0.1)


@pytest.mark.parametrize("method", ["midpoint", "rk4"])
def test_a_method_without_a_drift_refuses_a_users_torque(method):
    with pytest.raises(
        InputError, match=f"method: '{method}' takes constant torques only; use 'vi2', 'vi4' or 'exact'"
    ):
        RigidBody(J, method).step(START, torque, 0.1)
