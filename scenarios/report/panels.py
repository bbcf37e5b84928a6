"""What there is to see in a flight, as descriptions that the page and the figures draw alike.

Each function gives plots of one trial among all: a fan over the trials, this trial on top, bounds as lines, eclipse,
modes and events as shades.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import quaternion
from gnc.expression import LARGEST, parse
from gnc.history import CLOCK
from gnc.montecarlo.statistics import chi_square_band, percentiles
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.base import ALWAYS, Judged, resolve
from gnc.scenarios.report.plot import Path, Plot, Series, Shade

if TYPE_CHECKING:
    from gnc.labelled import SignalArray, Signals

TIME = "time [s]"
BOOKS = "_gap"  # ends the name of a signal that is zero but for rounding: nothing to look at
ROUNDING = 1e-3  # a bound of a number without unit that asks whether the simulation is right, not the craft
LOW = 0.2  # of a limit: a signal that stays below is drawn without it
FAN = 4  # trials from which on a fan says more than lines
FEW = 7  # parts that one plot can show apart
UNITS = {"deg_s": "deg/s", "deg": "deg", "m_s": "m/s", "mm": "mm", "m": "m", "Nms": "N m s", "s": "s", "Nm": "N m"}
UNITS |= {"Ns": "N s", "N": "N", "Am2": "A m2", "T": "T", "J": "J"}  # as signals' names end, the longest first
SHORT = {"nees": "NEES", "nis": "NIS", "rms": "RMS", "p997": "p99.7"}  # as people write these words
SHORT |= {"rx": "x", "ry": "y", "rz": "z"}  # of a torque
HIDDEN = (".q_IB", ".q_IT", ".q", ".used", ".refused", ".mode", ".phase", ".mode_time_s", ".search", BOOKS)
TINTS = ("#3e8bff", "#f2762e", "#1aa179", "#a56bf5", "#c99a06", "#0ea5b7", "#e0569b", "#8892a4")
EDGE = 0.999  # of a limit: at it
PATHS = 12  # trials whose ways are drawn beside that of the one looked at


@dataclass(frozen=True)
class Panels:
    """A flight, and the trial in it that is looked at."""

    mission: Mission
    flight: Signals
    place: int = 0  # of that trial among those flown

    @property
    def trial(self) -> int:
        """The number of the trial."""
        return int(self.flight["trial"].values[self.place])

    @cached_property
    def judged(self) -> Judged:
        """The flight as requirements look at it."""
        return Judged(self.mission, self.flight, {}, {})

    # Is it on target?

    def target(self) -> list[Plot]:
        """Return what is asked of signals over time, with the bounds, then errors of which nothing is asked."""
        bounds_of: dict[str, dict[str, float]] = {}
        for name, part in self.mission.requirements.items():
            signal = getattr(part, "signal", None)
            if signal is None or not parse(signal).names or signal.rstrip(")").endswith(BOOKS):
                continue
            bounds = bounds_of.setdefault(signal, {})
            for bound in (getattr(part, "at_most", None), getattr(part, "at_least", None)):
                if bound is not None:
                    bounds[getattr(part, "title", "") or name] = bound
        plots = [self._asked(signal, bounds) for signal, bounds in bounds_of.items() if bounds]
        names = {name for signal in bounds_of for name in parse(signal).names}
        errors = [n for n in self._names("_error_") if n not in names and n.split(".", 1)[-1] not in names]
        plots += [self._of(name) for name in errors if "rate_error" not in name and not self._believed(name)]
        return [plot for plot in plots if plot is not None]

    def _asked(self, signal: str, bounds: dict[str, float]) -> Plot | None:
        """Return the plot of an expression with its bounds, unless it is the filter's or has no values over time."""
        there, first = self.flight.data_vars, min(parse(signal).names, key=signal.find).removeprefix(LARGEST)
        full = "" if first in ALWAYS else resolve(first, there, self.mission.craft)
        if signal in ALWAYS or (full and (self._believed(full) or "nominal" in there[full].attrs)):
            return None
        values = np.asarray(self.judged.value(parse(signal)))
        if values.dtype.kind not in "fib" or values.ndim < 2:
            return None
        books = full and there[full].attrs["units"] == "1" and max(bounds.values()) <= ROUNDING
        if books or not varies(values.astype(float)):
            return None
        title = there[full].attrs["long_name"] if full else next(iter(bounds))
        label = label_of(self.mission, signal)
        t = self.flight["time"].values
        return self._spread(title, label, t, values.astype(float), full if "." in full else "", bounds)

    def of(self, name: str) -> list[Plot]:
        """Return the plots of a signal: by its parts in what the filter believes of them, or its size."""
        if self._believed(name):
            return [plot for plot in self.errors() if plot.title.startswith(self.flight[name].attrs["long_name"])]
        return [self._of(name)]

    def _of(self, name: str) -> Plot:
        signal = self.flight[name]
        if "trial" not in signal.dims:
            values = signal.values[:, None] if signal.ndim == 1 else signal.values
            lines = [Series(str(i) if signal.ndim > 1 else name, values[:, i]) for i in range(values.shape[1])]
            return Plot(signal.attrs["long_name"], TIME, words(name, name), times(signal), lines)
        values = signal.values if signal.ndim < 3 else np.linalg.norm(signal.values, axis=-1)
        label = f"{words(name, name)}"
        return self._spread(signal.attrs["long_name"], label, times(signal), values, name.split(".")[0])

    def _spread(
        self, title: str, label: str, t: Any, values: Any, craft: str, bounds: dict[str, float] | None = None
    ) -> Plot:
        return Plot(title, TIME, label, t, self._fan(values), bounds or {}, steep(values), self.shades(craft))

    def _fan(self, values: Any) -> list[Series]:
        """Return the trial among all: a band of many, lines of few."""
        own = Series(f"trial {self.trial}", values[self.place])
        if len(values) < FAN:
            others = [k for k in range(len(values)) if k != self.place]
            return [own, *[Series(f"trial {self.flight['trial'].values[k]}", values[k]) for k in others]]
        low, middle, high = percentiles(np.moveaxis(values, 0, -1), (5.0, 50.0, 95.0))
        return [Series(f"median, 5 to 95 % of {len(values)} trials", middle, "band", low, high), own]

    # Is the filter honest?

    def errors(self) -> list[Plot]:
        """Return the error of each estimate by its axes, in the 3 sigma of the filter."""
        plots = []
        for name in self._names(""):
            signal = self.flight[name]
            if not self._believed(name):
                continue
            sigma = self.flight[signal.attrs["sigma"]].values[self.place]
            for i, axis in enumerate(signal[signal.dims[-1]].values):
                error, band = signal.values[..., i], 3.0 * sigma[:, i]
                series = [Series("3 sigma of the filter", None, "band", -band, band)]
                if len(error) >= 2 * FAN:
                    low, high = percentiles(error.T, (5.0, 95.0))
                    series += [Series("5 and 95 % of trials", low, "dashed"), Series("_95 %", high, "dashed")]
                series.append(Series(f"trial {self.trial}", error[self.place]))
                title, label = f"{signal.attrs['long_name']}: {axis}", f"{axis} [{signal.attrs['units']}]"
                plots.append(Plot(title, TIME, label, times(signal), series, {}, False, self.shades(name)))
        return plots

    def nees(self) -> list[Plot]:
        """Return each NEES: its mean over the trials in the band that an honest filter keeps, and this trial."""
        plots = []
        for name in self._names(""):
            signal = self.flight[name]
            if "nominal" in signal.attrs and signal.ndim == 2:
                plots.append(self._honest(name, signal, int(signal.attrs["nominal"]), 1.0, "NEES"))
        return plots

    def nis(self) -> list[Plot]:
        """Return the NIS of each sensor over its dimension, in the same way; 1 is honest."""
        plots = []
        for name in self._names(".nis"):
            beside = name.removesuffix(".nis") + ".innovation"
            size = self.flight[beside].shape[-1] if beside in self.flight else 3
            plots.append(self._honest(name, self.flight[name], size, float(size), "NIS over its dimension"))
        return plots

    def _honest(self, name: str, signal: SignalArray, size: int, over: float, what: str) -> Plot:
        values = signal.values
        any_finite = np.isfinite(values).any(axis=0)
        count = np.isfinite(values).sum(axis=0)
        mean = np.where(any_finite, np.nansum(values, axis=0) / np.maximum(count, 1), np.nan)
        low, high = (np.where(any_finite, edge, np.nan) for edge in chi_square_band(size, np.maximum(count, 1), 0.95))
        style: Any = "points" if name.endswith(".nis") else "line"
        lines = [Series("95 % band of an honest filter", None, "band", low / over, high / over)]
        lines.append(Series(f"mean of {len(values)} trial{'s' * (len(values) > 1)}", mean, style))
        if len(values) > 1 and style == "line":
            lines.append(Series(f"trial {self.trial}", values[self.place]))
        title = f"{what} of {name.rsplit('.', 1)[0]}"
        return Plot(title, TIME, what.split()[0], times(signal), lines, {}, steep(mean), self.shades(name))

    # What did the actuators do?

    def actuators(self) -> list[Plot]:
        """Return what actuators did, by their parts, with their limits; fuel last."""
        plots = []
        for name, signal, limit in self.used():
            parts = signal.values if signal.ndim == 3 else signal.values[..., None]
            title, label = signal.attrs["long_name"], f"{words(name, name)}"
            if not varies(parts[..., 0]) and not np.any(parts):
                continue
            near = limit is not None and np.nanmax(np.abs(parts), initial=0.0) >= LOW * limit
            unit = signal.attrs["units"].removeprefix("1")
            title += "" if near or limit is None else f" (limit {limit:g} {unit}".rstrip() + ")"
            bounds = {"limit": limit} if near and limit is not None else {}
            if bounds and (parts[self.place] < 0.0).any():
                bounds["limit "] = -bounds["limit"]
            if signal.ndim == 2:
                plots.append(self._spread(title, label, times(signal), signal.values, name, bounds))
                continue
            if parts.shape[-1] > FEW:
                largest = np.abs(parts).max(axis=-1)
                plots.append(self._spread(f"{title}, the largest", label, times(signal), largest, name, bounds))
                continue
            names = [SHORT.get(str(k), str(k)) for k in signal[signal.dims[-1]].values]
            lines = [Series(axis, parts[self.place, :, i]) for i, axis in enumerate(names)]
            title = f"{title}, trial {self.trial}"
            plots.append(Plot(title, TIME, label, times(signal), lines, bounds, False, self.shades(name)))
        return plots

    def used(self) -> Iterator[tuple[str, SignalArray, float | None]]:
        """Give each signal of an actuator with the limit that its part states; a wrench as torque and force."""
        for craft, section in self.mission.craft.items():
            for key, part in section.actuators.items():
                for name in self._names("", f"{craft}.{key}."):
                    signal, what = self.flight[name], name.rsplit(".", 1)[-1]
                    if what == "wrench":
                        for i, (half, unit) in enumerate((("torque", "Nm"), ("force", "N"))):
                            one = signal.isel({signal.dims[-1]: slice(3 * i, 3 * i + 3)})
                            about = f"commanded {half} of {craft}.{key}, body axes"
                            one = one.assign_attrs(units="N m" if i == 0 else "N", long_name=about)
                            yield f"{craft}.{key}.{half}_{unit}", one, getattr(part, f"{half}_limit_{unit}", None)
                        continue
                    stem, _, unit = what.rpartition("_")
                    limit = 1.0 if what == "on" else getattr(part, f"{stem}_limit_{unit}", None)
                    yield name, signal, limit if isinstance(limit, float) else None
            if f"{craft}.delta_v_m_s" in self.flight:
                yield f"{craft}.delta_v_m_s", self.flight[f"{craft}.delta_v_m_s"], None

    # Where did it go?

    def ways(self) -> list[Plot | Path]:
        """Return how craft that approach another one move in its frame: range over time, and the way."""
        plots: list[Plot | Path] = []
        for craft, software in self.mission.software.items():
            plan: Any = next((m.guidance for m in software.modes.values() if hasattr(m.guidance, "corridor_deg")), None)
            other = getattr(plan, "target", None)
            if plan is None or other is None or f"{craft}.r_IB_m" not in self.flight:
                continue
            t, r_T = self.flight["time"].values, self._seen_from(other, craft)
            reach, aside = np.linalg.norm(r_T, axis=-1), np.linalg.norm(r_T[..., 1:], axis=-1)
            plots.append(self._spread(f"range of {craft} from the port of {other}", "range [m]", t, reach, craft))
            chosen = [k for k in range(len(r_T)) if k != self.place][:PATHS] + [self.place]
            name = {k: f"trial {number}" for k, number in enumerate(self.flight["trial"].values)}
            lines = {"_" * (k != self.place) + name[k]: (r_T[k, :, 0], aside[k]) for k in chosen}
            edge = np.tan(np.radians(plan.corridor_deg))
            far = float(np.where(aside < 2.0, r_T[..., 0], 0.0).max(initial=1.0))
            outline = {"corridor": [(0.0, plan.corridor_m), (far, plan.corridor_m + far * edge)]}
            title = f"path of {craft} in the frame of {other}"
            plots.append(Path(title, "along the docking axis [m]", "distance from the axis [m]", lines, outline))
        return plots

    def _seen_from(self, other: str, craft: str) -> Any:
        """Return the position (trials, times, 3) of a craft in the frame of another."""
        d_I = self.flight[f"{craft}.r_IB_m"].values - self.flight[f"{other}.r_IB_m"].values
        q_TI = self.flight[f"{other}.q_IB"].values * np.array([1.0, -1.0, -1.0, -1.0])
        return quaternion.rotate(q_TI, d_I)

    # Everything else

    def others(self) -> list[Plot]:
        """Return every signal that no other plot shows; what all trials share comes last."""
        shown = {name for name, *_ in self.used()} | {self.flight[n].attrs.get("sigma") for n in self._names("")}
        plots: list[Plot] = []
        for name in sorted(self._names(""), key=lambda n: "trial" not in self.flight[n].dims):
            signal = self.flight[name]
            clock = [str(dim) for dim in signal.dims if str(dim).startswith(CLOCK)]
            elsewhere = name in shown or name.endswith((*HIDDEN, ".nis", "wrench")) or "nominal" in signal.attrs
            if elsewhere or self._believed(name) or not clock or signal.sizes[clock[0]] < 2:
                continue
            one = signal.isel(trial=self.place) if "trial" in signal.dims else signal
            label, about = f"{words(name, name)} [{signal.attrs.get('units', '')}]", signal.attrs["long_name"]
            if one.ndim == 2 and one.shape[1] <= FEW:
                lines = [Series(str(k), one.values[:, i]) for i, k in enumerate(one[one.dims[1]].values)]
                plots.append(Plot(about, TIME, f"{words(name, name)}", times(signal), lines))
            elif one.ndim == 1 and one is not signal:
                plots.append(self._spread(about, label.split(" [")[0], times(signal), signal.values.astype(float), ""))
            elif one.ndim == 1:
                plots.append(Plot(about, TIME, label, times(signal), [Series(name, signal.values.astype(float))]))
        return plots

    def craft_of(self, signal: str) -> str:
        """Return the craft of a signal, or of the first in an expression; "" where there is none."""
        names = [n.removeprefix(LARGEST) for n in sorted(parse(signal).names, key=signal.find) if n not in ALWAYS]
        full = resolve(names[0], self.flight.data_vars, self.mission.craft) if names else ""
        return full.split(".")[0] if "." in full else ""

    def shades(self, craft: str) -> list[Shade]:
        """Return eclipses, the modes or phases of a craft in this trial, and when events happened."""
        t, shades, craft = self.flight["time"].values, [], craft.split(".")[0]
        if "shadow" in self.flight and (dark := self.flight["shadow"].values > 0.5).any() and not dark.all():
            shades.append(Shade("eclipse", [(a, b) for a, b, k in _spans(t, dark.astype(float)) if k], "#667085"))
        for name in (f"{craft}.mode", f"{craft}.phase"):
            labels = self.flight[name].attrs["labels"].split(", ") if name in self.flight else []
            spans = _spans(t, self.flight[name].values[self.place]) if len(labels) > 1 else []
            if len({k for *_, k in spans}) < 2:
                continue
            for i, label in enumerate(labels):
                own = [(a, b) for a, b, k in spans if k == i]
                shades += [Shade(label, own, TINTS[i % len(TINTS)])] if own else []
            break
        for event in self.mission.events:
            if f"t_{event}" in self.flight and np.isfinite(when := float(self.flight[f"t_{event}"].values[self.place])):
                shades.append(Shade(event, [(when, when)], "#cf2b32"))
        return shades

    def _names(self, end: str, start: str = "") -> list[str]:
        names = [str(name) for name in self.flight.data_vars if str(name).startswith(start)]
        return [n for n in names if n.endswith(end) or (end == "_error_" and end in n)]

    def _believed(self, name: str) -> bool:
        return self.flight[name].attrs.get("sigma") in self.flight


def _spans(t: Any, values: Any) -> list[tuple[float, float, float]]:
    """Return from when to when a signal keeps each value."""
    edges = [0, *(np.flatnonzero(np.diff(values) != 0.0) + 1), len(t)]
    pairs: Sequence[tuple[int, int]] = list(zip(edges[:-1], edges[1:], strict=True))
    return [(float(t[a]), float(t[min(b, len(t) - 1)]), float(values[a])) for a, b in pairs]


def steep(values: Any) -> bool:
    """Tell whether positive values span so much that a logarithmic axis shows them better."""
    finite = values[np.isfinite(values)]
    return bool(len(finite) and finite.min() > 0.0 and finite.max() > 30.0 * np.median(finite))


def varies(values: Any) -> bool:
    """Tell whether any trial's value (trials, times) changes once it is known."""
    high, low = (np.where(np.isfinite(values), values, edge) for edge in (-np.inf, np.inf))
    return bool((high.max(axis=1) > low.min(axis=1)).any())


def times(signal: SignalArray) -> Any:
    """Return the times of a signal."""
    return signal[next(str(dim) for dim in signal.dims if str(dim).startswith(CLOCK))].values


def words(signal: str, title: str) -> str:
    """Return a signal in words with its unit in brackets; arithmetic of signals goes by its title."""
    if signal.startswith("largest(") and signal.count("(") == 1:
        return f"largest {words(signal[8:-1], title)}"
    name, bracket = signal.rsplit(".", 1)[-1], ""
    if not name.replace("_", "").isalnum() or not signal.replace("_", "").replace(".", "").isalnum():
        return title
    for suffix, unit in UNITS.items():
        if name.endswith(f"_{suffix}"):
            name, bracket = name.removesuffix(f"_{suffix}"), f" [{unit}]"
            break
    name = re.sub(r"_(B|I|IB|T)$", "", name)  # the frame is told by the title
    return " ".join(SHORT.get(word, word) for word in name.split("_")) + bracket


def title_of(mission: Mission, metric: str) -> str:
    """Return the name of a metric for people."""
    return getattr(mission.requirements.get(metric), "title", "") or words(metric, metric)


def of_books(mission: Mission, metric: str) -> bool:
    """Tell whether a metric asks only if the simulation is right, and is zero but for rounding."""
    signal = getattr(mission.requirements.get(metric), "signal", "")
    return bool(signal.rstrip(")").endswith(BOOKS))


def label_of(mission: Mission, signal: str) -> str:
    """Return a signal in words with its unit; arithmetic has the unit of the requirement that asks it."""
    if (label := words(signal, "")) or not parse(signal).names:
        return label or signal
    first = min(parse(signal).names, key=signal.find).removeprefix(LARGEST)
    asked = [(key, part) for key, part in mission.requirements.items() if getattr(part, "signal", "") == signal]
    told = [text for key, part in asked for text in (getattr(part, "title", ""), words(key, key))]
    unit = next((found[0] for text in told if (found := re.search(r" \[.*\]$", text))), "")
    return words(first, first).split(" [")[0] + unit
