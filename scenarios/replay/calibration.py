"""Batch calibrations from a log: hard and soft iron of a magnetometer; matrix, bias and time offset of a gyro.

    magnetometer   |S (m - b)| = F,            S symmetric (6), b (3): one strength F, whatever the attitude
    gyro           w(t) = M z(t + tau) + c,    w from a differentiated attitude; M: scale, misalignment, mounting

Both are least squares with standard deviations from the Jacobian and the residuals. A parameter is called undetermined
where its standard deviation is beyond UNKNOWN of what it is measured against: a body that turned about one axis only
tells nothing of the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares, minimize_scalar

from gnc import quaternion

Array = Any

UNKNOWN = 0.1  # standard deviation of a parameter, relative to the field or to the unit matrix
OFFSET_S = 0.2  # largest time offset that is looked for
MOST_TRIES = 100  # of the fit: what is not determined would go on for ever
MOST_STEPS = 5.0  # usual steps: beyond is a gap


class Calibration(NamedTuple):
    """Values with standard deviations, and the names of those that the log does not tell."""

    values: dict[str, Array]
    sigma: dict[str, Array]
    undetermined: list[str]
    residual: float  # RMS after, in the unit of the sensor
    before: float  # the same without calibration


def magnetometer(m: Array, strength: float | None = None) -> Calibration:
    """Fit hard iron b and soft iron S to fields (n, 3); without a strength F the mean of S's diagonal is 1."""
    centre = 0.5 * (np.percentile(m, 1, axis=0) + np.percentile(m, 99, axis=0))
    size = float(np.median(np.linalg.norm(m - centre, axis=1)))
    z = m / size

    def residuals(x: Array) -> Array:
        return np.linalg.norm((z - x[:3]) @ symmetric(x[3:]), axis=1) - 1.0

    start = np.concatenate([centre / size, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]])
    found = least_squares(residuals, start, loss="soft_l1", f_scale=0.05, max_nfev=MOST_TRIES)
    sigma = _sigma(found.jac, found.fun)
    S = symmetric(found.x[3:])
    scale = float(np.trace(S)) / 3.0 if strength is None else size / strength
    unknown = [name for name, s in zip(_IRON, sigma, strict=True) if s > UNKNOWN]
    lengths = np.linalg.norm(m, axis=1)
    rms = float(np.sqrt(np.mean(residuals(found.x) ** 2))) * size
    return Calibration(
        {"hard_iron": found.x[:3] * size, "soft_iron": S / scale},
        {"hard_iron": sigma[:3] * size, "soft_iron": symmetric(sigma[3:]) / scale},
        unknown, rms, float(lengths.std()),
    )  # fmt: skip


_IRON = tuple(f"hard_iron_{a}" for a in "xyz") + tuple(f"soft_iron_{a}" for a in ("xx", "yy", "zz", "xy", "xz", "yz"))


def symmetric(s: Array) -> Array:
    """Return the matrix of (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz, xy, xz, yz = s
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def gyro(t: Array, z: Array, t_attitude: Array, q_IB: Array) -> Calibration:
    """Fit M, c and tau of rates (n, 3) to attitudes; M is over sensor axes, so that w_B = M z + c."""
    middle, rate = rates(t_attitude, q_IB)
    inside = (t > middle[0] + OFFSET_S) & (t < middle[-1] - OFFSET_S)
    A = np.concatenate([z[inside], np.ones((int(inside.sum()), 1))], axis=1)

    def at(tau: float) -> tuple[Array, Array]:  # not the noisy gyro is interpolated: its noise would ask for half steps
        w = np.stack([np.interp(t[inside] - tau, middle, rate[:, i]) for i in range(3)], axis=1)
        return w, np.linalg.lstsq(A, w, rcond=None)[0]

    def cost(tau: float) -> float:
        w, x = at(tau)
        return float(((A @ x - w) ** 2).sum())

    tau = float(minimize_scalar(cost, bounds=(-OFFSET_S, OFFSET_S), method="bounded").x)
    w, x = at(tau)
    inverse, rms = np.linalg.pinv(A.T @ A), np.sqrt(((A @ x - w) ** 2).mean(axis=0))
    spread = np.sqrt(np.diagonal(inverse))[:, None] * rms
    step = 0.01
    curvature = (cost(tau + step) - 2.0 * cost(tau) + cost(tau - step)) / step**2
    sigma_tau = float(np.sqrt(2.0 * (rms**2).mean() / curvature)) if curvature > 0.0 else np.inf
    unknown = [f"matrix_{a}{b}" for i, a in enumerate("xyz") for j, b in enumerate("xyz") if spread[j, i] > UNKNOWN]
    return Calibration(
        {"matrix": x[:3].T, "bias": x[3], "time_offset_s": np.array(tau)},
        {"matrix": spread[:3].T, "bias": spread[3], "time_offset_s": np.array(sigma_tau)},
        [*unknown, *(["time_offset_s"] if sigma_tau > OFFSET_S else [])],
        float(np.sqrt((rms**2).mean())), float(np.sqrt(((A[:, :3] - at(0.0)[0]) ** 2).mean())),
    )  # fmt: skip


def rates(t: Array, q_IB: Array) -> tuple[Array, Array]:
    """Return times in the middle of two attitudes and the mean rates between them, gaps left out."""
    step = np.diff(t)
    w = quaternion.log(quaternion.mul(quaternion.conj(q_IB[:-1]), q_IB[1:])) / step[:, None]
    good = step < MOST_STEPS * np.median(step)
    return 0.5 * (t[1:] + t[:-1])[good], w[good]


def _sigma(J: Array, residuals: Array) -> Array:
    """Return standard deviations; what J does not see has a huge one."""
    eigenvalues, vectors = np.linalg.eigh(J.T @ J)
    variance = (vectors**2 / np.maximum(eigenvalues, 1e-12)).sum(axis=1)
    return np.sqrt(variance * float(np.mean(residuals**2)))
