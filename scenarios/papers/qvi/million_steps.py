"""QVI Fig. 3: the free rigid body over a million steps.

The truth is a Taylor series, itself held against DOP853 over the first 200 s; DOP853 would take a quarter of an hour.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from gnc import quaternion
from gnc.checks import at_most, close
from gnc.models.rigid_body import RigidBody
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.papers.qvi.free_body import LABELS, START, Array, Errors, H, J, errors, truth, within
from gnc.scenarios.plots import attitude_errors_over_time, errors_over_time, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("vi2", "vi4", "preprocessed", "rk4")
STEPS, EVERY = 1_000_000, 1000


@functools.cache
def long_truth() -> tuple[Array, float]:
    """The attitudes of 200 000 s by Taylor series, and how far the first 200 s are from DOP853 [deg]."""
    body = RigidBody(J, "taylor", substeps=False)  # 0.5 s is 0.75 rad at most, where order 20 leaves round-off
    first = body.fly(START, 400, 0.5, every=2).x.q_IB
    off = np.degrees(quaternion.angle_between(first, truth()[::5])).max()
    return body.fly(START, 400_000, 0.5, every=400).x.q_IB, float(off)


@case("qvi/fig3", title="Free rigid body, a million steps: momentum and energy at round-off, attitude lost")
def fig3(seed: int) -> Result:
    """200 000 s: what is left in the variational family is round-off; RK4 loses 2.3 % of its energy."""
    flights = {name: RigidBody(J, name).fly(START, STEPS, H, EVERY) for name in METHODS}
    t, true = flights["vi2"].t, long_truth()
    run = {name: errors(flight.x, true[0]) for name, flight in flights.items()}
    momentum, energy = (
        {name: float(np.abs(getattr(e, key)).max()) for name, e in run.items()} for key in ("momentum", "energy")
    )
    spin = float(np.linalg.norm(J @ flights["rk4"].x.w_B[5]) / np.linalg.norm(J @ START.w_B) - 1.0)
    decades = {  # of what was kept, one state in 200 s
        f"attitude_deg_{k * 200}s_{name}": float(e.attitude_deg[: k + 1].max())
        for name, e in run.items()
        for k in (10, 100, 1000)
    }
    key = "attitude_deg_2000s"
    return Result(
        {
            **{f"momentum_{name}": e for name, e in momentum.items()},
            **{f"energy_{name}": e for name, e in energy.items()},
            **decades,
            "truth_against_dop853_200s_deg": true[1],
        },
        [
            at_most("momentum of vi2, relative error", momentum["vi2"], 1e-12),
            at_most("energy of vi2, relative error", energy["vi2"], 2e-12),
            close("energy of RK4, relative change", run["rk4"].energy[-1], -2.33e-2, rel=0.005),
            close("energy of RK4 at 1000 s, relative change", run["rk4"].energy[5], -1.218e-4, rel=0.001),
            close("|H| of RK4 at 1000 s, relative change", spin, -5.58e-5, rel=0.001),
            at_most("truth against DOP853 over 200 s [deg]", true[1], 1e-8),
            at_most("attitude error within 2000 s, vi4 over RK4", decades[f"{key}_vi4"] / decades[f"{key}_rk4"], 0.5),
            close("attitude error of vi2 within 200 s [deg]", within("vi2", 200), 106.0, tol=0.5),
        ],
        lambda figure: draw_long(figure, t, run),
    )


def draw_long(figure: Figure, t: Array, run: dict[str, Errors]) -> None:
    """Momentum, energy and attitude on a logarithmic clock."""
    panels = figure.subplots(1, 3)
    for axes, key, bound in zip(panels[:2], ("momentum", "energy"), (1e-12, 2e-12), strict=True):
        errors_over_time(axes, t, {LABELS[name]: getattr(e, key) for name, e in run.items()})
        axes.set(ylabel=f"relative error of {key} [-]", ylim=(1e-16, 1.0))
        axes.axhline(bound, color="k", ls="--", lw=0.8)
        axes.set_title("dashed: bound for variational", fontsize=10)
    worst = {LABELS[name]: np.maximum.accumulate(e.attitude_deg) for name, e in run.items()}
    attitude_errors_over_time(panels[2], t, worst, "Taylor series")
    panels[2].set_ylabel("largest attitude error so far [deg]")
    for axes in panels:
        axes.set_xscale("log")
    figure.suptitle("Free rigid body, a million steps of 0.2 s", fontsize=11)
    legend_below(figure, panels[0], 4)
