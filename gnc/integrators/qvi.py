"""The variational integrator of the rigid body and the gyrostat (QVI), in momentum form.

State: attitude q_IB and total angular momentum P_B = J w_B + rho_B in body axes. rho_B is the momentum of the wheels: 0
for a rigid body, and otherwise that of the interval (its midpoint or mean; the value at a node makes the method first
order). A step is a half kick by the torque, a drift, a half kick; the drift solves the balance of momenta below:

    P_k = s v + phi x v,  v = J w + rho,  w = 2 phi/h;      q_{k+1} = q_k (s, phi);      P_{k+1} = P_k - 2 phi x v

It is symplectic, symmetric (h may be negative), of second order, exact in spatial momentum, and for a rigid body in
energy, which with wheels swings but does not drift. What it gets wrong is the phase: 9 deg within 20 s, 106 deg within
200 s at 1.1 rad/s and h = 0.2 s. `step4` is of fourth order.

A solution exists for (|w| + |rho|/J_min) |h| < 1 rad (QVI's 180 deg is too much); other trials become NaN. `substeps`
divides steps. The error state is (a, dP), q = q^ exp(a/2); F and G are exact.

The momentum balance of QVI: what a turn over one interval means for the momenta at its two ends.

A body with inertia J and wheels of momentum rho_B turns by f = conj(q_k) q_{k+1} = (s, phi), s = sqrt(1 - phi.phi), at
the discrete rate w = 2 phi/h (QVI eq. (24)). With v = J w + rho the ends of the interval have the total momenta

    leading   P_k     = s v + phi x v        its slope d P_k/d phi is (2/h) K(phi, rho)
    trailing  P_{k+1} = s v - phi x v        its slope is (2/h) K(-phi, -rho)

(v is 2/h times the J phi + (h/2) rho of QVI.) A step solves the first for the turn. In terms of w nothing is divided
by h, so that h = 0 needs no care.

Erratum: in eqs. (36), (37) 2/h belongs to both terms and the labels are swapped
(test_erratum_36_37_the_factor_multiplies_both_terms); eqs. (29), (30), (62), from which they follow, mix f_{k-1} and
f_k (test_erratum_29_30_62_each_term_has_its_own_increment).
"""

import math

import numpy as np

from gnc.batch import batched, precise, where
from gnc.integrators.composition import SUZUKI4, compose, kick_drift_kick
from gnc.linalg import array, block, cross, det3, identity, inv3, mirrored, skew, solve3, zeros
from gnc.quaternion import conj, mul, to_matrix

INVERSES, USES = 3, 2  # round-off up to 0.9 rad per step: test_newton_reaches_round_off_up_to_0_9_rad
BALANCED = precise(1e-11**2, 1e-11)  # square of a balance, relative to those of |P| and |rho|
LONGEST = 0.7072  # |phi| of a quarter turn: beyond, a principal spin has no solution


def turn(w, J, rho_B, h):
    """Return phi, s and v of a discrete rate."""
    phi = (0.5 * h) * w
    return phi, np.sqrt(1.0 - phi @ phi), J @ w + rho_B


def slope(phi, s, v, J, h):
    """Return d P_k/d w = (s 1 + [phi]) J - (h/2) (v phi^T/s + [v]). Source: QVI eqs. (38), (50), times h/2.

    Erratum: in eq. (50) all six terms belong inside the bracket (test_erratum_50_the_bracket_holds_all_six_terms).
    """
    u = (0.5 * h) * v
    return (s * identity(3) + skew(phi)) @ J - np.outer(u, phi * (1.0 / s)) - skew(u)


def solve(P_B, J, rho_B, h):
    """Return phi, s and v of the interval that starts with momentum P; s is NaN where there is no solution.

    Newton's method with each inverse used twice: third order, for the price of a second residual.
    """
    J = mirrored(J)
    w = _guess(P_B, J, rho_B, h)
    for _ in range(INVERSES):
        phi, s, v = turn(w, J, rho_B, h)
        K = slope(phi, s, v, J, h)
        for _ in range(USES):
            phi, s, v = turn(w, J, rho_B, h)
            w = w - solve3(K, s * v + cross(phi, v) - P_B)
    phi, s, v = turn(w, J, rho_B, h)
    error = s * v + cross(phi, v) - P_B
    balanced = error @ error <= BALANCED * (P_B @ P_B + rho_B @ rho_B)
    return phi, where(balanced & (phi @ phi < LONGEST**2) & (det3(K) > 0.0), s, math.nan), v


def _guess(P_B, J, rho_B, h):
    """Return w from J w = (P - phi x P)/s - rho at phi = (h/2) J^-1 (P - rho), with the s of a principal spin.

    There s |phi| = x^(1/2), x = |J^-1 (P - rho) h/2|^2, whence 1/s = 1 + x/2 + 7/8 x^2 + 33/16 x^3 ...
    """
    phi = (0.5 * h) * solve3(J, P_B - rho_B)
    x = phi @ phi
    return solve3(J, (P_B - cross(phi, P_B)) * (1.0 + x * (0.5 + x * (7 / 8 + x * (33 / 16)))) - rho_B)


# The two discrete Legendre transforms, their slopes, and the inverse of the first, in terms of the increment phi.


@batched("(3),(3,3),(3),()->(3)")
def leading_momentum(phi, J, rho_B, h):
    """Return P_k at the start of the increment. Source: QVI eqs. (37), (49)."""
    phi, s, v = turn(phi * (2.0 / h), J, rho_B, h)
    return s * v + cross(phi, v)


@batched("(3),(3,3),(3),()->(3)")
def trailing_momentum(phi, J, rho_B, h):
    """Return P_{k+1} at the end of the increment. Source: QVI eqs. (36), (49)."""
    return -leading_momentum(-phi, J, -rho_B, h)


@batched("(3),(3,3),(3),()->(3,3)")
def leading_slope(phi, J, rho_B, h):
    """Return d P_k/d phi = (2/h) K(phi, rho). Source: QVI eqs. (38), (50)."""
    phi, s, v = turn(phi * (2.0 / h), J, rho_B, h)
    return (2.0 / h) * slope(phi, s, v, J, h)


@batched("(3),(3,3),(3),()->(3,3)")
def trailing_slope(phi, J, rho_B, h):
    """Return d P_{k+1}/d phi = (2/h) K(-phi, -rho): as `leading_slope`, for QVI eq. (36)."""
    return leading_slope(-phi, J, -rho_B, h)


@batched("(3),(3,3),(3),()->(3)")
def increment(P_B, J, rho_B, h):
    """Return the increment that starts with momentum P, the inverse of `leading_momentum`, or NaN."""
    phi, s, _ = solve(P_B, J, rho_B, h)
    return where(s > 0.0, phi, math.nan)


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
