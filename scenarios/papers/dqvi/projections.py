"""Figures 3, 5, 7, 9, 11: the separation point seen along the angular momentum."""

from functools import partial

from gnc.checks import Check, at_least, at_most
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.papers.dqvi import attitude, figures
from gnc.scenarios.papers.dqvi.data import BOTH, DATA
from gnc.scenarios.papers.dqvi.flights import METHODS
from gnc.scenarios.papers.dqvi.ring import departure, rings
from gnc.scenarios.papers.dqvi.settings import FAST, LOCKING, LONG, QUICK, SLOW, Setting


def project(setting: Setting) -> Result:
    """Compare the paths with the exact ring, and the attitude with the exact one."""
    metrics, checks = attitude.metrics(setting), attitude.checks(setting)
    for k, data in enumerate(DATA):
        metrics[f"{data}_ring_m"] = rings(setting)[k]
        farthest = {method: float(departure(method, setting)[:, k].max()) for method in METHODS}
        metrics |= {f"{data}_{method}_departure_m": off for method, off in farthest.items()}
        checks += _checks(data, farthest, setting.round_off_m)
    return Result(metrics, checks, partial(figures.draw_projections, setting=setting))


def _checks(data: str, farthest: dict[str, float], round_off_m: float) -> list[Check]:
    """DQVI stays where it may be, to round-off; the others leave."""
    checks = []
    for method, off in farthest.items():
        if method.startswith("dqvi"):
            checks.append(at_most(f"{data}: {METHODS[method]} leaves sphere or ring by [m]", off, round_off_m))
        else:
            name = f"{data}: {METHODS[method]} leaves sphere or ring, in terms of DQVI"
            checks.append(at_least(name, off / farthest["dqvi"], 100.0))
    return checks


@case("dqvi/fig3", title=f"Normal projection of the trajectory, 111 at 10 fps: {BOTH}")
def fig3(seed: int) -> Result:
    """Fly 4 minutes at 10 fps."""
    return project(SLOW)


@case("dqvi/fig5", title=f"Normal projection of the trajectory, 111 at 60 fps: {BOTH}")
def fig5(seed: int) -> Result:
    """Fly 4 minutes at 60 fps."""
    return project(FAST)


@case("dqvi/fig7", title=f"Normal projection of the trajectory, 333 at 60 fps: {BOTH}")
def fig7(seed: int) -> Result:
    """Fly 4 minutes at 60 fps, three times as fast."""
    return project(QUICK)


@case("dqvi/fig9", title=f"Normal projection of the trajectory, 321 at 60 fps, gimbal lock: {BOTH}")
def fig9(seed: int) -> Result:
    """Fly 4 minutes at 60 fps about another axis."""
    return project(LOCKING)


@case("dqvi/fig11", title=f"Normal projection of the trajectory, 111 at 60 fps, 3 h: {BOTH}")
def fig11(seed: int) -> Result:
    """Fly 3 hours at 60 fps."""
    return project(LONG)
