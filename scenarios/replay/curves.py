"""What page and figures show, thinned from the records so that a log of any length gives a few thousand points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.scenarios.replay import score
from gnc.scenarios.replay.folder import Kept
from gnc.scenarios.report.plot import Plot, Series

Array = Any

AXES, TIME = "xyz", "time [s]"
POINTS = 2000
BINS = 150
FEWEST_IN_BIN = 20
SIGMAS = 3.0
DEGREE = np.pi / 180.0
MORE = {  # estimates beside the motion: their title, unit, and its size in SI
    "bias": ("gyro bias", "deg/s", DEGREE),
    "magnet_B": ("magnet on the body", "uT", 1e-6),
    "magnet_I": ("magnet in the room", "uT", 1e-6),
    "dipole": ("residual dipole", "A m^2", 1.0),
}
OF_SENSORS = {"tilt": ("deg", DEGREE), "hard_iron": ("nT", 1e-9)}  # the same of a sensor, which their name goes on with


class Curve(NamedTuple):
    """One quantity in three axes with its bounds of three sigma."""

    title: str
    unit: str
    t: Array  # (n,)
    y: Array | None  # (n, 3) error or estimate; None: only the bounds are known
    bound: Array | None  # (n, 3) about zero, or about y if that is an estimate
    about_zero: bool


def thinned(kept: Kept) -> Array:
    """Return as many of the estimates as a plot needs."""
    records = kept.estimates
    return records[:: max(1, -(-len(records) // POINTS))]


def states(kept: Kept) -> list[Curve]:
    """Return errors, or estimates where there is no truth, with their bounds: attitude, position, rate, biases."""
    part = thinned(kept)
    t, names = part["t"].astype(float), part.dtype.names or ()
    found = [*_motion(kept, part, t), _rate(kept, part, t)]
    known = {n: (n.replace("_", " "), *how) for n in names for k, how in OF_SENSORS.items() if n.startswith(f"{k}_")}
    for name, (title, unit, scale) in (MORE | known).items():
        if name in names:
            y, bound = part[name][:, :3].astype(float) / scale, _bound(kept, part, name, scale)
            found.append(Curve(title, unit, t, y, bound, False))
    return found


def _bound(kept: Kept, part: Array, group: str, scale: float) -> Array | None:
    """Return three sigma of the first vector whose name begins so, in units of `scale`; None if there is none."""
    rows = [i for i, name in enumerate(kept.errors) if name.startswith(f"{group}_")][:3]
    if not rows:
        return None
    if "sigma" in (part.dtype.names or ()):
        return SIGMAS / scale * part["sigma"][:, rows].astype(float)
    return SIGMAS / scale * np.sqrt(np.maximum(np.diagonal(part["C"], axis1=1, axis2=2)[:, rows], 0.0))


def _offset(kept: Kept) -> score.Offset:
    """Return the constant offset of the truth's frames, none if it was not estimated."""
    found = kept.outcome["truth"]["offset"] or {}
    return score.Offset(**{name: np.array(value) for name, value in found.items()})


def _motion(kept: Kept, part: Array, t: Array) -> list[Curve]:
    """Return attitude and position, as errors against the truth if there is one."""
    truth, placed = kept.config.truth, "r_IB" in (part.dtype.names or ())
    turn, shift = _bound(kept, part, "a", DEGREE), _bound(kept, part, "r", 1.0)
    if truth is None:
        turned = quaternion.log(quaternion.canonical(part["q_IB"].astype(float))) / DEGREE
        found = [
            Curve("attitude, rotation vector", "deg", t, turned, None, False),
            Curve("attitude error", "deg", t, None, turn, True),
        ]
        if placed:  # its errors are in body axes, so their bounds are not those of its inertial components
            found.append(Curve("position, inertial axes", "m", t, part["r_IB"].astype(float), None, False))
            found.append(Curve("position error, body axes", "m", t, None, shift, True))
        return found
    known = placed and truth.position is not None
    error = score.errors(part, _offset(kept), known)
    found = [Curve("attitude error", "deg", t, error[:, :3] / DEGREE, turn, True)]
    if placed:
        found.append(Curve("position error, body axes", "m", t, error[:, 3:] if known else None, shift, True))
    return found


def _rate(kept: Kept, part: Array, t: Array) -> Curve:
    """Return the rate, or its error if the truth has one."""
    truth, bound, w_B = kept.config.truth, _bound(kept, part, "w", DEGREE), part["w_B"].astype(float)
    if truth is None or truth.rate is None:
        return Curve("rate", "deg/s", t, w_B / DEGREE, bound, False)
    w_true = quaternion.rotate(_offset(kept).q_BT, part["truth_w_B"].astype(float))
    return Curve("rate error", "deg/s", t, (w_true - w_B) / DEGREE, bound, True)


def limits(curve: Curve) -> tuple[float, float] | None:
    """Return the range of what happens after the first tenth, in which bounds and errors are often huge."""
    y = np.zeros((len(curve.t), 3)) if curve.y is None else curve.y
    bound = np.zeros_like(y) if curve.bound is None else curve.bound
    centre = np.zeros_like(y) if curve.about_zero else y
    values = np.stack([y, centre - bound, centre + bound])[:, len(curve.t) // 10 :]
    values = values[np.isfinite(values)]
    if not values.size or np.ptp(values) == 0.0:
        return None
    room = 0.1 * np.ptp(values)
    return float(values.min() - room), float(values.max() + room)


def plots(curve: Curve, apart: bool) -> list[Plot]:
    """Return one plot for each axis with its bound, or one for all three."""
    low, high = limits(curve) or (-np.inf, np.inf)
    y = None if curve.y is None else np.where((curve.y >= low) & (curve.y <= high), curve.y, np.nan)
    lines = [] if y is None else [Series(axis, y[:, i]) for i, axis in enumerate(AXES)]
    if curve.bound is None:
        return [Plot(curve.title, TIME, f"[{curve.unit}]", curve.t, lines)]
    centre = np.zeros_like(curve.bound) if curve.about_zero or curve.y is None else curve.y
    lower, upper = np.clip(centre - curve.bound, low, high), np.clip(centre + curve.bound, low, high)
    band = lambda name, i: Series(name, None, "band", lower=lower[:, i], upper=upper[:, i])  # noqa: E731
    if apart:
        series = {f", {axis}": [band("3 sigma", i), *lines[i : i + 1]] for i, axis in enumerate(AXES)}
    else:  # a name that begins with _ has the colour of the line before it
        hidden = "_" if lines else ""
        series = {"": [s for i in range(3) for s in (*lines[i : i + 1], band(f"{hidden}3 sigma {AXES[i]}", i))]}
    return [Plot(f"{curve.title}{more}", TIME, f"[{curve.unit}]", curve.t, shown) for more, shown in series.items()]


def nis(kept: Kept) -> list[Plot]:
    """Return the mean NIS of every sensor over short spans of time, with the 95 % band of each mean."""
    shown, gate = [], kept.config.filter.gate_probability
    for name, records in kept.innovations.items():
        t, mean, count, refused = _binned(records)
        if not count.any():
            continue
        m = records["y"].shape[1]
        low, high = (np.where(count > 0, edge, np.nan) for edge in score.nis_band(m, np.maximum(count, 1), gate))
        series = [Series("95 % band", None, "band", lower=low, upper=high), Series("mean NIS", mean, "points")]
        level = np.where(refused > 0, max(np.nanmax(mean), np.nanmax(high)), np.nan)
        series += [Series("some refused", level, "points")] if refused.any() else []
        shown.append(Plot(f"NIS of {name}, {m} numbers", TIME, "", t, series))
    return shown


def _binned(records: Array) -> tuple[Array, Array, Array, Array]:
    """Return the middles of equal spans of time with mean NIS and counts of used and refused; NaN: none was used."""
    t, used = records["t"].astype(float), records["used"] > 0.0
    bins = int(np.clip(len(records) // FEWEST_IN_BIN, 1, BINS)) if t[-1] > t[0] else 1
    edges = np.linspace(t[0], t[-1], bins + 1)
    place = np.clip(np.searchsorted(edges, t, "right") - 1, 0, bins - 1)
    count, refused = (np.bincount(place[which], minlength=bins) for which in (used, ~used))
    total = np.bincount(place[used], records["nis"][used].astype(float), bins)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return 0.5 * (edges[:-1] + edges[1:]), mean, count, refused
