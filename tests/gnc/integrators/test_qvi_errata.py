"""Where QVI's printed equations are wrong: each printed form fails what the right one meets."""

import numpy as np

from gnc.integrators import qvi_increment
from gnc.integrators.qvi import increment, leading_momentum, leading_slope, trailing_momentum, trailing_slope
from gnc.lie import hat
from gnc.quaternion import conj, exp, mul
from tests.gnc.integrators.gyrostat import NONE, RHO, TAU, W0, J, exact, order

H = 0.3
PHI, PHI_NEXT = np.array([0.12, -0.2, 0.15]), np.array([-0.1, 0.18, 0.22])
J4 = np.block([[np.zeros((1, 1)), np.zeros((1, 3))], [np.zeros((3, 1)), J]])  # augmented: QVI eq. (12), scalar first


def turn(phi):
    return np.array([np.sqrt(1.0 - phi @ phi), *phi])


def discrete_lagrangian(q_0, q_1):
    """QVI eq. (25)."""
    f = mul(conj(q_0), q_1)
    return 2.0 / H * f @ J4 @ f


def slope_along(function, eps=1e-5):
    """Return the derivative of a function of an error vector at zero."""
    return np.array([(function(eps * e) - function(-eps * e)) / (2.0 * eps) for e in np.eye(3)])


def test_erratum_29_30_62_each_term_has_its_own_increment():
    """Vary the node between two increments, q_k exp(eta): the action changes by the corrected sum, not the printed."""
    f_0, f_1 = turn(PHI), turn(PHI_NEXT)
    q_1, q_2 = f_0, mul(f_0, f_1)
    start = np.array([1.0, 0, 0, 0])

    def action(eta):
        varied = mul(q_1, exp(2.0 * eta))
        return discrete_lagrangian(start, varied) + discrete_lagrangian(varied, q_2)

    units = [np.array([0.0, *e]) for e in np.eye(3)]
    printed = [4.0 / H * f_0 @ J4 @ (mul(f_0, eta) - mul(eta, f_1)) for eta in units]
    right = [4.0 / H * (f_0 @ J4 @ mul(f_0, eta) - f_1 @ J4 @ mul(eta, f_1)) for eta in units]
    assert np.max(np.abs(slope_along(action) - right)) < 1e-8
    assert np.max(np.abs(slope_along(action) - printed)) > 0.1
    balance = trailing_momentum(PHI, J, NONE, H) - leading_momentum(PHI_NEXT, J, NONE, H)
    assert np.max(np.abs(2.0 * balance - right)) < 1e-14  # eta is half an angle


def test_erratum_36_37_the_factor_multiplies_both_terms():
    """The momenta are the slopes of the Lagrangian at the two ends of the same increment: leading +, trailing -."""
    q_0, q_1 = np.array([1.0, 0, 0, 0]), turn(PHI)
    start = -slope_along(lambda a: discrete_lagrangian(mul(q_0, exp(a)), q_1))
    end = slope_along(lambda a: discrete_lagrangian(q_0, mul(q_1, exp(a))))
    assert np.max(np.abs(leading_momentum(PHI, J, NONE, H) - start)) < 1e-8
    assert np.max(np.abs(trailing_momentum(PHI, J, NONE, H) - end)) < 1e-8
    along, across = turn(PHI)[0] * J @ PHI, np.cross(PHI, J @ PHI)
    for value in (start, end):
        for printed in (2.0 / H * along - across, 2.0 / H * along + across):
            assert np.max(np.abs(printed - value)) > 0.05
    assert np.max(np.abs(2.0 / H * (along - across) - start)) > 0.05  # the labels of (36) and (37) are swapped


def test_erratum_50_the_bracket_holds_all_six_terms():
    s, outer = turn(PHI)[0], np.outer(RHO, PHI)
    printed = 2.0 / H * (s * J - np.outer(J @ PHI, PHI) / s + hat(PHI) @ J)
    printed = printed - hat(J @ PHI) - H / 2.0 * outer / s - H / 2.0 * hat(RHO)
    difference = slope_along(lambda x: leading_momentum(PHI + x, J, RHO, H)).T
    assert np.max(np.abs(leading_slope(PHI, J, RHO, H) - difference)) < 1e-8
    assert np.max(np.abs(printed - difference)) > 0.1


def test_erratum_63_the_torque_belongs_to_the_side_of_k():
    """With the printed sign the torque acts backwards; the right one makes a method of second order."""
    T, steps = 2.0, np.array([40, 80, 160])
    _, P_T = exact(np.array([1.0, 0, 0, 0]), W0, J, lambda t: TAU, lambda t: NONE, T)

    def final_error(n, sign):
        h = T / n
        phi = increment(J @ W0 + 0.5 * h * TAU, J, NONE, h)
        phi = qvi_increment.increment_step.repeat(n - 1, phi, sign * TAU, J, NONE, NONE, h)
        return np.linalg.norm(trailing_momentum(phi, J, NONE, h) + 0.5 * h * TAU - P_T)

    assert abs(order(steps, [final_error(n, 1.0) for n in steps]) - 2.0) < 0.05
    assert final_error(160, -1.0) > 0.3


def test_erratum_69_the_second_factor_is_the_trailing_slope():
    phi_next, A, _ = qvi_increment.increment_jacobian(PHI, TAU, J, RHO, RHO, H)
    difference = slope_along(lambda x: qvi_increment.increment_step(PHI + x, TAU, J, RHO, RHO, H)).T
    assert np.max(np.abs(A - difference)) < 1e-8
    inverse = np.linalg.inv(leading_slope(phi_next, J, RHO, H))
    assert np.max(np.abs(inverse @ trailing_slope(PHI, J, RHO, H) - difference)) < 1e-8
    assert np.max(np.abs(inverse @ leading_slope(PHI, J, RHO, H) - difference)) > 0.1


def test_erratum_a_step_is_limited_to_90_and_not_180_deg():
    """QVI section IV asks for less than 180 deg; a principal spin has sin(turn) = |w| h, so ends at 90 deg."""
    spin = np.array([0.0, 0.0, 1.0])
    J = np.diag([1.0, 2.0, 3.0])
    momenta = [np.linalg.norm(leading_momentum(np.sin(0.5 * x) * spin, J, NONE, H)) for x in np.linspace(0, 3.1, 3101)]
    assert np.max(momenta) * H / 3.0 <= 1.0 + 1e-15
    assert abs(np.linspace(0, 3.1, 3101)[np.argmax(momenta)] - 0.5 * np.pi) < 1e-3
    assert np.all(np.isfinite(increment(0.99 * 3.0 / H * spin, J, NONE, H)))
    assert np.all(np.isnan(increment(1.01 * 3.0 / H * spin, J, NONE, H)))
