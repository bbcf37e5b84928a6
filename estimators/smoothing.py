"""Smoothing on products of groups and vectors: every estimate of a flight from all of its measurements.

`rts` goes back through what any filter left behind (Rauch, Tung and Striebel). A `Node` per measurement time is all it
needs; states are tuples in the order of a chart, (ROTATION, vector(n)) of an attitude filter, (POSE, vector(n)) of a
pose filter, and C and F are over the chart's errors:

    nodes = []
    for measurement in log:
        after, F, Q = motion(belief, h)                          the filter's own step: `Mekf.transition`, ...
        nodes.append(Node(parts(belief), belief.C, F, parts(after), after.C))
        belief = update(after, measurement)
    for x, C in rts(chart, nodes, (parts(belief), belief.C)):    from the last time to the first
        ...

With e the error of the smoothed estimate against the predicted one, and C_s its covariance there,

    G = C F^T C_next^-1,   d = G e,   C <- C + G (C_s - C_next) G^T,   x <- x + d       C then goes to the new chart

`iterated` repeats smoothing about its own result until nothing moves: Gauss-Newton's method for the most probable
flight (maximum a posteriori), of which no part is linearised at an estimate that is given up later.
Source: Rauch, Tung and Striebel, AIAA J. 3 (1965) 1445; Bell, SIAM J. Optimization 4 (1994) 626, for the iteration;
charts and resets as everywhere here. `imu_backward.go_back` is the same without an inverse, for scalar updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.estimators.chart import Chart, difference, retraction, size
from gnc.estimators.kalman import ROUNDING

Array = Any
State = tuple[Array, ...]
Flow = Callable[[int, State], tuple[State, Array, Array]]  # k, x_k -> x_k+1, F, Q
Look = Callable[[int, State], tuple[Array, Array, Array]]  # k, x_k -> y, H, R of what was measured then

ITERATIONS = 12
SMALL = 1e-5  # of the standard deviations: a correction that ends the iterations


class Node(NamedTuple):
    """What a filter knew at one time, and how it went on to the next."""

    x: State  # after the measurements of this time
    C: Array  # (..., n, n)
    F: Array  # (..., n, n) to the next time
    x_next: State  # as predicted for it
    C_next: Array  # (..., n, n)


def transposed(A: Array) -> Array:
    """Return A^T over any leading axes."""
    return np.swapaxes(A, -1, -2)


def congruent(A: Array, C: Array) -> Array:
    """Return A C A^T, symmetric to the last bit."""
    product = A @ C @ transposed(A)
    return 0.5 * (product + transposed(product))


def solved(C: Array, B: Array) -> Array:
    """Return C^-1 B of a covariance, in units of its own deviations; a state that is known exactly gets zero."""
    variance = np.diagonal(C, axis1=-2, axis2=-1)
    scale = 1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))
    correlation = C * (scale[..., :, None] * scale[..., None, :])
    diagonal = np.where(variance > 0.0, ROUNDING, 1.0)[..., None] * np.eye(C.shape[-1])
    return scale[..., None] * np.linalg.solve(correlation + diagonal, scale[..., None] * B)


def _applied(A: Array, v: Array) -> Array:
    return (A @ v[..., None])[..., 0]


def moved(chart: Chart, x: State, C: Array, d: Array) -> tuple[State, Array]:
    """Return the state moved by d, and C in the chart of the new one."""
    *x_new, reset = retraction(chart)(*x, d)
    return tuple(x_new), congruent(reset, C)


def rts(chart: Chart, nodes: Sequence[Node], last: tuple[State, Array]) -> Iterator[tuple[State, Array]]:
    """Return smoothed states and covariances from the last time to the first; `last` is what the filter ended with."""
    x, C = last
    yield x, C
    for node in reversed(nodes):
        e = difference(chart)(*node.x_next, *x)
        reset = retraction(chart)(*node.x_next, e)[-1]
        C_there = congruent(np.linalg.inv(reset), C)
        G = transposed(solved(node.C_next, node.F @ node.C))
        x, C = moved(chart, node.x, node.C + congruent(G, C_there - node.C_next), _applied(G, e))
        yield x, C


def iterated(
    chart: Chart, prior: tuple[State, Array], path: Sequence[State], flow: Flow, look: Look,
    iterations: int = ITERATIONS,
) -> tuple[list[State], list[Array], Array]:  # fmt: skip
    """Return the most probable flight near a path, its covariances, and which trials have converged.

    `prior` is what was known at the first time before its measurements, `path` has a state for every time, those of a
    filter say; rows of `look` that were not measured are zero in H.
    """
    x = list(path)
    for _ in range(iterations):
        means, Cs = _backward(*_forward(chart, prior, x, flow, look))
        pairs = [moved(chart, at, C, d) for at, C, d in zip(x, Cs, means, strict=True)]
        x, Cs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        moves = [np.sum(d * solved(C, d[..., None])[..., 0], axis=-1) for C, d in zip(Cs, means, strict=True)]
        done = np.max(np.broadcast_arrays(*moves), axis=0) <= size(chart) * SMALL**2
        if np.all(done | ~np.isfinite(moves[-1])):
            break
    return x, Cs, done


def _forward(chart: Chart, prior: tuple[State, Array], x: Sequence[State], flow: Flow, look: Look) -> Any:
    """Filter the deviations from a path, e_k+1 = F e_k + c + w; return means, covariances and predictions."""
    e = difference(chart)(*x[0], *prior[0])
    C = congruent(np.linalg.inv(retraction(chart)(*x[0], e)[-1]), prior[1])
    after, ahead = [], []
    for k in range(len(x)):
        y, H, R = look(k, x[k])
        S = H @ C @ transposed(H) + R
        K = transposed(np.linalg.solve(S, H @ C))
        left = np.eye(C.shape[-1]) - K @ H
        e, C = e + _applied(K, y - _applied(H, e)), congruent(left, C) + congruent(K, R)
        after.append((e, C))
        if k + 1 < len(x):
            x_next, F, Q = flow(k, x[k])
            e, C = _applied(F, e) + difference(chart)(*x[k + 1], *x_next), congruent(F, C) + Q
            ahead.append((e, C, F))
    return after, ahead


def _backward(after: Sequence[tuple[Array, Array]], ahead: Sequence[tuple[Array, Array, Array]]) -> Any:
    """Smooth linear deviations; return means and covariances of all times."""
    e, C = after[-1]
    means, Cs = [e], [C]
    for (e_k, C_k), (e_next, C_next, F) in zip(reversed(after[:-1]), reversed(ahead), strict=True):
        G = transposed(solved(C_next, F @ C_k))
        e, C = e_k + _applied(G, e - e_next), C_k + congruent(G, C - C_next)
        means.append(e)
        Cs.append(C)
    return means[::-1], Cs[::-1]
