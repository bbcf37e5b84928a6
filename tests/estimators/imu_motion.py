"""A hand-held IMU: rest, turns and strokes about a place, rest; the truth is known in closed form."""

from typing import NamedTuple

import numpy as np

from gnc import quaternion

GRAVITY = 9.81
FIELD = np.array([0.0, 18.0, -40.0])  # [uT] in ENU
BIAS = np.radians([0.2, -0.1, 0.15])


class Motion(NamedTuple):
    rows: np.ndarray  # (n, 10) t, gyro, acc, mag
    q_IB: np.ndarray
    moves: np.ndarray  # bool
    dt: float


def envelope(t, start, end):
    """0 outside, 1 inside, with smooth edges of 1 s."""
    rise = lambda x: np.where(x <= 0, 0.0, np.where(x >= 1, 1.0, x * x * (3 - 2 * x)))  # noqa: E731
    return rise(t - start) * rise(end - t)


def motion(seed=0, duration=60.0, rate=200.0, delay_s=0.0, magnet_from=None, noisy=1.0, pace=1.0):
    """Return the log of a body that moves from 10 s to 10 s before the end."""
    rng, n, dt = np.random.default_rng(seed), int(duration * rate), 1.0 / rate
    t = np.arange(n + 1) * dt
    on = envelope(t, 10.0, duration - 10.0)
    angles = on[:, None] * (np.sin(np.outer(t, pace * np.array([1.3, 1.9, 0.7])) + [0.3, 1.0, 2.0]) * [0.8, 0.6, 1.5])
    place = on[:, None] * 0.15 * np.sin(np.outer(t, [2.1, 2.9, 3.4]) + [0.0, 0.7, 1.9])
    q = quaternion.from_euler321(angles)
    w = quaternion.log(quaternion.mul(quaternion.conj(q[:-1]), q[1:])) / dt  # the mean rate since the last sample
    a = np.gradient(np.gradient(place, dt, axis=0), dt, axis=0)[1:]
    q = q[1:]
    f = quaternion.inverse_rotate(q, a + [0.0, 0.0, GRAVITY])
    lag = quaternion.mul(q, quaternion.exp(-delay_s * w))
    m = quaternion.inverse_rotate(lag, np.broadcast_to(FIELD, (n, 3)))
    if magnet_from is not None:
        m = m + envelope(t[1:], magnet_from, 1e9)[:, None] * np.array([25.0, -10.0, 15.0])
    noise = noisy * np.concatenate([np.full(3, 2e-3), np.full(3, 0.05), np.full(3, 0.6)])
    z = np.concatenate([w + BIAS, f, m], axis=1) + noise * rng.standard_normal((n, 9))
    return Motion(np.concatenate([t[1:, None], z], axis=1), q, on[1:] > 0.5, dt)
