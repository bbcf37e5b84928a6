"""A rigid body in a potential (LGVI): order, structure, known motions, the three-ball orbit, and the paper's errata."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import lie, quaternion
from gnc.batch import batched
from gnc.integrators import fields, potential, qvi
from tests.gnc.integrators.bodies_in_fields import ARMS, DOWN, FIELDS, MASS, R_I, WEIGHTS, pulled
from tests.gnc.integrators.gyrostat import NONE, Q0, RHO, W0, J, order, symplectic_form

UNIT = np.array([1.0, 0.0, 0.0, 0.0])
ORDERS = pytest.mark.parametrize("step", ["step", "step4"])
# A composition does not know its field: one is enough, and compiles in less time.
FIELD_AND_STEP = pytest.mark.parametrize(
    ("name", "step"), [*((name, "step") for name in FIELDS), ("point masses", "step4")]
)
STATE = Q0, J @ W0 + RHO, R_I, np.array([0.9, 2.0, -0.4])
BODY = J, RHO, MASS


def method(name):
    field, parameters = FIELDS[name]
    return potential.integrator(field), parameters


def distance(state, truth):
    others = np.concatenate(state[1:]) - np.concatenate(truth[1:])
    return quaternion.angle_between(state[0], truth[0]) + np.linalg.norm(others)


def displaced(x):
    """Return the state with an error (a, dP, dr, dp)."""
    q, P, r, p = STATE
    return quaternion.mul(q, quaternion.exp(x[:3])), P + x[3:6], r + x[6:9], p + x[9:]


def exact(wrench, state, J, rho, mass, T):
    """Return the state after T by DOP853; the wrench is a plain function (R, r) -> torque_B, force_I."""

    def rate(_, y):
        q, P, r, p = np.split(y, [4, 7, 10])
        w = np.linalg.solve(J, P - rho)
        torque, force = wrench(quaternion.to_matrix(q / np.linalg.norm(q)), r)
        return np.concatenate([quaternion.derivative(q, w), np.cross(P, w) + torque, p / mass, force])

    y = solve_ivp(rate, (0.0, T), np.concatenate(state), "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    q, *others = np.split(y, [4, 7, 10])
    return q / np.linalg.norm(q), *others


# Order and structure


@pytest.mark.jit
@pytest.mark.parametrize(("step", "expected", "counts"), [("step", 2, [80, 160, 320]), ("step4", 4, [20, 40, 80])])
def test_order_against_dop853_with_wheels(step, expected, counts):
    steps, parameters = method("point masses")
    truth = exact(pulled, STATE, *BODY, 1.0)
    errors = [distance(getattr(steps, step).repeat(n, *STATE, *BODY, *parameters, 1.0 / n), truth) for n in counts]
    assert abs(order(counts, errors) - expected) < 0.05


@FIELD_AND_STEP
def test_F_is_the_derivative_of_the_step(name, step):
    steps, parameters = method(name)
    *state, F = getattr(steps, f"{step}_jacobian")(*STATE, *BODY, *parameters, 0.2)
    assert all(map(np.array_equal, state, getattr(steps, step)(*STATE, *BODY, *parameters, 0.2)))

    def ends(x):
        q, *others = getattr(steps, step)(*displaced(x), *BODY, *parameters, 0.2)
        return np.concatenate([quaternion.log(quaternion.mul(quaternion.conj(state[0]), q)), *others])

    d = 1e-5
    slopes = np.transpose([(ends(d * e) - ends(-d * e)) / (2 * d) for e in np.eye(12)])
    np.testing.assert_allclose(F, slopes, rtol=0, atol=1e-8)


@FIELD_AND_STEP
def test_F_is_symplectic(name, step):
    steps, parameters = method(name)
    _, P, _, _, F = getattr(steps, f"{step}_jacobian")(*STATE, *BODY, *parameters, 0.2)

    def form(P_B):
        return np.block([[symplectic_form(P_B), np.zeros((6, 6))], [np.zeros((6, 6)), symplectic_form(NONE)]])

    np.testing.assert_allclose(F.T @ form(P) @ F, form(STATE[1]), rtol=0, atol=2e-14)


@ORDERS
def test_a_step_back_undoes_the_step(step):
    steps, parameters = method("point masses")
    there = getattr(steps, step)(*STATE, *BODY, *parameters, 0.2)
    assert distance(getattr(steps, step)(*there, *BODY, *parameters, -0.2), STATE) < 1e-14


@ORDERS
def test_a_trial_has_the_same_bits_alone_and_in_a_batch_and_a_lost_one_stays_alone(step):
    steps, _ = method("point masses")
    P, mu = STATE[1] * np.array([[1.0], [0.5], [30.0], [0.2], [0.7]]), np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    batch = getattr(steps, step)(Q0, P, *STATE[2:], *BODY, mu, WEIGHTS, ARMS, 0.2)
    for k in range(5):
        alone = getattr(steps, step)(Q0, P[k], *STATE[2:], *BODY, mu[k], WEIGHTS, ARMS, 0.2)
        assert all(np.array_equal(x[k], y, equal_nan=True) for x, y in zip(batch, alone, strict=True))
    assert np.isnan(batch[0]).any(-1).tolist() == [False, False, True, False, False]


# Motions that are known


def test_a_falling_body_follows_the_parabola_exactly_and_turns_as_if_free():
    steps, parameters = method("uniform gravity")
    q, P, r, p = steps.step.repeat(50, *STATE, *BODY, *parameters, 0.1)
    expected = STATE[2] + 5.0 / MASS * STATE[3] + 12.5 * DOWN
    np.testing.assert_allclose(r, expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(p, STATE[3] + 15.0 * DOWN, rtol=0, atol=1e-13)
    assert all(map(np.array_equal, (q, P), qvi.drift.repeat(50, *STATE[:2], J, RHO, 0.1)))


@pytest.mark.jit
@ORDERS
def test_a_lagrange_top_precesses_steadily_at_the_rate_of_theory(step):
    """P_3 Om - J_1 Om^2 cos(tilt) = m g l for a steady precession Om; J about the pivot."""
    inertia, tilt, precession, weight, arm = np.diag([2.0, 2.0, 1.2]), 0.7, 0.5, 3.0, 0.4
    P_3 = weight * arm / precession + 2.0 * precession * np.cos(tilt)
    q = quaternion.from_axis_angle([1.0, 0.0, 0.0], tilt)
    P = np.array([0.0, 2.0 * precession * np.sin(tilt), P_3])  # w_2 is the part of Om across the axis
    given = inertia, NONE, 1.0, 1.0, np.array([0.0, 0.0, -weight]), np.array([0.0, 0.0, arm])
    kernel, counts, errors = getattr(potential.integrator(fields.heavy_top), step), [100, 200, 400], []
    axis = quaternion.rotate(q, [0.0, 0.0, 1.0])
    for n in counts:
        q_1, P_1, r, p = kernel.repeat(n, q, P, NONE, NONE, *given, 4.0 / n)
        expected = quaternion.rotate(quaternion.from_axis_angle([0.0, 0.0, 1.0], 4.0 * precession), axis)
        errors.append(np.linalg.norm(quaternion.rotate(q_1, [0.0, 0.0, 1.0]) - expected))
        assert abs(P_1[2] - P_3) < 1e-13  # symmetry about the top's axis
        assert abs(quaternion.rotate(q_1, P_1)[2] - quaternion.rotate(q, P)[2]) < 1e-13  # and about the vertical
        assert not r.any() and not p.any()
    assert abs(order(counts, errors) - {"step": 2, "step4": 4}[step]) < 0.05
    assert errors[-1] < 1e-3


@pytest.mark.jit
def test_pitch_librates_under_the_gravity_gradient_at_the_rate_of_theory():
    """Om = n sqrt(3 (Jx - Jz)/Jy): x along the orbit, y against its normal, z to the centre; n = 1 here.

    The body is small (J/m r^2 = 1e-12), so that its orbit is a circle, and the amplitude is 1e-4 rad.
    """
    Jx, Jy, Jz = 2.0, 2.4, 1.0
    inertia, libration = 1e-12 * np.diag([Jx, Jy, Jz]), np.sqrt(3.0 * (Jx - Jz) / Jy)
    r, v = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    R = np.column_stack([v, [0.0, 0.0, -1.0], -r])  # columns: x along the orbit, y against its normal, z to the centre
    q = quaternion.mul(quaternion.from_matrix(R), quaternion.exp([0.0, 1e-4, 0.0]))
    P = inertia @ np.array([0.0, -1.0, 0.0])
    step = potential.integrator(fields.gravity_gradient).step4
    times, pitch, state = np.linspace(0.0, 10.0, 101), [1e-4], (q, P, r, v)
    for _ in times[1:]:
        state = step.repeat(8, *state, inertia, NONE, 1.0, 1.0, 1.0, inertia, 0.0125)
        down_B = quaternion.inverse_rotate(state[0], -state[2] / np.linalg.norm(state[2]))
        pitch.append(-np.arctan2(down_B[0], down_B[2]))
    np.testing.assert_allclose(pitch, 1e-4 * np.cos(libration * times), rtol=0, atol=5e-9)


# LGVI section 5: three balls on a triangle of side 1, around a centre of attraction


BALLS = np.array([[np.cos(angle), np.sin(angle), 0.0] for angle in np.radians([90.0, 210.0, 330.0])]) / np.sqrt(3.0)
SECOND_MOMENTS = BALLS.T @ BALLS + 3 * (0.1**2 / 5) * np.eye(3)
TRIANGLE = np.trace(SECOND_MOMENTS) * np.eye(3) - SECOND_MOMENTS
FIELD = 1.0, np.ones(3), BALLS
START = UNIT, np.array([0.5, 1.0, 1.5]), np.array([8.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])  # LGVI's w_0 is 2 P


def orbit(steps, every, start=START):
    """Return states of the orbit; one every so many steps."""
    step, states = potential.integrator(fields.point_masses(3)).step, [start]
    for _ in range(steps // every):
        states.append(step.repeat(every, *states[-1], TRIANGLE, NONE, 3.0, *FIELD, 0.01))
    return [np.array(part) for part in zip(*states, strict=True)]


def total_energy(q, P, r, p):
    turning = 0.5 * np.sum(P * np.linalg.solve(TRIANGLE, P[..., None])[..., 0], -1)
    return turning + np.sum(p * p, -1) / 6.0 + fields.point_masses(3).energy(q, r, *FIELD)


@pytest.mark.jit
def test_the_three_ball_orbit_keeps_energy_momentum_and_unit_length_over_a_thousand_seconds():
    """LGVI Figs. 2 to 4."""
    q, P, r, p = orbit(100_000, every=20)
    E, L = total_energy(q, P, r, p), np.cross(r, p) + quaternion.rotate(q, P)
    assert E[0] == pytest.approx(2.123540, abs=5e-7)
    assert 5.5e-7 < np.abs(E - E[0]).max() < 6.4e-7
    assert np.abs(E[-1000:] - E[0]).max() < 1.1 * np.abs(E[:1000] - E[0]).max()  # it does not drift
    assert np.linalg.norm(L - L[0], axis=-1).max() < 3.1e-12
    assert np.abs(np.linalg.norm(q, axis=-1) - 1.0).max() < 4e-14
    distances = np.linalg.norm(r, axis=-1)
    assert (distances.min(), distances.max()) == pytest.approx((6.383, 8.000), abs=5e-4)


@pytest.mark.jit
def test_erratum_section_5_the_printed_momentum_falls_into_the_centre():
    _, _, r, _ = orbit(20_000, every=10, start=(*START[:3], np.array([1.0, 0.0, 0.0])))
    assert np.linalg.norm(r, axis=-1).min() < 1.0
    assert np.abs(np.cross(START[2], [1.0, 0.0, 0.0])).max() == 0.0


# LGVI's own equations, written with quaternions as it does


def potential_in_R4(x):
    """Return V as a function of (position, quaternion), the quaternion of any length."""
    return fields.point_masses(3).energy(x[3:] / np.linalg.norm(x[3:]), x[:3], *FIELD)


def paper_slopes(q, r):
    """Return dV/dx and F(q) dV/dq by central differences, F(q)^T v = q (0, v)."""
    x, d = np.concatenate([r, q]), 1e-5
    slopes = np.array([(potential_in_R4(x + d * e) - potential_in_R4(x - d * e)) / (2 * d) for e in np.eye(7)])
    F = np.column_stack([-q[1:], q[0] * np.eye(3) - lie.hat(q[1:])])
    return slopes[:3], F @ slopes[3:]


def test_a_step_fulfils_the_papers_hamiltonian_equations():
    """LGVI eq. (23), with w = 2 P."""
    h, (q_0, P_0, r_0, p_0) = 0.3, (Q0, *START[1:])
    step = potential.integrator(fields.point_masses(3)).step
    q_1, P_1, r_1, p_1 = step(q_0, P_0, r_0, p_0, TRIANGLE, NONE, 3.0, *FIELD, h)

    def leg(q_from, q_to):
        f = quaternion.mul(quaternion.conj(q_from), q_to)
        return 4.0 / h * (f[0] * np.eye(3) - lie.hat(f[1:])) @ TRIANGLE @ f[1:]

    (V_x0, V_q0), (V_x1, V_q1) = paper_slopes(q_0, r_0), paper_slopes(q_1, r_1)
    np.testing.assert_allclose(2.0 * P_0, -leg(q_1, q_0) + h / 2 * V_q0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(2.0 * P_1, leg(q_0, q_1) - h / 2 * V_q1, rtol=0, atol=1e-10)
    np.testing.assert_allclose(p_0, 3.0 * (r_1 - r_0) / h + h / 2 * V_x0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(p_1, 3.0 * (r_1 - r_0) / h - h / 2 * V_x1, rtol=0, atol=1e-10)


@pytest.mark.jit
@pytest.mark.parametrize(("sign", "gains"), [(-1.0, False), (+1.0, True)], ids=["right", "printed"])
def test_erratum_eqs_13_15_the_torque_has_a_minus_sign(sign, gains):
    """4 J xi' + 8 xi x J xi = -F(q) dV/dq conserves energy; with the printed + it does not, seen near the centre."""
    q, r = Q0, np.array([1.0, 0.3, -0.2])

    def rate(_, y):
        q, xi, r, p = np.split(y, [4, 7, 10])
        V_x, V_q = paper_slopes(q / np.linalg.norm(q), r)
        xi_rate = np.linalg.solve(4.0 * TRIANGLE, sign * V_q - 8.0 * np.cross(xi, TRIANGLE @ xi))
        return np.concatenate([quaternion.mul(q, np.array([0.0, *xi])), xi_rate, p / 3.0, -V_x])

    p = np.array([0.0, 1.0, 1.0])
    start = np.concatenate([q, 0.5 * np.linalg.solve(TRIANGLE, START[1]), r, p])
    q_1, xi, r_1, p_1 = np.split(solve_ivp(rate, (0.0, 0.5), start, rtol=1e-9, atol=1e-11).y[:, -1], [4, 7, 10])
    change = total_energy(q_1, 2.0 * TRIANGLE @ xi, r_1, p_1) - total_energy(q, START[1], r, p)
    assert (abs(change) > 1e-2) if gains else (abs(change) < 1e-7)


# A potential of the user's


@batched("(4),(3),(),(3)->()")
def spring(q_IB, r_I, stiffness, hook_B):
    """Return the energy of a spring from the origin to a point of the body."""
    x = r_I + quaternion.rotate(q_IB, hook_B)
    return 0.5 * stiffness * (x @ x)


@pytest.mark.jit
def test_an_energy_kernel_of_the_users_is_all_it_takes():
    hook = np.array([0.3, -0.1, 0.2])
    step = potential.integrator(fields.from_energy(spring)).step4
    moved = step.repeat(100, *STATE, *BODY, 2.0, hook, 0.02)

    def pull(R, r):
        force = -2.0 * (r + R @ hook)
        return np.cross(hook, R.T @ force), force

    assert distance(moved, exact(pull, STATE, *BODY, 2.0)) < 1e-6


@pytest.mark.jit
def test_the_lagrangian_side_takes_the_same_steps_as_the_hamiltonian_side():
    """LGVI eqs. (19), (22) against eq. (23), with wheels too."""
    steps, parameters = method("point masses")
    given = *BODY, *parameters, 0.02
    phi, d_I = steps.increment_start(*STATE, *given)
    q, r = STATE[0], STATE[2]
    momenta = STATE
    for _ in range(20):
        q, phi, r, d_I = steps.increment_step(q, phi, r, d_I, *given)
        momenta = steps.step(*momenta, *given)
    np.testing.assert_allclose(q, momenta[0], atol=1e-13)
    np.testing.assert_allclose(r, momenta[2], atol=1e-13)
