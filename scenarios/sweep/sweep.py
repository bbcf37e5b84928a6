"""Any fields of a mission swept: what varies, the points, and what each point is worth.

A point is a list of settings. Its outcome is kept in a file of its own, named after all that is configured, so that a
sweep that was stopped goes on where it was, and one with more values flies the new ones only.
"""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gnc import check
from gnc.config import digest, flat, override
from gnc.errors import InputError
from gnc.files import read_json, replacing
from gnc.montecarlo import identity
from gnc.scenarios.covariance.analysis import covariance, mapping
from gnc.scenarios.covariance.predict import predictions
from gnc.scenarios.missions.build import prepare
from gnc.scenarios.missions.dispersal import Group
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.run import make_directory, try_directory
from gnc.scenarios.trials import MissionFlight

WAYS = ("covariance", "monte-carlo")
MOST = 10_000  # points
LARGEST_WHOLE = 2.0**53  # of the numbers that are set as whole ones, which fields of both kinds take
PREFIXES = ("", "craft.*.", "software.*.")


@dataclass(frozen=True)
class Axis:
    """Fields that vary together."""

    pattern: str
    keys: tuple[str, ...]
    values: tuple[Any, ...]  # numbers, or words
    ends: tuple[float, float] | None = None  # of a range, for Latin hypercubes
    log: bool = False  # whether the range has equal ratios

    @classmethod
    def of(cls, text: str, mission: Mission) -> Axis:
        """Read `sensors.*.rate_hz=10,1,1/30` or `law.gain=0.1:10:5` (`:log` for equal ratios)."""
        pattern, equals, values = text.partition("=")
        if not equals or not values:
            raise InputError(f"--over {text!r}: expected FIELD=VALUES, such as sensors.*.rate_hz=10,1,1/30")
        known = flat(mission)
        keys = tuple(k for k in known if any(fnmatch.fnmatchcase(k, f"{p}{pattern}") for p in PREFIXES))
        if not keys and "*" not in pattern and pattern.split(".")[0] in type(mission).model_fields:
            keys = (pattern,)  # which the file leaves out; whether there is such a field shows when points are built
        if not keys:
            raise InputError(f"--over {pattern}: there is no such field; gnc show tells which there are")
        if not all(part.strip() for part in re.split("[,:]", values)):
            raise InputError(f"--over {text!r}: one of the values is empty; give all of them")
        parts = values.split(":")
        if len(parts) == 1:
            return cls(pattern, keys, tuple(map(_value, values.split(","))))
        low, high, count = _number(text, parts[0]), _number(text, parts[1]), int(_number(text, (*parts, "5")[2]))
        log = parts[3:] == ["log"]
        fits = low < high and 2 <= count <= MOST and not (log and low <= 0.0)
        if len(parts) > 4 or (parts[3:] and not log) or not fits:
            what = f"low below high, 2 to {MOST} values"
            raise InputError(f"--over {text!r}: a range is LOW:HIGH[:COUNT[:log]], {what}")
        spaced = np.geomspace(low, high, count) if log else np.linspace(low, high, count)
        return cls(pattern, keys, tuple(spaced.tolist()), (low, high), log)

    def settings(self, value: Any) -> list[str]:
        """Return what sets all fields to a value."""
        whole = isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_WHOLE
        told = int(value) if whole else repr(value) if isinstance(value, float) else value
        return [f"{key}={told}" for key in self.keys]


def _value(text: str) -> Any:
    try:
        return check.number(text)
    except ValueError:
        return text.strip()


def _number(option: str, text: str) -> float:
    value = _value(text)
    if not isinstance(value, float):
        raise InputError(f"--over {option!r}: {text!r} is no number")
    return value


def points(axes: Sequence[Axis], latin: int = 0, seed: int = 0) -> list[tuple[Any, ...]]:
    """Return the points: all of a grid, or so many of a Latin hypercube."""
    if (count := latin or math.prod(len(axis.values) for axis in axes)) > MOST:
        raise InputError(f"--over: {count} points are too many; a sweep has at most {MOST}")
    if not latin:
        return list(itertools.product(*(axis.values for axis in axes)))
    from scipy.stats import qmc

    if any(axis.ends is None for axis in axes):
        raise InputError("--latin: takes ranges, such as --over law.gain=0.1:10")
    parts = qmc.LatinHypercube(len(axes), rng=seed).random(latin).T
    columns = [
        low * (high / low) ** part if axis.log else low + (high - low) * part
        for axis, part in zip(axes, parts, strict=True)
        for low, high in [axis.ends or (0.0, 0.0)]
    ]
    return list(zip(*(column.tolist() for column in columns), strict=True))


@dataclass(frozen=True)
class Way:
    """How a point is measured."""

    by: str = "covariance"
    trials: int = 100
    flights: int = 4

    @property
    def tag(self) -> str:
        """What outcomes of this way are kept under."""
        return f"{self.by}-{self.trials}-{self.flights}"

    def measure(self, mission: Mission) -> dict[str, float]:
        """Return the value of every requirement, and the probability that a trial meets each."""
        if self.by == "monte-carlo":
            flight = mission.fly(self.trials, judged_only=True)
            success = {"success": float(flight.verdict.success.mean())}
            return {**{k: float(v) for k, v in flight.verdict.metrics.items()}, **success}
        told, _ = predictions(covariance(mission, most=self.flights, workers=0), derivatives=False)
        met = {f"P({p.name})": p.probability for p in told if np.isfinite(p.probability)}
        return {**{p.name: float(p.value) for p in told}, **met}


Measure = Callable[[Mission], dict[str, Any]]


def _measured(measure: Measure, tag: str, folder: Path, mission: Mission) -> dict[str, Any]:
    """Measure a point, or read what the same software has measured before."""
    software = json.dumps(identity.software(MissionFlight(mission, mission.run.seed)), sort_keys=True)
    code = hashlib.sha256(software.encode()).hexdigest()[:12]
    path = folder / f"{tag}-{digest(mission)[:20]}-{code}.json"
    with suppress(InputError):  # not there, or damaged: measured again
        stored = read_json(path, 1 << 20, "a point of a sweep")
        if isinstance(stored, dict) and stored.get("sha256") == _sum(path, stored.get("outcome")):
            return stored["outcome"]
    outcome = measure(mission)
    make_directory(folder)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps({"sha256": _sum(path, outcome), "outcome": outcome}), encoding="utf-8")
    return outcome


def _sum(path: Path, outcome: Any) -> str:
    """What tells that an outcome is the one that was measured, and that of this point."""
    return hashlib.sha256(f"{path.name} {json.dumps(outcome)}".encode()).hexdigest()


def outcomes(
    missions: Sequence[Mission], measure: Measure, tag: str, folder: Path, workers: int,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Give what every mission is worth, in order; what is measured is kept in the folder under a tag."""
    store = folder / "points"
    try_directory(store)
    with mapping(workers if workers > 1 else 0) as mapped:
        for done, outcome in enumerate(mapped(partial(_measured, measure, tag, store), missions), 1):
            if progress is not None:
                progress(done, len(missions))
            yield outcome


def built(mission: Mission, axes: Sequence[Axis], chosen: Sequence[tuple[Any, ...]]) -> list[Mission]:
    """Return the mission of every point, so that bad input shows itself before anything flies."""
    settings = [[s for axis, v in zip(axes, point, strict=True) for s in axis.settings(v)] for point in chosen]
    missions = [override(mission, one) for one in settings]
    for one in missions:  # periods show themselves when parts are put together
        prepare(Group(one, one, np.arange(1), {}), one.run.seed)
    return missions
