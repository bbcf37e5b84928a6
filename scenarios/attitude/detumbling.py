"""Flight software that is released in a tumble: B-dot until the field stands still, TRIAD, then pointing with wheels.

Each trial changes over in its own time, once, when its navigation has found the attitude.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import as_numbers, batched, where
from gnc.controllers.bdot import Bdot, BdotMemory, MomentumUnloading
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.initialise import attitude_covariance, restart, triad
from gnc.estimators.kalman import Innovation
from gnc.events import chosen
from gnc.linalg import cross
from gnc.models.actuators import Magnetorquers
from gnc.models.actuators.magnetorquers import torque
from gnc.models.sensors.interface import Measurement
from gnc.models.states import AttitudeState
from gnc.scenarios.attitude.control import WheelControl
from gnc.scenarios.attitude.navigation import MekfNavigation
from gnc.scenarios.attitude.satellite import Command, Report

Array = Any
MAGNETOMETER, SUN = "magnetometer", "sun_sensor"
LEAST_SINE = 0.34  # of the angle between Sun and field, 20 deg, below which they give no attitude


class Search(NamedTuple):
    """The belief: of the filter once it has begun, and what the field tells before that."""

    attitude: Belief  # means nothing before `since`
    since: Array  # (trials,) when the filter began; NaN: not yet [s]
    B_B: Array  # (trials, 3) last measured field, NaN before [T]
    mean_B: Array  # (trials, 3) the field smoothed, NaN before [T]
    quiet_s: Array  # (trials,) for how long it has turned slowly


@dataclass(frozen=True, eq=False)
class Acquisition:
    """Navigation that waits until the field has turned slowly for a while, then starts the filter from TRIAD.

    How fast the field turns is |B - mean|/(memory |B|), mean its average with an exponential memory: the difference of
    two measurements would be all noise. A spin about the field itself is seen once the field has turned.
    """

    mekf: MekfNavigation
    C_extras: Array | None
    period_s: float  # of the magnetometer
    quiet_rate: float  # [rad/s]
    quiet_s: float
    sigma_rate: float  # [rad/s] about each axis when the filter begins
    memory_s: float = 10.0
    _gain: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compute once what the smoothing takes of a new measurement."""
        object.__setattr__(self, "_gain", 1.0 - float(np.exp(-self.period_s / self.memory_s)))

    def start(self, belief: Belief) -> Search:
        """Return the belief before any measurement."""
        lead = belief.q_IB.shape[:-1]
        nothing = np.full((*lead, 3), np.nan)
        return Search(belief, np.full(lead, np.nan), nothing, nothing, np.zeros(lead))

    def predict(self, belief: Search, command: Command, report: Report, t: float, h: float) -> Search:
        """Move the filter over h."""
        return belief._replace(attitude=self.mekf.predict(belief.attitude, command, report, t, h))

    def update(self, belief: Search, name: str, measurement: Measurement, t: float) -> tuple[Search, Innovation]:
        """Correct the filters that have begun, and begin others."""
        begun = measurement.valid & np.isfinite(belief.since)
        attitude, innovation = self.mekf.update(belief.attitude, name, Measurement(measurement.z, begun), t)
        belief = belief._replace(attitude=attitude)
        if name == MAGNETOMETER:
            belief = self._felt(belief, measurement)
        elif name == SUN:
            belief = self._begun(belief, measurement, t)
        return belief, innovation

    def _felt(self, belief: Search, measurement: Measurement) -> Search:
        """Note the field, and for how long it has turned slowly."""
        B_B, valid = self.mekf.sensors[MAGNETOMETER].in_body(measurement.z), as_numbers(measurement.valid)
        numbers = self._gain, self.memory_s, self.quiet_rate, self.period_s
        felt = _felt(B_B, valid, belief.B_B, belief.mean_B, belief.quiet_s, *numbers)
        return belief._replace(B_B=felt[0], mean_B=felt[1], quiet_s=felt[2])

    def _begun(self, belief: Search, measurement: Measurement, t: float) -> Search:
        """Start the filter where the field is quiet and the Sun in sight, at an angle."""
        sensors, env = self.mekf.sensors, self.mekf.sky.at(t)
        sun_B = sensors[SUN].in_body(measurement.z)
        ready = (belief.quiet_s >= self.quiet_s) & measurement.valid & np.isnan(belief.since)
        ready = ready & (_sine(sun_B, belief.B_B) > LEAST_SINE)
        if not ready.any():
            return belief
        field, sun = sensors[MAGNETOMETER], np.radians(sensors[SUN].sigma_deg)
        sigma = np.hypot(np.radians(field.sigma_deg), field.sigma_T / np.linalg.norm(env.B_I))
        q_IB, C = triad(sun_B, belief.B_B, env.sun_I, env.B_I, sun, sigma)
        x = AttitudeState(q_IB, np.zeros_like(belief.B_B))
        C = attitude_covariance(C, self.sigma_rate)
        attitude = restart(self.mekf.mekf, belief.attitude, x, C, C_extras=self.C_extras, where=ready)
        return belief._replace(attitude=attitude, since=np.where(ready, t, belief.since))

    def state(self, belief: Search) -> AttitudeState:
        """Return attitude and rate by the filter."""
        return self.mekf.mekf.state(belief.attitude)


class ModeMemory(NamedTuple):
    """What both laws remember."""

    bdot: BdotMemory
    law: Any


@dataclass(frozen=True, eq=False)
class DetumbleControl:
    """B-dot while the attitude is not known; then wheels point, and the torquers hold their momentum at a bias."""

    bdot: Bdot
    pointing: WheelControl
    unloading: MomentumUnloading | None
    bias_B: Array  # (3,) momentum that the wheels are to keep [N m s]
    torquers: Magnetorquers
    period_s: float

    def start(self, leading_shape: tuple[int, ...]) -> ModeMemory:
        """Return the memory before the first command."""
        return ModeMemory(self.bdot.start(leading_shape), self.pointing.law.start(leading_shape))

    def command(self, belief: Search, report: Report, t: float, memory: ModeMemory) -> tuple[Command, ModeMemory]:
        """Return the command of the mode that each trial is in, with a dipole that the torquers can make."""
        known = np.isfinite(belief.since)
        stopping_B, bdot = self.bdot.command(belief.B_B, memory.bdot, self.period_s)
        wanted, law = self.pointing.command(belief.attitude, report, t, memory.law)
        unloading_B = np.zeros(3)
        if self.unloading is not None:
            unloading_B = self.unloading.command(report.rho_B, belief.B_B, self.bias_B)
        dipole_B = self.torquers.dipole_B(np.where(known[..., None], unloading_B, stopping_B))
        against = self.pointing.allocation.command(-torque(dipole_B, belief.B_B))  # the body must not feel the torquers
        wheels = np.where(known[..., None], wanted.wheels + against, 0.0)
        return Command(wheels, dipole_B), ModeMemory(bdot, chosen(known, law, memory.law))


@batched("(3),(),(3),(3),(),(),(),(),()->(3),(3),()")
def _felt(z_B, valid, B_B, mean_B, quiet_s, gain, memory_s, quiet_rate, period_s):
    """Return the field, its average and the quiet time after a measurement; one that is not valid changes nothing."""
    first = (mean_B[0] != mean_B[0]) & (valid > 0.0)
    mean = where(first, z_B, mean_B)
    away = z_B - mean
    slow = away @ away < (memory_s * quiet_rate) ** 2 * (z_B @ z_B)
    quiet = where(slow, quiet_s + period_s, 0.0)
    there = valid > 0.0
    return where(there, z_B, B_B), where(there, mean + gain * away, mean_B), where(there, quiet, quiet_s)


@batched("(3),(3)->()")
def _sine(a, b):
    """Return the sine of the angle between two vectors; NaN if one is not known."""
    n = cross(a, b)
    return np.sqrt((n @ n) / ((a @ a) * (b @ b)))
