"""LGVI Figs. 2 to 4: the orbit of three balls, what is conserved, and the attitude error beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnc import quaternion
from gnc.checks import Check, at_least, at_most, close
from gnc.models.potential_body import PotentialState
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.papers.lgvi.three_balls import ARMS, EVERY, Array, H, attitude, body, flights, start
from gnc.scenarios.plots import attitude_errors_over_time, errors_over_time, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def attitude_metrics() -> dict[str, float]:
    """The numbers that stand beside every conservation figure: largest errors within 100 and 1000 s."""
    methods = zip(("lgvi2", "lgvi4", "rk4"), attitude().degrees.values(), strict=True)
    return {
        f"attitude_deg_{t}s_{name}": float(error[: round(t / (H * EVERY)) + 1].max())
        for name, error in methods
        for t in (100, 1000)
    }


def attitude_checks() -> list[Check]:
    """Second order is 16 deg wrong by the end, in spite of all that it conserves."""
    numbers = attitude_metrics()
    return [
        at_most("truth against DOP853 over 50 s [deg]", attitude().truth_deg, 1e-6),
        at_least("attitude error of 2nd order within 1000 s [deg]", numbers["attitude_deg_1000s_lgvi2"], 10.0),
        at_most("attitude error of 4th order within 1000 s [deg]", numbers["attitude_deg_1000s_lgvi4"], 1e-3),
    ]


def draw_attitude(axes: Axes, t: Array) -> None:
    """The panel beside conservation."""
    attitude_errors_over_time(axes, t, attitude().degrees, "4th order at h/4, checked by DOP853")


# Figure 2: the orbit


@case("lgvi/fig2", title="Three balls in orbit: path of the centre of mass, and the turning body")
def fig2(seed: int) -> Result:
    """Fly 1000 s; the distance stays between the two apsides that the paper draws."""
    t, x = flights()["LGVI, 2nd order"]
    r = np.linalg.norm(x.r_I, axis=-1)
    period = orbital_period(t, r)
    return Result(
        {
            "r_min_m": r.min(),
            "r_max_m": r.max(),
            "period_s": period,
            "E0_J": body(2).energy(start()),
            **attitude_metrics(),
        },
        [
            close("smallest distance [m]", r.min(), 6.383, tol=5e-4),
            close("largest distance [m]", r.max(), 8.0, tol=5e-4),
            close("energy at the start [J]", float(body(2).energy(start())), 2.123540, tol=5e-7),
            *attitude_checks(),
        ],
        lambda figure: draw_orbit(figure, t, x, period),
    )


def orbital_period(t: Array, r: Array) -> float:
    """The time from the start, at apoapsis, to the next apoapsis."""
    away = (r[1:-1] > r[:-2]) & (r[1:-1] >= r[2:]) & (r[1:-1] > 7.9)
    return float(t[1:-1][away][0])


def draw_orbit(figure: Figure, t: Array, x: PotentialState, period: float) -> None:
    """Centre of mass over 1000 s, triangles over one orbit, and the attitude error."""
    panels = figure.subplot_mosaic("AB;CC", height_ratios=(2.2, 1.0))
    path, turning = panels["A"], panels["B"]
    path.plot(x.r_I[:, 0], x.r_I[:, 1], lw=0.5, color="C0")
    path.set_title("Centre of mass, 0 to 1000 s", fontsize=10)
    one = np.flatnonzero(t <= period)[::30]
    colours = figure_colours(len(one))
    for k, colour in zip(one, colours, strict=True):
        balls = x.r_I[k] + quaternion.rotate(x.q_IB[k], ARMS)
        turning.fill(balls[:, 0], balls[:, 1], facecolor=(*colour[:3], 0.3), edgecolor=colour, lw=0.7)
    turning.plot(x.r_I[: one[-1], 0], x.r_I[: one[-1], 1], color="0.6", lw=0.6, zorder=0)
    turning.set_title(f"The body every 3 s of one orbit ({period:.0f} s, dark to light)", fontsize=10)
    for axes in (path, turning):
        axes.plot(0.0, 0.0, "k+", ms=8)
        axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
        axes.grid(alpha=0.3)
    draw_attitude(panels["C"], t)
    legend_below(figure, panels["C"], 3)


def figure_colours(n: int) -> list[tuple[float, ...]]:
    """Colours from dark to light."""
    from matplotlib import colormaps

    return [tuple(c) for c in colormaps["viridis"](np.linspace(0.0, 0.95, n))]


# Figure 3: energy and unit norm


@case("lgvi/fig3", title="Three balls in orbit: errors of energy and of the quaternion's norm")
def fig3(seed: int) -> Result:
    """Energy swings and does not drift; the norm stays at round-off without normalising."""
    t = flights()["RK4"].t
    energy = {name: body(2).energy(flight.x) for name, flight in flights().items()}
    change = {name: E - E[0] for name, E in energy.items()}
    norm = {name: np.linalg.norm(flight.x.q_IB, axis=-1) - 1.0 for name, flight in flights().items()}
    second, fourth, rk4 = (np.abs(e).max() for e in change.values())
    halves = np.split(np.abs(change["LGVI, 2nd order"][1:]), 2)
    unit, _, unit_rk4 = (np.abs(e).max() for e in norm.values())
    metrics = {
        "E0_J": energy["RK4"][0],
        "dE_J_lgvi2": second,
        "dE_J_lgvi4": fourth,
        "dE_J_rk4": rk4,
        "unit_lgvi2": unit,
    }
    return Result(
        {**metrics, "unit_rk4": unit_rk4, **attitude_metrics()},
        [
            close("energy at the start [J]", energy["RK4"][0], 2.123540, tol=5e-7),
            close("energy, largest change [J]", second, 6.3e-7, tol=0.1e-7),
            close("the same in the second half, over the first", halves[1].max() / halves[0].max(), 1.0, tol=0.05),
            at_most("unit norm, largest error", unit, 1e-13),
            *attitude_checks(),
        ],
        lambda figure: draw_invariants(figure, t, change, norm),
    )


def draw_invariants(figure: Figure, t: Array, change: dict[str, Array], norm: dict[str, Array]) -> None:
    """Energy, norm, and the attitude error."""
    panels = figure.subplot_mosaic("AB;CC")
    errors_over_time(panels["A"], t, change)
    panels["A"].set_ylabel("$|E - E_0|$ [J]")
    panels["A"].set_title("Energy", fontsize=10)
    errors_over_time(panels["B"], t, norm)
    panels["B"].set_ylabel(r"$|\,|q| - 1\,|$ [-]")
    panels["B"].set_title("Unit norm of the quaternion", fontsize=10)
    draw_attitude(panels["C"], t)
    legend_below(figure, panels["C"], 3)


# Figure 4: angular momentum


@case("lgvi/fig4", title="Three balls in orbit: error of the total angular momentum")
def fig4(seed: int) -> Result:
    """Orbit and spin together keep their angular momentum to round-off."""
    t = flights()["RK4"].t
    momentum = {
        name: body(2).momentum(flight.x._replace(q_IB=quaternion.normalize(flight.x.q_IB)))
        for name, flight in flights().items()
    }
    change = {name: np.linalg.norm(L - L[0], axis=-1) for name, L in momentum.items()}
    second, fourth, rk4 = (e.max() for e in change.values())
    size = float(np.linalg.norm(momentum["RK4"][0]))
    return Result(
        {"L0": size, "dL_lgvi2": second, "dL_lgvi4": fourth, "dL_rk4": rk4, **attitude_metrics()},
        [
            at_most(
                "angular momentum, largest change [kg m^2/s]", second, 1e-11
            ),  # 1e-12 of it: what is left is round-off
            *attitude_checks(),
        ],
        lambda figure: draw_momentum(figure, t, change),
    )


def draw_momentum(figure: Figure, t: Array, change: dict[str, Array]) -> None:
    """Momentum, and the attitude error."""
    above, below = figure.subplots(2, 1, sharex=True)
    errors_over_time(above, t, change)
    above.set(xlabel="", ylabel="total angular momentum error\n" + r"$|L - L_0|$ [kg m$^2$/s]")
    draw_attitude(below, t)
    legend_below(figure, below, 3)
