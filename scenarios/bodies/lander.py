"""The truth of a lander that touches the ground, with its books, and flight software that ends with the contact."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import batched, maximum, minimum, where
from gnc.controllers.attitude import AttitudeController, AttitudeMemory
from gnc.controllers.reference import AttitudeReference
from gnc.estimators.attitude_belief import Belief, select
from gnc.estimators.kalman import Innovation
from gnc.estimators.mekf import Mekf
from gnc.events import chosen
from gnc.linalg import identity, skew, solve3
from gnc.models.contact_body import ContactBody, Motion, Touch
from gnc.models.sensors.interface import Measurement
from gnc.models.books import size

Array = Any
ROUNDING = 1e-9  # of a load, by which its friction may be off in the sum of the stages
STILL_M_S, STILL_RAD_S = 1e-4, 1e-4  # slower than this on the ground is at rest


class Ledger(NamedTuple):
    """The books of a lander, and the worst that the contacts did."""

    start: Array  # (trials, 6) angular momentum about the mass centre and linear momentum at the start, inertial axes
    impulse_I: Array  # (trials, 6) of control until the contact; of gravity and ground at all times
    handled: Array  # (trials, 2) the sizes of all of them added up
    rise: Array  # (trials,) largest gain of energy in a step, beyond the work of control [J]
    outside: Array  # (trials,) farthest that an impulse was outside of its friction cone [N s]
    outside_steps: Array  # (trials,) in how many steps, by more than rounding
    pull: Array  # (trials,) largest impulse towards the ground, which cannot be [N s]
    unsolved: Array  # (trials,) steps whose contacts did not converge


class LanderState(NamedTuple):
    """Motion, what touches, and the books."""

    q_IB: Array  # (trials, 4)
    r_IB: Array  # (trials, 3) centre of mass [m]
    w_B: Array  # (trials, 3) [rad/s]
    v_I: Array  # (trials, 3) [m/s]
    touched: Array  # (trials,) bool: whether it ever has
    load_Ns: Array  # (trials,) impulse of the ground along its normal in the last step
    still_s: Array  # (trials,) how long it has been at rest on the ground
    ledger: Ledger

    @property
    def motion(self) -> Motion:
        """Pose and velocities."""
        return Motion(*self[:4])


@dataclass(frozen=True, eq=False)
class Lander:
    """A body with contacts; cold gas turns it until the first contact.

    A trial that has been at rest for `sleep_s` sleeps: it stays as it is and costs nothing more.
    """

    body: ContactBody
    sleep_s: float

    def start(self, x: Motion) -> LanderState:
        """Return the state at time zero, in flight."""
        n = len(x.r_IB)
        start = _momentum(x.q_IB, x.w_B, x.v_I, self.body.mass, self.body.Theta)
        ledger = Ledger(start, np.zeros((n, 6)), np.zeros((n, 2)), *np.zeros((5, n)))
        return LanderState(*x, np.zeros(n, bool), np.zeros(n), np.zeros(n), ledger)

    def step(self, x: LanderState, command: Array, t: float, h: float) -> LanderState:
        """Move over h; a foot's switch cuts the gas."""
        asleep, tau_B = x.still_s >= self.sleep_s, np.where(x.touched[:, None], 0.0, command)
        unseen = np.where(asleep, np.nan, 0.0)[:, None]  # a trial that is not a number touches nothing
        moving = x.motion._replace(r_IB=x.r_IB + unseen)
        after, touch = self.body.touch(moving, np.concatenate([tau_B, np.zeros_like(tau_B)], axis=-1), h)
        load = functools.reduce(np.add, np.moveaxis(touch.load, -1, 0))
        touched = x.touched | (touch.load > 0.0).any(axis=-1)
        still = (load > 0.0) & _slow(after.w_B, after.v_I).astype(bool)
        ledger = self._entered(x, after, touch, tau_B, touched, h)
        moved = LanderState(*after, touched, load, np.where(still, x.still_s + h, 0.0), ledger)
        return chosen(asleep, x, moved) if asleep.any() else moved

    def report(self, x: LanderState) -> Array:
        """Return the feet's switches: whether one has ever touched."""
        return x.touched

    def gap(self, x: LanderState) -> Array:
        """Return how far the books are from closing, relative; the angular part until the contact only."""
        momentum = _momentum(x.q_IB, x.w_B, x.v_I, self.body.mass, self.body.Theta)
        return _gap(momentum, x.ledger.start, x.ledger.impulse_I, x.ledger.handled, x.touched.astype(float))

    def energy(self, x: LanderState) -> Array:
        """Return kinetic and potential energy, zero at rest at the origin [J]."""
        return self.body.energy(x.motion)

    def _entered(self, x: LanderState, after: Motion, touch: Touch, tau_B: Array, touched: Array, h: float) -> Ledger:
        body, ledger = self.body, x.ledger
        work = _work(tau_B, x.w_B, after.w_B, h)
        rise = body.energy(after) - self.energy(x) - work
        ground = functools.reduce(np.add, np.moveaxis(touch.impulse_I, -2, 0))
        turned = np.where(touched[:, None], 0.0, _turned(x.q_IB, x.w_B, after.w_B, tau_B, h))
        weight = h * body.mass[:, None] * body.gravity_I
        slide = np.sqrt(touch.impulse_I[..., 0] ** 2 + touch.impulse_I[..., 1] ** 2)
        outside = slide - body.friction[:, None] * touch.load
        more = np.stack([_size(turned), _size(weight) + _size(ground)], axis=-1)
        return Ledger(
            ledger.start,
            ledger.impulse_I + np.concatenate([turned, weight + ground], axis=-1),
            ledger.handled + more,
            np.maximum(ledger.rise, rise),
            np.maximum(ledger.outside, outside.max(axis=-1)),
            ledger.outside_steps + (outside > ROUNDING * (1.0 + body.friction[:, None]) * touch.load).any(axis=-1),
            np.maximum(ledger.pull, 0.0 - touch.load.min(axis=-1)),
            ledger.unsolved + ~touch.converged,
        )


class DescentBelief(NamedTuple):
    """What flight software believes until it is off."""

    filter: Belief
    off: Array  # (trials,) bool


@dataclass(frozen=True, eq=False)
class DescentNavigation:
    """A MEKF that stops where a foot has touched: it knows nothing of the ground."""

    mekf: Mekf
    sensors: Mapping[str, Any]

    def predict(self, belief: DescentBelief, command: Array, report: Array, t: float, h: float) -> DescentBelief:
        """Move over h the trials that have not touched at its end."""
        off = belief.off | report
        moved = self.mekf.predict(belief.filter, command, h)
        return DescentBelief(select(off, belief.filter, moved), off)

    def update(
        self, belief: DescentBelief, name: str, measurement: Measurement, t: float
    ) -> tuple[DescentBelief, Innovation]:
        """Correct with a measurement the trials that are still flying."""
        valid = measurement.valid & ~belief.off
        corrected, made = self.mekf.update(belief.filter, self.sensors[name], Measurement(measurement.z, valid))
        return belief._replace(filter=corrected), made


@dataclass(frozen=True, eq=False)
class DescentControl:
    """Attitude hold until the contact."""

    law: AttitudeController
    read: Any  # belief -> attitude and rate
    reference: AttitudeReference
    limit: float

    def command(
        self, belief: DescentBelief, report: Array, t: float, memory: AttitudeMemory
    ) -> tuple[Array, AttitudeMemory]:
        """Return the torque within its limits, none after the contact."""
        tau_B, memory = self.law.command(self.read(belief.filter), self.reference, memory)
        return np.where(report[:, None], 0.0, _limited(tau_B, self.limit)), memory


@batched("(3),()->(3)")
def _limited(tau_B, limit):
    return minimum(maximum(tau_B, -limit), limit)


@batched("(3)->()")
def _size(v):
    return size(v)


@batched("(3),(3)->()")
def _slow(w_B, v_I):
    """Return whether a body is at rest."""
    return where((size(v_I) < STILL_M_S) & (size(w_B) < STILL_RAD_S), 1.0, 0.0)


@batched("(3),(3),(3),()->()")
def _work(tau_B, w_start, w_end, h):
    """Return the work of a torque: the step is a midpoint rule, so that it is exact."""
    return (0.5 * h) * (tau_B @ (w_start + w_end))


@batched("(4),(3),(3),(),(3,3)->(6)")
def _momentum(q_IB, w_B, v_I, mass, Theta):
    """Return angular momentum about the mass centre and linear momentum, inertial axes."""
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
    gaps = []
    for part, done in ((slice(0, 3), handled[0]), (slice(3, 6), handled[1])):
        scale = size(momentum[part]) + size(start[part]) + done
        gaps.append(size((momentum - start - impulse_I)[part]) / where(scale == 0.0, 1.0, scale))
    return maximum(where(touched > 0.0, 0.0, gaps[0]), gaps[1])
