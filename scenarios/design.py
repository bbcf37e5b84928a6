"""The command `gnc design`: gains of regulators, with what they promise."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gnc import check
from gnc.errors import InputError

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="Design controllers.")


@app.callback()
def _design() -> None:
    """Design controllers."""


@app.command("lqr")
def lqr(
    inertia: Annotated[str, typer.Option(help="Moments [kg m^2]: 3 numbers, or 6 as Jxx,Jyy,Jzz,Jxy,Jxz,Jyz.")],
    step_s: Annotated[float, typer.Option(help="How long a command is held [s].")],
    mass: Annotated[float | None, typer.Option(help="With it the design is for the pose [kg].")] = None,
    rate_deg_s: Annotated[str, typer.Option(help="Steady rate of the reference, body axes.")] = "0,0,0",
    state_weights: Annotated[
        str | None, typer.Option(help="Diagonal of Q: attitude, [position,] rate [, velocity].")
    ] = None,
    input_weights: Annotated[str | None, typer.Option(help="Diagonal of R: torque [, force].")] = None,
    out: Annotated[Path | None, typer.Option(help="File for K, S, F, G as .npz.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")] = False,
) -> None:
    """Design a discrete LQR on the exact Jacobian of the integrator's step, and report poles and margins."""
    import numpy as np

    from gnc.scenarios import display

    if not 0 < step_s < np.inf:
        raise InputError(f"--step-s: {step_s:g} is not positive and finite; give a number > 0")
    rate = _numbers("--rate-deg-s", rate_deg_s, 3)
    design = _design_lqr(_inertia(inertia), mass, step_s, rate, state_weights, input_weights)
    margins = design.margins()
    report = {
        "design": "lqr", "step_s": step_s, "K": design.K, "poles": np.abs(design.poles),
        "disk_margin": margins.disk, "gain_margin_db": margins.gain_db, "phase_margin_deg": margins.phase_deg,
        "disk_margin_all_inputs": margins.disk_all,
    }  # fmt: skip
    if out is not None:
        _write(out, design)
    if as_json:
        display.tell(report)
        return
    print("K =")
    print(np.array2string(design.K, precision=5, suppress_small=True, max_line_width=120))
    rows = [(f"{i}", f"{d:.3f}", f"{g:.1f}", f"{p:.0f}") for i, (d, g, p) in enumerate(zip(*margins[:3], strict=True))]
    display.table("margins at the inputs", ("input", "disk", "gain [dB]", "phase [deg]"), rows)
    print(f"largest pole {np.max(np.abs(design.poles)):.4f}")
    print(f"all inputs at once: disk margin at least {margins.disk_all:.3f}")


@app.command("mission")
def mission(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A built-in mission, or a file of your own.")],
    vary: Annotated[list[str], typer.Option(help="FIELD=LOW:HIGH, such as software.*.modes.*.law.gain=0.1:10.")],
    minimise: Annotated[str, typer.Option(help="The requirement whose predicted statistic is to be least.")],
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field.")] = None,
    runs: Annotated[int, typer.Option(min=3, help="Covariance runs at most.")] = 30,
    flights: Annotated[int, typer.Option(min=1, help="Typical flights of each.")] = 1,
    trials: Annotated[int, typer.Option(min=2, help="Trials of Monte Carlo, before and after.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")] = False,
) -> None:
    """Choose gains or process noise that minimise a requirement by linear covariance; Monte Carlo before and after."""
    from gnc.config import override
    from gnc.scenarios import display, progress
    from gnc.scenarios.covariance import tune
    from gnc.scenarios.missions.load import read
    from gnc.scenarios.sweep.sweep import Axis

    flown = read(name, settings or ())
    axes = [Axis.of(text, flown) for text in vary]
    with progress.bar("designing") as moved:
        design = tune.tune(flown, axes, minimise, runs, flights, moved)
    both = [one.fly(trials, judged_only=True).verdict for one in (flown, override(flown, design.settings))]
    rows = [(m, *(f"{v.metrics.get(m, float('nan')):.4g}" for v in both)) for m in both[0].metrics]
    if as_json:
        metrics = {when: v.metrics for when, v in zip(("before", "after"), both, strict=True)}
        display.tell({**design._asdict(), "monte_carlo": metrics, "trials": trials})
        return
    chosen = [f"{field} = {value:.5g}" for field, value in design.values.items()]
    print("\n".join(chosen) or "nothing better was found within these ranges")
    print(f"{minimise}: predicted {design.before:.4g} before, {design.after:.4g} after, {design.runs} covariance runs")
    display.table(f"Monte Carlo, {trials} trials", ("metric", "before", "after"), rows)


def _design_lqr(J: Any, mass: float | None, h: float, rate_deg_s: list[float], Q: str | None, R: str | None) -> Any:
    """Design for a steady rate of the reference."""
    import numpy as np

    from gnc.controllers.lqr import lqr as design
    from gnc.models.pose_body import PoseBody, PoseState
    from gnc.models.rigid_body import RigidBody
    from gnc.models.states import AttitudeState

    w_B, still = np.radians(rate_deg_s), np.array([1.0, 0.0, 0.0, 0.0])
    inputs = 3 if mass is None else 6
    state_weights = np.ones(2 * inputs) if Q is None else np.array(_numbers("--state-weights", Q, 2 * inputs))
    input_weights = np.ones(inputs) if R is None else np.array(_numbers("--input-weights", R, inputs))
    gyroscopic = np.cross(w_B, J @ w_B)  # what holds the reference's rate
    if mass is None:
        return design(RigidBody(J), AttitudeState(still, w_B), gyroscopic, h, state_weights, input_weights)
    x = PoseState(np.concatenate([still, np.zeros(4)]), np.concatenate([w_B, np.zeros(3)]))
    held = np.concatenate([gyroscopic, np.zeros(3)])
    return design(PoseBody.of(mass, np.zeros(3), J), x, held, h, state_weights, input_weights)


def _inertia(text: str) -> Any:
    import numpy as np

    parts = text.split(",")
    if len(parts) not in (3, 6):
        raise InputError(f"--inertia: expected 3 numbers, or 6 with the products, and commas between, got {text!r}")
    x = _numbers("--inertia", text, len(parts))
    xy, xz, yz = x[3:] if len(x) == 6 else (0.0, 0.0, 0.0)
    return np.array([[x[0], xy, xz], [xy, x[1], yz], [xz, yz, x[2]]])


def _numbers(option: str, text: str, count: int) -> list[float]:
    try:
        numbers = [check.number(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        raise InputError(f"{option}: expected {count} numbers with commas between, got {text!r}")
    return numbers


def _write(path: Path, design: Any) -> None:
    import numpy as np

    from gnc.files import replacing

    if path.suffix not in ("", ".npz"):
        raise InputError(f"--out {path}: ends with {path.suffix}; give a file that ends with .npz")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path.with_suffix(".npz")) as temporary, temporary.open("wb") as file:
            np.savez(file, K=design.K, S=design.S, F=design.F, G=design.G, step_s=design.h)
    except OSError as error:
        raise InputError(f"--out {path}: {error.strerror}; give a file that can be written") from None
