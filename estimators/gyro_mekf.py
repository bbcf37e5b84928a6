"""Multiplicative EKF driven by a gyro, whose bias it estimates.

    q' = q w/2,   w = D^-1 (z - b),   b' = noise;      error (a, db), q = q^ exp(a/2), b = b^ + db
    a' = -w^ x a - D^-1 (db + noise)

No model of the body's dynamics is needed. The rate of a sample is held for its h, so the quaternion moves exactly by
exp(h w) and the covariance by the closed-form transition matrix

    Phi = [[R(h w)^T, -h Jr(h w) D^-1], [0, 1]]          Jr: right Jacobian of SO(3)

Source: Lefferts, Markley and Shuster, J. Guidance, Control, and Dynamics 5 (1982) 417; Farrenkopf, J. Guidance and
Control 1 (1978) 282 for the process noise.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check, lie, quaternion
from gnc.batch import batched, maximum, sized, where
from gnc.errors import InputError
from gnc.estimators.augmentation import Augmentation
from gnc.estimators.corrections import FORGIVEN
from gnc.estimators.extra_states import SensorBias
from gnc.estimators.kalman import Innovation, gate, grow_kernel, symmetric_product, update_kernel
from gnc.linalg import block, identity, inv3, zeros
from gnc.models.parameters import between
from gnc.models.sensors import Gyro, Measurement, Prediction
from gnc.models.states import AttitudeState
from gnc.notebook import of_belief

Array = Any

ZERO = (0.0, 0.0, 0.0)


class GyroBelief(NamedTuple):
    """What the filter believes; a state that sensors can predict from."""

    q_IB: Array  # (..., 4)
    w_B: Array  # (..., 3) the last sample, freed of its bias [rad/s]
    bias: Array  # (..., 3) of the gyro, sensor axes [rad/s]
    extras: Array  # (..., k) the extra states, one after the other
    C: Array  # (..., n, n) covariance of (a, d bias, d extras)
    rejected: Array  # (...) count of measurements beyond the gate; negative: so many still pass freely
    recoveries: Array  # (...) how often that made the filter let its covariance grow

    def _repr_html_(self) -> str:
        return of_belief(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class GyroMekf:
    """Attitude and gyro bias from gyro samples and any attitude sensors; 6 states, and biases of those sensors.

    Recovery: a rejection counts 1, a measurement that is let in takes back 1/2, so that an attitude which one of two
    sensors contradicts is found out too. From `patience` on, all standard deviations grow by `inflation`, each up to
    its own of `largest_sigma`, and as many measurements pass without a gate, again and again until they fit. (Without
    passing none would: the covariance says nothing along a measured vector, where large errors show.) A gyro that
    drops out is bridged by its last rate, which is then trusted to coast_sigma only.
    """

    gyro: Gyro  # as the filter believes it to be: D_SB, arw, bias_walk
    extras: tuple[SensorBias, ...] = ()  # biases and tilts of the other sensors
    gate_probability: float = 0.999
    patience: int = 8
    inflation: float = 10.0
    largest_sigma: Array = (1.0, 1e-3, 1e-5)  # attitude, bias [rad, rad/s], and of extras one, or each its own
    coast_sigma: float = 0.01  # [rad/s]
    _extra: Augmentation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_extra", Augmentation(tuple(self.extras)))
        check.non_negative("coast_sigma", self.coast_sigma)
        between("gate_probability", self.gate_probability, 0.0, 1.0)
        check.positive("patience", self.patience)
        check.positive("inflation", self.inflation)
        check.positive("largest_sigma", self.largest_sigma)

    @property
    def size(self) -> int:
        """How many errors the covariance is of."""
        return 6 + self._extra.size

    def start(self, q_IB: Array, C: Array, bias: Array = ZERO) -> GyroBelief:
        """Return the belief before the first sample."""
        q_IB, C = check.unit_quaternion("q_IB", q_IB), check.covariance("C", C, self.size)
        bias = check.vector("bias", bias, 3)
        lead = np.broadcast_shapes(q_IB.shape[:-1], C.shape[:-2], bias.shape[:-1])
        extras = np.zeros(self._extra.size)
        q_IB, w_B, bias, extras = (np.broadcast_to(v, (*lead, v.shape[-1])) for v in (q_IB, np.zeros(3), bias, extras))
        C = np.broadcast_to(C, lead + C.shape[-2:])
        return GyroBelief(q_IB, w_B, bias, extras, C, np.zeros(lead), np.zeros(lead))

    def predict(self, belief: GyroBelief, measurement: Measurement, h: Array) -> GyroBelief:
        """Move over h, the time between gyro samples, at the rate of this sample."""
        gyro, walk = self.gyro, np.append(np.zeros(6), self._extra.walk)
        state = belief.q_IB, belief.w_B, belief.C, measurement.z, measurement.valid, belief.bias
        noise = gyro.arw, gyro.bias_walk, walk, self.coast_sigma
        q_IB, w_B, C = _predict_kernel(self.size)(*state, gyro.D_SB, *noise, h)
        return belief._replace(q_IB=q_IB, w_B=w_B, C=C)

    def transition(self, after: GyroBelief, h: Array) -> Array:
        """Return F (..., n, n) of the prediction over h that led to a belief."""
        return _transition_kernel(self.size)(after.w_B, self.gyro.D_SB, h)

    def state(self, belief: GyroBelief) -> AttitudeState:
        """Return attitude and rate."""
        return AttitudeState(belief.q_IB, belief.w_B)

    def update(
        self, belief: GyroBelief, sensor: Any, measurement: Measurement, env: Any = None, gated: bool = True
    ) -> tuple[GyroBelief, Innovation]:
        """Use a measurement of any sensor of attitude; one that is not valid, or beyond the gate, changes no state."""
        z, H, R = self._expect(belief, sensor, env)
        y, n, m, valid = sensor.residual(measurement.z, z), self.size, H.shape[-2], measurement.valid
        limit = _limit(belief.rejected, gate(self.gate_probability, m) if gated else np.inf)
        d, C, S, nis, used = update_kernel(n, m)(belief.C, H, R, y, valid, limit)
        moved = _correct_kernel(n)(belief.q_IB, belief.w_B, belief.bias, C, d, self.gyro.D_SB)
        belief = belief._replace(**dict(zip(_STATE, moved, strict=True)))
        if self.extras:
            belief = belief._replace(extras=belief.extras + d[..., 6:])
        return self._watch(belief, used, valid), Innovation(y, S, nis, used != 0.0)

    def _expect(self, belief: GyroBelief, sensor: Any, env: Any) -> Prediction:
        """Return z, H and R of a sensor, H over this filter's errors."""
        if isinstance(sensor, Gyro):
            raise InputError("sensor: a gyro drives this filter: give its measurements to predict")
        z, by_rate, R = self._extra.expect(sensor, belief, env, belief.extras)
        H = np.zeros((*by_rate.shape[:-1], self.size), by_rate.dtype)
        H[..., :3] = by_rate[..., :3]
        if by_rate.shape[-1] > 6:
            H[..., 6:] = by_rate[..., 6:]
        return Prediction(z, H, R)

    def _watch(self, belief: GyroBelief, used: Array, valid: Array) -> GyroBelief:
        """Count rejections, and let the covariance grow where there were too many."""
        own = np.broadcast_to(self.largest_sigma[2:], self._extra.size)
        largest, limits = np.append(np.repeat(self.largest_sigma[:2], 3), own), (float(self.patience), self.inflation)
        counts = belief.rejected, belief.recoveries, used, valid
        C, rejected, recoveries = _watch_kernel(self.size)(belief.C, *counts, *limits, largest)
        return belief._replace(C=C, rejected=rejected, recoveries=recoveries)


_STATE = ("q_IB", "w_B", "bias", "C")
_GAUSS = tuple(0.5 + side / math.sqrt(12.0) for side in (-1.0, 1.0))  # two points, weights 1/2


def _noise(w_B, D_inverse, h, arw, bias_walk):
    """Return the covariance of (a, db) that the gyro's noise adds within h.

    Q = integral of G(s) diag(arw^2, walk^2) G(s)^T, G = [[-R(s w)^T D^-1, -s Jr(s w) D^-1], [0, 1]], by two Gauss
    points: positive always, Farrenkopf's where the body does not turn, and else off by (|w| h)^2/720 of the walk's
    share in a.
    """
    Q = zeros(6, 6)
    for c in _GAUSS:
        turn = (c * h) * w_B
        by_white = lie.so3_exp(-turn) @ D_inverse
        by_walk = block([[(-c * h) * (lie.so3_right_jacobian(turn) @ D_inverse)], [identity(3)]])
        white = block([[by_white @ by_white.T, zeros(3, 3)], [zeros(3, 6)]])
        Q = Q + (0.5 * h) * ((arw * arw) * white + (bias_walk * bias_walk) * (by_walk @ by_walk.T))
    return Q


def _transition(n, w_B, D_inverse, h):
    """Return Phi of n errors."""
    turn, Phi = h * w_B, identity(n)
    Phi[:3, :3], Phi[:3, 3:6] = lie.so3_exp(-turn), -h * (lie.so3_right_jacobian(turn) @ D_inverse)
    return Phi


@sized(lambda n: f"(3),(3,3),()->({n},{n})")
def _transition_kernel(w_B, D_SB, h, *, n):
    """Return the kernel of `transition` for n errors."""
    return _transition(n, w_B, inv3(D_SB), h)


@sized(lambda n: f"(4),(3),({n},{n}),(3),(),(3),(3,3),(),(),({n}),(),()->(4),(3),({n},{n})")
def _predict_kernel(q_IB, w_before, C, z, valid, bias, D_SB, arw, bias_walk, walk, coast_sigma, h, *, n):
    """Return the kernel of `predict` for n errors."""
    D_inverse = inv3(D_SB)
    w_B = where(valid > 0.0, D_inverse @ (z - bias), w_before)
    Phi, Q = _transition(n, w_B, D_inverse, h), zeros(n, n)
    for i in range(6, n):
        Q[i, i] = walk[i] * h
    Q[:6, :6] = _noise(w_B, D_inverse, h, arw, bias_walk)
    Q[:3, :3] = Q[:3, :3] + where(valid > 0.0, 0.0, (coast_sigma * h) ** 2) * identity(3)
    return quaternion.mul(q_IB, quaternion.exp(h * w_B)), w_B, symmetric_product(Phi, C) + Q


@sized(lambda n: f"(4),(3),(3),({n},{n}),({n}),(3,3)->(4),(3),(3),({n},{n})")
def _correct_kernel(q_IB, w_B, bias, C, d, D_SB, *, n):
    """Return the kernel that applies a correction d of n errors, and refers the covariance to the new attitude.

    q <- q exp(a/2), and what is left of the error is Jr(a) times it. Source: Markley, "Attitude Error Representations
    for Kalman Filtering", J. Guidance, Control, and Dynamics 26 (2003) 311.
    """
    reset = identity(n)
    reset[:3, :3] = lie.so3_right_jacobian(d[:3])
    q_IB = quaternion.normalize(quaternion.mul(q_IB, quaternion.exp(d[:3])))
    return q_IB, w_B - inv3(D_SB) @ d[3:6], bias + d[3:6], symmetric_product(reset, C)


@batched("(),()->()")
def _limit(rejected, limit):
    """Return the gate, which is open while measurements pass freely."""
    return where(rejected < 0.0, np.inf, limit)


@sized(lambda n: f"({n},{n}),(),(),(),(),(),(),({n})->({n},{n}),(),()")
def _watch_kernel(C, rejected, recoveries, used, valid, patience, inflation, largest, *, n):
    """Return the kernel that counts rejections, and lets the covariance of n errors grow after too many."""
    forgiven = where(rejected < 0.0, rejected + 1.0, maximum(rejected - FORGIVEN, 0.0))
    counted = where(used > 0.0, forgiven, rejected + valid)
    doubt = counted >= patience
    grown = where(doubt, grow_kernel(n)(C, inflation, largest), C)
    return grown, where(doubt, -patience, counted), recoveries + where(doubt, 1.0, 0.0)
