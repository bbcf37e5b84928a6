"""The environment of a flight at every half tick of its clock, looked up once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnc.errors import InputError
from gnc.models.environment import Environment, EnvironmentTable


@dataclass(frozen=True)
class Sky:
    """An environment that all trials share; `at(t)` is a look at a row."""

    h: float
    rows: Environment  # arrays (half ticks, ...)

    @classmethod
    def along(cls, table: EnvironmentTable, h: float, duration_s: float) -> Sky:
        """Look up a whole flight."""
        return cls(0.5 * h, table.at(0.5 * h * np.arange(2 * round(duration_s / h) + 1)))

    def at(self, t: float) -> Environment:
        """Return the environment at the nearest half tick."""
        k = round(t / self.h)
        if not 0 <= k < len(self.rows.shadow):
            raise InputError(f"t: {t:g} s is outside of the flight")
        return Environment(*[row[k] for row in self.rows])
