"""Contact with restitution and friction: a body whose points touch surfaces, two bodies that hit each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched
from gnc.errors import InputError
from gnc.integrators import contact, contact_pair, perfect_constraint
from gnc.integrators.contact import ContactLaw, Motion, Near, Plane, Sphere, Surface, Touch, around
from gnc.typing import Array

__all__ = ["ContactBody", "ContactFlight", "Motion", "Plane", "Sphere", "Touch"]

Shape = tuple[int, ...]

NO_WRENCH = (0.0,) * 6


class ContactFlight(NamedTuple):
    """A flight: the motion at the times, and what the contacts did in the intervals between them."""

    t: Array  # (times) or (times, ...) [s]
    x: Motion  # (times, ..., n)
    touch: Touch  # (times - 1, ...): impulses and sweeps added up, the largest residual, converged if all were


@dataclass(frozen=True)
class ContactBody:
    """Mass, shape and laws of contact of a body.

    `points_B` may touch, each the centre of a ball of its radius; every one can touch every surface, and contacts count
    surface by surface. Mass, inertia, laws and gravity may have leading axes, one value per trial. The tangential
    restitution equals the normal one unless given: with any other value an impact may gain energy (Kane's paradox).
    """

    mass: Any  # (...) [kg]
    Theta: Any  # (..., 3, 3) about the centre of mass, body axes [kg m^2]
    points_B: Any  # (points, 3) from the centre of mass [m]
    surfaces: Sequence[Surface]
    restitution: Any = 0.0  # (...) e, from 0 to 1
    friction: Any = 0.0  # (...) mu
    gravity_I: Any = (0.0, 0.0, 0.0)  # (..., 3) acceleration [m/s^2]
    radii: Any = 0.0  # (points) [m]
    tangential_restitution: Any = None  # (...) e_T, from 0 to 1
    tolerance: float = contact.TOLERANCE
    sweeps: int = contact.SWEEPS

    def __post_init__(self) -> None:
        e_T = self.restitution if self.tangential_restitution is None else self.tangential_restitution
        points = checked_points(self.points_B)
        if not self.surfaces:
            raise InputError("surfaces: there is nothing to touch; give at least one Plane or Sphere")
        if self.sweeps < 1:
            raise InputError(f"sweeps: {self.sweeps} is no number of sweeps; give 1 or more")
        checked = {
            "mass": check.positive("mass", self.mass),
            "Theta": check.inertia("Theta", self.Theta),
            "points_B": points,
            "surfaces": tuple(self.surfaces),
            "restitution": fraction("restitution", self.restitution),
            "friction": check.non_negative("friction", self.friction),
            "gravity_I": check.vector("gravity_I", self.gravity_I, 3),
            "radii": _radii(self.radii, len(points)),
            "tangential_restitution": fraction("tangential_restitution", e_T),
            "tolerance": float(check.positive("tolerance", self.tolerance)),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def step(self, x: Motion, wrench_B: Any, h: Any) -> Motion:
        """Advance by h under a wrench [torque, force], held in body axes."""
        return self.touch(x, wrench_B, h)[0]

    def touch(self, x: Motion, wrench_B: Any, h: Any) -> tuple[Motion, Touch]:
        """Advance as `step` does, and tell what the contacts did."""
        lead = self._leading(x, wrench_B, h)
        after, touch = self._stepper(lead, wrench_B, h)(_flat(x, lead))
        return _shaped(after, lead), _shaped(touch, lead)

    def fly(self, x0: Motion, steps: int, h: Any, every: int = 1, wrench_B: Any = NO_WRENCH) -> ContactFlight:
        """Advance by steps of h under a constant wrench and record every so many, the start included."""
        if every < 1 or steps < 1 or steps % every:
            raise InputError(f"steps: {steps} is not one or more records of {every} steps")
        lead = self._leading(x0, wrench_B, h)
        advance, x = self._stepper(lead, wrench_B, h), _flat(x0, lead)
        states, touches = [x], []
        for _ in range(steps // every):
            x, total = advance(x)
            for _ in range(every - 1):
                x, touch = advance(x)
                total = _added(total, touch)
            states.append(x)
            touches.append(total)
        t = np.multiply.outer(np.arange(0, steps + 1, every), np.asarray(h, float))
        records = _shaped(_stacked(states), (len(states), *lead)), _shaped(_stacked(touches), (len(touches), *lead))
        return ContactFlight(t, *records)

    def energy(self, x: Motion) -> Array:
        """Return kinetic energy and the potential of gravity, zero at the origin [J]."""
        return _energy(*x[1:], self.mass, self.Theta, self.gravity_I)

    def momentum(self, x: Motion) -> Array:
        """Return angular momentum about the inertial origin and linear momentum, inertial axes (..., 6)."""
        return perfect_constraint.momentum(*x, self.mass, self.Theta)

    def _leading(self, x: Motion, wrench_B: Any, h: Any) -> Shape:
        cores = (*zip(x, (1, 1, 1, 1), strict=True), (wrench_B, 1), (h, 0), (self.mass, 0), (self.Theta, 2))
        cores += ((self.restitution, 0), (self.tangential_restitution, 0), (self.friction, 0), (self.gravity_I, 1))
        return np.broadcast_shapes(*(np.shape(a)[: np.ndim(a) - core] for a, core in cores))

    def _stepper(self, lead: Shape, wrench_B: Any, h: Any) -> Callable[[Motion], tuple[Motion, Touch]]:
        """Return the step as a function of motions that have the trials in one axis."""
        m, Theta, g_I = _rows(self.mass, lead), _rows(self.Theta, lead, 3, 3), _rows(self.gravity_I, lead, 3)
        h, wrench = _rows(h, lead), _rows(wrench_B, lead, 6)
        e, e_T, mu = (_rows(a, lead) for a in (self.restitution, self.tangential_restitution, self.friction))
        law = ContactLaw(e, e_T, mu, self.tolerance, self.sweeps)
        points, radii = np.tile(self.points_B, (len(self.surfaces), 1)), np.tile(self.radii, len(self.surfaces))
        points, radii = _rows(points, (len(h),), *points.shape), _rows(radii, (len(h),), *radii.shape)
        tau_B, force_B, weight_I = wrench[:, :3].copy(), wrench[:, 3:].copy(), m[:, None] * g_I

        def advance(x: Motion) -> tuple[Motion, Touch]:
            q_m, r_m = perfect_constraint.move(*x, 0.5 * h)
            gap, normal_I = around(q_m, r_m, self.points_B, self.radii, self.surfaces)
            near = Near(q_m, gap, normal_I, points, radii)
            return contact.step(x, tau_B, quaternion.rotate(q_m, force_B) + weight_I, m, Theta, h, near, law)

        return advance


@batched("(3),(3),(3),(),(3,3),(3)->()")
def _energy(r_IB, w_B, v_I, m, Theta, g_I):
    return perfect_constraint.kinetic_energy(v_I, 0.0, w_B, m, Theta) - m * (g_I @ r_IB)


def checked_points(points_B: Any) -> Array:
    """Return points of a body, (points, 3)."""
    points = check.finite("points_B", points_B, (3,))
    if points.ndim != 2 or not len(points):
        raise InputError(f"points_B: expected (points, 3) with at least one point, got {points.shape}")
    return points


def _radii(radii: Any, points: int) -> Array:
    checked = check.non_negative("radii", radii)
    if checked.shape not in ((), (points,)):
        raise InputError(f"radii: expected one number or {points}, one per point, got {checked.shape}")
    return np.broadcast_to(checked, (points,))


def fraction(name: str, x: Any) -> Array:
    """Return numbers from 0 to 1."""
    checked = check.non_negative(name, x)
    if (checked > 1.0).any():
        raise InputError(f"{name}: {checked.max():g} is above 1; give a number from 0 to 1")
    return checked


Record = TypeVar("Record", Motion, Touch)


def _rows(a: Any, lead: Shape, *core: int) -> Array:
    """Return an array with the trials in one axis."""
    return np.ascontiguousarray(np.broadcast_to(np.asarray(a, float), (*lead, *core))).reshape(-1, *core)


def _flat(x: Motion, lead: Shape) -> Motion:
    return Motion(*(_rows(a, lead, n) for a, n in zip(x, (4, 3, 3, 3), strict=True)))


def _shaped(record: Record, lead: Shape) -> Record:
    """Give the trials of a record, after an axis of times if there is one, their axes back."""
    return type(record)(*(a.reshape(lead + core) for a, core in zip(record, _cores(record), strict=True)))


def _cores(record: Motion | Touch) -> list[Shape]:
    if isinstance(record, Motion):
        return [(4,), (3,), (3,), (3,)]
    contacts = record.load.shape[-1]
    return [(contacts, 3), (contacts,), (), (), (), ()]


def _stacked(records: list[Record]) -> Record:
    return type(records[0])(*(np.stack(a) for a in zip(*records, strict=True)))


def _added(a: Touch, b: Touch) -> Touch:
    """Join what happened in two spans of time; step by step, since NumPy's sums depend on the number of trials."""
    return Touch(
        a.impulse_I + b.impulse_I,
        a.load + b.load,
        a.unit_impulse + b.unit_impulse,
        np.maximum(a.residual, b.residual),
        a.sweeps + b.sweeps,
        a.converged & b.converged,
    )


class PairState(NamedTuple):
    """The motion of both bodies."""

    first: Motion
    second: Motion


@dataclass(frozen=True)
class BallBody:
    """A rigid body whose shape is a number of balls."""

    mass: Any  # (...) [kg]
    Theta: Any  # (..., 3, 3) about the centre of mass, body axes [kg m^2]
    centres_B: Any  # (balls, 3) from the centre of mass [m]
    radius: float  # of every ball [m]

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", check.positive("mass", self.mass))
        object.__setattr__(self, "Theta", check.inertia("Theta", self.Theta))
        object.__setattr__(self, "centres_B", checked_points(self.centres_B))
        object.__setattr__(self, "radius", float(check.positive("radius", self.radius)))


@dataclass(frozen=True)
class ContactPair:
    """Two bodies, one law of contact, no other force: a step is half a flight, impacts there, half a flight.

    Flight keeps energy and momentum exactly (`perfect_constraint.step`), impacts keep the momentum of the pair and take
    energy; one restitution counts along normals and tangents, as in `ContactBody`. States have the trials first.
    """

    first: BallBody
    second: BallBody
    restitution: float = 0.0  # e, from 0 to 1
    friction: float = 0.0  # mu

    def __post_init__(self) -> None:
        object.__setattr__(self, "restitution", float(fraction("restitution", self.restitution)))
        object.__setattr__(self, "friction", float(check.non_negative("friction", self.friction)))

    def step(self, x: PairState, h: float) -> PairState:
        """Move over h; a trial whose impact does not converge becomes NaN."""
        return self._flown(self.hit(self._flown(x, 0.5 * h)), 0.5 * h)

    def hit(self, x: PairState) -> PairState:
        """Let balls that touch and approach hit each other where they are."""
        gap, W = self._contacts(x)
        trials = len(gap)
        mobility = contact_pair.pair_mobility(self.first.mass, self.first.Theta, self.second.mass, self.second.Theta)
        mobility = np.broadcast_to(mobility, (trials, 14, 14))
        z = contact_pair.stacked(x.first.v_I, x.first.w_B, x.second.v_I, x.second.w_B)
        e, mu = np.full(trials, self.restitution), np.full(trials, self.friction)
        after = contact_pair.impact(z, W, mobility, gap <= 0.0, e, mu)
        z = np.where(after.converged[:, None], after.z, np.nan)
        return PairState(
            x.first._replace(v_I=z[:, :3], w_B=z[:, 4:7]), x.second._replace(v_I=z[:, 7:10], w_B=z[:, 11:])
        )

    def _contacts(self, x: PairState) -> tuple[Array, Array]:
        """Return gaps (trials, contacts) and directions (trials, contacts, 3, 14) of all pairs of balls."""
        places = [
            y.r_IB[:, None] + quaternion.rotate(y.q_IB[:, None], body.centres_B)
            for y, body in ((x.first, self.first), (x.second, self.second))
        ]
        apart = (places[0][:, :, None] - places[1][:, None]).reshape(len(places[0]), -1, 3)
        distance = np.sqrt(apart[..., 0] ** 2 + apart[..., 1] ** 2 + apart[..., 2] ** 2)
        normal = apart / distance[..., None]
        centre = np.repeat(places[0], len(self.second.centres_B), axis=1)
        gap = distance - self.first.radius - self.second.radius
        middle = centre - (self.first.radius + 0.5 * gap)[..., None] * normal
        poses = (a[:, None] for y in x for a in (y.q_IB, y.r_IB))
        return gap, contact_pair.pair_directions(*poses, middle, normal)

    def _flown(self, x: PairState, h: float) -> PairState:
        """Fly both bodies free."""
        none = np.zeros(3)
        flown = [
            Motion(*perfect_constraint.step(*y, none, none, body.mass, body.Theta, h))
            for y, body in ((x.first, self.first), (x.second, self.second))
        ]
        return PairState(*flown)

    def fly(self, x: PairState, steps: int, h: float, every: int = 1) -> list[PairState]:
        """Return the states after every so many steps, the start first."""
        states = [x]
        for k in range(steps):
            x = self.step(x, h)
            if (k + 1) % every == 0:
                states.append(x)
        return states

    def energy(self, x: PairState) -> Array:
        """Return the kinetic energy of both [J]."""
        total: Any = 0.0
        for y, body in ((x.first, self.first), (x.second, self.second)):
            total = total + perfect_constraint.kinetic_energy(y.v_I, 0.0, y.w_B, body.mass, body.Theta)
        return total

    def momentum(self, x: PairState) -> Array:
        """Return angular momentum about the inertial origin and linear momentum of both (..., 6)."""
        total: Any = 0.0
        for y, body in ((x.first, self.first), (x.second, self.second)):
            total = total + perfect_constraint.momentum(*y, body.mass, body.Theta)
        return total
