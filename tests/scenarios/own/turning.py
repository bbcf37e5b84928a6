"""Parts of a craft that turns as a user would write them: an actuator, guidance, a magnetic law, a sensor."""

import numpy as np

from tests.scenarios.own.parts import HorizonSensor


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


class Beacon(HorizonSensor):
    """The direction to something that stands still in inertial space, body axes."""

    def __init__(self, rate_hz, r_I=(0.0, 0.6, 0.8), sigma_deg=0.5):
        super().__init__(sigma_deg)
        self.rate_hz, self.r_I = rate_hz, np.array(r_I)

    def _nadir(self, env):
        return self.r_I
