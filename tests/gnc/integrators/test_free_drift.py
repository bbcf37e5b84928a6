"""The exact free drift against other solutions, in the cases that are special, and the steps made of it."""

from typing import Any

import numpy as np
import pytest

from gnc import quaternion
from gnc.batch import tangent
from gnc.integrators import free_drift, qvi
from gnc.integrators.free_drift import NODES, REACHES, kernels
from gnc.integrators.principal import principal
from tests.gnc.integrators.free_body import (
    MANY,
    attitude_error,
    flow,
    flow_jacobian,
    jacobi,
    momentum_error,
)
from tests.gnc.integrators.gyrostat import (
    NONE,
    PAPER_J,
    PAPER_W0,
    Q0,
    RHO,
    TAU,
    W0,
    J,
    error,
    exact,
    finite_difference,
    order,
    random_bodies,
    random_directions,
    symplectic_form,
)

MOMENTS = np.array([1.0, 2.0, 2.7])
SEPARATRIX = np.sqrt((1 / 2 - 1 / 2.7) / (1 - 1 / 2))  # P1/P3 on it

# Moments, momentum and time; what each is called is what makes it special.
SPECIAL: dict[str, tuple[Any, Any, float]] = {
    "separatrix": (MOMENTS, [0.7 * SEPARATRIX, 0.6, -0.7], 4.0),
    "separatrix, towards the axis": (MOMENTS, [0.7 * SEPARATRIX, 0.6, 0.7], 12.0),
    "a hair above the separatrix": (MOMENTS, [0.7 * SEPARATRIX * (1 + 1e-12), 0.6, -0.7], 12.0),
    "a hair below the separatrix": (MOMENTS, [0.7 * SEPARATRIX * (1 - 1e-12), 0.6, -0.7], 12.0),
    "minor axis": (MOMENTS, [1.3, 0.0, 0.0], 2.0),
    "intermediate axis": (MOMENTS, [0.0, -1.3, 0.0], 2.0),
    "major axis": (MOMENTS, [0.0, 0.0, -1.3], 2.0),
    "near the intermediate axis": (MOMENTS, [1e-9, 1.3, 1e-10], 4.0),
    "oblate": ([2.0, 2.0, 3.0], [0.5, 0.6, -0.7], 3.0),
    "prolate": ([1.0, 2.0, 2.0], [0.5, -0.6, 0.7], 3.0),
    "oblate, spinning across": ([2.0, 2.0, 3.0], [0.5, 0.6, 0.0], 3.0),
    "prolate, spinning across": ([1.0, 2.0, 2.0], [0.0, 0.6, 0.7], 3.0),
    "nearly oblate": ([2.0, 2.0 * (1 + 1e-12), 3.0], [0.5, 0.6, 0.7], 3.0),
    "nearly prolate": ([1.0, 2.0, 2.0 * (1 + 1e-9)], [0.5, 0.6, 0.7], 3.0),
    "spherical": ([2.0, 2.0, 2.0], [0.5, 0.6, -0.7], 3.0),
    "nearly spherical": ([2.0, 2.0 + 1e-9, 2.0 + 3e-9], [0.5, 0.6, 0.7], 3.0),
    "needle": ([0.001, 1.0, 1.0005], [0.01, 0.6, 0.7], 0.05),
    "backward": (MOMENTS, [0.5, -0.6, 0.9], -3.0),
    "no time": (MOMENTS, [0.5, -0.6, 0.9], 0.0),
    "at rest": (MOMENTS, [0.0, 0.0, 0.0], 3.0),
}
PAPER_P0 = PAPER_J @ PAPER_W0


def rotated(moments, P, seed):
    """Return the same body in axes that are not principal."""
    R = quaternion.to_matrix(random_directions(np.random.default_rng(seed), 1, 4)[0])
    return R @ np.diag(moments) @ R.T, R @ P


# Accuracy


@pytest.mark.parametrize("P", [[0.5, -1.1, 1.6], [-0.3, 0.5, -1.6], [1.5, -0.6, 0.5], [-1.5, 0.6, 0.2]])
@pytest.mark.parametrize("h", [0.3, 3.0, -8.0, 20.0])
def test_the_motion_is_that_of_jacobis_elliptic_functions_on_both_sides_of_the_separatrix(P, h):
    q_1, P_1 = jacobi(Q0, P, [1.0, 2.0, 3.0], h)
    q, P = free_drift.drift(Q0, np.array(P), PAPER_J, NONE, h)
    np.testing.assert_allclose(P, P_1, atol=1e-13)
    assert quaternion.angle_between(q, quaternion.normalize(q_1)) < 1e-13


@pytest.mark.parametrize("case", SPECIAL)
def test_no_case_is_special(case):
    moments, P, h = SPECIAL[case]
    q_1, P_1 = flow(Q0 / np.linalg.norm(Q0), P, np.diag(moments), h)
    q, P = free_drift.drift(Q0 / np.linalg.norm(Q0), P, np.diag(moments), NONE, h)
    assert attitude_error(q, q_1) < 8e-15
    assert momentum_error(P, P_1) < 4e-15


@pytest.mark.jit
@pytest.mark.parametrize("steps, angle_deg, bound", [(200, 39, 1e-12), (20, 170, 1e-13), (1, 720, 8e-15)])
def test_errors_of_many_short_and_of_few_long_steps(steps, angle_deg, bound):
    h = np.radians(angle_deg) / np.linalg.norm(PAPER_W0)
    q_1, P_1 = jacobi(np.array([1.0, 0.0, 0.0, 0.0]), PAPER_P0, [1.0, 2.0, 3.0], steps * h, MANY)
    q, P = np.array([1.0, 0.0, 0.0, 0.0]), PAPER_P0
    for _ in range(steps):
        q, P = free_drift.drift(q, P, PAPER_J, NONE, h)
    assert attitude_error(q, q_1) < bound
    assert momentum_error(P, P_1) < bound


@pytest.mark.parametrize("angle", [0.5, 0.99, 1.01, 3.0, 30.0, 100.0])
def test_there_is_no_limit_to_a_step(angle):
    h = angle / np.linalg.norm(W0)
    q_1, P_1 = exact(Q0, W0, J, lambda t: NONE, lambda t: NONE, h)
    q, P = free_drift.drift(Q0, J @ W0, J, NONE, h)
    assert error((q, P), (q_1 / np.linalg.norm(q_1), P_1)) < 3e-12  # of DOP853


def test_a_symmetric_body_precesses_steadily():
    """Body rate L/J1 along the momentum, and (1 - J3/J1) w3 along the axis of symmetry."""
    moments, P, h = np.array([1.5, 1.5, 2.2]), np.array([0.4, -0.8, 1.1]), 7.0
    L_I, spin = quaternion.rotate(Q0, P) / (Q0 @ Q0), (1 / 2.2 - 1 / 1.5) * P[2]
    q_1 = quaternion.mul(quaternion.exp(h * L_I / 1.5), quaternion.mul(Q0, quaternion.exp([0, 0, h * spin])))
    for A in (np.eye(3), quaternion.to_matrix(np.array([0.1, 0.7, -0.5, 0.5]))):
        q_A = quaternion.from_matrix(A)
        q, P_1 = free_drift.drift(quaternion.mul(Q0, quaternion.conj(q_A)), A @ P, A @ np.diag(moments) @ A.T, NONE, h)
        assert quaternion.angle_between(quaternion.mul(q, q_A), q_1) < 4e-15
        np.testing.assert_allclose(P_1, quaternion.inverse_rotate(q, L_I), atol=4e-15)


def test_axes_that_are_not_principal_make_no_difference():
    for seed in range(20):
        J_B, P_B = rotated(MOMENTS, [0.5, -0.6, 0.9], seed)
        q, P = free_drift.drift(Q0, P_B, J_B, NONE, 5.0)
        truth = exact(Q0, np.linalg.solve(J_B, P_B), J_B, lambda t: NONE, lambda t: NONE, 5.0)
        assert error((q, P), truth) < 1e-12


@pytest.mark.jit
@pytest.mark.parametrize("group", range(len(REACHES)))
def test_a_group_has_nodes_enough(group):
    rng = np.random.default_rng(group)
    moments, _ = principal(random_bodies(rng, 4000, least=1e-3))
    n = random_directions(rng, 4000)
    first, second, third = 1 / moments[::2].T
    n[::2, 0] = n[::2, 2] * np.sqrt((second - third) / (first - second))
    h = REACHES[group] / np.sqrt(np.sum(n * n / moments, -1) / moments[:, 0])
    few, many = (kernels(nodes)[1](Q0, n, moments, np.eye(3), h) for nodes in (NODES[group], 2 * NODES[group]))
    assert np.max(np.abs(few[0] - many[0])) < 4e-15
    size = np.max(np.abs(many[2]), axis=(1, 2), keepdims=True)
    assert np.max(np.abs(few[2] - many[2]) / size) < 1e-13


# Conservation


@pytest.mark.jit
@pytest.mark.parametrize("seed, L_bound, E_bound", [(None, 3e-13, 4e-13), (1, 1e-12, 2e-12), (2, 1e-12, 2e-12)])
def test_momentum_and_energy_stay_for_a_hundred_thousand_steps(seed, L_bound, E_bound):
    """Other axes than the principal ones cost a few digits of round-off."""
    J_B, P_0 = (PAPER_J, PAPER_P0) if seed is None else rotated([1.0, 2.0, 3.0], PAPER_P0, seed)
    q_0 = np.array([1.0, 0.0, 0.0, 0.0])
    q, P = kernels(8)[0].repeat(100_000, q_0, P_0, *principal(J_B), 0.2)
    # In other than principal axes the round-off of the axes adds to that of the steps.
    bound = 5e-13 if seed is None else 3e-12
    assert np.linalg.norm(quaternion.rotate(q, P) - P_0) / np.linalg.norm(P_0) < bound
    assert abs(P @ np.linalg.solve(J_B, P) / (P_0 @ np.linalg.solve(J_B, P_0)) - 1) < bound
    assert abs(q @ q - 1) < 1e-15


@pytest.mark.jit
def test_time_reversed_leads_back_to_the_start():
    rng = np.random.default_rng(4)
    J_B, q_0, P_0 = random_bodies(rng, 200), random_directions(rng, 200, 4), random_directions(rng, 200)
    q, P = free_drift.drift(q_0, P_0, J_B, NONE, 0.7)
    q, P = free_drift.drift(q, P, J_B, NONE, -0.7)
    np.testing.assert_allclose(q, q_0, atol=3e-14)
    np.testing.assert_allclose(P, P_0, atol=3e-14)


# The Jacobian


@pytest.mark.parametrize(
    "case", ["separatrix", "intermediate axis", "nearly oblate", "spherical", "at rest", "backward"]
)
def test_the_jacobian_is_exact_in_special_cases(case):
    moments, P, h = SPECIAL[case]
    F = free_drift.drift_jacobian(Q0, P, np.diag(moments), NONE, h)[2]
    F_0, _ = flow_jacobian(Q0, P, np.diag(moments), h)
    assert np.max(np.abs(F - F_0)) < 5e-15 * np.max(np.abs(F_0))


@pytest.mark.parametrize("h", [0.2, 2.0, 5.0, -9.0, 30.0])
def test_the_jacobian_is_the_derivative_in_every_group(h):
    F = free_drift.drift_jacobian(Q0, J @ W0, J, NONE, h)[2]
    F_0, _ = finite_difference(lambda q, P, tau, *rest: free_drift.drift(q, P, *rest), Q0, J @ W0, NONE, J, NONE, h)
    np.testing.assert_allclose(F, F_0, atol=1e-8)


@pytest.mark.jit
def test_the_jacobian_is_symplectic_in_every_group():
    rng = np.random.default_rng(5)
    J_B, q_0, P_0 = random_bodies(rng, 500), random_directions(rng, 500, 4), random_directions(rng, 500)
    for angle in (0.1, *(0.9 * reach for reach in REACHES), 25.0):
        w = np.linalg.solve(J_B, P_0[..., None])[..., 0]
        h = angle / np.sqrt(np.sum(w * P_0, -1) / np.linalg.eigvalsh(J_B)[:, 0])
        _, P_1, F = free_drift.drift_jacobian(q_0, P_0, J_B, NONE, h)
        defect = np.swapaxes(F, 1, 2) @ symplectic_form(P_1) @ F - symplectic_form(P_0)
        assert np.max(np.abs(defect) / np.max(np.abs(F), axis=(1, 2), keepdims=True) ** 2) < 2e-14


@pytest.mark.parametrize("rate", [1e-3, 1e-8, 1e-13, 1e-100, 1e-200, 0.0])
def test_the_jacobian_of_a_slow_body_has_all_its_digits(rate):
    """B, which tells how uncertain rates become uncertain attitudes, is h J^-1 and terms of the size of |w| h."""
    P, h, K = rate * (J @ W0), 2.0, np.linalg.inv(J)
    B = free_drift.drift_jacobian(Q0, P, J, NONE, h)[2][:3, 3:]
    w, p = (np.cross(np.eye(3), x) for x in (K @ P, P))  # cross-product matrices
    series = h * K + h * h / 2 * (K @ (p @ K - w) - w @ K)
    np.testing.assert_allclose(B, series, rtol=0, atol=(rate * h) ** 2 + 4e-15)


@pytest.mark.jit
@pytest.mark.parametrize("which", [0, 1], ids=["drift", "drift_jacobian"])
def test_at_rest_motion_and_jacobian_have_the_derivatives_of_motions_nearby(which):
    """Against central differences of bodies that move, whose error is of second order: 1e-10 of the size."""
    kernel, h, eps = kernels(NODES[0])[which], 0.7, 1e-5
    moments, axes = (x[0] for x in principal(J[None]))
    for dP in np.eye(3):
        twin = tangent(kernel, ["P_B"])
        given = {
            "q_IB": Q0,
            "d_q_IB": np.zeros(4),
            "P_B": np.zeros(3),
            "moments": moments,
            "axes": axes,
            "h": h,
            "d_P_B": dP,
        }
        made = twin(*[given[name] for name in twin.layout.names])
        ends = [kernel(Q0, sign * eps * dP, moments, axes, h) for sign in (1.0, -1.0)]
        for slope, up, down in zip(made[len(made) // 2 :], *ends, strict=True):
            np.testing.assert_allclose(slope, (up - down) / (2.0 * eps), rtol=0, atol=1e-9)
            assert np.abs(slope).max() > 0.1 * h


# Torque


@pytest.mark.jit
def test_kick_drift_kick_is_of_second_order_and_its_error_proportional_to_the_torque():
    T, steps = 6.0, np.array([20, 40, 80])
    errors = {}
    for scale in (1.0, 0.1):
        truth = exact(Q0, W0, J, lambda t, scale=scale: scale * TAU, lambda t: NONE, T)
        errors[scale] = [error(flown(free_drift.kick_drift_kick, n, scale * TAU, T), truth) for n in steps]
        assert order(steps, errors[scale]) == pytest.approx(2, abs=0.05)
    assert errors[1.0][0] / errors[0.1][0] == pytest.approx(10, rel=0.5)


@pytest.mark.jit
def test_the_step_is_of_fourth_order_in_a_small_torque_and_of_second_in_its_square():
    T, steps = 6.0, np.array([12, 16, 20])
    truth = exact(Q0, W0, J, lambda t: 1e-4 * TAU, lambda t: NONE, T)
    errors = [error(flown(free_drift.step, n, 1e-4 * TAU, T), truth) for n in steps]
    assert order(steps, errors) == pytest.approx(4, abs=0.05)
    fine = np.array([80, 160, 320])
    truth = exact(Q0, W0, J, lambda t: 10 * TAU, lambda t: NONE, T)
    errors = [error(flown(free_drift.step, n, 10 * TAU, T), truth) for n in fine]
    assert order(fine, errors) == pytest.approx(2, abs=0.05)


def flown(step, n, tau_B, T, q_0=Q0, P_0=None, J=J):
    """Return the state after n steps."""
    q, P = q_0, J @ W0 if P_0 is None else P_0
    for _ in range(n):
        q, P = step(q, P, tau_B, J, NONE, T / n)
    return q, P


@pytest.mark.jit
def test_a_small_torque_costs_thousands_of_times_less_accuracy_than_suzukis_steps_of_qvi():
    """|w| h = 0.68, and 2.96 where the others have no solution."""
    T, tau_B = 60.0, np.array([1e-3, -2e-3, 1e-3])
    truth = exact(Q0, PAPER_W0, PAPER_J, lambda t: tau_B, lambda t: NONE, T)
    short, long = (flown(free_drift.step, n, tau_B, T, P_0=PAPER_P0, J=PAPER_J) for n in (100, 23))
    suzuki = qvi.step4.repeat(100, Q0, PAPER_P0, tau_B, PAPER_J, NONE, T / 100)
    assert error(suzuki, truth) > 5e3 * error(short, truth)
    assert quaternion.angle_between(short[0], truth[0]) < 1e-5
    assert quaternion.angle_between(long[0], truth[0]) < 3e-3
    assert np.all(np.isnan(qvi.step(Q0, PAPER_P0, tau_B, PAPER_J, NONE, T / 23)[1]))


@pytest.mark.jit
@pytest.mark.parametrize("rho", [NONE, RHO], ids=["free", "wheels"])
@pytest.mark.parametrize("h", [0.4, 4.0])
def test_the_jacobians_of_a_step_are_its_derivatives(rho, h):
    step, with_jacobian = free_drift.step, free_drift.step_jacobian
    P = J @ W0 + rho
    q_1, P_1, F, G = with_jacobian(Q0, P, TAU, J, rho, h)
    for x, y in zip(step(Q0, P, TAU, J, rho, h), (q_1, P_1), strict=True):
        np.testing.assert_array_equal(x, y)
    F_0, G_0 = finite_difference(step, Q0, P, TAU, J, rho, h)
    np.testing.assert_allclose(F, F_0, atol=1e-8)
    np.testing.assert_allclose(G, G_0, atol=2e-8)


@pytest.mark.parametrize("h", [0.2, 1.0, 9.0])
def test_wheels_are_exact_too(h):
    q_1, P_1 = exact(Q0, W0, J, lambda t: TAU, lambda t: RHO, h)
    q, P = free_drift.step(Q0, J @ W0 + RHO, TAU, J, RHO, h)
    assert error((q, P), (q_1 / np.linalg.norm(q_1), P_1)) < 3e-12


# Trials


def mixed_trials(n=60, longest=30.0):
    """Return trials of all groups: short and long steps, divided ones, wheels, three lost ones."""
    rng = np.random.default_rng(6)
    J_B, q_0, P_0 = random_bodies(rng, n), random_directions(rng, n, 4), random_directions(rng, n)
    rho = np.where(np.arange(n)[:, None] % 4 == 0, 0.3 * random_directions(rng, n), 0.0)
    h = 10 ** rng.uniform(-2, np.log10(longest), n)
    P_0[7], h[11], rho[12, 1] = np.nan, 1e9, np.inf
    return q_0, P_0, 0.1 * random_directions(rng, n), J_B, rho, h


@pytest.mark.jit
@pytest.mark.parametrize("name, longest", [("drift_jacobian", 30.0), ("step", 3.0)])
def test_a_trial_has_the_same_bits_alone_and_among_others(name, longest):
    q_0, P_0, tau, J_B, rho, h = mixed_trials(longest=longest)
    move = getattr(free_drift, name)
    torque = () if name.startswith("drift") else (tau,)
    together = move(q_0, P_0, *torque, J_B, rho, h)
    for k in range(len(h)):
        alone = move(q_0[k], P_0[k], *(x[k] for x in torque), J_B[k], rho[k], h[k])
        for x, y in zip(alone, together, strict=True):
            np.testing.assert_array_equal(x, y[k])


@pytest.mark.jit
def test_a_lost_trial_marks_only_itself():
    q_0, P_0, _, J_B, rho, h = mixed_trials()
    q, P = free_drift.drift(q_0, P_0, J_B, rho, h)
    lost = np.isnan(q).any(-1)
    np.testing.assert_array_equal(np.flatnonzero(lost), [7, 11, 12])
    np.testing.assert_array_equal(np.isnan(P).all(-1), lost)


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3)])
def test_leading_axes_broadcast(shape):
    h = np.linspace(0.1, 3.0, int(np.prod(shape, dtype=int))).reshape(shape)
    q, P, F, G = free_drift.step_jacobian(Q0, J @ W0, TAU, J, NONE, h)
    assert (q.shape, P.shape, F.shape, G.shape) == ((*shape, 4), (*shape, 3), (*shape, 6, 6), (*shape, 6, 3))
