"""Multiplicative extended Kalman filter of the attitude, driven by the dynamics: the process model is an integrator.

The mean moves by the exact motion of the body, or by any attitude method of `gnc.integrators.table` that is asked for
(`process_model`), the covariance by the exact Jacobian of that step. State: attitude, total angular momentum, extra
states; wheels and control torque are known inputs, and a wheel torque moves no total momentum. Error state and
coordinates: `attitude_belief`.

    mekf = Mekf(J, torque_psd=1e-12)
    belief = mekf.start(AttitudeState(q_IB, w_B), C)              C over (a, dw)
    belief = mekf.predict(belief, tau_B, h)                       any h: measurements may come at any time
    belief, innovation = mekf.update(belief, sensor, sensor.measure(truth, env, noise), env)

Over long intervals, or from a bad start, `advance` does both halves better. chart = 'conserved' corrects where the
constants of the motion are linear (`conserved_chart`) and stays honest at any rate, for any time; with the inertia
among the states, energy is no function that is known, and the chart is the usual one. 'invariant' is a comparator.

Source: QVI section IX for the variational process model; Lefferts, Markley and Shuster, J. Guidance 5 (1982) 417, and
Markley, J. Guidance 26 (2003) 311, for the multiplicative error.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from gnc import check
from gnc.errors import InputError
from gnc.estimators import attitude_belief
from gnc.estimators.attitude_belief import Belief, attitude_space, augmented_kernel, start_kernel, transition_kernel
from gnc.estimators.augmentation import Augmentation
from gnc.estimators.conserved_chart import conserved_error, conserved_inertial_error
from gnc.estimators.corrections import Space, watch_size
from gnc.estimators.extra_states import ExtraState
from gnc.estimators.group_filter import MOST, GroupFilter, Readings, Ways
from gnc.estimators.kalman import Innovation
from gnc.estimators.process_model import FINER, Automatic, ByName, ProcessModel, middle
from gnc.estimators.process_noise import NOTHING, torque_noise
from gnc.integrators.composition import SUZUKI4, count, largest_stage
from gnc.integrators.table import attitude_method
from gnc.models import rates
from gnc.models.parameters import store
from gnc.models.sensors.interface import Prediction
from gnc.models.states import AttitudeState

Array = Any

NO_WHEELS = np.zeros(3)
UNIT = np.eye(3)


@dataclass(frozen=True, eq=False)
class Mekf(GroupFilter):
    """The filter's parameters; `Belief` is its state. Gate and recovery: `GroupFilter`."""

    J: Array  # (..., 3, 3) of body and wheels together, body axes [kg m^2]
    method: str = "auto"  # or one of the attitude methods; `process` tells what it means
    torque_psd: Array = 0.0  # (..., 3, 3), or a number for all axes: of the unknown torque, body axes [N^2 m^2 s]
    extras: tuple[ExtraState, ...] = ()
    widest: tuple[float, ...] = field(default=(1.0, 0.2), kw_only=True)  # [rad], [rad/s]
    substeps: bool = True  # False: one step of the method, whatever the angle
    allow_unphysical: bool = False  # for a J that is off: an estimate may break the triangle inequality
    CHARTS: ClassVar[tuple[str, ...]] = ("usual", "conserved", "invariant")
    _extra: Augmentation = field(init=False, repr=False)
    process: ProcessModel = field(init=False, repr=False)  # what moves the belief; str(process) says how

    def __post_init__(self) -> None:
        super().__post_init__()
        psd = np.asarray(self.torque_psd, float)
        psd = check.covariance("torque_psd", psd * UNIT if psd.ndim == 0 else psd, 3)
        J = check.inertia("J", self.J, allow_unphysical=self.allow_unphysical)
        store(self, J=J, torque_psd=psd, extras=tuple(self.extras), noisy=bool(psd.any()))
        store(self, _extra=Augmentation(self.extras))
        store(self, process=self._chosen())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} states, {self.chart} chart, method={self.method!r}: {self.process})"

    def _chosen(self) -> ProcessModel:
        """Return what moves the belief."""
        return Automatic(self.J) if self.method == "auto" else ByName(attitude_method(self.method), self.substeps)

    @property
    def conserved(self) -> bool:
        """Whether the chart keeps the constants of the motion linear: see `conserved_chart`."""
        return self.chart == "conserved" and not self._extra.changes_rate

    @functools.cached_property
    def size(self) -> int:
        """How many numbers the error state has."""
        return 6 + self._extra.size

    # Start, and read

    def start(
        self, x: AttitudeState, C: Array, rho_B: Array = NO_WHEELS, extras: Array = (), C_extras: Array | None = None
    ) -> Belief:
        """Return the belief at a state, with its covariance over (a, dw) and that of the extra states beside it."""
        k = self._extra.size
        values = extras if np.size(extras) else np.zeros(k)
        beside = np.zeros((k, k)) if C_extras is None else C_extras
        q_IB, w_B, rho_B, C, *more = start_kernel(k)(x.q_IB, x.w_B, rho_B, C, self.J, *((values, beside) if k else ()))
        values = more[0] if more else np.zeros((*np.shape(q_IB)[:-1], 0))
        J = self._extra.inertia(self.J, values)
        C = attitude_belief.from_rates(self.size)(C, J, self._by_momentum(w_B, values))
        return at_rest(q_IB, rates.to_momentum(w_B, J, rho_B), rho_B, values, C)

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
        rho_end = belief.rho_B if rho_B is None else rho_B
        if rho_B is not None and (not isinstance(rho_B, np.ndarray) or rho_B.shape != belief.rho_B.shape):
            rho_end = np.broadcast_to(np.asarray(rho_B, float), belief.rho_B.shape)
        if not self.process.wheels and np.any(middle(belief.rho_B, rho_end)):
            raise InputError(f"method: {self.method!r} is for bodies without wheels; use 'auto', 'vi4' or 'taylor'")
        if self.extras:
            return self._predict_with_extras(belief, tau_B, h, rho_end, env)
        q_IB, P_B, C = self.process.move(belief.q_IB, belief.P_B, belief.C, tau_B, self.J, belief.rho_B, rho_end, h)
        if self.noisy:
            C = C + self._torque_noise(belief.P_B, tau_B, self.J, middle(belief.rho_B, rho_end), h)
        return Belief(q_IB, P_B, rho_end, belief.extras, C, belief.watch, belief.idle + h, belief.recoveries)

    def _torque_noise(self, P_B: Array, tau_B: Array, J: Array, rho: Array, h: Array) -> Array:
        return torque_noise(P_B, tau_B, J, rho, self.torque_psd, h) if self.noisy else NOTHING

    def _predict_with_extras(self, belief: Belief, tau_B: Array, h: Array, rho_end: Array, env: Any) -> Belief:
        """Kick by the estimated torques at both ends; the steady one and the inertia act in the step itself."""
        q_IB, P_B, given = self._kicked(belief, belief.C, tau_B, h, rho_end, env)
        C = augmented_kernel(self._extra.size)(belief.C, *given)
        return belief._replace(q_IB=q_IB, P_B=P_B, rho_B=rho_end, C=C, idle=belief.idle + h)

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
        self, at: Belief, C: Array, tau_B: Array, h: Array, rho_B: Array | None = None, env: Any = None
    ) -> tuple[Belief, Array, Array]:
        """Return the state after h from one that is known by C, and F and Q over all states."""
        rho_end = at.rho_B if rho_B is None else rho_B
        if self.extras:
            q_IB, P_B, given = self._kicked(at, C, tau_B, h, rho_end, env)
            F, Q = transition_kernel(self._extra.size)(*given)
        else:
            q_IB, P_B, F = self.process.transition(at.q_IB, at.P_B, C, tau_B, self.J, at.rho_B, rho_end, h)
            Q = self._torque_noise(at.P_B, tau_B, self.J, middle(at.rho_B, rho_end), h)
        return at._replace(q_IB=q_IB, P_B=P_B, rho_B=rho_end), F, Q

    def _stages(self, P_B: Array, tau_B: Array, J: Array, rho: Array, h: Array) -> tuple[Array, Sequence[float]]:
        """Return the substeps and stages by which the derivative for J is taken: those of 'vi2', or of 'vi4'."""
        stages = (1.0,) if self.method == "vi2" else SUZUKI4
        finer = FINER * largest_stage(stages)
        return (count(P_B, tau_B, J, rho, h, finer) if self.substeps else np.ones(())), stages

    def advance(
        self, belief: Belief, tau_B: Array, h: Array, readings: Readings, env: Any = None, iterations: int = MOST,
        gated: bool = True, rho_B: Array | None = None,
    ) -> tuple[Belief, list[Innovation]]:  # fmt: skip
        """Predict over h and update with (sensor, measurement) pairs, all at once, linearised as often as is needed."""
        rho_end = belief.rho_B if rho_B is None else np.broadcast_to(np.asarray(rho_B, float), belief.rho_B.shape)
        ways = Ways(
            lambda: self.predict(belief, tau_B, h, rho_end, env),
            lambda at, C: self.transition(at, C, tau_B, h, rho_end, env),
        )
        return self._over(belief, ways, h, readings, env, iterations, gated)

    # What the state is, for `GroupFilter`

    @functools.cached_property
    def _space(self) -> Space:
        return attitude_space("usual" if self._extra.changes_rate else self.chart)

    def vector(self, belief: Belief) -> Array:
        """Return (P, extras)."""
        return np.concatenate([belief.P_B, belief.extras], axis=-1) if self.extras else belief.P_B

    def placed(
        self, belief: Belief, q: Array, x: Array, C: Array, watch: Array, idle: Array, recoveries: Array
    ) -> Belief:
        """Return the belief at another attitude and (P, extras), with other last fields."""
        P_B, extras = (x[..., :3], x[..., 3:]) if self.extras else (x, belief.extras)
        return Belief(q, P_B, belief.rho_B, extras, C, watch, idle, recoveries)

    def _state(self, belief: Belief) -> tuple[Array, ...]:
        if self.extras:
            return super()._state(belief)
        return belief.q_IB, belief.P_B, belief.C, belief.watch, belief.idle, self.J, belief.rho_B, UNIT

    def _given(self, belief: Belief) -> tuple[Array, ...]:
        w_B = self.state(belief).w_B if self._extra.changes_rate else None
        return self.inertia(belief), belief.rho_B, self._extra.by_momentum(w_B, belief.extras)

    def _expect(self, belief: Belief, sensor: Any, env: Any) -> Prediction:
        return self._extra.expect(sensor, self.state(belief), env, belief.extras)


def at_rest(q_IB: Array, P_B: Array, rho_B: Array, extras: Array, C: Array) -> Belief:
    """Return a belief that nothing was measured of yet."""
    lead = np.shape(C)[:-2]
    # [()] makes numbers of those of one trial: to add to an array without axes takes NumPy eight times as long
    idle, recoveries = np.zeros(lead)[()], np.zeros(lead)[()]
    return Belief(q_IB, P_B, rho_B, extras, C, np.zeros((*lead, watch_size(3))), idle, recoveries)
