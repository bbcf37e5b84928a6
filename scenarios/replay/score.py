"""How good and how honest the estimates are, by a second pass over what was written.

Errors against the truth T, in the body's axes: a = log(q_IB* q_IT q_BT*), dr = R_IB^T (r_IT - r_IB) - r_BT, with the
constant offset of the truth's frames, of the body or of the world: none, or the one that makes the mean square least
(`align`). Heading and inclination are told apart: errors of the two have different causes. NEES is that of the attitude
(3), or of the pose (6). Errors of one flight are correlated in time, so no band of their mean is stated, but the
fraction of times at which NEES is within the central 95 % of chi-square.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

from gnc import quaternion
from gnc.estimators import consistency
from gnc.estimators.kalman import gate
from gnc.scenarios.replay.config import Score, Truth

Array = Any

ROWS = 16384  # at a time
LAGS = 10
IDENTITY, ZERO = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3)
SAMPLE = 100_000  # of which a median is taken
ODD_DEG, CONSTANT, OPPOSITE_DEG = 5.0, 0.5, 170.0  # RMS from which axes are doubted if a constant turn halves it


def _slices(records: Array) -> Iterator[Array]:
    for start in range(0, len(records), ROWS):
        yield records[start : start + ROWS]


def _counted(records: Array, score: Score) -> Array:
    """Tell which times count: inside of the interval, with a truth, while it moves enough."""
    t = records["t"].astype(float)
    low = -np.inf if score.from_s is None else score.from_s
    high = np.inf if score.to_s is None else score.to_s
    known = np.isfinite(records["truth_q_IB"]).all(axis=1) & (t >= low) & (t <= high)
    with np.errstate(invalid="ignore"):
        return known & (records["truth_turn"] >= np.radians(score.min_rate_deg_s)) & (records["truth_mask"] > 0.0)


class Offset(NamedTuple):
    """Constant rotations and shifts between the frames of the truth (world W, body T) and the filter's (I, B)."""

    q_WI: Array = IDENTITY
    q_BT: Array = IDENTITY
    r_W: Array = ZERO  # origin of I from that of W, in axes of I
    r_BT: Array = ZERO

    def attitude(self, q_WT: Array) -> Array:
        """Return the truth's q_IB."""
        return quaternion.mul(quaternion.mul(quaternion.conj(self.q_WI), q_WT), quaternion.conj(self.q_BT))

    def place(self, r_WT: Array) -> Array:
        """Return the truth's position in I."""
        return quaternion.inverse_rotate(self.q_WI, r_WT) - self.r_W


def offset(records: Array, score: Score, how: str, with_position: bool) -> Offset:
    """Return the offset by least squares over the times that count: of body, world, both, or the world's heading.

    The mean rotation is the eigenvector of the largest eigenvalue of sum d d^T, d = q_IB* q_IT. Source: Markley et al.,
    "Averaging Quaternions", J. Guidance, Control, and Dynamics 30 (2007) 1193.
    """
    found = Offset()
    for side in {"both": ("world", "body") * 4}.get(how, (how,)):
        K = np.zeros((4, 4))
        for part in _slices(records):
            part = part[_counted(part, score)]
            q_true, q_IB = found.attitude(part["truth_q_IB"].astype(float)), part["q_IB"].astype(float)
            pair = (quaternion.conj(q_IB), q_true) if side == "body" else (q_true, quaternion.conj(q_IB))
            d = quaternion.mul(*pair)
            K += d.T @ d
        if not np.isfinite(K).all():  # the filter is lost
            return found
        if side == "heading":  # a turn about the vertical
            K[1:3] = K[:, 1:3] = 0.0
        turn = quaternion.canonical(np.linalg.eigh(K)[1][:, -1])
        if side == "body":
            found = found._replace(q_BT=quaternion.mul(turn, found.q_BT))
        else:
            found = found._replace(q_WI=quaternion.mul(found.q_WI, turn))
    return _shifted(records, score, how, found) if with_position else found


def _shifted(records: Array, score: Score, how: str, found: Offset) -> Offset:
    """Return the offset with the mean difference of positions, in axes of the body or of the world."""
    r_sum, n = np.zeros(3), 0
    for part in _slices(records):
        part = part[_counted(part, score)]
        d = found.place(part["truth_r_IB"].astype(float)) - part["r_IB"].astype(float)
        r_sum += (quaternion.inverse_rotate(part["q_IB"].astype(float), d) if how == "body" else d).sum(axis=0)
        n += len(d)
    return found._replace(**{"r_BT" if how == "body" else "r_W": r_sum / max(n, 1)})


def errors(part: Array, found: Offset, with_position: bool) -> Array:
    """Return (a, dr) of records."""
    q_IB = part["q_IB"].astype(float)
    a = quaternion.log(quaternion.mul(quaternion.conj(q_IB), found.attitude(part["truth_q_IB"].astype(float))))
    if not with_position:
        return a
    dr = found.place(part["truth_r_IB"].astype(float)) - part["r_IB"].astype(float)
    return np.concatenate([a, quaternion.inverse_rotate(q_IB, dr) - found.r_BT], axis=1)


def apart(part: Array, e: Array) -> Array:
    """Return heading about the inertial z axis and inclination of errors [rad]: q_e = q_z(heading) q(inclination)."""
    q = quaternion.exp(quaternion.rotate(part["q_IB"].astype(float), e[:, :3]))
    upright = np.sqrt(q[:, 0] ** 2 + q[:, 3] ** 2)
    return np.stack([2.0 * np.arctan2(q[:, 3], q[:, 0]), 2.0 * np.arctan2(np.hypot(q[:, 1], q[:, 2]), upright)], axis=1)


def against_truth(records: Array, truth: Truth, score: Score) -> dict[str, Any]:
    """Return RMS errors and NEES over the times that count."""
    names = records.dtype.names or ()
    position = truth.position is not None and "r_IB" in names
    found = offset(records, score, truth.aligned, position) if truth.aligned else Offset()
    size = 6 if position else 3
    band = chi2.ppf(0.025, size), chi2.ppf(0.975, size)
    squares, parts, rate_square, nees_sum, inside, n, with_truth = np.zeros(size), np.zeros(2), 0.0, 0.0, 0, 0, 0
    sampled, every = [], max(1, len(records) // SAMPLE)
    for part in _slices(records):
        with_truth += int(np.isfinite(part["truth_q_IB"]).all(axis=1).sum())
        part = part[_counted(part, score)]
        e = errors(part, found, position)
        squares, n = squares + (e * e).sum(axis=0), n + len(e)
        parts += (apart(part, e) ** 2).sum(axis=0)
        if truth.rate is not None:
            w = quaternion.rotate(found.q_BT, part["truth_w_B"].astype(float))
            rate_square += float(((w - part["w_B"]) ** 2).sum())
        if "C" in names:
            nees = consistency.nees(e, part["C"][:, :size, :size].astype(float))
            sampled.append(nees[::every])
            nees_sum += float(np.nansum(nees))
            inside += int(((nees >= band[0]) & (nees <= band[1])).sum())
    return _told(squares, rate_square, nees_sum, inside, n) | {
        "times": len(records),
        "with_truth": with_truth,
        "nees_size": size,
        "rms_rate_deg_s": float(np.degrees(np.sqrt(rate_square / n))) if truth.rate is not None and n else None,
        "rms_heading_deg": float(np.degrees(np.sqrt(parts[0] / n))) if n else None,
        "rms_inclination_deg": float(np.degrees(np.sqrt(parts[1] / n))) if n else None,
        "nees_median": _median(np.concatenate(sampled)) if sampled else None,
        "offset": {name: value.tolist() for name, value in found._asdict().items()} if truth.aligned else None,
    }


def turned(records: Array, score: Score) -> str | None:
    """Doubt the axes of a truth against which errors are large and nearly constant."""
    part = records[:: max(1, len(records) // ROWS)]
    part = part[_counted(part, score)]
    if not len(part):
        return None
    rms = lambda found: float(np.degrees(np.sqrt((errors(part, found, False) ** 2).sum(axis=1).mean())))  # noqa: E731
    for side in ("heading", "world", "body"):
        found = offset(part, score, side, False)
        if (before := rms(Offset())) > ODD_DEG and rms(found) < CONSTANT * before:
            angle = np.degrees(quaternion.angle_between(found.q_BT if side == "body" else found.q_WI, IDENTITY))
            sign = ", turn the sign of the accelerometer" if angle > OPPOSITE_DEG else ""
            return (
                f"truth: its {side} axes are turned by {angle:.0f} deg: map them{sign}, or set truth.align = {side!r}"
            )
    return None


def _median(values: Array) -> float | None:
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) else None


def _told(squares: Array, rate_square: float, nees_sum: float, inside: int, n: int) -> dict[str, Any]:
    rms = np.sqrt(squares / n) if n else np.full(len(squares), np.nan)
    metres = float(np.sqrt((rms[3:] ** 2).sum())) if len(rms) == 6 else None
    return {
        "scored": n,
        "rms_deg": float(np.degrees(np.sqrt((rms[:3] ** 2).sum()))),
        "rms_axes_deg": np.degrees(rms[:3]).tolist(),
        "rms_m": metres,
        "nees": nees_sum / n if n and nees_sum else None,
        "nees_inside_95": inside / n if n and nees_sum else None,
    }


def nis_band(size: int, counts: Array, gate_probability: float) -> tuple[Array, Array]:
    """Return the 95 % band of the mean NIS of so many measurements that the gate let in.

    The gate cuts the tail off: the mean of what passes is less than m by the factor F_(m+2)(g) / F_m(g), F the
    distribution function of chi-square and g the gate; the band moves with it.
    """
    band, factor = consistency.mean_band(size, counts), 1.0
    if gate_probability < 1.0:
        factor = chi2.cdf(gate(gate_probability, size), size + 2) / gate_probability
    return factor * np.asarray(band.lo), factor * np.asarray(band.hi)


def innovations(records: Array, gate_probability: float) -> dict[str, Any]:
    """Return counts, mean NIS with its band, mean and RMS of each axis over its sigma, and whiteness of innovations.

    The mean and its band are of the measurements that were used; `nis_median_ratio`, to the median of chi-square, is of
    all, since many rejections are a sign that the noise is larger than stated.
    """
    m, n, total = records["y"].shape[1], 0, 0.0
    axes = np.zeros((2, m))  # sums of each component over its sigma, and of its square
    for part in _slices(records):
        part = part[part["used"] > 0.0]
        n, total = n + len(part), total + float(part["nis"].sum())
        u = part["y"].astype(float) / np.sqrt(np.diagonal(part["S"], axis1=1, axis2=2).astype(float))
        axes += u.sum(axis=0), (u * u).sum(axis=0)
    sample = records["nis"][:: max(1, len(records) // SAMPLE)]
    low, high = nis_band(m, max(n, 1), gate_probability)
    correlation, half = whiteness(records)
    return {
        "used": n,
        "rejected": int(len(records) - n),
        "size": m,
        "nis": total / n if n else None,
        "nis_band": [float(low), float(high)],
        "axis_mean": (axes[0] / max(n, 1)).tolist(),
        "axis_rms": np.sqrt(axes[1] / max(n, 1)).tolist(),
        "nis_median_ratio": float(np.median(sample) / chi2.median(m)),
        "correlation": correlation.tolist(),
        "correlation_band": half,
    }


def whiteness(records: Array, lags: int = LAGS) -> tuple[Array, float]:
    """Return the autocorrelation of the normalised innovations that were used, lags 1 to `lags`, and its 95 % band."""
    products, square, count = np.zeros(lags), 0.0, 0
    tail = np.zeros((0, records["y"].shape[1]))
    for part in _slices(records):
        part = part[part["used"] > 0.0]
        u = np.concatenate([tail, consistency.whitened(part["y"].astype(float), part["S"].astype(float))])
        new = len(tail)
        for lag in range(1, lags + 1):
            first = max(new - lag, 0)
            products[lag - 1] += float((u[first : len(u) - lag] * u[first + lag :]).sum()) if len(u) > lag else 0.0
        square, count = square + float((u[new:] ** 2).sum()), count + u[new:].size
        tail = u[-lags:]
    return (products / square if square else products), float(1.96 / np.sqrt(max(count, 1)))
