"""Clearance of two craft: how far their boxes are apart, and whether one enters a zone about the other.

Two boxes are apart if and only if one of 15 axes separates them: the edges of both, and the cross products of one with
the other. The largest gap along any of these has the sign of the truth and is never more than the distance; below zero
it is how deep the boxes are in each other. Source: Gottschalk, Lin and Manocha, OBBTree, SIGGRAPH 1996.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from gnc import dual_quaternion, quaternion
from gnc.batch import batched, chosen, maximum, where
from gnc.config import NonNegative
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.history import Signal
from gnc.linalg import cross
from gnc.models.happenings.base import EventPart, Happening, place
from gnc.models.known import centre_I
from gnc.typing import Array

PARALLEL = 1e-12  # square of the sine of two edges that give no axis of their own
SIGNALS = {
    "clearance_m": Signal("m", "gap between the boxes of the two craft; below 0 they are in each other", partial=True),
    "intrusion_m": Signal("m", "how deep a craft is in the keep-out zone, outside of the corridor", partial=True),
}


class Box(NamedTuple):
    """A box on a craft, and its port."""

    half_m: Array  # (3) half its edges
    centre_m: Array  # (3) from the body's origin
    port: Array  # (8) pose on the body, x out of it


class Zone(NamedTuple):
    """A ball about a craft's centre of mass that is not to be entered, but for a cone from its port."""

    radius_m: Array
    tangent: Array  # of the cone's half angle
    mouth_m: Array  # its radius at the port


class Clearance(Happening):
    """Two craft that shall not touch."""

    signals: ClassVar[Mapping[str, Signal]] = SIGNALS

    def __init__(self, name: str, craft: list[str], ends: tuple[int, int], boxes: tuple[Box, Box], zone: Zone) -> None:
        super().__init__(name, craft)
        self._ends, self._boxes, self._zone = ends, boxes, zone

    def happens(self, x: tuple[Any, ...], t: Any) -> Any:
        """Tell where the boxes touch."""
        return self._gap(x) < 0.0

    def _gap(self, x: tuple[Any, ...]) -> Array:
        (own, other), (a, b) = (x[i] for i in self._ends), self._boxes
        return gap(own.dq_IB, a.half_m, a.centre_m, other.dq_IB, b.half_m, b.centre_m)

    def observe(self, x: tuple[Any, ...]) -> Mapping[str, Array]:
        """Return the gap, and the depth in the zone; nothing while one rides on the other."""
        own, other = (x[i] for i in self._ends)
        apart = chosen((own.rides > 0.0) | (other.rides > 0.0), np.nan, 1.0)
        centres = centre_I(own.dq_IB, own.M), centre_I(other.dq_IB, other.M)
        mine, theirs = (box.port for box in self._boxes)
        deep = intrusion(*centres, own.dq_IB, mine, other.dq_IB, theirs, *self._zone)
        return {"clearance_m": apart * self._gap(x), "intrusion_m": apart * deep}


@batched("(8),(3),(3),(8),(3),(3)->()")
def gap(dq_IA, half_A, centre_A, dq_IB, half_B, centre_B):
    """Return the largest gap between two boxes along any axis that could separate them."""
    apart = dual_quaternion.transform_point(dq_IB, centre_B) - dual_quaternion.transform_point(dq_IA, centre_A)
    edges_A, edges_B = quaternion.to_matrix(dq_IA[:4]).T, quaternion.to_matrix(dq_IB[:4]).T
    axes = [*edges_A, *edges_B, *(cross(a, b) for a in edges_A for b in edges_B)]
    largest = None
    for axis in axes:
        square = axis @ axis
        proper = square > PARALLEL
        reach = sum(h * abs(axis @ e) for h, e in zip([*half_A, *half_B], [*edges_A, *edges_B], strict=True))
        separated = where(proper, (abs(axis @ apart) - reach) / np.sqrt(where(proper, square, 1.0)), -1e9)
        largest = separated if largest is None else maximum(largest, separated)
    return largest


@batched("(3),(3),(8),(8),(8),(8),(),(),()->()")
def intrusion(centre_I, other_I, dq_IB, dq_BP, dq_IT, dq_TP, radius, tangent, mouth):
    """Return how deep a craft is in the ball about another's centre, 0 while its port is in the corridor."""
    way = centre_I - other_I
    deep = maximum(radius - np.sqrt(way @ way), 0.0)
    port_I = dual_quaternion.to_pose(dual_quaternion.mul(dq_IB, dq_BP))[1]
    r_P = dual_quaternion.transform_point(dual_quaternion.conj(dual_quaternion.mul(dq_IT, dq_TP)), port_I)
    inside = (r_P[0] >= 0.0) & (r_P[1] * r_P[1] + r_P[2] * r_P[2] <= (mouth + tangent * r_P[0]) ** 2)
    return where(inside, 0.0, deep)


class ClearancePart(EventPart):
    """When the boxes of two craft first touch; it changes nothing. Tells their clearance, and who enters a zone."""

    kind: Literal["clearance"] = "clearance"
    of: str = "chaser"
    """The craft that is watched."""
    around: str = "target"
    """The craft that it shall not touch."""
    keep_out_m: NonNegative = 0.0
    """Radius of a zone about the centre of mass of that craft, which the own centre of mass shall not enter ..."""
    corridor_deg: Annotated[float, Field(ge=0, lt=89)] = 10.0
    """... but with its port in a cone about the axis of the other's port, of this half angle ..."""
    corridor_m: NonNegative = 0.1
    """... and this radius at the port."""

    def build(self, name: str, craft: Mapping[str, Any], sections: Mapping[str, Any], draws: Draws) -> Clearance:
        """Return the event."""
        ends = place(name, self.of, craft), place(name, self.around, craft)
        boxes = []
        for end in (self.of, self.around):
            section = sections[end]
            if getattr(section.belief(), "port", None) is None:
                raise InputError(f'events.{name}: {end!r} has no box; give craft of kind "pose"')
            boxes.append(Box(0.5 * np.array(section.size_m), np.array(section.box_m), section.belief().port))
        sizes = (self.keep_out_m, np.tan(np.radians(self.corridor_deg)), self.corridor_m)
        zone = Zone(*(np.asarray(size, float) for size in sizes))
        return Clearance(name, list(craft), ends, (boxes[0], boxes[1]), zone)
