"""The exact motion of a free rigid body over any time, with its exact Jacobian, and torques by splitting.

    drift             the flow itself, by elliptic functions (`euler_top`): no limit on |w| h, h may be negative
    step              D(c1 h) K(h/2) D(c2 h) K(h/2) D(c1 h) with torque kicks K: fourth order for a small torque
    kick_drift_kick   K(h/2) D(h) K(h/2): second order, the error proportional to the torque

All take J and prepare its principal axes; each has its `_jacobian`. They are symplectic and exact in spatial momentum,
without a torque in everything. With wheels there are no elliptic functions to use: those trials take the Taylor series
of `taylor`, exact for the torque too.

How many nodes the angle of the attitude needs depends on Om |h|, Om = sqrt(2T/J_min) the fastest rate that the energy
allows. Trials are grouped by it, 1, 2.5, 5 and 10 rad, and longer steps are divided. A trial beyond 10 000 rad is taken
for lost and becomes NaN. These are functions, not kernels; `kernels` has those of one group, for prepared bodies.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnc.batch import Kernel, batched, maximum, where
from gnc.integrators import euler_top, taylor
from gnc.integrators.composition import ABA2, aba2, chained, largest_stage, no_step
from gnc.integrators.composition import kick_drift_kick as kicked
from gnc.integrators.principal import principal
from gnc.linalg import array, block, identity, skew, zeros
from gnc.quaternion import mul
from gnc.typing import Array


def by_group(
    groups: Any, run: Callable[..., tuple[Any, ...]], args: Sequence[Any], cores: Sequence[int]
) -> tuple[Any, ...]:
    """Return run(group, *args) of every trial: `groups` holds its number, `cores` counts the axes of each argument.

    Arguments broadcast over leading axes as in kernels, and stay as they are if all trials belong to one group.
    """
    if not np.ndim(groups):
        return run(int(groups), *args)
    first = int(groups.flat[0]) if groups.size else 0
    if np.all(groups == first):
        return run(first, *args)
    arrays = [np.asarray(a) for a in args]
    lead = np.broadcast_shapes(groups.shape, *[a.shape[: a.ndim - n] for a, n in zip(arrays, cores, strict=True)])
    groups = np.broadcast_to(groups, lead)
    arrays = [np.broadcast_to(a, lead + a.shape[a.ndim - n :]) for a, n in zip(arrays, cores, strict=True)]
    outs: tuple[Any, ...] = ()
    for group in np.unique(groups):
        chosen = groups == group
        results = run(int(group), *[a[chosen] for a in arrays])
        outs = outs or tuple(np.empty(lead + result.shape[1:]) for result in results)
        for out, result in zip(outs, results, strict=True):
            out[chosen] = result
    return outs


REACHES = (1.0, 2.5, 5.0, 10.0)  # [rad] the largest Om |h| of each group
NODES = (8, 12, 18, 28)  # 6 + 2.2 Om |h|, which the Jacobian needs; the attitude itself would do with 6 + 1.6 Om |h|
MOST = 1e4  # [rad] Om |h| of a trial that has not gone astray
WHEELS = len(REACHES)  # the group of trials with wheels
DIVIDED = 8  # added to the number of a group: the group of trials whose step is divided


@functools.cache
def kernels(nodes: int) -> tuple[Kernel, Kernel]:
    """Return drift and drift_jacobian with the arguments q_IB, P_B, moments, axes, h, for a number of nodes.

    F = [[C, B], [0, P]] with C = R(f)^T, P = dP_1/dP, B = (h P_1 w^T - [P_1] (P - C))/L^2; at rest B = h J^-1. What is
    computed are C - 1 and P - 1, so that B has full relative accuracy however short the step.
    """

    @batched("(4),(3),(3),(3,3),()->(4),(3)")
    def drift(q_IB, P_B, moments, axes, h):
        top = euler_top.start(P_B, moments, axes)
        end = euler_top.end(top, h, nodes)
        f_B, _ = _smooth(top, end, P_B, h)
        return _unit(mul(q_IB, f_B)), _kept(top, end, P_B)

    @batched("(4),(3),(3),(3,3),()->(4),(3),(6,6)")
    def drift_jacobian(q_IB, P_B, moments, axes, h):
        top = euler_top.start(P_B, moments, axes)
        end = euler_top.end(top, h, nodes)
        R, v, one = top.R_BT, skew(end.f_B[1:]), identity(3)
        dC, dP = 2.0 * (v @ v - end.f_B[0] * v), R @ euler_top.change_jacobian(top, end) @ R.T  # C - 1, P - 1
        n_B, w_B, still = R @ end.n, R @ (top.inverse * top.n), top.L == 0.0
        B = (end.t * np.outer(n_B, w_B) - skew(n_B) @ (dP - dC)) * (1.0 / where(still, 1.0, top.L))
        f_B, F_rest = _smooth(top, end, P_B, h)
        F = where(still, F_rest, block([[one + dC, B], [zeros(3, 3), one + dP]]))
        return _unit(mul(q_IB, f_B)), _kept(top, end, P_B), F

    return drift, drift_jacobian


def _smooth(top: euler_top.Top, end: euler_top.End, P_B: Array, h: Array) -> tuple[Array, Array]:
    """Return the turn of a body, of one at rest right to the first order of its momentum, and F of a body at rest.

    The direction of no momentum has no derivative, but the motion has one.
    """
    hK, one = h * (top.R_BT * top.inverse) @ top.R_BT.T, identity(3)  # h J^-1
    turn = hK @ P_B
    W = skew(turn)
    dP = skew(P_B) @ hK - W
    F = block([[one - W, hK + 0.5 * (hK @ dP - W @ hK)], [zeros(3, 3), one + dP]])
    return where(top.L == 0.0, array([1.0, *(0.5 * turn)]), end.f_B), F


def _unit(q: Array) -> Array:
    """Take away what round-off has added to the length."""
    return q + (0.5 - 0.5 * (q @ q)) * q


def _kept(top: euler_top.Top, end: euler_top.End, P_B: Array) -> Array:
    """Return the momentum at the end, with what round-off has added to length and energy taken away.

    Neither changes more than the last digits, but in long runs the errors of axes that are not quite orthogonal add up.
    Near a principal axis the energy says little about the momentum, and is given little to say.
    """
    square = P_B @ P_B
    still = square == 0.0
    per_square = 1.0 / where(still, 1.0, square)
    P = (top.R_BT @ end.n) * top.L
    P = P + (0.5 * (square - P @ P) * per_square) * P
    before, after = P_B @ top.R_BT, P @ top.R_BT
    w = top.inverse * after
    twice_energy = after @ w
    excess = twice_energy - before @ (top.inverse * before)
    across = w - (twice_energy * per_square) * after
    slope = 2.0 * (across @ across + 0.01 * (w @ w))
    return where(still, P_B, P - (excess / where(still, 1.0, slope)) * (top.R_BT @ across))


def drift(q_IB: Array, P_B: Array, J: Array, rho_B: Array, h: Array) -> Any:
    """Move a free body."""
    return _moved("drift", False, q_IB, P_B, np.zeros(3), J, rho_B, h)


def drift_jacobian(q_IB: Array, P_B: Array, J: Array, rho_B: Array, h: Array) -> Any:
    """Return what `drift` does, and its Jacobian F."""
    return _moved("drift", True, q_IB, P_B, np.zeros(3), J, rho_B, h)


def step(q_IB: Array, P_B: Array, tau_B: Array, J: Array, rho_B: Array, h: Array) -> Any:
    """Move a body under a torque that is constant in body axes, with two kicks between three drifts."""
    return _moved("step", False, q_IB, P_B, tau_B, J, rho_B, h)


def step_jacobian(q_IB: Array, P_B: Array, tau_B: Array, J: Array, rho_B: Array, h: Array) -> Any:
    """Return what `step` does, its Jacobians F and G."""
    return _moved("step", True, q_IB, P_B, tau_B, J, rho_B, h)


def kick_drift_kick(q_IB: Array, P_B: Array, tau_B: Array, J: Array, rho_B: Array, h: Array) -> Any:
    """Move a body under a torque that is constant in body axes, with half kicks around one drift."""
    return _moved("kick_drift_kick", False, q_IB, P_B, tau_B, J, rho_B, h)


_LONGEST = {"drift": 1.0, "step": largest_stage(ABA2), "kick_drift_kick": 1.0}  # drift, as a part of h


def _moved(
    method: str, slopes: bool, q_IB: Array, P_B: Array, tau_B: Array, J: Array, rho_B: Array, h: Array
) -> tuple[Array, ...]:
    """Run every trial with the kernel of its group."""
    moments, axes = principal(J)
    group, n, part = _plan(P_B, tau_B, rho_B, moments, axes, h, _LONGEST[method])

    def run(group, q_IB, P_B, tau_B, J, rho_B, moments, axes, n, h):
        torque = () if method == "drift" else (tau_B,)
        body = (J, rho_B) if group % DIVIDED == WHEELS else (moments, axes)
        pair = _pair(method, group % DIVIDED)
        if group < DIVIDED:
            return pair[slopes](q_IB, P_B, *torque, *body, h)
        if not slopes:
            return pair[0].repeat(n, q_IB, P_B, *torque, *body, h)
        chain, begin = _chain(*pair)
        return chain.repeat(n, q_IB, P_B, *begin, *torque, *body, h)

    return by_group(group, run, (q_IB, P_B, tau_B, J, rho_B, moments, axes, n, part), (1, 1, 1, 2, 1, 1, 2, 0, 0))


@batched("(3),(3),(3),(3),(3,3),(),()->(),(),()")
def _plan(P_B, tau_B, rho_B, moments, axes, h, longest):
    """Return the group, the number of substeps, and their length, NaN for a lost trial."""
    p, torque, J_min = (P_B - rho_B) @ axes, tau_B @ axes, moments[0]
    rate = np.sqrt(p @ (p / moments)) + abs(h) * np.sqrt(torque @ (torque / moments))  # sqrt(2T), at most
    rate, wheels = rate * (1.0 / np.sqrt(J_min)), np.sqrt(rho_B @ rho_B) * (1.0 / J_min)
    x = abs(h) * where(wheels > 0.0, rate + wheels, longest * rate)
    n = maximum(1.0, -np.floor(x * where(wheels > 0.0, -1.0 / taylor.REACH, -1.0 / REACHES[-1])))
    group = sum(where(x > reach * n, 1.0, 0.0) for reach in REACHES[:-1])
    group = where(wheels > 0.0, float(WHEELS), group) + where(n > 1.0, float(DIVIDED), 0.0)
    lost = ~(x <= MOST)
    return where(lost, 0.0, group), where(lost, 1.0, n), where(lost, math.nan, h / n)


@functools.cache
def _pair(method: str, group: int) -> tuple[Kernel, Kernel]:
    """Return the kernels of a method and a group."""
    if group == WHEELS:
        return (taylor.drift, taylor.drift_jacobian) if method == "drift" else (taylor.step, taylor.step_jacobian)
    pair = kernels(NODES[group])
    return pair if method == "drift" else aba2(*pair) if method == "step" else kicked(*pair)


@functools.cache
def _chain(step: Kernel, step_jacobian: Kernel) -> tuple[Kernel, tuple[Array, ...]]:
    return chained(step, step_jacobian), tuple(x.astype(float) for x in no_step(step, step_jacobian))
