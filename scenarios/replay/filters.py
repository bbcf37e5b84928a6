"""From the section [filter] to the filter that replay drives."""

from __future__ import annotations

from typing import Any

from gnc.errors import InputError
from gnc.estimators.extra_states import SensorBias
from gnc.estimators.motion_fit import Poses
from gnc.models.sensors import Gyro
from gnc.scenarios.replay import config
from gnc.scenarios.replay.attitude_filters import ByTorque, GyroDriven
from gnc.scenarios.replay.driven import Driven
from gnc.scenarios.replay.pose_filters import ByWrench, Kinematic, Moving
from gnc.scenarios.replay.run import OWN_PATIENCE


def driven(chosen: Any, gyros: list[Gyro], start: config.Start, poses: Poses | None = None) -> Driven:
    """Build the filter of a configuration; the first poses tell the motion, if it is not stated."""
    made = _built(chosen, gyros, start, poses)
    n = made.start_size(start)
    if start.C is not None and (len(start.C) != n or any(len(row) != n for row in start.C)):
        raise InputError(f"start.C: give {n} rows of {n} numbers, over {', '.join(made.errors[:n])}")
    return made


def _built(chosen: Any, gyros: list[Gyro], start: config.Start, poses: Poses | None) -> Driven:
    name = "patience" if chosen.kind == "gyro-mekf" else "patience_s"
    common: dict[str, Any] = {"gate_probability": chosen.gate_probability, name: chosen.patience or OWN_PATIENCE}
    common |= {} if chosen.inflation is None else {"inflation": chosen.inflation}
    if chosen.kind == "gyro-mekf":
        return GyroDriven(chosen, gyros[0], common)
    if chosen.kind == "dqekf-kinematic":
        return Kinematic(chosen, common, gyros[0] if gyros else None) if poses is None else Moving(chosen, poses)
    biases = gyros if start.sigma_bias_deg_s > 0.0 else []
    extras = tuple(SensorBias(name=f"bias_{i}", of=g, walk=g.bias_walk**2) for i, g in enumerate(biases))
    return (ByTorque if chosen.kind == "mekf" else ByWrench)(chosen, extras, common)
