"""Figures 3 to 12: the separation point seen along the angular momentum, and error levels, at five settings."""

import time
from collections.abc import Sequence
from functools import partial, update_wrapper
from typing import NamedTuple

import numpy as np

from gnc.checks import Check, at_least, at_most, close, within
from gnc.scenarios.papers.case import Metric, Result, case
from gnc.scenarios.papers.dqvi import figures, flights
from gnc.scenarios.papers.dqvi.data import (
    BOTH,
    DATA,
    FAST,
    LOCKING,
    LONG,
    QUICK,
    SLOW,
    UNPHYSICAL,
    Array,
    Setting,
    start,
    whole,
)
from gnc.scenarios.papers.dqvi.flights import METHODS, departure, departures, errors, gimbal_lock_spread, rings, track


def final_error(method: str, setting: Setting) -> Array:
    """Return the angle between computed and exact attitude at the end [rad], for each set of data."""
    return errors(method, setting).phase_rad[-1]


def attitude_metrics(setting: Setting) -> dict[str, Metric]:
    """Return the errors of all methods, and the word about the data."""
    values: dict[str, Metric] = {"unphysical": UNPHYSICAL}
    for method in METHODS:
        for data, error in zip(DATA, final_error(method, setting), strict=True):
            values[f"{data}_{method}_phase_rad"] = float(error)
    return values


def attitude_checks(setting: Setting) -> list[Check]:
    """The specification's errors at 10 fps; everywhere, that the fourth order mends what the second does."""
    second, fourth = final_error("dqvi", setting), final_error("dqvi4", setting)
    name = "phase error of DQVI, order 4 over order 2"
    bounds = [at_most(f"{data}: {name}", fourth[k] / second[k], 0.05) for k, data in enumerate(DATA)]
    if setting is SLOW:
        bounds.append(close("paper: DQVI phase error [rad]", second[0], 1.93, tol=5e-3))
        bounds.append(close("paper: QUAT-RK4 phase error [rad]", final_error("quat_rk4", setting)[0], 0.067, tol=5e-4))
    return bounds


class Levels(NamedTuple):
    """The specification's largest errors of energy, angular momentum and centre of mass [m], with the printed data."""

    dqvi: tuple[float, float, float]
    quat_rk4: tuple[float, float, float]
    euler_rk4: tuple[float, float, float]


LEVELS = {
    SLOW: Levels((2.3e-14, 3.7e-14, 1.3e-12), (6.4e-4, 1.2e-4, 6.2e-4), (6.4e-4, 5.0e-3, 7.3e-3)),
    FAST: Levels((2.3e-13, 1.3e-13, 1.3e-12), (8.4e-8, 1.7e-8, 4.6e-7), (8.4e-8, 3.9e-6, 5.9e-6)),
    QUICK: Levels((2.3e-13, 1.1e-13, 9e-12), (6.1e-5, 1.2e-5, 1.1e-4), (6.1e-5, 9.5e-4, 1.4e-3)),
    LOCKING: Levels((1.8e-13, 1.0e-13, 9e-12), (1.8e-5, 4.0e-6, 4.0e-5), (1.8e-5, 0.15, 0.25)),
    LONG: Levels((7.5e-13, 6.0e-13, 8e-10), (3.8e-6, 7.4e-7, 2.1e-5), (3.8e-6, 1.8e-4, 2.6e-4)),
}
WHAT = {"energy": "energy, relative", "angular": "angular momentum, relative", "com_m": "centre of mass [m]"}


def levels(setting: Setting) -> tuple[dict[str, Metric], list[Check]]:
    """Return the largest errors of the four methods, and checks of those that the specification knows."""
    metrics, checks = attitude_metrics(setting), attitude_checks(setting)
    for method in METHODS:
        changes = errors(method, setting)
        for k, data in enumerate(DATA):
            worst = [float(getattr(changes, quantity)[:, k].max()) for quantity in WHAT]
            metrics |= {f"{data}_{method}_{quantity}": x for quantity, x in zip(WHAT, worst, strict=True)}
            checks += _checks(setting, method, data, worst)
    walks = departures(setting)
    metrics["paper_dqvi_com_m_of_starts_1e-6_apart"] = walks.tolist()
    com = 2.0 * LEVELS[setting].dqvi[-1]  # as below, and of many flights, since one may be twice the median by chance
    checks.append(at_most(f"paper: DQVI {WHAT['com_m']}, median of {len(walks)} starts", float(np.median(walks)), com))
    return metrics, checks


def _checks(setting: Setting, method: str, data: str, worst: Sequence[float]) -> list[Check]:
    names = [f"{data}: {METHODS[method]} {what}" for what in WHAT.values()]
    if method.startswith("dqvi"):
        # Twice the specification's numbers: round-off is not the same in two programs. Other data have other paths.
        energy, angular, _ = (2.0 * level for level in LEVELS[setting].dqvi)
        bounds = (energy, angular, setting.round_off_m)
        return [at_most(*each) for each in zip(names, worst, bounds, strict=True)]
    if data != "paper":
        return []
    expected = getattr(LEVELS[setting], method)
    checks = [close(name, x, level, rel=0.04) for name, x, level in zip(names, worst, expected, strict=True)]
    if (setting, method) == (LOCKING, "euler_rk4"):  # see fig10
        checks[1:] = [within(names[1], worst[1], 0.05, 0.5), within(names[2], worst[2], 0.08, 0.8)]
    return checks


def level(setting: Setting, seed: int, *others: Check) -> Result:
    """Measure conservation and attitude over the flight."""
    metrics, checks = levels(setting)
    return Result(metrics, [*checks, *others], partial(figures.draw_levels, setting=setting))


@case("dqvi/fig6", title=f"Error levels, 111 at 60 fps: {BOTH}")
def fig6(seed: int) -> Result:
    """Measure the same at 60 fps; the attitude error of DQVI falls with the square of the step."""
    gain = final_error("dqvi", SLOW)[0] / final_error("dqvi", FAST)[0]
    return level(FAST, seed, close("paper: DQVI phase error at 10 fps over that at 60 fps", gain, 36.0, rel=0.05))


@case("dqvi/fig10", title=f"Error levels, 321 at 60 fps, gimbal lock: {BOTH}")
def fig10(seed: int) -> Result:
    """Measure the same where the pitch passes 90 deg.

    EULER-RK4 has no number of its own there: 1e-14 rad more at the start, far less than data mean, change the outcome
    by a large factor. So it is checked to lie in a range around the specification's, and the spread is told.
    """
    metrics, checks = levels(LOCKING)
    spread = gimbal_lock_spread(LOCKING)
    metrics["paper_euler_rk4_angular_of_starts_1e-14_rad_apart"] = spread.tolist()
    name = "paper: EULER-RK4, worst over best of starts 1e-14 rad apart"
    checks.append(at_least(name, spread.max() / spread.min(), 1.2))
    return Result(metrics, checks, partial(figures.draw_levels, setting=LOCKING))


@case("dqvi/fig12", title=f"Error levels, 111 at 60 fps, 3 h, and iterations at 10 fps, 3 h: {BOTH}")
def fig12(seed: int) -> Result:
    """Measure 3 hours, once more in a single fused run of 648 000 steps, and count Newton iterations."""
    metrics, checks = levels(LONG)
    metrics["fused_run_steps"] = LONG.seconds * LONG.fps
    metrics["fused_run_s"], end = fused_run()
    apart = np.abs(end - track("dqvi", LONG).chi_B[-1, 0]).max()
    checks.append(at_most("paper: fused run and run with 5400 stops end apart by", apart, 0.0))
    counted = {n: flights.counted_energy(n) for n in (1, 2, 3, 4)}
    for n, energy in counted.items():
        metrics |= {f"{data}_energy_of_{n}_iterations": float(energy[-1, k]) for k, data in enumerate(DATA)}
    checks += [
        close("paper: final energy, 1 iteration", counted[1][-1, 0], -0.56, tol=5e-3),
        close("paper: final energy, 2 iterations", counted[2][-1, 0], -8.5e-7, tol=5e-9),
        at_most("paper: final energy, 3 iterations", abs(counted[3][-1, 0]), 5e-13),
        at_most("paper: final energy, 4 iterations", abs(counted[4][-1, 0]), 5e-13),
    ]
    return Result(metrics, checks, lambda figure: figures.draw_long(figure, LONG, counted))


def fused_run() -> tuple[float, Array]:
    """Fly the paper's data for 3 hours in one call; return its time [s] and the last twist."""
    body, x0, steps, h = whole("paper"), start(LONG.w_B), LONG.seconds * LONG.fps, 1.0 / LONG.fps
    body.fly(x0, 1, h)  # compiles
    began = time.perf_counter()
    flight = body.fly(x0, steps, h, every=steps)
    return time.perf_counter() - began, flight.x.chi_B[-1]


def project(setting: Setting, seed: int) -> Result:
    """Compare the paths with the exact ring, and the attitude with the exact one."""
    metrics, checks = attitude_metrics(setting), attitude_checks(setting)
    for k, data in enumerate(DATA):
        metrics[f"{data}_ring_m"] = rings(setting)[k]
        farthest = {method: float(departure(method, setting)[:, k].max()) for method in METHODS}
        metrics |= {f"{data}_{method}_departure_m": off for method, off in farthest.items()}
        checks += _departures(data, farthest, setting.round_off_m)
    return Result(metrics, checks, partial(figures.draw_projections, setting=setting))


def _departures(data: str, farthest: dict[str, float], round_off_m: float) -> list[Check]:
    """DQVI stays where it may be, to round-off; the others leave."""
    checks = []
    for method, off in farthest.items():
        if method.startswith("dqvi"):
            checks.append(at_most(f"{data}: {METHODS[method]} leaves sphere or ring by [m]", off, round_off_m))
        else:
            name = f"{data}: {METHODS[method]} leaves sphere or ring, in terms of DQVI"
            checks.append(at_least(name, off / farthest["dqvi"], 100.0))
    return checks


FLIGHTS = {
    3: (SLOW, "111 at 10 fps"),
    5: (FAST, "111 at 60 fps"),
    7: (QUICK, "333 at 60 fps"),
    9: (LOCKING, "321 at 60 fps, gimbal lock"),
    11: (LONG, "111 at 60 fps, 3 h"),
}
for number, (flown, name) in FLIGHTS.items():
    run = update_wrapper(partial(project, flown), project)
    case(f"dqvi/fig{number}", title=f"Normal projection of the trajectory, {name}: {BOTH}")(run)
    if flown in (SLOW, QUICK):  # the others have more to tell
        run = update_wrapper(partial(level, flown), level)
        case(f"dqvi/fig{number + 1}", title=f"Error levels, {name}: {BOTH}")(run)
