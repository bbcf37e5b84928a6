"""A control law, a sensor and a filter as a user would write them: plain NumPy, any number of trials."""

from typing import NamedTuple

import numpy as np

from gnc.estimators.kalman import Innovation
from gnc.models.states import AttitudeState


def product(p, q):
    """Hamilton product, scalar first."""
    a, u, b, v = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    return np.concatenate([a * b - np.sum(u * v, -1, keepdims=True), a * v + b * u + np.cross(u, v)], axis=-1)


def conjugate(q):
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def to_body(q_IB, v_I):
    """Components of an inertial vector in body axes."""
    u = -q_IB[..., 1:]
    t = 2.0 * np.cross(u, v_I)
    return v_I + q_IB[..., :1] * t + np.cross(u, t)


class QuaternionFeedback:
    """tau = -kp qv - kd (w - w_reference)."""

    def __init__(self, J, stiffness=4e-3, damping=3e-2):
        self.kp, self.kd = stiffness, damping

    def start(self, shape):
        return ()

    def command(self, belief, reference, memory):
        q = product(conjugate(reference.q_IR), belief.q_IB)
        return -self.kp * np.sign(q[..., :1]) * q[..., 1:] - self.kd * (belief.w_B - reference.w_R), memory


class HorizonSensor:
    """The direction to the centre of the Earth, in body axes."""

    rate_hz, latency_s, noise_size, bias_size = 1.0, 0.0, 3, 0
    H_bias = np.zeros((3, 0))

    def __init__(self, sigma_deg=0.5):
        self.sigma = np.radians(sigma_deg)

    def measure(self, truth, env, noise):
        z = to_body(truth.q_IB, self._nadir(env)) + self.sigma * noise
        return z, np.isfinite(z).all(axis=-1)

    def predict(self, x, env):
        z = to_body(x.q_IB, self._nadir(env))
        H = np.zeros((*z.shape[:-1], 3, 6))
        H[..., 0, 1], H[..., 0, 2], H[..., 1, 2] = -z[..., 2], z[..., 1], -z[..., 0]
        H[..., 1, 0], H[..., 2, 0], H[..., 2, 1] = z[..., 2], -z[..., 1], z[..., 0]
        return z, H, self.sigma**2 * np.eye(3)

    def residual(self, z, z_predicted):
        return z - z_predicted

    def _nadir(self, env):
        return -env.r_I / np.linalg.norm(env.r_I, axis=-1, keepdims=True)


class Belief(NamedTuple):
    """Attitude, total momentum in inertial axes, momentum of the wheels in body axes."""

    q_IB: np.ndarray
    H_I: np.ndarray
    rho_B: np.ndarray


def turned(q_IB, a_B):
    q = product(q_IB, np.concatenate([np.ones((*a_B.shape[:-1], 1)), 0.5 * a_B], axis=-1))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


class Complementary:
    """Keep the total momentum, turn at the rate it gives, and turn the estimate towards every vector that is seen."""

    def __init__(self, J, gain=0.1, rate_gain=0.004):
        self.J, self.inverse, self.gain, self.rate_gain = J, np.linalg.inv(J), gain, rate_gain

    def start(self, x, C, rho_B):
        momentum = x.w_B @ self.J + rho_B
        return Belief(np.array(x.q_IB), to_body(conjugate(x.q_IB), momentum), rho_B)

    def state(self, belief):
        return AttitudeState(belief.q_IB, (to_body(belief.q_IB, belief.H_I) - belief.rho_B) @ self.inverse)

    def predict(self, belief, tau_B, h, rho_B=None, env=None):
        mean = belief._replace(rho_B=0.5 * (belief.rho_B + rho_B))
        return Belief(turned(belief.q_IB, h * self.state(mean).w_B), belief.H_I, rho_B)

    def update(self, belief, sensor, measurement, env=None, gated=True):
        z, valid = measurement
        expected = sensor.predict(self.state(belief), env)[0]
        size = np.linalg.norm(expected, axis=-1, keepdims=True)
        a = np.where(valid[..., None], np.cross(z, expected) / size**2, 0.0)
        H_I = belief.H_I + to_body(conjugate(belief.q_IB), self.rate_gain * a @ self.J)
        S = np.broadcast_to(np.eye(3), (*a.shape[:-1], 3, 3))
        made = Innovation(z - expected, S, np.sum(a * a, axis=-1), valid)
        return Belief(turned(belief.q_IB, self.gain * a), H_I, belief.rho_B), made
