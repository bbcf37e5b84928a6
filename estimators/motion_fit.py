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
GATE, MOST_NIS = 0.999, 10.0  # an outlier costs ten times the gate: less, and a small covariance would pay for outliers
MARGIN = 10.0  # by which the motion is livelier still than in the liveliest stretch
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


def fitted(
    stretches: Sequence[Poses], kinds: Sequence[Kind], gate_probability: float
) -> tuple[MotionModel, MotionModel]:
    """Return the models of turning and of moving under which the poses are likeliest; each is chosen for itself.

    The search is about the liveliest stretch: a body that rests most of the time is to be followed when it moves.
    """
    guesses = np.max([_guesses(poses) for poses in stretches], axis=0)
    shapes = [shape for shape in SHAPES if shape[0] in kinds]
    liveliest = list[Array]()
    found = [[MotionModel(kind, _level(kind, tau, float(guess)), tau) for kind, tau in shapes] for guess in guesses]
    for decades in (DECADES, FINER):  # the best density of every shape, then nearer to it
        grids = [[replace(m, psd=m.psd * 10.0**decade) for m in models for decade in decades] for models in found]
        candidates = MotionFilter(tuple(grids[0]), tuple(grids[1]), gate_probability)
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
