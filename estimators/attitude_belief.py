"""What a filter that carries attitude and momentum believes, how its covariance moves, the charts of its corrections.

The error state is (a, dP, de): q = q^ exp(a/2), P = P^ + dP the total momentum in body axes, e = e^ + de the extra
states. Where J is among them, J = J^ + dJ with dJ w = N de, the momentum P = J w + rho gives

    dP = J dw + N de        rates,            dP = (d leading momentum/d phi) dphi        increments of QVI eq. (69)

so that the covariance is known in all of them, and each propagates what the others do
(test_momentum_rates_and_increments_propagate_the_same_covariance). M = [1, -N] below.
"""

import functools
from typing import NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import Kernel, batched, maximum, minimum, sized, where
from gnc.estimators.conserved_chart import retract
from gnc.estimators.corrections import Space
from gnc.estimators.kalman import propagated, symmetric_product, with_walk
from gnc.integrators.qvi import increment, leading_slope
from gnc.lie import se3_left_jacobian, so3_right_jacobian
from gnc.linalg import block, cross, identity, inv3, skew, solve3, zeros
from gnc.notebook import of_belief
from gnc.typing import Array

SMALLEST = 1e-200  # stands for zero in a denominator


class Belief(NamedTuple):
    """Estimate and covariance of every trial; a trial whose numbers are NaN is lost."""

    q_IB: Array  # (..., 4)
    P_B: Array  # (..., 3) total angular momentum J w + rho [kg m^2/s]
    rho_B: Array  # (..., 3) that of the wheels, known [kg m^2/s]
    extras: Array  # (..., k) the extra states, one after the other
    C: Array  # (..., 6 + k, 6 + k) covariance of (a, dP, extras)
    watch: Array  # (..., 9) how much the filter doubts itself, see `corrections`
    idle: Array  # (...) since the last measurement [s]
    recoveries: Array  # (...) how often the covariance was inflated, or the trial started anew

    def _repr_html_(self) -> str:
        return of_belief(self)


def lost(belief: Belief) -> Array:
    """Tell which trials have no belief left."""
    return ~np.isfinite(belief.q_IB[..., 0])


def _placed(n: int, rows: Array) -> Array:
    """Return the unit matrix of n rows with those of the momentum replaced; rows has n - 3 columns."""
    T = identity(n)
    T[3:6] = np.concatenate([zeros(3, 3), rows], axis=1)
    return T


@sized(lambda n: f"({n},{n}),(3,3),(3,{n - 3})->({n},{n})")
def to_rates(C, J, M, *, n):
    """Return the kernel C, J, M -> covariance of (a, dw, extras)."""
    return symmetric_product(_placed(n, solve3(J, M)), C)


@sized(lambda n: f"({n},{n}),(3,3),(3,{n - 3})->({n},{n})")
def from_rates(C, J, M, *, n):
    """Return the kernel C of (a, dw, extras), J, M -> covariance of (a, dP, extras)."""
    return symmetric_product(_placed(n, np.concatenate([J, -M[:, 3:]], axis=1)), C)


@batched("(6,6),(3),(3,3),(3),()->(6,6)")
def to_increments(C, P_B, J, rho_B, h):
    """Return the covariance of (a, dphi), phi the increment over h that starts with momentum P."""
    slope = leading_slope(increment(P_B, J, rho_B, h), J, rho_B, h)
    return symmetric_product(_placed(6, inv3(slope)), C)


@batched("(4),(3),(6,6),(4),(3)->(6),(6,6)")
def inertial_error(q_IB, P_B, C, q_true, P_true):
    """Return the error (a, l) and its covariance, l that of the momentum R P in inertial axes, written in body axes.

    For NEES: P_true = R(a)^T (P + l) is bent in (a, dP), and in (a, l) it is not. To first order l = dP - [P] a.
    """
    a = quaternion.log(quaternion.mul(quaternion.conj(q_IB), q_true))
    T = identity(6)
    T[3:, :3] = -skew(P_B)
    l_B = quaternion.rotate(quaternion.exp(a), P_true) - P_B
    return np.concatenate([a, l_B]), symmetric_product(T, C)


@sized(lambda step_jacobian: "(4),(3),(6,6),(3),(3,3),(3),()->(4),(3),(6,6)")
def moving_kernel(q_IB, P_B, C, tau_B, J, rho_B, h, *, step_jacobian):
    """Return the kernel q, P, C, tau, J, rho, h -> q, P, F C F^T of one substep; made to be repeated."""
    q_IB, P_B, F, _ = step_jacobian(q_IB, P_B, tau_B, J, rho_B, h)
    return quaternion.normalize(q_IB), P_B, propagated(F, C, 6)


def _whole(F, B, T_0, D_0, T_1, D_1, h):
    """Return F over all states: K(T_1, D_1) [[F_6, B], [0, 1]] K(T_0, D_0)."""
    k = B.shape[1]

    def kick(T, D):
        K = identity(6 + k)
        K[3:6, :3], K[3:6, 6:] = (0.5 * h) * T, (0.5 * h) * D
        return K

    return kick(T_1, D_1) @ block([[F, B], [zeros(k, 6), identity(k)]]) @ kick(T_0, D_0)


@sized(lambda k: f"({6 + k},{6 + k}),(6,6),(6,6),(6,{k}),(3,3),(3,{k}),(3,3),(3,{k}),({k}),()->({6 + k},{6 + k})")
def augmented_kernel(C, F, Q, B, T_0, D_0, T_1, D_1, walk, h):
    """Return the kernel that propagates the covariance of a state with k extra ones.

    F = K(T_1, D_1) [[F_6, B], [0, 1]] K(T_0, D_0), where K is half a kick by a torque of gradients T = d tau/d a and
    D = d tau/d e.
    """
    return with_walk(_whole(F, B, T_0, D_0, T_1, D_1, h), C, Q, walk, h)


@sized(lambda k: f"(6,6),(6,6),(6,{k}),(3,3),(3,{k}),(3,3),(3,{k}),({k}),()->({6 + k},{6 + k}),({6 + k},{6 + k})")
def transition_kernel(F, Q, B, T_0, D_0, T_1, D_1, walk, h, *, k):
    """Return the kernel of F and Q over all states, with which `augmented_kernel` propagates the covariance."""
    given = F, Q, B, T_0, D_0, T_1, D_1, walk, h
    return _whole(F, B, T_0, D_0, T_1, D_1, h), augmented_kernel(k)(zeros(6 + k, 6 + k), *given)


def over_momentum(H, J, M, n):
    """Return H over (a, dP, extras) from that over (a, dw, extras), or its first columns: dw = J^-1 M (dP, dextras)."""
    m, columns = H.shape
    H = np.concatenate([H, zeros(m, n - columns)], axis=1) if columns < n else H
    by_momentum = H[:, 3:6] @ solve3(J, M)
    by_momentum[:, 3:] = by_momentum[:, 3:] + H[:, 6:]
    return np.concatenate([H[:, :3], by_momentum], axis=1)


def _trace(A):
    return A[0, 0] + A[1, 1] + A[2, 2]


def curvature(H_a, C_a):
    """Return the variance of the part of a measurement that is quadratic in the attitude error, if H is blind to it.

    A vector seen with the error a is off by [b] a + a x (a x b)/2. The second part lies mostly along b, which [b] a
    does not reach: without its variance, |b|^2 (tr C_a/2)^2 and at most |b|^2, a gate refuses every measurement while
    the attitude is unknown. It is given to all components: the rest of the series is as large when it counts. With
    W = H H^T, h^2 = tr W^2/tr W, the matrix (h^2 1 - W)^2/h^2 is b b^T for a vector, and zero for a sensor of the whole
    attitude, whose residual is a itself; its trace is taken.
    """
    W, half = H_a @ H_a.T, 0.5 * _trace(C_a)
    square = sum((w * w for w in W.ravel()), 0.0)
    h2 = square / maximum(sum((W[i, i] for i in range(len(W))), 0.0), SMALLEST)
    blind = sum((w * w for w in (h2 * identity(len(W)) - W).ravel()), 0.0) / maximum(h2, SMALLEST)
    return blind * minimum(half * half, 1.0)


def _invariant(q_IB, x, d):
    """Return the state moved by the exponential of SE(3), attitude and inertial momentum its element, and the reset.

    The errors (a, dP) are those of the right-invariant filter, in body axes: q <- q exp(a/2), P <- P + J_r(a) dP. In
    inertial axes H of a measured vector then does not depend on the estimate. A comparator.
    Source: Barrau and Bonnabel, IEEE Trans. Automatic Control 62 (2017) 1797.
    """
    turn = quaternion.exp(d[:3])
    P_new, R = x[:3] + so3_right_jacobian(d[:3]) @ d[3:6], quaternion.to_matrix(turn).T
    reset = identity(len(d))
    reset[:6, :6] = block([[R, zeros(3, 3)], [zeros(3, 3), R]]) @ se3_left_jacobian(d[:6])
    return quaternion.normalize(quaternion.mul(q_IB, turn)), np.concatenate([P_new, x[3:] + d[6:]]), reset


def _retracted(q_IB, x, d, C):
    """Return the corrected state, and the matrix that takes the error about the old estimate to that about the new.

    q <- q exp(a/2), a' = J_r(a) (a_true - a), J_r the right Jacobian of SO(3). The momentum is corrected in the axes in
    which it is known better: in body axes, P <- P + dP, or in inertial ones, where a free body keeps it. There, with
    l = dP - [P] a

        P <- R(a)^T (P + l);        l' = R(a)^T (l_true - l),   dP' = l' + [P'] a'

    Both are the same to first order. In a tumble P + dP would turn R P away by a^2/2, and NEES at 0.1 Hz grows to 9
    instead of 7 (test_the_momentum_is_corrected_in_inertial_axes); while the attitude is unknown and the body rate is
    not, the other one spoils the rate.
    """
    a, P = d[:3], x[:3]
    turn = quaternion.exp(a)
    R, J_r = quaternion.to_matrix(turn).T, so3_right_jacobian(a)
    inertial = _trace(_inertial_covariance(P, C)) < _trace(C[3:6, 3:6])
    P_new = where(inertial, R @ (P + d[3:6] - cross(P, a)), P + d[3:6])
    reset = identity(len(d))
    reset[:3, :3] = J_r
    reset[3:6, :3] = where(inertial, skew(P_new) @ J_r - R @ skew(P), 0.0)
    reset[3:6, 3:6] = where(inertial, R, identity(3))
    q_IB = quaternion.normalize(quaternion.mul(q_IB, turn))
    return q_IB, np.concatenate([P_new, x[3:] + d[6:]]), reset


def _inertial_covariance(P, C):
    """Return the covariance of l = dP - [P] a."""
    S = skew(P)
    mixed = S @ C[:3, 3:6]
    return C[3:6, 3:6] - mixed - mixed.T + S @ C[:3, :3] @ S.T


@functools.cache
def start_kernel(k: int) -> Kernel:
    """Return the kernel of a start with k extra states: everything with all leading axes, the covariances as one."""
    if k == 0:

        @batched("(4),(3),(3),(6,6),(3,3)->(4),(3),(3),(6,6)")
        def start(q_IB, w_B, rho_B, C, J):
            return q_IB, w_B, rho_B, C

        return start

    @batched(f"(4),(3),(3),(6,6),(3,3),({k}),({k},{k})->(4),(3),(3),({6 + k},{6 + k}),({k})")
    def start_with_extras(q_IB, w_B, rho_B, C, J, values, C_extras):
        whole = block([[C, zeros(6, k)], [zeros(k, 6), C_extras]])
        return q_IB, w_B, rho_B, whole, values

    return start_with_extras


def _moved(chart, q_IB, x, d, C, C_used, given):
    """Return the state moved by d in a chart, and the reset."""
    J, rho_B, _ = given
    if chart == "conserved":
        return retract(q_IB, x, d, C_used, J, rho_B)
    return _invariant(q_IB, x, d) if chart == "invariant" else _retracted(q_IB, x, d, C)


def _spread(C, given):
    """Return the traces of the covariances of attitude and rate."""
    J = given[0]
    return _trace(C[:3, :3]), _trace(solve3(J, solve3(J, C[3:6, 3:6]).T))


@functools.cache
def attitude_space(chart: str) -> Space:
    """Return what kernels must know of attitude filters: x = (P, extras), given J, rho and M, dw = J^-1 M dx."""
    return Space(
        4, 3, "(3,3),(3),(3,{x})", ("J", "rho_B", "M"),
        from_inertial=lambda q: quaternion.to_matrix(q).T,
        own=lambda H, n, given: over_momentum(H, given[0], given[2], n),
        blind=lambda H, C: curvature(H[:, :3], C[:3, :3]),
        bent=lambda H, C: curvature(H[:, :3], C),
        move=functools.partial(_moved, chart),
        spread=_spread,
        limits=2,
    )  # fmt: skip
