"""The tumbling body of the sample-rate study, flown by SciPy, and filters run on its measurements."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from gnc import noise, quaternion
from gnc.estimators import consistency, initialise
from gnc.estimators.attitude_belief import Belief, inertial_error
from gnc.models.sensors.direction import VectorSensor
from gnc.models.sensors.interface import Measurement
from gnc.models.states import AttitudeState

Array = Any

J = np.diag([1.0, 2.0, 3.0])
W_0 = np.radians([4.0, -5.0, 6.0])
SIGMA = np.radians(1.0)
RATE_SIGMA = np.radians(0.5)
SENSORS = tuple(VectorSensor(rate_hz=1.0, r_I=r, sigma_deg=1.0) for r in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
NONE = np.zeros(3)


def flown(t: Array, inertia: Array = J, w_0: Array = W_0, torque: Any = None) -> AttitudeState:
    """The true motion at times t, by DOP853: (n, 4) and (n, 3); torque is a function of (t, q, w)."""

    def rate(time, y):
        q, w = y[:4], y[4:]
        tau = NONE if torque is None else torque(time, q, w)
        w_dot = np.linalg.solve(inertia, np.cross(inertia @ w, w) + tau)
        s, v = q[0], q[1:]
        return np.concatenate([[-0.5 * v @ w], 0.5 * (s * w + np.cross(v, w)), w_dot])

    y_0 = np.concatenate([[1.0, 0.0, 0.0, 0.0], w_0])
    y = solve_ivp(rate, (t[0], t[-1]), y_0, "DOP853", t, rtol=1e-12, atol=1e-13).y.T
    return AttitudeState(y[:, :4] / np.linalg.norm(y[:, :4], axis=1, keepdims=True), y[:, 4:])


@dataclass
class Run:
    """What a filter made of it, step by step (n, trials)."""

    a: Array  # (n, trials, 3) attitude error [rad]
    nees: Array
    nis: Array  # (n, trials, sensors)
    used: Array
    belief: Belief

    def rms_deg(self) -> float:
        """Over the second half."""
        return float(np.degrees(np.sqrt(np.mean(np.sum(self.a[len(self.a) // 2 :] ** 2, axis=-1)))))

    def each_rms_deg(self) -> Array:
        return np.degrees(np.sqrt(np.mean(np.sum(self.a[len(self.a) // 2 :] ** 2, axis=-1), axis=0)))

    def mean_nees(self) -> float:
        return float(self.nees[len(self.nees) // 2 :].mean())


def measured(
    x: AttitudeState, trials: int, seed: int, outliers: float = 0.0, dropouts: float = 0.0
) -> list[Measurement]:
    """Measurements (n, trials) of each sensor; outliers are unit vectors of any direction."""
    n, found = len(x.q_IB), []
    for i, sensor in enumerate(SENSORS):
        draw = [np.swapaxes(noise.normal(seed, trials, f"{what}{i}", (n, 3)), 0, 1) for what in ("noise", "wrong")]
        z, valid = sensor.measure(AttitudeState(x.q_IB[:, None], x.w_B[:, None]), None, draw[0])
        chance = np.swapaxes(noise.uniform(seed, trials, f"chance{i}", (n, 2)), 0, 1)
        wrong = draw[1] / np.linalg.norm(draw[1], axis=-1, keepdims=True)
        z = np.where((chance[..., 0] < outliers)[..., None], wrong, z)
        found.append(Measurement(z, valid & (chance[..., 1] >= dropouts)))
    return found


def begin(mekf: Any, x_0: AttitudeState, first: list[Measurement], trials: int, seed: int, **extras: Any) -> Belief:
    """Start by TRIAD, with a rate that is off by 0.5 deg/s per axis."""
    q_IB, C = initialise.triad(first[0].z, first[1].z, SENSORS[0].r_I, SENSORS[1].r_I, SIGMA, SIGMA)
    w_B = x_0.w_B + RATE_SIGMA * noise.normal(seed, trials, "rate", 3)
    return mekf.start(AttitudeState(q_IB, w_B), initialise.attitude_covariance(C, RATE_SIGMA), **extras)


def run(
    mekf: Any, hz: float, trials: int, seed: int = 1, duration: float = 300.0, belief: Any = None, **spoil: float
) -> Run:
    """Filter a free tumble; the truth has J, the filter what it believes."""
    t = np.arange(round(duration * hz) + 1) / hz
    x = flown(t)
    z = measured(x, trials, seed, **spoil)
    if belief is None:
        clean = [Measurement(m.z[0], m.valid[0]) for m in measured(x, trials, seed)]
        belief = begin(mekf, AttitudeState(x.q_IB[0], x.w_B[0]), clean, trials, seed)
    errors, nees, nis, used = [], [], [], []
    for k in range(1, len(t)):
        belief = mekf.predict(belief, NONE, 1.0 / hz)
        innovations = []
        for sensor, m in zip(SENSORS, z, strict=True):
            belief, innovation = mekf.update(belief, sensor, Measurement(m.z[k], m.valid[k]))
            innovations.append(innovation)
        e, C = inertial_error(belief.q_IB, belief.P_B, belief.C[..., :6, :6], x.q_IB[k], J @ x.w_B[k])
        errors.append(e[..., :3])
        nees.append(consistency.nees(e, C))
        nis.append(np.stack([i.nis for i in innovations], axis=-1))
        used.append(np.stack([i.used for i in innovations], axis=-1))
    return Run(np.array(errors), np.array(nees), np.array(nis), np.array(used), belief)


def attitude_error(q_IB: Array, q_true: Array) -> Array:
    return quaternion.log(quaternion.mul(quaternion.conj(q_IB), q_true))
