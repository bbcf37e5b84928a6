"""A scenario as a campaign flies it: trial numbers in, arrays out; light to import, since every worker does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnc.montecarlo.flight import LOST, SUCCESS, Results
from gnc.montecarlo.sampling import columns
from gnc.scenarios import dispersed
from gnc.scenarios.catalogue import scenario
from gnc.scenarios.config.component import own_files
from gnc.scenarios.scenario import ScenarioConfig, fly

NEES = {"nees": 6, "pose_nees": 12}  # histories that are a normalised square over its dimension, with that dimension


@dataclass(frozen=True)
class ScenarioFlight:
    """A scenario that flies any of its trials, in any process."""

    name: str
    config: ScenarioConfig
    seed: int

    @property
    def sources(self) -> tuple[str, ...]:
        """The files of users' parts."""
        return own_files(self.config)

    def fly(self, trials: np.ndarray) -> Results:
        """Return metrics, histories for bands, loss and success of each trial, beside what was dispersed in it."""
        found = scenario(self.name)
        flight = fly(found, self.config, self.seed, trials, only=found.judged)
        if flight.attrs["interrupted"]:
            raise KeyboardInterrupt
        verdict = found.judge(self.config, flight)
        results = {name: np.asarray(values, float) for name, values in verdict.per_trial.items()}
        results |= {name: np.asarray(values, float) for name, values in verdict.over_time.items()}
        for name in NEES.keys() & results.keys():
            results[name] = NEES[name] * results[name]
        results[LOST] = np.array([verdict.lost.get(int(trial), "") for trial in trials])
        results[SUCCESS] = results[LOST] == "" if verdict.success is None else np.asarray(verdict.success)
        return results | self._inputs(trials)

    def _inputs(self, trials: np.ndarray) -> Results:
        """Return the dispersed numbers of the trials, in their order."""
        if not self.config.dispersions:
            return {}
        groups = dispersed.groups(self.config, (), self.seed, trials)
        order = np.argsort(np.concatenate([group.trials for group in groups]), kind="stable")
        back = np.argsort(np.argsort(trials, kind="stable"), kind="stable")
        parts = [columns(group.fields) for group in groups]
        return {name: np.concatenate([part[name] for part in parts])[order][back] for name in parts[0]}
