"""Approach to the port of another craft as a part of a mission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import dual_quaternion, quaternion
from gnc.batch import batched
from gnc.config import Positive
from gnc.controllers.approach import PHASES, Approach, ApproachMemory
from gnc.controllers.guidance.base import GuidancePart, View
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.history import Signal
from gnc.models.craft.base import Report
from gnc.models.craft.ports import docked, other
from gnc.models.known import Known
from gnc.typing import Array

SIGNALS = {
    "in_corridor": Signal("1", "1 where the port is truly inside the corridor before the target's"),
    "position_error_m": Signal("m", "true position of the port from the wanted one, target axes"),
    "attitude_error_deg": Signal("deg", "true attitude from the wanted one against the target, own axes"),
}


class ApproachGuidance:
    """References on the way to the port of a target, by what is believed of it."""

    wanted: ClassVar[int] = 8
    signals: ClassVar[Mapping[str, Signal]] = SIGNALS
    notes: ClassVar[Mapping[str, Signal]] = {"phase": Signal("1", "phase of the approach", labels=PHASES)}

    def __init__(self, approach: Approach, target: str, period_s: float) -> None:
        self.approach, self.target, self._period_s = approach, target, period_s

    def start(self, estimate: Any, report: Report) -> ApproachMemory:
        """Return the memory before the first reference."""
        if getattr(estimate, "target", None) is None:
            raise InputError(f'approach: nobody estimates {self.target}; give navigation of = "{self.target}"')
        return self.approach.start(estimate.target, estimate)

    def guide(
        self, t: Any, estimate: Any, report: Report, memory: ApproachMemory
    ) -> tuple[PoseReference, ApproachMemory]:
        """Return the reference now, and what to remember."""
        return self.approach.guide(estimate.target, estimate, memory, self._period_s)

    def told(self, memory: ApproachMemory) -> tuple[Array, ...]:
        """Return the phase."""
        return (memory.phase,)

    def observe(self, view: View) -> Mapping[str, Array]:
        """Return the port's true deviation from where it is wanted."""
        own, target = view.truth[view.craft].dq_IB, view.truth[self.target].dq_IB
        believed = view.estimate.target.dq_IB
        dq_TB, position, turn = _errors(own, target, believed, view.wanted, self.approach.dq_TB)
        values = self.approach.in_corridor(dq_TB).astype(float), position, np.degrees(turn)
        return dict(zip(SIGNALS, values, strict=True))


@batched("(8),(8),(8),(8),(8)->(8),(3),(3)")
def _errors(dq_IB, dq_IT, dq_believed, dq_IR, dq_docked):
    """Return the chaser in the target's frame, and its port's deviation from the wanted pose."""
    back = dual_quaternion.conj
    dq_TB, dq_TR = dual_quaternion.mul(back(dq_IT), dq_IB), dual_quaternion.mul(back(dq_believed), dq_IR)
    port, wanted = (dual_quaternion.to_pose(dual_quaternion.mul(dq, back(dq_docked))) for dq in (dq_TB, dq_TR))
    turn = quaternion.log(quaternion.mul(quaternion.conj(dq_TR[:4]), dual_quaternion.to_pose(dq_TB)[0]))
    return dq_TB, port[1] - wanted[1], turn


class ApproachPart(GuidancePart):
    """Way-points along the docking axis of a target; each leg begins when the one before has settled."""

    kind: Literal["approach"] = "approach"
    target: str = "target"
    """The craft that is approached; navigation is of it."""
    station_m: Positive = 20.0
    """First distance of the ports' axis from the target's centre of mass."""
    synchronise_m: Positive = 5.0
    """Distance at which the chaser begins to turn with the target."""
    final_m: Positive = 1.0
    """Last distance, from port to port."""
    station_s: Positive = 60.0
    """Station keeping, while the filter settles."""
    closing_s: Positive = 120.0
    """From the station to the distance of synchronisation."""
    synchronise_s: Positive = 120.0
    """Onto the docking axis."""
    approach_s: Positive = 180.0
    """Along it."""
    corridor_deg: Annotated[float, Field(gt=0, lt=89)] = 10.0
    """Half angle of the cone in which the approach has to stay."""
    corridor_m: Positive = 0.1
    """Radius of the cone at the port."""

    def build(self, known: Known) -> ApproachGuidance:
        """Return the guidance, on what flight software knows of the target's inertia."""
        nominal = other(known, self.target)
        nearest = nominal.beyond_m + known.nominal.beyond_m
        if self.final_m < nearest:
            raise InputError(
                f"guidance.final_m = {self.final_m:g}: the bodies would touch; they stand out {nearest:g} m before "
                "their ports, so give at least that, or another port_m or size_m"
            )
        port = docked(nominal, known.nominal)
        plan = self.model_dump(exclude={"kind", "target"})
        return ApproachGuidance(Approach(M_T=nominal.M, **port._asdict(), **plan), self.target, known.control_s)
