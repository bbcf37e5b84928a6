"""The variational integrator of the rigid body and the gyrostat (QVI), in momentum form.

State: attitude q_IB and total angular momentum P_B = J w_B + rho_B in body axes. rho_B is the momentum of the wheels: 0
for a rigid body, and otherwise that of the interval (its midpoint or mean; the value at a node makes the method first
order). A step is a half kick by the torque, a drift, a half kick; the drift solves the balance of `qvi_equation`:

    P_k = s v + phi x v,  v = J w + rho,  w = 2 phi/h;      q_{k+1} = q_k (s, phi);      P_{k+1} = P_k - 2 phi x v

It is symplectic, symmetric (h may be negative), of second order, exact in spatial momentum, and for a rigid body in
energy, which with wheels swings but does not drift. What it gets wrong is the phase: 9 deg within 20 s, 106 deg within
200 s at 1.1 rad/s and h = 0.2 s. `step4` is of fourth order.

A solution exists for (|w| + |rho|/J_min) |h| < 1 rad (QVI's 180 deg is too much); other trials become NaN. `substeps`
divides steps. The error state is (a, dP), q = q^ exp(a/2); F and G are exact.
"""

import math

import numpy as np

from gnc.batch import batched, where
from gnc.integrators.composition import SUZUKI4, compose, kick_drift_kick
from gnc.integrators.qvi_equation import slope, solve
from gnc.linalg import array, block, cross, identity, inv3, skew, zeros
from gnc.quaternion import conj, mul, to_matrix


def _move(q_IB, P_B, phi, s, v):
    """Return the state at the end of an interval.

    The momentum by its change: QVI's 2/h times the trailing form keeps the rounding of 2/h in every step and drifts a
    hundred times faster (test_the_momentum_drifts_less_by_its_change).
    """
    return mul(q_IB, array([s, *phi])), where(s > 0.0, P_B - 2.0 * cross(phi, v), math.nan)


@batched("(4),(3),(3,3),(3),()->(4),(3)")
def drift(q_IB, P_B, J, rho_B, h):
    """Move a free body with its wheels. Source: QVI eqs. (33), (49), in momentum form by eqs. (36), (37)."""
    return _move(q_IB, P_B, *solve(P_B, J, rho_B, h))


def turn_slope(phi, s):
    """Return half of da/dphi in f(phi + dphi) = f(phi) exp(a/2): s 1 + phi phi^T/s - [phi], inverse of s 1 + [phi]."""
    return s * identity(3) + np.outer(phi, phi * (1.0 / s)) - skew(phi)


@batched("(4),(3),(3,3),(3),()->(4),(3),(6,6)")
def drift_jacobian(q_IB, P_B, J, rho_B, h):
    """Return what `drift` does, and its exact Jacobian F.

    F = [[C, B], [0, C + [P_{k+1}] B]],    C = R(f)^T,    B = h (s 1 + phi phi^T/s - [phi]) (d P_k/d w)^-1

    since P_{k+1} = C P_k, and turning f by B dP_k adds [P_{k+1}] B dP_k to it. The last block is also the slope of the
    trailing times the inverse slope of the leading momentum. Source: QVI eqs. (38), (69).
    """
    phi, s, v = solve(P_B, J, rho_B, h)
    q_next, P_next = _move(q_IB, P_B, phi, s, v)
    C = to_matrix(conj(array([s, *phi])))
    B = turn_slope(phi, s) @ (h * inv3(slope(phi, s, v, J, h)))
    return q_next, P_next, block([[C, B], [zeros(3, 3), C + skew(P_next) @ B]])


step, step_jacobian = kick_drift_kick(drift, drift_jacobian)
drift4, drift4_jacobian = compose(drift, drift_jacobian, SUZUKI4, name="drift4")
step4, step4_jacobian = compose(step, step_jacobian, SUZUKI4, name="step4")
