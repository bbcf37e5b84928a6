"""A mission as a campaign flies it: trial numbers in, arrays out; light to import, since every worker does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gnc.config.component import own_files
from gnc.montecarlo.flight import LOST, SUCCESS, Results
from gnc.montecarlo.sampling import columns
from gnc.montecarlo.summary import TALLY
from gnc.scenarios.missions.flight import fly
from gnc.scenarios.missions.mission import Mission

if TYPE_CHECKING:
    from gnc.scenarios.missions.flight_code import FlightCode


@dataclass(frozen=True)
class MissionFlight:
    """A mission that flies any of its trials, in any process."""

    mission: Mission
    seed: int
    flight_code: FlightCode | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The files of users' parts, and of flight code."""
        return own_files(self.mission) + (() if self.flight_code is None else self.flight_code.sources)

    def fly(self, trials: np.ndarray) -> Results:
        """Return metrics, histories for bands, loss and success of each trial, beside what was drawn for it."""
        flight = fly(self.mission, [int(k) for k in trials], self.seed, judged_only=True, flight_code=self.flight_code)
        if flight.interrupted:
            raise KeyboardInterrupt
        verdict = flight.verdict
        results = {name: np.asarray(values, float) for name, values in verdict.per_trial.items()}
        results |= {name: np.asarray(values, float) for name, values in verdict.over_time.items()}
        results |= {f"{TALLY}{name}": np.asarray(values, float) for name, values in verdict.tally.items()}
        results[LOST] = np.array([verdict.lost.get(int(trial), "") for trial in trials])
        results[SUCCESS] = np.asarray(verdict.success)
        return results | {name: np.asarray(values, float) for name, values in columns(flight.drawn).items()}
