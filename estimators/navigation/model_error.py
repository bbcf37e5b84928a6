"""What the errors that a mission states do to a filter of the attitude, and that its covariance does not see.

**Torques that nobody knows.** They change slowly, and white noise is a poor model of them. A Kalman filter of one axis
has the attitude measured at the information rate i [1/(rad^2 s)] and the rate at k [s/rad^2], and believes in an
acceleration that is white, of density q. With w^4 = q i, g = w^2 k/i, c = sqrt(2 + g) its steady covariance and its
error under a steady acceleration d that it does not know are, in units of 1/(i w) = angle^2 and 1/w = time,

    C = [[c, 1], [1, c]]/(1 + g),    e = d [1, c]/(1 + g),    e C^-1 e = d^2 c/(1 + g)

The default density is that at which e C^-1 e, in these units d^2 i c/(w^5 (1 + g)), is 1: half of the NEES that two
errors have, and what noise leaves is about the other half, as there is no white noise in truth.

**An inertia that is off** by dJ makes the momentum dJ w off, which no sensor sees: it counts in what is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gnc.batch import batched, sized
from gnc.estimators.initialise import VECTOR_SENSORS
from gnc.linalg import identity, zeros
from gnc.models.known import Known
from gnc.models.sensors import Gyro, StarTracker
from gnc.models.states import AttitudeState
from gnc.typing import Array

HALVINGS = 60  # of the decades in which a frequency is looked for


def density(d: Array, i: float, k: float) -> Array:
    """Return the density of white acceleration that does to a filter what a steady one of size d does."""
    low, high = np.full(np.shape(d), -12.0), np.full(np.shape(d), 6.0)  # log10 w
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        w = 10.0**middle
        g = w**2 * k / i
        above = d**2 * i * np.sqrt(2.0 + g) > w**5 * (1.0 + g)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(d > 0.0, 10.0 ** (4.0 * high) / i, 0.0)


def torque_psd(known: Known, start: Any, reference: Any, estimated: Iterable[str]) -> Array:
    """Return the density (3, 3) that suits a craft which guidance asks to turn like a reference, or nothing turns."""
    w_B = np.zeros(3) if reference is None else np.asarray(reference.w_R, float)
    if known.coasts:
        sigma = np.radians(getattr(start, "rate_sigma_deg_s", 0.0))
        w_B = np.sqrt(np.square(np.radians(getattr(start, "rate_deg_s", np.zeros(3)))) + np.square(sigma))
    d, (i, k) = acceleration(known, w_B, estimated), information_rates(known, known.sky.at(0.0))
    return np.diag(np.square(np.diagonal(known.J)) * density(d, i, k)) if i > 0.0 else np.zeros((3, 3))


def acceleration(known: Known, w_B: Array, without: Iterable[str]) -> Array:
    """Return one sigma (3) of the acceleration that is not known, of a craft that turns at w_B [rad/s^2]."""
    squares = sum((np.square(s) for kind, s in known.unsure.items() if kind not in without), np.zeros(3))
    if "inertia" not in without:
        across = np.cross(w_B, np.eye(3))  # rows w x e_j
        squares = squares + np.diag(across.T @ momentum_error(known.J, w_B, known.J_error_percent) @ across)
    return np.sqrt(squares) / np.diagonal(known.J)


def information_rates(known: Known, env: Any) -> tuple[float, float]:
    """Return what sensors tell of attitude and rate, the mean over axes and over attitudes."""
    everywhere = AttitudeState(_SPREAD, np.zeros_like(_SPREAD[:, :3]))
    attitude = [s for s in known.sensors.values() if isinstance(s, (*VECTOR_SENSORS, StarTracker))]
    told = [np.mean(_trace(_of(s, everywhere, env))) for s in attitude]
    arws = [float(np.square(s.arw)) for s in known.sensors.values() if isinstance(s, Gyro)]
    return sum(told) / 3.0, sum(1.0 / arw for arw in arws if arw > 0.0)


_SPREAD = np.random.default_rng(1).normal(size=(50, 4))
_SPREAD /= np.linalg.norm(_SPREAD, axis=-1, keepdims=True)


def _of(sensor: Any, x: Any, env: Any) -> Array:
    """Return the information rate (..., 3, 3) of a sensor about the attitude."""
    _, H, R = sensor.predict(x, env)
    return _information(H.shape[-2])(H[..., :3], R, np.asarray(sensor.rate_hz))


@sized(lambda m: f"({m},3),({m},{m}),()->(3,3)")
def _information(H, R, rate_hz, *, m):
    """Return H^T R^-1 H times a rate; sensors have the same noise along all axes, or independent ones."""
    total = zeros(3, 3)
    for j in range(m):
        total = total + (rate_hz / R[j, j]) * np.outer(H[j], H[j])
    return total


@batched("(3,3)->()")
def _trace(A):
    return A[0, 0] + A[1, 1] + A[2, 2]


def slewing(known: Known) -> Array | None:
    """Return the variance (3) of the momentum's error dJ w, the largest of any axis, per |w|^2; None: there is none.

    Of a ball that is that along w, 2 s^2 J^2, see `momentum_error`.
    """
    s = 0.005 * known.J_error_percent
    return 2.0 * s**2 * np.square(np.diagonal(known.J)) if s > 0.0 else None


@batched("(3,3),(3),()->(3,3)")
def momentum_error(J, w_B, percent):
    """Return the covariance of dJ w by an inertia that is off as `Draws.inertia` draws it.

    S = tr(J)/2 1 - J becomes A S A^T with A = 1 + s N, N normal: dS = s (N S + S N^T), dJ = tr(dS) 1 - dS, and each
    entry of N gives a column of dJ w.
    """
    s, total = 0.005 * percent, zeros(3, 3)
    S = 0.5 * (J[0, 0] + J[1, 1] + J[2, 2]) * identity(3) - J
    Sw = S @ w_B
    for a in range(3):
        for b in range(3):  # N = e_a e_b^T: N S w = e_a (S w)_b, S N^T w = S e_b w_a, tr(dS) = 2 S_ab
            column = (2.0 * S[a, b]) * w_B - w_B[a] * S[b]
            column = column - Sw[b] * identity(3)[a]
            total = total + (s * s) * np.outer(column, column)
    return total
