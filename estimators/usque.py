"""Sigma-point attitude filter in the manner of USQUE, a comparator: no Jacobians, but thirteen steps for one.

Attitude errors are generalised Rodrigues parameters, 4 tan(angle/4) about the axis (a = 1, f = 4 of the source), which
are the rotation vector but for its third power; with the momentum they are the error state of `Mekf`, (a, dP). The
sigma points are FilterPy's, Julier's with lambda = 1, as is the unscented transform; every point flies by the
integrator.

Sigma points are drawn anew for each update, so that measurements may come at any time, and the process noise is added
to what they give: the source keeps the points of the prediction, and adds half of the noise before it.

FilterPy works one trial at a time: `predict` and `update` take about 0.1 ms per trial each, a hundred times and more
what `Mekf` takes in a batch. The covariance must be positive definite, not only semi-definite; a trial where it is not
is lost.

Source: Crassidis and Markley, "Unscented Filtering for Spacecraft Attitude Estimation", J. Guidance, Control, and
Dynamics 26 (2003) 536.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.batch import batched, copysign, jacobian
from gnc.errors import InputError
from gnc.estimators.attitude_belief import Belief, attitude_space
from gnc.estimators.corrections import Space
from gnc.estimators.kalman import Innovation
from gnc.estimators.mekf import Mekf
from gnc.estimators.process_model import middle
from gnc.linalg import array, zeros

Array = Any


@functools.cache
def _points() -> Any:
    from filterpy.kalman import JulierSigmaPoints  # takes a second to load

    return JulierSigmaPoints(6, kappa=1.0)


@batched("(4),(3),(6)->(4),(3)")
def moved(q_IB, P_B, error):
    """Return the state that is off by an error (p, dP): q dq with dq = (16 - p.p, 8 p)/(16 + p.p)."""
    p = error[:3]
    square = p @ p
    return quaternion.mul(q_IB, array([16.0 - square, *(8.0 * p)]) / (16.0 + square)), P_B + error[3:]


@batched("(4),(3),(4),(3)->(6)")
def error_between(q_IB, P_B, q_other, P_other):
    """Return the error (p, dP) of the other state: p = 4 dq_v/(1 + dq_0), dq the short way."""
    dq = quaternion.mul(quaternion.conj(q_IB), q_other)
    dq = copysign(1.0, dq[0]) * dq
    return array([*((4.0 / (1.0 + dq[0])) * dq[1:]), *(P_other - P_B)])


@batched("(6),(6)->(6)")
def _left_over(change, d):
    """Return what is left of an error d + change after a correction by d."""
    still = array([1.0, 0.0, 0.0, 0.0])
    return error_between(*moved(still, zeros(3), d), *moved(still, zeros(3), d + change))


_left_over_slope = jacobian(_left_over, "change")


def _move(q_IB, P_B, d, C, C_used, given):
    """Return the state corrected by d, and the reset.

    The source leaves C as it is, which is wrong in second order, and costs convergence from large errors.
    """
    return *moved(q_IB, P_B, d), _left_over_slope(zeros(6), d)


SPACE = replace(attitude_space("usual"), own=lambda H, n, given: H, blind=lambda H, C: 0.0, move=_move)


def _sigma_errors(C: Array) -> Array:
    """Return the sigma points (13, ..., 6) of errors with zero mean; NaN where C is not positive definite."""
    errors = np.full((13, *C.shape[:-1]), np.nan)
    for trial in np.ndindex(C.shape[:-2]):
        try:
            errors[(slice(None), *trial)] = _points().sigma_points(np.zeros(6), C[trial])
        except (np.linalg.LinAlgError, ValueError):  # ValueError is SciPy's word for NaN
            continue
    return errors


def _statistics(points: Array, noise: Array) -> tuple[Array, Array]:
    """Return mean (..., k) and covariance (..., k, k) of sigma points (13, ..., k) with noise added."""
    from filterpy.kalman import unscented_transform

    lead, k = points.shape[1:-1], points.shape[-1]
    mean, C = np.empty((*lead, k)), np.empty((*lead, k, k))
    noise = np.broadcast_to(noise, C.shape)
    for trial in np.ndindex(lead):
        one = np.ascontiguousarray(points[(slice(None), *trial)])
        mean[trial], C[trial] = unscented_transform(one, _points().Wm, _points().Wc, noise[trial])
    return mean, 0.5 * (C + C.swapaxes(-1, -2))


@dataclass(frozen=True, eq=False, repr=False)
class Usque(Mekf):
    """A filter with the interface of `Mekf`, without extra states."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.extras:
            raise InputError("extras: this comparator has none; use Mekf")

    def predict(self, belief: Belief, tau_B: Array, h: Array, rho_B: Array | None = None, env: Any = None) -> Belief:
        """Move over h under a torque that is constant in body axes; rho_B is the wheels' momentum at the end."""
        rho_end = belief.rho_B if rho_B is None else np.broadcast_to(np.asarray(rho_B, float), belief.rho_B.shape)
        rho = middle(belief.rho_B, rho_end)
        q, P = moved(belief.q_IB, belief.P_B, _sigma_errors(belief.C))
        q, P = self.process.mean(q, P, belief.C, tau_B, self.J, belief.rho_B, rho_end, h, at=belief.P_B)
        errors = error_between(q[0], P[0], q, P)
        mean, C = _statistics(errors, self._torque_noise(belief.P_B, tau_B, self.J, rho, h))
        q_IB, P_B = moved(q[0], P[0], mean)
        return belief._replace(q_IB=q_IB, P_B=P_B, rho_B=rho_end, C=C, idle=belief.idle + h)

    def update(
        self, belief: Belief, sensor: Any, measurement: Any, env: Any = None, gated: bool = True
    ) -> tuple[Belief, Innovation]:
        """Correct with a measurement (z, valid); trials where it is not valid stay as they are.

        The joint statistics of error and measurement are those of a linear sensor, H = C_yx C^-1 with noise
        S - H C H^T, whose Kalman gain is the C_xy S^-1 of sigma points.
        """
        centre = sensor.predict(self.state(belief), env)
        mean, joint = self._joint(belief, sensor, centre, env)
        C_xy = joint[..., :6, 6:]
        H = np.linalg.solve(joint[..., :6, :6], C_xy).swapaxes(-1, -2)
        y, R = sensor.residual(measurement[0], centre.z) - mean[..., 6:], joint[..., 6:, 6:] - H @ C_xy
        belief = belief._replace(C=np.where(np.isnan(mean[..., :1, None]), np.nan, belief.C))
        return self.corrected(belief, H, 0.5 * (R + R.swapaxes(-1, -2)), y, measurement[1], gated)

    @property
    def _space(self) -> Space:
        return SPACE

    def _joint(self, belief: Belief, sensor: Any, centre: Any, env: Any) -> tuple[Array, Array]:
        """Return mean and covariance of the error and of the residual against the central point, joined."""
        errors = _sigma_errors(belief.C)
        q, P = moved(belief.q_IB, belief.P_B, errors)
        y = sensor.residual(sensor.predict(self.state(belief._replace(q_IB=q, P_B=P)), env).z, centre.z)
        size = 6 + y.shape[-1]
        noise = np.zeros((*centre.R.shape[:-2], size, size))
        noise[..., 6:, 6:] = centre.R
        return _statistics(np.concatenate([errors, y], axis=-1), noise)
