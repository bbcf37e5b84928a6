"""Noises of a configuration by the likelihood of the innovations, cross-validated, with their uncertainty.

Parameters are factors on the numbers of the configuration, as logarithms x. SciPy's trust-region method drives; value,
gradient and Hessian at a point come from one batch, by differences over STEP:

    candidates x, x +- STEP e_i, x + STEP (e_i + e_j)

The inverse of -Hessian is the covariance of x. What the log does not determine has a large one: such a parameter keeps
its value, and so does one whose gain is that of a few moments: a filter that is not quite the truth has correlated
innovations, and a likelihood that looks sharper than it is. The log is cut into STRETCHES; fits to every other one are
scored on those held back.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from gnc.config import override
from gnc.errors import InputError
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.likelihood import likelihoods

Array = Any
Slopes = tuple[float, Array, Array]  # value, gradient, Hessian

NOISES = ("arw", "vrw", "bias_walk", "sigma_m_s", "sigma_deg", "sigma_m", "sigma_T", "sigma_arcsec", "sigma_fraction")
DENSITIES = ("acceleration_psd", "torque_psd", "wrench_psd", "reach_m")
STEP = 0.15
FARTHEST = np.log(1e3)  # factors are within a thousand
UNDETERMINED = 0.7  # standard deviation of x from which a parameter is called so: a factor of two
FLAT = 2.0  # of the likelihood, over a factor of four to either side
STRETCHES = 4
BLOCKS, SIGMAS = 20, 3.0  # of the log, over which a gain has to stand out of its own spread by so many deviations
CURVE = np.linspace(-np.log(8.0), np.log(8.0), 13)
OPTIONS = {"maxiter": 12, "initial_trust_radius": 1.0, "max_trust_radius": 2.0, "gtol": 0.5}


class Fit(NamedTuple):
    """Factors that maximise the likelihood of some stretches."""

    x: Array
    sigma: Array  # infinite where the likelihood has no maximum
    value: float


def tunable(config: Replay) -> dict[str, Any]:
    """Return dotted keys and values of all noises and densities that are above zero."""
    values = {f"filter.{name}": getattr(config.filter, name, None) for name in DENSITIES}
    for sensor in config.sensors:
        values |= {f"sensors.{sensor.name}.{name}": getattr(sensor, name, None) for name in NOISES}
    return {key: value for key, value in values.items() if value is not None and np.all(np.asarray(value) > 0.0)}


class Tuning:
    """A log, a configuration, and the keys that are tuned."""

    def __init__(self, log: Path, config: Replay, keys: Sequence[str] = ()) -> None:
        known = tunable(config)
        if not known:
            raise InputError("there is no noise to tune: state some in the configuration, as first guesses")
        for key in keys:
            if key not in known:
                told = ", ".join(known)
                raise InputError(f"--over {key}: not a noise above zero of this configuration; it has {told}")
        self.log, self.config, self.values = log, config, {key: known[key] for key in (keys or known)}
        self.batches = 0

    def at(self, x: Array) -> Replay:
        """Return the configuration with its numbers times exp(x)."""
        factors = zip(self.values.items(), np.exp(x), strict=True)
        return override(self.config, [f"{key}={(np.asarray(value) * f).tolist()!r}" for (key, value), f in factors])

    def stretches(self, points: Array, n: int = STRETCHES) -> Array:
        """Return the likelihood of n stretches (n, candidates)."""
        self.batches += 1
        t, terms = likelihoods(self.log, [self.at(x) for x in np.clip(points, -FARTHEST, FARTHEST)])
        index = np.minimum((n * (t - t[0]) / max(t[-1] - t[0], 1e-9)).astype(int), n - 1)
        return np.stack([terms[index == i].sum(axis=0) for i in range(n)])

    def fit(self, used: Sequence[int] = range(STRETCHES)) -> Fit:
        """Maximise the likelihood of these stretches."""
        known: dict[bytes, Slopes] = {}

        def slopes(x: Array) -> Slopes:
            if x.tobytes() not in known:
                known[x.tobytes()] = self._slopes(x, list(used))
            return known[x.tobytes()]

        best = minimize(
            lambda x: slopes(x)[0], np.zeros(len(self.values)), jac=lambda x: slopes(x)[1],
            hess=lambda x: slopes(x)[2], method="trust-exact", options=OPTIONS,
        )  # fmt: skip
        eigenvalues, vectors = np.linalg.eigh(slopes(best.x)[2])
        spread = np.where(eigenvalues > 1e-9, 1.0 / np.maximum(eigenvalues, 1e-12), 1e12)
        variance = np.where(vectors**2 > 1e-12, vectors**2 * spread, 0.0).sum(axis=1)
        return Fit(best.x, np.sqrt(variance), -float(best.fun))

    def _slopes(self, x: Array, used: list[int]) -> Slopes:
        """Return value, gradient and Hessian of the negative likelihood, from one batch."""
        d, steps = len(x), STEP * np.eye(len(x))
        pairs = list(itertools.combinations(range(d), 2))
        points = [x, *(x + s for s in steps), *(x - s for s in steps), *(x + steps[i] + steps[j] for i, j in pairs)]
        f = -self.stretches(np.array(points))[used].sum(axis=0)
        up, down, both = f[1 : d + 1], f[d + 1 : 2 * d + 1], f[2 * d + 1 :]
        H = np.diag((up - 2.0 * f[0] + down) / STEP**2)
        for (i, j), value in zip(pairs, both, strict=True):
            H[i, j] = H[j, i] = (value - up[i] - up[j] + f[0]) / STEP**2
        return float(f[0]), (up - down) / (2.0 * STEP), H

    def held_back_gain(self) -> float:
        """Return by how much fits to every other stretch raise the likelihood of those held back."""
        gain = 0.0
        for held in (range(0, STRETCHES, 2), range(1, STRETCHES, 2)):
            part = self.fit([i for i in range(STRETCHES) if i not in held])
            before, after = self.stretches(np.stack([np.zeros_like(part.x), part.x]))[list(held)].sum(axis=0)
            gain += float(after - before)
        return gain

    def curves(self, x: Array) -> Array:
        """Return the likelihood along every parameter through x (parameters, len(CURVE)), less that at x."""
        points = [x + step * row for row in np.eye(len(x)) for step in CURVE]
        total = self.stretches(np.array([x, *points])).sum(axis=0)
        return (total[1:] - total[0]).reshape(len(x), -1)

    def by_chance(self, fit: Fit) -> list[str]:
        """Return the keys whose change gains no more than chance: the gain differs too much from block to block."""
        points = np.array([fit.x, *(np.where(row, 0.0, fit.x) for row in np.eye(len(fit.x), dtype=bool))])
        likelihood = self.stretches(points, BLOCKS)
        gain = likelihood[:, :1] - likelihood[:, 1:]
        chance = np.sqrt(BLOCKS) * gain.std(axis=0, ddof=1)
        return [key for key, g, c in zip(self.values, gain.sum(axis=0), chance, strict=True) if g < SIGMAS * c]

    def undetermined(self, fit: Fit, curves: Array) -> list[str]:
        """Return the keys that the log does not tell: flat to a side, or with a wide spread."""
        inner = np.flatnonzero(np.abs(CURVE) <= np.log(4.0) + 1e-9)
        flat = -curves[:, [0, -1, inner[0], inner[-1]]].max(axis=1) < FLAT
        return [k for k, s, f in zip(self.values, fit.sigma, flat, strict=True) if f or s > UNDETERMINED]
