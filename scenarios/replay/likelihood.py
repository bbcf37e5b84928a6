"""The likelihood of a log's innovations for many configurations at once: candidates are trials of one batch.

    l = -1/2 sum (log det S + min(y.S^-1 y, MOST_NIS gate))

The candidates differ in numbers only, so sensors and filters are built for each and their numbers stacked along a
leading axis: the log is read once, and every kernel runs over all candidates. What an outlier costs is bounded, but not
at the gate itself: a small covariance would then pay for calling everything an outlier.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np

from gnc.estimators.kalman import gate
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.filter_config import ImuFilterSection
from gnc.scenarios.replay.filter_protocol import ReplayFilter
from gnc.scenarios.replay.imu_run import ImuRunner
from gnc.scenarios.replay.inertial import Inertial
from gnc.scenarios.replay.results import Results
from gnc.scenarios.replay.run import Runner
from gnc.scenarios.replay.sensors import Channel
from gnc.scenarios.replay.session import Session, connect, starter_of

Array = Any

MOST_NIS = 10.0  # gates


def likelihoods(log: Path, configs: Sequence[Replay]) -> tuple[Array, Array]:
    """Return the time of every innovation (n,), and its part of the likelihood of each candidate (n, candidates)."""
    with TemporaryDirectory() as folder:
        first = connect(log, configs[0], Path(folder))
        headings = (first.filter.headings, first.filter.heading_sigma) if isinstance(first.filter, Inertial) else None
        sessions = [first, *(connect(log, config, Path(folder), headings) for config in configs[1:])]
        sums = Sums(configs[0].filter.gate_probability)
        if isinstance(first.runner, ImuRunner):
            first.runner.candidates, first.runner.told = configs, sums.add
            runner: Any = first.runner
        else:
            runner = batched(sessions, sums, len(sessions))
        for block in first.blocks():
            runner.run(first.paired(block))
        runner.finish()
        for session in sessions:
            session.dropped.close(False)
        return sums.found()


class Sums:
    """Takes the place of the results."""

    def __init__(self, gate_probability: float) -> None:
        self._probability = gate_probability
        self._t: list[Array] = []
        self._terms: list[Array] = []

    def estimates_at(self, t: Array, beliefs: Any) -> None:
        """Beliefs are of no interest here."""

    def innovations(self, sensor: int, t: Array, innovation: Any) -> None:
        """Add innovations of all candidates."""
        nis = np.minimum(innovation.nis, MOST_NIS * gate(self._probability, innovation.y.shape[-1]))
        self.add(t, np.reshape(-0.5 * (nis + np.linalg.slogdet(innovation.S)[1]), (len(t), -1)))

    def add(self, t: Array, terms: Array) -> None:
        """Add innovations (n,) of candidates (n, candidates)."""
        self._t.append(t)
        self._terms.append(terms)

    def found(self) -> tuple[Array, Array]:
        """Return times and terms."""
        return (np.concatenate(self._t), np.concatenate(self._terms)) if self._t else (np.zeros(0), np.zeros((0, 1)))


def batched(sessions: Sequence[Session], sums: Sums, trials: int) -> Runner:
    """Return a runner whose filter and sensors have the numbers of all candidates."""
    first, made = sessions[0], dict[tuple[int, ...], Any]()
    channels = [
        Channel(c.name, stacked([s.channels[i].sensor for s in sessions], made), c.quantity, c.surround)
        for i, c in enumerate(first.channels)
    ]
    filter_: ReplayFilter = first.filter
    filter_.filter = stacked([s.filter.filter for s in sessions], made)
    plain = {c.name: c.sensor for c in first.channels}
    starter = starter_of(first.config, filter_)
    look = starter.look
    starter.look = lambda name, t, sensor, z, env: look(name, t, plain[name], z, env)  # type: ignore[method-assign]
    chosen = first.config.filter
    assert not isinstance(chosen, ImuFilterSection) and isinstance(first.runner, Runner)
    options: dict[str, Any] = {"interval": first.config.interval, "trials": trials}
    parts = (filter_, channels, first.runner.streams, cast(Results, sums), starter, first.config.log)
    return Runner(*parts, chosen.ungated_s, **options)


def stacked(parts: Sequence[Any], made: dict[tuple[int, ...], Any]) -> Any:
    """Return a component whose numbers, where they differ, are those of all parts along a leading axis.

    What was made of the same parts before is given again: the state of a sensor knows the sensor by identity.
    """
    first, changed, key = parts[0], {}, tuple(map(id, parts))
    if key in made:
        return made[key]
    for field in dataclasses.fields(first):
        values = [getattr(part, field.name) for part in parts]
        if not field.init:
            continue
        if dataclasses.is_dataclass(values[0]):
            changed[field.name] = stacked(values, made)
        elif isinstance(values[0], tuple) and values[0] and dataclasses.is_dataclass(values[0][0]):
            changed[field.name] = tuple(stacked(entries, made) for entries in zip(*values, strict=True))
        elif any(not np.array_equal(value, values[0]) for value in values):
            changed[field.name] = np.array(values)
    made[key] = dataclasses.replace(first, **changed)
    return made[key]
