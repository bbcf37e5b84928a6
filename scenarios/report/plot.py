"""What a page and a figure draw: lines, points and bands over time, or paths in a plane."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from gnc import check
from gnc.errors import InputError
from gnc.scenarios.report.blocks import Array, Blocks, encoded_fields, samples, times

Style = Literal["line", "dashed", "points", "band"]
SETTLED = 0.25  # of the time: what comes before is a transient
DEEP = 1e-3  # of the median: what is lower needs no room on a logarithmic axis
WIDE = 4.0  # a transient so many times as high as what is settled hides it


class Shade(NamedTuple):
    """Spans of time that have a name, such as an eclipse or a mode; a span without length is a line."""

    name: str
    spans: Sequence[tuple[float, float]]  # [s]
    colour: str


@dataclass(frozen=True)
class Path:
    """Ways in a plane, with straight outlines of what they must keep to."""

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, tuple[Array, Array]]  # name -> x, y (T,); one that begins with "_" has no name
    outlines: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)

    def encoded(self, blocks: Blocks) -> dict[str, Any]:
        """The JSON object of this plot."""
        lines = [{"name": n, "x": blocks.add(x), "y": blocks.add(y)} for n, (x, y) in self.lines.items()]
        outlines = [{"name": n, "points": [list(p) for p in points]} for n, points in self.outlines.items()]
        return encoded_fields(self, blocks, lines=lines, outlines=outlines)


@dataclass(frozen=True)
class Series:
    """One named quantity; a band lies between `lower` and `upper`, and its `y`, the line within, may be None."""

    name: str
    y: Array | None  # (T,), NaN where there is no sample
    style: Style = "line"
    lower: Array | None = None  # (T,), bands only
    upper: Array | None = None  # (T,), bands only

    def __post_init__(self) -> None:
        check.one_of(f"style of {self.name!r}", self.style, ("line", "dashed", "points", "band"))
        edges = (self.lower is not None) + (self.upper is not None)
        if edges != (2 if self.style == "band" else 0):
            raise InputError(f"series {self.name!r}: a band has lower and upper, any other style neither")
        if self.y is None and self.style != "band":
            raise InputError(f"series {self.name!r}: y is missing; only a band may go without")


@dataclass(frozen=True)
class Plot:
    """Series over time, with horizontal lines at named bounds."""

    title: str
    x_label: str
    y_label: str
    t: Array  # (T,) increasing
    series: Sequence[Series]
    bounds: Mapping[str, float] = field(default_factory=dict)  # name -> value, in units of y
    log_y: bool = False
    shades: Sequence[Shade] = ()

    @property
    def settled(self) -> tuple[float, float] | None:
        """The range of y after the transient, with the bounds; None where that is no less than the whole.

        On a logarithmic axis it leaves out what is far below all else.
        """
        t = np.asarray(self.t, float)
        late, arrays = t >= t[0] + SETTLED * (t[-1] - t[0]), [x for s in self.series for x in (s.y, s.lower, s.upper)]
        whole, levels = [np.asarray(x, float) for x in arrays if x is not None], list(self.bounds.values())
        parts = [x[late & np.isfinite(x)] for x in whole] + [np.array(levels)]
        some, every = np.concatenate(parts), np.concatenate([x[np.isfinite(x)] for x in whole] or [np.zeros(0)])
        if self.log_y:
            usual, high = every[every > 0.0], float(np.max(np.append(every, levels), initial=0.0))
            low = DEEP * float(np.median(usual)) if usual.size else 0.0
            return (low, 1.5 * high) if usual.size and usual.min() < low else None
        if some.size < 2 or every.size == 0 or np.ptp(every) <= WIDE * np.ptp(some) or np.ptp(some) == 0.0:
            return None
        room = 0.08 * np.ptp(some)
        return float(some.min() - room), float(some.max() + room)

    def __post_init__(self) -> None:
        t = times(f"t of plot {self.title!r}", self.t, at_least=1)
        for series in self.series:
            for values in (series.y, series.lower, series.upper):
                if values is not None:
                    samples(f"series {series.name!r} of plot {self.title!r}", values, t.shape)
        for name, value in self.bounds.items():
            check.finite(f"bound {name!r} of plot {self.title!r}", value)

    def encoded(self, blocks: Blocks) -> dict[str, Any]:
        """The JSON object of this plot."""
        bounds = [{"name": name, "value": float(value)} for name, value in self.bounds.items()]
        return encoded_fields(self, blocks, bounds=bounds, settled=self.settled)
