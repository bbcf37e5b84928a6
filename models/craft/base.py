"""What every kind of craft has in a mission's file, and what a flight asks of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from gnc.batch import batched
from gnc.draws import Draws
from gnc.history import Signal
from gnc.linalg import cross
from gnc.models.actuators.effector import Effector
from gnc.parts import Part, slot_type
from gnc.typing import Array

if TYPE_CHECKING:
    from gnc.models.actuators.effector import ActuatorPart as AnyActuator
    from gnc.models.loads.base import LoadPart as AnyLoad
    from gnc.models.sensors.part import SensorPart as AnySensor
else:
    AnyActuator, AnySensor, AnyLoad = slot_type("actuator"), slot_type("sensor"), slot_type("load")


class CraftPart(Part):
    """A craft as it is; flight software takes it for the same, unless [software.NAME] says otherwise."""

    slot: ClassVar[str] = "craft"
    falls: ClassVar[bool] = False  # whether it moves, and so falls beside the origin of an orbit
    loads: dict[str, AnyLoad] = {}
    """What the environment does to it."""
    actuators: dict[str, AnyActuator] = {}
    """What turns or pushes it on command."""
    sensors: dict[str, AnySensor] = {}
    """What it measures with."""

    def truth(self, site: Site) -> Craft:
        """Return the craft of each trial."""
        raise NotImplementedError

    def belief(self) -> Nominal:
        """Return the mass properties that flight software believes in."""
        raise NotImplementedError

    def shapes(self, name: str) -> list[Shape]:
        """Return the boxes by which it is drawn."""
        size, centre = getattr(self, "size_m", (1.0, 1.0, 1.0)), getattr(self, "box_m", (0.0, 0.0, 0.0))
        return [Shape(name, size, f"{name}.q_IB", f"{name}.r_IB_m", centre)]


class Shape(NamedTuple):
    """A box that is drawn, and the signals by which it moves."""

    name: str
    size_m: Any  # (3)
    attitude: str
    position: str  # where it is not recorded, the box stays at the origin
    centre_m: Any = (0.0, 0.0, 0.0)  # (3) of the box from that position, body axes


class Nominal(NamedTuple):
    """Mass properties as flight software believes them to be."""

    J: Array  # (3, 3) about the centre of mass, body axes [kg m^2]
    M: Array | None = None  # (6, 6) about the body's origin, where the craft moves too
    port: Array | None = None  # (8) pose of the docking port on the body, x out of it
    beyond_m: float = 0.0  # how far the body stands out before its port
    tree: Any = None  # the bodies and joints of a craft that has several

    @property
    def mean_moment(self) -> Array:
        """The mean of the moments of inertia [kg m^2]."""
        return np.trace(self.J, axis1=-2, axis2=-1) / 3.0


@dataclass(frozen=True)
class Site:
    """What a craft is built with."""

    name: str
    draws: Draws
    sky: Any  # with at(t)
    reference: Any  # the attitude, or pose, that flight software first asks for; None: none
    control_s: float = 1.0  # time between commands
    others: Mapping[str, tuple[Any, Any]] = field(
        default_factory=dict
    )  # craft that are there already, and their starts
    faults: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # of actuators, by their names

    @property
    def trials(self) -> int:
        """How many trials fly together."""
        return len(self.draws.trials)


class Joints(NamedTuple):
    """What the joints of a craft of several bodies tell."""

    gamma: Array  # (trials, G) coordinates [rad, m]
    rate: Array  # (trials, D)


class Report(NamedTuple):
    """What a craft tells its flight software without a sensor: states of actuators, and what it is told to know."""

    effectors: tuple[Array, ...]  # state of each actuator, by its own telemetry
    rho_B: Array  # (trials, 3) momentum stored in the craft, body axes [N m s]
    pose: Any = None  # its own pose and twist, where these count as known
    flag: Array | None = None  # (trials,) 1 once a switch has closed: docked, or on the ground
    q_IU: Array | None = None  # (trials, 4) the attitude that stands along gravity, where the vertical counts as known
    joints: Joints | None = None  # by their encoders, of a craft of several bodies


class Craft(Protocol):
    """The truth of one craft in flight."""

    @property
    def effectors(self) -> Sequence[Effector]:
        """Its actuators."""

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What it tells about itself."""

    def start(self) -> Any:
        """Return the state at time zero."""

    def step(self, x: Any, command: tuple[Array, ...], t: Any, h: Any) -> Any:
        """Move over h under the commands of the actuators."""

    def report(self, x: Any) -> Report:
        """Return what it tells its flight software."""

    def observe(self, x: Any, command: tuple[Array, ...], t: float) -> Mapping[str, Array]:
        """Return the values of its signals."""


class Carrier:
    """What craft do alike that carry actuators."""

    effects: Effects
    first: Any  # state at time zero

    @property
    def effectors(self) -> Sequence[Effector]:
        """Its actuators."""
        return self.effects.each

    def start(self) -> Any:
        """Return the state at time zero."""
        return self.first


class Effects:
    """The actuators of a craft together."""

    def __init__(self, effectors: Mapping[str, Effector]) -> None:
        self.names, self.each = tuple(effectors), tuple(effectors.values())
        self.signals = {f"{name}.{key}": signal for name, e in effectors.items() for key, signal in e.signals.items()}

    @classmethod
    def of(cls, parts: Mapping[str, Any], site: Site) -> Effects:
        """Return the true actuators of a craft from their sections."""
        effectors = {}
        for name, part in parts.items():
            effectors[name] = part.truth(name, site.draws).paced(site.control_s)
            for fault in site.faults.get(name, ()):
                effectors[name] = fault.of_actuator(effectors[name])
        return cls(effectors)

    def telemetry(self, states: tuple[Array, ...]) -> tuple[Array, ...]:
        """Return the states as flight software is told."""
        return tuple(e.telemetry(s) for e, s in zip(self.each, states, strict=True))

    def start(self, trials: int) -> tuple[Array, ...]:
        """Return all states at time zero."""
        return tuple(e.start(trials) for e in self.each)

    def act(self, command: tuple[Array, ...], states: tuple[Array, ...], h: Any) -> tuple[list[Any], tuple[Array, ...]]:
        """Return what each makes of its command, and the states after h."""
        results = [e.act(u, s, h) for e, u, s in zip(self.each, command, states, strict=True)]
        return [output for output, _ in results], tuple(state for _, state in results)

    def torque_B(self, tau_B: Array, outputs: Sequence[Any], q_IB: Array, env: Any) -> Array:
        """Return a torque with those of all external actuators added."""
        for effector, one in zip(self.each, outputs, strict=True):
            if not effector.internal:
                tau_B = tau_B + effector.wrench_B(one, q_IB, env)[..., :3]
        return tau_B

    def wrench_B(self, outputs: Sequence[Any], q_IB: Array, env: Any) -> Array | None:
        """Return the wrench (..., 6) of all external actuators; None if there are none."""
        total = None
        for effector, one in zip(self.each, outputs, strict=True):
            if effector.internal:
                continue
            wrench = effector.wrench_B(one, q_IB, env)
            if wrench.shape[-1] == 3:
                wrench = np.concatenate([wrench, np.zeros_like(wrench)], axis=-1)
            total = wrench if total is None else total + wrench
        return total

    def load_B(
        self,
        outputs: Sequence[Any],
        before: tuple[Array, ...],
        after: tuple[Array, ...],
        q_IB: Array,
        w_B: Array,
        env: Any,
        h: Any,
    ) -> Array:
        """Return all that they do to a body that has no wheels of its own (..., 6), body axes.

        Beside wrenches from outside that is the torque -rho' - w x rho of those that store momentum.
        """
        wrench_B = self.wrench_B(outputs, q_IB, env)
        total = np.zeros((*np.shape(q_IB)[:-1], 6)) if wrench_B is None else wrench_B
        if any(e.internal for e in self.each):
            total = total + _reaction(self.rho_B(before, w_B), self.rho_B(after, w_B), w_B, h)
        return total

    def rho_B(self, states: tuple[Array, ...], like: Array) -> Array:
        """Return the momentum (..., 3) that internal actuators store."""
        stored = [e.momentum_B(s) for e, s in zip(self.each, states, strict=True) if e.internal]
        if not stored:
            return np.zeros((*np.shape(like)[:-1], 3))
        total = stored[0]
        for momentum in stored[1:]:
            total = total + momentum
        return total

    def observe(self, command: tuple[Array, ...], states: tuple[Array, ...]) -> dict[str, Array]:
        """Return the values of all signals, under the names of the actuators."""
        values: dict[str, Array] = {}
        for name, e, u, s in zip(self.names, self.each, command, states, strict=True):
            values |= {f"{name}.{key}": value for key, value in e.observe(u, s).items()}
        return values


@batched("(3),(3),(3),()->(6)")
def _reaction(before, after, w_B, h):
    """Return the torque of wheels on their body, as a wrench."""
    torque = (before - after) / h - cross(w_B, 0.5 * (before + after))
    return np.concatenate([torque, 0.0 * torque])
