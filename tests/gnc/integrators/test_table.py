"""Laws that every attitude method of the table has to keep, each to what it claims."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.errors import InputError
from gnc.integrators import METHODS
from gnc.integrators.table import AttitudeMethod, attitude_method

J = np.array([[1.1, 0.1, -0.2], [0.1, 2.0, 0.15], [-0.2, 0.15, 2.7]])
Q0 = np.array([0.5, -0.5, 0.5, 0.5])
W0 = np.array([0.8, -0.6, 0.5])
NO_WHEELS, WHEELS = np.zeros(3), np.array([0.3, -0.2, 0.4])
NO_TORQUE, TORQUE = np.zeros(3), np.array([0.15, 0.1, -0.2])

ALL = [m for m in METHODS.values() if isinstance(m, AttitudeMethod)]
WITH_WHEELS = [m for m in ALL if m.wheels]
STRUCTURED = [m for m in ALL if m.conserves]
GROUPS = ("attitude", "damped", "potential", "pose", "tree", "contact")
LONGEST = {"taylor10": 0.08}  # [s] the step that is 0.09 rad: it claims what it claims below 0.1 rad


def named(methods):
    return pytest.mark.parametrize("method", methods, ids=lambda m: m.name)


def reference(tau, rho, duration):
    """Integrate Euler's equations by DOP853, in inertial momentum form where nothing of the methods is used."""

    def rate(_, y):
        q, P = y[:4], y[4:]
        w = np.linalg.solve(J, P - rho)
        s, v = q[0], q[1:]
        return np.concatenate([[-0.5 * v @ w], 0.5 * (s * w + np.cross(v, w)), np.cross(P, w) + tau])

    start = np.concatenate([Q0, J @ W0 + rho])
    return solve_ivp(rate, (0, duration), start, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


def error(method, tau, rho, steps, duration=2.0):
    q, P = method.advance(steps, Q0, J @ W0 + rho, tau, J, rho, duration / steps, divide=False)
    end = reference(tau, rho, duration)
    return np.hypot(quaternion.angle_between(quaternion.normalize(q), end[:4]), np.linalg.norm(P - end[4:]))


@named([m for m in ALL if m.order <= 4 and m.name != "exact"])
def test_the_order_is_what_the_table_says(method):
    counts = np.array([16, 32, 64]) if method.order == 2 else np.array([8, 16, 32])
    errors = [error(method, NO_TORQUE, NO_WHEELS, n) for n in counts]
    assert np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(-method.order, abs=0.05)


@named([m for m in WITH_WHEELS if m.order <= 4 and m.name != "exact"])
def test_the_order_holds_under_torque_and_with_wheels(method):
    counts = np.array([32, 64, 128]) if method.order == 2 else np.array([16, 32, 64])
    errors = [error(method, TORQUE, WHEELS, n) for n in counts]
    assert np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(-method.order, abs=0.05)


def test_the_exact_method_is_exact_without_torque_in_one_step():
    assert error(attitude_method("exact"), NO_TORQUE, NO_WHEELS, 1, duration=20.0) < 1e-11  # three turns


@pytest.mark.parametrize(("name", "steps"), [("taylor", 4), ("exact", 4), ("taylor10", 32)])
def test_wheels_and_torque_by_taylor_series_are_exact_to_round_off(name, steps):
    assert error(attitude_method(name), TORQUE, WHEELS, steps) < 1e-12


@named(STRUCTURED)
def test_a_free_body_keeps_what_the_table_says(method):
    P0 = J @ W0
    h = min(0.1, LONGEST.get(method.name, 0.1))
    q, P = method.advance(2000, Q0, P0, NO_TORQUE, J, NO_WHEELS, h, divide=False)
    w = np.linalg.solve(J, P)
    start, end = quaternion.rotate(Q0, P0), quaternion.rotate(quaternion.normalize(q), P)
    assert np.linalg.norm(end - start) / np.linalg.norm(start) < 2e-13
    assert abs(w @ P / (W0 @ P0) - 1) < 2e-13


@named([m for m in ALL if not m.conserves])
def test_a_method_that_claims_no_conservation_has_none(method):
    q, P = method.advance(200, Q0, J @ W0, NO_TORQUE, J, NO_WHEELS, 0.5, divide=False)
    w = np.linalg.solve(J, P)
    assert abs(w @ P / (W0 @ (J @ W0)) - 1) > 1e-6


@named(STRUCTURED)
def test_a_step_back_returns_to_the_start(method):
    rho, h = (WHEELS if method.wheels else NO_WHEELS), min(0.3, 0.5 * LONGEST.get(method.name, 0.6))
    q, P = method.step(Q0, J @ W0 + rho, TORQUE, J, rho, h)
    q, P = method.step(q, P, TORQUE, J, rho, -h)
    np.testing.assert_allclose(q, Q0, atol=3e-15)
    np.testing.assert_allclose(P, J @ W0 + rho, atol=6e-15)


@named(ALL)
@pytest.mark.parametrize("divide", [False, True], ids=["whole", "divided"])
def test_the_jacobians_are_the_derivatives_of_the_step(method, divide):
    rho, h = (WHEELS if method.wheels else NO_WHEELS), (1.4 if divide else 0.3)
    P0 = J @ W0 + rho
    q1, P1, F, G = method.jacobian(divide)(Q0, P0, TORQUE, J, rho, h)

    def moved(d, tau):
        q, P = method.advance(1, quaternion.mul(Q0, quaternion.exp(d[:3])), P0 + d[3:], TORQUE + tau, J, rho, h, divide)
        return np.concatenate([quaternion.log(quaternion.mul(quaternion.conj(q1), q)), P - P1])

    e, zero = 1e-5, np.zeros(6)
    F_numeric = np.stack([(moved(d, 0) - moved(-d, 0)) / (2 * e) for d in np.eye(6) * e], -1)
    G_numeric = np.stack([(moved(zero, d) - moved(zero, -d)) / (2 * e) for d in np.eye(3) * e], -1)
    np.testing.assert_allclose(F, F_numeric, atol=1e-8)
    np.testing.assert_allclose(G, G_numeric, atol=1e-8)


@named(ALL)
def test_the_free_step_is_symplectic_if_the_table_says_so(method):
    def omega(P):
        S = np.array([[0, -P[2], P[1]], [P[2], 0, -P[0]], [-P[1], P[0], 0]])
        return np.block([[-S, np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])

    P0 = J @ W0
    _, P1, F, _ = method.step_jacobian(Q0, P0, NO_TORQUE, J, NO_WHEELS, min(0.4, LONGEST.get(method.name, 0.4)))
    defect = np.abs(F.T @ omega(P1) @ F - omega(P0)).max()
    assert defect < 3e-14 if method.symplectic else defect > 1e-7


@named(ALL)
def test_a_trial_has_the_same_bits_alone_and_in_a_batch_whatever_its_neighbours_need(method):
    rng = np.random.default_rng(1)
    P = rng.normal(size=(7, 3)) * np.array([0.1, 1, 3, 0.5, 8, 0.2, 2])[:, None]
    q = quaternion.normalize(rng.normal(size=(7, 4)))
    together = method.advance(2, q, P, TORQUE, J, NO_WHEELS, 0.9)
    for k in range(7):
        alone = method.advance(2, q[k], P[k], TORQUE, J, NO_WHEELS, 0.9)
        assert all(np.array_equal(a, b[k]) for a, b in zip(alone, together, strict=True))
    assert np.isfinite(together[0]).all()


def test_every_line_of_the_table_says_where_it_comes_from():
    assert all(m.source and m.group in GROUPS for m in METHODS.values())


def test_an_unknown_method_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match="method: 'rk5' is no attitude method; there are vi2, vi4"):
        attitude_method("rk5")
    with pytest.raises(InputError, match="'dqvi4' is no attitude method"):
        attitude_method("dqvi4")
