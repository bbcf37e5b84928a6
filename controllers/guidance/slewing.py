"""A slew to whatever guidance asks for, when a mode begins: within limits, around the Sun if need be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from gnc import quaternion
from gnc.batch import batched, chosen, maximum, minimum, sized, where
from gnc.config import Positive, Section, Vector3
from gnc.controllers import slew
from gnc.controllers.guidance.base import Guidance, View
from gnc.controllers.reference import AttitudeReference
from gnc.controllers.slew import SlewPlan
from gnc.controllers.wheel_allocation import WheelAllocation
from gnc.errors import InputError
from gnc.history import Signal
from gnc.models.actuators.reaction_wheels import WheelSet
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.typing import Array


class SlewMemory(NamedTuple):
    """The turn, and what the guidance at its end remembers."""

    begun: Array  # (trials,) 1 once it is planned
    plan: SlewPlan
    q_IT: Array  # (trials, 4) where the turn ends, as of now
    inner: Any


class Slewing:
    """Guidance that begins with a turn from where the body is to what another guidance asks for."""

    def __init__(self, inner: Any, section: SlewSection, limits: Any, sky: Any) -> None:
        self._inner, self._limits, self._sky = inner, limits, sky
        self._smooth = float(section.profile == "smooth")
        self._keep_out = section.keep_out
        self.signals: Mapping[str, Signal] = getattr(inner, "signals", {})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def start(self, estimate: Any, report: Report) -> SlewMemory:
        """Return the memory before the first reference."""
        still = 0.0 * estimate.q_IB[..., 0]
        turns, angle = slew.single(estimate.q_IB, estimate.q_IB)
        plan = slew.timed(turns, angle, (1.0, 1.0), self._smooth, still)
        return SlewMemory(still, plan, estimate.q_IB, self._inner.start(estimate, report))

    def guide(self, t: Any, estimate: Any, report: Report, memory: SlewMemory) -> tuple[AttitudeReference, SlewMemory]:
        """Return the reference now, and what to remember."""
        target, inner = self._inner.guide(t, estimate, report, memory.inner)
        plan = chosen(memory.begun > 0.0, memory.plan, self._planned(estimate.q_IB, target.q_IR, t))
        q_IT = target.q_IR + 0.0 * estimate.q_IB
        return slew.follow(plan, target, t), SlewMemory(1.0 + 0.0 * memory.begun, plan, q_IT, inner)

    def _planned(self, q_IB: Array, q_IR: Array, t: Any) -> SlewPlan:
        """Return the turn that begins now."""
        turns, angle = slew.single(q_IB, q_IR)
        if self._keep_out is not None:
            away_T = _seen_from(q_IR, self._sky.at(t).sun_I)
            turns, angle = slew.around(q_IB, q_IR, *self._keep_out.numbers(), away_T, turns, angle)
        return slew.timed(turns, angle, self._limits(turns), self._smooth, t)

    def aim(self, memory: SlewMemory) -> Array:
        """Return the attitude at the end of the turn."""
        return memory.q_IT

    def observe(self, view: View) -> Mapping[str, Array]:
        """Return what the inner guidance tells."""
        return self._inner.observe(view)


@batched("(4),(3)->(3)")
def _seen_from(q_IT, v_I):
    """Return a direction in the axes of the target."""
    return quaternion.inverse_rotate(q_IT, v_I)


class KeepOutSection(Section):
    """A cone about the Sun that a body axis does not enter on its way."""

    axis_B: Vector3 = (0.0, 0.0, 1.0)
    """The body axis: the boresight of a camera or of a tracker."""
    sun_deg: Annotated[float, Field(gt=0, lt=180)] = 30.0
    """Half the angle of the cone; a target that moves while the turn lasts needs as much more."""

    def numbers(self) -> tuple[Array, Array]:
        """Return the unit vector, and the cosine."""
        axis = np.array(self.axis_B)
        if not np.linalg.norm(axis) > 0.0:
            raise InputError("slew.keep_out.axis_B: is no direction")
        return axis / np.linalg.norm(axis), np.cos(np.radians(self.sun_deg))


class SlewSection(Section):
    """How a mode turns to what its guidance asks for, when it begins."""

    profile: Literal["smooth", "fastest"] = "smooth"
    """Acceleration that ramps as 1 - cos, or the fastest turn about an axis: full acceleration, coast, full brake."""
    rate_deg_s: Positive | None = None
    """Limit of the rate; by default what the wheels can take, see `share`."""
    acceleration_deg_s2: Positive | None = None
    """Limit of the acceleration; by default what the wheels can make, see `share`."""
    share: Positive = 0.5
    """Of the wheels' torque and momentum limits that a turn may use; the rest is left to feedback."""
    keep_out: KeepOutSection | None = None
    """By default the turn is about a single axis, whatever the Sun."""

    def build(self, guidance: Guidance, known: Known) -> Slewing:
        """Return the guidance with a turn before it."""
        if getattr(guidance, "wanted", 4) != 4:
            raise InputError("slew: turns to an attitude; guidance asks for a pose")
        return Slewing(guidance, self, self._limits(known), known.sky)

    def _limits(self, known: Known) -> Any:
        """Return the limits of rate and acceleration of a turn, by its axis where wheels make it."""
        stated = self.rate_deg_s, self.acceleration_deg_s2
        if None not in stated:
            numbers = tuple(np.radians(np.asarray(x, float)) for x in stated)
            return lambda turns: numbers
        wheels = next((one.wheels for one in known.effectors.values() if isinstance(one, WheelSet)), None)
        if wheels is None:
            raise InputError("slew: there are no wheels; give rate_deg_s and acceleration_deg_s2")
        most = np.min(wheels.momentum_limit), np.min(wheels.torque_limit)
        able = [self.share * x if y is None else np.inf for x, y in zip(most, stated, strict=True)]
        fixed = [np.inf if y is None else np.radians(y) for y in stated]
        normals = WheelAllocation(axes_B=wheels.axes_B).normals
        return lambda turns: _by_wheels(len(normals))(turns, known.J, normals, *able, *fixed)


@sized(lambda facets: f"(3,3),(3,3),({facets},3),(),(),(),()->(),()")
def _by_wheels(turns, J, normals, momentum, torque, rate, acceleration):
    """Return the least limits of rate and acceleration about any of the axes of a path."""
    need = 0.0 * turns[0, 0]
    for axis in turns:
        size = np.sqrt(axis @ axis)
        load = J @ (axis / where(size > 0.0, size, 1.0))
        for normal in normals:
            need = maximum(need, abs(normal @ load))
    return minimum(momentum / need, rate), minimum(torque / need, acceleration)
