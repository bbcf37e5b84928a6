"""Taking momentum out of the wheels by torquers or thrusters, while the wheels make up for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gnc.controllers.allocation import Share, shares
from gnc.controllers.bdot import MomentumUnloading
from gnc.errors import InputError
from gnc.models.actuators.magnetorquers import TorquerSet, torque
from gnc.models.actuators.thrusters import ThrusterSet
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.models.sensors import Magnetometer
from gnc.scenarios.missions.sections import Unloading
from gnc.typing import Array


class Unloader(NamedTuple):
    """What takes momentum out of the wheels."""

    law: MomentumUnloading
    bias_B: Array | None  # that the wheels keep; None: what they have when the mode begins
    torquers: TorquerSet | None  # None: thrusters
    actuator: int  # place among the actuators
    wheels: int
    by: Share | None  # of the thrusters
    share: Share  # of the wheels, which make up for what unloads them

    def kept(self, report: Report) -> Array:
        """Return the momentum that the wheels keep in a mode that begins now: handed over from the mode before."""
        return report.rho_B if self.bias_B is None else self.bias_B + 0.0 * report.rho_B

    def added(
        self, commands: list[Any], estimate: Any, report: Report, out: Mapping[int, Array], kept_B: Array
    ) -> list[Any]:
        """Return the commands with unloading at work: the body must feel nothing."""
        if self.torquers is None:
            wanted_B = -self.law.gain[..., None] * (report.rho_B - kept_B)
            assert self.by is not None
            command, torque_B = self.by(wanted_B, estimate, out.get(self.actuator)), wanted_B
        else:
            command = self.law.command(report.rho_B, estimate.B_B, kept_B)
            command = self.torquers.torquers.dipole_B(command)
            torque_B = torque(command, estimate.B_B)
            if commands[self.actuator] is not None:  # torquers that make a part of the demand too
                command = self.torquers.torquers.dipole_B(commands[self.actuator] + command)
        against = self.share(-torque_B, estimate, out.get(self.wheels))
        commands[self.actuator] = command
        commands[self.wheels] = against if commands[self.wheels] is None else commands[self.wheels] + against
        return commands


def unloader(unload: Unloading | None, known: Known) -> Unloader | None:
    """Return what a mode unloads wheels with."""
    if unload is None:
        return None
    by, places = known.effectors.get(unload.by), {name: i for i, name in enumerate(known.effectors)}
    wheels = [name for name, e in known.effectors.items() if e.internal]
    if not isinstance(by, TorquerSet | ThrusterSet) or not wheels:
        raise InputError(
            f"unload.by = {unload.by!r}: unloading takes magnetorquers or thrusters of that name, and wheels"
        )
    magnetic = isinstance(by, TorquerSet)
    if magnetic and not any(isinstance(sensor, Magnetometer) for sensor in known.sensors.values()):
        raise InputError("unload: needs a magnetometer, which tells what the torquers can do")
    share = shares(known.effectors, wheels[:1], "torque", partial=True)[wheels[0]]
    push = None if magnetic else shares(known.effectors, [unload.by], "torque")[unload.by]
    law = MomentumUnloading(gain=unload.gain_per_s)
    bias = None if unload.bias_Nms == "entry" else np.array(unload.bias_Nms)
    return Unloader(
        law, bias, by if isinstance(by, TorquerSet) else None, places[unload.by], places[wheels[0]], push, share
    )
