"""The attitude (phase) error, which every case tells beside conservation."""

from gnc.checks import Check, at_most, close
from gnc.scenarios.papers.case import Metric
from gnc.scenarios.papers.dqvi.data import DATA, UNPHYSICAL, Array
from gnc.scenarios.papers.dqvi.flights import METHODS, errors
from gnc.scenarios.papers.dqvi.settings import SLOW, Setting


def final_error(method: str, setting: Setting) -> Array:
    """Return the angle between computed and exact attitude at the end [rad], for each set of data."""
    return errors(method, setting).phase_rad[-1]


def metrics(setting: Setting) -> dict[str, Metric]:
    """Return the errors of all methods, and the word about the data."""
    values: dict[str, Metric] = {"unphysical": UNPHYSICAL}
    for method in METHODS:
        for data, error in zip(DATA, final_error(method, setting), strict=True):
            values[f"{data}_{method}_phase_rad"] = float(error)
    return values


def checks(setting: Setting) -> list[Check]:
    """The specification's errors at 10 fps; everywhere, that the fourth order mends what the second does."""
    second, fourth = final_error("dqvi", setting), final_error("dqvi4", setting)
    name = "phase error of DQVI, order 4 over order 2"
    bounds = [at_most(f"{data}: {name}", fourth[k] / second[k], 0.05) for k, data in enumerate(DATA)]
    if setting is SLOW:
        bounds.append(close("paper: DQVI phase error [rad]", second[0], 1.93, tol=5e-3))
        bounds.append(close("paper: QUAT-RK4 phase error [rad]", final_error("quat_rk4", setting)[0], 0.067, tol=5e-4))
    return bounds
