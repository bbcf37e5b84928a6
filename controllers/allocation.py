"""From a demand to commands: which actuators make which part of a torque or a wrench, and what is left out of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gnc.batch import batched
from gnc.controllers.thruster_allocation import ThrusterAllocation
from gnc.controllers.wheel_allocation import WheelAllocation
from gnc.errors import InputError
from gnc.linalg import cross
from gnc.models.actuators.effector import Effector
from gnc.models.actuators.magnetorquers import TorquerSet
from gnc.models.actuators.reaction_wheels import WheelSet
from gnc.models.actuators.thrusters import ThrusterSet
from gnc.models.actuators.wrench import OF_BASE, JointMotors
from gnc.typing import Array

Share = Callable[[Array, Any, Any], Array]  # (demand in floats, estimate, 1 for members left out or None) -> command
Left = Callable[[Array, Any], Array]  # (torque, estimate) -> what is left of it


def shares(
    effectors: Mapping[str, Effector], to: Sequence[str], demand: str, partial: bool = False
) -> dict[str, Share]:
    """Return, for each of the actuators that a mode commands, what it makes of a demand.

    Wheels and torquers make torques only; the forces of a wrench go to the others. Torque is made in this order, each
    making what it can of what those before it leave: wheels along their axes, torquers across the field. Wheels alone
    must make all of it, unless it is a `partial` one that is asked for.
    """
    share_of: dict[str, Share] = {}
    left: list[Left] = []
    turned = False
    for name in to:
        if name not in effectors:
            raise InputError(
                f"to = {list(to)}: there is no actuator {name!r}; there are {', '.join(effectors) or 'none'}"
            )
        effector = effectors[name]
        if turned and (demand == "torque" or isinstance(effector, WheelSet | TorquerSet)):
            raise InputError(f"to = {list(to)}: those before {name!r} make all of a torque and leave it nothing to do")
        share = _share(effector, demand, turned)
        share_of[name] = _of_the_rest(share, tuple(left), turned) if left or turned else share
        if isinstance(effector, TorquerSet):
            left.append(lambda tau_B, estimate: along_field(tau_B, estimate.B_B))
        elif isinstance(effector, WheelSet) and (rest := WheelAllocation(axes_B=effector.wheels.axes_B).rest).any():
            left.append(lambda tau_B, estimate, rest=rest: projected(rest, tau_B))  # type: ignore[misc]
        elif not isinstance(effector, JointMotors):
            turned = True
    if left and not turned and not partial and not any(isinstance(effectors[name], TorquerSet) for name in to):
        raise InputError(f"to = {list(to)}: the axes of these wheels leave some torque to nobody; add another actuator")
    return share_of


def _of_the_rest(share: Share, left: tuple[Left, ...], turned: bool) -> Share:
    """Return the share of what others leave of the torque in a demand."""

    def rest(demand: Array, estimate: Any, out: Any) -> Array:
        tau_B = demand[..., :3]
        for step in left:
            tau_B = step(tau_B, estimate)
        tau_B = 0.0 * tau_B if turned else tau_B
        return share(np.concatenate([tau_B, demand[..., 3:]], axis=-1), estimate, out)

    return rest


def _share(effector: Effector, demand: str, turned: bool) -> Share:
    if isinstance(effector, TorquerSet):
        if demand == "dipole":
            return lambda dipole_B, estimate, out: _kept(effector.torquers.dipole_B(dipole_B), out)
        return lambda tau_B, estimate, out: _kept(
            effector.torquers.dipole_B(across_field(tau_B[..., :3], estimate.B_B)), out
        )
    if demand == "dipole":
        raise InputError("to: a law that asks for a dipole commands magnetorquers only")
    if isinstance(effector, WheelSet):
        allocation = WheelAllocation(axes_B=effector.wheels.axes_B)
        return lambda tau_B, estimate, out: allocation.command(tau_B[..., :3], out)
    if isinstance(effector, ThrusterSet):
        return _of_thrusters(effector, demand, turned)
    if isinstance(effector, JointMotors):
        return lambda demand, estimate, out: _kept(effector.share(demand), out)
    if not hasattr(effector, "share"):
        raise InputError(f"to: {type(effector).__name__} has no share(demand); give it one, or another actuator")
    return lambda wrench_B, estimate, out: _kept(effector.share(_padded(wrench_B, effector.size)), out)


def _kept(command: Array, out: Array | None) -> Array:
    """Return a command without the members that are left out."""
    return command if out is None else command * (1.0 - out)


def _of_thrusters(effector: ThrusterSet, demand: str, turned: bool) -> Share:
    """Return the share of thrusters: all of a wrench, its forces where wheels turn already, or a torque alone."""
    rows = (0, 1, 2) if demand == "torque" else (3, 4, 5) if turned else (0, 1, 2, 3, 4, 5)
    allocation = ThrusterAllocation.of(effector.thrusters, rows=rows)
    return lambda wrench_B, estimate, out: allocation.command(wrench_B[..., list(rows)], out)


def _padded(demand: Array, size: int) -> Array:
    """Return a torque as a wrench where an actuator takes one; efforts of joints behind a wrench are left out."""
    demand = demand[..., :OF_BASE]
    if size == 6 and demand.shape[-1] == 3:
        return np.concatenate([demand, np.zeros_like(demand)], axis=-1)
    return demand


@batched("(3,3),(3)->(3)")
def projected(rest, tau_B):
    """Return the part of a torque that wheels leave."""
    return rest @ tau_B


@batched("(3),(3)->(3)")
def along_field(tau_B, B_B):
    """Return the part of a torque along the field, which torquers leave."""
    return ((tau_B @ B_B) / (B_B @ B_B)) * B_B


@batched("(3),(3)->(3)")
def across_field(tau_B, B_B):
    """Return the dipole B x tau/|B|^2, which makes the part of a torque that is across the field."""
    return cross(B_B, tau_B) / (B_B @ B_B)
