"""Composed steps: the order they gain, the Jacobians they chain, and kicks around drifts."""

import pickle

import numpy as np
import pytest

from gnc import lie, quaternion
from gnc.batch import batched
from gnc.integrators import qvi
from gnc.integrators.composition import (
    ABA2,
    SUZUKI4,
    YOSHIDA4,
    aba2,
    chained,
    compose,
    kick_drift_kick,
    kick_jacobian,
    largest_stage,
    no_step,
)
from gnc.linalg import array, identity
from tests.gnc.integrators.gyrostat import (
    NONE,
    Q0,
    RHO,
    TAU,
    W0,
    J,
    error,
    exact,
    finite_difference,
    order,
    random_trials,
    symplectic_form,
)

YOSHIDA_STEP, YOSHIDA_STEP_JACOBIAN = compose(qvi.step, qvi.step_jacobian, YOSHIDA4)
ARGS = Q0 / np.linalg.norm(Q0), J @ W0 + RHO, TAU, J, RHO, 0.4


# An exact drift in closed form: a body whose axis 3 is one of symmetry precesses, P turns about it in the body.

AXIAL_J = np.diag([1.0, 1.0, 1.6])


def _spin(P_B, J, h):
    return array([0.0, 0.0, (1.0 / J[2, 2] - 1.0 / J[0, 0]) * P_B[2] * h])


@batched("(4),(3),(3,3),(3),()->(4),(3)")
def axial_drift(q_IB, P_B, J, rho_B, h):
    """q = q0 exp(h P/J1) exp(h spin); rho_B is there for the interface, and zero."""
    back = quaternion.exp(-_spin(P_B, J, h))
    precessed = quaternion.mul(q_IB, quaternion.exp(P_B * (h / J[0, 0])))
    return quaternion.mul(precessed, quaternion.conj(back)), quaternion.rotate(back, P_B)


@batched("(4),(3),(3,3),(3),()->(4),(3),(6,6)")
def axial_drift_jacobian(q_IB, P_B, J, rho_B, h):
    """Return the drift with an F that is good enough for the layout: these tests use its values only."""
    return *axial_drift(q_IB, P_B, J, rho_B, h), identity(6)


def axial_error(step, size, n, T=4.0):
    """Return the error after T in n steps under a torque of the given size."""
    tau_B = size * TAU
    truth = exact(Q0, W0, AXIAL_J, lambda t: tau_B, lambda t: NONE, T)
    return error(step.repeat(n, Q0, AXIAL_J @ W0, tau_B, AXIAL_J, NONE, T / n), truth)


def test_the_precession_is_exact():
    truth = exact(Q0, W0, AXIAL_J, lambda t: NONE, lambda t: NONE, 5.0)
    assert error(axial_drift(Q0, AXIAL_J @ W0, AXIAL_J, NONE, 5.0), truth) < 1e-11


# Coefficients and order


@pytest.mark.parametrize("stages", [SUZUKI4, YOSHIDA4])
def test_the_stages_meet_the_conditions_of_fourth_order(stages):
    assert stages == stages[::-1]
    assert sum(stages) == pytest.approx(1.0, abs=1e-15) and sum(c**3 for c in stages) == pytest.approx(0.0, abs=1e-14)


def test_the_largest_stage_of_suzuki_is_much_shorter_than_that_of_yoshida():
    assert largest_stage(SUZUKI4) == pytest.approx(0.658, abs=1e-3)
    assert largest_stage(YOSHIDA4) == pytest.approx(1.702, abs=1e-3)


@pytest.mark.jit
def test_yoshidas_composition_is_of_fourth_order_too_but_less_accurate():
    T, steps, P_B = 4.0, np.array([40, 60, 90, 135]), J @ W0 + RHO
    truth = exact(Q0, W0, J, lambda t: TAU, lambda t: RHO, T)
    errors = [error(YOSHIDA_STEP.repeat(k, Q0, P_B, TAU, J, RHO, T / k), truth) for k in steps]
    assert order(steps, errors) == pytest.approx(4.0, abs=0.05)
    suzuki = error(qvi.step4.repeat(24, Q0, P_B, TAU, J, RHO, T / 24), truth)
    assert suzuki < errors[0]  # with as many drifts: 5 times 24, 3 times 40


@pytest.mark.jit
def test_kicks_around_an_exact_drift_err_in_proportion_to_the_torque():
    step, _ = kick_drift_kick(axial_drift, axial_drift_jacobian)
    steps = np.array([40, 80, 160])
    assert order(steps, [axial_error(step, 1.0, n) for n in steps]) == pytest.approx(2.0, abs=0.05)
    assert axial_error(step, 1e-4, 16) == pytest.approx(1e-2 * axial_error(step, 1e-2, 16), rel=0.01)


@pytest.mark.jit
def test_aba2_is_of_fourth_order_for_a_weak_torque_and_second_for_a_strong_one():
    step, _ = aba2(axial_drift, axial_drift_jacobian)
    steps = np.array([6, 8, 12])
    assert order(steps, [axial_error(step, 1e-5, n) for n in steps]) == pytest.approx(4.0, abs=0.05)
    steps = np.array([100, 200, 400])
    assert order(steps, [axial_error(step, 5.0, n) for n in steps]) == pytest.approx(2.0, abs=0.05)
    kicked, _ = kick_drift_kick(axial_drift, axial_drift_jacobian)
    assert axial_error(step, 1e-5, 8) < 1e-3 * axial_error(kicked, 1e-5, 8)


def test_the_drifts_and_kicks_of_aba2_come_in_their_order():
    step, step_jacobian = aba2(qvi.drift, qvi.drift_jacobian)
    q_IB, P_B, _, _, _, h = ARGS
    for part, kick in zip(ABA2, (0.5, 0.5, 0.0), strict=True):
        q_IB, P_B = qvi.drift(q_IB, P_B, J, RHO, part * h)
        P_B = P_B + kick * h * TAU
    assert np.allclose(step(*ARGS)[0], q_IB, rtol=0, atol=1e-15)
    assert np.allclose(step(*ARGS)[1], P_B, rtol=0, atol=1e-15)
    assert sum(ABA2) == pytest.approx(1.0, abs=1e-15)
    F_fd, G_fd = finite_difference(step, *ARGS)
    _, _, F, G = step_jacobian(*ARGS)
    assert np.max(np.abs(F - F_fd)) < 1e-8 and np.max(np.abs(G - G_fd)) < 1e-8


# Jacobians in a chain


def test_a_composition_is_its_stages_one_after_the_other():
    x, (F, G) = ARGS[:2], (np.eye(6), np.zeros((6, 3)))
    for c in SUZUKI4:
        *x, F_stage, G_stage = qvi.step_jacobian(*x, TAU, J, RHO, c * 0.4)
        F, G = F_stage @ F, F_stage @ G + G_stage
    q_4, P_4, F_4, G_4 = qvi.step4_jacobian(*ARGS)
    assert np.array_equal(q_4, x[0]) and np.array_equal(P_4, x[1])
    assert np.allclose(F_4, F, rtol=0, atol=1e-14) and np.allclose(G_4, G, rtol=0, atol=1e-14)


def test_the_composition_of_a_drift_has_no_G():
    drift = qvi.drift4_jacobian(ARGS[0], ARGS[1], J, RHO, 0.4)
    step = qvi.step4_jacobian(ARGS[0], ARGS[1], NONE, J, RHO, 0.4)
    assert len(drift) == 3 and all(np.allclose(a, b, rtol=0, atol=1e-15) for a, b in zip(drift, step, strict=False))


def test_a_chain_repeated_is_the_product_of_its_steps():
    chain = chained(qvi.step, qvi.step_jacobian)
    F, G = (x.astype(float) for x in no_step(qvi.step, qvi.step_jacobian))
    assert chain.layout.names == ("q_IB", "P_B", "F", "G", "tau_B", "J", "rho_B", "h")
    results = chain.repeat(5, *ARGS[:2], F, G, TAU, J, RHO, 0.1)
    x = ARGS[:2]
    for _ in range(5):
        *x, F_step, G_step = qvi.step_jacobian(*x, TAU, J, RHO, 0.1)
        F, G = F_step @ F, F_step @ G + G_step
    assert np.array_equal(results[0], x[0]) and np.array_equal(results[1], x[1])
    assert np.allclose(results[2], F, rtol=0, atol=1e-14) and np.allclose(results[3], G, rtol=0, atol=1e-14)


def test_yoshidas_jacobians_meet_finite_differences_and_are_symplectic():
    args = (*ARGS[:2], NONE, J, RHO, 0.2)
    F_fd, G_fd = finite_difference(YOSHIDA_STEP, *args)
    _, P_1, F, G = YOSHIDA_STEP_JACOBIAN(*args)
    assert np.max(np.abs(F - F_fd)) < 1e-8 and np.max(np.abs(G - G_fd)) < 1e-8
    assert np.max(np.abs(F.T @ symplectic_form(P_1) @ F - symplectic_form(ARGS[1]))) < 1e-14


# A torque that depends on the attitude: a pendulum, tau = r x R^T g


ARM, GRAVITY = np.array([0.3, -0.2, 0.5]), np.array([0.0, 0.0, -1.5])


def pendulum(q_IB):
    """Return the torque and its gradient T = d tau/d a."""
    g_B = quaternion.inverse_rotate(q_IB, GRAVITY)
    return np.cross(ARM, g_B), lie.hat(ARM) @ lie.hat(g_B)


def pendulum_step(q_IB, P_B, h):
    """Return the state after half a kick, a drift, half a kick, and F."""
    tau_B, T_0 = pendulum(q_IB)
    q_1, P_1, F = qvi.drift_jacobian(q_IB, P_B + 0.5 * h * tau_B, J, NONE, h)
    tau_B, T_1 = pendulum(q_1)
    F = kick_jacobian(T_1, 0.5 * h) @ F @ kick_jacobian(T_0, 0.5 * h)
    return q_1, P_1 + 0.5 * h * tau_B, F


def test_torque_gradients_make_F_exact_and_a_conservative_step_symplectic():
    q_IB, P_B, h = ARGS[0], J @ W0, 0.3
    _, P_1, F = pendulum_step(q_IB, P_B, h)

    def step(q_IB, P_B, tau_B, J, rho_B, h):
        return pendulum_step(q_IB, P_B, h)[:2]

    F_fd, _ = finite_difference(step, q_IB, P_B, NONE, J, NONE, h)
    assert np.max(np.abs(F - F_fd)) < 1e-8
    assert np.max(np.abs(F.T @ symplectic_form(P_1) @ F - symplectic_form(P_B))) < 1e-14
    free = qvi.drift_jacobian(q_IB, P_B + 0.5 * h * pendulum(q_IB)[0], J, NONE, h)[2]
    assert np.max(np.abs(free - F_fd)) > 1e-2  # without the gradients it is neither


# Kernels like others


@pytest.mark.parametrize(
    "name", ["drift", "step", "step_jacobian", "drift4", "drift4_jacobian", "step4", "step4_jacobian"]
)
def test_made_kernels_pickle_by_their_names(name):
    kernel = getattr(qvi, name)
    assert pickle.loads(pickle.dumps(kernel)) is kernel and kernel.__doc__


def test_a_batch_has_the_bits_of_its_trials():
    rng = np.random.default_rng(1)
    args = random_trials(rng, 11)
    batch = YOSHIDA_STEP_JACOBIAN(*args, 0.5)
    for i in range(11):
        alone = YOSHIDA_STEP_JACOBIAN(*[a[i] for a in args], 0.5)
        assert all(np.array_equal(a, b[i]) for a, b in zip(alone, batch, strict=True))
