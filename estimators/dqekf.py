"""Extended Kalman filter of pose and twist in dual quaternions, driven by the dynamics of the body.

The mean moves by the exact motion of the body, by DQVI or by a comparator (see `pose_motion`), the covariance by the
exact Jacobian of that motion. The body is described about any point of it, a docking port for instance, of which
pose and twist are then estimated. Errors: (dxi, dchi), p = p^ exp(dxi/2), chi = chi^ + dchi, all in body axes.

    dqekf = DqEkf.of(200.0, r_g, J_com, wrench_psd=1e-8)
    belief = dqekf.start(PoseState(dq_IB, chi_B), C)
    belief = dqekf.predict(belief, wrench_B, h)                   any h, measurements may come at any time
    belief, innovation = dqekf.update(belief, sensor, sensor.measure(truth, env, noise), env)

Any sensor of `gnc.models.sensors` will do: a relative pose, z = log(p^* p_m) with H = [1 0]; a position, a direction, a
rate. With the biases of a gyro and of a velocity sensor among its extra states the filter has 18 states, with the
inertia of an unknown target, `Inertia(form="ratios")`, 17; `TwistEkf` is the one that needs no dynamics. Over long
intervals from a bad start, `advance` does both halves better.

Source: DQVI for the motion; Filipe, Kontitsis and Tsiotras, J. Guidance, Control, and Dynamics 38 (2015) 1625, for the
multiplicative error of the pose.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc import check, dual_quaternion, spatial
from gnc.errors import InputError
from gnc.estimators import conserved_chart, pose_motion
from gnc.estimators.augmentation import Augmentation
from gnc.estimators.corrections import Space, watch_size
from gnc.estimators.extra_states import ExtraState, Inertia
from gnc.estimators.group_filter import MOST, GroupFilter, Readings, Ways
from gnc.estimators.kalman import Innovation, propagate_kernel
from gnc.estimators.pose_belief import PoseBelief, pose_space, propagation_kernel
from gnc.estimators.pose_motion import deviated, inertia_slope
from gnc.estimators.process_noise import NO_WRENCH_NOISE, wrench_noise
from gnc.models.parameters import store
from gnc.models.pose_body import PoseState
from gnc.models.sensors.interface import Prediction

Array = Any


@dataclass(frozen=True, eq=False)
class DqEkf(GroupFilter):
    """The filter's parameters; `PoseBelief` is its state. Gate and recovery: `GroupFilter`."""

    M: Array  # (..., 6, 6) about the reference point, body axes, angular first [kg m^2, kg m, kg]
    method: str = "auto"  # one of pose_motion.METHODS
    wrench_psd: Array = 0.0  # (..., 6, 6), (..., 6) or a number: of the unknown wrench about the reference point
    extras: tuple[ExtraState, ...] = ()  # biases of sensors, a steady torque, the inertia about the centre of mass
    widest: tuple[float, ...] = field(default=(1.0, 10.0, 0.2, 1.0), kw_only=True)  # [rad, m, rad/s, m/s]
    turn: float | None = pose_motion.TURN  # [rad] of the longest stage, or None: one step, whatever the angle
    _extra: Augmentation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        psd = np.asarray(self.wrench_psd, float)
        psd = check.covariance("wrench_psd", psd[..., None] * np.eye(6) if psd.ndim < 2 else psd, 6)
        check.one_of("method", self.method, pose_motion.METHODS)
        check.positive("turn", pose_motion.TURN if self.turn is None else self.turn)
        kinds: list[type[ExtraState]] = [type(extra) for extra in self.extras]
        for kind in kinds:
            own_inertia = kind.inertia is not ExtraState.inertia and not issubclass(kind, Inertia)
            if own_inertia or kind.kick is not ExtraState.kick:
                raise InputError(f"extras: {kind.__name__} is for the attitude filter; use biases, torque or Inertia")
        store(self, M=check.inertia6("M", self.M), wrench_psd=psd, extras=tuple(self.extras))
        store(self, _extra=Augmentation(self.extras), noisy=bool(psd.any()))

    @classmethod
    def of(cls, mass: Array, r_g: Array, J_com: Array, **options: Any) -> DqEkf:
        """Describe the body by mass, centre of mass from the reference point, and inertia about the centre of mass."""
        mass, r_g = check.positive("mass", mass), check.vector("r_g", r_g, 3)
        return cls(spatial.inertia(mass, r_g, check.inertia("J_com", J_com)), **options)

    @functools.cached_property
    def size(self) -> int:
        """How many numbers the error state has."""
        return 12 + self._extra.size

    def start(self, x: Any, C: Array, extras: Array | None = None, C_extras: Array | None = None) -> PoseBelief:
        """Return the belief at a state, with its covariance over (dxi, dchi) and that of the extra states beside it."""
        if (np.shape(x.dq_IB)[-1:], np.shape(x.chi_B)[-1:]) != ((8,), (6,)):
            shapes = f"{np.shape(x.dq_IB)} and {np.shape(x.chi_B)}"
            raise InputError(f"x: expected a pose dq_IB (..., 8) and a twist chi_B (..., 6), got {shapes}")
        k = self.size - 12
        values = np.zeros(k) if extras is None else np.asarray(extras, float)
        parts = [(x.dq_IB, 1), (x.chi_B, 1), (values, 1), (C, 2)]
        lead = np.broadcast_shapes(*[np.shape(a)[: np.ndim(a) - core] for a, core in parts])
        whole = np.zeros((*lead, self.size, self.size))
        whole[..., :12, :12], whole[..., 12:, 12:] = C, np.zeros((k, k)) if C_extras is None else C_extras
        p, chi, e = (np.array(np.broadcast_to(a, (*lead, np.shape(a)[-1])), float) for a in (x.dq_IB, x.chi_B, values))
        return PoseBelief(p, chi, e, whole, np.zeros((*lead, watch_size(6))), np.zeros(lead), np.zeros(lead))

    def state(self, belief: PoseBelief) -> PoseState:
        """Return pose and twist."""
        return PoseState(belief.dq_IB, belief.chi_B)

    def error(self, belief: PoseBelief, truth: Any) -> tuple[Array, Array]:
        """Return the error (dxi, dchi) of the truth in the filter's own chart, and its covariance: for NEES."""
        C = belief.C[..., :12, :12]
        if self.chart == "conserved" and self._unknown is None:
            given = self.inertia(belief), truth.dq_IB, truth.chi_B
            return conserved_chart.pose_conserved_error(belief.dq_IB, belief.chi_B, C, *given), C
        xi = dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(belief.dq_IB), truth.dq_IB))
        return np.concatenate([xi, truth.chi_B - belief.chi_B], axis=-1), C

    def extra(self, belief: PoseBelief, name: str) -> Array:
        """Return the estimate of one of the extra states."""
        return self._extra.value(belief.extras, name)

    def inertia(self, belief: PoseBelief) -> Array:
        """Return M as the filter believes it is."""
        M = self.M
        for extra, _, value in self._extra.each(belief.extras):
            dJ = extra.inertia(value)
            M = M if dJ is None else deviated(M, dJ)
        return M

    def predict(self, belief: PoseBelief, wrench_B: Array | None, h: Array) -> PoseBelief:
        """Move over h under a wrench about the reference point, constant in body axes; None is free flight."""
        dq_IB, chi_B, F, Q, B = self._flown(belief, belief.C, wrench_B, h)
        C = self._propagated(belief.C, F, Q, B, h)
        return belief._replace(dq_IB=dq_IB, chi_B=chi_B, C=C, idle=belief.idle + h)

    def transition(self, at: PoseBelief, C: Array, wrench_B: Array | None, h: Array) -> tuple[PoseBelief, Array, Array]:
        """Return the state after h from one that is known by C, and F and Q over all states."""
        dq_IB, chi_B, F, Q, B = self._flown(at, C, wrench_B, h)
        noise = self._propagated(np.zeros((self.size, self.size)), F, Q, B, h)
        return at._replace(dq_IB=dq_IB, chi_B=chi_B), self._whole(F, B), noise

    def _flown(self, at: PoseBelief, C: Array, wrench_B: Array | None, h: Array) -> tuple[Array, ...]:
        """Return pose and twist after h, F and Q over (dxi, dchi), and the derivative for the extra states."""
        wrench, M = self._input(at, wrench_B), self.inertia(at)
        moved = pose_motion.move(self.method, *self.state(at), wrench, M, h, self.turn, C[..., :12, :12])
        dq_IB, chi_B, F, G = moved
        step = at.chi_B, chi_B, wrench, M
        return dq_IB, chi_B, F, self._noise(*step, h), self._gains(G, *step, h)

    def advance(
        self, belief: PoseBelief, wrench_B: Array | None, h: Array, readings: Readings, env: Any = None,
        iterations: int = MOST, gated: bool = True,
    ) -> tuple[PoseBelief, list[Innovation]]:  # fmt: skip
        """Predict over h and update with (sensor, measurement) pairs, all at once, linearised as often as is needed."""
        ways = Ways(lambda: self.predict(belief, wrench_B, h), lambda at, C: self.transition(at, C, wrench_B, h))
        return self._over(belief, ways, h, readings, env, iterations, gated)

    def _propagated(self, C: Array, F: Array, Q: Array, B: Array, h: Array) -> Array:
        if not self.extras:
            return propagate_kernel(12)(C, F, Q)
        return propagation_kernel(self.size - 12)(C, F, Q, B, self._extra.walk, h)

    def _whole(self, F: Array, B: Array) -> Array:
        """Return F with the rows and columns of the extra states."""
        if not self.extras:
            return F
        whole = np.zeros((*F.shape[:-2], self.size, self.size))
        whole[..., :12, :12], whole[..., :12, 12:], whole[..., 12:, 12:] = F, B, np.eye(self.size - 12)
        return whole

    def _noise(self, chi_B: Array, chi_next: Array, wrench_B: Array | None, M: Array, h: Array) -> Array:
        if not self.noisy:
            return NO_WRENCH_NOISE
        wrench_B = pose_motion.FREE if wrench_B is None else wrench_B
        return wrench_noise(chi_B, chi_next, wrench_B, M, self.wrench_psd, h)

    def _input(self, belief: PoseBelief, wrench_B: Array | None) -> Array | None:
        """Return the wrench that is constant over the step: the known one and the estimated torque."""
        for extra, _, value in self._extra.each(belief.extras):
            torque = extra.steady_torque(value)
            if torque is not None:
                estimated = np.concatenate([torque, np.zeros_like(torque)], axis=-1)
                wrench_B = estimated if wrench_B is None else np.asarray(wrench_B) + estimated
        return wrench_B

    def _gains(self, G: Array, chi_B: Array, chi_next: Array, wrench_B: Array | None, M: Array, h: Array) -> Array:
        """Return the derivative (..., 12, k) of the step with respect to the extra states."""
        gains = [np.zeros((*chi_next.shape[:-1], 12, 0))]
        for extra in self.extras:
            if isinstance(extra, Inertia):
                step = chi_B, chi_next, wrench_B, M, h
                gains.append(inertia_slope(extra.form, self.method, *step, self.turn))
            elif extra.steady_torque(np.zeros(extra.size)) is not None:
                gains.append(G[..., :3])
            else:
                gains.append(np.zeros((*chi_next.shape[:-1], 12, extra.size)))
        return np.concatenate(gains, axis=-1)

    # What the state is, for `GroupFilter`

    @property
    def _unknown(self) -> conserved_chart.Unknown:
        """Where the inertia is among the extra states."""
        for extra, part, _ in self._extra.each(np.zeros(self._extra.size)):
            if isinstance(extra, Inertia):
                return part.start, extra.form
        return None

    @functools.cached_property
    def _space(self) -> Space:
        return pose_space(self.chart, self._unknown if self.chart == "conserved" else None)

    def vector(self, belief: PoseBelief) -> Array:
        """Return (chi, extras)."""
        return np.concatenate([belief.chi_B, belief.extras], axis=-1) if self.extras else belief.chi_B

    def placed(
        self, belief: PoseBelief, q: Array, x: Array, C: Array, watch: Array, idle: Array, recoveries: Array
    ) -> PoseBelief:
        """Return the belief at another pose and (chi, extras), with other last fields."""
        chi_B, extras = (x[..., :6], x[..., 6:]) if self.extras else (x, belief.extras)
        return PoseBelief(q, chi_B, extras, C, watch, idle, recoveries)

    def _given(self, belief: PoseBelief) -> tuple[Array, ...]:
        return (self.inertia(belief),)

    def _expect(self, belief: PoseBelief, sensor: Any, env: Any) -> Prediction:
        return self._extra.expect(sensor, belief, env, belief.extras)
