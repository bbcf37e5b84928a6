"""Two free bodies that may hit each other: balls on the one against balls on the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.integrators import contact_pair, perfect_constraint
from gnc.integrators.contact import Motion
from gnc.models.contact_body import checked_points, fraction

Array = Any


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
        """Validate once."""
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
        """Validate once."""
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
        total: Array = 0.0
        for y, body in ((x.first, self.first), (x.second, self.second)):
            total = total + perfect_constraint.kinetic_energy(y.v_I, 0.0, y.w_B, body.mass, body.Theta)
        return total

    def momentum(self, x: PairState) -> Array:
        """Return angular momentum about the inertial origin and linear momentum of both (..., 6)."""
        total: Array = 0.0
        for y, body in ((x.first, self.first), (x.second, self.second)):
            total = total + perfect_constraint.momentum(*y, body.mass, body.Theta)
        return total
