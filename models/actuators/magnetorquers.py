"""Magnetic torquers along the body axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import check
from gnc.batch import Kernel, batched, where
from gnc.linalg import cross
from gnc.models.actuators.saturation import SATURATIONS, clipped, saturated
from gnc.models.parameters import each, store

Array = Any

SLACK = 1e-9  # of a step, by which round-off may put a limit below a whole number of steps


@dataclass(frozen=True, eq=False, kw_only=True)
class Magnetorquers:
    """Dipoles m_B in the field B_B: tau_B = m_B x B_B.

    With a `step` the dipole comes in multiples of it, rounded to the nearest after saturation, within the limit.
    """

    dipole_limit: Array = np.inf  # (..., 3), or one number for all axes [A m^2]
    step: Array = 0.0  # (...) of the driver; 0 is continuous [A m^2]
    saturation: str = "direction"

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        dipole_limit = each("dipole_limit", self.dipole_limit, 3, "limit")
        store(self, dipole_limit=dipole_limit, step=check.non_negative("step", self.step))
        check.one_of("saturation", self.saturation, SATURATIONS)

    def dipole_B(self, command: Array) -> Array:
        """Return the dipole that a command makes [A m^2]."""
        return _DIPOLES[self.saturation](command, self.dipole_limit, self.step)

    def apply(self, command: Array, state: None, h: Array, B_B: Array) -> tuple[Array, None]:
        """Return the torque of a commanded dipole in the field B_B [T], body axes; there is no state."""
        return torque(self.dipole_B(command), B_B), None


@batched("(3),(3)->(3)")
def torque(dipole_B, B_B):
    """Return m x B, for plants that ask for it within a step."""
    return cross(dipole_B, B_B)


def _limited(saturation: str) -> Kernel:
    @batched("(3),(3),()->(3)")
    def dipole(command, dipole_limit, step):
        """Return the dipole within its limit, in whole steps."""
        m = saturated(command, dipole_limit, saturation)
        quantum = where(step == 0.0, 1.0, step)
        largest = np.floor(dipole_limit / quantum + SLACK)
        whole = clipped(np.rint(m / quantum), largest)
        return where(step == 0.0, m, clipped(quantum * whole, dipole_limit))

    return dipole


_DIPOLES = {saturation: _limited(saturation) for saturation in SATURATIONS}
