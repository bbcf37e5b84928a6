"""A craft that turns: rigid body, wheels and torquers at work, what disturbs it, with its books kept.

Half a kick by the external torques, a drift with the wheels at work, half a kick. The drift turns the body and leaves
the inertial momentum as it is, so the books close to rounding: R P - R_0 P_0 = sum of R tau h/2 at both ends of every
step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import batched, maximum, where
from gnc.config import Edges, Inertia, NonNegative, Percent, Positive, Section, Vector3
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.history import Signal
from gnc.integrators import attitude_method
from gnc.models import rates
from gnc.models.craft.base import Carrier, Craft, CraftPart, Effects, Nominal, Report, Site
from gnc.models.environment.disturbances import Disturbance
from gnc.models.states import AttitudeState
from gnc.typing import Array

METHOD = "taylor10"  # exact to round-off, and none of those that filters use by default
NONE = np.zeros(3)
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


class RigidState(NamedTuple):
    """Attitude and total momentum; w_B is kept beside them for those who look."""

    q_IB: Array  # (trials, 4)
    P_B: Array  # (trials, 3) J w + rho [kg m^2/s]
    w_B: Array  # (trials, 3) [rad/s]
    tau_B: Array  # (trials, 3) torque of the environment at this moment, without the actuators' [N m]
    impulse_I: Array  # (trials, 3) of all external torques since the start, the actuators' included [N m s]
    effectors: tuple[Array, ...]  # state of each actuator


SIGNALS = {
    "q_IB": Signal("1", "true attitude, body to inertial, scalar first"),
    "w_B_deg_s": Signal("deg/s", "true rate, body axes"),
    "disturbance_Nm": Signal("N m", "external torque of the environment, body axes"),
    "momentum_gap": Signal("1", "momentum less start and impulses, over the largest momentum that could be involved"),
}
ENERGY = Signal("1", "kinetic energy over that of the start, less 1")


@dataclass(frozen=True, eq=False)
class RigidCraft(Carrier):
    """The truth of a craft that turns, on a path that is given."""

    J: Array  # (..., 3, 3) of body and wheels [kg m^2]
    sky: Any  # with at(t)
    loads: Sequence[Disturbance]
    effects: Effects
    first: RigidState

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What it tells about itself."""
        return {**SIGNALS, **({"energy_gap": ENERGY} if self._free else {}), **self.effects.signals}

    @property
    def _free(self) -> bool:
        return not self.loads and not self.effects.each

    def step(self, x: RigidState, command: tuple[Array, ...], t: Any, h: Any) -> RigidState:
        """Move over h; torquers switch at once, so their torque at the start is that of the new command."""
        effects = self.effects
        outputs, states = effects.act(command, x.effectors, h)
        before, after = effects.rho_B(x.effectors, x.w_B), effects.rho_B(states, x.w_B)
        start = effects.torque_B(x.tau_B, outputs, x.q_IB, self.sky.at(t))
        P_B = rates.kick(x.P_B, start, h)
        q_IB, P_B = attitude_method(METHOD).advance(1, x.q_IB, P_B, NONE, self.J, 0.5 * (before + after), h)
        tau_B = disturbance(self.loads, q_IB, self.sky.at(t + h))
        end = effects.torque_B(tau_B, outputs, q_IB, self.sky.at(t + h))
        P_B = rates.kick(P_B, end, h)
        impulse_I = _impulse(x.impulse_I, x.q_IB, start, q_IB, end, h)
        return RigidState(q_IB, P_B, rates.to_rate(P_B, self.J, after), tau_B, impulse_I, states)

    def report(self, x: RigidState) -> Report:
        """Return what the actuators tell, such as the wheels' momentum by their tachometers, and attitude and rate."""
        return Report(
            self.effects.telemetry(x.effectors), self.effects.rho_B(x.effectors, x.w_B), AttitudeState(x.q_IB, x.w_B)
        )

    def observe(self, x: RigidState, command: tuple[Array, ...], t: float) -> Mapping[str, Array]:
        """Return the values of all signals."""
        first = self.first
        values = {
            "q_IB": x.q_IB,
            "w_B_deg_s": np.degrees(x.w_B),
            "disturbance_Nm": x.tau_B,
            "momentum_gap": momentum_gap(x.q_IB, x.P_B, first.q_IB, first.P_B, x.impulse_I),
        }
        if self._free:
            energy, energy_0 = (rates.kinetic_energy(s.w_B, self.J) for s in (x, first))
            values["energy_gap"] = _energy_gap(energy, energy_0)
        return values | self.effects.observe(command, x.effectors)


def disturbance(loads: Sequence[Disturbance], q_IB: Array, env: Any) -> Array:
    """Return the torque of all loads, added in order."""
    if not loads:
        return np.zeros((*np.shape(q_IB)[:-1], 3))
    total = loads[0].torque(q_IB, env)
    for load in loads[1:]:
        total = total + load.torque(q_IB, env)
    return total


@batched("(3),(4),(3),(4),(3),()->(3)")
def _impulse(impulse_I, q_start, start_B, q_end, end_B, h):
    """Return the impulse with that of one step added."""
    return impulse_I + (0.5 * h) * (quaternion.rotate(q_start, start_B) + quaternion.rotate(q_end, end_B))


@batched("(4),(3),(4),(3),(3)->()")
def momentum_gap(q_IB, P_B, q_start, P_start, impulse_I):
    """Return |R P - R_0 P_0 - impulse| over |P| + |P_0| + |impulse|."""
    size = lambda v: np.sqrt(v @ v)  # noqa: E731
    gap = quaternion.rotate(q_IB, P_B) - quaternion.rotate(q_start, P_start) - impulse_I
    return size(gap) / (size(P_B) + size(P_start) + size(impulse_I))


@batched("(),()->()")
def _energy_gap(energy, energy_0):
    """Return by how much the energy has changed, relative to the first; nothing of a body that was at rest."""
    return energy / maximum(energy_0, 1e-300) - where(energy_0 > 0.0, 1.0, 0.0)


# Its part of a mission


class TurnStart(Section):
    """How a trial begins."""

    about: Literal["reference", "inertial", "anywhere"] = "reference"
    """At the attitude and rate that guidance first asks for, at the inertial axes at rest, or at any attitude."""
    attitude_sigma_deg: NonNegative = 0.0
    """Error against that about each axis, one sigma."""
    rate_deg_s: Vector3 = (0.0, 0.0, 0.0)
    """Rate against that, body axes, the same in all trials."""
    rate_sigma_deg_s: NonNegative = 0.0
    """Rate beside it about each axis, one sigma."""

    def draw(self, draws: Draws, reference: Any) -> tuple[Array, Array]:
        """Return attitude and rate of each trial."""
        n = len(draws.trials)
        q_IR, w_R = np.broadcast_to(IDENTITY, (n, 4)), NONE
        if self.about == "reference":
            if reference is None:
                raise InputError('start.about = "reference": no guidance tells one; give "inertial" or "anywhere"')
            q_IR, w_R = reference.q_IR, reference.w_R
        if self.about == "anywhere":
            q_IR = quaternion.normalize(draws.normal("attitude", 4))
        off = np.any(np.asarray(self.attitude_sigma_deg) > 0.0) and self.about != "anywhere"
        q_IB = draws.near("attitude", q_IR, self.attitude_sigma_deg) if off else np.broadcast_to(q_IR, (n, 4))
        w_B = w_R + np.radians(self.rate_deg_s) + draws.vector("rate", np.radians(self.rate_sigma_deg_s))
        return np.array(q_IB), np.array(np.broadcast_to(w_B, (n, 3)))


class RigidPart(CraftPart):
    """A craft that turns about its centre of mass, on the path of the orbit."""

    kind: Literal["rigid"] = "rigid"
    J_kgm2: Inertia = ((0.22, 0.004, -0.003), (0.004, 0.19, 0.002), (-0.003, 0.002, 0.13))
    """Inertia of body and wheels about the centre of mass, body axes."""
    J_error_percent: Percent = 0.0
    """By how much the true moments and axes are off from that, one sigma; flight software believes in J_kgm2."""
    mass_kg: Positive | None = None
    """Its path is that of the orbit, whatever the mass: only inertia and size are compared with it."""
    size_m: Edges = (0.2, 0.2, 0.3)
    """Edges of the box that is drawn."""
    start: TurnStart = TurnStart()

    def truth(self, site: Site) -> Craft:
        """Return the craft of each trial."""
        draws, n = site.draws, site.trials
        J = np.array(self.J_kgm2)
        if np.any(np.asarray(self.J_error_percent) > 0.0):
            J = draws.inertia("inertia", J, self.J_error_percent)
        loads = [load.truth(name, J, draws) for name, load in self.loads.items()]
        effects = Effects.of(self.actuators, site)
        q_IB, w_B = self.start.draw(draws, site.reference)
        states = effects.start(n)
        rho_B = effects.rho_B(states, w_B)
        P_B = rates.to_momentum(w_B, J, rho_B)
        tau_B = np.array(np.broadcast_to(disturbance(loads, q_IB, site.sky.at(0.0)), (n, 3)))
        first = RigidState(q_IB, P_B, rates.to_rate(P_B, J, rho_B), tau_B, np.zeros_like(P_B), states)
        return RigidCraft(J, site.sky, loads, effects, first)

    def belief(self) -> Nominal:
        """Return the inertia that flight software believes in."""
        return Nominal(np.array(self.J_kgm2))
