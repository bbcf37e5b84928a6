"""Multiplicative extended Kalman filter of the attitude, driven by the dynamics: the process model is an integrator.

The mean moves by any attitude method of `gnc.integrators.table`, in as many substeps as each trial needs, the
covariance by the exact Jacobian of that step. State: attitude, total angular momentum, extra states; wheels and control
torque are known inputs, and a wheel torque moves no total momentum. Error state and coordinates: `attitude_belief`.

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

from gnc import check, quaternion
from gnc.batch import Kernel, as_numbers
from gnc.errors import InputError
from gnc.estimators import attitude_belief, relinearisation
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.augmentation import Augmentation
from gnc.estimators.extra_states import ExtraState
from gnc.estimators.kalman import Innovation, gate, propagate_kernel
from gnc.estimators.mekf_kernels import (
    augmented_kernel,
    correction_kernel,
    measuring_kernel,
    moving_kernel,
    start_kernel,
)
from gnc.estimators.process_noise import NOTHING, torque_noise
from gnc.integrators.composition import SUZUKI4, largest_stage
from gnc.integrators.substeps import ANGLE, count, substepped
from gnc.integrators.table import AttitudeMethod, attitude_method
from gnc.models import rates
from gnc.models.parameters import between, store
from gnc.models.states import AttitudeState

Array = Any

NO_WHEELS = np.zeros(3)
UNIT = np.eye(3)
ONE = np.ones(())
FINER = 3.0  # substeps per substep of the motion alone: a filter without process noise sees its truncation error


@dataclass(frozen=True, eq=False)
class Mekf:
    """The filter's parameters; `Belief` is its state.

    Recovery: once the gate has refused `patience` valid measurements (an accepted one makes up for half a refusal), the
    covariance of attitude and momentum is multiplied by `inflation`, but to no more than `widest`; `Belief.recoveries`
    counts that.
    """

    J: Array  # (..., 3, 3) of body and wheels together, body axes [kg m^2]
    method: str = "vi4"
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
    _method: AttitudeMethod = field(init=False, repr=False)
    _longest: Array | None = field(init=False, repr=False)  # stage of a step, for the count of substeps; None: one step
    _jacobian: Any = field(init=False, repr=False)  # of one step of the method
    _move: Any = field(init=False, repr=False)  # the same in as many substeps as each trial needs

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
        self._choose(attitude_method(self.method))

    def _choose(self, method: AttitudeMethod) -> None:
        """Look up once what moves the mean and the covariance."""
        step, F_step, longest, move = method.step, method.step_jacobian, None, method.jacobian(False)
        if self.substeps and method.substep is not None and isinstance(step, Kernel) and isinstance(F_step, Kernel):
            longest = np.array(FINER * ANGLE / method.substep)
            move = substepped(step, F_step, float(longest))[1]
        store(self, _method=method, _longest=longest, _jacobian=F_step, _move=move)

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
        C = attitude_belief.from_rates(self.size)(C, J, self._by_momentum(w_B))
        zero = np.zeros(np.shape(q_IB)[:-1])
        return Belief(q_IB, rates.to_momentum(w_B, J, rho_B), rho_B, values, C, zero, zero.copy())

    def state(self, belief: Belief) -> AttitudeState:
        """Return attitude and rate."""
        return AttitudeState(belief.q_IB, rates.to_rate(belief.P_B, self.inertia(belief), belief.rho_B))

    def covariance(self, belief: Belief) -> Array:
        """Return the covariance of (a, dw, extras)."""
        M = self._by_momentum(self.state(belief).w_B)
        return attitude_belief.to_rates(self.size)(belief.C, self.inertia(belief), M)

    def extra(self, belief: Belief, name: str) -> Array:
        """Return the estimate of one of the extra states."""
        return self._extra.value(belief.extras, name)

    def inertia(self, belief: Belief) -> Array:
        """Return J as the filter believes it is."""
        return self._extra.inertia(self.J, belief.extras) if self.extras else self.J

    def _by_momentum(self, w_B: Array) -> Array:
        """Return M with dw = J^-1 M (dP, dextras)."""
        return self._extra.by_momentum(w_B) if self.extras else UNIT

    # Predict

    def predict(self, belief: Belief, tau_B: Array, h: Array, rho_B: Array | None = None, env: Any = None) -> Belief:
        """Move over h under a torque that is constant in body axes; rho_B is the wheels' momentum at the end.

        The wheels count with the mean of their momentum at both ends. `env` is for torques that depend on it.
        """
        rho_end = belief.rho_B if rho_B is None else as_numbers(rho_B)
        if rho_end.shape != belief.rho_B.shape:
            rho_end = np.broadcast_to(rho_end, belief.rho_B.shape)
        rho = belief.rho_B if rho_B is None else 0.5 * (belief.rho_B + rho_end)
        if not self._method.wheels and np.any(rho):
            raise InputError(f"method: {self.method!r} is for bodies without wheels; use 'vi4' or 'taylor'")
        if self.extras:
            return self._predict_with_extras(belief, tau_B, h, rho, rho_end, env)
        q_IB, P_B, C = self._moved(belief, tau_B, rho, h)
        if self._noisy:
            C = C + self._torque_noise(belief.P_B, tau_B, self.J, rho, h)
        return Belief(q_IB, P_B, rho_end, belief.extras, C, belief.rejected, belief.recoveries)

    def _moved(self, belief: Belief, tau_B: Array, rho: Array, h: Array) -> tuple[Array, Array, Array]:
        """Return attitude, momentum and F C F^T, substep by substep where the method is a kernel."""
        if not isinstance(self._jacobian, Kernel):
            q_IB, P_B, F, _ = self._move(belief.q_IB, belief.P_B, tau_B, self.J, rho, h)
            return quaternion.normalize(q_IB), P_B, propagate_kernel(6)(belief.C, F, NOTHING)
        given, n = (tau_B, self.J, rho), ONE
        if self._longest is not None:
            n = count(belief.P_B, *given, h, self._longest)
        return moving_kernel(self._jacobian).repeat(n, belief.q_IB, belief.P_B, belief.C, *given, h / n)

    def _torque_noise(self, P_B: Array, tau_B: Array, J: Array, rho: Array, h: Array) -> Array:
        return torque_noise(P_B, tau_B, J, rho, self.torque_psd, h) if self._noisy else NOTHING

    def _predict_with_extras(
        self, belief: Belief, tau_B: Array, h: Array, rho: Array, rho_end: Array, env: Any
    ) -> Belief:
        """Kick by the estimated torques at both ends; the steady one and the inertia act in the step itself."""
        extra, values, J = self._extra, belief.extras, self.inertia(belief)
        tau_B, start = extra.torque(tau_B, values), extra.kick(belief.q_IB, values, env)
        P_0 = rates.kick(belief.P_B, start.tau_B, h)
        q_IB, P_1, F, G = self._move(belief.q_IB, P_0, tau_B, J, rho, h)
        q_IB = quaternion.normalize(q_IB)
        end, step = extra.kick(q_IB, values, env), (P_0, tau_B, J, rho, h)
        B = extra.gains(G, step, self._stages)
        kicks = start.T, start.D, end.T, end.D
        C = augmented_kernel(extra.size)(belief.C, F, self._torque_noise(*step), B, *kicks, extra.walk, h)
        return belief._replace(q_IB=q_IB, P_B=rates.kick(P_1, end.tau_B, h), rho_B=rho_end, C=C)

    def _stages(self, P_B: Array, tau_B: Array, J: Array, rho: Array, h: Array) -> tuple[Array, Sequence[float]]:
        """Return the substeps and stages by which the derivative for J is taken: those of 'vi2', or of 'vi4'."""
        stages = (1.0,) if self.method == "vi2" else SUZUKI4
        finer = FINER * largest_stage(stages)
        return (count(P_B, tau_B, J, rho, h, finer) if self.substeps else np.ones(())), stages

    def flown_again(self, end: Belief, tau_B: Array, h: Array) -> tuple[Array, ...]:
        """Return the attitude and momentum that lead to a belief in h, those they lead to, and F and Q between."""
        given = tau_B, self.J, end.rho_B
        q_0, P_0, *_ = self._move(end.q_IB, end.P_B, *given, -np.asarray(h))
        q_1, P_1, F, _ = self._move(q_0, P_0, *given, h)
        return q_0, P_0, q_1, P_1, F, self._torque_noise(P_0, *given, h)

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
        state = belief.q_IB, vector, belief.C, belief.rejected, belief.recoveries, J
        probability = self.gate_probability if gated else 1.0
        if hasattr(sensor, "expected") and not self._extra.changes_rate and not self._extra.has_bias_of(sensor):
            kernel, arguments = sensor.expected(6, env)
            M, limits = self._extra.by_momentum(None), _limits(probability, kernel.layout.outs[1][0], self._recovery)
            *moved, y = measuring_kernel(kernel, self.size)(*state, M, *arguments, measurement[0], valid, limits)
        else:
            x = AttitudeState(belief.q_IB, rates.to_rate(belief.P_B, J, belief.rho_B))
            z_expected, H, R = self._extra.expect(sensor, x, env, belief.extras)
            y, limits = sensor.residual(measurement[0], z_expected), _limits(probability, H.shape[-2], self._recovery)
            M = self._extra.by_momentum(x.w_B)
            moved = correction_kernel(self.size, *H.shape[-2:])(*state, M, H, R, y, valid, limits)
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
def _limits(probability: float, m: int, recovery: tuple[float, ...]) -> Array:
    """Return the numbers by which a measurement is refused and a trial recovers, as the kernel takes them."""
    return np.array([gate(probability, m), *recovery], float)
