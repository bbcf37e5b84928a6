"""A craft that falls on the ground of a small body: in flight, in contact with restitution and friction, at rest.

Until a foot touches, actuators turn and push it; then they are cut, and the laws of contact decide. z of the inertial
axes is the normal of the ground; gravity is off from it by the slope of each trial.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from gnc import quaternion
from gnc.batch import batched, maximum, where
from gnc.config import Edges, Inertia, NonNegative, Percent, Positive, Section
from gnc.draws import Draws, column
from gnc.errors import InputError
from gnc.events import chosen
from gnc.history import Signal
from gnc.integrators import perfect_constraint
from gnc.linalg import identity, skew, solve3
from gnc.models import rates
from gnc.models.books import relative_gaps, size
from gnc.models.contact_body import ContactBody, Motion, Plane, Touch
from gnc.models.craft.base import Carrier, Craft, CraftPart, Effects, Nominal, Report, Site
from gnc.typing import Array, Mask

ROUNDING = 1e-9  # of a load, by which its friction may be off in the sum of the stages


class Ledger(NamedTuple):
    """What a trial began with, what acted on it, and the worst of its contacts so far."""

    start: Array  # (trials, 6) angular momentum about the mass centre and linear momentum at the start, inertial axes
    impulse_I: Array  # (trials, 6) of actuators until the contact; of gravity and ground at all times
    handled: Array  # (trials, 2) the sizes of all of them added up
    rise: Array  # (trials,) largest gain of energy in a step, beyond the work of actuators [J]
    outside: Array  # (trials,) farthest that an impulse was outside of its friction cone [N s]
    outside_steps: Array  # (trials,) in how many steps, by more than rounding
    pull: Array  # (trials,) largest impulse towards the ground, which cannot be [N s]
    unsolved: Array  # (trials,) steps whose contacts did not converge


def opened(body: ContactBody, x: Motion) -> Ledger:
    """Return the ledger of a flight that begins."""
    n = len(x.r_IB)
    return Ledger(momentum(body, x), np.zeros((n, 6)), np.zeros((n, 2)), *np.zeros((5, n)))


def momentum(body: ContactBody, x: Motion) -> Array:
    """Return angular momentum about the mass centre and linear momentum, inertial axes (trials, 6)."""
    return _momentum(x.q_IB, x.w_B, x.v_I, body.mass, body.Theta)


def gap(ledger: Ledger, body: ContactBody, x: Motion, touched: Mask) -> Array:
    """Return how far the books are from closing, relative; the angular part until the contact only.

    Beyond it, the solver of contacts tells impulses, not their levers.
    """
    return _gap(momentum(body, x), ledger.start, ledger.impulse_I, ledger.handled, touched.astype(float))


def entered(
    ledger: Ledger, body: ContactBody, x: Motion, after: Motion, touch: Touch, wrench_B: Array, touched: Mask, h: float
) -> Ledger:
    """Return the ledger after a step."""
    middle = perfect_constraint.move(*x, np.asarray(0.5 * h))[0]  # the attitude at which the step takes forces
    force_I = quaternion.rotate(middle, wrench_B[..., 3:])
    work = _work(wrench_B[..., :3], x.w_B, after.w_B, h) + _work(force_I, x.v_I, after.v_I, h)
    rise = body.energy(after) - body.energy(x) - work
    ground = functools.reduce(np.add, np.moveaxis(touch.impulse_I, -2, 0))
    turned = np.where(touched[:, None], 0.0, _turned(x.q_IB, x.w_B, after.w_B, wrench_B[..., :3], h))
    weight = h * body.mass[:, None] * body.gravity_I + h * force_I
    slide = np.sqrt(touch.impulse_I[..., 0] ** 2 + touch.impulse_I[..., 1] ** 2)
    outside = slide - body.friction[:, None] * touch.load
    sizes = np.stack([size(turned), size(weight) + size(ground)], axis=-1)
    return Ledger(
        ledger.start,
        ledger.impulse_I + np.concatenate([turned, weight + ground], axis=-1),
        ledger.handled + sizes,
        np.maximum(ledger.rise, rise),
        np.maximum(ledger.outside, outside.max(axis=-1)),
        ledger.outside_steps + (outside > ROUNDING * (1.0 + body.friction[:, None]) * touch.load).any(axis=-1),
        np.maximum(ledger.pull, 0.0 - touch.load.min(axis=-1)),
        ledger.unsolved + ~touch.converged,
    )


@batched("(3),(3),(3),()->()")
def _work(load, speed_start, speed_end, h):
    """Return the work of a torque or force: the step is a midpoint rule, so that it is exact."""
    return (0.5 * h) * (load @ (speed_start + speed_end))


@batched("(4),(3),(3),(),(3,3)->(6)")
def _momentum(q_IB, w_B, v_I, mass, Theta):
    return np.concatenate([quaternion.rotate(q_IB, Theta @ w_B), mass * v_I])


@batched("(4),(3),(3),(3),()->(3)")
def _turned(q_IB, w_start, w_end, tau_B, h):
    """Return the angular impulse, inertial axes, of a torque held in body axes over a step in flight.

    With S = h [w_m] and the turn by Cayley's map,
    (1 - S/2) R_0^T (L_1 - L_0) = Theta (w_1 - w_0) + S Theta w_m = h tau.
    """
    S = skew((0.25 * h) * (w_start + w_end))
    return quaternion.rotate(q_IB, solve3(identity(3) - S, h * tau_B))


@batched("(6),(6),(6),(2),()->()")
def _gap(momentum, start, impulse_I, handled, touched):
    """Return the larger relative gap, the angular one only in flight."""
    turning, moving = relative_gaps(momentum, start, impulse_I, handled)
    return maximum(where(touched > 0.0, 0.0, turning), moving)


STILL_M_S, STILL_RAD_S = 1e-4, 1e-4  # slower than this on the ground is at rest
VERTICAL = np.array([0.0, 0.0, 1.0])
FEET_DEG = (90.0, 210.0, 330.0)  # places of the feet on their circle


class ContactState(NamedTuple):
    """Motion, what touches, and the books."""

    q_IB: Array  # (trials, 4)
    r_IB: Array  # (trials, 3) centre of mass [m]
    w_B: Array  # (trials, 3) [rad/s]
    v_I: Array  # (trials, 3) [m/s]
    P_B: Array  # (trials, 3) angular momentum about the centre of mass, body axes [kg m^2/s]
    touched: Mask  # (trials,) bool: whether it ever has
    foot_I: Array  # (trials, 3) centre of mass at the first contact, NaN before [m]
    load_Ns: Array  # (trials,) impulse of the ground along its normal in the last step
    still_s: Array  # (trials,) how long it has been at rest on the ground
    ledger: Ledger
    effectors: tuple[Array, ...]  # state of each actuator

    @property
    def motion(self) -> Motion:
        """Pose and velocities."""
        return Motion(*self[:4])


SIGNALS = {
    "q_IB": Signal("1", "true attitude, body to inertial, scalar first"),
    "r_IB_m": Signal("m", "centre of mass, inertial axes; z is normal to the ground"),
    "v_I_m_s": Signal("m/s", "velocity of the centre of mass, inertial axes"),
    "w_B_deg_s": Signal("deg/s", "true rate, body axes"),
    "tilt_deg": Signal("deg", "angle of the body's z axis from the normal of the ground"),
    "travel_m": Signal("m", "horizontal way since the first contact; NaN before"),
    "energy_J": Signal("J", "kinetic and potential energy, above that of standing at the origin"),
    "energy_rise": Signal("1", "largest gain of energy in a step so far, beyond the work of control, over the start's"),
    "outside_cone": Signal("1", "farthest that an impulse was outside of its friction cone, over the fall's momentum"),
    "outside_cone_steps": Signal("1", "steps so far in which an impulse was outside of its friction cone"),
    "pull": Signal("1", "largest impulse towards the ground so far, over the fall's momentum"),
    "unsolved": Signal("1", "steps so far whose contacts did not converge"),
    "momentum_gap": Signal("1", "momentum less start and impulses, over all that was handled"),
    "load_Ns": Signal("N s", "impulse of the ground along its normal in the last step of the truth"),
}


@dataclass(frozen=True, eq=False)
class ContactCraft(Carrier):
    """The truth of a body with feet; one that has been at rest for `sleep_s` sleeps and costs nothing more."""

    body: ContactBody
    effects: Effects
    sky: Any
    sleep_s: float
    standing_J: Array  # energy of standing at the origin
    q_IU: Array  # (trials, 4) the attitude that stands along gravity
    first: ContactState
    compilable: ClassVar[bool] = False

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What it tells about itself."""
        return {**SIGNALS, **self.effects.signals}

    def step(self, x: ContactState, command: tuple[Array, ...], t: Any, h: Any) -> ContactState:
        """Move over h; a foot's switch cuts the actuators."""
        outputs, states = self.effects.act(tuple(np.where(x.touched[:, None], 0.0, u) for u in command), x.effectors, h)
        wrench_B = self.effects.wrench_B(outputs, x.q_IB, self.sky.at(t))
        wrench_B = np.zeros((len(x.q_IB), 6)) if wrench_B is None else wrench_B
        asleep = x.still_s >= self.sleep_s
        unseen = np.where(asleep, np.nan, 0.0)[:, None]  # a trial that is not a number touches nothing
        after, touch = self.body.touch(x.motion._replace(r_IB=x.r_IB + unseen), wrench_B, h)
        load = functools.reduce(np.add, np.moveaxis(touch.load, -1, 0))
        touched = x.touched | (touch.load > 0.0).any(axis=-1)
        foot_I = np.where((touched & ~x.touched)[:, None], after.r_IB, x.foot_I)
        still = (load > 0.0) & _slow(after.w_B, after.v_I).astype(bool)
        ledger = entered(x.ledger, self.body, x.motion, after, touch, wrench_B, touched, h)
        still_s = np.where(still, x.still_s + h, 0.0)
        P_B = rates.to_momentum(after.w_B, self.body.Theta, np.zeros(3))
        moved = ContactState(*after, P_B, touched, foot_I, load, still_s, ledger, states)
        return chosen(asleep, x, moved) if asleep.any() else moved

    def report(self, x: ContactState) -> Report:
        """Return the feet's switches, whether one has ever touched, and the vertical, which counts as known."""
        return Report(
            self.effects.telemetry(x.effectors),
            np.zeros((len(x.q_IB), 3)),
            flag=x.touched.astype(float),
            q_IU=self.q_IU,
        )

    def observe(self, x: ContactState, command: tuple[Array, ...], t: float) -> Mapping[str, Array]:
        """Return the values of all signals."""
        energy_0 = self.body.energy(self.first.motion) - self.standing_J
        fall = self.body.mass * np.sqrt(2.0 * energy_0 / self.body.mass)
        off = x.r_IB - x.foot_I
        values = {
            **{"q_IB": x.q_IB, "r_IB_m": x.r_IB, "v_I_m_s": x.v_I, "w_B_deg_s": np.degrees(x.w_B)},
            **{"tilt_deg": _tilt_deg(x.q_IB), "travel_m": np.hypot(off[:, 0], off[:, 1])},
            "energy_J": self.body.energy(x.motion) - self.standing_J,
            "energy_rise": x.ledger.rise / energy_0,
            "outside_cone": x.ledger.outside / fall,
            "outside_cone_steps": x.ledger.outside_steps,
            "pull": x.ledger.pull / fall,
            "unsolved": x.ledger.unsolved,
            "momentum_gap": gap(x.ledger, self.body, x.motion, x.touched),
            "load_Ns": x.load_Ns,
        }
        return values | self.effects.observe(command, x.effectors)


@batched("(3),(3)->()")
def _slow(w_B, v_I):
    """Return whether a body is at rest."""
    return where((size(v_I) < STILL_M_S) & (size(w_B) < STILL_RAD_S), 1.0, 0.0)


@batched("(4)->()")
def _tilt_deg(q_IB):
    """Return the angle of the body's z axis from the inertial one."""
    x, y, z = quaternion.to_matrix(q_IB)[:, 2]
    return np.arctan2(np.sqrt(x * x + y * y), z) * (180.0 / np.pi)


# Its part of a mission


class Ground(Section):
    """A plane; laws of contact and slope differ from trial to trial, by one sigma each."""

    gravity_m_s2: Positive = 5e-3
    """About that of Phobos."""
    slope_deg: NonNegative = 3.0
    """Of gravity against the normal, about each horizontal axis."""
    restitution: Annotated[float, Field(ge=0, le=1)] = 0.3
    """Of normals and tangents alike, which is what keeps energy from growing; kept within 0 and 0.8."""
    restitution_sigma: NonNegative = 0.05
    """Over the trials."""
    friction: NonNegative = 0.5
    """Coulomb's coefficient; kept at 0.2 or more."""
    friction_sigma: NonNegative = 0.1
    """Over the trials."""

    def upright(self, draws: Draws) -> Array:
        """Return the attitude that stands along gravity, by the slope of each trial (trials, 4)."""
        slope = draws.vector("slope", np.radians(self.slope_deg))
        return quaternion.exp(slope * np.array([1.0, 1.0, 0.0]))


class Descent(Section):
    """How a trial begins, over the place where it would stand; one sigma of each axis."""

    height_m: Positive = 2.0
    """Of the feet over the ground, if it begins upright."""
    sink_m_s: NonNegative = 0.05
    """Vertical speed, downwards."""
    sink_sigma_m_s: NonNegative = 0.01
    """Over the trials."""
    drift_m_s: NonNegative = 0.02
    """Horizontal speed."""
    attitude_sigma_deg: NonNegative = 3.0
    """Against upright."""
    rate_sigma_deg_s: NonNegative = 0.3


class ContactPart(CraftPart):
    """A box on three feet that falls on the ground; the feet and the upper corners of the box may touch."""

    kind: Literal["contact"] = "contact"
    shaping: ClassVar[frozenset[str]] = frozenset({"size_m", "foot_radius_m", "foot_height_m", "sleep_s"})
    mass_kg: Positive = 100.0
    J_kgm2: Inertia = ((14.0, 0.3, -0.2), (0.3, 13.0, 0.1), (-0.2, 0.1, 11.0))
    """About the centre of mass, which is the centre of the box."""
    J_error_percent: Percent = 3.0
    """By how much the true moments and axes are off, one sigma; flight software believes in J_kgm2."""
    size_m: Edges = (0.8, 0.8, 0.6)
    foot_radius_m: Positive = 0.9
    """Of the circle on which the three feet stand; with 0.7, and 0.45 of height, one lander in a hundred tips over."""
    foot_height_m: Positive = 0.4
    """Of the centre of mass over the feet."""
    sleep_s: Positive = 2.0
    """After so long at rest it is not moved any more."""
    ground: Ground = Ground()
    start: Descent = Descent()

    def truth(self, site: Site) -> Craft:
        """Return the lander of each trial, on its ground."""
        if self.loads:
            raise InputError("loads: a craft on the ground takes none; give its ground gravity")
        draws, q_IU = site.draws, self.ground.upright(site.draws)
        body = self._body(draws, q_IU)
        effects = Effects.of(self.actuators, site)
        if any(effector.internal for effector in effects.each):
            raise InputError("actuators: a craft on the ground has no wheels; give thrusters or a wrench")
        x = self._begin(draws, q_IU)
        P_B = rates.to_momentum(x.w_B, body.Theta, np.zeros(3))
        n, zero = site.trials, np.zeros(site.trials)
        empty = zero.astype(bool), np.full((n, 3), np.nan), zero, zero
        first = ContactState(*x, P_B, *empty, opened(body, x), effects.start(n))
        standing_J = body.mass * self.ground.gravity_m_s2 * self.foot_height_m
        return ContactCraft(body, effects, site.sky, self.sleep_s, standing_J, q_IU, first)

    def belief(self) -> Nominal:
        """Return the inertia that flight software believes in."""
        return Nominal(np.array(self.J_kgm2))

    def _body(self, draws: Draws, q_IU: Array) -> ContactBody:
        g, angles, radius = self.ground, np.radians(FEET_DEG), self.foot_radius_m
        feet = [[radius * np.cos(a), radius * np.sin(a), -self.foot_height_m] for a in angles]
        x, y, z = 0.5 * np.array(self.size_m)
        corners = [[sx * x, sy * y, z] for sx in (-1.0, 1.0) for sy in (-1.0, 1.0)]
        e = g.restitution + g.restitution_sigma * draws.normal("restitution")
        mu = g.friction + g.friction_sigma * draws.normal("friction")
        return ContactBody(
            mass=np.full(len(draws.trials), self.mass_kg),
            Theta=draws.inertia("inertia", np.array(self.J_kgm2), self.J_error_percent),
            points_B=feet + corners,
            surfaces=[Plane()],
            restitution=np.clip(e, 0.0, 0.8),
            friction=np.maximum(mu, 0.2),
            gravity_I=-column(g.gravity_m_s2) * quaternion.rotate(q_IU, VERTICAL),
        )

    def _begin(self, draws: Draws, q_IU: Array) -> Motion:
        """Return how each trial begins, about upright."""
        d, n = self.start, len(draws.trials)
        height = np.broadcast_to(self.foot_height_m + d.height_m, (n,))
        drift = draws.vector("drift", d.drift_m_s, 2)
        sink = -d.sink_m_s + d.sink_sigma_m_s * draws.normal("sink")
        return Motion(
            draws.near("attitude", q_IU, d.attitude_sigma_deg),
            np.stack([np.zeros(n), np.zeros(n), height], axis=-1),
            draws.vector("rate", np.radians(d.rate_sigma_deg_s)),
            np.concatenate([drift, np.broadcast_to(sink, (n,))[:, None]], axis=-1),
        )
