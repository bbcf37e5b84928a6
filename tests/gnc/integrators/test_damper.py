"""The Kane damper: order, conservation, where it ends, Jacobians, limits, and the paper's errata and Figure 5."""

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

from gnc import quaternion
from gnc.batch import jacobian
from gnc.integrators import damper, qvi
from tests.gnc.integrators.gyrostat import (
    NONE,
    PAPER_J,
    PAPER_W0,
    Q0,
    RHO,
    TAU,
    W0,
    J,
    order,
    random_directions,
    random_trials,
)

J_D, C = 0.3, 0.4
P_B, P_D = J @ W0 + RHO, J_D * np.array([0.1, 0.5, -0.3])
STATE, GIVEN = (Q0, P_B, P_D), (TAU, J, J_D, C, RHO)
UNIT = np.array([1.0, 0.0, 0.0, 0.0])
PAPER_J_D = 0.2
PAPER_STATE = (UNIT, PAPER_J @ PAPER_W0, PAPER_J_D * PAPER_W0)  # QVI section IX.B, the ball at rest in the body
BOTH = pytest.mark.parametrize("step", [damper.step1, damper.step], ids=["step1", "step"])
ALL = pytest.mark.parametrize("name", ["step1", "step", "step4"])


def paper(constant):
    """Return what a step of the paper's body takes after the state and before h."""
    return NONE, PAPER_J, PAPER_J_D, constant, NONE


def exact(state, given, T):
    """Return the state after T by DOP853, the damper's rate in *inertial* axes: a formulation of its own."""
    tau, J, J_D, C, rho = given

    def rate(_, y):
        q, w, w_D_I = y[:4], y[4:7], y[7:]
        R = quaternion.to_matrix(q / np.linalg.norm(q))
        viscous = C * (R.T @ w_D_I - w)
        turn = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return np.concatenate([turn, np.linalg.solve(J, viscous + tau - np.cross(w, J @ w + rho)), -R @ viscous / J_D])

    q, P_B, P_D = state
    start = np.concatenate([q, np.linalg.solve(J, P_B - rho), quaternion.rotate(q, P_D) / J_D])
    y = solve_ivp(rate, (0.0, T), start, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    q = y[:4] / np.linalg.norm(y[:4])
    return q, J @ y[4:7] + rho, J_D * quaternion.inverse_rotate(q, y[7:])


def distance(state, truth):
    momenta = np.concatenate(state[1:]) - np.concatenate(truth[1:])
    return quaternion.angle_between(state[0], truth[0]) + np.linalg.norm(momenta)


def energy(P_B, P_D, *, J=PAPER_J, J_D=PAPER_J_D, rho=NONE):
    w_B = np.linalg.solve(J, (P_B - rho)[..., None])[..., 0]
    return 0.5 * np.sum(w_B * (P_B - rho), -1) + 0.5 * np.sum(P_D * P_D, -1) / J_D


def momentum(q_IB, P_B, P_D):
    return quaternion.rotate(q_IB, P_B + P_D)


def run(step, steps, state, *given, every=1):
    """Return the states of a run, each with a leading axis of time."""
    states = [state]
    for _ in range(steps // every):
        states.append(step.repeat(every, *states[-1], *given))
    return [np.array(part) for part in zip(*states, strict=True)]


# Order


@pytest.mark.jit
@pytest.mark.parametrize(
    ("name", "expected", "counts"),
    [("step1", 1, [640, 1280, 2560, 5120]), ("step", 2, [40, 80, 160, 320]), ("step4", 4, [20, 40, 80, 160])],
)
def test_order_with_torque_and_wheels(name, expected, counts):
    truth = exact(STATE, GIVEN, 4.0)
    errors = [distance(getattr(damper, name).repeat(n, *STATE, *GIVEN, 4.0 / n), truth) for n in counts]
    assert abs(order(counts, errors) - expected) < 0.05


@pytest.mark.jit
def test_at_two_thirds_of_its_limit_step4_is_20_times_as_accurate_as_step_at_equal_cost():
    constant, h = 4.0, 4.0 / 40
    assert 1.6 < h * constant * (1.0 / J_D + 1.0 / np.linalg.eigvalsh(J)[0]) < 2.1
    truth = exact(STATE, (TAU, J, J_D, constant, RHO), 4.0)
    fourth = damper.step4.repeat(40, *STATE, TAU, J, J_D, constant, RHO, h)
    second = damper.step.repeat(200, *STATE, TAU, J, J_D, constant, RHO, h / 5)
    assert 20.0 * distance(fourth, truth) < distance(second, truth)


@pytest.mark.jit
def test_at_C_1_the_second_order_step_has_185_times_less_energy_error():
    truth = energy(*exact(PAPER_STATE, paper(1.0), 20.0)[1:])
    first, second = (
        abs(energy(*step.repeat(4000, *PAPER_STATE, *paper(1.0), 0.005)[1:]) - truth)
        for step in (damper.step1, damper.step)
    )
    assert first > 185.0 * second


def test_without_viscosity_the_body_moves_as_qvi_says_and_the_ball_keeps_its_momentum():
    tau, h = TAU, 0.3
    for step in (damper.step1, damper.step):
        q, P, ball = step(Q0, P_B, P_D, tau, J, J_D, 0.0, RHO, h)
        q_free, P_free = qvi.step(Q0, P_B, tau, J, RHO, h)
        np.testing.assert_allclose(np.concatenate([q, P]), np.concatenate([q_free, P_free]), rtol=0, atol=1e-15)
        np.testing.assert_allclose(quaternion.rotate(q, ball), quaternion.rotate(Q0, P_D), rtol=0, atol=1e-15)


# Conservation and dissipation


@pytest.mark.jit
@BOTH
@pytest.mark.parametrize("constant", [0.4, 100.0])
def test_the_momentum_of_the_whole_is_exact(step, constant):
    q, P, ball = run(step, 20_000, STATE, NONE, J, J_D, constant, RHO, 0.2, every=100)
    H = momentum(quaternion.normalize(q), P, ball)
    assert np.abs(H - H[0]).max() < 2e-13
    # The body ends in a steady turn, where round-off repeats itself: |q| may lose up to half an ulp per step.
    assert np.abs(np.linalg.norm(q, axis=-1) - 1.0).max() < 20_000 * 1.1e-16


@pytest.mark.jit
@BOTH
def test_the_body_ends_on_its_major_axis_turning_together_with_the_ball(step):
    q, P, ball = step.repeat(10_000, *PAPER_STATE, *paper(0.4), 0.2)
    rate = np.linalg.norm(momentum(*PAPER_STATE)) / (3.0 + PAPER_J_D)
    expected = np.array([0.0, 0.0, np.copysign(rate, P[2])])
    np.testing.assert_allclose(P / np.diag(PAPER_J), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ball / PAPER_J_D, expected, rtol=0, atol=1e-9)


@pytest.mark.jit
@BOTH
def test_energy_falls_at_the_rate_of_viscous_work(step):
    h, slip = 1e-3, P_D / J_D - np.linalg.solve(J, P_B - RHO)
    ends = [energy(*step(*STATE, NONE, J, J_D, C, RHO, dt)[1:], J=J, J_D=J_D, rho=RHO) for dt in (-h, h)]
    assert (ends[1] - ends[0]) / (2 * h) == pytest.approx(-C * slip @ slip, rel=3e-3)


@pytest.mark.jit
def test_figure_5_energy_with_stiff_damping_stays_close_to_a_tight_radau_reference():
    """QVI Fig. 5: C = 100, h = 0.3 s; energies at 30, 150 and 300 s."""
    first, second = (
        energy(*run(step, 1000, PAPER_STATE, *paper(100.0), 0.3)[1:])[[0, 100, 500, 1000]]
        for step in (damper.step1, damper.step)
    )
    np.testing.assert_allclose(first, [1.243022, 1.241466, 1.234423, 1.224623], rtol=0, atol=5e-7)
    np.testing.assert_allclose(second, [1.243022, 1.241055, 1.233758, 1.224016], rtol=0, atol=1e-3)


def test_under_stiff_damping_slip_dies_at_once_in_step1_and_alternates_in_step():
    def slip(state):
        return (state[2] / PAPER_J_D - state[1] / np.diag(PAPER_J))[2]

    start = (UNIT, np.array([0.0, 0.0, 0.3]), np.array([0.0, 0.0, 0.1]))  # about one axis, so that slip is a number
    assert abs(slip(damper.step1(*start, *paper(100.0), 0.3))) < 0.01 * slip(start)
    assert -1.0 < slip(damper.step(*start, *paper(100.0), 0.3)) / slip(start) < -0.95


# Jacobians


def errors_after(name, x, q_reference, h):
    state = quaternion.mul(Q0, quaternion.exp(x[:3])), P_B + x[3:6], P_D + x[6:9]
    q, P, ball = getattr(damper, name)(*state, TAU + x[9:], J, J_D, C, RHO, h)
    return np.concatenate([quaternion.log(quaternion.mul(quaternion.conj(q_reference), q)), P, ball])


@ALL
@pytest.mark.parametrize("h", [0.3, -0.2])
def test_F_and_G_are_the_derivatives_of_the_step(name, h):
    *state, F, G = getattr(damper, f"{name}_jacobian")(*STATE, *GIVEN, h)
    assert all(map(np.array_equal, state, getattr(damper, name)(*STATE, *GIVEN, h)))
    d, ends = 1e-5, functools.partial(errors_after, name, q_reference=state[0], h=h)
    slopes = np.transpose([(ends(d * e) - ends(-d * e)) / (2 * d) for e in np.eye(12)])
    np.testing.assert_allclose(np.hstack([F, G]), slopes, rtol=0, atol=1e-8)


def test_F_is_what_forward_mode_through_the_newton_iterations_gives():
    slopes = jacobian(damper.step, ("P_B", "P_D"))(*STATE, *GIVEN, 0.3)
    _, _, _, F, _ = damper.step_jacobian(*STATE, *GIVEN, 0.3)
    np.testing.assert_allclose(F[3:6, 3:], np.hstack(slopes[2:4]), rtol=0, atol=1e-13)
    np.testing.assert_allclose(F[6:, 3:], np.hstack(slopes[4:]), rtol=0, atol=1e-13)


# Time reversal, limits, batches


def test_a_second_order_step_back_undoes_the_step_and_a_first_order_one_does_not():
    def back(step):
        return distance(step(*step(*STATE, *GIVEN, 0.2), *GIVEN, -0.2), STATE)

    assert back(damper.step) < 1e-14
    assert back(damper.step1) > 1e-4


def test_a_step_of_no_length_changes_nothing():
    assert distance(damper.step(*STATE, *GIVEN, 0.0), STATE) == 0.0


@pytest.mark.jit
@pytest.mark.parametrize("constant", [0.0, 0.1, 100.0])
def test_random_bodies_turning_by_half_a_radian_per_step_all_find_their_solution(constant):
    rng = np.random.default_rng(7)
    q, P, tau, J, rho = random_trials(rng, 2000, angle=0.5, wheels=0.3)
    ball = 0.05 * 0.5 * random_directions(rng, 2000)
    state = damper.step(q, P, ball, 0.0 * tau, J, 0.05, constant, rho, 1.0)
    drift = momentum(*state) - momentum(q, P, ball)
    assert np.abs(drift).max() < 1e-13


def test_a_step_too_long_marks_only_its_own_trial():
    P = np.array([1.0, 20.0, 1.0])[:, None] * P_B
    states = damper.step(Q0, P, P_D, NONE, J, J_D, C, NONE, 0.3)
    lost = np.isnan(np.concatenate(states, -1))
    assert lost[1].all() and not lost[[0, 2]].any()


def test_the_backward_stage_of_step4_has_a_limit_that_step_does_not_have():
    """The middle stage, -0.658 h, takes 0.329 h C from the inertia of slip, 1/(1/J_D + 1/J_1)."""
    limit = 2.0 / 0.6579630871775029 / (1.0 / J_D + 1.0 / np.linalg.eigvalsh(J)[0])
    constants = np.array([0.99, 1.01, 30.0]) * limit / 0.02
    fourth, second = (step(*STATE, TAU, J, J_D, constants, RHO, 0.02) for step in (damper.step4, damper.step))
    assert np.isfinite(fourth[1]).all(-1).tolist() == [True, False, False]
    assert np.isfinite(second[1]).all()


def test_both_transverse_axes_of_a_symmetric_body_past_the_limit_is_still_lost():
    lost = damper.step(Q0, P_B, P_D, NONE, np.diag([1.0, 1.0, 1.5]), 1.2, 60.0, NONE, -0.02)  # c = -0.6 > -J_D
    assert np.isnan(np.concatenate(lost)).all()


@ALL
def test_a_trial_has_the_same_bits_alone_and_in_a_batch(name):
    rng = np.random.default_rng(3)
    q, P, tau, J, rho = random_trials(rng, 5)
    ball, constants, step = 0.02 * rng.normal(size=(5, 3)), rng.uniform(0.0, 0.1, 5), getattr(damper, name)
    batch = step(q, P, ball, tau, J, 0.05, constants, rho, 0.5)
    for k in range(5):
        alone = step(q[k], P[k], ball[k], tau[k], J[k], 0.05, constants[k], rho[k], 0.5)
        assert all(np.array_equal(x[k], y) for x, y in zip(batch, alone, strict=True))


# Errata


def printed_step(state, J, J_D, C, h, sign):
    """Solve QVI eqs. (66), (67), with s J_D gamma_k on the left of (67), by fsolve; sign is +1 as printed, or -1."""
    q, P_B, P_D = state

    def equations(x):
        phi, gamma = x[:3], x[3:]
        s, s_gamma = np.sqrt(1 - phi @ phi), np.sqrt(1 - gamma @ gamma)
        viscous = sign * h * C * (gamma - phi)
        body = s * J @ phi + np.cross(phi, J @ phi) + viscous - h / 2 * P_B
        return np.concatenate([body, s_gamma * J_D * gamma - viscous - h / 2 * P_D])

    x = fsolve(equations, np.concatenate([h / 2 * np.linalg.solve(J, P_B), h / 2 * P_D / J_D]), xtol=1e-13)
    phi, gamma = x[:3], x[3:]
    f = np.array([np.sqrt(1 - phi @ phi), *phi])
    end_B = 2 / h * (f[0] * J @ phi - np.cross(phi, J @ phi))
    end_D = quaternion.inverse_rotate(f, 2 / h * np.sqrt(1 - gamma @ gamma) * J_D * gamma)
    return quaternion.mul(q, f), end_B, end_D


def test_erratum_eqs_66_67_the_printed_signs_feed_the_slip():
    def slip(state):
        return np.linalg.norm(state[2] / J_D - np.linalg.solve(J, state[1]))

    right, printed = (printed_step(STATE, J, J_D, C, 0.1, sign) for sign in (-1, +1))
    np.testing.assert_allclose(
        np.concatenate(right), np.concatenate(damper.step1(*STATE, NONE, J, J_D, C, NONE, 0.1)), rtol=0, atol=1e-12
    )
    assert slip(right) < slip(STATE) < slip(printed)
    assert energy(*right[1:], J=J, J_D=J_D) < energy(P_B, P_D, J=J, J_D=J_D) < energy(*printed[1:], J=J, J_D=J_D)


@pytest.mark.jit
def test_erratum_the_dampers_momentum_is_rotated_by_the_inverse():
    """QVI section VIII, "rotated by f_k": the momentum of the whole is lost."""
    H, right, printed = momentum(*PAPER_STATE), PAPER_STATE, PAPER_STATE
    for _ in range(1000):
        right = damper.step1(*right, *paper(10.0), 0.2)
        q, P, ball = damper.step1(*printed, *paper(10.0), 0.2)
        f = quaternion.mul(quaternion.conj(printed[0]), q)
        printed = q, P, quaternion.rotate(f, quaternion.rotate(f, ball))
    assert np.linalg.norm(momentum(*right) - H) < 1e-12
    assert np.linalg.norm(momentum(*printed) - H) > 3e-2 * np.linalg.norm(H)
