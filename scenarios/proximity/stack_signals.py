"""What is recorded of a docking beside what is recorded of a rendezvous, with units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import batched
from gnc.history import Signal
from gnc.loop import Moment

Array = Any

MORE: dict[str, tuple[Signal, Callable[[Moment], Array]]] = {
    "docked": (Signal("1", "1 once the bodies are one"), lambda m: m.truth.docked),
    "chaser_rate_deg_s": (
        Signal("deg/s", "true rate of the chaser, or the stack, body axes"),
        lambda m: np.degrees(m.truth.chaser.chi_B[..., :3]),
    ),
    "chaser_velocity_m_s": (
        Signal("m/s", "true velocity of the chaser's centre of mass, body axes"),
        lambda m: m.truth.chaser.chi_B[..., 3:],
    ),
    "hold_error_m": (Signal("m", "the stack's position from where it is to be held"), lambda m: _off(m)[0]),
    "hold_error_deg": (Signal("deg", "the stack's attitude from where it is to be held"), lambda m: _off(m)[1]),
    "misfit_m": (Signal("m", "distance of the ports at capture"), lambda m: m.truth.misfit[..., 0]),
    "misfit_deg": (Signal("deg", "angle of the ports at capture"), lambda m: np.degrees(m.truth.misfit[..., 1])),
    "misfit_m_s": (Signal("m/s", "velocity of the ports at capture"), lambda m: m.truth.misfit[..., 2]),
    "misfit_deg_s": (Signal("deg/s", "rate of the ports at capture"), lambda m: np.degrees(m.truth.misfit[..., 3])),
    "momentum_jump": (Signal("1", "relative change of momentum at capture"), lambda m: m.truth.jump),
    "energy_lost_J": (Signal("J", "energy lost at capture"), lambda m: m.truth.loss),
}


def _off(m: Moment) -> tuple[Array, Array]:
    """Return how far a stack is from where it is to be held; NaN before capture."""
    docked = np.where(m.truth.docked > 0.0, 1.0, np.nan)
    far, turned = _away(m.command.dq_IR, m.truth.chaser.dq_IB)
    return docked * far, docked * np.degrees(turned)


@batched("(8),(8)->(),()")
def _away(dq_1, dq_2):
    """Return distance and angle between two poses."""
    q, r = dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_1), dq_2))
    turn = quaternion.log(q)
    return np.sqrt(r @ r), np.sqrt(turn @ turn)
