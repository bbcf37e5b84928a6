"""Reaction wheels, any number about any axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import check
from gnc.batch import copysign, maximum, sized
from gnc.config import NonNegative, Positive, Vector3
from gnc.draws import Draws, column
from gnc.errors import InputError
from gnc.history import Signal
from gnc.models.actuators.effector import SATURATIONS, ActuatorPart, Effector, clipped, saturated, scaled
from gnc.models.parameters import each, store, unit_vectors

Array = Any


def pyramid_axes(elevation_deg: float = 35.26438968275465) -> Array:
    """Return the axes (4, 3) of a pyramid: 90 deg apart about z, raised from the xy plane.

    At the default angle, arctan(1/sqrt(2)), four wheels serve all directions alike: the sum of a a^T is 4/3 of unity.
    """
    azimuth, elevation = np.radians([45.0, 135.0, 225.0, 315.0]), np.radians(elevation_deg)
    level = np.cos(elevation)
    return np.stack([level * np.cos(azimuth), level * np.sin(azimuth), np.full(4, np.sin(elevation))], axis=-1)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReactionWheels:
    """Wheels that turn h_w' = -u - viscous h_w - coulomb sign(h_w), u the motor's torque on the body.

    The body feels minus the whole change of the wheels' momentum, friction and limits included, so that body and
    wheels together keep theirs. Viscous friction is integrated by the implicit midpoint rule, Coulomb friction
    implicitly: it stops a wheel and holds it, and never drives it. Limits bound the motor's torque and the momentum; a
    wheel that starts beyond its momentum limit is not pushed further. With "direction" saturation one wheel at its
    momentum limit stops all, as only that keeps the direction.
    """

    axes_B: Array  # (..., n, 3) unit vectors
    torque_limit: Array = np.inf  # (..., n), or one number for all [N m]
    momentum_limit: Array = np.inf  # (..., n), or one number for all [N m s]
    viscous: Array = 0.0  # (..., n), or one number for all: friction torque per momentum [1/s]
    coulomb: Array = 0.0  # (..., n), or one number for all [N m]
    saturation: str = "direction"

    def __post_init__(self) -> None:
        store(self, axes_B=unit_vectors("axes_B", self.axes_B))
        check.one_of("saturation", self.saturation, SATURATIONS)
        for name in ("torque_limit", "momentum_limit"):
            store(self, **{name: each(name, getattr(self, name), self.count, "limit")})
        for name in ("viscous", "coulomb"):
            store(self, **{name: each(name, getattr(self, name), self.count, "non-negative")})

    @property
    def count(self) -> int:
        """How many wheels there are."""
        return self.axes_B.shape[-2]

    def apply(self, command: Array, momentum: Array, h: Array) -> tuple[Array, Array]:
        """Return the torque on the body, body axes, and the momentum of each wheel against it after h [N m s]."""
        limits = self.torque_limit, self.momentum_limit
        spin = spin_kernel(self.count, self.saturation)
        return spin(command, momentum, self.axes_B, *limits, self.viscous, self.coulomb, h)

    def momentum_B(self, momentum: Array) -> Array:
        """Return the momentum of all wheels, body axes: what the body's equations take as rho."""
        return sum_kernel(self.count)(momentum, self.axes_B)


@sized(lambda n: f"({n}),({n},3)->(3)")
def sum_kernel(values, axes_B):
    """Return the sum of values along axes."""
    return axes_B.T @ values


@sized(lambda n, saturation: f"({n}),({n}),({n},3),({n}),({n}),({n}),({n}),()->(3),({n})")
def spin_kernel(command, momentum, axes_B, torque_limit, momentum_limit, viscous, coulomb, h, *, saturation):
    """Return the body's torque and the wheels' momentum after h."""
    half = 0.5 * h * viscous
    inverse, per_h = 1.0 / (1.0 + half), 1.0 / h
    coasting, gain = momentum * ((1.0 - half) * inverse), h * inverse
    stop, bound = gain * coulomb, maximum(momentum_limit, abs(momentum))
    u = saturated(command, torque_limit, saturation)
    if saturation == "direction":
        u = scaled(u, (bound + stop + coasting * copysign(1.0, u)) * ((1.0 + half) * per_h))
    pushed = coasting - gain * u
    after = clipped(copysign(maximum(abs(pushed) - stop, 0.0), pushed), bound)
    return axes_B.T @ ((momentum - after) * per_h), after


class WheelSet(Effector):
    """Wheels on a craft, each with the momentum it starts with."""

    internal = True

    def __init__(self, wheels: ReactionWheels, start_Nms: Array) -> None:
        self.wheels, self._start, self.size = wheels, start_Nms, wheels.count
        axis = ("wheel", tuple(str(k + 1) for k in range(wheels.count)))
        self.signals = {  # type: ignore[misc]
            "momentum_Nms": Signal("N m s", "momentum of each wheel", axis),
            "torque_Nm": Signal("N m", "commanded torque of each wheel on the body", axis),
        }

    def start(self, trials: int) -> Array:
        """Return the momentum of each wheel."""
        return np.array(np.broadcast_to(self._start, (trials, self.size)), float)

    def act(self, command: Array, state: Array, h: Array) -> tuple[None, Array]:
        """Return nothing that acts from outside, and the momentum after h."""
        return None, self.wheels.apply(command, state, h)[1]

    def momentum_B(self, state: Array) -> Array:
        """Return the momentum of all wheels, body axes."""
        return self.wheels.momentum_B(state)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return momentum and command."""
        return {"momentum_Nms": state, "torque_Nm": command}


class ReactionWheelsPart(ActuatorPart):
    """Reaction wheels, any number about any axes; by default four in a pyramid about the z axis."""

    kind: Literal["reaction-wheels"] = "reaction-wheels"
    axes: tuple[Vector3, ...] | None = None
    """Axis of each wheel, body axes; by default a pyramid of four."""
    elevation_deg: Annotated[float, Field(gt=0, lt=90)] = 35.26438968275465
    """Of the pyramid over the xy plane, if no axes are given."""
    torque_limit_Nm: Positive = 5e-3
    """Of each wheel."""
    momentum_limit_Nms: Positive = 50e-3
    """Of each wheel."""
    start_Nms: NonNegative = 10e-3
    """Momentum of each at the start, one sigma."""
    fixed_start_Nms: tuple[float, ...] = ()
    """Momentum that the wheels of all trials have beside it, one number each: that of a momentum wheel."""
    viscous_per_s: NonNegative = 0.0
    """Friction torque per momentum."""
    coulomb_Nm: NonNegative = 0.0
    """Dry friction of each wheel."""
    shaping: ClassVar[frozenset[str]] = frozenset({"axes", "elevation_deg"})

    def _wheels(self) -> ReactionWheels:
        axes_B = pyramid_axes(self.elevation_deg) if self.axes is None else _unit_axes(self.axes)
        each = lambda x: column(x) * np.ones(len(axes_B))  # noqa: E731
        return ReactionWheels(
            axes_B=axes_B,
            torque_limit=each(self.torque_limit_Nm),
            momentum_limit=each(self.momentum_limit_Nms),
            viscous=each(self.viscous_per_s),
            coulomb=each(self.coulomb_Nm),
        )

    def truth(self, name: str, draws: Draws) -> WheelSet:
        """Return the wheels of each trial."""
        wheels = self._wheels()
        spinning, limit = draws.vector(name, self.start_Nms, wheels.count), wheels.momentum_limit
        if self.fixed_start_Nms:
            fixed = np.asarray(self.fixed_start_Nms, float)
            if fixed.shape[-1] != wheels.count:
                raise InputError(f"fixed_start_Nms: give {wheels.count} numbers, one for each wheel")
            spinning = fixed + spinning
        if np.any(column(self.start_Nms) > limit) or np.any(abs(np.asarray(self.fixed_start_Nms or 0.0)) > limit):
            raise InputError("start_Nms: wheels cannot start beyond momentum_limit_Nms; lower it")
        return WheelSet(wheels, np.clip(spinning, -limit, limit))

    def belief(self) -> WheelSet:
        """Return the wheels as flight software knows them; tachometers tell their momentum."""
        return WheelSet(self._wheels(), 0.0)


def _unit_axes(axes: Array) -> Array:
    rows = np.array(axes, float)
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    if not len(rows) or not np.all(length > 0.0):
        raise InputError("axes: give at least one axis, none of them zero")
    return rows / length
