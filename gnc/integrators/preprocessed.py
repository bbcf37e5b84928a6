"""The preprocessed discrete Moser-Veselov step of a free rigid body: fourth order for one solve of QVI's equation.

QVI's free step moves the body on its true path in phase space, but at a wrong pace. With another inertia, chosen by the
energy T and the square of the momentum, the pace is right to fourth order:

    Jm^-1 = (1 + h^2 s) J^-1 + h^2 d 1,      c = P.P/2,  T = P.J^-1 P/2
    s = -tr(J^-1) T/3 + tr(J) c/(6 det J)    d = tr(J) T/(6 det J) - c/(3 det J)

T and c are conserved exactly, so Jm is too. No principal axes are needed: traces and the determinant do not care. The
spatial momentum is exact, and the momentum's own motion preserves areas; of attitude and momentum together the step is
symplectic only to its order, as its inertia changes from orbit to orbit. There are no wheels: with rho_B other than
zero the trial becomes NaN. A torque enters by half kicks around the step, second order, its error proportional to the
torque. The step limit is that of `qvi`.
Source: Hairer and Vilmart, "Preprocessed discrete Moser-Veselov algorithm for the full dynamics of a rigid body",
J. Phys. A 39 (2006) 13225, truncated after h^2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnc.batch import batched, where
from gnc.integrators.composition import kick_drift_kick
from gnc.integrators.qvi import slope, solve, turn_slope
from gnc.linalg import array, block, cross, det3, identity, inv3, skew, zeros
from gnc.quaternion import conj, mul, to_matrix
from gnc.typing import Array


@batched("(3),(3,3),()->(3,3),(3),(3)")
def modified_inertia(P_B, J, h):
    """Return Jm, and h^2 times the derivatives of s and d with respect to P."""
    K, square, per_det = inv3(J), h * h, 1.0 / det3(J)
    w = K @ P_B
    T, c = 0.5 * (P_B @ w), 0.5 * (P_B @ P_B)
    a, b, e = _trace(K) * (-1.0 / 3.0), _trace(J) * per_det * (1.0 / 6.0), per_det * (-1.0 / 3.0)
    s, d = a * T + b * c, b * T + e * c
    Jm = inv3((1.0 + square * s) * K + (square * d) * identity(3))
    return Jm, square * (a * w + b * P_B), square * (b * w + e * P_B)


@batched("(4),(3),(3,3),(3),()->(4),(3)")
def drift(q_IB, P_B, J, rho_B, h):
    """Move a free body; the wheels' momentum must be zero."""
    Jm, _, _ = modified_inertia(P_B, J, h)
    return _move(q_IB, P_B, *solve(_without_wheels(P_B, rho_B), Jm, zeros(3), h))


@batched("(4),(3),(3,3),(3),()->(4),(3),(6,6)")
def drift_jacobian(q_IB, P_B, J, rho_B, h):
    """Return what `drift` does, and its exact Jacobian F.

    As in `qvi.drift_jacobian`, F = [[C, B], [0, C + [P_1] B]]. At a given rate w the momentum v = Jm w depends on P by
    V = dv/dP = -Jm (J^-1 v ds^T + v dd^T) h^2, so that B = B_qvi (1 - (s 1 + [phi]) V).
    """
    Jm, ds, dd = modified_inertia(P_B, J, h)
    phi, s, v = solve(_without_wheels(P_B, rho_B), Jm, zeros(3), h)
    q_1, P_1 = _move(q_IB, P_B, phi, s, v)
    V = -Jm @ (np.outer(inv3(J) @ v, ds) + np.outer(v, dd))
    B = turn_slope(phi, s) @ (h * inv3(slope(phi, s, v, Jm, h)))
    B = B @ (identity(3) - (s * identity(3) + skew(phi)) @ V)
    C = to_matrix(conj(array([s, *phi])))
    return q_1, P_1, block([[C, B], [zeros(3, 3), C + skew(P_1) @ B]])


step, step_jacobian = kick_drift_kick(drift, drift_jacobian)


def _trace(A: Array) -> Any:
    return A[0, 0] + A[1, 1] + A[2, 2]


def _without_wheels(P_B: Array, rho_B: Array) -> Array:
    return where(rho_B @ rho_B == 0.0, P_B, math.nan)


def _move(q_IB: Array, P_B: Array, phi: Array, s: Any, v: Array) -> tuple[Array, Array]:
    """Turn by f = (s, phi); the momentum by its change, which drifts least."""
    return mul(q_IB, array([s, *phi])), where(s > 0.0, P_B - 2.0 * cross(phi, v), math.nan)
