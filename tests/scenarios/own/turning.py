"""Parts of a craft that turns as a user would write them: an actuator, guidance, a magnetic law, a sensor."""

import numpy as np

from tests.scenarios.own.parts import to_body


class Vanes:
    """Three vanes, each pushing about one body axis, within a limit."""

    def __init__(self, limit_Nm=0.2):
        self.limit = limit_Nm

    def apply(self, command, state, h):
        return np.clip(command, -self.limit, self.limit), state

    def share(self, wrench):
        return wrench[..., :3]


class Still:
    """Always the same attitude, at rest."""

    def __init__(self, q_IR=(1.0, 0.0, 0.0, 0.0)):
        self.q_IR = np.array(q_IR)

    def at(self, t):
        return self.q_IR, np.zeros(3), np.zeros(3)


class FieldBrake:
    """m = -k dB/dt / |B|^2, of the field as last measured."""

    demand, guided = "dipole", False

    def __init__(self, period_s, gain_Nms=6e-4):
        self.period, self.gain = period_s, gain_Nms

    def start(self, shape):
        return np.full((*shape, 3), np.nan)

    def command(self, estimate, reference, memory):
        B = estimate.B_B
        dipole = -self.gain * (B - memory) / self.period / np.sum(B * B, axis=-1, keepdims=True)
        return np.where(np.isfinite(dipole), dipole, 0.0), B


class Beacon:
    """The direction to something that stands still in inertial space, body axes."""

    noise_size, bias_size = 3, 0
    H_bias = np.zeros((3, 0))

    def __init__(self, rate_hz, r_I=(0.0, 0.6, 0.8), sigma_deg=0.5):
        self.rate_hz, self.r_I, self.sigma = rate_hz, np.array(r_I), np.radians(sigma_deg)

    def measure(self, truth, env, noise):
        z = to_body(truth.q_IB, np.broadcast_to(self.r_I, truth.q_IB[..., 1:].shape)) + self.sigma * noise
        return z, np.isfinite(z).all(axis=-1)

    def predict(self, x, env):
        z = to_body(x.q_IB, np.broadcast_to(self.r_I, x.q_IB[..., 1:].shape))
        H = np.zeros((*z.shape[:-1], 3, 6))
        H[..., 0, 1], H[..., 0, 2], H[..., 1, 2] = -z[..., 2], z[..., 1], -z[..., 0]
        H[..., 1, 0], H[..., 2, 0], H[..., 2, 1] = z[..., 2], -z[..., 1], z[..., 0]
        return z, H, self.sigma**2 * np.eye(3)

    def residual(self, z, z_predicted):
        return z - z_predicted
