"""Approach to the port of another craft as a part of a mission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import dual_quaternion, quaternion
from gnc.batch import batched
from gnc.config import Positive
from gnc.controllers.approach import LEGS, Approach, ApproachMemory
from gnc.controllers.guidance.base import GuidancePart, View
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.history import Signal
from gnc.models.craft.base import Report
from gnc.models.known import Known, docked, other
from gnc.typing import Array

SIGNALS = {
    "in_corridor": Signal("1", "1 where the port is truly inside the corridor before the target's"),
    "position_error_m": Signal("m", "true position of the port from the wanted one, target axes"),
    "attitude_error_deg": Signal("deg", "true attitude from the wanted one against the target, own axes"),
}


class ApproachGuidance:
    """References on the way to the port of a target, by what is believed of it; which leg is flown modes say."""

    wanted: ClassVar[int] = 8
    signals: ClassVar[Mapping[str, Signal]] = SIGNALS
    words: ClassVar[tuple[str, ...]] = ("in_corridor",)

    def __init__(self, approach: Approach, target: str, period_s: float) -> None:
        self.approach, self.target, self._period_s = approach, target, period_s

    def start(self, estimate: Any, report: Report) -> ApproachMemory:
        """Return the memory before the first reference."""
        if getattr(estimate, "target", None) is None:
            raise InputError(f'approach: nobody estimates {self.target}; give navigation of = "{self.target}"')
        return self.approach.start(estimate.target, estimate)

    def enter(self, memory: ApproachMemory, leg: Array, estimate: Any) -> ApproachMemory:
        """Return the memory of a leg that begins where the one before is now."""
        return self.approach.enter(memory, leg, estimate.target)

    def guide(
        self, t: Any, estimate: Any, report: Report, memory: ApproachMemory
    ) -> tuple[PoseReference, ApproachMemory]:
        """Return the reference now, and what to remember."""
        return self.approach.guide(estimate.target, memory, self._period_s)

    def asked(self, word: str, t: Any, estimate: Any) -> Array:
        """Return 1 where the port is believed to be inside the corridor."""
        return self.approach.in_corridor(_from(estimate.target.dq_IB, estimate.dq_IB))

    def observe(self, view: View) -> Mapping[str, Array]:
        """Return the port's true deviation from where it is wanted."""
        own, target = view.truth[view.craft].dq_IB, view.truth[self.target].dq_IB
        believed = view.estimate.target.dq_IB
        dq_TB, position, turn = _errors(own, target, believed, view.wanted, self.approach.dq_TB)
        values = self.approach.in_corridor(dq_TB), position, np.degrees(turn)
        return dict(zip(SIGNALS, values, strict=True))


@batched("(8),(8)->(8)")
def _from(dq_IT, dq_IB):
    """Return the chaser in the target's frame."""
    return dual_quaternion.mul(dual_quaternion.conj(dq_IT), dq_IB)


@batched("(8),(8),(8),(8),(8)->(8),(3),(3)")
def _errors(dq_IB, dq_IT, dq_believed, dq_IR, dq_docked):
    """Return the chaser in the target's frame, and its port's deviation from the wanted pose."""
    back = dual_quaternion.conj
    dq_TB, dq_TR = dual_quaternion.mul(back(dq_IT), dq_IB), dual_quaternion.mul(back(dq_believed), dq_IR)
    port, wanted = (dual_quaternion.to_pose(dual_quaternion.mul(dq, back(dq_docked))) for dq in (dq_TB, dq_TR))
    turn = quaternion.log(quaternion.mul(quaternion.conj(dq_TR[:4]), dual_quaternion.to_pose(dq_TB)[0]))
    return dq_TB, port[1] - wanted[1], turn


class ApproachPart(GuidancePart):
    """Way-points along the docking axis of a target; the legs between them are modes of flight software.

    Each begins when the one before has settled: near its reference at the end of its time, and inside the corridor on
    the axis. Outside of it, or far from the reference, the chaser retreats. `stopped` is entered on command alone.
    """

    kind: Literal["approach"] = "approach"
    poses: ClassVar[bool] = True
    legs: ClassVar[tuple[str, ...]] = tuple(LEGS)
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
    stop_s: Positive = 20.0
    """In which it comes to rest on the axis when `stopped` is commanded."""
    retreat_s: Positive = 60.0
    """Back to the distance of synchronisation."""
    settled_m: Positive = 0.1
    """How near the reference is settled."""
    settled_deg: Positive = 3.0
    """The same for the attitude."""
    lost_m: Positive = 1.0
    """How far from the reference is lost."""
    lost_deg: Positive = 20.0
    """The same for the attitude."""
    corridor_deg: Annotated[float, Field(gt=0, lt=89)] = 10.0
    """Half angle of the cone in which the approach has to stay."""
    corridor_m: Positive = 0.1
    """Radius of the cone at the port."""

    def ways(self, mode: str) -> list[tuple[str, str, str]]:
        """Return from which leg to which it goes, and when."""
        inside = f"{mode}.in_corridor > 0.5"
        lost = f"error_m > {self.lost_m!r} or error_deg > {self.lost_deg!r} or {mode}.in_corridor < 0.5"
        settled = f"error_m <= {self.settled_m!r} and error_deg <= {self.settled_deg!r}"
        ready = lambda s: f"mode_time_s >= {s!r} and {settled}"  # noqa: E731
        return [
            *((leg, "retreating", lost) for leg in ("approaching", "holding", "stopped")),
            ("station", "closing", ready(self.station_s)),
            ("closing", "synchronising", ready(self.closing_s)),
            ("synchronising", "approaching", f"{ready(self.synchronise_s)} and {inside}"),
            ("approaching", "holding", f"mode_time_s >= {self.approach_s!r}"),
            ("retreating", "approaching", f"{ready(self.retreat_s)} and {inside}"),
        ]

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
        plan = self.model_dump(exclude={"kind", "target", "settled_m", "settled_deg", "lost_m", "lost_deg"})
        return ApproachGuidance(Approach(M_T=nominal.M, **port._asdict(), **plan), self.target, known.control_s)
