"""What real thrusters add to ideal ones: thrust that rises and falls, axes and strengths that are off, propellant."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from gnc import quaternion
from gnc.config import NonNegative, Positive, Vector3
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.actuators.effector import ActuatorPart

if TYPE_CHECKING:
    from gnc.models.actuators.thrusters import Thrusters, ThrusterSet

GRAVITY = 9.80665  # of the specific impulse [m/s^2]


class PlumePart(ActuatorPart):
    """What thrusters have beside layout and valves."""

    rise_s: NonNegative = 0.0
    """Time constant with which thrust rises once a valve opens; flight software knows it."""
    fall_s: NonNegative = 0.0
    """Time constant with which thrust falls once it closes."""
    misalignment_deg: NonNegative = 0.0
    """By how much each thruster is turned away about each axis, one sigma over the trials."""
    thrust_error_percent: Annotated[float, Field(ge=0, le=50)] = 0.0
    """By how much each makes more or less thrust, one sigma over the trials."""
    specific_impulse_s: Positive | None = None
    """By which propellant leaves a craft that moves, whose mass and centre change; none: it does not."""
    propellant_kg: Positive | None = None
    """How much there is at the start; once it is used up there is no thrust. Flight software does not notice."""
    tank_m: Vector3 = (0.0, 0.0, 0.0)
    """Where that propellant is, from the body's origin."""

    def ideal(self) -> ThrusterSet:
        """Return the thrusters without any of this."""
        raise NotImplementedError

    def belief(self) -> ThrusterSet:
        """Return the thrusters as flight software knows them."""
        return self._lagged(self.ideal())

    def truth(self, name: str, draws: Draws) -> ThrusterSet:
        """Return the thrusters of each trial."""
        jets = self.ideal()
        if np.any(self.misalignment_deg) or np.any(self.thrust_error_percent):
            jets.thrusters = self._off(jets.thrusters, name, draws)
        if self.specific_impulse_s is not None:
            flow = 1.0 / (GRAVITY * np.asarray(self.specific_impulse_s))
            jets.thrusters = dataclasses.replace(jets.thrusters, tank_B=np.array(self.tank_m), flow_kg_Ns=flow)
        jets = self._lagged(jets)
        if self.propellant_kg is None:
            return jets
        if self.specific_impulse_s is None:
            raise InputError("propellant_kg: is used up by specific_impulse_s; give that too")
        from gnc.models.actuators.tank import FedThrusters

        return FedThrusters(jets, np.asarray(self.propellant_kg, float))

    def _off(self, thrusters: Thrusters, name: str, draws: Draws) -> Thrusters:
        n = len(draws.trials)
        turn = draws.vector(f"{name} misalignment", np.radians(self.misalignment_deg), 3 * thrusters.count)
        gain_error = draws.vector(f"{name} thrust", 0.01 * np.asarray(self.thrust_error_percent), thrusters.count)
        turned = quaternion.rotate(quaternion.exp(turn.reshape(n, -1, 3)), thrusters.directions_B)
        return dataclasses.replace(thrusters, directions_B=turned, thrust=thrusters.thrust * (1.0 + gain_error))

    def _lagged(self, thrusters: ThrusterSet) -> ThrusterSet:
        if not np.any(self.rise_s) and not np.any(self.fall_s):
            return thrusters
        from gnc.models.actuators.lagged_thrusters import LaggedThrusters  # which is built of ideal ones

        return LaggedThrusters(thrusters, np.asarray(self.rise_s, float), np.asarray(self.fall_s, float))
