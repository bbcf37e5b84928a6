"""The free tumble of the sample-rate study: J = diag(1, 2, 3), 8.8 deg/s, two vectors with 1 deg noise, 300 s."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.models.environment.table import Environment
from gnc.models.sensors import FineSunSensor
from gnc.models.states import AttitudeState

Array = Any

J = np.diag([1.0, 2.0, 3.0])
W_0 = np.radians([4.0, -5.0, 6.0])
SENSOR = FineSunSensor(rate_hz=1.0, sigma_deg=1.0)
DIRECTIONS = np.eye(3)[:2]
WORLDS = [Environment(np.zeros(3), np.zeros(3), np.zeros(3), direction, 0.0) for direction in DIRECTIONS]
DURATION = 300.0


@functools.cache
def truth(rate_hz: float) -> AttitudeState:
    """Return the motion at the sample instants, integrated by DOP853: arrays (steps + 1, ...)."""

    def slope(_: float, y: Array) -> Array:
        q, w = y[:4], y[4:]
        q_dot = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return np.concatenate([q_dot, np.linalg.solve(J, np.cross(J @ w, w))])

    times = np.arange(round(DURATION * rate_hz) + 1) / rate_hz
    start = np.array([1.0, 0.0, 0.0, 0.0, *W_0])
    y = solve_ivp(slope, (0.0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-12).y.T
    return AttitudeState(y[:, :4] / np.linalg.norm(y[:, :4], axis=1, keepdims=True), y[:, 4:])


def first_beliefs(trials: int, rng: np.random.Generator) -> tuple[AttitudeState, Array]:
    """Return states from two measured vectors (TRIAD) and a rate known to 0.5 deg/s, and a covariance of (a, dw)."""
    first, second = (DIRECTIONS + np.radians(1.0) * rng.standard_normal((trials, 2, 3))).swapaxes(0, 1)
    third = np.cross(first, second)
    rows = [v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (first, np.cross(third, first), third)]
    q_IB = quaternion.from_matrix(np.stack(rows, axis=-2))  # DIRECTIONS are x and y: their triad is the unit matrix
    C = np.diag([np.radians(1.0) ** 2] * 3 + [np.radians(0.5) ** 2] * 3)
    return AttitudeState(q_IB, W_0 + np.radians(0.5) * rng.standard_normal((trials, 3))), C


def rms_deg(mekf: Any, rate_hz: float, trials: int = 100, seed: int = 1) -> float:
    """Return the RMS angle over the second half and all trials; NaN if one is lost."""
    rng, motion = np.random.default_rng(seed), truth(rate_hz)
    belief, squares = mekf.start(*first_beliefs(trials, rng)), []
    steps = len(motion.q_IB) - 1
    for k in range(1, steps + 1):
        x = AttitudeState(motion.q_IB[k], motion.w_B[k])
        belief = mekf.predict(belief, np.zeros(3), 1.0 / rate_hz)
        for env in WORLDS:
            measurement = SENSOR.measure(x, env, rng.standard_normal((trials, 3)))
            belief, _ = mekf.update(belief, SENSOR, measurement, env)
        if k > steps / 2:
            squares.append(quaternion.angle_between(mekf.state(belief).q_IB, x.q_IB) ** 2)
    return float(np.degrees(np.sqrt(np.mean(squares))))
