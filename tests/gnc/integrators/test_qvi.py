"""QVI in momentum form: order, structure, conservation, Jacobians, and its step limit."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnc import quaternion
from gnc.batch import batched
from gnc.integrators import qvi
from gnc.integrators.qvi import increment, leading_momentum, leading_slope
from gnc.linalg import array, cross, skew, solve3
from tests.gnc.integrators.gyrostat import (
    CASES,
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
    forward_mode,
    order,
    path,
    random_bodies,
    random_directions,
    random_trials,
    symplectic_form,
)

METHODS = pytest.mark.parametrize("n", [2, 4])
STEP = {2: qvi.step, 4: qvi.step4}
STEP_JACOBIAN = {2: qvi.step_jacobian, 4: qvi.step4_jacobian}
DRIFT_JACOBIAN = {2: qvi.drift_jacobian, 4: qvi.drift4_jacobian}


# Accuracy


@pytest.mark.jit
@METHODS
@pytest.mark.parametrize("case", CASES)
def test_the_order_is_two_and_that_of_the_composition_four(n, case):
    tau_B, rho_B = CASES[case]
    T, truth = 4.0, exact(Q0, W0, J, lambda t: tau_B, lambda t: rho_B, 4.0)
    steps = np.array([40, 80, 160, 320]) if n == 2 else np.array([24, 36, 54, 81])
    ends = [STEP[n].repeat(k, Q0, J @ W0 + rho_B, tau_B, J, rho_B, T / k) for k in steps]
    assert order(steps, [error(x, truth) for x in ends]) == pytest.approx(n, abs=0.05)


@pytest.mark.jit
def test_wheels_that_change_need_their_momentum_at_the_middle_of_the_interval():
    def rho(t):
        return RHO + np.array([0.3, 0.2, -0.4]) * t - np.array([0.1, -0.05, 0.05]) * t**2

    T, steps = 2.0, np.array([80, 160, 320, 640])
    truth = exact(Q0, W0, J, lambda t: NONE, rho, T)

    def end(k, where):
        q_IB, P_B = Q0, J @ W0 + rho(0.0)
        for i in range(k):
            q_IB, P_B = qvi.drift(q_IB, P_B, J, rho((i + where) * T / k), T / k)
        return q_IB, P_B

    assert order(steps, [error(end(k, 0.5), truth) for k in steps]) == pytest.approx(2.0, abs=0.05)
    assert order(steps, [error(end(k, 0.0), truth) for k in steps]) == pytest.approx(1.0, abs=0.05)


@pytest.mark.jit
def test_the_phase_error_of_second_order_is_as_large_as_the_specification_says():
    """At h = 0.2 s up to 9.3 deg within 20 s (8.7 deg at the end), and up to 106 deg within 200 s; of step4 0.2 deg."""
    times = 0.2 * np.arange(1, 1001)
    truth = path(np.array([1.0, 0, 0, 0]), PAPER_W0, PAPER_J, times)
    q_IB, P_B, turned = np.array([1.0, 0, 0, 0]), PAPER_J @ PAPER_W0, []
    for _ in times:
        q_IB, P_B = qvi.drift(q_IB, P_B, PAPER_J, NONE, 0.2)
        turned.append(q_IB)
    degrees = np.degrees(quaternion.angle_between(np.array(turned), truth))
    assert np.max(degrees[:100]) == pytest.approx(9.3, abs=0.05) and degrees[99] == pytest.approx(8.7, abs=0.05)
    assert np.max(degrees) == pytest.approx(106.0, abs=0.5)
    fourth, _ = qvi.drift4.repeat(50, np.array([1.0, 0, 0, 0]), PAPER_J @ PAPER_W0, PAPER_J, NONE, 0.4)
    assert np.degrees(quaternion.angle_between(fourth, truth[99])) == pytest.approx(0.20, abs=0.005)


def test_a_principal_spin_turns_by_the_arc_sine_of_its_angle():
    angles = np.array([1e-9, 0.1, 0.5, 0.9, 0.99])
    f, _ = qvi.drift(np.array([1.0, 0, 0, 0]), angles[:, None] * [0.0, 2.0, 0.0], PAPER_J, NONE, 1.0)
    assert 2.0 * np.arctan2(f[:, 2], f[:, 0]) == pytest.approx(np.arcsin(angles), rel=1e-11)


def test_a_step_of_no_length_changes_nothing():
    q_IB, P_B, F, G = qvi.step_jacobian(Q0, J @ W0 + RHO, TAU, J, RHO, 0.0)
    assert np.array_equal(q_IB, Q0) and np.array_equal(P_B, J @ W0 + RHO)
    assert np.array_equal(F, np.eye(6)) and np.array_equal(G, np.zeros((6, 3)))


def test_a_body_at_rest_and_one_without_total_momentum_move_as_they_must():
    q_IB, P_B = qvi.drift(Q0, RHO, J, RHO, 0.3)
    assert np.allclose(q_IB, Q0, atol=1e-15) and np.allclose(P_B, RHO, atol=1e-15)
    q_IB, P_B = qvi.drift(Q0, NONE, J, RHO, 0.3)  # turns at the constant rate -J^-1 rho
    turned = Rotation.from_rotvec(-0.3 * np.linalg.solve(J, RHO)).as_quat(scalar_first=True)
    assert np.allclose(P_B, 0.0, atol=1e-15)
    assert quaternion.angle_between(q_IB, quaternion.mul(Q0 / np.linalg.norm(Q0), turned)) < 1e-3


# Conservation


def energy(P_B, J, rho_B):
    w_B = np.linalg.solve(J, (P_B - rho_B)[..., None])[..., 0]
    return 0.5 * np.sum(w_B * (P_B - rho_B), -1)


@METHODS
@pytest.mark.parametrize("wheels", [0.0, 0.3], ids=["rigid body", "gyrostat"])
def test_a_step_keeps_spatial_momentum_to_round_off(n, wheels):
    rng = np.random.default_rng(1)
    q_IB, P_B, _, J, rho_B = random_trials(rng, 50, wheels=wheels)
    q_1, P_1 = STEP[n](q_IB, P_B, NONE, J, rho_B, 1.0)
    L, L_1 = quaternion.rotate(q_IB, P_B), quaternion.rotate(q_1, P_1)
    assert np.max(np.linalg.norm(L_1 - L, axis=1) / np.linalg.norm(L, axis=1)) < 4e-15


@METHODS
def test_a_step_keeps_the_energy_of_a_rigid_body_to_round_off(n):
    rng = np.random.default_rng(1)
    q_IB, P_B, _, J, _ = random_trials(rng, 50, wheels=0.0)
    _, P_1 = STEP[n](q_IB, P_B, NONE, J, NONE, 1.0)
    assert np.max(np.abs(energy(P_1, J, NONE) / energy(P_B, J, NONE) - 1.0)) < 2e-14


@pytest.mark.jit
def test_the_energy_of_a_gyrostat_swings_but_does_not_drift():
    x, E = (Q0, J @ W0 + RHO), energy(J @ W0 + RHO, J, RHO)
    errors = []
    for _ in range(10_000):
        x = qvi.drift.repeat(10, *x, J, RHO, 0.2)
        errors.append(energy(x[1], J, RHO) / E - 1.0)
    early, late = np.array(errors[:1000]), np.array(errors[-1000:])
    assert np.max(np.abs(early)) > 1e-3  # exact it is not
    assert np.max(np.abs(errors)) < 1.05 * np.max(np.abs(early))
    assert abs(np.mean(late) - np.mean(early)) < 0.02 * np.ptp(early)


def worst_drift(kernel, chunks, steps):
    """Return the largest relative errors of spatial momentum and energy of QVI's free body, seen between chunks."""
    q_IB, P_B, worst = np.array([1.0, 0, 0, 0]), PAPER_J @ PAPER_W0, np.zeros(2)
    L, E = P_B, P_B @ np.linalg.solve(PAPER_J, P_B)
    for _ in range(chunks):
        q_IB, P_B = kernel.repeat(steps, q_IB, P_B, PAPER_J, NONE, 0.2)
        momentum = np.linalg.norm(quaternion.rotate(q_IB, P_B) - L) / np.linalg.norm(L)
        worst = np.maximum(worst, [momentum, abs(P_B @ np.linalg.solve(PAPER_J, P_B) / E - 1.0)])
    return worst


@pytest.mark.jit
def test_momentum_and_energy_stay_to_round_off_over_a_million_steps():
    momentum, energy = worst_drift(qvi.drift, 1000, 1000)
    assert momentum < 4e-13 and energy < 9e-13  # twice the 2.0e-13 and 4.4e-13 of the specification


@batched("(4),(3),(3,3),(3),()->(4),(3)")
def drift_as_printed(q_IB, P_B, J, rho_B, h):
    """Solve g(phi) = (h/2) P for the increment and return (2/h) times the trailing form: QVI eqs. (36) to (38)."""
    phi = (0.5 * h) * solve3(J, P_B)
    for _ in range(4):
        s, u = np.sqrt(1.0 - phi @ phi), J @ phi
        K = s * J - np.outer(u, phi) / s + skew(phi) @ J - skew(u)
        phi = phi - solve3(K, s * u + cross(phi, u) - (0.5 * h) * P_B)
    s, u = np.sqrt(1.0 - phi @ phi), J @ phi
    return quaternion.mul(q_IB, array([s, *phi])), (2.0 / h) * (s * u - cross(phi, u))


@pytest.mark.jit
def test_the_momentum_drifts_less_by_its_change():
    """As printed, h/2 and 2/h, which do not multiply to 1, leave their rounding in each step: 5.3e-11 in a million."""
    by_change, as_printed = worst_drift(qvi.drift, 100, 1000), worst_drift(drift_as_printed, 100, 1000)
    assert np.all(as_printed > 50.0 * by_change)


@METHODS
def test_a_step_back_recovers_the_start(n):
    rng = np.random.default_rng(2)
    q_IB, P_B, tau_B, J, rho_B = random_trials(rng, 30, angle=0.5)
    there = STEP[n](q_IB, P_B, tau_B, J, rho_B, 1.0)
    back = STEP[n](*there, tau_B, J, rho_B, -1.0)
    assert np.max(np.abs(back[0] - q_IB)) < 5e-15 and np.max(np.abs(back[1] - P_B)) < 5e-15


@pytest.mark.jit
@pytest.mark.parametrize("rotor", [0.35, -0.35, 0.25, -0.25, 0.0])
def test_a_spin_about_the_middle_axis_is_stable_exactly_if_the_rotor_makes_it_so(rotor):
    """The criterion: ((J2 - J1) w + rho)((J2 - J3) w + rho) > 0, here |rho| > 0.3."""
    w, rho_B = 0.3, np.array([0.0, rotor, 0.0])
    J1, J2, J3 = np.diag(PAPER_J)
    P_B = PAPER_J @ [1e-6, w, 1e-6] + rho_B
    q_IB, worst = np.array([1.0, 0, 0, 0]), 0.0
    for _ in range(300):
        q_IB, P_B = qvi.drift.repeat(10, q_IB, P_B, PAPER_J, rho_B, 0.2)
        worst = max(worst, np.hypot(P_B[0], P_B[2]))
    stable = ((J2 - J1) * w + rotor) * ((J2 - J3) * w + rotor) > 0.0
    assert worst < 2e-5 if stable else worst > 0.1


# Jacobians


@METHODS
@pytest.mark.parametrize("case", CASES)
def test_F_and_G_meet_finite_differences(n, case):
    tau_B, rho_B = CASES[case]
    args = Q0 / np.linalg.norm(Q0), J @ W0 + rho_B, tau_B, J, rho_B, 0.4
    _, _, F, G = STEP_JACOBIAN[n](*args)
    F_fd, G_fd = finite_difference(STEP[n], *args)
    assert np.max(np.abs(F - F_fd)) < 1e-8 and np.max(np.abs(G - G_fd)) < 1e-8


def test_F_and_G_meet_forward_mode():
    rng = np.random.default_rng(3)
    args = (*random_trials(rng, 20, angle=0.5), np.array([1.0, -1.0] * 10))
    q_1, _, F, G = qvi.step_jacobian(*args)
    F_ad, G_ad = forward_mode(qvi.step)(q_1, *args)
    assert np.max(np.abs(F - F_ad)) < 1e-13 and np.max(np.abs(G - G_ad)) < 1e-13


@METHODS
def test_the_kernels_with_Jacobian_take_the_same_step(n):
    rng = np.random.default_rng(4)
    args = (*random_trials(rng, 20), 1.0)
    for a, b in zip(STEP[n](*args), STEP_JACOBIAN[n](*args), strict=False):
        assert np.array_equal(a, b)


@METHODS
@pytest.mark.parametrize("wheels", [0.0, 0.3], ids=["rigid body", "gyrostat"])
def test_the_drift_is_symplectic(n, wheels):
    rng = np.random.default_rng(5)
    q_IB, P_B, _, J, rho_B = random_trials(rng, 40, angle=0.5, wheels=wheels)
    _, P_1, F = DRIFT_JACOBIAN[n](q_IB, P_B, J, rho_B, 1.0)
    assert np.max(np.abs(F.mT @ symplectic_form(P_1) @ F - symplectic_form(P_B))) < 1e-14


def test_between_its_kicks_a_forced_step_is_symplectic():
    rng = np.random.default_rng(6)
    q_IB, P_B, tau_B, J, rho_B = random_trials(rng, 50)
    _, P_1, F, _ = qvi.step_jacobian(q_IB, P_B, tau_B, J, rho_B, 1.0)
    before, after = symplectic_form(P_B + 0.5 * tau_B), symplectic_form(P_1 - 0.5 * tau_B)
    assert np.max(np.abs(F.mT @ after @ F - before)) < 1e-14


# The solution of the balance, and where it ends


@pytest.mark.jit
@pytest.mark.parametrize("least", [0.05, 0.0005], ids=["bodies", "needles and plates"])
@pytest.mark.parametrize("part_of_wheels", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("angle", [0.1, 0.4, 0.9])
def test_newton_reaches_round_off_up_to_0_9_rad(least, part_of_wheels, angle):
    rng = np.random.default_rng(7)
    n = 5000
    J = random_bodies(rng, n, least)
    rho_B = part_of_wheels * angle * random_directions(rng, n) * np.linalg.eigvalsh(J)[:, :1]
    w_B = (1.0 - part_of_wheels) * angle * random_directions(rng, n)
    P_B = np.einsum("nij,nj->ni", J, w_B) + rho_B
    balance = leading_momentum(increment(P_B, J, rho_B, 1.0), J, rho_B, 1.0) - P_B
    size = np.linalg.norm(P_B, axis=-1) + np.linalg.norm(rho_B, axis=-1)
    assert np.max(np.linalg.norm(balance, axis=-1) / size) < 1e-14


@pytest.mark.jit
@pytest.mark.parametrize("part_of_wheels", [0.0, 0.02, 0.3])
def test_there_is_a_solution_up_to_0_99_rad_wheels_included(part_of_wheels):
    rng = np.random.default_rng(8)
    J = random_bodies(rng, 5000)
    rho_B = 0.99 * part_of_wheels * random_directions(rng, 5000) * np.linalg.eigvalsh(J)[:, :1]
    w_B = 0.99 * (1.0 - part_of_wheels) * random_directions(rng, 5000)
    P_B = np.einsum("nij,nj->ni", J, w_B) + rho_B
    assert np.all(np.isfinite(increment(P_B, J, rho_B, 1.0)))


@pytest.mark.parametrize("h", [0.25, -0.25])
def test_a_step_too_long_marks_only_its_own_trial(h):
    angles = np.array([0.5, 0.99, 1.01, 3.0])
    w_B = angles[:, None] / abs(h) * [0.0, 0.0, 1.0]  # for other axes there may be solutions a little beyond 1 rad
    args = Q0, w_B @ PAPER_J, TAU * 0.0, PAPER_J, NONE, h
    for kernel in (qvi.step, qvi.step_jacobian):
        results = kernel(*args)
        for result in results:
            assert np.all(np.isfinite(result[:2]))
        for result in results[:2]:
            assert np.all(np.isnan(result[2:]))
        for i in range(2):
            alone = kernel(Q0, w_B[i] @ PAPER_J, TAU * 0.0, PAPER_J, NONE, h)
            assert all(np.array_equal(a, b[i]) for a, b in zip(alone, results, strict=True))


def test_a_lost_trial_stays_lost_and_has_no_jacobian():
    q_IB, P_B, F, G = qvi.step_jacobian(Q0, PAPER_J @ [0.0, 0.0, 2.0], TAU, PAPER_J, NONE, 1.0)
    assert np.all(np.isnan(q_IB)) and np.all(np.isnan(P_B)) and np.all(np.isnan(F[:3])) and np.all(np.isnan(G[:3]))
    assert all(np.all(np.isnan(x)) for x in qvi.step(q_IB, P_B, TAU, PAPER_J, NONE, 0.01))
    assert all(np.all(np.isnan(x)) for x in qvi.step(Q0, np.full(3, math.inf), TAU, PAPER_J, NONE, 0.01))


@pytest.mark.jit
@pytest.mark.parametrize("part_of_wheels, angle", [(0.0, 1.05), (0.9, 5.0)])
def test_other_branches_of_the_solution_are_refused(part_of_wheels, angle):
    """Beyond 1 rad Newton's method finds turns beyond 90 deg, and with wheels some past a fold of the equation."""
    rng = np.random.default_rng(10)
    n = 50_000
    J = random_bodies(rng, n)
    rho_B = part_of_wheels * angle * random_directions(rng, n) * np.linalg.eigvalsh(J)[:, :1]
    w_B = (1.0 - part_of_wheels) * angle * random_directions(rng, n)
    phi = increment(np.einsum("nij,nj->ni", J, w_B) + rho_B, J, rho_B, 1.0)
    found = np.isfinite(phi[:, 0])
    assert 0.05 < np.mean(found) < 0.5
    assert np.max(np.linalg.norm(phi[found], axis=-1)) < 0.7072
    assert np.min(np.linalg.det(leading_slope(phi[found], J[found], rho_B[found], 1.0))) > 0.0


@METHODS
def test_a_batch_has_the_bits_of_its_trials(n):
    rng = np.random.default_rng(9)
    args = (*random_trials(rng, 19), 1.0)
    batch = STEP_JACOBIAN[n](*args)
    for i in range(19):
        alone = STEP_JACOBIAN[n](*[a[i] for a in args[:-1]], 1.0)
        assert all(np.array_equal(a, b[i]) for a, b in zip(alone, batch, strict=True))
