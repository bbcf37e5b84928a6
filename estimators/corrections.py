"""Kernels of the update of an error-state filter on a group, whatever the group: attitude filters and pose filters.

A `Space` says what the group is, how a state moves by an error, and what widens after too many refusals. The error
state is (errors of the group, dx), x all other numbers. `correction_kernel` takes one measurement; `interval_kernel` an
interval and all measurements at its end, linearised at a state x^ + d that need not be the estimate x^: with F of the
motion from there, and n what the unknown torque did,

    C_m = F C F^T + Q,   S = H C_m H^T + R,   K = C_m H^T S^-1,   u = H^T S^-1 (z - h + H (F d + n))
    s = K (z - h + H (F d + n)) - (F d + n)        what is left to correct at the end of the interval

and tells where to linearise next, at d = C F^T u, n = Q u, moving by at most 0.15 rad: see `interval`.

Recovery: a filter should doubt itself when refusals fit what other sensors say lately, patience in seconds. A gate
refuses what does not fit the filter. Either the measurement is wrong or the filter is, and what was accepted
lately tells which. W is the information of the measurements accepted within about `patience_s` on attitude or pose, in
inertial axes, where errors stay still while a body turns. A refused residual y = H d + noise is held against them
alone, as by a filter whose memory is that short. With A = H^T R^-1 H, b = H^T R^-1 y, c = y R^-1 y,

    least over d of  (y - H d) R^-1 (y - H d) + d W d  =  c - b (A + W)^-1 b

Beyond the gate, the measurement contradicts the others: it is an outlier and counts for nothing, however often it
comes. Within, a state exists that pleases all of them and is not the filter's: `doubt` grows by the time since the last
such refusal, at most a fifth of the patience at once. An accepted measurement takes half of its own time away again:
one of two sensors may agree for ever where it cannot see the error. When doubt reaches the patience, the covariance is
inflated, and the gate alone lets measurements in again; nothing is let in blindly. A sensor of rates alone, which W
says nothing of, counts as one that fits.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch import Kernel, maximum, minimum, precise, where
from gnc.batch.layout import Layout
from gnc.estimators.kalman import (
    factor,
    gated,
    joseph,
    mirrored,
    propagated,
    solve,
    symmetric_product,
    without_unused,
)
from gnc.linalg import array, identity, zeros

FORGIVEN = 0.5  # of the time that one accepted measurement makes up for
LEAST = 5.0  # refusals before a filter may doubt itself, whatever the rate
CORRELATED = precise(1.0 + 1e-9, 1.0 + 1e-4)  # square of a correlation, with round-off
LARGEST = 1e150  # beyond, the covariance of a trial has diverged: its products would overflow
UNSEEN, SMALLEST = 1e-9, 1e-200  # information, relative and absolute, on what no sensor has seen


def watch_size(g: int) -> int:
    """Return how many numbers `watch` has for a group with g errors: doubt, two clocks, the upper triangle of W."""
    return 3 + g * (g + 1) // 2


def _explained(A, b, least):
    """Return A^-1 b, A made positive by `least`."""
    A = A.copy()
    for i in range(len(b)):
        A[i, i] = A[i, i] + least
    return solve(*factor(A)[:2], b.reshape(len(b), 1))[:, 0]


def _triangle(g):
    return [(i, j) for i in range(g) for j in range(i, g)]


def _fading(agreed_s, patience_s):
    """Return what is left of W when nothing was accepted for a time."""
    left = maximum(1.0 - agreed_s / (2.0 * patience_s), 0.0)
    return left * left


def agreed(watch, idle, used, H, R, patience_s):
    """Return `watch` after a measurement, if it was accepted; only its clocks move on if it was not.

    H is over the group's errors in inertial axes, idle the time since the last measurement.
    """
    took, refused_s, agreed_s = used > 0.0, watch[1] + idle, watch[2] + idle
    weighted = solve(*factor(R)[:2], H)
    kept, most = _fading(agreed_s, patience_s), patience_s / LEAST
    W = [kept * w + H[:, i] @ weighted[:, j] for (i, j), w in zip(_triangle(H.shape[1]), watch[3:], strict=True)]
    doubt = maximum(watch[0] - FORGIVEN * minimum(agreed_s, most), 0.0)
    return array(
        [where(took, doubt, watch[0]), refused_s, where(took, 0.0, agreed_s), *where(took, array(W), watch[3:])]
    )


def refused(watch, y, H, R, bend, gate, patience_s):
    """Return `watch` after a refusal, its clocks moved on by `agreed`.

    bend is the variance of what an error as large as y does beyond H: no d explains that, and it is no contradiction.
    """
    g = H.shape[1]
    doubt, refused_s, agreed_s = watch[:3]
    kept, W = _fading(agreed_s, patience_s), zeros(g, g)
    for (i, j), w in zip(_triangle(g), watch[3:], strict=True):
        W[i, j] = W[j, i] = kept * w
    L, inverse, _ = factor(R)
    weighted = solve(L, inverse, H)
    A, b = H.T @ weighted, weighted.T @ y
    c = y @ solve(L, inverse, y.reshape(len(y), 1))[:, 0]
    seen = sum((A[i, i] for i in range(g)), 0.0)
    alone, together = (c - b @ _explained(A + V, b, UNSEEN * seen + SMALLEST) for V in (zeros(g, g), W))
    noise = sum((R[i, i] for i in range(len(y))), 0.0)
    left = together - alone + alone * (noise / (noise + len(y) * bend))
    counted = (left <= gate) | (seen == 0.0)
    doubt = where(counted, doubt + minimum(refused_s, patience_s / LEAST), doubt)
    return array([doubt, where(counted, 0.0, refused_s), *watch[2:]])


def inflated(C, spread, inflation, widest):
    """Return C with the first blocks of three up to `inflation` times as uncertain, but no wider than `widest`.

    `spread` has the trace of each block in the units of `widest`, standard deviations per axis. All correlations go:
    they were those of a wrong state. The extra states stay as well known as they were: a wrong pose says nothing of an
    inertia, which, made uncertain too, would take the rest of the error and become that of no body
    (`tests/scenarios/test_rendezvous.py`: test_outliers_let_in_at_the_start_are_recovered_from).
    """
    wide, n = zeros(*C.shape), 3 * len(spread)
    for k, (trace, limit) in enumerate(zip(spread, widest, strict=True)):
        part = slice(3 * k, 3 * k + 3)
        wide[part, part] = maximum(minimum(inflation, 3.0 * limit * limit / trace), 1.0) * C[part, part]
    wide[n:, n:] = C[n:, n:]
    return wide


def healthy(C):
    """Tell whether all variances are positive, none has overflowed, and no correlation exceeds 1."""
    good = C[0, 0] > 0.0
    for i in range(len(C)):
        good = good & (C[i, i] > 0.0) & (C[i, i] < LARGEST)
        for j in range(i):
            good = good & (C[i, j] * C[i, j] <= CORRELATED * (C[i, i] * C[j, j]))
    return good


BENT = 0.02  # |s_a|^2 / sigma beyond which an interval is linearised again [rad]
REACH = 0.15  # [rad] the largest turn between two linearisations


@dataclass(frozen=True, eq=False)  # each is made once
class Space:
    """What a filter's kernels must know of its state; `given` are the parameters that `cores` are the shapes of."""

    numbers: int  # of the group's element
    errors: int  # of the group
    cores: str  # of `given`, with {x} for the size of x
    names: tuple[str, ...]  # of `given`
    from_inertial: Callable[..., Any]  # q -> matrix that takes errors of the group from inertial to body axes
    own: Callable[..., Any]  # H, n, given -> H over the error state
    blind: Callable[..., Any]  # H, C -> variance of what H leaves out, which R grows by
    bent: Callable[..., Any]  # the same, for recovery
    move: Callable[..., Any]  # q, x, d, C before, C after, given -> q, x, reset
    spread: Callable[..., Any]  # C, given -> traces of the blocks of three that recovery widens
    limits: int  # of those blocks

    def belief(self, n: int) -> str:
        """Return the layout of q, x, C, watch and idle."""
        return f"{self.state(n)},()"

    def after(self, n: int, m: int, k: int) -> str:
        """Return the layout of what `finished` returns for m measurements of k sensors."""
        return f"{self.state(n)},({m},{m}),({k}),({k}),({k}),({m},{self.errors}),({m},{m})"

    def state(self, n: int) -> str:
        """Return the layout of q, x, C and watch."""
        return f"({self.numbers}),({n - self.errors}),({n},{n}),({watch_size(self.errors)})"


def _kernel(space: Space, n: int, layout: str, more: str) -> Callable[[Any], Kernel]:
    """Return the decorator of a kernel: belief, `more` arguments of which one is the space's own, results."""
    names = ("q", "x", "C", "watch", "idle", *more.replace("given", " ".join(space.names)).split())
    text = f"{space.belief(n)},{layout.replace('given', space.cores.format(x=n - space.errors))}"
    return lambda function: Kernel(function, Layout.parse(text, names))


def _gained(H, R, S, C, r, valid, gates, sizes, wide):
    """Return K, u, nis and used of each sensor; one sensor is factored once, several are gated one by one."""
    m, n = H.shape
    if len(sizes) > 1 or wide is not S:
        nis, used = gated(wide, r, valid, gates, sizes)
        H, r, S = without_unused(H, r, S, used, sizes)
        solved = solve(*factor(S)[:2], np.concatenate([H @ C, r.reshape(m, 1)], axis=1))
        return solved[:, :n].T, H.T @ solved[:, n], nis, used, r
    L, inverse, positive = factor(S)
    solved = solve(L, inverse, np.concatenate([H @ C, r.reshape(m, 1)], axis=1))
    nis = where(positive, r @ solved[:, n], math.nan)
    used = where((valid[0] > 0.0) & (nis <= gates[0]), 1.0, 0.0)
    took = used > 0.0  # chosen, not multiplied: NaN of an unused one stays out
    K, u = where(took, solved[:, :n].T, zeros(n, m)), where(took, H.T @ solved[:, n], zeros(n))
    return K, u, array([nis]), array([used]), where(took, r, zeros(m))


def finished(space, state, good, counts, seen, patience_s):
    """Return what a kernel returns after the measurements of an instant, NaN where the trial is lost.

    state = (q, x, C), counts = (watch, idle), seen = (valid, nis, used, H, R, S, sizes). It returns q, x, C, watch, S,
    nis, used, refused, and what `doubt_kernel` takes: H over the group's errors in inertial axes, and R.
    """
    (watch, idle), (valid, nis, used, H, R, S, sizes) = counts, seen
    over, start = H[:, : space.errors] @ space.from_inertial(state[0]), 0
    for i, size in enumerate(sizes):
        rows = slice(start, start + size)
        watch = agreed(watch, idle, used[i], over[rows], R[rows, rows], patience_s)
        idle, start = 0.0, start + size
    good = good & healthy(state[2])
    for i in range(len(sizes)):
        good = good & ((nis[i] >= 0.0) | (valid[i] == 0.0))
    out = array([where((valid[i] > 0.0) & (used[i] == 0.0), 1.0, 0.0) for i in range(len(sizes))])
    return *(where(good, part, math.nan) for part in state), watch, S, nis, used, out, over, R


@functools.cache
def doubt_kernel(space: Space, n: int, m: int) -> Kernel:
    """Return the kernel of a refusal: C, watch, recoveries -> the same, C inflated where doubt has lasted.

    H and R as `finished` returns them, limits = (gate, patience, inflation, widest ...).
    """
    e = space.errors
    belief = f"({n},{n}),({watch_size(e)}),()"
    layout = f"{belief},{space.cores.format(x=n - e)},({m},{e}),({m},{m}),({m}),({3 + space.limits})->{belief}"

    def doubt(C, watch, recoveries, *more):
        *given, H, R, y, limits = more
        gate, patience_s, inflation, *widest = limits
        size_2 = 2.0 * (y @ y) / maximum(sum((h * h for h in H[:, :3].ravel()), 0.0), 1e-200)  # of the error [rad^2]
        bend = space.bent(H, (size_2 * (1.0 / 3.0)) * identity(3))
        watch = refused(watch, y, H, R, bend, gate, patience_s)
        recover = watch[0] >= patience_s
        C = where(recover, inflated(C, space.spread(C, given), inflation, widest), C)
        return C, where(recover, zeros(len(watch)), watch), where(recover, recoveries + 1.0, recoveries)

    return Kernel(doubt, Layout.parse(layout, ("C", "watch", "recoveries", *space.names, "H", "R", "y", "limits")))


@functools.cache
def refusal_kernel(space: Space, n: int, m: int, columns: int) -> Kernel:
    """Return the kernel of `doubt_kernel` with the attitude or pose before the space's own, H and R as sensors have."""
    plain, e = doubt_kernel(space, n, m), space.errors

    def refusal(C, watch, recoveries, q, *more):
        *given, H, R, y, limits = more
        R = mirrored(R) + space.blind(H, C) * identity(m)
        return plain(C, watch, recoveries, *given, H[:, :e] @ space.from_inertial(q), R, y, limits)

    names, ins = list(plain.layout.names), list(plain.layout.ins)
    names.insert(3, "q")
    ins.insert(3, (space.numbers,))
    ins[-4] = (m, columns)
    return Kernel(refusal, Layout(tuple(names), tuple(ins), plain.layout.outs))


@functools.cache
def correction_kernel(space: Space, n: int, m: int, columns: int) -> Kernel:
    """Return the kernel of an update with m measurements of a state of n numbers.

    limits = (gate, patience ...). Beyond the Kalman update: R grows by what H leaves out; a trial whose covariance is
    not positive or overflows becomes NaN. It returns q, x, C, watch, S, nis, used and refused.
    """
    shapes = f"given,({m},{columns}),({m},{m}),({m}),(),({3 + space.limits})->{space.state(n)},({m},{m}),(),(),()"

    @_kernel(space, n, shapes, "given H R y valid limits")
    def correct(q, x, C, watch, idle, *more):
        *given, H, R, y, valid, limits = more
        C, R = mirrored(C), mirrored(R)
        H, R, was_good = space.own(H, n, given), R + space.blind(H, C) * identity(m), healthy(C)
        S = symmetric_product(H, C) + R
        K, _, nis, used, _ = _gained(H, R, S, C, y, [valid], limits[:1], (m,), S)
        took = used[0] > 0.0
        C_used = joseph(C, H, R, K)
        q_new, x_new, reset = space.move(q, x, K @ where(took, y, zeros(m)), C, C, given)
        state = where(took, q_new, q), where(took, x_new, x), where(took, symmetric_product(reset, C_used), C)
        seen = [valid], nis, used, H, R, S, (m,)
        *after, nis, used, out, _, _ = finished(space, state, was_good, (watch, idle), seen, limits[1])
        return *after, nis[0], used[0], out[0]

    return correct


@functools.cache
def measuring_kernel(space: Space, predict: Kernel, n: int) -> Kernel:
    """Return the kernel of an update that predicts the measurement too, by a sensor's kernel q, ... -> z, H, R.

    Arguments are those of `correction_kernel`, with the sensor's and z in place of H, R and y; y comes last. What is
    zero in H is known when the kernel is traced, and costs nothing.
    """
    m, columns = predict.layout.outs[1]
    correct = correction_kernel(space, n, m, columns)
    plain = correct.layout
    own = predict.layout.ins[1:]

    def measure(*args):
        state, (*arguments, z, valid, limits) = args[: len(plain.ins) - 5], args[len(plain.ins) - 5 :]
        expected, H, R = predict(args[0][:4], *arguments)  # a pose begins with its attitude
        y = z - expected
        return *correct(*state, H, R, y, valid, limits), y

    names = (*plain.names[:-5], *predict.layout.names[1:], "z", "valid", "limits")
    ins = (*plain.ins[:-5], *own, (m,), (), plain.ins[-1])
    return Kernel(measure, Layout(names, ins, (*plain.outs, (m,))))


@functools.cache
def interval_kernel(space: Space, n: int, sizes: tuple[int, ...], columns: int) -> Kernel:
    """Return the kernel of one linearisation of an interval, with measurements of these sizes at its end.

    q, x: the end of the motion from the state that d leads to; gates and valid per sensor. It returns what `finished`
    does, then the residual, how far the correction is from linear, |s_a|^2/(0.02 sigma), and d and n to linearise at.
    """
    m, k = sum(sizes), len(sizes)

    ins = f"({n},{n}),({n},{n}),({n}),({n}),given,({m},{columns}),({m},{m}),({m}),({k}),({k}),()"
    outs = f"{space.after(n, m, k)},({m}),(),({n}),({n})"

    @_kernel(space, n, f"{ins}->{outs}", "F Q d noise given H R y valid gates patience_s")
    def interval(q, x, C, watch, idle, F, Q, d, noise, *more):
        *given, H, R, y, valid, gates, patience_s = more
        C_m, way, H = propagated(F, C, 2 * space.errors) + Q, F @ d + noise, space.own(H, n, given)
        r, S = y + H @ way, symmetric_product(H, C_m) + R
        K, u, nis, used, taken = _gained(H, R, S, C_m, r, valid, gates, sizes, S + _blind(space, H, C_m, sizes))
        s, C_used = K @ taken - way, joseph(C_m, H, R, K)
        q_new, x_new, reset = space.move(q, x, s, C_m, C_used, given)
        state, seen = (q_new, x_new, symmetric_product(reset, C_used)), (valid, nis, used, H, R, S, sizes)
        after = finished(space, state, C[0, 0] > 0.0, (watch, idle), seen, patience_s)
        turn = s[:3] @ s[:3]
        per_square = sum((H[j, i] * H[j, i] / R[j, j] for i in range(3) for j in range(m)), 0.0)
        bent = turn * np.sqrt(per_square * (1.0 / 3.0)) * (1.0 / BENT)
        part = minimum(1.0, REACH / np.sqrt(maximum(turn, 1e-30)))
        d = d + part * (C @ (F.T @ u) - d)
        return *after, r, bent, d, noise + part * (Q @ u - noise)

    return interval


def _blind(space, H, C, sizes):
    """Return what H leaves out, for the gate of each sensor."""
    m, start = sum(sizes), 0
    wide = zeros(m, m)
    for size in sizes:
        rows = slice(start, start + size)
        wide[rows, rows] = space.blind(H[rows], C) * identity(size)
        start += size
    return wide


@functools.cache
def moved_kernel(space: Space, n: int) -> Kernel:
    """Return the kernel that moves a state by d in its chart: q, x, C, d, given -> q, x, reset."""
    state, cores = f"({space.numbers}),({n - space.errors}),({n},{n})", space.cores.format(x=n - space.errors)

    def moved(q, x, C, d, *given):
        return space.move(q, x, d, C, C, given)

    return Kernel(moved, Layout.parse(f"{state},({n}),{cores}->{state}", ("q", "x", "C", "d", *space.names)))
