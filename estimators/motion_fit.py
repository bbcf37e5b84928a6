"""Which motion model suits a log: the likelihood of its poses for all models and densities in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.estimators.kalman import gate
from gnc.estimators.motion_models import Kind, MotionFilter, MotionModel

Array = Any

SHAPES: tuple[tuple[Kind, float], ...] = (
    ("white", 1.0),
    *(("damped", tau) for tau in (0.1, 0.3, 1.0, 3.0)),
    *(("singer", tau) for tau in (0.1, 0.3, 1.0, 3.0)),
)
DECADES = np.arange(-3.0, 3.5, 0.5)  # of the density about the one by differences
FINER = np.linspace(-0.375, 0.375, 7)
PRICE: dict[Kind, float] = {"white": 0.0, "damped": 3.0, "singer": 3.0}  # of a time: so much likelier it has to be
AROUND = [(a, b, c, d) for a, b in ((-3, -2), (-3, -1), (-2, -1)) for c, d in ((1, 2), (1, 3), (2, 3))]
ALONE, RARE = 6.0, 3.0  # an outlier stands out so much from poses around it, and from what nine in ten of the log do
GATE, MOST_NIS = 0.999, 10.0  # an outlier costs ten times the gate: less, and a small covariance would pay for outliers
MARGIN = 30.0  # by which the motion is livelier still than in the liveliest stretch
WARM_UP = 10  # poses before innovations count


class Poses(NamedTuple):
    """A stretch of measured poses with their covariance."""

    t: Array
    dq_IB: Array  # (n, 8)
    R: Array  # (6, 6)


def by_differences(t: Array, x: Array, sigma: float) -> float:
    """Return the density of white acceleration that second differences of x (n, k) at the usual step ask for.

    Their variance per axis is 6 sigma^2 + 2/3 psd h^3.
    """
    h = float(np.median(np.diff(t)))
    second = float(np.median((x[2:] - 2.0 * x[1:-1] + x[:-2]) ** 2)) / 0.4549  # median of chi-square of 1
    return max(second - 6.0 * sigma**2, 0.1 * sigma**2) * 1.5 / h**3


def _guesses(poses: Poses) -> tuple[float, float]:
    """Return the densities of turning and of moving in a stretch, by differences."""
    q, r = dual_quaternion.to_pose(poses.dq_IB)
    steps = np.cumsum(quaternion.log(quaternion.mul(quaternion.conj(q[:-1]), q[1:])), axis=0)
    sigma = np.sqrt([np.trace(poses.R[i : i + 3, i : i + 3]) / 3.0 for i in (0, 3)])
    return by_differences(poses.t[1:], steps, sigma[0]), by_differences(poses.t, r, sigma[1])


def _beside(poses: Poses, a: Array, b: Array, c: Array) -> Array:
    """Return how far (n, 2) poses b are turned and moved from the way that leads evenly from poses a to poses c."""
    (q_a, r_a), (q_b, r_b), (q_c, r_c) = (dual_quaternion.to_pose(poses.dq_IB[k]) for k in (a, b, c))
    part = ((poses.t[b] - poses.t[a]) / (poses.t[c] - poses.t[a]))[:, None]
    turn = quaternion.log(quaternion.mul(quaternion.conj(q_a), q_c))
    on_way = quaternion.mul(q_a, quaternion.exp(part * turn))
    turned, moved = quaternion.log(quaternion.mul(quaternion.conj(on_way), q_b)), r_b - r_a - part * (r_c - r_a)
    return np.stack([np.linalg.norm(turned, axis=1), np.linalg.norm(moved, axis=1)], axis=1)


def _oddness(poses: Poses) -> tuple[Array, Array, Array]:
    """Return how far (n, 2) each pose lies beside its neighbours' way, how even these are, and how even they can be.

    Neighbours are two of three poses on either side, in all nine ways: an outlier among them is in one way left out.
    """
    k = np.arange(3, len(poses.t) - 3)
    floor = np.sqrt([np.trace(poses.R[i : i + 3, i : i + 3]) for i in (0, 3)])
    own = np.array([_beside(poses, k + b, k, k + c) for _, b, c, _ in AROUND])
    before, behind = (np.array([_beside(poses, *(k + n for n in way[i : i + 3])) for way in AROUND]) for i in range(2))
    even = np.maximum(np.maximum(before, behind), floor)
    most = np.argmax(own / even, axis=0)[None]
    return np.take_along_axis(own, most, axis=0)[0], np.take_along_axis(even, most, axis=0)[0], even.min(axis=0)


def without_outliers(stretches: Sequence[Poses]) -> list[Poses]:
    """Return the stretches without poses that those around contradict and that no motion of the log explains.

    A body that moves swiftly bends its way for several poses, and in more than a tenth of the log: an outlier does not.
    The three at either end, of which that cannot be said, are left out too.
    """
    if min(len(poses.t) for poses in stretches) < 2 * WARM_UP:
        return list(stretches)
    odd = [_oddness(poses) for poses in stretches]
    usual = np.quantile(np.concatenate([even for _, _, even in odd]), 0.9, axis=0)
    kept = list[Poses]()
    for poses, (own, around, _) in zip(stretches, odd, strict=True):
        good = 3 + np.flatnonzero(((own <= ALONE * around) | (own <= RARE * usual)).all(axis=1))
        kept.append(Poses(poses.t[good], poses.dq_IB[good], poses.R))
    return kept


def fitted(stretches: Sequence[Poses], kinds: Sequence[Kind]) -> tuple[MotionModel, MotionModel]:
    """Return the models of turning and of moving under which the poses are likeliest; each is chosen for itself.

    The search is about the liveliest stretch: a body that rests most of the time is to be followed when it moves.
    Outliers are left out before and no candidate has a gate: the models are the same whether the filter has one or not.
    """
    stretches = without_outliers(stretches)
    guesses = np.max([_guesses(poses) for poses in stretches], axis=0)
    shapes = [shape for shape in SHAPES if shape[0] in kinds]
    liveliest = list[Array]()
    found = [[MotionModel(kind, _level(kind, tau, float(guess)), tau) for kind, tau in shapes] for guess in guesses]
    for decades in (DECADES, FINER):  # the best density of every shape, then nearer to it
        grids = [[replace(m, psd=m.psd * 10.0**decade) for m in models for decade in decades] for models in found]
        candidates = MotionFilter(tuple(grids[0]), tuple(grids[1]), 1.0)
        each = np.array([_likelihood(poses, candidates) for poses in stretches])
        rows = each.sum(axis=0).reshape(2, len(shapes), len(decades))
        liveliest = liveliest or _liveliest(each.reshape(-1, *rows.shape), grids)
        chosen = rows.argmax(axis=2)
        found = [[grids[i][k * len(decades) + j] for k, j in enumerate(chosen[i])] for i in range(2)]
    price = np.array([PRICE[kind] for kind, _ in shapes])
    best = list[MotionModel]()
    for models, row, psd in zip(found, rows, liveliest, strict=True):
        k = int(np.argmax(row.max(axis=1) - price))
        best.append(replace(models[k], livelier=MARGIN * max(float(psd[k] / models[k].psd), 1.0)))
    return best[0], best[1]


def _liveliest(each: Array, grids: Sequence[Sequence[MotionModel]]) -> list[Array]:
    """Return the largest density (2, shapes) that suits one of the stretches."""
    best = each.argmax(axis=3)  # of stretches, turning and moving, and shapes
    psd = np.array([[m.psd for m in grid] for grid in grids]).reshape(each.shape[1:])
    return list(np.take_along_axis(psd, best.max(axis=0)[..., None], axis=2)[..., 0])


def _level(kind: Kind, tau: float, psd: float) -> float:
    """Return the density for a shape; that of a Singer model is of the change of an acceleration."""
    return psd * 2.0 / tau**2 if kind == "singer" else psd


def _likelihood(poses: Poses, candidates: MotionFilter) -> Array:
    """Return the log-likelihood of attitudes and of positions (2, candidates)."""
    rate = 10.0
    C = np.diag([*np.diagonal(poses.R), *[rate**2] * 6])
    belief = candidates.start(poses.dq_IB[0], C, np.zeros(6))
    total: Array = 0.0
    sensor, cut = _Direct(poses.R), MOST_NIS * gate(GATE, 3)
    for k in range(1, len(poses.t)):
        belief = candidates.predict(belief, float(poses.t[k] - poses.t[k - 1]))
        belief, (y, S, _, _) = candidates.update(belief, sensor, (poses.dq_IB[k], True), None)
        if k < WARM_UP:
            continue
        terms = []
        for i in (slice(0, 3), slice(3, 6)):
            nis = (y[..., i] * np.linalg.solve(S[..., i, i], y[..., i, None])[..., 0]).sum(axis=-1)
            terms.append(-0.5 * (np.minimum(nis, cut) + np.linalg.slogdet(S[..., i, i])[1]))
        total = total + np.array(terms)
    return np.asarray(total)


class _Direct:
    """A pose, measured as it is."""

    def __init__(self, R: Array) -> None:
        self._R = R

    def predict(self, x: Any, env: Any) -> Any:
        from gnc.models.sensors.interface import Prediction

        return Prediction(x.dq_IB, np.eye(6, 12), self._R)

    def residual(self, z: Array, expected: Array) -> Array:
        return dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(expected), z))
