"""The command `gnc tune`: noises that a log's innovations ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gnc.scenarios.replay.config import Replay
    from gnc.scenarios.replay.tune import Tuning


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

    outcome = _tuned(Tuning(log, override(read(config, Replay), settings or ()), over or ()), out)
    if as_json:
        display.tell(outcome)
        return
    percent = lambda p: "" if p["sigma_percent"] is None else f"{p['sigma_percent']:.0f} %"  # noqa: E731
    rows = [(k, f"{p['before']}", f"{p['after']}", percent(p), p["said"]) for k, p in outcome["parameters"].items()]
    display.table(f"{log}: tuned", ("key", "before", "after", "1 sigma", ""), rows)
    for name, s in outcome["sensors"].items():
        pairs = [
            f"{title} {s['before'][k]:.3g} -> {s['after'][k]:.3g}" for title, k in (("NIS", "nis"), ("lag 1", "lag_1"))
        ]
        print(f"{name}: {', '.join(pairs)}")
    print(f"held-back stretches: likelihood {outcome['held_back_gain']:+.1f} by fits to the others")
    print("\n".join(f"wrote {path}" for path in outcome["files"]))


def _tuned(tuning: Tuning, out: Path) -> dict[str, Any]:
    """Fit, cross-validate, replay before and after, and write."""
    import numpy as np

    from gnc.config.toml_text import dump
    from gnc.files import replacing
    from gnc.scenarios import display
    from gnc.scenarios.plots import save_figure

    fit = tuning.fit()
    curves = tuning.curves(fit.x)
    unknown = dict.fromkeys(tuning.by_chance(fit), "a change gains no more than chance: kept")
    unknown |= dict.fromkeys(tuning.undetermined(fit, curves), "the log does not determine it: kept")
    best = tuning.at(np.where([key in unknown for key in tuning.values], 0.0, fit.x))
    before, after = (_replayed(tuning.log, c, out / name) for name, c in (("before", tuning.config), ("after", best)))
    outcome = {
        "tune": str(tuning.log),
        "parameters": _parameters(tuning, fit, best, unknown),
        "sensors": {name: {"before": before["sensors"][name], "after": s} for name, s in after["sensors"].items()},
        "truth": {"before": before["truth"], "after": after["truth"]},
        "held_back_gain": tuning.held_back_gain(),
        "batches": tuning.batches,
        "files": [str(out / name) for name in ("tuned.toml", "tune.json", "tune.png")],
    }
    for name, text in (("tuned.toml", dump(best)), ("tune.json", display.as_json(outcome) + "\n")):
        with replacing(out / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    save_figure(lambda figure: _draw(figure, tuning, curves), out / "tune.png")
    return outcome


def _parameters(tuning: Tuning, fit: Any, best: Replay, unknown: dict[str, str]) -> dict[str, Any]:
    from gnc.scenarios.replay.tune import tunable

    told, after = {}, tunable(best)
    for (key, before), sigma in zip(tuning.values.items(), fit.sigma, strict=True):
        said, percent = unknown.get(key, ""), None if key in unknown else 100.0 * float(sigma)
        told[key] = {"before": before, "after": after[key], "sigma_percent": percent, "said": said}
    return told


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
    return {"sensors": sensors, "truth": truth and {k: truth[k] for k in ("rms_deg", "rms_m", "nees")}}


def _draw(figure: Figure, tuning: Tuning, curves: Any) -> None:
    """Draw the likelihood along every parameter through the best point."""
    import numpy as np

    from gnc.scenarios.replay.tune import CURVE

    axes = figure.subplots()
    for key, row in zip(tuning.values, curves, strict=True):
        axes.plot(np.exp(CURVE), row, ".-", label=key)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylim(-50.0, 2.0)
    axes.set_xlabel("factor on the tuned value")
    axes.set_ylabel("log-likelihood, less that of the tuned values")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
