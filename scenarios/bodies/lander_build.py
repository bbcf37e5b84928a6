"""From the sections of `touchdown` to the lander, the ground and the start of each trial."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import quaternion
from gnc.draws import Draws
from gnc.models.contact_body import ContactBody, Motion, Plane

Array = Any
VERTICAL = np.array([0.0, 0.0, 1.0])


def upright(config: Any, draws: Draws) -> Array:
    """Return the attitude that stands along gravity, by the slope of the ground in each trial (trials, 4)."""
    tilt = np.radians(config.ground.slope_deg) * draws.normal("slope", 3) * np.array([1.0, 1.0, 0.0])
    return quaternion.exp(tilt)


def body(config: Any, draws: Draws) -> ContactBody:
    """Return the lander of each trial, on its ground."""
    lander, ground = config.lander, config.ground
    angles = np.radians([90.0, 210.0, 330.0])
    feet = [[lander.foot_radius_m * np.cos(a), lander.foot_radius_m * np.sin(a), -lander.foot_height_m] for a in angles]
    x, y, z = 0.5 * np.array(lander.size_m)
    corners = [[sx * x, sy * y, z] for sx in (-1.0, 1.0) for sy in (-1.0, 1.0)]
    e = ground.restitution + ground.restitution_sigma * draws.normal("restitution")
    mu = ground.friction + ground.friction_sigma * draws.normal("friction")
    return ContactBody(
        mass=np.full(len(draws.trials), lander.mass_kg),
        Theta=draws.inertia("inertia", np.array(lander.J_kgm2), lander.J_error_percent),
        points_B=feet + corners,
        surfaces=[Plane()],
        restitution=np.clip(e, 0.0, 0.8),
        friction=np.maximum(mu, 0.2),
        gravity_I=-ground.gravity_m_s2 * quaternion.rotate(upright(config, draws), VERTICAL),
    )


def start(config: Any, draws: Draws) -> Motion:
    """Return how each trial begins, about upright."""
    d, n = config.descent, len(draws.trials)
    height = config.lander.foot_height_m + d.height_m
    drift = d.drift_m_s * draws.normal("drift", 2)
    sink = -d.sink_m_s + d.sink_sigma_m_s * draws.normal("sink")
    return Motion(
        draws.near("attitude", upright(config, draws), d.attitude_deg),
        np.tile([0.0, 0.0, height], (n, 1)),
        np.radians(d.rate_deg_s) * draws.normal("rate", 3),
        np.concatenate([drift, sink[:, None]], axis=-1),
    )
