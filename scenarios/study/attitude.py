"""The attitude problem of QVI section IX: a free tumble, two measured directions, an unknown rate.

J = diag(1, 2, 3) kg m^2, w0 = (4, -5, 6) deg/s, 300 s, unless other numbers are given; errors count in the second half.
Every trial has its own noise and its own error of the first rate, and of the inertia where that is not known. The truth
has no process noise and is integrated by DOP853, apart from all filters.

NEES is scored in each filter's own chart, and in (a, inertial momentum) by sigma points of that chart: to first order
that chart finds every filter too sure after a long time, the full-history MAP too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gnc import noise, quaternion
from gnc.estimators import cramer_rao
from gnc.estimators.consistency import nees
from gnc.estimators.extra_states import Inertia
from gnc.estimators.initialise import attitude_covariance, triad
from gnc.models.sensors import VectorSensor
from gnc.models.states import AttitudeState
from gnc.scenarios.study.filters import Filter
from gnc.scenarios.study.score import Bound, Score, scored

Array = Any

SIGMA_TIMES = 40  # at which NEES is scored by sigma points
MAP_TIMES = 6  # at which the full history is looked at again


@dataclass(frozen=True)
class Tumble:
    """What is studied."""

    J: Array = ((1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 3.0))
    w0_deg_s: tuple[float, float, float] = (4.0, -5.0, 6.0)
    duration_s: float = 300.0
    sigma_deg: float = 1.0  # of each component of a measured direction
    prior_deg_s: float = 0.5  # of each component of the first rate
    outliers: float = 0.0  # fraction of measurements that are off by a random direction
    drop_outs: float = 0.0  # fraction of measurements that do not come
    vectors: Array = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))  # measured directions, inertial
    inertia_error: float = 0.0  # relative to the mean moment: of each number of `Inertia(form="ratios")`
    states: ClassVar[int] = 6

    @property
    def inertia(self) -> np.ndarray:
        """J as an array."""
        return np.asarray(self.J, float)

    @property
    def ratios_sigma(self) -> float:
        """The standard deviation of what is not known of J [kg m^2]."""
        return self.inertia_error * float(np.trace(self.inertia)) / 3.0

    def believed_inertia(self, trials: int, seed: int) -> np.ndarray:
        """Draw what the filter of each trial takes for J; its trace is right, since a free tumble does not show it."""
        if not self.inertia_error:
            return self.inertia
        ratios = Inertia(form="ratios")
        return self.inertia - ratios.inertia(self.ratios_sigma * noise.normal(seed, trials, "inertia", ratios.size))

    @property
    def rate_rad_s(self) -> float:
        """How fast the body turns at the start."""
        return float(np.radians(np.linalg.norm(self.w0_deg_s)))

    def sensors(self, rate_hz: float) -> list[VectorSensor]:
        """Return the sensors, one for each direction."""
        return [VectorSensor(rate_hz=rate_hz, r_I=r, sigma_deg=self.sigma_deg) for r in np.asarray(self.vectors, float)]

    def simulate(self, rate_hz: float, trials: int, seed: int) -> Data:
        """Make the truth, the measurements of all trials, and the Cramer-Rao bound."""
        return simulate(self, rate_hz, trials, seed)

    def tunes(self, f: Filter) -> bool:
        """Tell whether the filter's model is wrong, so that its process noise is chosen in its favour."""
        return f.tuned or (self.inertia_error != 0.0 and not f.finds_inertia)

    def fly(self, f: Filter, psd: float, data: Data) -> Score:
        """Run a filter over all trials and score it."""
        return fly_history(f, data, self) if f.history else fly(f, psd, data, self)


class Data(NamedTuple):
    """Truth at the sample times, what was measured, and where a filter starts."""

    h: float
    truth: list[AttitudeState]
    sensors: list[VectorSensor]
    measured: list[list[Any]]  # per time, per sensor: Measurement with trials first
    start: AttitudeState
    C0: Array  # over (a, dw)
    J: Array  # (3, 3), or (trials, 3, 3): what filters take for the inertia
    bound: Bound
    bound_squares: Array  # (times,) bound on the mean square angle at every sample [rad^2]


def simulate(problem: Tumble, rate_hz: float, trials: int, seed: int) -> Data:
    """Make the truth, the measurements of all trials, and the Cramer-Rao bound."""
    h = 1.0 / rate_hz
    times = h * np.arange(round(problem.duration_s * rate_hz) + 1)
    x0 = AttitudeState(np.array([1.0, 0.0, 0.0, 0.0]), np.radians(problem.w0_deg_s))
    flow = cramer_rao.attitude_flow(problem.inertia, x0, times)
    truth = [AttitudeState(x[:4] / np.linalg.norm(x[:4]), x[4:]) for x in flow.x]
    sensors = problem.sensors(rate_hz)
    measured = _measure(problem, truth, sensors, trials, seed)
    start, C0 = _start(problem, truth[0], sensors, measured[0], trials, seed)
    believed = problem.believed_inertia(trials, seed)
    squares = _bound(problem, flow, truth, sensors, C0)
    bound = Bound(float(np.degrees(np.sqrt(squares[len(squares) // 2 :].mean()))))
    return Data(h, truth, sensors, measured, start, C0, believed, bound, squares)


def _measure(problem: Tumble, truth: list[Any], sensors: list[Any], trials: int, seed: int) -> list[list[Any]]:
    """Measure at every time; outliers point anywhere, and drop-outs are not valid."""
    steps, several = len(truth), len(sensors)
    normal = noise.normal(seed, trials, "directions", (steps, several, 3))
    wild = noise.normal(seed, trials, "outliers", (steps, several, 3)) if problem.outliers else None
    chance = noise.uniform(seed, trials, "chances", (steps, several, 2))

    def one(k: int, i: int) -> Any:
        z, valid = sensors[i].measure(truth[k], None, normal[:, k, i])
        if wild is not None:
            off = chance[:, k, i, 0] < problem.outliers
            away = wild[:, k, i] / np.linalg.norm(wild[:, k, i], axis=-1)[:, None]
            z = np.where(off[:, None] & (k > 0), away, z)
        there = (chance[:, k, i, 1] >= problem.drop_outs) | (k == 0)
        return z, valid & there

    return [[one(k, i) for i in range(several)] for k in range(steps)]


def _start(
    problem: Tumble, x0: AttitudeState, sensors: list[Any], first: list[Any], trials: int, seed: int
) -> tuple[AttitudeState, Array]:
    """Start from TRIAD on the first measurements, and from a rate that is known to the prior."""
    sigma = np.radians(problem.sigma_deg)
    q_IB, C = triad(first[0][0], first[1][0], sensors[0].r_I, sensors[1].r_I, sigma, sigma)
    prior = np.radians(problem.prior_deg_s)
    w_B = x0.w_B + prior * noise.normal(seed, trials, "first rate", 3)
    return AttitudeState(q_IB, w_B), attitude_covariance(C, prior)


def _bound(problem: Tumble, flow: Any, truth: list[Any], sensors: list[Any], C0: Array) -> Array:
    """Return the bound on the mean square angle at all times, with J known; the first measurements are in the start."""
    gained = []
    for x in truth:
        predictions = [sensor.predict(x) for sensor in sensors]
        gained.append(sum(cramer_rao.information(p.H, p.R) for p in predictions) * (1.0 - problem.drop_outs))
    gained[0] = np.zeros((6, 6))
    C = cramer_rao.posterior(flow.F, flow.Q, np.array(gained), np.mean(C0, axis=0))
    return np.trace(C[:, :3, :3], axis1=-2, axis2=-1)


def fly(f: Filter, psd: float, data: Data, problem: Tumble) -> Score:
    """Run a filter over all trials and score its second half, lost trials apart."""
    mekf = f.make(data.J, psd)
    unknown = {"C_extras": problem.ratios_sigma**2 * np.eye(5)} if f.finds_inertia else {}
    belief = mekf.start(data.start, data.C0, **unknown)
    J, half = problem.inertia, len(data.truth) // 2
    squares, own, inertial = [], [], []
    for k in range(1, len(data.truth)):
        readings = list(zip(data.sensors, data.measured[k], strict=True))
        belief = moved(mekf, belief, np.zeros(3), data.h, readings, f.joint, problem.outliers > 0)
        if k >= half:
            x = data.truth[k]
            squares.append(quaternion.angle_between(belief.q_IB, x.q_IB) ** 2)
            own.append(nees(*mekf.error(belief, x, J)))
            if (k - half) % max(1, half // SIGMA_TIMES) == 0:
                inertial.append(nees(*mekf.inertial_error(belief, x, J)))
    return scored(np.mean(squares, axis=0), np.mean(own, axis=0), inertial=np.mean(inertial, axis=0))


def moved(filter_: Any, belief: Any, load: Any, h: float, readings: list[Any], joint: bool, gated: bool) -> Any:
    """Predict and update.

    The gate is open where no measurement is wild: while the rate is being acquired it would refuse good ones.
    """
    if joint:
        return filter_.advance(belief, load, h, readings, gated=gated)[0]
    belief = filter_.predict(belief, load, h)
    for sensor, measurement in readings:
        belief, _ = filter_.update(belief, sensor, measurement, gated=gated)
    return belief


def some_times(steps: int) -> list[int]:
    """Return a few times in the second half of a flight of so many samples."""
    blocks = min(MAP_TIMES, steps - steps // 2)
    return [steps // 2 + int((i + 0.5) * (steps - steps // 2) / blocks) for i in range(blocks)]


def fly_history(f: Filter, data: Data, problem: Tumble) -> Score:
    """Score the estimates from all measurements up to a few times in the second half.

    The errors are scaled to those of the whole second half by the bound, which goes up and down with the tumble.
    """
    J, times = problem.inertia, some_times(len(data.truth) - 1)
    readings = [list(zip(data.sensors, measured, strict=True)) for measured in data.measured[1:]]
    best = f.make(data.J, data.h)
    squares, own, inertial = [], [], []
    for k, x in zip(times, best.estimates(best.filter.start(data.start, data.C0), readings, times), strict=True):
        truth = data.truth[k]
        squares.append(quaternion.angle_between(x.q_IB, truth.q_IB) ** 2)
        own.append(nees(*best.filter.error(x, truth, J)))
        inertial.append(nees(*best.filter.inertial_error(x, truth, J)))
    scale = data.bound_squares[len(data.truth) // 2 :].mean() / data.bound_squares[times].mean()
    return scored(scale * np.mean(squares, axis=0), np.mean(own, axis=0), inertial=np.mean(inertial, axis=0))
