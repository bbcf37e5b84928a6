"""The equation that DQVI solves at every step, and its Newton solver.

A step moves the pose by the dual quaternion f(x) of six numbers x = (Phi, Psi), about half of h times the twist:

    f(x) = (f0, Phi) + eps (fb, Psi)        f0 = sqrt(1 - Phi.Phi), fb = -(Psi.Phi)/f0
    g(x) = A, B of eqs. (39), (40)          h/2 times the momentum at the start, before the step
    -g(-x)                                  h/2 times the momentum at the end, after the step

`filler` is what stands in the dual-scalar slot of the 8x8 inertia. DQVI prints 0: then the discrete kinetic energy
lacks the part m fb^2 of the motion along the axis of rotation, a body that turns while its centre of mass moves does
not fly straight, and where it moves far in one step there is no solution. With the body's mass the method is QVI about
the centre of mass and a uniform motion of the centre of mass, seen from any reference point, and Newton's method takes
as many iterations as QVI's. For an M that is no rigid body's (added mass) 0 is the meaningful value. Momentum is exact
and the choice of the reference point does not matter in either form.

Erratum: DQVI Remark 3 takes the fillers for arbitrary (test_erratum_remark_3_the_filler_is_not_arbitrary).
"""

import contextvars
import functools
import math
from typing import NamedTuple

import numpy as np

from gnc import spatial
from gnc.batch import Kernel, batched, precise, where
from gnc.linalg import array, block, cross, det3, identity, inv3, skew, solve3, zeros

LARGEST_PHI = 0.7072  # |Phi| of a quarter turn and a little: beyond it lie other solutions than the one sought


def _scalars(x):
    """Return f0, fb and Phi/f0."""
    f0 = np.sqrt(1.0 - x[:3] @ x[:3])
    p = x[:3] * (1.0 / f0)
    return f0, -(x[3:] @ p), p


@batched("(6)->(8)")
def increment(x):
    """Return the dual quaternion f(x) of a step, p_{k+1} = p_k f(x_k). Source: DQVI eq. (37)."""
    f0, fb, _ = _scalars(x)
    return array([f0, *x[:3], fb, *x[3:]])


@batched("(6)->(6,6)")
def increment_jacobian(x):
    """Return E with f(x)^-1 f(x + dx) = exp(E dx) to first order: the pose error it makes is 2 E dx."""
    Phi, Psi = x[:3], x[3:]
    f0, fb, p = _scalars(x)
    E1 = f0 * identity(3) - skew(Phi) + np.outer(Phi, p)
    E2 = fb * identity(3) - skew(Psi) + np.outer(Psi, p) - np.outer(Phi, _scalar_slope(x))
    return block([[E1, zeros(3, 3)], [E2, E1]])


@batched("(6)->(6,6)")
def increment_change(x):
    """Return (2 E)^-1, the change of the increment that makes a pose error: dx = (2 E)^-1 xi, from f exp(xi/2)."""
    f0, fb, _ = _scalars(x)
    turn, shift = f0 * identity(3) + skew(x[:3]), fb * identity(3) + skew(x[3:])
    return 0.5 * block([[turn, zeros(3, 3)], [shift, turn]])


def _scalar_slope(x):
    """Return c = d fb/d Phi; d fb/d Psi is -Phi/f0."""
    f0, fb, p = _scalars(x)
    return (fb * p - x[3:]) * (1.0 / f0)


def momentum_parts(x, M, filler):
    """Return the odd and the even part of g, for use in kernels: g(x) is their sum, -g(-x) their difference."""
    Phi, Psi = x[:3], x[3:]
    f0, fb, _ = _scalars(x)
    z = M @ x
    za, zb = z[:3], z[3:]
    odd = np.concatenate([f0 * za + fb * (zb - filler * Psi), f0 * zb - (filler * fb) * Phi])
    return odd, np.concatenate([cross(Phi, za) + cross(Psi, zb), cross(Phi, zb)])


@batched("(6),(6,6),()->(6)")
def momentum(x, M, filler):
    """Return g(x), h/2 times the momentum with which a step of increment x begins.

    A = (f0 + S(Phi)) za + (fb + S(Psi)) zb - m fb Psi, B = (f0 + S(Phi)) zb - m fb Phi, (za, zb) = M x, m the filler.
    Source: DQVI eqs. (39), (40), there with m = 0.
    """
    odd, even = momentum_parts(x, M, filler)
    return odd + even


@batched("(6),(6,6),()->(6)")
def trailing_momentum(x, M, filler):
    """Return -g(-x), h/2 times the momentum with which a step of increment x ends. Source: DQVI eqs. (41), (42)."""
    odd, even = momentum_parts(x, M, filler)
    return odd - even


def momentum_slopes(x, M, filler):
    """Return the derivatives of the odd and the even part of g, for use in kernels."""
    Phi, Psi = x[:3], x[3:]
    f0, fb, p = _scalars(x)
    z, c = M @ x, _scalar_slope(x)
    za, zb, scalar = z[:3], z[3:], (filler * fb) * identity(3)
    free, slot = zb - filler * Psi, filler * Phi
    M11, M12, M21, M22 = M[:3, :3], M[:3, 3:], M[3:, :3], M[3:, 3:]
    A_by_Phi = f0 * M11 + fb * M21 + np.outer(free, c) - np.outer(za, p)
    A_by_Psi = f0 * M12 + fb * M22 - np.outer(free, p) - scalar
    B_by_Phi = f0 * M21 - np.outer(slot, c) - np.outer(zb, p) - scalar
    B_by_Psi = f0 * M22 + np.outer(slot, p)
    turn = block([[skew(Phi), skew(Psi)], [zeros(3, 3), skew(Phi)]])
    even = turn @ M - block([[skew(za), skew(zb)], [skew(zb), zeros(3, 3)]])
    return block([[A_by_Phi, A_by_Psi], [B_by_Phi, B_by_Psi]]), even


@batched("(6),(6,6),()->(6,6)")
def momentum_jacobian(x, M, filler):
    """Return J(x) = dg/dx; the derivative of the trailing momentum -g(-x) is J(-x). Source: DQVI eqs. (49) to (53)."""
    odd, even = momentum_slopes(x, M, filler)
    return odd + even


def solve_blocks(A, b):
    """Solve A y = b, 6x6, b a vector or a matrix, by 3x3 blocks.

    For J(x): its lower right block D M22 + m Phi Phi^T/f0 is never singular, whereas single pivots may vanish.
    """
    D_inverse = inv3(A[3:, 3:])
    X, y = D_inverse @ A[3:, :3], D_inverse @ b[3:]
    top = solve3(A[:3, :3] - A[:3, 3:] @ X, b[:3] - A[:3, 3:] @ y)
    return np.concatenate([top, y - X @ top])


class Newton(NamedTuple):
    """How g(x) = target is solved: Newton's method, with uses of a Jacobian in place of new ones.

    The rule of all steps finds what four plain iterations find, and more, in an eighth fewer operations of a step: once
    J(0) = M, whose inverse a step has anyway, then two Jacobians, three times each (fourth order).
    """

    at_rest: int = 1  # uses of J(0)
    iterations: int = 2  # further Jacobians
    uses: int = 3  # of each of these
    tolerance: float = 1e-11  # of the residual, relative; infinite: results are taken as they come, as in DQVI
    adaptive: bool = False  # a trial below the tolerance is left as it is
    lengths: tuple[float, ...] = (1.0,)  # parts of a Newton step of which the best is taken: damped if several


USUAL = Newton()
precise(USUAL.tolerance**2, 1e-11)
DAMPED = tuple(2.0**-k for k in range(5))
_newton: contextvars.ContextVar[Newton] = contextvars.ContextVar("newton", default=USUAL)


def with_newton(
    kernel: Kernel,
    iterations: int,
    tolerance: float = 1e-11,
    adaptive: bool = False,
    lengths: tuple[float, ...] = (1.0,),
) -> Kernel:
    """Return a copy of a kernel, a step of DQVI or one made of such steps, that takes plain Newton iterations.

    `lengths=DAMPED` takes of every iteration the part that leaves the smallest residual, and of solutions only those on
    the sheet that begins at rest: for the printed form, filler 0, where the plain iteration misses some, and takes some
    of another sheet.
    """
    rule = Newton(0, iterations, 1, tolerance, adaptive, lengths)

    @functools.wraps(kernel.function)
    def variant(*args):
        token = _newton.set(rule)
        try:
            return kernel.function(*args)
        finally:
            _newton.reset(token)

    return Kernel(variant, kernel.layout)


@batched("(6),(6),(6,6),()->(6)")
def solve(target, x, M, filler):
    """Solve g(x) = target by Newton's method from the guess x; NaN if it does not converge. Source: DQVI Algorithm 2.

    A solution is taken if its residual is small and |Phi| < 0.7072. Steps longer than |w| h = 1 rad have none.

    Erratum: Algorithm 2 line 4 subtracts J^-1 target instead of J^-1 (g(x) - target)
    (test_erratum_algorithm_2_line_4_must_subtract_the_residual).
    """
    rule = _newton.get()
    for _ in range(rule.at_rest):
        x = x - spatial.inverse(M) @ (momentum(x, M, filler) - target)
    for _ in range(rule.iterations):
        J = momentum_jacobian(x, M, filler)
        for _ in range(rule.uses):
            residual = momentum(x, M, filler) - target
            better = _best(x, solve_blocks(J, residual), target, M, filler, rule.lengths)
            x = where(_is_small(residual, x, M, rule.tolerance), x, better) if rule.adaptive else better
    if math.isinf(rule.tolerance):
        return x
    converged = _is_small(momentum(x, M, filler) - target, x, M, rule.tolerance)
    if len(rule.lengths) > 1:
        converged = converged & (_orientation(momentum_jacobian(x, M, filler)) > 0.0)
    return where(converged & (x[:3] @ x[:3] < LARGEST_PHI**2), x, math.nan)


def _orientation(A):
    """Return the determinant of a 6x6 matrix whose lower right block is not singular.

    Of J it is positive from rest to the fold at which the solutions that begin there end; roots beyond are of another
    sheet, to which no motion leads.
    """
    return det3(A[3:, 3:]) * det3(A[:3, :3] - A[:3, 3:] @ (inv3(A[3:, 3:]) @ A[3:, :3]))


def _best(x, change, target, M, filler, lengths):
    """Return x less the part of a change that leaves the smallest residual; a part beyond |Phi| = 1 leaves NaN."""
    best = x - lengths[-1] * change
    if len(lengths) == 1:
        return best
    least = _energy(momentum(best, M, filler) - target, M)
    for part in reversed(lengths[:-1]):
        moved = x - part * change
        size = _energy(momentum(moved, M, filler) - target, M)
        better = (size < least) | (least != least)
        best, least = where(better, moved, best), where(better, size, least)
    return best


def _energy(residual, M):
    """Return the square of a residual, torque and force parts weighted alike."""
    J, m = M[0, 0] + M[1, 1] + M[2, 2], M[3, 3] + M[4, 4] + M[5, 5]
    return (residual[:3] @ residual[:3]) * m + (residual[3:] @ residual[3:]) * J


def _is_small(residual, x, M, tolerance):
    """Compare a residual with the terms it is the difference of, torque and force parts weighted to energies."""
    J, m = M[0, 0] + M[1, 1] + M[2, 2], M[3, 3] + M[4, 4] + M[5, 5]
    scale = J * (x[:3] @ x[:3]) + m * (x[3:] @ x[3:])
    return _energy(residual, M) <= tolerance**2 * (scale * J * m)
