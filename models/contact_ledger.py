"""The books of a body that touches the ground: its momentum, its energy, and the worst that the contacts did."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import batched, maximum, where
from gnc.integrators import perfect_constraint
from gnc.linalg import identity, skew, solve3
from gnc.models.books import relative_gaps, size
from gnc.models.contact_body import ContactBody, Motion, Touch

Array = Any
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


def gap(ledger: Ledger, body: ContactBody, x: Motion, touched: Array) -> Array:
    """Return how far the books are from closing, relative; the angular part until the contact only.

    Beyond it, the solver of contacts tells impulses, not their levers.
    """
    return _gap(momentum(body, x), ledger.start, ledger.impulse_I, ledger.handled, touched.astype(float))


def entered(
    ledger: Ledger, body: ContactBody, x: Motion, after: Motion, touch: Touch, wrench_B: Array, touched: Array, h: float
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
