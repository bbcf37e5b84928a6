"""The command `gnc tune`: noises that a log's innovations ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gnc.scenarios.replay.config import Replay
    from gnc.scenarios.replay.tune import Tuning

SHOWN = (("NIS", "nis"), ("lag 1", "lag_1"))


def tune(
    log: Annotated[Path, typer.Argument(help="A log, as for gnc replay.")],
    config: Annotated[Path, typer.Option(help="TOML file with first guesses of the noises.")],
    over: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="What to tune [all noises]; repeatable.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory of the results.")] = Path("out/tune"),
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")] = False,
) -> None:
    """Find noises by the likelihood of the innovations, cross-validated; write the tuned configuration."""
    from gnc.config import override, read
    from gnc.scenarios import display
    from gnc.scenarios.replay.config import Replay
    from gnc.scenarios.replay.tune import Tuning

    tuning = Tuning(log, override(read(config, Replay), settings or ()), over or ())
    outcome = _tuned(tuning, out)
    if as_json:
        display.tell(outcome)
        return
    rows = [(k, f"{p['before']}", f"{p['after']}", _spread(p), p["said"]) for k, p in outcome["parameters"].items()]
    display.table(f"{log}: tuned", ("key", "before", "after", "1 sigma", ""), rows)
    for name, s in outcome["sensors"].items():
        pairs = [f"{title} {s['before'][key]:.3g} -> {s['after'][key]:.3g}" for title, key in SHOWN]
        print(f"{name}: {', '.join(pairs)}")
    print(f"held-back stretches: likelihood {outcome['held_back_gain']:+.1f} by fits to the others")
    for path in outcome["files"]:
        print(f"wrote {path}")


def _spread(parameter: dict[str, Any]) -> str:
    return "" if parameter["sigma_percent"] is None else f"{parameter['sigma_percent']:.0f} %"


def _tuned(tuning: Tuning, out: Path) -> dict[str, Any]:
    """Fit, cross-validate, replay before and after, and write."""
    import numpy as np

    from gnc.config.toml_text import dump
    from gnc.files import replacing
    from gnc.scenarios import display
    from gnc.scenarios.plots import save_figure
    from gnc.scenarios.replay.tune import STRETCHES

    fit = tuning.fit()
    curves = tuning.curves(fit.x)
    unknown = tuning.undetermined(fit, curves)
    x = np.where([key in unknown for key in tuning.values], 0.0, fit.x)
    gain = 0.0
    for held in (range(0, STRETCHES, 2), range(1, STRETCHES, 2)):
        part = tuning.fit([i for i in range(STRETCHES) if i not in held])
        total = tuning.stretches(np.stack([np.zeros_like(x), part.x]))[list(held)].sum(axis=0)
        gain += float(total[1] - total[0])
    best = tuning.at(x)
    before, after = (_replayed(tuning.log, c, out / name) for name, c in (("before", tuning.config), ("after", best)))
    outcome = {
        "tune": str(tuning.log),
        "parameters": _parameters(tuning, fit, best, unknown),
        "sensors": {name: {"before": before["sensors"][name], "after": s} for name, s in after["sensors"].items()},
        "truth": {"before": before["truth"], "after": after["truth"]},
        "held_back_gain": gain,
        "batches": tuning.batches,
        "files": [str(out / name) for name in ("tuned.toml", "tune.json", "tune.png")],
    }
    for name, text in (("tuned.toml", dump(best)), ("tune.json", display.as_json(outcome) + "\n")):
        with replacing(out / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    save_figure(lambda figure: _draw(figure, tuning, curves), out / "tune.png")
    return outcome


def _parameters(tuning: Tuning, fit: Any, best: Replay, unknown: list[str]) -> dict[str, Any]:
    from gnc.scenarios.replay.tune import tunable

    found = tunable(best)
    return {
        key: {
            "before": value,
            "after": found[key],
            "sigma_percent": None if key in unknown else 100.0 * float(sigma),
            "said": "the log does not determine it: kept" if key in unknown else "",
        }
        for (key, value), sigma in zip(tuning.values.items(), fit.sigma, strict=True)
    }


def _replayed(log: Path, config: Replay, folder: Path) -> dict[str, Any]:
    """Return NIS, whiteness and errors of a replay."""
    from gnc.scenarios.replay import account
    from gnc.scenarios.replay.session import connect

    session = connect(log, config, folder)
    session.run()
    outcome = account.outcome(session, log)
    keys = ("nis", "size", "used", "rejected")
    sensors = {n: {k: s[k] for k in keys} | {"lag_1": s["correlation"][0]} for n, s in outcome["sensors"].items()}
    truth = outcome["truth"]
    return {"sensors": sensors, "truth": None if truth is None else {k: truth[k] for k in ("rms_deg", "rms_m", "nees")}}


def _draw(figure: Figure, tuning: Tuning, curves: Any) -> None:
    """Draw the likelihood along every parameter through the best point."""
    import numpy as np

    from gnc.scenarios.replay.tune import CURVE

    axes = figure.subplots()
    for key, row in zip(tuning.values, curves, strict=True):
        axes.plot(np.exp(CURVE), row, ".-", label=key)
    axes.set_xscale("log")
    axes.set_ylim(-50.0, 2.0)
    axes.set_xlabel("factor on the tuned value")
    axes.set_ylabel("log-likelihood, less that of the best")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
