"""Pose filter in dual quaternions without dynamics, driven by measured twists, whose bias it estimates.

    p' = p chi/2,   chi = z - b,   b' = walk;        errors (dxi, db), p = p^ exp(dxi/2), b = b^ + db
    dxi' = -ad(chi) dxi - db - noise

A measured twist (gyro and velocity sensor) is held for its h, so the pose moves exactly, by exp(h chi), and the
covariance by the closed-form transition matrix

    F = [[Ad(exp(-h chi)), -h J_r(h chi)], [0, 1]]          J_r: right Jacobian of SE(3)

Without gyro and velocity sensor z is zero and b = -chi: a body of which nothing is known but that its twist changes
slowly, by the walk. Source: Filipe, Kontitsis and Tsiotras, J. Guidance, Control, and Dynamics 38 (2015) 1625.
"""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, dual_quaternion, lie
from gnc.batch import batched, where
from gnc.estimators.corrections import Space, watch_size
from gnc.estimators.group_filter import GroupFilter
from gnc.estimators.kalman import symmetric_product
from gnc.estimators.pose_belief import pose_space
from gnc.estimators.process_noise import GAUSS
from gnc.linalg import block, identity, zeros
from gnc.models.parameters import store
from gnc.models.sensors.interface import Prediction
from gnc.notebook import of_belief

Array = Any


class TwistBelief(NamedTuple):
    """What the filter believes; a state that sensors can predict from. NaN marks a lost trial."""

    dq_IB: Array  # (..., 8)
    chi_B: Array  # (..., 6) the last twist, freed of its bias [rad/s, m/s]
    bias: Array  # (..., 6) of the measured twist
    C: Array  # (..., 12, 12) covariance of (dxi, db)
    watch: Array  # (..., 24) how much the filter doubts itself, see `corrections`
    idle: Array  # (...) since the last measurement [s]
    recoveries: Array  # (...) how often the covariance was inflated

    def _repr_html_(self) -> str:
        return of_belief(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class TwistEkf(GroupFilter):
    """The filter's parameters; gate and recovery: `GroupFilter`.

    A twist that drops out is bridged by the last one, which is then trusted as far as `coast_psd` says.
    """

    twist_psd: Array = 0.0  # (..., 6) or a number: white noise of the measured twist [rad^2/s, m^2/s]
    walk_psd: Array = 0.0  # (..., 6) or a number: of what drives the bias [rad^2/s^3, m^2/s^3]
    coast_psd: Array = 1e-2  # (..., 6) or a number: white noise of the twist where none was measured
    widest: tuple[float, ...] = (1.0, 10.0, 0.2, 1.0)  # [rad, m, rad/s, m/s]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("twist_psd", "walk_psd", "coast_psd"):
            density = check.non_negative(name, getattr(self, name))
            store(self, **{name: density if density.ndim else np.full(6, density)})

    def start(self, dq_IB: Array, C: Array, bias: Array = (0.0,) * 6) -> TwistBelief:
        """Return the belief before the first twist, with its covariance over (dxi, db)."""
        C = check.covariance("C", C, 12)
        lead = np.broadcast_shapes(np.shape(dq_IB)[:-1], np.shape(bias)[:-1], C.shape[:-2])
        p, b = (np.array(np.broadcast_to(a, (*lead, np.shape(a)[-1])), float) for a in (dq_IB, bias))
        watch = np.zeros((*lead, watch_size(6)))
        C = np.array(np.broadcast_to(C, (*lead, 12, 12)))
        return TwistBelief(p, -b, b, C, watch, np.zeros(lead), np.zeros(lead))

    def predict(self, belief: TwistBelief, z: Array, h: Array, valid: Array = 1.0) -> TwistBelief:
        """Move over h at the measured twist (..., 6); zeros where there is no sensor for it."""
        densities = self.twist_psd, self.walk_psd, self.coast_psd
        state = belief.dq_IB, belief.chi_B, belief.C, belief.bias
        dq_IB, chi_B, C = _predict(*state, z, valid, *densities, h)
        return belief._replace(dq_IB=dq_IB, chi_B=chi_B, C=C, idle=belief.idle + h)

    def transition(self, after: TwistBelief, h: Array) -> Array:
        """Return F (..., 12, 12) of the prediction over h that led to a belief."""
        return _transition(after.chi_B, h)

    # What the state is, for `GroupFilter`

    @functools.cached_property
    def size(self) -> int:
        """How many numbers the error state has."""
        return 12

    @functools.cached_property
    def _space(self) -> Space:
        return pose_space()

    def vector(self, belief: TwistBelief) -> Array:
        """Return the bias."""
        return belief.bias

    def placed(
        self, belief: TwistBelief, q: Array, x: Array, C: Array, watch: Array, idle: Array, recoveries: Array
    ) -> TwistBelief:
        """Return the belief at another pose and bias, with other last fields."""
        return TwistBelief(q, belief.chi_B + (belief.bias - x), x, C, watch, idle, recoveries)

    def _given(self, belief: TwistBelief) -> tuple[Array, ...]:
        return (NO_BODY,)

    def _expect(self, belief: TwistBelief, sensor: Any, env: Any) -> Prediction:
        """Return the prediction of any sensor but those that drive the filter: dchi = -db."""
        z, H, R = sensor.predict(belief, env)
        return Prediction(z, np.concatenate([H[..., :6], -H[..., 6:]], axis=-1), R)


NO_BODY = np.zeros((6, 6))


def _moved(chi, t):
    """Return Ad(exp(-t chi)) and -t J_r(t chi), what a twist's error and a bias do to the pose within t."""
    return dual_quaternion.adjoint(dual_quaternion.exp(-t * chi)), -t * lie.se3_right_jacobian(t * chi)


@batched("(6),()->(12,12)")
def _transition(chi_B, h):
    A, B = _moved(chi_B, h)
    return block([[A, B], [zeros(6, 6), identity(6)]])


@batched("(8),(6),(12,12),(6),(6),(),(6),(6),(6),()->(8),(6),(12,12)")
def _predict(dq_IB, chi_B, C, bias, z, valid, twist_psd, walk_psd, coast_psd, h):
    """Return pose, twist and covariance after h; the process noise by three Gauss points."""
    measured = valid > 0.0
    chi_B = where(measured, z - bias, chi_B)
    white = where(measured, twist_psd, coast_psd)
    C = symmetric_product(_transition(chi_B, h), C)
    for t, weight in GAUSS:
        A, B = _moved(chi_B, t * h)
        scaled = np.concatenate([A * white, zeros(6, 6)]), np.concatenate([B, identity(6)])
        noise = scaled[0] @ np.concatenate([A, zeros(6, 6)]).T + (scaled[1] * walk_psd) @ scaled[1].T
        C = C + (0.5 * weight * h) * (noise + noise.T)
    moved = dual_quaternion.normalize(dual_quaternion.mul(dq_IB, dual_quaternion.exp(h * chi_B)))
    return moved, chi_B, C
