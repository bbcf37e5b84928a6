"""Multiplicative extended Kalman filter of the attitude, driven by the dynamics: the process model is an integrator.

The mean moves by the exact motion of the body, or by any attitude method of `gnc.integrators.table` that is asked for
(`process_model`), the covariance by the exact Jacobian of that step. State: attitude, total angular momentum, extra
states; wheels and control torque are known inputs, and a wheel torque moves no total momentum. Error state and
coordinates: `attitude_belief`.

    mekf = Mekf(J, torque_psd=1e-12)
    belief = mekf.start(AttitudeState(q_IB, w_B), C)              C over (a, dw)
    belief = mekf.predict(belief, tau_B, h)                       any h: measurements may come at any time
    belief, innovation = mekf.update(belief, sensor, sensor.measure(truth, env, noise), env)

Over long intervals from a bad start, `advance` does both halves better.

Source: QVI section IX for the variational process model; Lefferts, Markley and Shuster, J. Guidance 5 (1982) 417, and
Markley, J. Guidance 26 (2003) 311, for the multiplicative error.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc import check
from gnc.batch import as_numbers
from gnc.errors import InputError
from gnc.estimators import attitude_belief, relinearisation
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.augmentation import Augmentation
from gnc.estimators.conserved_chart import conserved_error, conserved_inertial_error
from gnc.estimators.extra_states import ExtraState
from gnc.estimators.kalman import Innovation, gate
from gnc.estimators.mekf_kernels import (
    augmented_kernel,
    correction_kernel,
    measuring_kernel,
    start_kernel,
    transition_kernel,
)
from gnc.estimators.process_model import FINER, Automatic, ByName, ProcessModel, middle
from gnc.estimators.process_noise import NOTHING, torque_noise
from gnc.integrators.composition import SUZUKI4, largest_stage
from gnc.integrators.substeps import count
from gnc.integrators.table import attitude_method
from gnc.models import rates
from gnc.models.parameters import between, store
from gnc.models.states import AttitudeState

Array = Any

NO_WHEELS = np.zeros(3)
UNIT = np.eye(3)


@dataclass(frozen=True, eq=False)
class Mekf:
    """The filter's parameters; `Belief` is its state.

    Recovery: once the gate has refused `patience` valid measurements (an accepted one makes up for half a refusal), the
    covariance of attitude and momentum is multiplied by `inflation`, but to no more than `widest`; `Belief.recoveries`
    counts that.
    """

    J: Array  # (..., 3, 3) of body and wheels together, body axes [kg m^2]
    method: str = "auto"  # or one of the attitude methods; `process` tells what it means
    torque_psd: Array = 0.0  # (..., 3, 3), or a number for all axes: of the unknown torque, body axes [N^2 m^2 s]
    extras: tuple[ExtraState, ...] = ()
    gate_probability: float = 0.999  # with which a good measurement passes; 1 lets all in
    patience: int = 8
    inflation: float = 100.0
    widest: tuple[float, float] = (1.0, 0.2)  # standard deviations [rad], [rad/s] up to which it is inflated
    substeps: bool = True  # False: one step of the method, whatever the angle
    allow_unphysical: bool = False  # for a J that is off: an estimate may break the triangle inequality
    _extra: Augmentation = field(init=False, repr=False)
    _noisy: bool = field(init=False, repr=False)
    _recovery: tuple[float, ...] = field(init=False, repr=False)
    process: ProcessModel = field(init=False, repr=False)  # what moves the belief; str(process) says how

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        psd = np.asarray(self.torque_psd, float)
        psd = check.covariance("torque_psd", psd * UNIT if psd.ndim == 0 else psd, 3)
        J = check.inertia("J", self.J, allow_unphysical=self.allow_unphysical)
        between("gate_probability", self.gate_probability, 0.0, 1.0)
        for name in ("patience", "inflation", "widest"):
            check.positive(name, getattr(self, name))
        store(self, J=J, torque_psd=psd, extras=tuple(self.extras), _noisy=bool(psd.any()))
        store(self, widest=tuple(map(float, self.widest)), _extra=Augmentation(self.extras))
        store(self, _recovery=(self.patience, self.inflation, *self.widest))
        store(self, process=self._chosen())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} states, method={self.method!r}: {self.process})"

    def _chosen(self) -> ProcessModel:
        """Return what moves the belief."""
        return Automatic(self.J) if self.method == "auto" else ByName(attitude_method(self.method), self.substeps)

    @property
    def conserved(self) -> bool:
        """Whether the chart keeps the constants of the motion linear: see `conserved_chart`."""
        return False

    @property
    def size(self) -> int:
        """How many numbers the error state has."""
        return 6 + self._extra.size

    # Start, and read

    def start(
        self, x: AttitudeState, C: Array, rho_B: Array = NO_WHEELS, extras: Array = (), C_extras: Array | None = None
    ) -> Belief:
        """Return the belief at a state, with its covariance over (a, dw) and that of the extra states beside it."""
        k = self._extra.size
        values = as_numbers(extras) if np.size(extras) else np.zeros(k)
        beside = np.zeros((k, k)) if C_extras is None else C_extras
        q_IB, w_B, rho_B, C, *more = start_kernel(k)(x.q_IB, x.w_B, rho_B, C, self.J, *((values, beside) if k else ()))
        values = more[0] if more else np.zeros((*np.shape(q_IB)[:-1], 0))
        J = self._extra.inertia(self.J, values)
        C = attitude_belief.from_rates(self.size)(C, J, self._by_momentum(w_B, values))
        zero = np.zeros(np.shape(q_IB)[:-1])
        return Belief(q_IB, rates.to_momentum(w_B, J, rho_B), rho_B, values, C, zero, zero.copy())

    def state(self, belief: Belief) -> AttitudeState:
        """Return attitude and rate."""
        return AttitudeState(belief.q_IB, rates.to_rate(belief.P_B, self.inertia(belief), belief.rho_B))

    def covariance(self, belief: Belief) -> Array:
        """Return the covariance of (a, dw, extras)."""
        M = self._by_momentum(self.state(belief).w_B, belief.extras)
        return attitude_belief.to_rates(self.size)(belief.C, self.inertia(belief), M)

    def error(self, belief: Belief, truth: AttitudeState, J: Array, rho_B: Array = NO_WHEELS) -> tuple[Array, Array]:
        """Return the error of the truth, a body of inertia J, in the filter's own chart, and its covariance: for NEES.

        Over long flights the second order counts: another chart than the filter's own finds it too sure.
        """
        P_true, C = rates.to_momentum(truth.w_B, J, rho_B), belief.C[..., :6, :6]
        if not self.conserved:
            return attitude_belief.inertial_error(belief.q_IB, belief.P_B, C, truth.q_IB, P_true)
        given = self.inertia(belief), belief.rho_B, truth.q_IB, P_true
        return conserved_error(belief.q_IB, belief.P_B, C, *given), C

    def inertial_error(
        self, belief: Belief, truth: AttitudeState, J: Array, rho_B: Array = NO_WHEELS
    ) -> tuple[Array, Array]:
        """Return the error (a, l), l of the inertial momentum, and its covariance by sigma points of the own chart."""
        if not self.conserved:
            return self.error(belief, truth, J, rho_B)
        given = self.inertia(belief), belief.rho_B, truth.q_IB, rates.to_momentum(truth.w_B, J, rho_B)
        return conserved_inertial_error(belief.q_IB, belief.P_B, belief.C[..., :6, :6], *given)

    def extra(self, belief: Belief, name: str) -> Array:
        """Return the estimate of one of the extra states."""
        return self._extra.value(belief.extras, name)

    def inertia(self, belief: Belief) -> Array:
        """Return J as the filter believes it is."""
        return self._extra.inertia(self.J, belief.extras) if self.extras else self.J

    def _by_momentum(self, w_B: Array, values: Array) -> Array:
        """Return M with dw = J^-1 M (dP, dextras)."""
        return self._extra.by_momentum(w_B, values) if self.extras else UNIT

    # Predict

    def predict(self, belief: Belief, tau_B: Array, h: Array, rho_B: Array | None = None, env: Any = None) -> Belief:
        """Move over h under a torque that is constant in body axes; rho_B is the wheels' momentum at the end.

        The wheels run up evenly between both ends. `env` is for torques that depend on it.
        """
        rho_end = belief.rho_B if rho_B is None else as_numbers(rho_B)
        if rho_end.shape != belief.rho_B.shape:
            rho_end = np.broadcast_to(rho_end, belief.rho_B.shape)
        if not self.process.wheels and np.any(middle(belief.rho_B, rho_end)):
            raise InputError(f"method: {self.method!r} is for bodies without wheels; use 'auto', 'vi4' or 'taylor'")
        if self.extras:
            return self._predict_with_extras(belief, tau_B, h, rho_end, env)
        q_IB, P_B, C = self.process.move(belief.q_IB, belief.P_B, belief.C, tau_B, self.J, belief.rho_B, rho_end, h)
        if self._noisy:
            C = C + self._torque_noise(belief.P_B, tau_B, self.J, middle(belief.rho_B, rho_end), h)
        return Belief(q_IB, P_B, rho_end, belief.extras, C, belief.rejected, belief.recoveries)

    def _torque_noise(self, P_B: Array, tau_B: Array, J: Array, rho: Array, h: Array) -> Array:
        return torque_noise(P_B, tau_B, J, rho, self.torque_psd, h) if self._noisy else NOTHING

    def _predict_with_extras(self, belief: Belief, tau_B: Array, h: Array, rho_end: Array, env: Any) -> Belief:
        """Kick by the estimated torques at both ends; the steady one and the inertia act in the step itself."""
        q_IB, P_B, given = self._kicked(belief, belief.C, tau_B, h, rho_end, env)
        C = augmented_kernel(self._extra.size)(belief.C, *given)
        return belief._replace(q_IB=q_IB, P_B=P_B, rho_B=rho_end, C=C)

    def _kicked(
        self, at: Belief, C: Array, tau_B: Array, h: Array, rho_end: Array, env: Any
    ) -> tuple[Array, Array, tuple[Array, ...]]:
        """Return attitude and momentum after h from a state, and what `augmented_kernel` needs beside C."""
        extra, values, J = self._extra, at.extras, self.inertia(at)
        tau_B, start = extra.torque(tau_B, values), extra.kick(at.q_IB, values, env)
        P_0 = rates.kick(at.P_B, start.tau_B, h)
        q_IB, P_1, F, G = self.process.gains(at.q_IB, P_0, C[..., :6, :6], tau_B, J, at.rho_B, rho_end, h)
        end, step = extra.kick(q_IB, values, env), (P_0, tau_B, J, middle(at.rho_B, rho_end), h)
        gains, kicks = extra.gains(values, G, step, self._stages), (start.T, start.D, end.T, end.D)
        given = F, self._torque_noise(*step), gains, *kicks, extra.walk, h
        return q_IB, rates.kick(P_1, end.tau_B, h), given

    def transition(
        self, at: Belief, C: Array, tau_B: Array, h: Array, rho_end: Array, env: Any
    ) -> tuple[Array, Array, Array, Array]:
        """Return attitude and momentum after h from a state that is known by C, and F and Q over all states."""
        if self.extras:
            q_IB, P_B, given = self._kicked(at, C, tau_B, h, rho_end, env)
            return q_IB, P_B, *transition_kernel(self._extra.size)(*given)
        q_IB, P_B, F = self.process.transition(at.q_IB, at.P_B, C, tau_B, self.J, at.rho_B, rho_end, h)
        return q_IB, P_B, F, self._torque_noise(at.P_B, tau_B, self.J, middle(at.rho_B, rho_end), h)

    def _stages(self, P_B: Array, tau_B: Array, J: Array, rho: Array, h: Array) -> tuple[Array, Sequence[float]]:
        """Return the substeps and stages by which the derivative for J is taken: those of 'vi2', or of 'vi4'."""
        stages = (1.0,) if self.method == "vi2" else SUZUKI4
        finer = FINER * largest_stage(stages)
        return (count(P_B, tau_B, J, rho, h, finer) if self.substeps else np.ones(())), stages

    def flown_again(self, end: Belief, tau_B: Array, h: Array) -> tuple[Array, ...]:
        """Return the attitude and momentum that lead to a belief in h, those they lead to, and F and Q between."""
        q_0, P_0, *_ = self.transition(end, end.C, tau_B, -np.asarray(h), end.rho_B, None)
        return q_0, P_0, *self.transition(end._replace(q_IB=q_0, P_B=P_0), end.C, tau_B, h, end.rho_B, None)

    # Update

    def update(
        self, belief: Belief, sensor: Any, measurement: Any, env: Any = None, gated: bool = True
    ) -> tuple[Belief, Innovation]:
        """Correct with a measurement (z, valid); trials where it is not valid stay as they are.

        `gated=False` lets all valid measurements in, as is right while a rate is still being acquired.
        """
        J, vector, valid = self.J, belief.P_B, as_numbers(measurement[1])
        if self.extras:
            J, vector = self.inertia(belief), np.concatenate([belief.P_B, belief.extras], axis=-1)
        state = belief.q_IB, vector, belief.C, belief.rejected, belief.recoveries, J, belief.rho_B
        probability = self.gate_probability if gated else 1.0
        if hasattr(sensor, "expected") and not self._extra.changes_rate and not self._extra.has_bias_of(sensor):
            kernel, arguments = sensor.expected(6, env)
            M = self._extra.by_momentum(None, belief.extras)
            limits = limits_of(probability, kernel.layout.outs[1][0], self._recovery)
            correct = measuring_kernel(kernel, self.size, self.conserved)
            *moved, y = correct(*state, M, *arguments, measurement[0], valid, limits)
        else:
            x = AttitudeState(belief.q_IB, rates.to_rate(belief.P_B, J, belief.rho_B))
            z_expected, H, R = self._extra.expect(sensor, x, env, belief.extras)
            y, limits = sensor.residual(measurement[0], z_expected), limits_of(probability, H.shape[-2], self._recovery)
            M = self._extra.by_momentum(x.w_B, belief.extras)
            moved = correction_kernel(self.size, *H.shape[-2:], self.conserved)(*state, M, H, R, y, valid, limits)
        q_IB, vector, C, rejected, recoveries, S, nis, used = moved
        P_B, extras = (vector[..., :3], vector[..., 3:]) if self.extras else (vector, belief.extras)
        belief = Belief(q_IB, P_B, belief.rho_B, extras, C, rejected, recoveries)
        return belief, Innovation(y, S, nis, used > 0.0)

    # Both, over long intervals

    def advance(
        self,
        belief: Belief,
        tau_B: Array,
        h: Array,
        readings: Sequence[tuple[Any, Any]],
        env: Any = None,
        iterations: int = 2,
        gated: bool = True,
    ) -> tuple[Belief, list[Innovation]]:
        """Predict over h and update with (sensor, measurement) pairs, the motion linearised again about the result.

        See `relinearisation`. Without extra states; the wheels keep their momentum.
        """
        if self.extras:
            raise InputError("extras: advance has none; use predict and update")
        return relinearisation.advance(self, belief, tau_B, h, readings, env, iterations, gated)


@functools.cache
def limits_of(probability: float, m: int, recovery: tuple[float, ...]) -> Array:
    """Return the numbers by which a measurement is refused and a trial recovers, as the kernel takes them."""
    return np.array([gate(probability, m), *recovery], float)
