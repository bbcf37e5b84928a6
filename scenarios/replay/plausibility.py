"""Doubts on units, signs, rates and frames, from what the quantities of a log say of each other.

None of these needs a filter: lengths of gravity and of the Earth's field, the angle between two directions against that
of their references, the gyro against a differentiated attitude and against how directions move, sensors that repeat
themselves, and the spans of the clocks. A doubt is a sentence; it changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import quaternion
from gnc.estimators.imu_clipping import LEAST, limits
from gnc.scenarios.replay.evidence import Evidence
from gnc.scenarios.replay.quantities import SI

Array = Any
Seen = tuple[Any, Array, Array]  # section of a quantity, its times and values

GRAVITY, EARTH_FIELD = (5.0, 50.0), (15e-6, 80e-6)  # plausible lengths [m/s^2] of a body that is shaken, too; [T]
NOISES = 5.0  # by which a motion of a direction has to exceed its noise: chosen by its size, it would look too large
ANGLE_DEG = 20.0  # by which the angle of two directions may differ from that of their references
SLOPE = (0.8, 1.25)  # of the gyro's rate over the one of a differentiated attitude
TURNING, TURN = 0.05, 0.2  # [rad/s] below which rates tell nothing; [rad] beside which noise and jitter are small
SWING_S, SWUNG, OFTEN = (0.05, 0.1, 0.2), 0.1, 0.2  # [s] over which directions move by a share of their length, often
FOLLOWS, SWINGS = 0.4, (0.7, 1.4)  # share of that motion which a gyro explains at least, and at which ratio of rates
STUCK_S = 1.0  # for which a sensor repeats itself to be doubted
SPANS = 1.2  # ratio of two clocks' spans from which a rate is doubted


def contradictions(evidence: Evidence) -> list[str]:
    """Return sentences on sensors that cannot all be right, none if all is plausible."""
    seen, orbit = evidence.first(), evidence.config.orbit is not None
    said = [] if evidence.config.filter.kind == "imu" else _fields(evidence)
    said += [line for sensor, _, z in seen for line in _forces(sensor, z)]
    said += [line for i, a in enumerate(seen) for b in seen[:i] for line in _angles(a, b)]
    gyros = [x for x in seen if _kind(x[0]) == "gyro"]
    turned = [x for x in seen if _kind(x[0]) in ("attitude", "pose", "truth")]
    said += [line for gyro in gyros for attitude in turned for line in _rates(gyro, attitude)]
    fields = [x for x in seen if _kind(x[0]) == "magnetometer" or (_kind(x[0]) == "vector" and not _moving(x[0]))]
    said += [line for gyro in gyros for field in fields for line in _swings(gyro, field, orbit)]
    return said


def doubts(evidence: Evidence) -> list[str]:
    """Return sentences on what is odd, and may be true."""
    scaled = _fields(evidence) if evidence.config.filter.kind == "imu" else []  # it takes a field in any unit
    return [*scaled, *_clipped(evidence), *_stuck(evidence), *_clocks(evidence)]


def _moving(sensor: Any) -> bool:
    """Tell whether a direction moves in inertial space, or may."""
    return isinstance(sensor.reference, str) or isinstance(sensor.reference[0], str)


def spreads(evidence: Evidence) -> dict[str, float]:
    """Return by how much the lengths of measured fields spread over the stated noise, where the field rests."""
    spread = {}
    for sensor, _, z in evidence.first():
        if _kind(sensor) == "magnetometer" and not (sensor.reference is not None and _moving(sensor)):
            length = np.sqrt((z[:, :3] ** 2).sum(axis=1))
            usual = float(np.median(length))
            noise = float(np.hypot(sensor.sigma_T, np.radians(sensor.sigma_deg) * usual))
            if noise > 0.0:
                spread[sensor.name] = float(np.median(np.abs(length - usual))) / (0.6745 * noise)
    return spread


def _kind(section: Any) -> str:
    return getattr(section, "kind", "truth")


def _usual_length(z: Array) -> float:
    return float(np.median(np.sqrt((z[:, :3] ** 2).sum(axis=1))))


def _forces(sensor: Any, z: Array) -> list[str]:
    if _kind(sensor) != "accelerometer" or GRAVITY[0] < (length := _usual_length(z)) < GRAVITY[1]:
        return []
    return [f"{sensor.name}: the specific force is usually {length:.3g} m/s^2, gravity 9.8: check its unit"]


def _fields(evidence: Evidence) -> list[str]:
    if evidence.config.orbit is not None:
        return []
    lengths = [(s.name, _usual_length(z)) for s, _, z in evidence.first() if _kind(s) == "magnetometer"]
    return [
        f"{name}: the field is usually {length:.3g} T, the Earth's 2.5e-5 to 6.5e-5: check its unit"
        for name, length in lengths
        if not EARTH_FIELD[0] < length < EARTH_FIELD[1]
    ]


def _swings(gyro: Seen, field: Seen, orbit: bool) -> list[str]:
    """Compare a gyro with how a direction m moves, dm = -s turn x (m - c); c is a magnet on the body, s should be 1."""
    (g, t_g, _), (f, t, z) = gyro, field
    m = z[:, :3] if f.kind == "vector" else quaternion.rotate(f.q_BS, z[:, :3])
    lag, good = _swung(t, m)
    if orbit or good.sum() < 50 or len(t_g) < 3:
        return []
    swept = _swept(gyro, t)
    turn, dm, middle = swept[lag:] - swept[:-lag], m[lag:] - m[:-lag], 0.5 * (m[lag:] + m[:-lag])
    axes = [np.cross(turn[good], axis).ravel() for axis in np.eye(3)]
    A, b = np.stack([-np.cross(turn[good], middle[good]).ravel(), *axes], axis=1), dm[good].ravel()
    x = np.linalg.lstsq(A, b, rcond=None)[0]
    share, slope = 1.0 - float(((A @ x - b) ** 2).sum() / (b @ b)), float(x[0])
    if share < FOLLOWS:
        return [
            f"{g.name} does not turn as {f.name} swings ({share:.2f} of it): check the axes of both, units and signs"
        ]
    told = f"{g.name} turns {1.0 / slope:.3g} times as fast as {f.name} swings: check unit, signs, axes and rates"
    return [] if SWINGS[0] < slope < SWINGS[1] else [told]


def _swept(gyro: Seen, t: Array) -> Array:
    """Return by what the rate of a gyro sums up until times, body axes."""
    g, t_g, w = gyro
    swept = np.cumsum(quaternion.rotate(g.q_BS, w[:, :3]) * np.diff(t_g, prepend=t_g[0])[:, None], axis=0)
    return np.stack([np.interp(t, t_g, swept[:, i]) for i in range(3)], axis=1)


def _swung(t: Array, m: Array) -> tuple[int, Array]:
    """Return the least lag over which a direction often moves noticeably, and from which samples on it does."""
    length, step = np.median(np.sqrt((m * m).sum(axis=1))), np.median(np.diff(t)) if len(t) > 1 else 1.0
    noise = 1.4826 * np.median(np.abs(np.diff(m, n=3, axis=0))) / np.sqrt(20.0) * np.sqrt(6.0) if len(m) > 9 else 0.0
    lag, good = 1, np.zeros(0, bool)
    for swing_s in SWING_S:
        lag = max(round(swing_s / max(float(step), 1e-9)), 1)
        dm = m[lag:] - m[:-lag]
        good = (np.sqrt((dm * dm).sum(axis=1)) > max(SWUNG * length, NOISES * noise)) & (
            t[lag:] - t[:-lag] < 2.0 * lag * step
        )
        if good.sum() > OFTEN * len(t):
            break
    return lag, good


def _clipped(evidence: Evidence) -> list[str]:
    """Doubt sensors that repeat their largest numbers, if no range is stated; imu fills in the peaks and tells so."""
    said = []
    for s, _, z in evidence.first() if evidence.config.filter.kind != "imu" else []:
        limit = np.abs(limits(z[:, :3], s.kind)) if _kind(s) in LEAST and s.range is None else np.full(1, np.inf)
        if np.isfinite(limit).any():
            most = limit.min() / SI[s.unit]
            said.append(f"{s.name}: seems to be at the end of its range of {most:.4g} {s.unit}: state range")
    return said


def stuck(evidence: Evidence) -> dict[str, tuple[float, float]]:
    """Return for how long and from when on sensors with noise say the same, if they usually do not."""
    found = {}
    parts = (evidence.streams, evidence.sections, evidence.spans, evidence.stuck, evidence.repeats)
    for stream, section, (a, b), (held, since), n in zip(*parts, strict=True):
        noisy = section is not None and _kind(section) in ("gyro", "accelerometer", "magnetometer")
        if noisy and STUCK_S < held < b - a and n * (stream.step_s or 0.0) < 2.0 * held:
            found[stream.name.removeprefix("sensors.")] = held, since
    return found


def _stuck(evidence: Evidence) -> list[str]:
    return [
        f"{name}: says the same for {held:.3g} s from {since:.6g} s on: it may have been dead"
        for name, (held, since) in stuck(evidence).items()
    ]


def _clocks(evidence: Evidence) -> list[str]:
    names = [s.name.removeprefix("sensors.") for s in evidence.streams]
    spans = [(name, b - a) for name, (a, b) in zip(names, evidence.spans, strict=True) if b > a]
    if not spans:
        return []
    (short, least), (long, most) = (pick(spans, key=lambda x: x[1]) for pick in (min, max))
    told = f"{long} spans {most:.4g} s and {short} {least:.4g} s, {most / least:.3g} times less: check rates and units"
    return [] if most < SPANS * least else [told]


def _reference(sensor: Any, z: Array) -> Array | None:
    """Return the directions in inertial axes that rows refer to, where the log or the configuration has them."""
    reference = getattr(sensor, "reference", None)
    if not isinstance(reference, tuple) or sensor.kind == "range":
        return None
    return np.broadcast_to(reference, (len(z), 3)) if not isinstance(reference[0], str) else z[:, 3:6]


def _angles(a: Seen, b: Seen) -> list[str]:
    """Compare the angle between two measured directions with that between their references: no attitude changes it."""
    references = [_reference(sensor, z) for sensor, _, z in (a, b)]
    if references[0] is None or references[1] is None:
        return []
    (_, t_a, z_a), (_, t_b, z_b) = a, b
    k: Array = np.clip(np.searchsorted(t_b, t_a), 0, len(t_b) - 1)
    near = np.abs(t_b[k] - t_a) < 0.1
    if not near.any():
        return []
    body = _between(quaternion.rotate(a[0].q_BS, z_a[near, :3]), quaternion.rotate(b[0].q_BS, z_b[k[near], :3]))
    world = _between(references[0][near], references[1][k[near]])
    measured, stated = float(np.median(body)), float(np.median(world))
    if abs(measured - stated) < ANGLE_DEG:
        return []
    turned = "; one of them points the other way" if abs(180.0 - measured - stated) < ANGLE_DEG else ""
    return [
        f"{a[0].name} and {b[0].name} are usually {measured:.0f} deg apart and their references {stated:.0f}: "
        f"check signs, axes and references{turned}"
    ]


def _between(a: Array, b: Array) -> Array:
    """Return angles [deg]."""
    with np.errstate(invalid="ignore", divide="ignore"):
        c = (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return np.degrees(np.arccos(np.clip(c, -1.0, 1.0)))


def _rates(gyro: Seen, attitude: Seen) -> list[str]:
    """Compare the turns of a gyro with those of an attitude: their slope tells unit, rate of the clock and sign.

    Turns, not rates: a rate over a step is as wrong as its two stamps, and the fastest would be those of short steps.
    """
    name = getattr(attitude[0], "name", "truth")
    t, q = attitude[1], attitude[2][:, :4]
    if len(t) < 3:
        return []
    (lag, turn), step, swept = _turned(t, q), float(np.median(np.diff(t))), _swept(gyro, t)
    w, size, span = swept[lag:] - swept[:-lag], np.sqrt((turn * turn).sum(axis=1)), t[lag:] - t[:-lag]
    good = (span < (lag + 4.0) * step) & (t[:-lag] > gyro[1][0]) & (t[lag:] < gyro[1][-1])
    good &= size > max(TURNING * lag * step, float(np.median(size[good])) if good.any() else 0.0)
    if good.sum() < 10:
        return []
    sizes = np.sqrt((w[good] ** 2).sum(axis=1))
    slope = float(np.median(sizes / size[good]))
    if not SLOPE[0] < slope < SLOPE[1]:
        likely = " (57.3 is between rad/s and deg/s)" if 45.0 < max(slope, 1.0 / slope) < 72.0 else ""
        return [f"{gyro[0].name} turns {slope:.3g} times as fast as {name}: check its unit and the rates{likely}"]
    agreement = float(np.median((w[good] * turn[good]).sum(axis=1) / np.maximum(sizes * size[good], 1e-12)))
    if getattr(attitude[0], "align", False) or agreement > 0.7:
        return []
    return [
        f"{gyro[0].name} and {name} turn as fast, about other axes ({agreement:.2f}): check signs, axes and rotation"
    ]


def _turned(t: Array, q: Array) -> tuple[int, Array]:
    """Return the least lag over which an attitude often turns by more than noise and jitter, and its turns."""
    lag, step = 1, float(np.median(np.diff(t)))
    while True:
        turn = quaternion.log(quaternion.mul(quaternion.conj(q[:-lag]), q[lag:]))
        often = np.quantile(np.sqrt((turn * turn).sum(axis=1)), 0.75) > TURN
        if often or lag * step * TURNING > TURN or 4 * lag > len(t):
            return lag, turn
        lag *= 2
