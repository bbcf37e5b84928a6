"""A body, its wheels, and a Kane damper: a ball of inertia J_D in a viscous fluid that fills a cavity of the body.

    P_B' = P_B x w + C (w_D - w) + tau        P_B = J w + rho       J is the body's inertia without the ball
    P_D' = P_D x w - C (w_D - w)              P_D = J_D w_D         all in body axes

A step turns body and ball by phi and gamma (`damper_equation`). `step1` is the paper's method: the whole viscous
impulse, 2 C (gamma - phi), acts at its start; first order in the damping. `step` has one half at the start and the
other, with gamma in the new axes, at the end: it is its own adjoint, hence second order. Both are exact in the momentum
of the whole.

Under stiff damping, h C >> J_D, slip dies out at once in `step1`, while in `step` it rings on with alternating sign, as
in the trapezoidal rule: start with the ball at rest in the body, or take one `step1` first.

`step4` is Suzuki's composition. Its third stage goes backwards by 0.658 h and feeds energy to the slip, which the
others take away again. That converges at order 4, but the stage has a solution only for h C (1/J_D + 1/J_1) < 3.04, J_1
the least inertia; beyond, the trial is lost. At two thirds of this limit it is still 20 times as accurate as `step` at
equal cost.

The error state is (a, dP_B, dP_D), q = q^ exp(a/2). h may be negative. |w| h and |w_D| h must stay below 1 rad; a trial
without a solution becomes NaN. Source: QVI section VIII.
"""

import numpy as np

from gnc.batch import batched, where
from gnc.integrators.composition import SUZUKI4, compose
from gnc.integrators.damper_equation import slopes, solve
from gnc.linalg import array, block, cross, identity, skew, zeros
from gnc.quaternion import inverse_rotate, mul, to_matrix

PAPER, SYMMETRIC = 1.0, 0.5  # the part of the viscous impulse that acts at the start of a step


def _solve(P_B, P_D, J, J_D, C, rho_B, part, h):
    half = 0.5 * h
    return solve(half * P_B, half * P_D, J, J_D, part * h * C, half * rho_B)


def _move(q_IB, P_B, P_D, phi, gamma, J, C, rho_B, part, h):
    """Return the state after a drift of increments phi, gamma; adding to momenta loses less than computing them anew.

    Erratum: the paper rotates the damper's momentum "by f_k"; into the new body axes it is by the inverse, R(f)^T
    (test_erratum_the_dampers_momentum_is_rotated_by_the_inverse).
    """
    f = array([np.sqrt(1.0 - phi @ phi), *phi])
    turn = cross(phi, J @ phi + (0.5 * h) * rho_B) * (4.0 / where(h == 0.0, 1.0, h))
    first = (2.0 * part * C) * (gamma - phi)
    last = (2.0 * (1.0 - part) * C) * (inverse_rotate(f, gamma) - phi)
    return mul(q_IB, f), P_B + first - turn + last, inverse_rotate(f, P_D - first) - last


def _step(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, part, h):
    """Kick, drift, kick."""
    kick = (0.5 * h) * tau_B
    P_B = P_B + kick
    phi, gamma = _solve(P_B, P_D, J, J_D, C, rho_B, part, h)
    q_IB, P_B, P_D = _move(q_IB, P_B, P_D, phi, gamma, J, C, rho_B, part, h)
    return q_IB, P_B + kick, P_D


@batched("(4),(3),(3),(3),(3,3),(),(),(3),()->(4),(3),(3)")
def step1(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, h):
    """Take the paper's step, first order in the damping, under a torque that is constant in body axes.

    Source: QVI eqs. (65) to (67), in momentum form.
    """
    return _step(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, PAPER, h)


@batched("(4),(3),(3),(3),(3,3),(),(),(3),()->(4),(3),(3)")
def step(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, h):
    """Take a step of second order under a torque that is constant in body axes.

    Source: QVI eqs. (65) to (67), the viscous impulse divided between the ends of the step.
    """
    return _step(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, SYMMETRIC, h)


def _transition(P_B, P_D, phi, gamma, J, J_D, C, rho_B, part, h):
    """Return F of a drift, [[R(f)^T, B dphi], [0, d(P_B', P_D')]] with B = 2 (s 1 + phi phi^T/s - [phi]).

    The momenta end as P_B' = R(f)^T (P_B + first) + last and P_D' = R(f)^T (P_D - first) - last, and a turn b of the
    body changes R(f)^T v by (R(f)^T v) x b.
    """
    half = 0.5 * h
    d_phi, d_gamma = (half * d for d in slopes(phi, gamma, J, J_D, part * h * C, half * rho_B))
    s = np.sqrt(1.0 - phi @ phi)
    f = array([s, *phi])
    R_T, first, d_first = to_matrix(f).T, (2.0 * part * C) * (gamma - phi), (2.0 * part * C) * (d_gamma - d_phi)
    turn = 2.0 * (s * identity(3) + np.outer(phi, phi / s) - skew(phi)) @ d_phi

    def rotated(v, d_v):
        return R_T @ d_v + skew(R_T @ v) @ turn

    d_last = (2.0 * (1.0 - part) * C) * (rotated(gamma, d_gamma) - d_phi)
    d_B = rotated(P_B + first, identity(6)[:3] + d_first) + d_last
    d_D = rotated(P_D - first, identity(6)[3:] - d_first) - d_last
    return block([[R_T, turn], [zeros(3, 3), d_B], [zeros(3, 3), d_D]])


def _step_jacobian(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, part, h):
    half = 0.5 * h
    P_B = P_B + half * tau_B
    phi, gamma = _solve(P_B, P_D, J, J_D, C, rho_B, part, h)
    F = _transition(P_B, P_D, phi, gamma, J, J_D, C, rho_B, part, h)
    q_IB, P_B, P_D = _move(q_IB, P_B, P_D, phi, gamma, J, C, rho_B, part, h)
    return q_IB, P_B + half * tau_B, P_D, F, half * (F[:, 3:6] + identity(9)[:, 3:6])


@batched("(4),(3),(3),(3),(3,3),(),(),(3),()->(4),(3),(3),(9,9),(9,3)")
def step1_jacobian(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, h):
    """Return what `step1` does, its exact Jacobian F, and G with respect to the torque."""
    return _step_jacobian(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, PAPER, h)


@batched("(4),(3),(3),(3),(3,3),(),(),(3),()->(4),(3),(3),(9,9),(9,3)")
def step_jacobian(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, h):
    """Return what `step` does, its exact Jacobian F, and G with respect to the torque. Source: QVI eqs. (38), (69)."""
    return _step_jacobian(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, SYMMETRIC, h)


step4, step4_jacobian = compose(step, step_jacobian, SUZUKI4, name="step4")
