"""A tumbling target and a camera: the setup of the tests of the pose filter."""

import dataclasses

import numpy as np

from gnc import dual_quaternion as dq
from gnc import noise, spatial
from gnc.estimators import consistency
from gnc.estimators.cramer_rao import pose_flow
from gnc.models.pose_body import PoseState
from gnc.models.sensors import Measurement, Prediction, RelativePose

# The target of the rendezvous: its frame at the port, tumbling at 3 deg/s; pose to 1 cm and 0.5 deg
R_G, J_COM = np.array([-1.0, 0.2, -0.1]), np.array([[120.0, 6, -4], [6, 90, 5], [-4, 5, 60]])
M = spatial.inertia(200.0, R_G, J_COM)
W_0 = np.radians(3.0) * np.array([1.0, -1.2, 0.8]) / np.linalg.norm([1.0, -1.2, 0.8])
START = PoseState(dq.from_pose([1.0, 0, 0, 0], [0, 0, 5.0]), np.r_[W_0, np.cross(R_G, W_0)])
SIGMA = np.r_[np.full(3, np.radians(0.5)), np.full(3, 0.01)]
C_0 = np.diag(np.r_[SIGMA, np.full(3, np.radians(0.5)), np.full(3, 0.02)] ** 2)
CAMERA = RelativePose(rate_hz=1.0, sigma_m=0.01, sigma_fraction=0.0, near_m=100.0, far_m=1000.0)
FREE = np.zeros(6)


@dataclasses.dataclass(frozen=True)
class Velocity:
    """A sensor of a user: the velocity of the reference point in body axes."""

    sigma: float = 0.002
    bias_size: int = 3

    @property
    def H_bias(self):
        return np.eye(3)

    def measure(self, truth, env, noise, bias=0.0):
        return Measurement(truth.chi_B[..., 3:] + bias + self.sigma * noise, np.ones(noise.shape[:-1], bool))

    def predict(self, x, env, bias=0.0):
        H = np.concatenate([np.zeros((3, 9)), np.eye(3)], axis=1)
        return Prediction(x.chi_B[..., 3:] + bias, H, self.sigma**2 * np.eye(3))

    def residual(self, z, z_predicted):
        return z - z_predicted


def dispersed(seed, trials, x=START, C=C_0):
    """Estimates whose errors have the covariance C."""
    e = noise.normal(seed, trials, "start", 12) * np.sqrt(np.diag(C))
    return PoseState(dq.mul(x.dq_IB, dq.exp(-e[:, :6])), x.chi_B - e[:, 6:])


def errors(truth, belief):
    return np.concatenate([dq.log(dq.mul(dq.conj(belief.dq_IB), truth.dq_IB)), truth.chi_B - belief.chi_B], axis=-1)


def flight(x, duration, h, **options):
    """Return the truth at every h, by DOP853, and its exact F and Q."""
    flow = pose_flow(M, x, np.arange(round(duration / h) + 1) * h, **options)
    return [PoseState(y[:8], y[8:]) for y in flow.x], flow


def track(dqekf, truths, h, trials, seed=1, sensor=CAMERA, gated=False):
    """Fly the filter over measurements of all truths but the first; return errors, NEES, and the last belief."""
    belief, drawn = dqekf.start(dispersed(seed, trials), C_0), noise.normal(seed, trials, "camera", (len(truths), 8))
    e, nees = [], []
    for k, truth in enumerate(truths[1:]):
        belief = dqekf.predict(belief, FREE, h)
        belief, _ = dqekf.update(belief, sensor, sensor.measure(truth, None, drawn[:, k]), None, gated)
        e.append(errors(truth, belief))
        nees.append(consistency.nees(e[-1], belief.C))
    return np.array(e), np.array(nees), belief


def in_band(values, n, false_alarm=1e-3):
    """Tell whether the mean over trials, or over trials and time, is in the band that it leaves so rarely."""
    return bool(consistency.mean_band(n, values.shape[-1], 1.0 - false_alarm).holds(values.mean()))


class Marker:
    """A camera that measures the pose of a frame at r_BQ on the body, with noise of a given covariance there."""

    def __init__(self, r_BQ, R):
        self.dq_BQ, self.R = dq.from_pose([1.0, 0, 0, 0], r_BQ), R

    def predict(self, x, env):
        H = np.concatenate([dq.adjoint(dq.conj(self.dq_BQ)), np.zeros((6, 6))], axis=1)
        return Prediction(dq.mul(x.dq_IB, self.dq_BQ), H, self.R)

    def residual(self, z, z_predicted):
        return dq.log(dq.mul(dq.conj(z_predicted), z))
