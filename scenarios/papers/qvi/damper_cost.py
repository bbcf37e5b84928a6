"""QVI Fig. 4: what a damper costs that makes the motion stiff."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from gnc.checks import at_most, close, within
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.papers.qvi.damper import START, H, body, off_deg, solve
from gnc.scenarios.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")

CONSTANTS = (0.1, 1.0, 10.0, 100.0)
RK45_STEPS = (19, 38, 363, 3625)
STEPS = 67  # of 0.3 s cover 20 s


class Cost(NamedTuple):
    """What 20 s take at one damping constant, and how far the attitude then is off."""

    steps: int  # of RK45
    rk45_ms: float
    variational_ms: float
    momentum: float  # relative error of the variational method; NaN if it had been lost
    degrees: dict[str, float]  # largest attitude error of each method


@case("qvi/fig4", title="Rigid body with damper, 20 s: what stiffness costs, and the attitude error beside it")
def fig4(seed: int) -> Result:
    """Count steps; running time is shown for information."""
    costs = [cost(C) for C in CONSTANTS]
    degrees = {name: [c.degrees[name] for c in costs] for name in costs[0].degrees}
    counts = zip(CONSTANTS, costs, RK45_STEPS, strict=True)
    return Result(
        {
            "C": CONSTANTS,
            "steps_rk45": [c.steps for c in costs],
            "steps_variational": STEPS,
            "milliseconds_rk45": [c.rk45_ms for c in costs],
            "milliseconds_variational": [c.variational_ms for c in costs],
            **{f"attitude_deg_20s_{name.replace(' ', '')}": values for name, values in degrees.items()},
        },
        [
            *(close(f"steps of RK45, C = {C:g}", c.steps, expected, rel=0.01, tol=1) for C, c, expected in counts),
            at_most(
                f"momentum of order 1 after {STEPS} steps, any C, relative error", max(c.momentum for c in costs), 1e-13
            ),
            at_most("attitude error of RK45, C = 100 [deg]", degrees["RK45"][-1], 1e-3),
            within("attitude error of order 2, C = 100 [deg]", degrees["order 2"][-1], 10.0, 40.0),
        ],
        lambda figure: draw_cost(figure, costs, degrees),
    )


def cost(C: float) -> Cost:
    """Fly 20 s by every method."""
    t = H * np.arange(STEPS)
    truth = solve("Radau", C, t, rtol=1e-9, atol=1e-9)[0].q_IB
    (adaptive, steps), rk45_ms = timed(lambda: solve("RK45", C, np.append(t, 20.0)))
    flights = {f"order {order}": body(C, order).fly(START, STEPS - 1, H).x.q_IB for order in (1, 2, 4)}
    flight, variational_ms = timed(lambda: body(C, 1).fly(START, STEPS, H, every=STEPS))
    momentum = body(C, 1).momentum(flight.x)
    off = float(np.linalg.norm(momentum[-1] - momentum[0]) / np.linalg.norm(momentum[0]))
    paths = {**flights, "RK45": adaptive.q_IB[:-1]}
    degrees = {name: float(off_deg(q_IB, truth).max()) for name, q_IB in paths.items()}
    return Cost(steps, rk45_ms, variational_ms, off, degrees)


def timed(run: Callable[[], T]) -> tuple[T, float]:
    """What a run returns, and the milliseconds it took."""
    start = time.perf_counter()
    result = run()
    return result, 1e3 * (time.perf_counter() - start)


def draw_cost(figure: Figure, costs: list[Cost], degrees: dict[str, list[float]]) -> None:
    """Steps, time and attitude error over the damping constant."""
    steps, clock, attitude = figure.subplots(1, 3)
    steps.loglog(CONSTANTS, [c.steps for c in costs], "o-", color=COLOURS[5], label="SciPy RK45, default")
    steps.loglog(CONSTANTS, [STEPS] * 4, "o-", color=COLOURS[0], label="variational, h = 0.3 s")
    steps.set_ylabel("steps for 20 s")
    clock.loglog(CONSTANTS, [c.rk45_ms for c in costs], "o-", color=COLOURS[5], label="SciPy RK45, Python")
    clock.loglog(CONSTANTS, [c.variational_ms for c in costs], "o-", color=COLOURS[0], label="variational, compiled")
    clock.set_ylabel("running time on this machine [ms]")
    for (name, values), k in zip(degrees.items(), (0, 1, 2, 5), strict=True):
        label = f"variational, {name}" if name.startswith("order") else name
        attitude.loglog(CONSTANTS, values, "o-", color=COLOURS[k], label=label)
    attitude.set_ylabel("largest attitude error within 20 s [deg]")
    for axes in (steps, clock, attitude):
        axes.set_xlabel("damping constant C [N m s]")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    attitude.set_title("order 4 has no solution for C >= 10", fontsize=9)
