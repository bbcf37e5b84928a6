"""DQVI in the form with increments, as the paper prints it.

State: the pose dq_IB at node k and the increment x_B that leads to node k + 1, p_{k+1} = p_k f(x_k). Then

    g(x_{k+1}) = -g(-x_k) + (h^2/2) wrench_{k+1}

The wrench acts at the node between the two increments; `next_pose` tells where that is before the step is taken. Pose
and twist give the first increment by `start`, and `twist` goes back. It is the same motion as that of `dqvi.step`. The
error state is (dxi, dx), p = p^ exp(dxi/2).
"""

import numpy as np

from gnc import spatial
from gnc.batch import batched
from gnc.dual_quaternion import adjoint, conj, mul
from gnc.integrators.dqvi_equation import (
    increment,
    increment_jacobian,
    momentum,
    momentum_jacobian,
    solve,
    solve_blocks,
    trailing_momentum,
)
from gnc.linalg import block, identity, zeros


@batched("(6),(6),(6,6),(),()->(6)")
def start(chi_B, wrench_B, M, filler, h):
    """Return the first increment, from g(x_0) = (h/2) M chi_0 + (h^2/4) wrench_0. Source: DQVI Algorithm 1 line 4.

    Erratum: printed is the target M chi_0 (test_erratum_algorithm_1_the_target_is_half_a_step_of_momentum).
    """
    target = (0.5 * h) * (M @ chi_B) + (0.25 * h * h) * wrench_B
    return solve(target, spatial.inverse(M) @ target, M, filler)


@batched("(6),(6),(6,6),(),()->(6)")
def twist(x_B, wrench_B, M, filler, h):
    """Return the twist at the node where increment x_k begins, from M chi_k = (2/h) g(x_k) - (h/2) wrench_k.

    Errata: DQVI eqs. (47), (48) lack the wrench (test_erratum_eqs_47_48_need_half_a_kick), and eq. (44), from which
    they come, a factor 1/2 (test_erratum_eq_44_a_half_is_missing).
    """
    return spatial.inverse(M) @ ((2.0 / h) * momentum(x_B, M, filler) - (0.5 * h) * wrench_B)


@batched("(8),(6)->(8)")
def next_pose(dq_IB, x_B):
    """Return the pose at the end of the increment, where the wrench of `step` acts. Source: DQVI eq. (37)."""
    return mul(dq_IB, increment(x_B))


@batched("(8),(6),(6),(6,6),(),()->(8),(6)")
def step(dq_IB, x_B, wrench_next_B, M, filler, h):
    """Take the increment and find the one that follows it. Source: DQVI eqs. (36), (38), Algorithm 1 lines 6 to 11."""
    target = trailing_momentum(x_B, M, filler) + (0.5 * h * h) * wrench_next_B
    return next_pose(dq_IB, x_B), solve(target, spatial.inverse(M) @ target, M, filler)


@batched("(8),(6),(6),(6,6),(6,6),(6,6),(),()->(8),(6),(12,12),(12,6)")
def step_jacobian(dq_IB, x_B, wrench_next_B, T_next, D_next, M, filler, h):
    """Return what `step` does, its exact Jacobian F, and G, the derivative with respect to the wrench.

    F = [[Ad(f^-1), 2 E], [V T+ Ad(f^-1), V (2 T+ E + (2/h) D+ M^-1 J(-x_k)) + J+^-1 J(-x_k)]],  V = (h^2/2) J+^-1 = G2

    T+ and D+ are the derivatives of the wrench with respect to the pose p_{k+1} (xi) and the twist -(2/h) M^-1 g(-x_k)
    before the wrench acts there: zeros if it does not depend on them, otherwise as in `dqvi.forced_jacobian`.
    """
    dq_next, x_next = step(dq_IB, x_B, wrench_next_B, M, filler, h)
    A, twice_E = adjoint(conj(increment(x_B))), 2.0 * increment_jacobian(x_B)
    trailing = momentum_jacobian(-x_B, M, filler)
    twist_slope = (2.0 / h) * (spatial.inverse(M) @ trailing)
    J_inverse = solve_blocks(momentum_jacobian(x_next, M, filler), identity(6))
    V = (0.5 * h * h) * J_inverse
    F22 = J_inverse @ trailing + V @ (T_next @ twice_E + D_next @ twist_slope)
    return dq_next, x_next, block([[A, twice_E], [V @ (T_next @ A), F22]]), np.concatenate([zeros(6, 6), V])
