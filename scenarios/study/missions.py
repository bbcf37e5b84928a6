"""A mission against the rate of its sensors: closed loop, filters on the same trials, covariance beside Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.config import flat, override
from gnc.errors import InputError
from gnc.expression import parse
from gnc.scenarios.covariance.analysis import Covariance, covariance
from gnc.scenarios.covariance.predict import predictions
from gnc.scenarios.display import table
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.base import Judged
from gnc.scenarios.missions.requirements.statistic import StatisticPart
from gnc.scenarios.plots import COLOURS, save_figure
from gnc.scenarios.sweep.sweep import outcomes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGREES = 0.15  # relative difference of covariance and Monte Carlo, up to which the problem counts as linear
NEAR = 1.3  # of the Cramer-Rao bound, up to which a filter has all that measurements tell
SURE = 1.5  # of its nominal value, from which on a NEES says that a filter is too sure


@dataclass(frozen=True)
class Point:
    """One filter at one rate."""

    filter: str
    rate_hz: float
    covariance: float  # the requirement's value, predicted
    monte_carlo: float
    limit: float
    margin: float  # limit over the larger of both, less one
    pointing_rms_deg: float
    knowledge_rms_deg: float
    bound_deg: float  # Cramer-Rao
    nees: float  # over its nominal value
    lost: int
    linear: bool
    why: str = ""  # it fails, or nothing


def requirement(mission: Mission, name: str | None) -> str:
    """Return the requirement that is studied: the named one, or the first on an error with a limit."""
    parts = {k: p for k, p in mission.requirements.items() if isinstance(p, StatisticPart) and p.at_most is not None}
    for key, part in parts.items():
        if key == name or (name is None and "error" in part.signal):
            return key
    raise InputError(f"--requirement {name or ''}: give one on an error signal, with at_most")


def settings(mission: Mission, rate_hz: float, sensors: Sequence[str], controller: bool) -> list[str]:
    """Return what sets the rates of the chosen sensors, and of flight software."""
    made = []
    for craft, section in mission.craft.items():
        for key, part in section.sensors.items():
            if not sensors or key in sensors:
                path = f"craft.{craft}.sensors.{key}"
                by_period = getattr(part, "period_s", None) is not None
                made.append(f"{path}.period_s={1.0 / rate_hz!r}" if by_period else f"{path}.rate_hz={rate_hz!r}")
    if not made:
        raise InputError(f"--sensors {','.join(sensors)}: the mission has no such sensor")
    return made + [f"software.{craft}.rate_hz={rate_hz!r}" for craft in mission.software if controller]


def study(
    mission: Mission, rates_hz: Sequence[float], filters: Sequence[str], name: str, folder: Path, *,
    sensors: Sequence[str] = (), controller: bool = False, trials: int = 100, flights: int = 4, workers: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> list[Point]:  # fmt: skip
    """Measure every filter at every rate, points as in a sweep: built first, kept in the folder."""
    own = next(iter(flat(mission)[k] for k in flat(mission) if k.endswith("navigation.kind"))).strip('"')
    cases = [(kind, rate) for kind in filters or [own] for rate in rates_hz]
    changes = [
        [
            *settings(mission, rate, sensors, controller),
            *(f"software.{craft}.navigation.kind={kind!r}" for craft in mission.software if kind != own),
        ]
        for kind, rate in cases
    ]
    missions = [override(mission, change) for change in changes]
    measure = partial(_measured, name=name, trials=trials, flights=flights)
    tag = f"sample-rate-{name}-{trials}-{flights}"
    made = outcomes(missions, measure, tag, folder, workers, progress)
    points = [Point(kind, rate, **numbers) for (kind, rate), numbers in zip(cases, made, strict=True)]
    return [p if p.margin >= 0.0 and not p.lost else replace(p, why=_why(p)) for p in points]


def _measured(mission: Mission, name: str, trials: int, flights: int) -> dict[str, Any]:
    """Return the numbers of a point, by the names of its fields."""
    part: Any = mission.requirements[name]
    flight = mission.fly(trials)
    judged = Judged(flight.mission, flight.recorded, {}, dict(flight.verdict.lost))
    counted = judged.value(parse(part.when or "t >= 0")).astype(bool) & judged.kept[:, None]
    pointing, knowledge = (_rms(judged, counted, s) for s in ("pointing_error_deg", "knowledge_error_deg"))
    nees = _rms(judged, counted, "nees", mean=True)
    found = covariance(mission, most=flights, workers=0)
    predicted = next((p.value for p in predictions(found, derivatives=False)[0] if p.name == name), float("nan"))
    flown = float(flight.verdict.metrics[name])
    bound = _bound(found, name)
    lost, limit = len(flight.verdict.lost), float(part.at_most)
    margin = limit / np.nanmax([predicted, flown]) - 1.0
    return {
        "covariance": predicted, "monte_carlo": flown, "limit": limit, "margin": float(margin),
        "pointing_rms_deg": pointing, "knowledge_rms_deg": knowledge, "bound_deg": bound, "nees": nees, "lost": lost,
        "linear": bool(abs(predicted / flown - 1.0) <= AGREES),
    }  # fmt: skip


def _bound(found: Covariance, name: str) -> float:
    """Return the RMS that no filter of the same model could beat: the Riccati recursion along the truth itself.

    Source: Tichavsky, Muravchik and Nehorai, "Posterior Cramer-Rao bounds", IEEE Trans. SP 46 (1998) 1386.
    """
    signals = [s for s in found.signals if s.endswith(".knowledge_error_deg")]
    believed = found.believed(signals[0]) if signals else None
    window = found.windows.get(name)
    if believed is None or window is None:
        return float("nan")
    return float(np.sqrt(np.square(believed[window.times]).sum(axis=1).mean()))


def _rms(judged: Judged, counted: Any, name: str, mean: bool = False) -> float:
    """Return the RMS of a signal over what counts; the mean over the nominal value of a NEES."""
    names = [n for n in judged.flight.data_vars if str(n).endswith(f".{name}")]
    if not names:
        return float("nan")
    values = judged.value(parse(str(names[0])))[counted]
    if mean:
        return float(np.nanmean(values) / judged.flight[names[0]].attrs.get("nominal", 1.0))
    return float(np.sqrt(np.nanmean(np.square(values))))


def _why(p: Point) -> str:
    """Say why a point fails: by what is lost, control, observability, linearisation or truncation."""
    if p.lost:
        return f"{p.lost} trials lost"
    if p.pointing_rms_deg > SURE * p.knowledge_rms_deg:
        return "control: the attitude is known better than it is kept"
    if p.knowledge_rms_deg < NEAR * p.bound_deg:
        return "observability: measurements do not tell more, the filter is at its bound"
    if not p.linear and p.covariance < p.monte_carlo:
        return "linearisation: errors are too large for linear analysis, which predicts less"
    if p.nees > SURE:
        return "truncation: the model between samples is worse than the filter believes"
    return "noise and unmodelled torques between samples, as the filter believes"


def advice(points: Sequence[Point]) -> str:
    """Name the lowest rate that meets the requirement, its margin, and why the next one fails."""
    good = [p for p in points if p.margin >= 0.0 and not p.lost]
    if not good:
        return "No filter of these meets the requirement at these rates; " + "; ".join(sorted({p.why for p in points}))
    best = min(good, key=lambda p: (p.rate_hz, -p.margin))
    below = [p for p in points if p.filter == best.filter and p.rate_hz < best.rate_hz]
    next_one = max(below, key=lambda p: p.rate_hz, default=None)
    fails = "" if next_one is None else f" Below, at {next_one.rate_hz:g} Hz: {next_one.why}."
    return f"Met down to {best.rate_hz:g} Hz by {best.filter}, margin {100.0 * best.margin:.0f} %.{fails}"


HEADER = (
    "filter", "rate [Hz]", "covariance", "Monte Carlo", "limit", "margin", "pointing RMS", "knowledge RMS", "bound",
    "NEES/nominal", "lost", "linear", "why it fails",
)  # fmt: skip


def show(points: Sequence[Point]) -> None:
    """Print a row for every point."""
    cell = lambda x: f"{x:.3g}" if isinstance(x, float) else "yes" if x is True else "no" if x is False else str(x)  # noqa: E731
    table("mission against sample rate", HEADER, [tuple(map(cell, vars(p).values())) for p in points])


def write(points: Sequence[Point], mission: Mission, name: str, folder: Path) -> list[Path]:
    """Draw the requirement's value against the rate."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "sample-rate.png"

    def draw(figure: Figure) -> None:
        panel = figure.subplots()
        for kind, colour in zip(dict.fromkeys(p.filter for p in points), COLOURS, strict=False):
            own = sorted((p for p in points if p.filter == kind), key=lambda p: p.rate_hz)
            x = [p.rate_hz for p in own]
            panel.loglog(x, [p.monte_carlo for p in own], "o-", color=colour, label=f"{kind}, Monte Carlo")
            panel.loglog(x, [p.covariance for p in own], "s--", mfc="none", color=colour, label=f"{kind}, covariance")
            panel.loglog(x, [p.knowledge_rms_deg for p in own], ":", color=colour, label=f"{kind}, knowledge RMS [deg]")
            panel.loglog(x, [p.bound_deg for p in own], "-.", lw=0.8, color=colour, label="Cramer-Rao bound [deg]")
        panel.axhline(points[0].limit, color="k", lw=1.0, ls=":", label="limit")
        panel.set(xlabel="sample rate [Hz]", ylabel=name, title=f"{mission.name}: {name}")
        panel.grid(which="both", alpha=0.3)
        panel.legend(fontsize=8)

    save_figure(draw, path)
    return [path]
