"""The gyro-driven MEKF as a part of a mission: no model of the body, the gyro tells how it turns.

Over an interval the rate is the mean of the samples at its ends, so that attitude does not lag while a slew
accelerates. The belief therefore waits for the sample: `predict` only notes the time that has passed, the sample moves
attitude and covariance over it. Where another sensor measures, or a command is given, between two samples, the last
rate bridges the time since, and the sample makes up for what it was off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import batched, sized, where
from gnc.config import NonNegative
from gnc.errors import InputError
from gnc.estimators import consistency
from gnc.estimators.extra_states import sensor_biases
from gnc.estimators.gyro_mekf import GyroBelief, GyroMekf
from gnc.estimators.navigation.attitude import (
    HONESTY,
    SIGNALS,
    SLIGHT,
    AttitudeKnowledge,
    AttitudeNavigation,
    diagonal,
    sigma3_deg,
    started,
    turn_deg,
)
from gnc.estimators.navigation.base import Estimate, Navigation, NavigationPart
from gnc.estimators.navigation.mekf import Probability
from gnc.history import Signal
from gnc.linalg import block, zeros
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.models.sensors import Gyro, Measurement
from gnc.models.states import AttitudeState
from gnc.typing import Array

LARGEST = 10.0  # times what sections state: as far as a filter that has to recover doubts biases

NEES = Signal("1", "normalised error squared of the attitude", nominal=3.0)


class Driven(NamedTuple):
    """What a gyro-driven filter believes, and since when it waits for a sample."""

    mekf: GyroBelief
    waiting_s: Array  # (trials,) time since the last sample, or since the last bridge
    bridged_s: Array  # (trials,) time since the last sample that was bridged; below 0: there was no sample yet


@dataclass(frozen=True, eq=False)
class GyroFilter:
    """A `GyroMekf` that starts from attitude and rate, as filters on the dynamics do."""

    mekf: GyroMekf
    C_biases: Array  # covariance of the biases before the flight

    def start(self, x: AttitudeState, C: Array, rho_B: Any = None) -> Driven:
        """Return the belief at an attitude; the first sample tells the rate."""
        q_IB, w_B, whole = _begun(self.mekf.size)(x.q_IB, x.w_B, C, self.C_biases)
        none, zero = 0.0 * w_B, 0.0 * w_B[..., 0]
        return Driven(GyroBelief(q_IB, w_B, none, 0.0 * whole[..., 0, 6:], whole, zero, zero), zero, zero - 1.0)

    def state(self, belief: Driven) -> AttitudeState:
        """Return attitude and rate, the last rate held since the last sample."""
        return AttitudeState(_turned(belief.mekf.q_IB, belief.mekf.w_B, belief.waiting_s), belief.mekf.w_B)

    def sampled(self, belief: Driven, measurement: Any) -> Driven:
        """Move over the time since the last sample, at the mean of its rate and that of this one."""
        z, valid, gyro = measurement[0], measurement[1], self.mekf.gyro
        mean, ahead, bridged_s = _mean(self._last(belief), z, valid, belief.waiting_s, belief.bridged_s)
        moved = self.mekf.predict(belief.mekf, Measurement(mean, valid), belief.waiting_s)
        w_B = moved.w_B + gyro.in_body(ahead, 0.0 * ahead)
        return Driven(moved._replace(w_B=w_B), 0.0 * belief.waiting_s, bridged_s)

    def bridged(self, belief: Driven) -> Driven:
        """Move over the time since the last sample, at its rate."""
        held = Measurement(self._last(belief), 1.0 + 0.0 * belief.waiting_s)
        moved = self.mekf.predict(belief.mekf, held, belief.waiting_s)
        return Driven(moved, 0.0 * belief.waiting_s, _bridged(belief.waiting_s, belief.bridged_s))

    def _last(self, belief: Driven) -> Array:
        """Return the last sample, or what a gyro would say that goes on as before."""
        return self.mekf.gyro.predict(belief.mekf, bias=belief.mekf.bias).z


@dataclass(frozen=True, eq=False)
class GyroNavigation(AttitudeNavigation):
    """A filter whose prediction is the gyro."""

    gyro: str = ""  # name of the one that drives it

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What is told of belief and truth."""
        return {**SIGNALS, **HONESTY, "nees": NEES}

    def predict(self, belief: Driven, command: tuple[Array, ...], report: Report, t: Any, h: Any) -> Driven:
        """Wait for the sample of the end."""
        return belief._replace(waiting_s=belief.waiting_s + h)

    def update(self, belief: Driven, name: str, measurement: Any, t: Any) -> tuple[Driven, Any]:
        """Move by a sample of the gyro, correct with a measurement of any other sensor."""
        if name == self.gyro:
            return self.filter.sampled(belief, measurement), None
        now, sensor = self.filter.bridged(belief), self.known.sensors[name]
        gated = t >= self.ungated_s
        moved, made = self.filter.mekf.update(now.mekf, sensor, measurement, self.known.sky.at(t), gated=gated)
        return now._replace(mekf=moved), made

    def estimate(self, belief: Driven, report: Report) -> Estimate:
        """Return attitude and rate."""
        q_IB, w_B = self.filter.state(belief)
        return Estimate(q_IB, w_B, report.rho_B, None, None)

    def observe(self, belief: Driven, truth: Any, t: float) -> Mapping[str, Array]:
        """Return errors, and what the filter believes of them."""
        q_IB, w_B = self.filter.state(belief)
        off, C = turn_deg(q_IB, truth.q_IB), belief.mekf.C[..., :3, :3]
        return {
            "knowledge_error_deg": off,
            "rate_error_deg_s": np.degrees(truth.w_B - w_B),
            "nees": consistency.nees(np.radians(off), C),
            "sigma_deg": sigma3_deg(C),
            "recoveries": belief.mekf.recoveries,
        }


@sized(lambda n: f"(4),(3),(6,6),({n - 3},{n - 3})->(4),(3),({n},{n})")
def _begun(q_IB, w_B, C, C_biases, *, n):
    """Return attitude, rate, and the covariance of attitude and biases."""
    none = zeros(3, n - 3)
    return q_IB, w_B, block([[C[:3, :3], none], [none.T, C_biases]])


@batched("(),()->()")
def _bridged(waiting_s, bridged_s):
    """Return the time that is bridged after a further bridge."""
    return where(bridged_s < 0.0, bridged_s, bridged_s + waiting_s)


@batched("(3),(3),(),(),()->(3),(3),()")
def _mean(before, z, valid, waiting_s, bridged_s):
    """Return the sample for what is left of an interval, by how much the last one is ahead, and what is bridged.

    Over the whole interval the mean of both counts, of which the first part was bridged by the sample before:
    (before + z)/2 (bridged + waiting) = before bridged + mean waiting. The first sample of all stands for itself.
    """
    half = 0.5 * (z - before)
    share = where(waiting_s > 0.0, bridged_s / where(waiting_s > 0.0, waiting_s, 1.0), 0.0)
    off = where(bridged_s < 0.0, 0.0, (1.0 - share) * half)
    return z - off, where(valid > 0.0, off, 0.0), where((valid > 0.0) | (bridged_s >= 0.0), 0.0, bridged_s)


@batched("(4),(3),()->(4)")
def _turned(q_IB, w_B, h):
    """Return the attitude after h at a rate that stays."""
    return quaternion.mul(q_IB, quaternion.exp(h * w_B))


class GyroMekfPart(NavigationPart):
    """A multiplicative EKF driven by a gyro, whose bias it estimates; it knows no dynamics.

    Biases and misalignments of sensors are states, known as well as their sections say.
    """

    kind: Literal["gyro-mekf"] = "gyro-mekf"
    gyro: str = ""
    """The gyro that drives it; may be left out where there is one only."""
    gate_probability: Probability = 0.999
    """With which a good measurement passes; 1 lets all in."""
    ungated_s: NonNegative = 120.0
    """All measurements are let in until then, while attitude and biases are acquired."""
    start: AttitudeKnowledge = AttitudeKnowledge()

    def build(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return the filter in the loop and what it believes at time zero."""
        gyros = [name for name, sensor in known.sensors.items() if isinstance(sensor, Gyro)]
        if not gyros or (self.gyro or gyros[0]) not in gyros or (len(gyros) > 1 and not self.gyro):
            raise InputError(f"gyro = {self.gyro!r}: give the name of one gyro; there are {', '.join(gyros) or 'none'}")
        name = self.gyro or gyros[0]
        gyro: Any = known.sensors[name]
        extras = sensor_biases({key: one for key, one in known.sensors.items() if not isinstance(one, Gyro)})
        sigmas = [max(float(s), SLIGHT) for bias in extras for s in np.broadcast_to(bias.sigma, bias.size)]
        largest = [1.0, 1e-3, *(LARGEST * np.array(sigmas))]
        how: dict[str, Any] = {"largest_sigma": largest, "gate_probability": self.gate_probability}
        mekf, sigmas = GyroMekf(gyro=gyro, extras=tuple(extras), **how), [gyro.bias_sigma] * 3 + sigmas
        given = known, start, truth, reference
        filter_ = GyroFilter(mekf, diagonal(sigmas, least=0.0))
        return started(filter_, self.start, given, {}, kind=GyroNavigation, gyro=name, ungated_s=self.ungated_s)
