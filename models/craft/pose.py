"""A craft that turns and moves: rigid body in six dimensions, actuators at work, loads, with its books kept.

In an orbit places count from an origin that falls freely along it, and the craft falls beside that (`Tide`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched, chosen
from gnc.config import Edges, Inertia, NonNegative, Percent, Positive, Quaternion, Section, Vector3
from gnc.draws import Draws, column
from gnc.errors import InputError
from gnc.history import Signal
from gnc.linalg import array
from gnc.models.actuators.thrusters import Thrusters
from gnc.models.craft import body
from gnc.models.craft.base import Carrier, Craft, CraftPart, Effects, Nominal, Report, Site
from gnc.models.craft.body import NONE, BodyState
from gnc.models.environment.disturbances import Disturbance
from gnc.models.environment.relative import from_hill
from gnc.models.loads.base import load_wrench
from gnc.models.pose_body import PoseState
from gnc.typing import Array

INERTIAL = "inertial"
WRENCH = ("load", ("torque x", "torque y", "torque z", "force x", "force y", "force z"))
SPENT = "impulse_Ns"  # how actuators call the impulse they have spent

SIGNALS = {
    "q_IB": Signal("1", "true attitude, body to inertial, scalar first"),
    "r_IB_m": Signal("m", "true position of the origin, inertial axes"),
    "w_B_deg_s": Signal("deg/s", "true rate, body axes"),
    "v_B_m_s": Signal("m/s", "true velocity of the origin, body axes"),
    "disturbance_Nm": Signal("N m", "torque of the environment about the centre of mass, body axes"),
    "momentum_gap": Signal("1", "momentum less start and impulses, over the largest momentum that could be involved"),
}
ENERGY = Signal("1", "kinetic energy less start and work, over the largest energy that could be involved")
LOAD = Signal("N m, N", "wrench of the actuators about the origin, body axes", WRENCH)
MASS = Signal("kg", "true mass")
DELTA_V = Signal("m/s", "impulse of all actuators so far over the mass at the start")


@dataclass(frozen=True, eq=False)
class PoseCraft(Carrier):
    """The truth of a craft that turns and moves."""

    sky: Any  # with at(t)
    loads: Sequence[Disturbance]
    effects: Effects
    first: BodyState
    feels: bool = False  # whether a sensor asks for the specific force

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What it tells about itself."""
        signals = dict(SIGNALS)
        if not any(e.internal for e in self.effects.each):
            signals["energy_gap"] = ENERGY
        if self.effects.each:
            signals["wrench"] = LOAD
        if self._fed:
            signals["mass_kg"] = MASS
        if any(key.endswith(SPENT) for key in self.effects.signals):
            signals["delta_v_m_s"] = DELTA_V
        return signals | self.effects.signals

    def step(self, x: BodyState, command: tuple[Array, ...], t: Any, h: Any) -> BodyState:
        """Move over h."""
        effects = self.effects
        outputs, states = effects.act(command, x.effectors, h)
        before, after = effects.rho_B(x.effectors, x.chi_B), effects.rho_B(states, x.chi_B)
        wrench_B = self._wrench(outputs, x.q_IB, self.sky.at(t), x)
        kicked = body.leave(*x[:4], x.impulse_I, x.work, wrench_B + x.riders_B, x.load_B, before, x.M, h)
        P_B, p_I, impulse_I, work, r_I, J = kicked
        q_IB, P_B = body.drift(x.q_IB, P_B, J, 0.5 * (before + after), h)
        env = self.sky.at(t + h)
        wrench_B, load_B = self._wrench(outputs, q_IB, env, x), acting(self.loads, self.sky, q_IB, r_I, x, env)
        ends = wrench_B + x.riders_B, load_B, after, x.M, h
        P_B, p_I, impulse_I, work, dq_IB, chi_B = body.arrive(q_IB, P_B, r_I, p_I, impulse_I, work, *ends)
        moved = {"q_IB": q_IB, "P_B": P_B, "r_I": r_I, "p_I": p_I, "dq_IB": dq_IB, "chi_B": chi_B}
        kept = {"impulse_I": impulse_I, "work": work, "wrench_B": wrench_B, "load_B": load_B}
        moving = x._replace(**moved, **kept, effectors=states)
        for i, them in self._fed:
            used = them.used_kg(x.effectors[i], states[i])
            moving = body.lightened(moving, used, them.thrusters.tank_B, after)
        return self._felt(x, moving, (t, t + h), h) if self.feels else moving

    def _felt(self, x: BodyState, after: BodyState, ends: tuple[Any, Any], h: Any) -> BodyState:
        """Return the state after a step with what a sensor aboard has felt over it."""
        gravity_I = 0.0 * x.r_I
        for state, t in zip((x, after), ends, strict=True):
            if self.sky.tide is not None:
                gravity_I = gravity_I + 0.5 * self.sky.tide.acceleration_I(state.r_I, self.sky.at(t))
        return after._replace(felt_B=body.felt(x.q_IB, x.chi_B, after.q_IB, after.chi_B, gravity_I, h))

    @cached_property
    def _fed(self) -> list[tuple[int, Any]]:
        """The thrusters that take propellant, with their places among the actuators."""
        each = [(i, e, getattr(e, "thrusters", None)) for i, e in enumerate(self.effects.each)]
        return [(i, e) for i, e, them in each if isinstance(them, Thrusters) and np.any(them.flow_kg_Ns)]

    def _wrench(self, outputs: Sequence[Any], q_IB: Array, env: Any, x: BodyState) -> Array:
        wrench_B = self.effects.wrench_B(outputs, q_IB, env)
        return np.zeros(np.shape(x.wrench_B)) if wrench_B is None else wrench_B

    def report(self, x: BodyState) -> Report:
        """Return what the actuators tell, its pose and twist where they count as known, and its switch."""
        rho_B = self.effects.rho_B(x.effectors, x.chi_B)
        return Report(self.effects.telemetry(x.effectors), rho_B, PoseState(x.dq_IB, x.chi_B), x.flag)

    def observe(self, x: BodyState, command: tuple[Array, ...], t: float) -> Mapping[str, Array]:
        """Return the values of all signals; the books of a craft that rides on another are kept there."""
        own = chosen(x.rides > 0.0, np.nan, 1.0)
        (momentum, energy), (momentum_0, energy_0) = body.books(x), body.books(self.first)
        momentum_0, energy_0 = momentum_0 + x.brought[..., :6], energy_0 + x.brought[..., 6]
        q_IB, r_IB = dual_quaternion.to_pose(x.dq_IB)
        values = {
            "q_IB": q_IB,
            "r_IB_m": r_IB,
            "w_B_deg_s": np.degrees(x.chi_B[..., :3]),
            "v_B_m_s": x.chi_B[..., 3:],
            "disturbance_Nm": x.load_B[..., :3],
            "momentum_gap": own * body.momentum_gap(momentum, momentum_0, x.impulse_I),
            "energy_gap": own * body.energy_gap(energy, energy_0, x.work),
            "wrench": x.wrench_B,
            "mass_kg": x.M[..., 3, 3],
        } | self.effects.observe(command, x.effectors)
        spent = [value for key, value in values.items() if key.endswith(SPENT)]
        if spent:
            values["delta_v_m_s"] = _over_mass(sum(spent[1:], spent[0]), self.first.M)
        return {key: value for key, value in values.items() if key in self.signals}


def acting(loads: Sequence[Disturbance], sky: Any, q_IB: Array, r_I: Array, x: BodyState, env: Any) -> Array:
    """Return torque about, and force on, the centre of mass (..., 6) of all loads, and of gravity beside an orbit.

    Gravity pulls a craft that rides on another by the mass of that one, which is the mass of both.
    """
    total = load_wrench(loads, q_IB, env)
    if sky.tide is None:
        return total
    return total + _unless_riding(sky.tide.load_B(q_IB, r_I, x.M, env), x.rides)


@batched("(),(6,6)->()")
def _over_mass(impulse, M):
    """Return the change of velocity by an impulse."""
    return impulse / M[3, 3]


@batched("(6),()->(6)")
def _unless_riding(load_B, rides):
    """Return a load, nothing while the craft rides on another."""
    return (1.0 - rides) * load_B


# Its part of a mission


class PoseStart(Section):
    """How a trial begins."""

    about: str = INERTIAL
    """What places count from: "inertial", the origin, which in an orbit falls along it; or another craft's centre of
    mass; that craft stands before in the file."""
    axes: Literal["inertial", "hill"] = "inertial"
    """Of place and velocity; hill: outward, ahead, along the orbit's momentum, turning with it, and the velocity is
    that against `about`."""
    place_m: Vector3 = (0.0, 0.0, 0.0)
    """Origin of the body from there."""
    distance_m: NonNegative = 0.0
    """So far away beside it, in a random direction; the x axis looks back."""
    place_sigma_m: NonNegative = 0.0
    """Beside it along each axis, one sigma."""
    q_IB: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """Attitude, where no distance says otherwise: takes body components to inertial ones."""
    attitude_sigma_deg: NonNegative = 0.0
    """Beside it about each axis, one sigma."""
    rate_deg_s: Vector3 = (0.0, 0.0, 0.0)
    """Rate, body axes."""
    tumble_deg_s: NonNegative = 0.0
    """Rate beside it, about a random axis."""
    rate_sigma_deg_s: NonNegative = 0.0
    """Rate beside it about each axis, one sigma."""
    velocity_m_s: Vector3 = (0.0, 0.0, 0.0)
    """Of the centre of mass."""
    velocity_sigma_m_s: NonNegative = 0.0
    """Beside it along each axis, one sigma."""

    def draw(self, draws: Draws, others: Mapping[str, Any], sky: Any) -> tuple[Array, Array]:
        """Return pose of the origin, and twist of the centre of mass in body axes, of each trial."""
        n = len(draws.trials)
        if self.about != INERTIAL and self.about not in others:
            there = ", ".join([INERTIAL, *others])
            raise InputError(f"start.about = {self.about!r}: no such craft stands before this one; give one of {there}")
        near = others[self.about] if self.about != INERTIAL else None
        place_I, velocity_I = self._set_off(near, sky)
        r_I, q_IB = (NONE if near is None else near.r_I) + place_I, np.array(self.q_IB)
        if _any(self.distance_m):
            out = draws.direction("station")
            r_I, q_IB = r_I + column(self.distance_m) * out, _looking(out)
        r_I = r_I + draws.vector("place", self.place_sigma_m)
        q_IB = draws.near("attitude", q_IB, self.attitude_sigma_deg)
        w_B = column(np.radians(self.tumble_deg_s)) * draws.direction("tumble") + np.radians(self.rate_deg_s)
        w_B = w_B + draws.vector("rate", np.radians(self.rate_sigma_deg_s))
        v_B = quaternion.inverse_rotate(q_IB, velocity_I)
        v_B = draws.vector("drift", self.velocity_sigma_m_s) + v_B
        twist = np.concatenate([np.broadcast_to(w_B, (n, 3)), np.broadcast_to(v_B, (n, 3))], axis=-1)
        return dual_quaternion.from_pose(q_IB, np.broadcast_to(r_I, (n, 3))), twist

    def _set_off(self, near: Any, sky: Any) -> tuple[Array, Array]:
        """Return place and velocity of the start, inertial axes."""
        place, velocity = np.array(self.place_m), np.array(self.velocity_m_s)
        if self.axes == INERTIAL:
            return place, velocity
        if sky.tide is None:
            raise InputError('start.axes = "hill": there is no orbit; give [environment.orbit] one')
        env = sky.at(0.0)
        place, velocity = from_hill(np.concatenate([place, velocity]), env.r_I, env.v_I)
        return place, velocity + (NONE if near is None else near.p_I / near.M[..., 3, 3][..., None])


def _any(x: Any) -> bool:
    return bool(np.any(np.asarray(x) > 0.0))


@batched("(3)->(4)")
def _looking(out):
    """Return an attitude whose x axis looks against a direction."""
    return quaternion.from_two_vectors(array([1.0, 0.0, 0.0]), -out)


class PosePart(CraftPart):
    """A craft that turns and moves: in free space, or falling beside an orbit."""

    kind: Literal["pose"] = "pose"
    falls: ClassVar[bool] = True
    shaping: ClassVar[frozenset[str]] = frozenset({"port_m", "port_q", "size_m", "box_m"})
    mass_kg: Positive = 100.0
    J_kgm2: Inertia = ((22.0, 0.0, 0.0), (0.0, 20.0, 0.0), (0.0, 0.0, 23.0))
    """Inertia about the centre of mass, body axes."""
    J_error_percent: Percent = 0.0
    """By how much the true moments and axes are off from that, one sigma; flight software believes in J_kgm2."""
    mass_error_percent: Percent = 0.0
    """By how much the true mass is off, one sigma."""
    centre_m: Vector3 = (0.0, 0.0, 0.0)
    """Centre of mass from the body's origin."""
    centre_sigma_m: NonNegative = 0.0
    """By how much the true one is off along each axis, one sigma."""
    port_m: Vector3 = (0.0, 0.0, 0.0)
    """Docking port from the body's origin."""
    port_q: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """Axes of the port, x out of it: takes port components to body ones."""
    size_m: Edges = (0.8, 0.8, 0.8)
    """Edges of the box that is drawn."""
    box_m: Vector3 = (0.0, 0.0, 0.0)
    """Centre of that box from the body's origin."""
    start: PoseStart = PoseStart()

    def inertia(self, J: Array | None = None) -> Array:
        """Return the inertia about the origin, nominal or with another inertia about the centre of mass."""
        return spatial.inertia(self.mass_kg, np.array(self.centre_m), np.array(self.J_kgm2) if J is None else J)

    def _inertia(self, J: Array, draws: Draws) -> Array:
        """Return the inertia about the origin with the mass and centre of each trial."""
        if not _any(self.mass_error_percent) and not _any(self.centre_sigma_m):
            return self.inertia(J)
        mass = self.mass_kg * (1.0 + 0.01 * np.asarray(self.mass_error_percent) * draws.normal("mass"))
        return spatial.inertia(mass, np.array(self.centre_m) + draws.vector("centre", self.centre_sigma_m), J)

    def truth(self, site: Site) -> Craft:
        """Return the craft of each trial."""
        draws, n, J = site.draws, site.trials, np.array(self.J_kgm2)
        if _any(self.J_error_percent):
            J = draws.inertia("inertia", J, self.J_error_percent)
        loads = [part.truth(name, J, draws) for name, part in self.loads.items()]
        effects = Effects.of(self.actuators, site)
        fuel = sum(np.max(getattr(part, "propellant_kg", None) or 0.0) for part in self.actuators.values())
        if fuel >= np.min(self.mass_kg):
            raise InputError(
                f"mass_kg = {np.min(self.mass_kg):g}: is not more than the propellant_kg = {fuel:g} aboard"
            )
        states = effects.start(n)
        dq_IB, centre = self.start.draw(draws, site.others, site.sky)
        chi_B = spatial.shift_twist(centre, -np.array(self.centre_m))
        rho_B = effects.rho_B(states, chi_B)
        first = body.start(dq_IB, chi_B, self._inertia(J, draws), rho_B, states)
        load_B = acting(loads, site.sky, first.q_IB, first.r_I, first, site.sky.at(0.0))
        wide, feels = np.array(np.broadcast_to(load_B, (n, 6))), any(part.feels for part in self.sensors.values())
        return PoseCraft(site.sky, loads, effects, first._replace(load_B=wide), feels)

    def belief(self) -> Nominal:
        """Return what flight software believes in: mass properties, port, and what stands out beyond it."""
        dq_BP = dual_quaternion.from_pose(np.array(self.port_q), np.array(self.port_m))
        corners = np.array(self.box_m) + np.array(self.size_m) * (np.array(list(np.ndindex(2, 2, 2))) - 0.5)
        beyond = quaternion.inverse_rotate(np.array(self.port_q), corners - np.array(self.port_m))[:, 0].max()
        return Nominal(np.array(self.J_kgm2), self.inertia(), dq_BP, max(float(beyond), 0.0))
