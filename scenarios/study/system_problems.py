"""Sample-rate problems beyond the single rigid body: a damped body, a body in a potential, a tree.

Each is a vector field, the variational process model of the same equations, a start and some readings. DOP853 flies the
truth on the field, and the Cramer-Rao bound takes the transition matrices of RK4 at half the step; neither knows the
filter. The comparator is RK4 with its own transition matrix, with the same substeps.

    study(PROBLEMS["damper"](), list(FILTERS["damper"].values()), rates_hz, trials, seed)      see `sample_rate`
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import noise
from gnc.estimators import cramer_rao
from gnc.estimators.chart import retraction, size
from gnc.estimators.kernel_process import State
from gnc.estimators.product_ekf import ProductEkf
from gnc.scenarios.study.filters import Filter
from gnc.scenarios.study.score import Bound, Score, scored
from gnc.scenarios.study.systems import System, damped, in_potential, solution, tree

Array = Any
FINE = 2  # steps of the bound's transition matrices for each substep of a filter: four digits of F


class Data(NamedTuple):
    """Truth at the sample times, what was measured, and where a filter starts."""

    h: float
    truth: list[State]
    measured: list[list[Array]]  # per time, per source: numbers with trials first
    start: State
    C0: Array
    bound: Bound


@dataclass(frozen=True)
class SystemProblem:
    """What is studied; see `gnc.scenarios.study.sample_rate.Problem`."""

    make: Callable[[], System]
    duration_s: float = 300.0

    @functools.cached_property
    def system(self) -> System:
        """The equations, the start and the readings."""
        return self.make()

    @property
    def states(self) -> int:
        """How many numbers the error state has."""
        return size(self.system.chart)

    @property
    def rate_rad_s(self) -> float:
        """How fast the body turns at the start."""
        return self.system.rate_rad_s

    def tunes(self, f: Filter) -> bool:
        """Tell whether the filter's process noise is chosen in its favour."""
        return f.tuned

    def simulate(self, rate_hz: float, trials: int, seed: int) -> Data:
        """Make the truth, the measurements of all trials, and the Cramer-Rao bound."""
        system, h = self.system, 1.0 / rate_hz
        times = h * np.arange(round(self.duration_s * rate_hz) + 1)
        truth = [system.unit(x) for x in solution(system.field, system.start, times)]
        measured = [[source.measure(x, trials, seed, k) for source in system.sources] for k, x in enumerate(truth)]
        error = noise.normal(seed, trials, "start", size(system.chart)) * system.sigma
        start = tuple(retraction(system.chart)(*truth[0], -error)[:-1])
        C0 = np.diag(system.sigma**2)
        return Data(h, truth, measured, start, C0, _bound(system, truth, h, C0))

    def fly(self, f: Filter, psd: float, data: Data) -> Score:
        """Run a filter over all trials and score its second half, lost trials apart."""
        ekf = f.make(self.system, psd)
        belief, half, squares, normalised = ekf.start(data.start, data.C0), len(data.truth) // 2, [], []
        for k in range(1, len(data.truth)):
            belief = ekf.predict(belief, (), data.h)
            for source, z in zip(self.system.sources, data.measured[k], strict=True):
                belief, _ = ekf.update(belief, source.reading, z)
            if k >= half:
                error = ekf.error(belief, data.truth[k])
                squares.append([np.sum(error[:, part] ** 2, axis=-1) for part in self.system.parts])
                normalised.append(ekf.nees(belief, data.truth[k]))
        mean = np.mean(squares, axis=0)
        return scored(mean[0], np.mean(normalised, axis=0), mean[1] if len(mean) > 1 else None)


def _bound(system: System, truth: Sequence[State], h: float, C0: Array) -> Bound:
    """Return the bound on the RMS errors in the second half; the first measurements do not count."""
    n = size(system.chart)
    F, gained = [], [np.zeros((n, n))]
    for x, x_next in zip(truth[:-1], truth[1:], strict=True):
        F.append(_transition(system, x, h))
        readings = [(source.reading, source.exact(x_next)) for source in system.sources]
        gained.append(sum(cramer_rao.information(one.linearize(z, x_next)[1], one.R) for one, z in readings))
    C = cramer_rao.posterior(np.array(F), 0.0, np.array(gained), C0)[len(truth) // 2 :]
    rms = [float(np.sqrt(np.trace(C[:, part, part], axis1=-2, axis2=-1).mean())) for part in system.parts]
    return Bound(float(np.degrees(rms[0])), rms[1] if len(rms) > 1 else None)


def _transition(system: System, x: State, h: float) -> Array:
    """Return the transition matrix over h, by fine steps of RK4."""
    steps = FINE * max(1, round(h / system.longest))
    F = np.eye(size(system.chart))
    for _ in range(steps):
        x, more = system.field.advance(x, (), h / steps)
        F = more @ F
    return F


def _filters(names: dict[str, str]) -> dict[str, Filter]:
    """Return the filters of a problem: by the names of its processes."""
    made = lambda key: lambda system, psd: ProductEkf(system.process(key, psd))  # noqa: E731
    return {name: Filter(name, what, made(name.partition("-")[2]), False) for name, what in names.items()}


RK4 = "RK4 with its own transition matrix, the same substeps"
PROBLEMS: dict[str, Callable[..., SystemProblem]] = {
    "damper": functools.partial(SystemProblem, damped),
    "potential": functools.partial(SystemProblem, in_potential, duration_s=60.0),
    "tree": functools.partial(SystemProblem, tree, duration_s=120.0),
}
FILTERS: dict[str, dict[str, Filter]] = {
    "damper": _filters({"ekf-vi4": "Kane damper of QVI, composed to fourth order", "ekf-rk4": RK4}),
    "potential": _filters({"ekf-vi4": "LGVI, composed to fourth order", "ekf-rk4": RK4}),
    "tree": _filters({"ekf-vi4": "variational tree of fourth order", "ekf-rk4": RK4}),
}
RATES = {"damper": "1,0.2,0.1", "potential": "10,2,1", "tree": "1,0.5,0.25"}  # [Hz] that are studied if none are given
