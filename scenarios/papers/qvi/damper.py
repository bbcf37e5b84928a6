"""QVI section IX.B: a rigid body with a Kane damper, by our methods and by SciPy's.

Fig. 4: what a damper costs that makes the motion stiff. Figs. 5 and 6: energy with a stiff damper, C = 100, over 300 s.
The paper's method is of first order in the damping; the symmetric one of second order stands beside it. At h = 0.3 s
both keep momentum, and lose energy as they should, but not the attitude: that error is shown as well.
"""

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gnc import quaternion
from gnc.checks import at_least, at_most, close, within
from gnc.integrators import scipy_solvers
from gnc.models.damped_body import DampedBody, DampedState
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.plots import COLOURS, Figure, attitude_errors_over_time, legend_below

Array = NDArray[Any]

J, J_D = np.diag([1.0, 2.0, 3.0]), 0.2
W0 = np.array([np.pi / 4, -np.pi / 5, np.pi / 6])
UNIT = np.array([1.0, 0, 0, 0])
START = DampedState(UNIT, W0, W0)  # the ball at rest in the body
H = 0.3


def body(C: float, order: int) -> DampedBody:
    """The body and its damper; order 1 is the paper's method."""
    return DampedBody(J, J_D, C, order=order)


def solve(
    method: str,
    C: float,
    t: Array,
    q_IB: Array = UNIT,
    rtol: float = scipy_solvers.RTOL,
    atol: float = scipy_solvers.ATOL,
) -> tuple[DampedState, int]:
    """The same run by one of SciPy's solvers, and the number of its steps."""
    parameters = (J, J_D, C, np.zeros(3), t)
    x = scipy_solvers.solve_damped(method, q_IB, J @ W0, J_D * W0, *parameters, rtol=rtol, atol=atol)
    state = DampedState(quaternion.normalize(x.q_IB), np.linalg.solve(J, x.P_B.T).T, x.P_D / J_D)
    return state, x.steps


def off_deg(q_IB: Array, truth_IB: Array) -> Array:
    """The attitude error."""
    return np.degrees(quaternion.angle_between(q_IB, truth_IB))


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


C_STIFF = 100.0
TIMES = H * np.arange(1001)
MARKS = {30: (1.241466, 1.241055), 150: (1.234423, 1.233758), 300: (1.224623, 1.224016)}  # [s]: order 1, Radau [J]
E0 = float(body(C_STIFF, 1).energy(START))


@functools.cache
def truth() -> DampedState:
    """The run by Radau at 1e-9."""
    return solve("Radau", C_STIFF, TIMES, rtol=1e-9, atol=1e-9)[0]


@functools.cache
def stiff_flights() -> dict[str, DampedState]:
    """The run by the variational methods; the last with a tenth of the step."""
    return {
        "variational, order 1 (QVI)": body(C_STIFF, 1).fly(START, 1000, H).x,
        "variational, order 2": body(C_STIFF, 2).fly(START, 1000, H).x,
        "variational, order 2, h = 0.03 s": body(C_STIFF, 2).fly(START, 10_000, H / 10, every=10).x,
    }


def energy(x: DampedState) -> Array:
    """Kinetic energy of body and ball over that at the start."""
    return np.asarray(body(C_STIFF, 1).energy(x)) / E0


def rise(E: Array) -> float:
    """How far a history climbs above what it had come down to."""
    return float((E - np.minimum.accumulate(E)).max())


@case(
    "qvi/fig5",
    title="Rigid body with stiff damper, C = 100, h = 0.3 s: energy over 300 s, and the attitude error beside it",
)
def fig5(seed: int) -> Result:
    """The energy falls as that of a tight reference."""
    E = {name: energy(x) for name, x in stiff_flights().items()}
    E_true = energy(truth())
    first, second, fine = E.values()
    degrees = {name: off_deg(x.q_IB, truth().q_IB) for name, x in stiff_flights().items()}
    at = {t: round(t / H) for t in MARKS}
    checks = [close("energy at the start [J]", E0, 1.243022, tol=1e-6)]
    for t, (qvi, radau) in MARKS.items():
        checks.append(close(f"energy of order 1 at {t} s [J]", E0 * first[at[t]], qvi, tol=1e-6))
        checks.append(close(f"energy of Radau at {t} s [J]", E0 * E_true[at[t]], radau, tol=1e-6))
    return Result(
        {
            **{f"energy_J_{t}s_order{k}": E0 * e[at[t]] for t in MARKS for k, e in ((1, first), (2, second))},
            **{f"energy_J_{t}s_radau": E0 * E_true[at[t]] for t in MARKS},
            "lost_energy_order1_over_true": (1 - first[-1]) / (1 - E_true[-1]),
            "lost_energy_order2_over_true": (1 - second[-1]) / (1 - E_true[-1]),
            "lost_energy_fine_over_true": (1 - fine[-1]) / (1 - E_true[-1]),
            **{
                f"attitude_deg_{t}s_{key}": e[: round(t / H) + 1].max()
                for key, e in zip(("order1", "order2", "order2_fine"), degrees.values(), strict=True)
                for t in (30, 300)
            },
        },
        [
            *checks,
            at_most("energy of order 1 against Radau, over E0", np.abs(first - E_true).max(), 1e-3),
            at_most("energy of order 2 against Radau, over E0", np.abs(second - E_true).max(), 1e-3),
        ],
        lambda figure: draw_energy(figure, {**E, "Radau at 1e-9": E_true}, degrees),
    )


def draw_energy(figure: Figure, E: dict[str, Array], degrees: dict[str, Array]) -> None:
    """Energy, and the attitude error."""
    left, right = figure.subplots(1, 2)
    for (name, e), colour in zip(E.items(), (*COLOURS[:3], "k"), strict=True):
        left.plot(TIMES, e, color=colour, lw=1.0, ls="--" if colour == "k" else "-", label=name)
    left.set(xlabel="time [s]", ylabel="energy over that at the start [-]")
    left.set_title("Rigid body with damper, C = 100, h = 0.3 s", fontsize=10)
    left.grid(alpha=0.3)
    attitude_errors_over_time(right, TIMES, degrees, "Radau at 1e-9")
    legend_below(figure, left, 2)


FRAMES = np.eye(4)  # attitudes at the start: the same motion, seen from inertial frames half a turn apart


@case(
    "qvi/fig6",
    title="Rigid body with stiff damper: stiff solvers whose energy climbs at times, the variational one decays",
)
def fig6(seed: int) -> Result:
    """BDF and LSODA at default tolerances.

    Their numbers hang on round-off: the same motion in another inertial frame ends up to 2 % elsewhere, where all that
    there was to lose is 1.5 %. So they run in four frames, of which one at least shows a climb as the paper does. BDF
    ends below its start in all four: "energy grows" holds for parts of the flight.
    """
    stiff = {method: [stiff_run(method, q_IB) for q_IB in FRAMES] for method in ("BDF", "LSODA")}
    E_true, first = energy(truth()), energy(stiff_flights()["variational, order 1 (QVI)"])
    ends = {method: [float(E[-1]) for E, _ in runs] for method, runs in stiff.items()}
    highest = {method: max(float(E.max()) for E, _ in runs) for method, runs in stiff.items()}
    rises = {method: [rise(E) for E, _ in runs] for method, runs in stiff.items()}
    return Result(
        {
            "end_true": E_true[-1],
            "end_variational": first[-1],
            "rise_variational": rise(first),
            **{f"end_{method}": values for method, values in ends.items()},
            **{f"highest_{method}": value for method, value in highest.items()},
            **{f"rise_{method}": values for method, values in rises.items()},
            **{f"attitude_deg_300s_{method}": max(float(e.max()) for _, e in runs) for method, runs in stiff.items()},
        },
        [
            at_least("energy climb of BDF over E0, largest of 4 frames", max(rises["BDF"]), 2e-3),
            at_least("energy climb of LSODA over E0, largest of 4 frames", max(rises["LSODA"]), 2e-3),
            at_least("highest energy of a stiff solver over E0", max(highest.values()), 1.0004),
            at_most("energy climb of the variational one over E0", rise(first), 1e-3),
            close("energy of the variational one at 300 s over E0", first[-1], E_true[-1], tol=1e-3),
        ],
        lambda figure: draw_stiff(figure, stiff, E_true, first),
    )


def stiff_run(method: str, q_IB: Array) -> tuple[Array, Array]:
    """Energy over that at the start, and attitude error in degrees, of a solver at default tolerances."""
    x, _ = solve(method, C_STIFF, TIMES, q_IB)
    return energy(x), off_deg(x.q_IB, quaternion.mul(q_IB, truth().q_IB))


def draw_stiff(figure: Figure, stiff: dict[str, list[tuple[Array, Array]]], E_true: Array, first: Array) -> None:
    """Energy, and the attitude error."""
    left, right = figure.subplots(1, 2)
    variational = "variational, order 1 (QVI), h = 0.3 s"
    for (method, runs), colour in zip(stiff.items(), COLOURS[1:3], strict=True):
        for k, (E, _) in enumerate(runs):
            label = None if k else f"SciPy {method}, default, in 4 inertial frames"
            left.plot(TIMES, E, color=colour, lw=0.7, label=label)
    left.plot(TIMES, first, color=COLOURS[0], lw=1.4, label=variational)
    left.plot(TIMES, E_true, "k--", lw=1.2, label="Radau at 1e-9")
    left.axhline(1.0, color="k", lw=0.6, ls=":")
    left.set(xlabel="time [s]", ylabel="energy over that at the start [-]")
    left.set_title("Rigid body with damper, C = 100", fontsize=10)
    left.grid(alpha=0.3)
    q_IB = stiff_flights()["variational, order 1 (QVI)"].q_IB
    errors = {variational: off_deg(q_IB, truth().q_IB), **{method: runs[0][1] for method, runs in stiff.items()}}
    attitude_errors_over_time(right, TIMES, errors, "Radau at 1e-9")
    legend_below(figure, left, 2)
