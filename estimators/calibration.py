"""Batch calibrations from a log: iron of a magnetometer; matrix, bias and time offset of a gyro; inertia of the body.

    magnetometer   |S (m - b)| = F,            S symmetric (6), b (3): one strength F, whatever the attitude
    gyro           w(t) = M z(t + tau) + c,    w from a differentiated attitude; M: scale, misalignment, mounting
    inertia        R (J w + rho) - sum R tau dt = L,    R from the gyro, L constant over a window of WINDOW_S

All are least squares with standard deviations from the Jacobian and the residuals. A parameter is called undetermined
where its standard deviation is beyond UNKNOWN of what it is measured against: a body that turned about one axis only
tells nothing of the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares, minimize_scalar

from gnc import quaternion
from gnc.typing import Array

UNKNOWN = 0.1  # standard deviation of a parameter, relative to the field or to the unit matrix
OFFSET_S = 0.2  # largest time offset that is looked for
MOST_TRIES = 100  # of the fit: what is not determined would go on for ever
FEWEST, VARIES, LESS, TURNED = 100, 0.08, 1.0 / 3.0, 0.02  # fields; spread of their length; by iron; across all axes
MOST_STEPS = 5.0  # usual steps: beyond is a gap
WINDOW_S, BIN_S = 20.0, 0.25  # over which the gyro's attitude is good enough; means of which the fit is made


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


def carries_iron(m: Array) -> bool:
    """Tell whether the length of fields (n, 3) varies, and hardly does so about another centre, by a linear fit.

    |m|^2 = 2 m.b + c
    """
    if len(m) < FEWEST:
        return False
    A = np.column_stack([2.0 * m, np.ones(len(m))])
    b = np.linalg.lstsq(A, (m * m).sum(axis=1), rcond=None)[0][:3]
    spread = [float(lengths.std() / lengths.mean()) for lengths in (np.linalg.norm(z, axis=1) for z in (m, m - b))]
    u = (m - b) / np.linalg.norm(m - b, axis=1)[:, None]
    turned = np.linalg.eigvalsh(u.T @ u / len(u))[0] > TURNED
    return bool(spread[0] > VARIES and spread[1] < LESS * spread[0] and turned)


_SIX = ("xx", "yy", "zz", "xy", "xz", "yz")
_IRON = tuple(f"hard_iron_{a}" for a in "xyz") + tuple(f"soft_iron_{a}" for a in _SIX)


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


def inertia(t: Array, w_B: Array, tau_B: Array, rho_B: Array) -> Calibration:
    """Fit J to rates under known torques and wheels' momenta; without any, its ratios: the trace is 1 then.

    J is linear in the momentum, so every window gives 3 equations per bin for J and its own L. What the gyro's noise
    adds to the normal equations, by which J would be too small, and known where the body hardly turns, is taken out.
    """
    scaled, dt = bool(np.any(tau_B) or np.any(rho_B)), float(np.median(np.diff(t)))
    size, hop = max(int(WINDOW_S / dt), 2), max(int(BIN_S / dt), 1)
    windows = list(range(0, len(t) - size + 1, size)) or [0]
    n = 6 + 3 * len(windows)
    N, right, square, rows = np.zeros((n, n)), np.zeros(n), 0.0, 0
    for k, first in enumerate(windows):
        part = slice(first, first + size)
        A, b = _momenta(w_B[part], tau_B[part], rho_B[part], dt, hop)
        A = np.concatenate([A, np.tile(-np.eye(3), (len(A) // 3, 1))], axis=1)
        at = np.r_[0:6, 6 + 3 * k : 9 + 3 * k]
        N[np.ix_(at, at)] += A.T @ A
        right[at] += A.T @ b
        square, rows = square + float(b @ b), rows + len(b)
    noise = float(np.mean(np.diff(w_B, 2, axis=0) ** 2)) / 6.0 / hop
    raw = N.copy()
    N[range(6), range(6)] -= rows / 3.0 * noise * np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    free, first_guess = np.eye(n), np.zeros(n)
    if not scaled:  # zz = 1 - xx - yy
        free[2, :2], first_guess[2] = -1.0, 1.0
        free = np.delete(free, 2, axis=1)
    values, vectors = np.linalg.eigh(free.T @ N @ free)
    seen = values > rows * noise  # what does not stand out of the noise is not known
    gain, spread = ((vectors / np.where(seen, values, unseen)) @ vectors.T for unseen in (np.inf, 1e-12))
    x = first_guess + free @ gain @ free.T @ (right - N @ first_guess)
    residual = (square - 2.0 * x @ right + x @ raw @ x) / rows
    sigma = np.sqrt(residual * np.diagonal(free @ spread @ free.T))
    J, name = symmetric(x[:6]), "inertia_kgm2" if scaled else "inertia_ratios"
    unknown = [f"inertia_{n}" for n, s in zip(_SIX, sigma, strict=False) if s > UNKNOWN * abs(np.trace(J)) / 3.0]
    return Calibration(
        {name: J}, {name: symmetric(sigma[:6])}, unknown, float(np.sqrt(residual)), float(np.sqrt(square / rows))
    )


def _momenta(w_B: Array, tau_B: Array, rho_B: Array, dt: float, hop: int) -> tuple[Array, Array]:
    """Return A (3 bins, 6) and b with A j = L + b: momenta in the axes of the window's begin, means over bins."""
    q = [np.array([1.0, 0.0, 0.0, 0.0])]
    for w in w_B[:-1]:
        q.append(quaternion.mul(q[-1], quaternion.exp(dt * w)))
    R = quaternion.to_matrix(quaternion.normalize(np.array(q)))
    x, y, z = w_B.T
    o = np.zeros_like(x)
    by_J = np.array([[x, o, o, y, z, o], [o, y, o, x, o, z], [o, o, z, o, x, y]]).transpose(2, 0, 1)  # J w = by_J j
    impulse = dt * np.cumsum(np.einsum("kij,kj->ki", R, tau_B), axis=0)
    impulse = np.concatenate([np.zeros((1, 3)), impulse[:-1]])
    A, b = R @ by_J, impulse - np.einsum("kij,kj->ki", R, rho_B)
    bins = len(A) // hop
    binned = lambda x: x[: bins * hop].reshape(bins, hop, *x.shape[1:]).mean(axis=1)  # noqa: E731
    return binned(A).reshape(-1, 6), binned(b).ravel()


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
