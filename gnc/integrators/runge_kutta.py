"""The comparators of QVI: explicit Runge-Kutta steps of the attitude, with their own transition matrices.

    q' = q w/2,   P' = P x w + tau,   w = J^-1 (P - rho)        arguments and results as in `qvi.step`

`midpoint` is of second order, `rk4` of fourth; `rk4_normalized` brings q back to unit length after each step. They
conserve neither momentum nor energy. As q' is linear in q, a step multiplies q by an f that does not depend on q: the
same rule applied to q = 1. The Jacobians are those of the steps themselves, f and P by forward mode:

    F = [[R(f)^T, B], [0, dP'/dP]],  B = 2 vec(f* df/dP)/|f|^2

|f| is not quite 1; the error a of q = q^ exp(a/2) is what is left of it after normalising, so that `rk4` and
`rk4_normalized` share their F. Source: QVI section IX.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnc.batch import Kernel, batched, jacobian
from gnc.linalg import array, block, cross, inv3, zeros
from gnc.quaternion import conj, derivative, left_matrix, mul, normalize, to_matrix
from gnc.typing import Array

Rule = Callable[[Callable[[Array], Array], Array, Array], Array]


def _midpoint_rule(rate, y, h):
    return y + h * rate(y + (0.5 * h) * rate(y))


def classical(rate, y, h):
    """Take one classical step of fourth order of y' = rate(y)."""
    k1 = rate(y)
    k2 = rate(y + (0.5 * h) * k1)
    k3 = rate(y + (0.5 * h) * k2)
    k4 = rate(y + h * k3)
    return y + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)


def _turn(rule: Rule) -> Kernel:
    """Return the kernel of the turn f during a step, and the momentum after it."""

    @batched("(3),(3),(3,3),(3),()->(4),(3)")
    def turn(P_B, tau_B, J, rho_B, h):
        J_inverse = inv3(J)

        def rate(y):
            w_B = J_inverse @ (y[4:] - rho_B)
            return np.concatenate([derivative(y[:4], w_B), cross(y[4:], w_B) + tau_B])

        y = rule(rate, array([1.0, 0.0, 0.0, 0.0, *P_B]), h)
        return y[:4], y[4:]

    return turn


def _steps(rule: Rule, name: str, doc: str, normalized: bool = False) -> tuple[Kernel, Kernel]:
    """Return a step by a rule and the same with its Jacobians, under a name and the same with `_jacobian`."""
    turn, end = _turn(rule), normalize if normalized else lambda q: q
    slopes = jacobian(turn, ("P_B", "tau_B"), value=True)

    def step(q_IB, P_B, tau_B, J, rho_B, h):
        f, P_B = turn(P_B, tau_B, J, rho_B, h)
        return end(mul(q_IB, f)), P_B

    def step_jacobian(q_IB, P_B, tau_B, J, rho_B, h):
        f, P_B, f_P, f_tau, P_P, P_tau = slopes(P_B, tau_B, J, rho_B, h)
        to_error = left_matrix(conj(f))[1:] * (2.0 / (f @ f))
        F = block([[to_matrix(conj(normalize(f))), to_error @ f_P], [zeros(3, 3), P_P]])
        return end(mul(q_IB, f)), P_B, F, np.concatenate([to_error @ f_tau, P_tau])

    given = "(4),(3),(3),(3,3),(3),()"
    step.__name__ = step.__qualname__ = name
    step_jacobian.__name__ = step_jacobian.__qualname__ = f"{name}_jacobian"
    step.__doc__, step_jacobian.__doc__ = doc, f"{doc} With its Jacobians F and G."
    return batched(f"{given}->(4),(3)")(step), batched(f"{given}->(4),(3),(6,6),(6,3)")(step_jacobian)


midpoint, midpoint_jacobian = _steps(_midpoint_rule, "midpoint", "Take one step of the explicit midpoint rule.")
rk4, rk4_jacobian = _steps(classical, "rk4", "Take one classical step of fourth order; |q| drifts.")
rk4_normalized, rk4_normalized_jacobian = _steps(
    classical,
    "rk4_normalized",
    "Take one classical step of fourth order, the quaternion normalised.",
    normalized=True,
)
