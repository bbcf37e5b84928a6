"""What every kind of navigation gives a flight, and what it is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

from gnc.history import Signal
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.parts import Part
from gnc.typing import Array


class Estimate(NamedTuple):
    """What guidance and laws are given of a craft that turns."""

    q_IB: Array  # (trials, 4)
    w_B: Array  # (trials, 3) [rad/s]
    rho_B: Array  # (trials, 3) momentum of the wheels [N m s]
    B_B: Array | None = None  # (trials, 3) field as last measured, NaN before; None without a magnetometer [T]
    known: Array | None = None  # (trials,) 1 once the filter has begun


class PoseEstimate(NamedTuple):
    """What guidance and laws are given of a craft that turns and moves."""

    q_IB: Array  # (trials, 4)
    w_B: Array  # (trials, 3) [rad/s]
    rho_B: Array  # (trials, 3) momentum of the wheels [N m s]
    B_B: Array | None  # (trials, 3) field as last measured, NaN before; None without a magnetometer [T]
    known: Array | None  # (trials,) 1 once the filter has begun
    dq_IB: Array  # (trials, 8)
    chi_B: Array  # (trials, 6) twist [w, v] of the origin, body axes
    target: Any = None  # with dq_IB and chi_B: another craft, if the navigation is of one
    joints: Any = None  # with gamma and rate: by the encoders of a craft of several bodies


class Navigation(Protocol):
    """A filter in the loop."""

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What is told of belief and truth."""

    def predict(self, belief: Any, command: tuple[Array, ...], report: Report, t: Any, h: Any) -> Any:
        """Move the belief over h, the command held; `report` is that of the end."""

    def update(self, belief: Any, name: str, measurement: Any, t: Any) -> tuple[Any, Any]:
        """Correct with a measurement of the sensor of that name; return an innovation too."""

    def estimate(self, belief: Any, report: Report) -> Any:
        """Return what guidance and laws are given."""

    def observe(self, belief: Any, truth: Any, t: float) -> Mapping[str, Array]:
        """Return the values of its signals, which compare belief and truth."""


class NavigationPart(Part):
    """What flight software believes, and how it comes to it."""

    slot: ClassVar[str] = "navigation"
    of: str = ""
    """The craft that is estimated, if not the own one."""

    def build(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return the filter in the loop and what it believes at time zero.

        `start` is the nominal start of the craft, `truth` its true state, of which only what a start is told to know
        may be used, `reference` what guidance first asks for.
        """
        raise NotImplementedError

    @property
    def perfect(self) -> list[str]:
        """What this navigation is told that a real one would have to find out."""
        return []
