"""Orbits from two-line elements, by SGP4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.models.environment.constants import DAY
from gnc.models.environment.epoch import Epoch, day_fraction_to_date
from gnc.models.environment.frames import teme_to_inertial, turn
from gnc.models.environment.orbit import OrbitState

LINE_LENGTH = 69


@dataclass(frozen=True)
class TleOrbit:
    """Two-line elements and the instant of t = 0, that of the elements unless another is given."""

    line1: str
    line2: str
    epoch: Any = None  # UTC

    def __post_init__(self) -> None:
        _check_line("line1", self.line1, "1")
        _check_line("line2", self.line2, "2")
        if self.line1[2:7] != self.line2[2:7]:
            raise InputError(f"line2: satellite {self.line2[2:7]} is not that of line1, {self.line1[2:7]}")
        epoch = self.elements_epoch if self.epoch is None else Epoch.of(self.epoch)
        object.__setattr__(self, "epoch", epoch)

    @property
    def elements_epoch(self) -> Epoch:
        """The epoch of the elements."""
        satellite = self._satellite()
        return Epoch(day_fraction_to_date(satellite.jdsatepoch, satellite.jdsatepochF))

    def at(self, t: Any) -> OrbitState:
        """Return the state t seconds after the epoch, in inertial axes (GCRS)."""
        R, state = teme_to_inertial(self.epoch, t), self.teme(t)
        return OrbitState(turn(R, state.r_I), turn(R, state.v_I))

    def teme(self, t: Any) -> OrbitState:
        """Return the state as SGP4 gives it, in the true equator and mean equinox of date."""
        t, satellite = np.asarray(t, float), self._satellite()
        # counted from the elements' own epoch, which has more digits than a datetime
        seconds = np.ravel(t) + self.epoch.seconds_after(self.elements_epoch)
        jd, fraction = np.full(seconds.shape, satellite.jdsatepoch), satellite.jdsatepochF + seconds / DAY
        errors, r_km, v_km_s = satellite.sgp4_array(jd, fraction)
        _check_flight(errors, np.ravel(t))
        shape = (*t.shape, 3)
        return OrbitState(1e3 * r_km.reshape(shape), 1e3 * v_km_s.reshape(shape))

    def _satellite(self) -> Any:
        from sgp4.api import Satrec

        try:
            return Satrec.twoline2rv(self.line1, self.line2)
        except ValueError as error:
            raise InputError(f"line1, line2: {error}") from None


def _check_line(name: str, line: Any, number: str) -> None:
    from sgp4.io import compute_checksum

    if not isinstance(line, str) or len(line) != LINE_LENGTH or line[0] != number:
        raise InputError(f"{name}: expected {LINE_LENGTH} characters that begin with {number!r}, got {line!r}")
    if line[-1] != str(compute_checksum(line)):
        raise InputError(f"{name}: checksum is {line[-1]!r}, expected {compute_checksum(line)}; copy the line again")


def _check_flight(errors: np.ndarray, t: np.ndarray) -> None:
    from sgp4.api import SGP4_ERRORS

    bad = np.flatnonzero(errors)
    if len(bad):
        first = bad[0]
        raise InputError(f"t: SGP4 cannot reach {t[first]:g} s: {SGP4_ERRORS[int(errors[first])]}; stay near the epoch")
