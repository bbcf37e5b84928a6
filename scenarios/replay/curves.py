"""What the plots show, thinned from the records so that a log of any length gives a few thousand points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gnc.scenarios.replay import score
from gnc.scenarios.replay.session import Session

Array = Any

AXES = "xyz"
POINTS = 2000
BINS = 150
FEWEST_IN_BIN = 20
SIGMAS = 3.0


class Curve(NamedTuple):
    """One quantity in three axes with its bounds of three sigma."""

    title: str
    unit: str
    t: Array  # (n,)
    y: Array | None  # (n, 3) error or estimate; None: only the bounds are known
    bound: Array  # (n, 3) about zero, or about y if that is an estimate
    about_zero: bool


class NisCurve(NamedTuple):
    """NIS of a sensor averaged over short spans of time, with the 95 % band of each mean."""

    sensor: str
    size: int
    t: Array  # (bins,)
    mean: Array
    lo: Array
    hi: Array
    rejected: Array  # times of rejected measurements, thinned


def states(session: Session, outcome: dict[str, Any]) -> list[Curve]:
    """Return errors of attitude and position with their bounds, and the bias."""
    records = session.results.estimates()
    part = records[:: max(1, -(-len(records) // POINTS))]
    names, t = part.dtype.names or (), part["t"].astype(float)
    sigma = part["sigma"] if "sigma" in names else np.sqrt(np.maximum(np.diagonal(part["C"], axis1=1, axis2=2), 0.0))
    error, truth = None, outcome["truth"]
    position = "r_IB" in names and session.config.truth is not None and session.config.truth.position is not None
    if truth is not None:
        offset = truth["offset"] or {"q_BT": [1.0, 0.0, 0.0, 0.0], "r_BT": [0.0, 0.0, 0.0]}
        error = score.errors(part, np.array(offset["q_BT"]), np.array(offset["r_BT"]), position)
    degrees = None if error is None else np.degrees(error[:, :3])
    found = [Curve("attitude error", "deg", t, degrees, SIGMAS * np.degrees(sigma[:, :3]), True)]
    if "r_IB" in names:
        metres = error[:, 3:] if error is not None and position else None
        found.append(Curve("position error, body axes", "m", t, metres, SIGMAS * sigma[:, 3:6], True))
    rows = [i for i, name in enumerate(session.filter.errors) if name.startswith("bias")][:3]
    if rows:
        bias, bound = np.degrees(part["bias"][:, :3].astype(float)), SIGMAS * np.degrees(sigma[:, rows])
        found.append(Curve("gyro bias", "deg/s", t, bias, bound, False))
    return found


def nis(session: Session) -> list[NisCurve]:
    """Return the mean NIS of every sensor over time."""
    found, gate = [], session.config.filter.gate_probability
    for i, channel in enumerate(session.channels):
        records = session.results.innovations(i)
        if records is None:
            continue
        means, refused = _binned(records)
        if not means:
            continue
        t, mean, count = np.array(means).T
        m = records["y"].shape[1]
        found.append(NisCurve(channel.name, m, t, mean, *score.nis_band(m, count, gate), refused))
    return found


def _binned(records: Array) -> tuple[list[tuple[float, float, int]], Array]:
    """Return time, mean NIS and count of the used measurements of each bin, and some times of the refused ones."""
    means, refused = [], []
    edges = np.linspace(0, len(records), int(np.clip(len(records) // FEWEST_IN_BIN, 1, BINS)) + 1).astype(int)
    for first, last in zip(edges[:-1], edges[1:], strict=True):
        part = records[first:last]
        used = part["used"] > 0.0
        refused.append(part["t"][~used][: POINTS // BINS].astype(float))
        if used.any():
            means.append((float(part["t"][used].mean()), float(part["nis"][used].mean()), int(used.sum())))
    return means, np.concatenate(refused)
