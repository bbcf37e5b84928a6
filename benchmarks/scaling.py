"""Time and peak memory against trials, steps, bodies and workers, with the growth exponents: benchmarks/scaling.png."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from benchmarks import closed_loop
from benchmarks.fresh import Cost, measured
from benchmarks.timing import Row

PICTURE = Path(__file__).with_name("scaling.png")
CHUNK = 1000
SHORT = ("run.duration_s=2", "run.record_s=1")


class Curve(NamedTuple):
    """How a job grows, and from which size on its exponents are fitted."""

    name: str
    what: str
    sizes: Sequence[int]
    costs: Sequence[Cost]
    fitted: int  # the first so many sizes are ruled by what a call costs, and are left out of the fit

    def exponent(self, values: Sequence[float]) -> float:
        """Return p of values ~ size^p."""
        sizes = self.sizes[self.fitted :]
        return float(np.polyfit(np.log(sizes), np.log(values[self.fitted :]), 1)[0])


def curves() -> list[Curve]:
    """Measure; every point is a process of its own, so that its peak memory is its own too."""
    trials, steps, bodies = (100, 1000, 10_000, 100_000), (3000, 10_000, 30_000, 100_000), (4, 16, 64, 128)
    chunked = [measured("campaign", "pointing", n, 1, CHUNK, *SHORT) for n in trials]
    batch = [measured("batch", n, 20) for n in trials]
    long = [measured("campaign", "pointing", 100, 1, 100, *_lasting(n)) for n in steps]
    trees = [measured("bodies", n) for n in bodies]
    return [
        Curve(f"pointing in chunks of {CHUNK}", "trials", trials, chunked, 2),
        Curve("attitude loop in one batch", "trials", trials, batch, 1),
        Curve("pointing, 100 trials", "steps", steps, long, 1),
        Curve("accelerations, 1000 trees", "bodies", bodies, trees, 1),
    ]


def _lasting(steps: int) -> tuple[str, ...]:
    return f"run.duration_s={0.1 * steps:g}", "run.record_s=10"


def draw(all_curves: list[Curve], workers: list[Cost]) -> None:
    """Draw time and memory over each size, and the rate over workers."""
    figure = Figure(figsize=(13, 7.5), layout="constrained")
    *panels, beside, empty = figure.subplots(2, 3).ravel()
    for axes, curve in zip(panels, all_curves, strict=True):
        _panel(axes, curve)
    _workers_panel(beside, workers)
    empty.remove()
    figure.savefig(PICTURE, dpi=110)


def _panel(axes: Any, curve: Curve) -> None:
    seconds, memory = [cost.seconds for cost in curve.costs], [cost.peak_MB for cost in curve.costs]
    p = curve.exponent(seconds)
    lines = axes.loglog(curve.sizes, seconds, "o-", label=f"time, grows as {curve.what}^{p:.2f}")
    axes.set(xlabel=curve.what, ylabel="time [s]", title=curve.name, ylim=(None, 30.0 * max(seconds)))  # for the legend
    axes.grid(which="both", alpha=0.3)
    beside = axes.twinx()
    lines += beside.semilogx(curve.sizes, memory, "s--", color="C1", label="peak memory")
    beside.set(ylabel="peak memory of the process [MB]", ylim=(0, 1.5 * max(memory)))
    axes.legend(handles=lines, loc="upper left")


def _workers_panel(axes: Any, workers: list[Cost]) -> None:
    counts, rates = np.arange(1, len(workers) + 1), [1e-3 * cost.rate for cost in workers]
    axes.plot(counts, rates, "o-", label="measured")
    axes.plot(counts, rates[0] * counts, ":", label="ideal")
    axes.set(xlabel="worker processes", ylabel="thousand trial-steps/s", title="pointing, 1000 trials")
    axes.set(xticks=counts, ylim=(0, None))
    axes.legend()


def rows() -> Iterator[Row]:
    """Measure, draw benchmarks/scaling.png, and give the exponents."""
    all_curves, workers = curves(), closed_loop.by_workers(closed_loop.MANY)
    draw(all_curves, workers)
    for curve in all_curves:
        first, last = curve.sizes[curve.fitted], curve.sizes[-1]
        case = f"{curve.name}, {first} to {last} {curve.what}"
        seconds, memory = [cost.seconds for cost in curve.costs], [cost.peak_MB for cost in curve.costs]
        yield Row(f"{case}: time", "gnc", seconds[-1], "s at the end")
        yield Row(f"{case}: exponent of time", "gnc", curve.exponent(seconds), "", target="<= 1.1")
        yield Row(f"{case}: peak memory", "gnc", memory[-1], f"MB, {memory[0]:.0f} MB at the start")
        yield Row(f"{case}: exponent of memory", "gnc", curve.exponent(memory), "", target=_memory_target(curve))
    gain = workers[0].seconds / workers[-1].seconds
    yield Row("pointing, 2 workers", "gnc", gain, "times as fast as 1 process", target=">= 1.8")


def _memory_target(curve: Curve) -> str:
    return "<= 0.1: independent of the trials" if "chunks" in curve.name else ""
