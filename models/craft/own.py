"""A plant of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.config import Edges, Inertia, Positive, Vector3
from gnc.history import Signal
from gnc.models import rates
from gnc.models.craft.base import Carrier, Craft, CraftPart, Effects, Nominal, Report, Site
from gnc.models.environment.disturbances import Disturbance
from gnc.models.known import centre_I
from gnc.models.loads.base import load_wrench
from gnc.models.pose_body import PoseState
from gnc.models.sensors.interface import attitude, rate
from gnc.models.states import AttitudeState
from gnc.parts import OwnPart
from gnc.typing import Array

SIGNALS = {
    "q_IB": Signal("1", "true attitude, body to inertial, scalar first"),
    "w_B_deg_s": Signal("deg/s", "true rate, body axes"),
}
PLACE = {"r_IB_m": Signal("m", "true position of the origin, inertial axes")}


class OwnState(NamedTuple):
    """The user's state, with that of the actuators; whoever looks finds the fields of the user's own."""

    own: Any
    P_B: Array  # (trials, 3) angular momentum, by the nominal inertia where the plant tells none [kg m^2/s]
    effectors: tuple[Array, ...]

    def __getattr__(self, name: str) -> Any:
        if name in ("q_IB", "w_B") and not hasattr(self.own, name):
            return (attitude if name == "q_IB" else rate)(self.own)
        return getattr(self.own, name)


@dataclass(frozen=True, eq=False)
class OwnCraft(Carrier):
    """The truth by a user's class."""

    own: Any
    J: Array
    sky: Any
    loads: Sequence[Disturbance]
    effects: Effects
    trials: int
    M: Array | None = None  # by which gravity acts beside an orbit; None: it turns only

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What it tells about itself."""
        place = PLACE if hasattr(self.start(), "dq_IB") else {}
        return {**SIGNALS, **place, **getattr(self.own, "signals", {}), **self.effects.signals}

    def start(self) -> OwnState:
        """Return the state at time zero."""
        return self._state(self.own.start(), self.effects.start(self.trials))

    def step(self, x: OwnState, command: tuple[Array, ...], t: Any, h: Any) -> OwnState:
        """Move over h under all loads and actuators, as they are at its start."""
        q_IB, w_B, env = attitude(x), rate(x), self.sky.at(t)
        outputs, states = self.effects.act(command, x.effectors, h)
        wrench_B = load_wrench(self.loads, q_IB, env)
        if self.sky.tide is not None and self.M is not None:
            wrench_B = wrench_B + self.sky.tide.load_B(q_IB, centre_I(x.dq_IB, self.M), self.M, env)
        wrench_B = wrench_B + self.effects.load_B(outputs, x.effectors, states, q_IB, w_B, env, h)
        return self._state(self.own.step(x.own, wrench_B, t, h), states)

    def _state(self, own: Any, effectors: tuple[Array, ...]) -> OwnState:
        w_B = rate(own)
        P_B = getattr(own, "P_B", None)
        rho_B = self.effects.rho_B(effectors, w_B)
        return OwnState(own, rates.to_momentum(w_B, self.J, rho_B) if P_B is None else P_B, effectors)

    def report(self, x: OwnState) -> Report:
        """Return what the actuators tell, and what the user's class does."""
        pose = PoseState(x.dq_IB, x.chi_B) if hasattr(x, "dq_IB") else AttitudeState(attitude(x), rate(x))
        tell = getattr(self.own, "report", None)
        own_report = {} if tell is None else dict(tell(x.own))
        telemetry = self.effects.telemetry(x.effectors)
        return Report(telemetry, self.effects.rho_B(x.effectors, rate(x)), pose)._replace(**own_report)

    def observe(self, x: OwnState, command: tuple[Array, ...], t: float) -> Mapping[str, Array]:
        """Return the values of all signals."""
        values = {"q_IB": attitude(x), "w_B_deg_s": np.degrees(rate(x))}
        if hasattr(x, "dq_IB"):
            values["r_IB_m"] = dual_quaternion.to_pose(x.dq_IB)[1]
        watch = getattr(self.own, "observe", None)
        own = {} if watch is None else watch(x.own, t)
        return {**values, **own, **self.effects.observe(command, x.effectors)}


class OwnCraftPart(OwnPart, CraftPart):
    """A plant of your own: a class with start() -> x and step(x, wrench_B, t, h) -> x, perhaps report and observe.

    The state is a NamedTuple of arrays, the trials first, with the fields q_IB and w_B, or dq_IB and chi_B if it moves
    too. `wrench_B` (trials, 6) is the torque and force of all loads and actuators in body axes, the reaction of wheels
    and, beside an orbit, gravity included. `report(x)` returns fields of `Report` by name, flag say; `observe(x, t)`
    the values of its `signals`. The class is given trials, draws, sky, reference, J, M, mass if its constructor asks
    for them by these names.
    """

    kind: Literal["own"] = "own"
    shaping: ClassVar[frozenset[str]] = frozenset({"size_m"})
    mass_kg: Positive | None = None
    """That flight software believes in, and the class is given; none: it turns only."""
    J_kgm2: Inertia = ((22.0, 0.0, 0.0), (0.0, 20.0, 0.0), (0.0, 0.0, 23.0))
    """About the centre of mass, body axes, that flight software believes in; the class is given the same."""
    centre_m: Vector3 = (0.0, 0.0, 0.0)
    """Centre of mass from the body's origin."""
    size_m: Edges = (0.8, 0.8, 0.8)
    """Edges of the box that is drawn."""

    @property
    def falls(self) -> bool:  # type: ignore[override]
        """Whether it moves, and so falls beside the origin of an orbit."""
        return self.mass_kg is not None

    def truth(self, site: Site) -> Craft:
        """Return the plant of all trials."""
        J, draws = np.array(self.J_kgm2), site.draws
        properties = {"J": J, "M": self._inertia(), "mass": self.mass_kg, "reference": site.reference}
        own = self.made(trials=site.trials, draws=draws, sky=site.sky, name=site.name, **properties)
        loads = [part.truth(name, J, draws) for name, part in self.loads.items()]
        effects = Effects.of(self.actuators, site)
        return OwnCraft(own, J, site.sky, loads, effects, site.trials, self._inertia())

    def belief(self) -> Nominal:
        """Return the mass properties that flight software believes in."""
        return Nominal(np.array(self.J_kgm2), self._inertia())

    def _inertia(self) -> Array | None:
        if self.mass_kg is None:
            return None
        return spatial.inertia(np.asarray(self.mass_kg), np.array(self.centre_m), np.array(self.J_kgm2))
