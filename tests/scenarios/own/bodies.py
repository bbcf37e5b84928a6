"""A plant, an actuator, a sensor, guidance, laws and filters as a user would write them for craft of any kind."""

from typing import NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.controllers.reference import AttitudeReference, PoseReference
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.mekf import Mekf
from gnc.history import Signal
from gnc.models.sensors import Prediction


class Motion(NamedTuple):
    dq_IB: np.ndarray
    chi_B: np.ndarray
    fuel: np.ndarray  # an inner life of its own


class Plant:
    """A rigid body by a simple rule, on a path of its own; it counts the impulse that it was given."""

    signals = {"fuel_Ns": Signal("N s", "impulse of all forces so far")}

    def __init__(self, trials, J, draws, reference, mass=10.0, off_deg=1.0):
        self.J, self.mass = J, mass or 10.0
        wanted = np.broadcast_to(reference[0], (trials, np.shape(reference[0])[-1]))
        pose = wanted if wanted.shape[-1] == 8 else dual_quaternion.from_pose(wanted, np.zeros((trials, 3)))
        off = np.concatenate([draws.vector("off", np.radians(off_deg)), np.zeros((trials, 3))], axis=-1)
        rate = np.broadcast_to(reference[1][..., :3], (trials, 3))
        chi_B = np.concatenate([rate, np.zeros((trials, 3))], axis=-1)
        self.first = Motion(dual_quaternion.mul(pose, dual_quaternion.exp(off)), chi_B, np.zeros(trials))

    def start(self):
        return self.first

    def step(self, x, wrench_B, t, h):
        q, r = dual_quaternion.to_pose(x.dq_IB)
        w, v_I = x.chi_B[:, :3], quaternion.rotate(q, x.chi_B[:, 3:])
        torque = wrench_B[:, :3] - np.cross(w, w @ self.J)
        w = w + h * np.linalg.solve(self.J, torque[..., None])[..., 0]
        v_I = v_I + h / self.mass * quaternion.rotate(q, wrench_B[:, 3:])
        q, r = quaternion.mul(q, quaternion.exp(h * w)), r + h * v_I
        chi_B = np.concatenate([w, quaternion.inverse_rotate(q, v_I)], axis=-1)
        fuel = x.fuel + h * np.sqrt(np.sum(wrench_B[:, 3:] ** 2, axis=-1))
        return Motion(dual_quaternion.from_pose(q, r), chi_B, fuel)

    def report(self, x):
        return {"flag": (x.fuel > 1e9) * 1.0}

    def observe(self, x, t):
        return {"fuel_Ns": x.fuel}


class Jets:
    """Makes a little less than it is asked for, torque and force."""

    signals = {"asked": Signal("1", "size of the command")}

    def apply(self, command, state, h):
        return 0.97 * command, state

    def share(self, wrench_B):
        return np.clip(wrench_B, -20.0, 20.0)

    def observe(self, command, state):
        return {"asked": np.sqrt(np.sum(command**2, axis=-1))}


class Tracker:
    """The attitude, with noise."""

    latency_s, noise_size, bias_size, H_bias = 0.0, 3, 0, np.zeros((3, 0))

    def __init__(self, rate_hz, sigma_deg=0.02):
        self.rate_hz, self.sigma = rate_hz, np.radians(sigma_deg)

    def _attitude(self, x):
        return x.dq_IB[..., :4] if hasattr(x, "dq_IB") else x.q_IB

    def measure(self, truth, env, noise):
        z = quaternion.mul(self._attitude(truth), quaternion.exp(self.sigma * noise))
        return z, np.ones(z.shape[:-1], bool)

    def predict(self, x, env):
        z = self._attitude(x)
        H = np.zeros((3, 12 if hasattr(x, "dq_IB") else 6))
        H[:, :3] = np.eye(3)
        return Prediction(z, H, self.sigma**2 * np.eye(3))

    def residual(self, z, z_predicted):
        return quaternion.log(quaternion.mul(quaternion.conj(z_predicted), z))


class Upright:
    """What the craft says is upright."""

    def start(self, estimate, report):
        return ()

    def first(self, report):
        return AttitudeReference(report.q_IU)

    def guide(self, t, estimate, report, memory):
        return AttitudeReference(report.q_IU), memory


class Station:
    """A pose, always."""

    wanted = 8

    def __init__(self, place=(0.0, 0.0, 0.0)):
        self.pose = dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), np.array(place))

    def at(self, t):
        return PoseReference(self.pose)


class Spring:
    """Springs and dampers between the craft and its reference; joints are kept where they were at the start."""

    def __init__(self, known, stiffness=1.0, damping=2.0):
        self.M, tree = known.nominal.M, known.nominal.tree
        self.J, self.k, self.d, self.joints = known.J, stiffness, damping, 0 if tree is None else tree.freedoms

    def command(self, estimate, reference, memory):
        q_IR = reference[0][..., :4]
        turn = quaternion.log(quaternion.mul(quaternion.conj(q_IR), estimate.q_IB))
        torque = -(self.k * turn + self.d * estimate.w_B) @ self.J
        if not hasattr(estimate, "dq_IB"):
            return torque, memory
        (q, r), r_R = dual_quaternion.to_pose(estimate.dq_IB), dual_quaternion.to_pose(reference[0])[1]
        force = -self.M[3, 3] * (self.k * quaternion.inverse_rotate(q, r - r_R) + self.d * estimate.chi_B[..., 3:])
        efforts = np.zeros((len(torque), 0)) if not self.joints else -50.0 * estimate.joints.rate
        return np.concatenate([torque, force, efforts], axis=-1), memory


class MyMekf(Mekf):
    def __init__(self, J, psd=1e-5):
        super().__init__(J, torque_psd=psd)


class MyDqEkf(DqEkf):
    def __init__(self, M, psd=1e-3):
        super().__init__(M, wrench_psd=psd)
