"""Magnetic torquers along the body axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import check
from gnc.batch import Kernel, batched, where
from gnc.config import NonNegative, Positive
from gnc.draws import Draws
from gnc.history import Signal
from gnc.linalg import cross
from gnc.models.actuators.effector import SATURATIONS, ActuatorPart, Effector, clipped, saturated
from gnc.models.environment.disturbances import dipole_torque
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
        dipole_limit = each("dipole_limit", self.dipole_limit, 3, "limit")
        store(self, dipole_limit=dipole_limit, step=check.non_negative("step", self.step))
        check.one_of("saturation", self.saturation, SATURATIONS)

    def dipole_B(self, command: Array) -> Array:
        """Return the dipole that a command makes [A m^2]."""
        return _DIPOLES[self.saturation](command, self.dipole_limit, self.step)


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


class TorquerSet(Effector):
    """Torquers on a craft; they switch at once."""

    size = 3
    signals: ClassVar[Mapping[str, Signal]] = {"dipole_Am2": Signal("A m^2", "dipole of the torquers, body axes")}

    def __init__(self, torquers: Magnetorquers) -> None:
        self.torquers = torquers

    def most(self, sky: Any) -> Array:
        """Return the torque of the largest dipole across the field."""
        B_I = sky.at(0.0).B_I
        return np.append(self.torquers.dipole_limit * np.sqrt(B_I @ B_I), np.zeros(3))

    def start(self, trials: int) -> Array:
        """Return the dipole of the last step: none."""
        return np.zeros((trials, 3))

    def act(self, command: Array, state: Array, h: Array) -> tuple[Array, Array]:
        """Return the dipole that a command makes, and keep it: it may disturb a magnetometer."""
        dipole_B = self.torquers.dipole_B(command)
        return dipole_B, dipole_B + 0.0 * state

    def wrench_B(self, made: Array, q_IB: Array, env: Any) -> Array:
        """Return m x B."""
        return dipole_torque(q_IB, env.B_I, made)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return the dipole."""
        return {"dipole_Am2": self.torquers.dipole_B(command)}


class MagnetorquersPart(ActuatorPart):
    """Magnetic torquers along the body axes; off while the magnetometer reads, unless that says otherwise."""

    kind: Literal["magnetorquers"] = "magnetorquers"
    needs_orbit: ClassVar[bool] = True
    dipole_limit_Am2: Positive = 1.0
    """Of each axis."""
    step_Am2: NonNegative = 0.0
    """Of the driver; 0 is continuous."""
    duty: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of the time in which they may be on; a command is the mean dipole, so its limit is that share of theirs."""

    def truth(self, name: str, draws: Draws) -> TorquerSet:
        """Return the torquers."""
        return self.belief()

    def belief(self) -> TorquerSet:
        """Return the torquers as flight software knows them."""
        return TorquerSet(Magnetorquers(dipole_limit=np.asarray(self.dipole_limit_Am2) * self.duty, step=self.step_Am2))
