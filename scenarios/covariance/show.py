"""The outcome of `gnc covariance` for people and machines: tables, JSON, figures, labelled results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.history import save
from gnc.scenarios.covariance.analysis import STANDS, Covariance
from gnc.scenarios.covariance.observability import Sight
from gnc.scenarios.covariance.observability import draw as draw_sight
from gnc.scenarios.covariance.predict import Prediction
from gnc.scenarios.covariance.rare import Rare
from gnc.scenarios.covariance.verify import Ratio
from gnc.scenarios.display import table
from gnc.scenarios.plots import COLOURS, save_figure
from gnc.scenarios.report.panels import words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 50.0  # largest sigma over the median, above which the axis is logarithmic
PREDICTED = ("requirement", "value", "standard error", "bound", "probability that a trial meets it")
IMPROVE = ("requirement", "number of the file", "is", "derivative", "relative")
BLIND = (
    "saturated actuators, gates and lost trials beyond the nominal flights: linear analysis does not see them",
    "modes, events and impacts happen when they do in the nominal flights",
)


def errors(lincov: Covariance) -> list[str]:
    """Return the signals that are told: errors, and whatever is asked for."""
    asked = [s for window in lincov.windows.values() for s in window.signals]
    return [s for s in lincov.signals if "error" in s or (s in asked and not s.endswith(("_gap", ".nees")))]


def unseen(lincov: Covariance, left: Sequence[str]) -> list[str]:
    """Say what the result does not see."""
    flight = lincov.flights[0]
    told = [*BLIND, *lincov.quiet.switched, *(f"requirement {line}" for line in left)]
    if flight.differenced:
        told.append(f"differenced, since only Python can compute them: {', '.join(flight.differenced)}")
    if flight.kinks:
        told.append(
            "a derivative had no value at a kink of the nominal flight: it was left out, or that of both sides taken"
        )
    if lincov.nonlinear:
        trials = f"{len(lincov.quiet.theta)} trials without noise have them as they are"
        told.append(f"not linear within 1 sigma: {', '.join(lincov.nonlinear)}; {trials}")
    if (error := lincov.standard_error()) > STANDS:
        told.append(f"sigmas have a standard error of {100.0 * error:.0f} %: allow more flights")
    return told


def sigmas(lincov: Covariance, times: Sequence[float]) -> list[dict[str, Any]]:
    """Return sigma, what the filter believes of it, and the budget of every error at chosen times."""
    rows = []
    for t in times:
        k = int(np.argmin(np.abs(lincov.time - t)))
        now = np.arange(len(lincov.time)) == k
        for signal in errors(lincov):
            believed = lincov.believed(signal)
            sigma = np.sqrt(np.diagonal(lincov.total(signal)[k]))
            rows.append({
                "time_s": float(lincov.time[k]), "signal": signal, "sigma": sigma, "mean": lincov.mean(signal)[k],
                "believed": None if believed is None else believed[k], "budget_percent": lincov.budget(signal, now),
            })  # fmt: skip
    return rows


def report(
    lincov: Covariance, told: Sequence[Prediction], left: Sequence[str], ratios: Sequence[Ratio], times: Sequence[float]
) -> dict[str, Any]:
    """The outcome for machines."""
    outputs, budget = {}, {}
    for signal in errors(lincov):
        believed, sigma = lincov.believed(signal), np.sqrt(np.diagonal(lincov.total(signal), axis1=1, axis2=2))
        outputs[signal] = {"time": lincov.time, "sigma": sigma, "believed": believed}
        budget[signal] = lincov.budget(signal, np.ones(len(lincov.time), bool))
    return {
        "scenario": lincov.mission.name,
        "outputs": outputs,
        "budget": budget,
        "seed": lincov.seed,
        "flights": [f.trial for f in lincov.flights],
        "linearity": lincov.linearity,
        "nonlinear": lincov.nonlinear,
        "standard_error": lincov.standard_error(),
        "sigmas": sigmas(lincov, times),
        "requirements": [p._asdict() for p in told],
        "verification": [r._asdict() for r in ratios],
        "not_seen": unseen(lincov, left),
    }


class Outcome(NamedTuple):
    """What people are told, on a terminal and on a page."""

    tables: list[tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]]  # title, columns, rows
    lines: list[str]


def outcome(
    lincov: Covariance, told: Sequence[Prediction], left: Any, ratios: Sequence[Ratio], times: Any, sight: Sight
) -> Outcome:
    """Return the outcome for people."""
    rows = [(f"{r['time_s']:g}", r["signal"], _cells(r["sigma"]), _cells(r["believed"])) for r in sigmas(lincov, times)]
    met = [(p.name, f"{p.value:.4g}", _cells(p.error), p.bound, _share(p)) for p in told]
    sources = list(dict.fromkeys(s for p in told for s in p.budget))
    shares = [(p.name, *(f"{p.budget[s]:.1f}" for s in sources)) for p in told if p.budget]
    first = [
        (p.name, path, f"{number:g}", f"{slope:.3g}", f"{slope * number / p.value:+.3f}")
        for p in told
        for path, (number, slope) in sorted(p.derivatives.items(), key=lambda i: -i[1][0] * i[1][1])
        if p.bound
    ]
    misses = [(name, f"{miss:.3f}") for name, miss in lincov.linearity.items()]
    compared = [(r.signal, r.window, r.axis, *map(_cells, r[3:6]), _cells(r.interval)) for r in ratios]
    seen = [(s.filter, s.state, f"{s.prior:.3g}", f"{s.end:.3g}", _since(s.since_s)) for s in sight.states]
    title = f"{lincov.mission.name}: sigma by typical flights, {len(lincov.flights)} of them, seed {lincov.seed}"
    tables: list[tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]] = [
        (title, ("t [s]", "signal", "sigma", "believed"), rows),
        ("requirements, predicted", PREDICTED, met),
        ("share of the variance [%]", ("requirement", *sources), shares),
        ("what to improve first (truth alone)", IMPROVE, first),
        ("linearity: by how much +-1 sigma misses, over total sigma", ("draw", "miss"), misses),
        ("against Monte Carlo", ("signal", "window", "axis", "linear", "flown", "ratio", "95 %"), compared),
        ("what filters see", ("filter", "state", "prior sigma", "sigma at the end", "observed since [s]"), seen),
    ]
    kept = [one for one in tables if one[2] or one[0] != "against Monte Carlo"]
    return Outcome(kept, [*sight.words, *(f"not seen: {line}" for line in unseen(lincov, left))])


def show(told: Outcome) -> None:
    """Print the outcome for people."""
    for title, header, rows in told.tables:
        table(title, header, rows)
        print()
    print("\n".join(told.lines))


def _cells(x: Any) -> str:
    return "" if x is None or np.isnan(x).all() else " ".join(f"{v:.4g}" for v in np.atleast_1d(x))


def _share(p: Prediction) -> str:
    return "" if np.isnan(p.probability) else f"{p.probability:.4f} ({p.interval[0]:.4f} .. {p.interval[1]:.4f})"


def _since(t: float) -> str:
    return "not yet" if np.isnan(t) else f"{t:g}"


def more(requirement: str | None, chance: Rare | None, indices: Any) -> None:
    """Print the probability of a rare failure, and Sobol indices."""
    if chance is not None:
        span = (
            f"99 % interval {chance.low:.2e} .. {chance.high:.2e}, {chance.failures} of {chance.trials} trials failed"
        )
        print(f"\n{requirement} fails with probability {chance.probability:.2e}, {span}")
    if indices:
        cells = [(name, *(f"{x:.3f}" for x in lincov)) for name, lincov in indices.items()]
        table("\nSobol indices, without noise", ("draw", "first", "total", "|rank correlation|"), cells)


def write(lincov: Covariance, folder: Path, sight: Sight, told: Outcome) -> list[Path]:
    """Write what is told, sigma, beliefs and shares of all errors as NetCDF, and a figure of each error."""
    from xarray import Dataset

    data: dict[str, Any] = {}
    for signal in errors(lincov):
        sizes = f"{signal}_axis"
        data[f"{signal}.sigma"] = (("time", sizes), np.sqrt(np.diagonal(lincov.total(signal), axis1=1, axis2=2)))
        data[f"{signal}.mean"] = (("time", sizes), lincov.mean(signal))
        if (believed := lincov.believed(signal)) is not None:
            data[f"{signal}.believed"] = (("time", sizes), believed)
        for source, c in lincov.shares(signal).items():
            data[f"{signal}.variance.{source}"] = (("time", sizes), np.diagonal(c, axis1=1, axis2=2))
    paths = [folder / "covariance.nc", *(folder / f"{s.replace('.', '_')}.png" for s in errors(lincov) if "error" in s)]
    save(Dataset(data, {"time": lincov.time}, {"told": json.dumps(told)}), paths[0])
    for signal, path in zip([s for s in errors(lincov) if "error" in s], paths[1:], strict=True):
        save_figure(lambda figure, signal=signal: _draw(figure, lincov, signal), path)  # type: ignore[misc]
    if sight.sigmas:
        paths.append(folder / "observability.png")
        save_figure(lambda figure: draw_sight(figure, sight, lincov.time), paths[-1])
    return paths


def _draw(figure: Figure, lincov: Covariance, signal: str) -> None:
    """Draw the bands of an error and what is believed of them, and the shares of sources, against time."""
    t, total, mean, believed = lincov.time, lincov.total(signal), lincov.mean(signal), lincov.believed(signal)
    sigma = np.sqrt(np.diagonal(total, axis1=1, axis2=2))
    top, bottom = figure.subplots(2, 1, sharex=True)
    settled = slice(len(t) // 5, None)
    for i, colour in zip(range(sigma.shape[1]), COLOURS, strict=False):
        label = "xyz"[i] if sigma.shape[1] == 3 else str(i)
        top.plot(t, sigma[:, i], color=colour, lw=1.0, label=f"sigma {label}")
        if believed is not None:
            top.plot(t, believed[:, i], color=colour, lw=0.8, ls=":", label=f"believed {label}")
        top.plot(t, np.abs(mean[:, i]), color=colour, lw=0.5, alpha=0.4)
    there = sigma[settled][sigma[settled] > 0.0]
    if len(there) and there.max() > WIDE * np.median(there):  # a slew, say, beside which the rest would be a line
        top.set_yscale("log")
        top.set_ylim(0.5 * float(there.min()), 2.0 * float(there.max()))
    else:
        top.set_ylim(0.0, 1.5 * float(there.max()) if len(there) else None)
    several = f"{len(lincov.flights)} flight{'s' if len(lincov.flights) > 1 else ''}"
    top.set(ylabel=f"sigma of {words(signal, signal)}\nfaint: |mean|")
    top.set_title(f"{lincov.mission.name}: {signal.split('.')[0]}, by linear covariance along {several}")
    top.legend(fontsize=7, ncols=2)
    shares = {name: np.trace(c, axis1=1, axis2=2) for name, c in lincov.shares(signal).items()}
    whole = np.maximum(np.sum(list(shares.values()), axis=0), 1e-300)
    order = sorted(shares, key=lambda name: -float(np.nanmean(shares[name][settled] / whole[settled])))
    colours = [*COLOURS, *(f"{0.2 + 0.6 * i / max(len(order), 1):.2f}" for i in range(len(order)))]
    bottom.stackplot(t, [100.0 * shares[n] / whole for n in order], labels=order, colors=colours[: len(order)])
    bottom.set(xlabel="time [s]", ylabel="share of the variance [%]", ylim=(0, 100), xlim=(t[0], t[-1]))
    bottom.legend(fontsize=7, ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.2))
