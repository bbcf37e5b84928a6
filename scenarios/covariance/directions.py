"""What is drawn for a trial as numbers of unit variance, and a mission built with each of them moved.

A typical flight is a trial of the mission without noise. Trial 0 of its batch has the numbers drawn for it; trials
1 + i and 1 + count + i have the i-th number moved up and down; the rest are as trial 0. Whatever the parts make of
their draws (a misalignment, an inertia, a start) is differenced between those trials, and by that alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc import noise
from gnc.draws import Draws
from gnc.flying import State
from gnc.linear_flight import LinearFlight
from gnc.montecarlo.sampling import draw
from gnc.scenarios.missions import dispersal
from gnc.scenarios.missions.build import Prepared, prepare
from gnc.scenarios.missions.dispersal import Group
from gnc.scenarios.missions.mission import Mission
from gnc.typing import Array

STEP = 1e-3  # sigma, of the differences by which parameters and the start depend on what is drawn
SAMPLES = 4096  # draws of a dispersed field, from which its mean and covariance are taken
ALIKE = 192  # further trials as the first: so many changes of a part in Python are tried at once


class Quiet(noise.Stream):
    """A stream of zeros."""

    def __init__(self, trials: int, size: int) -> None:
        self._block = self._used = self.BLOCK
        self.size, self._ahead = size, np.zeros((trials, self._block, size))

    def _draw(self) -> None:
        self._used = 0

    def give_back(self, n: int) -> None:
        """Do nothing."""


@dataclass
class Plan:
    """Which numbers are drawn, what they are in a trial, and by how much the trials of a batch differ from it."""

    seed: int
    trial: int
    parts: dict[str, slice] = field(default_factory=dict)  # name of a draw -> its numbers
    values: dict[str, Array] = field(default_factory=dict)  # numbers (size) of unit variance
    moves: Array = field(default_factory=lambda: np.zeros((1, 0)))  # (rows, count); without columns: none is known yet

    @property
    def count(self) -> int:
        """How many numbers are drawn."""
        return sum(len(values) for values in self.values.values())

    @property
    def theta(self) -> Array:
        """All numbers (count) of the trial."""
        return np.concatenate([np.zeros(0), *(self.values[name] for name in self.parts)])

    def rows(self, name: str, value: Array) -> Array:
        """Return a draw of all trials (rows, size)."""
        flat = np.ravel(value)
        if name not in self.parts:
            self.parts[name] = slice(self.count, self.count + len(flat))
            self.values[name] = flat
        known = self.moves[:, self.parts[name]]
        return flat + (known if known.shape[1] else np.zeros((len(self.moves), 1)))


@dataclass(frozen=True)
class MovedDraws(Draws):
    """The draws of one trial, moved."""

    plan: Plan = field(default_factory=lambda: Plan(0, 0))

    def _drawn(self, name: str, shape: tuple[int, ...]) -> Array:
        return noise.normal(self.plan.seed, [self.plan.trial], f"{self.prefix}{name}", shape)[0]

    def _normal(self, name: str, shape: int | tuple[int, ...]) -> Array:
        shape = shape if isinstance(shape, tuple) else (shape,)
        return self.plan.rows(f"{self.prefix}{name}", self._drawn(name, shape)).reshape(-1, *shape)

    def vector(self, name: str, sigma: Any, size: int = 3) -> Array:
        """Return normal vectors; those without a size are no source of errors."""
        return super().vector(name, sigma, size) if np.any(sigma) else np.zeros((len(self.trials), size))

    def inertia(self, name: str, J: Array, percent: Any) -> Array:
        """Return inertias; those without an error are no source."""
        return super().inertia(name, J, percent) if np.any(percent) else J + np.zeros((len(self.trials), 1, 1))

    def direction(self, name: str) -> Array:
        """Return a unit vector; whatever is linear in it sees three numbers of variance 1/3."""
        drawn = self._drawn(name, (3,))
        numbers = np.sqrt(3.0) * drawn / np.linalg.norm(drawn)
        return self._noted(name, self.plan.rows(f"{self.prefix}{name}", numbers) / np.sqrt(3.0))

    def stream(self, name: str, size: int) -> noise.Stream:
        """Return noise that is silent."""
        return Quiet(len(self.trials), size)


def prepared(mission: Mission, plan: Plan, truth: Mapping[str, Any] | None = None) -> Prepared:
    """Build the mission of a plan's trial with all its rows; software is not told of fields in `truth`."""
    (group,) = dispersal.groups(mission, plan.seed, np.array([plan.trial]))
    changed, fields, rows = group.mission, dict(group.fields), len(plan.moves)
    for key, values in group.fields.items():
        if not dispersal.shapes(mission, key.split(".")):
            centre, spread = _spread(mission, plan.seed, key)
            numbers = np.linalg.pinv(spread) @ (np.ravel(values) - centre)
            fields[key] = (centre + plan.rows(key, numbers) @ spread.T).reshape(rows, *values.shape[1:])
            changed = dispersal.with_field(changed, key.split("."), fields[key])
    for key, value in (truth or {}).items():
        changed = dispersal.with_field(changed, key.split("."), value)
    trials = np.full(rows, plan.trial)
    return prepare(Group(changed, group.nominal, trials, fields), plan.seed, MovedDraws(plan.seed, trials, plan=plan))


def _spread(mission: Mission, seed: int, key: str) -> tuple[Array, Array]:
    """Return mean (size) and a factor (size, size) of the covariance of a dispersed field, from many of its draws."""
    nominal = mission.model_dump(exclude={"dispersions"})
    drawn = draw(mission.dispersions, nominal, seed, np.arange(SAMPLES), SAMPLES, mission.run.sampling)[key]
    flat = drawn.reshape(SAMPLES, -1)
    variances, vectors = np.linalg.eigh(np.atleast_2d(np.cov(flat.T)))
    return flat.mean(axis=0), vectors * np.sqrt(np.maximum(variances, 0.0))


@dataclass
class TypicalFlight:
    """A trial of a mission without noise, ready to be differentiated."""

    mission: Mission
    trial: int
    seed: int
    by_draws: bool = True  # whether derivatives are taken with respect to what is drawn

    def __post_init__(self) -> None:
        """Build twice: what is drawn is known after the first time."""
        self.plan = Plan(self.seed, self.trial)
        if self.by_draws:
            first = Plan(self.seed, self.trial)
            prepared(self.mission, first)
            self.plan = Plan(self.seed, self.trial, first.parts, first.values)
        self.count = count = self.plan.count
        self.plan.moves = np.zeros((1 + 2 * count + ALIKE, count))
        self.plan.moves[1 : 1 + 2 * count] = STEP * np.vstack([np.eye(count), -np.eye(count)])
        self.prepared = prepared(self.mission, self.plan)
        alike = range(1 + 2 * count, len(self.plan.moves))
        self.linear = LinearFlight(self.prepared.loop, _start(self.prepared), self.slopes, alike)

    def slopes(self, values: Array) -> Array:
        """Return the derivative (drawn, size) of numbers (trials, size) of all rows."""
        count = self.count
        return (values[1 : 1 + count] - values[1 + count : 1 + 2 * count]) / (2.0 * STEP)

    def alike(self, rows: int) -> Prepared:
        """Return the flight with rows that do not differ."""
        return self.moved(np.zeros((rows, self.plan.count)))

    def moved(self, moves: Array) -> Prepared:
        """Return the flight with rows that differ by numbers (rows, count) of what is drawn, in sigma."""
        return prepared(self.mission, Plan(self.seed, self.trial, self.plan.parts, self.plan.values, moves))

    def draws(self, moves: Array) -> MovedDraws:
        """Return the draws of rows that differ by numbers (rows, count), without noise."""
        plan = Plan(self.seed, self.trial, self.plan.parts, self.plan.values, moves)
        return MovedDraws(self.seed, np.full(len(moves), self.trial), plan=plan)

    @property
    def noises(self) -> Mapping[str, int]:
        """The instruments that have noise, with how many numbers."""
        return {i.name: i.noise.size for i in self.prepared.loop.instruments if i.noise is not None and i.noise.size}

    @property
    def walks(self) -> dict[str, Any]:
        """The numbers of instruments' noise that are random walks, by their places."""
        walks = {i.name: np.flatnonzero(i.noise.walking) for i in self.prepared.loop.instruments if i.noise is not None}
        return {name: places for name, places in walks.items() if len(places)}


def _start(prepared: Prepared) -> State:
    return State(prepared.truth, prepared.belief, prepared.loop.controller.idle, prepared.memory)
