"""The outcome of a replay as one dictionary: what was in the log, what was used, how good and how honest it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gnc.scenarios.replay import plausibility, score, tuning
from gnc.scenarios.replay.imu_run import ImuRunner
from gnc.scenarios.replay.inertial import LONGEST_GAP_S, tells_attitude
from gnc.scenarios.replay.motion_filters import Moving
from gnc.scenarios.replay.session import Session
from gnc.scenarios.replay.stream import LogStream

DROPPING = ("no stamp", "wild stamp", "late", "incomplete", "saturated", "bad norm", "repeated", "before start")
MOST = 0.5  # of a sensor's measurements: from there on their refusal is a failure
DRIVES = 0.4  # of the time: away from its place for longer a body is a vehicle
VAGUE_DEG, OFTEN, LOOKED_AT = 20.0, 0.2, 2000  # an attitude that is not known, share of the time, estimates
MANY = 0.1  # of a quantity's rows: from there on a rule that drops them is worth a warning


def outcome(session: Session, log: Path) -> dict[str, Any]:
    """Account for a session that has run."""
    estimates = session.results.estimates()
    data = {_name(s): _data(s) for s in session.streams}
    found = {c.name: session.results.innovations_of(i) for i, c in enumerate(session.channels)}
    gate = session.config.filter.gate_probability
    sensors = {name: score.innovations(records, gate) for name, records in found.items() if records is not None}
    rest = session.evidence.at_rest()
    truth = session.config.truth
    noise = dataclasses.asdict(session.runner.noise) if isinstance(session.runner, ImuRunner) else None
    axes = [score.turned(estimates, session.config.score)] if truth is not None and not truth.aligned else []
    longest_s = {_name(session.streams[0]): LONGEST_GAP_S} if session.config.filter.kind == "ins" else {}
    contradictions, imu = plausibility.contradictions(session.evidence), session.runner
    span = float(estimates["t"][-1] - estimates["t"][0]) if len(estimates) else 0.0
    judged = score.against_truth(estimates, truth, session.config.score) if truth is not None else None
    return {
        "replay": str(log),
        "filter": session.config.filter.kind,
        "estimates": len(estimates),
        "span_s": span,
        "lost_s": session.results.lost_s,
        "recoveries": session.runner.recoveries,
        "data": data,
        "malformed_lines": sum(feed.table.malformed for feed in session.feeds),
        "sensors": sensors,
        "bias": _bias(session, estimates),
        "truth": judged,
        "rest": rest,
        "noise": noise,
        "motion": _motion(session),
        "hints": tuning.hints(session.config.filter.kind, sensors, rest, plausibility.spreads(session.evidence)),
        "warnings": [
            *_warnings(data, longest_s, getattr(imu, "clipped", ())),
            *contradictions,
            *plausibility.doubts(session.evidence),
            *filter(None, axes),
            *([f"magnetometer: {imu.iron}"] if isinstance(imu, ImuRunner) and imu.iron else []),
            *(_clipped(imu) if isinstance(imu, ImuRunner) else []),
        ],
        "failures": [
            *_unjudged(len(estimates), judged),
            *_failures(sensors),
            *_untrusted(contradictions, session, span),
            *_vague(estimates),
            *_torn(_name(session.streams[0]), data),
        ],
        "timing": {
            "seconds": session.seconds,
            "cpu_seconds": session.cpu_seconds,
            "times_real_time": span / session.seconds if session.seconds else None,
        },
    }


def _name(stream: LogStream) -> str:
    return stream.name.removeprefix("sensors.")


def _data(stream: LogStream) -> dict[str, Any]:
    counts = stream.counts
    return {
        "rows": counts["rows"],
        "empty": counts["empty"],
        "measurements": counts["measurements"],
        "start": counts["start"],
        "flagged": counts["flagged"],
        "dropped": {rule: counts[rule] for rule in DROPPING if counts[rule]},
        "gaps": counts["gaps"],
        "longest_gap_s": stream.longest_gap_s,
        "step_s": stream.step_s,
        "jitter_s": stream.jitter_s,
    }


def _bias(session: Session, estimates: Any) -> dict[str, Any] | None:
    """Return the last bias of the gyro with its standard deviations [rad/s]."""
    names = estimates.dtype.names or ()
    if "bias" not in names or not len(estimates):
        return None
    rows = [i for i, name in enumerate(session.filter.errors) if name.startswith("bias")]
    last = estimates[-1]
    sigma = np.sqrt(np.diagonal(last["C"])) if "C" in names else last["sigma"]
    return {"rad_s": last["bias"].tolist(), "sigma_rad_s": sigma[rows].tolist()}


def _motion(session: Session) -> dict[str, Any] | None:
    """Return the models of motion that the data told."""
    if not isinstance(session.filter, Moving):
        return None
    return {name: dataclasses.asdict(getattr(session.filter, name)) for name in ("turning", "moving")}


def _unjudged(count: int, judged: Mapping[str, Any] | None) -> list[str]:
    """Tell of a log that is hardly read, and of a truth that judges nothing: neither is a success."""
    said = [f"there is {count} estimate: see which rules dropped the rows"] if count == 1 else []
    if judged is not None and not judged["scored"]:
        said.append("nothing was scored against the truth: see its times and rows, and [score]")
    return said


def _failures(sensors: dict[str, dict[str, Any]]) -> list[str]:
    """Tell of sensors that the filter refused most of the time: the estimates stand on nothing then."""
    return [
        f"{name}: refused {s['rejected']} of {s['used'] + s['rejected']} times; check signs, frames, units and noises"
        for name, s in sensors.items()
        if s["rejected"] > MOST * (s["used"] + s["rejected"])
    ]


def _untrusted(contradictions: list[str], session: Session, span: float) -> list[str]:
    """Tell why estimates are not to be trusted though no sensor was refused."""
    said = ["sensors contradict each other, see the warnings: trust no estimate"] if contradictions else []
    runner = session.runner
    if isinstance(runner, ImuRunner) and runner.away_s > DRIVES * span:
        dead = [f"{name} said the same for long" for name in plausibility.stuck(session.evidence)]
        causes = [f"{name} was at the end of its range too often" for name in runner.clipped] + dead
        vehicle = (
            "as a vehicle does, and imu knows motion about a place only: give a position or velocity to kind = 'ins', "
            "or a longer filter.reach_m"
        )
        why = f"or so it seems, as {' and '.join(causes)}: see the warnings" if causes else vehicle
        said.append(f"the body leaves its place for {runner.away_s:.3g} of {span:.3g} s, {why}")
    gap_s = session.streams[0].longest_gap_s
    if session.config.filter.kind == "ins" and gap_s > LONGEST_GAP_S and not tells_attitude(session.config):
        said.append(f"nothing tells the heading behind a gap of {gap_s:.3g} s of the gyro: cut the log there")
    return said


def _torn(name: str, data: dict[str, dict[str, Any]]) -> list[str]:
    """Tell of the first quantity if its stamps are such that what is left is no log of the motion."""
    dropped, filled = data[name]["dropped"], max(data[name]["rows"] - data[name]["empty"], 1)
    said = []
    if dropped.get("late", 0) > MANY * filled:
        said.append(f"{name}: its clock goes back, and {dropped['late']} of {filled} rows are lost: cut the log there")
    if dropped.get("repeated", 0) > MOST * filled:
        said.append(
            f"{name}: {dropped['repeated']} of {filled} stamps are repeated: state log.rate_hz, or finer stamps"
        )
    return said


def _clipped(runner: ImuRunner) -> list[str]:
    """Tell of sensors at the end of their range."""
    return [
        f"{name}: at the end of its range ({clipped.limit:.4g} {clipped.unit}) in {100.0 * clipped.share:.2g} % of its "
        f"numbers, for up to {clipped.longest_s:.2g} s: the peaks are filled in by the slopes beside them"
        for name, clipped in runner.clipped.items()
    ]


def _vague(estimates: Any) -> list[str]:
    """Tell of an attitude that the filter itself does not know for much of the time."""
    some = estimates[:: max(len(estimates) // LOOKED_AT, 1)]
    if not len(some) or not {"C", "sigma"} & {*(some.dtype.names or ())}:
        return []
    known = "C" in some.dtype.names
    sigma = np.sqrt(np.abs(np.diagonal(some["C"], axis1=1, axis2=2))) if known else some["sigma"]
    share = float((np.sqrt((sigma[:, :3].astype(float) ** 2).sum(axis=1)) > np.radians(VAGUE_DEG)).mean())
    told = f"the attitude is not known to {VAGUE_DEG:g} deg (1 sigma) for {100.0 * share:.0f} % of the time: "
    return [told + "more sensors are needed there, or smaller noises (gnc tune)"] if share > OFTEN else []


def _warnings(data: dict[str, dict[str, Any]], longest_s: dict[str, float], mended: Container[str]) -> list[str]:
    said = []
    for name, d in data.items():
        filled = max(d["rows"] - d["empty"], 1)
        said += [
            f"{name}: {number} of {filled} rows were dropped by the rule '{rule}'"
            for rule, number in d["dropped"].items()
            if number > MANY * filled and name not in mended
        ]
        if d["longest_gap_s"] > longest_s.get(name, np.inf):
            said.append(f"{name}: a gap of {d['longest_gap_s']:.3g} s: ins is aligned anew behind it")
        if not d["measurements"]:
            said.append(f"{name}: no measurement was used")
    return said
