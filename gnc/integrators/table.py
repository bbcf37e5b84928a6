"""The methods by name: what they are for, their order, what they conserve to round-off, where they come from.

Attitude methods share one interface, so that models, filters and tests treat them alike:

    step(q_IB, P_B, tau_B, J, rho_B, h) -> q_IB, P_B            step_jacobian: the same, F, G

P_B is the total body angular momentum J w + rho, tau_B a torque constant in body axes, rho_B the wheels' momentum over
the interval. `advance` takes steps in as many substeps as each trial needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch import Kernel
from gnc.errors import InputError
from gnc.integrators import free_drift, preprocessed, qvi, runge_kutta, taylor
from gnc.integrators.composition import ANGLE, SUZUKI4, count, largest_stage, substepped

Array = Any


@dataclass(frozen=True)
class Method:
    """A line of the table."""

    name: str
    group: str  # attitude, damped, potential, pose, tree, contact
    order: int
    conserves: tuple[str, ...]  # of a free body, to round-off
    source: str


@dataclass(frozen=True)
class AttitudeMethod(Method):
    """A method for the attitude of a rigid body or gyrostat."""

    step: Callable[..., Any]
    step_jacobian: Callable[..., Any]
    drift: Callable[..., Any] | None = None  # second-order torque-free step, for kicks by a user's torque
    stages: Sequence[float] = (1.0,)  # how those kicks and drifts are composed
    substep: float | None = ANGLE  # largest (|w| + |rho|/J_min) |h| of a substep [rad]; None: any step is taken whole
    limit: float | None = 1.0  # [rad] beyond which there is no solution
    wheels: bool = True
    symplectic: bool = True
    gentle: Kernel | None = None  # of lower order, exact to round-off as `step` is, where `taylor.shared_out` says so

    def count(self, P_B: Array, tau_B: Array, J: Array, rho_B: Array, h: Array) -> Array:
        """Return the number of substeps of each trial, NaN for a trial that is lost."""
        if self.substep is None:
            return np.ones(())
        return count(P_B, tau_B, J, rho_B, h, ANGLE / self.substep)

    def advance(
        self, steps: int, q_IB: Array, P_B: Array, tau_B: Array, J: Array, rho_B: Array, h: Array, divide: bool = True
    ) -> Any:
        """Take steps of length h, fused where the method is a kernel; substeps are counted at the start."""
        if not isinstance(self.step, Kernel):
            for _ in range(steps):
                q_IB, P_B = self.step(q_IB, P_B, tau_B, J, rho_B, h)
            return q_IB, P_B
        n = self.count(P_B, tau_B, J, rho_B, h) if divide else 1
        part = h / n
        if self.gentle is not None and divide and steps == 1:
            once, n = taylor.shared_out(P_B, tau_B, J, rho_B, h, n)
            q_IB, P_B = self.gentle.repeat(once, q_IB, P_B, tau_B, J, rho_B, h)
        return self.step.repeat(steps * n, q_IB, P_B, tau_B, J, rho_B, part)

    def jacobian(self, divide: bool = True) -> Callable[..., Any]:
        """Return the function (q_IB, P_B, tau_B, J, rho_B, h) -> q_IB, P_B, F, G of a whole step."""
        if not divide or self.substep is None or not isinstance(self.step, Kernel):
            return self.step_jacobian
        assert isinstance(self.step_jacobian, Kernel)
        return substepped(self.step, self.step_jacobian, ANGLE / self.substep)[1]


_SUZUKI_ANGLE = ANGLE / largest_stage(SUZUKI4)

_ALL: list[Method] = [
    AttitudeMethod(
        "vi2", "attitude", 2, ("momentum", "energy"), "QVI eqs. (33), (49), (63)",
        qvi.step, qvi.step_jacobian, qvi.drift,
    ),
    AttitudeMethod(
        "vi4", "attitude", 4, ("momentum", "energy"), "QVI, composed by Suzuki's five stages",
        qvi.step4, qvi.step4_jacobian, qvi.drift, SUZUKI4, _SUZUKI_ANGLE, 1.0 / largest_stage(SUZUKI4),
    ),
    AttitudeMethod(
        "preprocessed", "attitude", 4, ("momentum", "energy"), "Hairer and Vilmart 2006; torque by splitting",
        preprocessed.step, preprocessed.step_jacobian, preprocessed.drift, wheels=False, symplectic=False,
    ),
    AttitudeMethod(
        "exact", "attitude", 2, ("momentum", "energy"), "elliptic functions, exact if free; torque by ABA2",
        free_drift.step, free_drift.step_jacobian, free_drift.drift, SUZUKI4, None, None,
    ),
    AttitudeMethod(
        "taylor", "attitude", 20, ("momentum", "energy"), "Taylor series of order 20",
        taylor.step, taylor.step_jacobian, taylor.drift, SUZUKI4, 0.5, None,
    ),
    AttitudeMethod(
        "taylor10", "attitude", 10, ("momentum", "energy"), "Taylor series of order 10, for less than 0.1 rad",
        taylor.step_slow, taylor.step_jacobian_slow, taylor.drift_slow, SUZUKI4, taylor.SLOW_REACH, None,
        gentle=taylor.step_gentle,
    ),
    AttitudeMethod(
        "midpoint", "attitude", 2, (), "explicit midpoint rule",
        runge_kutta.midpoint, runge_kutta.midpoint_jacobian, limit=None, symplectic=False,
    ),
    AttitudeMethod(
        "rk4", "attitude", 4, (), "classical Runge-Kutta rule",
        runge_kutta.rk4, runge_kutta.rk4_jacobian, limit=None, symplectic=False,
    ),
    AttitudeMethod(
        "rk4-normalized", "attitude", 4, (), "classical Runge-Kutta rule, quaternion normalised",
        runge_kutta.rk4_normalized, runge_kutta.rk4_normalized_jacobian, limit=None, symplectic=False,
    ),
    Method("damper1", "damped", 1, ("momentum",), "QVI eqs. (66), (67)"),
    Method("damper2", "damped", 2, ("momentum",), "QVI eqs. (66), (67), symmetric"),
    Method("damper4", "damped", 4, ("momentum",), "the same, composed by Suzuki's five stages"),
    Method("lgvi2", "potential", 2, ("momentum of the symmetry",), "LGVI, with Stoermer and Verlet"),
    Method("lgvi4", "potential", 4, ("momentum of the symmetry",), "the same, composed by Suzuki's five stages"),
    Method("dqvi2", "pose", 2, ("momentum", "energy"), "DQVI eqs. (36), (47), with the filler"),
    Method("dqvi4", "pose", 4, ("momentum", "energy"), "the same, composed by Suzuki's five stages"),
    Method("quat-rk4", "pose", 4, (), "DQVI section VI, comparator"),
    Method("euler-rk4", "pose", 4, (), "DQVI section VI, comparator with gimbal lock"),
    Method("tree2", "tree", 2, ("momentum", "joints"), "DQVI for every body, with joints as constraints"),
    Method("tree4", "tree", 4, ("momentum", "joints"), "the same, composed by Suzuki's five stages"),
    Method("contact", "contact", 2, ("momentum in flight", "energy in flight"), "PC, derived in docs/contact.md"),
    Method("pair", "contact", 2, ("momentum of the pair",), "the same between two bodies, by splitting"),
    Method("scaling", "contact", 2, ("momentum",), "PC with its scaling free, by splitting"),
]  # fmt: skip

METHODS = {method.name: method for method in _ALL}


def attitude_method(name: str) -> AttitudeMethod:
    """Return an attitude method by name."""
    method = METHODS.get(name)
    if not isinstance(method, AttitudeMethod):
        known = ", ".join(m.name for m in _ALL if isinstance(m, AttitudeMethod))
        raise InputError(f"method: {name!r} is no attitude method; there are {known}")
    return method
