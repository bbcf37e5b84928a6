"""How good and how honest the estimates are, by a second pass over what was written.

Errors against the truth T, in the body's axes: a = log(q_IB* q_IT q_BT*), dr = R_IB^T (r_IT - r_IB) - r_BT, with the
constant offset (q_BT, r_BT) of the truth's frame: none, or the one that makes the mean square least (`align`). NEES is
that of the attitude (3), or of the pose (6). Errors of one flight are correlated in time, so no band of their mean is
stated, but the fraction of times at which NEES is within the central 95 % of chi-square.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import chi2

from gnc import quaternion
from gnc.estimators import consistency
from gnc.estimators.kalman import gate
from gnc.scenarios.replay.config import Score, Truth

Array = Any

ROWS = 16384  # at a time
LAGS = 10
SAMPLE = 100_000  # of which a median is taken


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


def offset(records: Array, score: Score, with_position: bool) -> tuple[Array, Array]:
    """Return q_BT and r_BT by least squares over the times that count.

    The mean rotation is the eigenvector of the largest eigenvalue of sum d d^T, d = q_IB* q_IT. Source: Markley et al.,
    "Averaging Quaternions", J. Guidance, Control, and Dynamics 30 (2007) 1193.
    """
    K, r_sum, n = np.zeros((4, 4)), np.zeros(3), 0
    for part in _slices(records):
        part = part[_counted(part, score)]
        q_IB = part["q_IB"].astype(float)
        d = quaternion.mul(quaternion.conj(q_IB), part["truth_q_IB"].astype(float))
        K, n = K + d.T @ d, n + len(d)
        if with_position:
            r_sum += quaternion.inverse_rotate(q_IB, (part["truth_r_IB"] - part["r_IB"]).astype(float)).sum(axis=0)
    return quaternion.canonical(np.linalg.eigh(K)[1][:, -1]), r_sum / max(n, 1)


def errors(part: Array, q_BT: Array, r_BT: Array, with_position: bool) -> Array:
    """Return (a, dr) of records."""
    q_IB = part["q_IB"].astype(float)
    q_true = quaternion.mul(part["truth_q_IB"].astype(float), quaternion.conj(q_BT))
    a = quaternion.log(quaternion.mul(quaternion.conj(q_IB), q_true))
    if not with_position:
        return a
    dr = quaternion.inverse_rotate(q_IB, (part["truth_r_IB"] - part["r_IB"]).astype(float)) - r_BT
    return np.concatenate([a, dr], axis=1)


def against_truth(records: Array, truth: Truth, score: Score) -> dict[str, Any]:
    """Return RMS errors and NEES over the times that count."""
    names = records.dtype.names or ()
    position = truth.position is not None and "r_IB" in names
    q_BT, r_BT = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3)
    if truth.align:
        q_BT, r_BT = offset(records, score, position)
    size = 6 if position else 3
    band = chi2.ppf(0.025, size), chi2.ppf(0.975, size)
    squares, rate_square, nees_sum, inside, n, with_truth = np.zeros(size), 0.0, 0.0, 0, 0, 0
    for part in _slices(records):
        with_truth += int(np.isfinite(part["truth_q_IB"]).all(axis=1).sum())
        part = part[_counted(part, score)]
        e = errors(part, q_BT, r_BT, position)
        squares, n = squares + (e * e).sum(axis=0), n + len(e)
        if truth.rate is not None:
            w = quaternion.rotate(q_BT, part["truth_w_B"].astype(float))
            rate_square += float(((w - part["w_B"]) ** 2).sum())
        if "C" in names:
            nees = consistency.nees(e, part["C"][:, :size, :size].astype(float))
            nees_sum, inside = (
                nees_sum + float(np.nansum(nees)),
                inside + int(((nees >= band[0]) & (nees <= band[1])).sum()),
            )
    return _told(squares, rate_square, nees_sum, inside, n) | {
        "times": len(records),
        "with_truth": with_truth,
        "nees_size": size,
        "rms_rate_deg_s": float(np.degrees(np.sqrt(rate_square / n))) if truth.rate is not None and n else None,
        "offset": {"q_BT": q_BT.tolist(), "r_BT": r_BT.tolist()} if truth.align else None,
    }


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
    """Return counts, mean NIS with its band, and the whiteness of a sensor's innovations.

    The mean and its band are of the measurements that were used; `nis_median_ratio`, to the median of chi-square, is of
    all, since many rejections are a sign that the noise is larger than stated.
    """
    m, n, total = records["y"].shape[1], 0, 0.0
    for part in _slices(records):
        used = part["nis"][part["used"] > 0.0]
        n, total = n + len(used), total + float(used.sum())
    sample = records["nis"][:: max(1, len(records) // SAMPLE)]
    low, high = nis_band(m, max(n, 1), gate_probability)
    correlation, half = whiteness(records)
    return {
        "used": n,
        "rejected": int(len(records) - n),
        "size": m,
        "nis": total / n if n else None,
        "nis_band": [float(low), float(high)],
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
