"""How mean and covariance of an attitude filter move: by a method of a name, or by the one that resolves enough.

    move(q, P, C, *given) -> q, P, F C F^T     transition: q, P, F     gains: q, P, F, G     mean: q, P

given = (tau_B, J, rho_B at the start, rho_B at the end, h). `Automatic` takes for every trial by itself

    exact drift       no torque and no wheels: one step of any length, without truncation error
    Taylor series     otherwise: with the wheels' run-up in its recurrence, one step of order 5 or as many of order 8 as
                      keep its truncation error small against the covariance (`taylor.counts`)

All are counts of steps, all but one zero, so that no trial depends on its neighbours and nothing branches. `ByName`
holds the wheels at the mean of both ends, which makes any method one of second order in their run-up.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import Kernel, batched, maximum, nowhere, where
from gnc.estimators.attitude_belief import moving_kernel
from gnc.estimators.kalman import propagate_kernel, propagated
from gnc.integrators import free_drift, taylor
from gnc.integrators.composition import ANGLE, count, substepped
from gnc.integrators.principal import principal
from gnc.integrators.table import AttitudeMethod
from gnc.linalg import zeros
from gnc.models.parameters import store
from gnc.typing import Array

FINER = 3.0  # substeps per substep of the motion alone: a filter without process noise sees its truncation error
NODES, REACH = free_drift.NODES[2], free_drift.REACHES[2]  # of the exact drift, and its longest step [rad]
MEAN_NODES = 14  # of the exact drift without its Jacobian: 6 + 1.6 REACH
NOTHING, UNMOVED = np.zeros((6, 6)), (np.eye(6), np.zeros((6, 3)))


class Plan(NamedTuple):
    """How many steps each trial takes; NaN for a lost one."""

    exact: Array
    gentle: Array
    taylor: Array


def _steps(extent: Any, reach: float) -> Any:
    """Return how many steps of at most `reach` an extent takes; NaN if too many."""
    n = maximum(-np.floor(extent * (-1.0 / reach)), 1.0)
    return where(n <= taylor.MOST, n, math.nan)


@batched("(3),(6,6),(3),(3,3),(3),(3),()->(),(),()")
def plan(P_B, C, tau_B, J, rho_B, rho_end, h):
    """Return the numbers of exact drifts, of gentle Taylor steps and of Taylor steps; all but one are zero."""
    ramp_B = rho_end - rho_B
    free = tau_B @ tau_B + rho_B @ rho_B + ramp_B @ ramp_B == 0.0
    drifts = _steps(taylor.angle(P_B, tau_B, J, rho_B, ramp_B, h), REACH)
    steps = taylor.counts(P_B, C, tau_B, J, rho_B, ramp_B, h)
    return where(free, drifts, 0.0), *(where(free, 0.0, n) for n in steps)


_, _drift = free_drift.kernels(NODES)
_drift_mean, _ = free_drift.kernels(MEAN_NODES)


@batched("(4),(3),(6,6),(3),(3,3),()->(4),(3),(6,6)")
def _drift_covariance(q_IB, P_B, C, moments, axes, h):
    q_IB, P_B, F = _drift(q_IB, P_B, moments, axes, h)
    return q_IB, P_B, propagated(F, C, 6)


@batched("(4),(3),(6,6),(3),(3,3),()->(4),(3),(6,6)")
def _drift_transition(q_IB, P_B, F, moments, axes, h):
    q_IB, P_B, F_step = _drift(q_IB, P_B, moments, axes, h)
    return q_IB, P_B, F_step @ F


class _Series:
    """Steps of the Taylor series: one of lower order where that is enough, then the others."""

    def __init__(self, step: Callable[[Kernel], Callable[..., Any]], layout: str) -> None:
        steps = (taylor.ramp_jacobian_gentle, taylor.ramp_jacobian)
        self.gentle, self.usual = (batched(layout)(step(jacobian)) for jacobian in steps)

    def __call__(self, counts: tuple[Array, Array], state: tuple[Array, ...], *given: Array) -> tuple[Array, ...]:
        """Return the state moved, `state` without, `given` with the wheels' momentum first."""
        moved = (*state, given[0])
        for kernel, n in zip((self.gentle, self.usual), counts, strict=True):
            moved = moved if nowhere(n != 0.0) else kernel.repeat(n, *moved, *given[1:])
        return moved[:-1]


def _mean_step(jacobian: Kernel) -> Callable[..., Any]:
    def taylor_mean(q_IB, P_B, rho_B, tau_B, J, ramp_B, h):
        q_IB, P_B, rho_B, _, _ = jacobian(q_IB, P_B, rho_B, tau_B, J, ramp_B, h)
        return quaternion.normalize(q_IB), P_B, rho_B

    return taylor_mean


def _covariance_step(jacobian: Kernel) -> Callable[..., Any]:
    def taylor_covariance(q_IB, P_B, C, rho_B, tau_B, J, ramp_B, h):
        q_IB, P_B, rho_B, F, _ = jacobian(q_IB, P_B, rho_B, tau_B, J, ramp_B, h)
        return quaternion.normalize(q_IB), P_B, propagated(F, C, 6), rho_B

    return taylor_covariance


def _gains_step(jacobian: Kernel) -> Callable[..., Any]:
    def taylor_gains(q_IB, P_B, F, G, rho_B, tau_B, J, ramp_B, h):
        q_IB, P_B, rho_B, F_step, G_step = jacobian(q_IB, P_B, rho_B, tau_B, J, ramp_B, h)
        return quaternion.normalize(q_IB), P_B, F_step @ F, F_step @ G + G_step, rho_B

    return taylor_gains


_mean = _Series(_mean_step, "(4),(3),(3),(3),(3,3),(3),()->(4),(3),(3)")
_covariance = _Series(_covariance_step, "(4),(3),(6,6),(3),(3),(3,3),(3),()->(4),(3),(6,6),(3)")
_gains = _Series(_gains_step, "(4),(3),(6,6),(6,3),(3),(3),(3,3),(3),()->(4),(3),(6,6),(6,3),(3)")


@batched("(),(3),(3),()->(),(3)")
def _parts(n, rho_B, rho_end, h):
    """Return length and run-up of one of n substeps."""
    part = 1.0 / where(n == 0.0, 1.0, n)
    return h * part, (rho_end - rho_B) * part


@batched("(3),(3,3),()->(),()")
def _drift_plan(P_B, J, h):
    none = zeros(3)
    n = _steps(taylor.angle(P_B, none, J, none, none, h), REACH)
    return n, h / n


def free_transition(q_IB: Array, P_B: Array, J: Array, rho_B: Array, h: Array) -> tuple[Array, Array, Array]:
    """Return attitude, momentum and F of a free body without wheels, as `Automatic` moves it."""
    n, part = _drift_plan(P_B, J, h)
    return _drift_transition.repeat(n, q_IB, P_B, UNMOVED[0], *principal(J), part)


@dataclass(frozen=True, eq=False)
class Automatic:
    """Exact drift where it applies, Taylor series elsewhere."""

    J: Array
    wheels: bool = True
    _axes: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Find the principal axes once."""
        store(self, _axes=principal(self.J))

    def __str__(self) -> str:
        orders = f"{taylor.GENTLE} or {taylor.ORDER}"
        return f"exact drift; under torque or wheels a Taylor series of order {orders}, by the covariance"

    def plan(self, P_B: Array, C: Array, *given: Array) -> Plan:
        """Tell what moves each trial."""
        return Plan(*plan(P_B, C, *given))

    def move(self, q_IB, P_B, C, tau_B, J, rho_B, rho_end, h):
        """Return attitude, momentum, and the covariance of (a, dP)."""
        drifts, steps, given = self._divided(P_B, C, tau_B, J, rho_B, rho_end, h)
        q_IB, P_B, C = _drift_covariance.repeat(drifts[0], q_IB, P_B, C, *drifts[1:])
        return _covariance(steps, (q_IB, P_B, C), *given)

    def mean(self, q_IB, P_B, C, tau_B, J, rho_B, rho_end, h, at):
        """Return attitude and momentum."""
        drifts, steps, given = self._divided(at, C, tau_B, J, rho_B, rho_end, h)
        q_IB, P_B = _drift_mean.repeat(drifts[0], q_IB, P_B, *drifts[1:])
        return _mean(steps, (q_IB, P_B), *given)

    def transition(self, q_IB, P_B, C, tau_B, J, rho_B, rho_end, h):
        """Return attitude, momentum, and F over (a, dP)."""
        drifts, steps, given = self._divided(P_B, C, tau_B, J, rho_B, rho_end, h)
        q_IB, P_B, F = _drift_transition.repeat(drifts[0], q_IB, P_B, UNMOVED[0], *drifts[1:])
        return _gains(steps, (q_IB, P_B, F, UNMOVED[1]), *given)[:3]

    def gains(self, q_IB, P_B, C, tau_B, J, rho_B, rho_end, h):
        """Return attitude, momentum, F and G, by the Taylor series: the exact drift has no derivative for a torque."""
        steps = taylor.counts(P_B, C, tau_B, J, rho_B, rho_end - rho_B, h)
        part, ramp_B = _parts(steps[1], rho_B, rho_end, h)
        return _gains(steps, (q_IB, P_B, *UNMOVED), rho_B, tau_B, J, ramp_B, part)

    def _divided(self, P_B, C, tau_B, J, rho_B, rho_end, h):
        """Return count and arguments of the exact drifts, the counts of Taylor steps, and their arguments."""
        moments, axes = self._axes if J is self.J else principal(J)
        drifts, *steps = plan(P_B, C, tau_B, J, rho_B, rho_end, h)
        part, ramp_B = _parts(steps[1], rho_B, rho_end, h)
        return (drifts, moments, axes, _parts(drifts, rho_B, rho_end, h)[0]), steps, (rho_B, tau_B, J, ramp_B, part)


@dataclass(frozen=True, eq=False)
class ByName:
    """A method of `gnc.integrators.table`, in substeps by the angle, or in one step whatever the angle."""

    method: AttitudeMethod
    divide: bool = True
    jacobian: Any = None  # of one step, instead of the method's own
    wheels: bool = field(init=False, repr=False)  # whether the body may have some
    _move: Kernel | None = field(
        init=False, repr=False
    )  # one substep of mean and covariance, if the method is a kernel
    _whole: Any = field(init=False, repr=False)
    _longest: Any = field(init=False, repr=False)  # stage of a step, for the count of substeps; None: one step

    def __post_init__(self) -> None:
        """Look up once what moves the mean and the covariance."""
        one, longest = self.jacobian or self.method.step_jacobian, None
        whole = one
        step = self.method.step
        if self.divide and self.method.substep is not None and isinstance(step, Kernel) and isinstance(one, Kernel):
            longest = np.array(FINER * ANGLE / self.method.substep)
            whole = substepped(step, one, float(longest))[1]
        move = moving_kernel(one) if isinstance(one, Kernel) else None
        store(self, wheels=self.method.wheels, _move=move, _whole=whole, _longest=longest)

    def __str__(self) -> str:
        return self.method.source

    def move(self, q_IB, P_B, C, tau_B, J, rho_B, rho_end, h):
        """Return attitude, momentum, and the covariance of (a, dP)."""
        rho = middle(rho_B, rho_end)
        if self._move is None:
            q_IB, P_B, F, _ = self._whole(q_IB, P_B, tau_B, J, rho, h)
            return quaternion.normalize(q_IB), P_B, propagate_kernel(6)(C, F, NOTHING)
        n = np.ones(()) if self._longest is None else count(P_B, tau_B, J, rho, h, self._longest)
        return self._move.repeat(n, q_IB, P_B, C, tau_B, J, rho, h / n)

    def mean(self, q_IB, P_B, C, *given, at):
        """Return attitude and momentum."""
        return self.gains(q_IB, P_B, C, *given)[:2]

    def transition(self, q_IB, P_B, C, *given):
        """Return attitude, momentum, and F over (a, dP)."""
        return self.gains(q_IB, P_B, C, *given)[:3]

    def gains(self, q_IB, P_B, C, tau_B, J, rho_B, rho_end, h):
        """Return attitude, momentum, F and G."""
        q_IB, P_B, F, G = self._whole(q_IB, P_B, tau_B, J, middle(rho_B, rho_end), h)
        return quaternion.normalize(q_IB), P_B, F, G


def middle(rho_B: Array, rho_end: Array) -> Array:
    """Return the wheels' momentum in the middle of a step."""
    return rho_B if rho_end is rho_B else 0.5 * (rho_B + rho_end)


ProcessModel = Automatic | ByName
