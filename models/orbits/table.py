"""An orbit by a table: a CCSDS OEM, or a CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ValidationInfo, field_validator

from gnc.models.environment.ephemeris import TableOrbit
from gnc.models.orbits.base import OrbitPart


class Table(OrbitPart):
    """A table of positions and velocities, splined: a CCSDS OEM (key-value notation), or a CSV file."""

    kind: Literal["table"] = "table"
    file: str
    """The table, beside the mission's file; a CSV has the columns t, x, y, z and perhaps vx, vy, vz in s, m and m/s."""
    epoch: str | None = None
    """UTC of the start, ISO 8601; by default the first epoch of an OEM, or an equinox."""

    @field_validator("file")
    @classmethod
    def _beside_the_mission(cls, path: str, info: ValidationInfo) -> str:
        beside = Path(info.context["directory"] if info.context else ".") / path
        return str(beside) if beside.is_file() else path

    def path(self) -> TableOrbit:
        """Return the orbit."""
        return TableOrbit.read(Path(self.file), self.epoch)
