"""Parts for craft that turn and move as a user would write them: plain NumPy, any number of trials."""

from typing import NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.controllers.reference import PoseReference
from gnc.estimators.dqekf import DqEkf


class Springs:
    """A spring and a damper towards the reference, along and about each axis."""

    def __init__(self, M, frequency=0.3):
        J, m = np.trace(M[:3, :3]) / 3.0, M[3, 3]
        self.scale, self.w = np.repeat([J, m], 3), frequency

    def command(self, belief, reference, memory):
        between = dual_quaternion.mul(dual_quaternion.conj(reference.dq_IR), belief.dq_IB)
        q, r = dual_quaternion.to_pose(between)
        away = np.concatenate([quaternion.log(q), quaternion.inverse_rotate(q, r)], axis=-1)
        moving = belief.chi_B - dual_quaternion.transform_twist(dual_quaternion.conj(between), reference.chi_R)
        return -self.scale * (self.w**2 * away + 1.6 * self.w * moving), memory


class Jets:
    """Six loads, each along or about its axis, that can do 20 N and 2 N m."""

    limit = np.repeat([2.0, 20.0], 3)

    def apply(self, command, state, h):
        return np.clip(command, -self.limit, self.limit), state

    def share(self, wrench):
        return np.clip(wrench, -self.limit, self.limit)


class Lidar:
    """The target's origin from the own craft, own axes [m]."""

    latency_s, noise_size, bias_size = 0.0, 3, 0
    H_bias = np.zeros((3, 0))

    def __init__(self, rate_hz, sigma_m=0.02):
        self.rate_hz, self.sigma = rate_hz, sigma_m

    def _seen(self, target, own):
        return dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(own.dq_IB), target.dq_IB))

    def measure(self, truth, env, noise):
        z = self._seen(truth, env)[1] + self.sigma * noise
        return z, np.ones(z.shape[:-1], bool)

    def predict(self, x, env):
        q, r = self._seen(x, env)
        H = np.zeros((*r.shape[:-1], 3, 12))
        H[..., 3:6] = quaternion.to_matrix(q)
        return Expected(r, H, self.sigma**2 * np.eye(3))

    def residual(self, z, z_predicted):
        return z - z_predicted


class Expected(NamedTuple):
    z: np.ndarray
    H: np.ndarray
    R: np.ndarray


class Cautious:
    """A filter that doubts the camera more than it says."""

    def __init__(self, M):
        self._inner = DqEkf(M, wrench_psd=np.repeat([1e-6, 0.0], 3))

    def start(self, x, C):
        return self._inner.start(x, C)

    def state(self, belief):
        return self._inner.state(belief)

    def predict(self, belief, wrench_B, h):
        return self._inner.predict(belief, wrench_B, h)

    def update(self, belief, sensor, measurement, env=None, gated=True):
        return self._inner.update(belief, sensor, measurement, env, gated)


class Stay:
    """Stay where it was at the first reference."""

    wanted = 8

    def start(self, estimate, report):
        return np.array(estimate.dq_IB)

    def guide(self, t, estimate, report, memory):
        return PoseReference(memory), memory
