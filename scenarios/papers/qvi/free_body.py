"""QVI Figs. 1 and 2: a free rigid body at h = 0.2 s, what it conserves, and beside it the attitude error.

The paper compares its integrator (vi2) with the explicit midpoint rule and ODE45 (SciPy's RK45 is its twin). Fourth
order (vi4), preprocessed and RK4 at the same step keep them company: conservation alone says nothing about accuracy.

QVI Fig. 3: the free rigid body over a million steps.

The truth is a Taylor series, itself held against DOP853 over the first 200 s; DOP853 would take a quarter of an hour.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnc import quaternion
from gnc.checks import Check, at_most, close
from gnc.integrators import scipy_solvers
from gnc.models.rigid_body import RigidBody
from gnc.models.states import AttitudeState
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.plots import Figure, attitude_errors_over_time, errors_over_time, legend_below

Array = NDArray[Any]

J = np.diag([1.0, 2.0, 3.0])
START = AttitudeState(np.array([1.0, 0, 0, 0]), np.array([np.pi / 4, -np.pi / 5, np.pi / 6]))
H = 0.2
NO_WHEELS = np.zeros(3)
LABELS = {
    "vi2": "variational, 2nd order (QVI)",
    "vi4": "variational, 4th order",
    "preprocessed": "preprocessed, 4th order",
    "rk4": "RK4",
    "midpoint": "explicit midpoint",
    "rk45": "SciPy RK45, default tolerances",
}


class Errors(NamedTuple):
    """How far a run is from what it should be."""

    momentum: Array  # |H - H0|/|H0|, inertial
    energy: Array  # E/E0 - 1
    attitude_deg: Array


def errors(x: AttitudeState, truth_IB: Array) -> Errors:
    """Judge a run; quaternions are normalised first, since Runge-Kutta methods let their length drift."""
    body, x = RigidBody(J), AttitudeState(quaternion.normalize(x.q_IB), x.w_B)
    H0, E0 = body.momentum(START), body.energy(START)
    momentum = np.linalg.norm(body.momentum(x) - H0, axis=-1) / np.linalg.norm(H0)
    return Errors(momentum, body.energy(x) / E0 - 1.0, np.degrees(quaternion.angle_between(x.q_IB, truth_IB)))


def scipy_flight(method: str, t: Array, rtol: float, atol: float) -> AttitudeState:
    """The same run by an adaptive solver."""
    x = scipy_solvers.solve(method, START.q_IB, J @ START.w_B, J, NO_WHEELS, t, rtol=rtol, atol=atol)
    return AttitudeState(quaternion.normalize(x.q_IB), np.linalg.solve(J, x.P_B.T).T)


# The runs of 200 s, which both figures share

T = H * np.arange(1001)


@functools.cache
def truth() -> Array:
    """The attitudes of 200 s, by DOP853 at 1e-13."""
    return scipy_flight("DOP853", T, 1e-13, 1e-14).q_IB


@functools.cache
def runs() -> dict[str, Errors]:
    """200 s by every method."""
    flights = {name: RigidBody(J, name).fly(START, 1000, H).x for name in LABELS if name != "rk45"}
    flights["rk45"] = scipy_flight("RK45", T, scipy_solvers.RTOL, scipy_solvers.ATOL)
    return {name: errors(flights[name], truth()) for name in LABELS}


def within(name: str, seconds: int) -> float:
    """The largest attitude error of a method up to some time [deg]."""
    return float(runs()[name].attitude_deg[: round(seconds / H) + 1].max())


def attitude_metrics() -> dict[str, float]:
    """The numbers that stand beside every conservation figure."""
    return {f"attitude_deg_{t}s_{name}": within(name, t) for name in LABELS for t in (20, 200)}


def attitude_checks() -> list[Check]:
    """Second order conserves everything and is 106 deg wrong; the numbers of fourth order are for the end of 20 s."""
    at_20_s = {name: run.attitude_deg[100] for name, run in runs().items()}
    return [
        close("attitude error of vi2 within 20 s [deg]", within("vi2", 20), 9.3, tol=0.05),
        close("attitude error of vi2 within 200 s [deg]", within("vi2", 200), 106.0, tol=0.5),
        close("attitude error of vi4 at 20 s [deg]", at_20_s["vi4"], 0.012, tol=0.0005),
        close("attitude error of preprocessed at 20 s [deg]", at_20_s["preprocessed"], 0.020, tol=0.0005),
        at_most("attitude error of RK4 within 20 s [deg]", within("rk4", 20), 0.01),
    ]


# The figures


def conserved(what: str, seed: int) -> Result:
    """Momentum in inertial axes or energy: round-off for the variational family, percents for the comparators."""
    drift = {name: getattr(run, what) for name, run in runs().items()}
    largest = {name: float(np.abs(e).max()) for name, e in drift.items()}
    _, vi2, midpoint, rk45, label = CONSERVED[what]
    return Result(
        {**{f"{what}_{name}": e for name, e in largest.items()}, **attitude_metrics()},
        [
            at_most(f"{what} of vi2, relative error", largest["vi2"], vi2),
            close(f"{what} of midpoint, relative error", largest["midpoint"], midpoint, rel=0.05),
            close(f"{what} of RK45, relative error", largest["rk45"], rk45, rel=0.05),
            *attitude_checks(),
        ],
        lambda figure: draw_errors(figure, drift, label),
    )


CONSERVED = {  # case, largest errors of vi2, midpoint and RK45, label
    "momentum": ("qvi/fig1", 5.7e-14, 1.3e-2, 1.1e-1, "momentum error $|H - H_0|/|H_0|$ [-]"),
    "energy": ("qvi/fig2", 1.1e-13, 2.8e-2, 2.8e-2, "energy error $|E/E_0 - 1|$ [-]"),
}
for what, (name, *_) in CONSERVED.items():
    flown = functools.update_wrapper(functools.partial(conserved, what), conserved)
    case(name, title=f"Free rigid body, 200 s: {what} error, and the attitude error beside it")(flown)


def draw_errors(figure: Figure, drift: dict[str, Array], what: str) -> None:
    """What is conserved, and what is not."""
    left, right = figure.subplots(1, 2)
    errors_over_time(left, T, {LABELS[name]: e for name, e in drift.items()})
    left.set_ylabel(what)
    left.set_title("Free rigid body, h = 0.2 s", fontsize=10)
    attitude_errors_over_time(
        right, T, {LABELS[name]: run.attitude_deg for name, run in runs().items()}, "DOP853 at 1e-13"
    )
    legend_below(figure, left, 3)


KEEPING = ("vi2", "vi4", "preprocessed", "rk4")
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
    flights = {name: RigidBody(J, name).fly(START, STEPS, H, EVERY) for name in KEEPING}
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
