"""A time plot: lines, points and bands over one time axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gnc import check
from gnc.errors import InputError
from gnc.scenarios.report.blocks import Array, Blocks, samples, times

Style = Literal["line", "dashed", "points", "band"]


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

    def encoded(self, blocks: Blocks, n: int) -> dict[str, Any]:
        """The JSON object of this series over n times."""
        arrays = {"y": self.y, "lower": self.lower, "upper": self.upper}
        given = {
            key: blocks.add(samples(f"{key} of {self.name!r}", values, (n,)))
            for key, values in arrays.items()
            if values is not None
        }
        return {"name": self.name, "style": self.style, **given}


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
        t = np.asarray(self.t, dtype=np.float64)
        return {
            "title": self.title,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "t": blocks.add_times(t),
            "series": [series.encoded(blocks, t.size) for series in self.series],
            "bounds": [{"name": name, "value": float(value)} for name, value in self.bounds.items()],
            "log_y": self.log_y,
        }
