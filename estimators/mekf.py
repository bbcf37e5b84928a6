"""Multiplicative extended Kalman filter of the attitude, driven by the dynamics: the process model is an integrator.

The mean moves by any attitude method of `gnc.integrators.table`, in as many substeps as each trial needs, the
covariance by the exact Jacobian of that step. State: attitude, total angular momentum, extra states; wheels and control
torque are known inputs, and a wheel torque moves no total momentum. Error state and coordinates: `attitude_belief`.

    mekf = Mekf(J, torque_psd=1e-12)
    belief = mekf.start(AttitudeState(q_IB, w_B), C)              C over (a, dw)
    belief = mekf.predict(belief, tau_B, h)                       any h: measurements may come at any time
    belief, innovation = mekf.update(belief, sensor, sensor.measure(truth, env, noise), env)

Source: QVI section IX for the variational process model; Lefferts, Markley and Shuster, J. Guidance 5 (1982) 417, and
Markley, J. Guidance 26 (2003) 311, for the multiplicative error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc import check, quaternion
from gnc.batch import Kernel
from gnc.errors import InputError
from gnc.estimators import attitude_belief, inertia_states
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.extra_states import ExtraState, Kick, split
from gnc.estimators.kalman import Innovation, gate, propagate_kernel
from gnc.estimators.mekf_kernels import augmented_kernel, correction_kernel
from gnc.estimators.process_noise import NOTHING, torque_noise
from gnc.integrators.composition import SUZUKI4
from gnc.integrators.substeps import ANGLE, count, substepped
from gnc.integrators.table import AttitudeMethod, attitude_method
from gnc.models import rates
from gnc.models.parameters import between, store
from gnc.models.states import AttitudeState

Array = Any

NO_WHEELS = np.zeros(3)
UNIT = np.eye(3)
FINER = 2.0  # substeps per substep of the motion alone: a filter without process noise sees its truncation error


@dataclass(frozen=True, eq=False)
class Mekf:
    """The filter's parameters; `Belief` is its state.

    Recovery: after `patience` valid measurements in a row that the gate refused, the covariance of attitude and momentum
    is multiplied by `inflation`, but to no more than `widest`; `Belief.recoveries` counts that.
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
    _slices: list[slice] = field(init=False, repr=False)
    _noisy: bool = field(init=False, repr=False)
    _move: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        psd = np.asarray(self.torque_psd, float)
        psd = check.covariance("torque_psd", psd * UNIT if psd.ndim == 0 else psd, 3)
        between("gate_probability", self.gate_probability, 0.0, 1.0)
        store(self, J=check.inertia("J", self.J, allow_unphysical=self.allow_unphysical), torque_psd=psd, extras=tuple(self.extras))
        check.positive("patience", self.patience)
        check.positive("inflation", self.inflation)
        check.positive("widest", self.widest)
        names = [extra.name for extra in self.extras]
        if len(set(names)) < len(names):
            raise InputError(f"extras: two have the same name, of {', '.join(names)}; give each its own")
        move = self._divided(attitude_method(self.method))
        store(self, _slices=split(self.extras), _noisy=bool(psd.any()), _move=move)

    def _divided(self, method: AttitudeMethod) -> Any:
        """Return the function that takes a step of any length, with F and G."""
        if not self.substeps or method.substep is None or not isinstance(method.step, Kernel):
            return method.jacobian(False)
        return substepped(method.step, method.step_jacobian, FINER * ANGLE / method.substep)[1]

    @property
    def size(self) -> int:
        """How many numbers the error state has."""
        return 6 + sum(extra.size for extra in self.extras)

    # Start, and read

    def start(
        self, x: AttitudeState, C: Array, rho_B: Array = NO_WHEELS, extras: Array = (), C_extras: Array | None = None
    ) -> Belief:
        """Return the belief at a state, with its covariance over (a, dw) and that of the extra states beside it."""
        k = self.size - 6
        extras = np.zeros(k) if k and np.size(extras) == 0 else np.asarray(extras, float)
        C_extras = np.zeros((k, k)) if C_extras is None else np.asarray(C_extras, float)
        parts = [(x.q_IB, 1), (x.w_B, 1), (C, 2), (rho_B, 1), (extras, 1), (C_extras, 2), (self.J, 2)]
        lead = np.broadcast_shapes(*[np.shape(a)[: np.ndim(a) - core] for a, core in parts])
        whole = np.zeros((*lead, self.size, self.size))
        whole[..., :6, :6], whole[..., 6:, 6:] = C, C_extras
        wide = [
            np.array(np.broadcast_to(a, (*lead, a.shape[-1])), float) for a in map(np.asarray, (x.q_IB, rho_B, extras))
        ]
        empty = Belief(wide[0], np.zeros((*lead, 3)), wide[1], wide[2], whole, np.zeros(lead), np.zeros(lead))
        J = self.inertia(empty)
        P_B = rates.to_momentum(x.w_B, J, rho_B)
        belief = empty._replace(P_B=P_B)
        return belief._replace(C=attitude_belief.from_rates(self.size)(whole, J, self._by_momentum(belief, J)))

    def state(self, belief: Belief) -> AttitudeState:
        """Return attitude and rate."""
        return AttitudeState(belief.q_IB, rates.to_rate(belief.P_B, self.inertia(belief), belief.rho_B))

    def covariance(self, belief: Belief) -> Array:
        """Return the covariance of (a, dw, extras)."""
        J = self.inertia(belief)
        return attitude_belief.to_rates(self.size)(belief.C, J, self._by_momentum(belief, J))

    def extra(self, belief: Belief, name: str) -> Array:
        """Return the estimate of one of the extra states."""
        return belief.extras[..., self._slices[[e.name for e in self.extras].index(name)]]

    def inertia(self, belief: Belief) -> Array:
        """Return J as the filter believes it is."""
        J = self.J
        for extra, part in zip(self.extras, self._slices, strict=True):
            dJ = extra.inertia(belief.extras[..., part])
            J = J if dJ is None else J + dJ
        return J

    # Predict

    def predict(self, belief: Belief, tau_B: Array, h: Array, rho_B: Array | None = None, env: Any = None) -> Belief:
        """Move over h under a torque that is constant in body axes; rho_B is the wheels' momentum at the end.

        The wheels count with the mean of their momentum at both ends. `env` is for torques that depend on it.
        """
        rho_end = belief.rho_B if rho_B is None else np.broadcast_to(np.asarray(rho_B, float), belief.rho_B.shape)
        rho = belief.rho_B if rho_B is None else 0.5 * (belief.rho_B + rho_end)
        if not attitude_method(self.method).wheels and np.any(rho):
            raise InputError(f"method: {self.method!r} is for bodies without wheels; use 'vi4' or 'taylor'")
        if self.extras:
            return self._predict_with_extras(belief, tau_B, h, rho, rho_end, env)
        q_IB, P_B, F, _ = self._move(belief.q_IB, belief.P_B, tau_B, self.J, rho, h)
        Q = self._torque_noise(belief.P_B, tau_B, self.J, rho, h)
        C = propagate_kernel(6)(belief.C, F, Q)
        return belief._replace(q_IB=quaternion.normalize(q_IB), P_B=P_B, rho_B=rho_end, C=C)

    def _torque_noise(self, P_B: Array, tau_B: Array, J: Array, rho: Array, h: Array) -> Array:
        return torque_noise(P_B, tau_B, J, rho, self.torque_psd, h) if self._noisy else NOTHING

    def _predict_with_extras(
        self, belief: Belief, tau_B: Array, h: Array, rho: Array, rho_end: Array, env: Any
    ) -> Belief:
        """Kick by the estimated torques at both ends; the steady one and the inertia act in the step itself."""
        J = self.inertia(belief)
        tau_B = self._input(belief, tau_B)
        start = self._kick(belief.q_IB, belief.extras, env)
        P_0 = rates.kick(belief.P_B, start.tau_B, h)
        q_IB, P_B, F, G = self._move(belief.q_IB, P_0, tau_B, J, rho, h)
        q_IB = quaternion.normalize(q_IB)
        end = self._kick(q_IB, belief.extras, env)
        Q, B = self._torque_noise(P_0, tau_B, J, rho, h), self._gains(G, P_0, tau_B, J, rho, h)
        walk = np.concatenate([extra.walk for extra in self.extras], axis=-1)
        C = augmented_kernel(self.size - 6)(belief.C, F, Q, B, start.T, start.D, end.T, end.D, walk, h)
        return belief._replace(q_IB=q_IB, P_B=rates.kick(P_B, end.tau_B, h), rho_B=rho_end, C=C)

    def _input(self, belief: Belief, tau_B: Array) -> Array:
        """Return the torque that is constant over the step: the known one and the estimated."""
        for extra, part in zip(self.extras, self._slices, strict=True):
            steady = extra.steady_torque(belief.extras[..., part])
            tau_B = tau_B if steady is None else np.asarray(tau_B) + steady
        return tau_B

    def _kick(self, q_IB: Array, extras: Array, env: Any) -> Kick:
        """Return the sum of the torques that depend on the attitude."""
        lead = extras.shape[:-1]
        total = Kick(np.zeros((*lead, 3)), np.zeros((*lead, 3, 3)), np.zeros((*lead, 3, extras.shape[-1])))
        for extra, part in zip(self.extras, self._slices, strict=True):
            kick = extra.kick(q_IB, extras[..., part], env)
            if kick is not None:
                total = Kick(total.tau_B + kick.tau_B, total.T + kick.T, total.D)
                total.D[..., part] = kick.D
        return total

    def _gains(self, G: Array, P_B: Array, tau_B: Array, J: Array, rho: Array, h: Array) -> Array:
        """Return the derivative (..., 6, k) of the step with respect to the extra states that act in it."""
        gains = np.zeros((*G.shape[:-2], 6, self.size - 6))
        for extra, part in zip(self.extras, self._slices, strict=True):
            if isinstance(extra, inertia_states.Inertia):
                gains[..., part] = self._inertia_gain(extra.form, P_B, tau_B, J, rho, h)
            elif extra.steady_torque(np.zeros(3)) is not None:
                gains[..., part] = G
        return gains

    def _inertia_gain(self, form: str, P_B: Array, tau_B: Array, J: Array, rho: Array, h: Array) -> Array:
        """Return the exact derivative for 'vi2' and 'vi4'; other methods take that of 'vi4'."""
        name, stages = ("vi2", (1.0,)) if self.method == "vi2" else ("vi4", SUZUKI4)
        finer = FINER * ANGLE / attitude_method(name).substep
        n = count(P_B, tau_B, J, rho, h, finer) if self.substeps else np.ones(())
        kernel = inertia_states.sensitivity(stages, form)
        nothing = np.zeros(kernel.layout.outs[1])
        return kernel.repeat(np.where(n > 0, n, 1.0), P_B, nothing, tau_B, J, rho, np.asarray(h) / n)[1]

    def _by_momentum(self, belief: Belief, J: Array) -> Array:
        """Return M with dw = J^-1 M (dP, dextras)."""
        if not self.extras:
            return UNIT
        M = np.zeros((*belief.P_B.shape[:-1], 3, self.size - 3))
        M[..., :3] = UNIT
        for extra, part in zip(self.extras, self._slices, strict=True):
            if isinstance(extra, inertia_states.Inertia):
                w_B = rates.to_rate(belief.P_B, J, belief.rho_B)
                M[..., 3 + part.start : 3 + part.stop] = -inertia_states.momentum_slope(extra.form)(w_B)
        return M

    # Update

    def update(
        self, belief: Belief, sensor: Any, measurement: Any, env: Any = None, gated: bool = True
    ) -> tuple[Belief, Innovation]:
        """Correct with a measurement (z, valid); trials where it is not valid stay as they are.

        `gated=False` lets all valid measurements in, as is right while a rate is still being acquired.
        """
        J, z, valid = self.inertia(belief), measurement[0], np.asarray(measurement[1], float)
        x = AttitudeState(belief.q_IB, rates.to_rate(belief.P_B, J, belief.rho_B))
        expected, H = self._expect(belief, sensor, x, env)
        y = sensor.residual(z, expected.z)
        m, k = H.shape[-2], self.size - 6
        vector = np.concatenate([belief.P_B, belief.extras], axis=-1) if k else belief.P_B
        limit = gate(self.gate_probability, m) if gated else np.inf
        q_IB, vector, C, rejected, recoveries, S, nis, used = correction_kernel(self.size, m)(
            belief.q_IB, vector, belief.C, belief.rejected, belief.recoveries, J, self._by_momentum(belief, J),
            H, expected.R, y, valid, limit, float(self.patience), self.inflation, self.widest,
        )  # fmt: skip
        belief = Belief(q_IB, vector[..., :3], belief.rho_B, vector[..., 3:], C, rejected, recoveries)
        return belief, Innovation(y, S, nis, used > 0.0)

    def _expect(self, belief: Belief, sensor: Any, x: AttitudeState, env: Any) -> tuple[Any, Array]:
        """Return the sensor's prediction, and its H over (a, dw, extras)."""
        for extra, part in zip(self.extras, self._slices, strict=True):
            if extra.is_bias_of(sensor):
                expected = sensor.predict(x, env, bias=belief.extras[..., part])
                return expected, self._wide(expected.H, part, sensor.H_bias)
        expected = sensor.predict(x, env)
        return expected, expected.H if self.size == 6 else self._wide(expected.H, slice(0, 0), 0.0)

    def _wide(self, H: Array, part: slice, H_bias: Array) -> Array:
        lead = np.broadcast_shapes(H.shape[:-2], np.shape(H_bias)[:-2])
        wide = np.zeros((*lead, H.shape[-2], self.size))
        wide[..., :6], wide[..., 6 + part.start : 6 + part.stop] = H, H_bias
        return wide
