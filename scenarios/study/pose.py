"""The pose problem: a tumbling target of known mass properties, seen by a camera.

200 kg, its frame at the docking port and the centre of mass (-1, 0.2, -0.1) m away, tumbling at 3 deg/s; relative pose
to 1 cm and 0.5 deg per axis. The truth flies free, by DOP853; every trial has its own noise and its own first error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gnc import dual_quaternion, noise, spatial
from gnc.estimators import cramer_rao
from gnc.estimators.consistency import nees
from gnc.estimators.dqekf import DqEkf
from gnc.models.pose_body import PoseState
from gnc.models.sensors import RelativePose
from gnc.scenarios.study.attitude import moved, some_times
from gnc.scenarios.study.filters import Filter
from gnc.scenarios.study.score import Bound, Score, scored

Array = Any

MASS, R_G = 200.0, np.array([-1.0, 0.2, -0.1])
J_COM = np.array([[120.0, 6.0, -4.0], [6.0, 90.0, 5.0], [-4.0, 5.0, 60.0]])


@dataclass(frozen=True)
class Target:
    """What is studied."""

    w_deg_s: float = 3.0
    duration_s: float = 300.0
    sigma_deg: float = 0.5
    sigma_m: float = 0.01
    prior_deg_s: float = 0.5
    prior_m_s: float = 0.02
    states: ClassVar[int] = 12

    @property
    def M(self) -> np.ndarray:
        """The inertia about the port."""
        return spatial.inertia(MASS, R_G, J_COM)

    @property
    def rate_rad_s(self) -> float:
        """How fast the body turns at the start."""
        return float(np.radians(self.w_deg_s))

    def camera(self, rate_hz: float) -> RelativePose:
        """Return a camera whose noise does not grow with range."""
        far = {"near_m": 100.0, "far_m": 1000.0}
        return RelativePose(
            rate_hz=rate_hz, sigma_m=self.sigma_m, sigma_fraction=0.0, sigma_near_deg=self.sigma_deg, **far
        )

    def covariance(self) -> np.ndarray:
        """Return the covariance of the first estimate over (dxi, dchi)."""
        angle, rate = np.radians(self.sigma_deg), np.radians(self.prior_deg_s)
        sigma = np.repeat([angle, self.sigma_m, rate, self.prior_m_s], 3)
        return np.diag(sigma**2)

    def simulate(self, rate_hz: float, trials: int, seed: int) -> Data:
        """Make the truth, the measurements of all trials, and the Cramer-Rao bound."""
        h, axis = 1.0 / rate_hz, np.array([1.0, -1.2, 0.8])
        w_B = self.rate_rad_s * axis / np.linalg.norm(axis)
        pose = dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), np.array([0.0, 0.0, 5.0]))
        x0 = PoseState(pose, np.concatenate([w_B, np.cross(R_G, w_B)]))  # the centre of mass is at rest
        flow = cramer_rao.pose_flow(self.M, x0, h * np.arange(round(self.duration_s * rate_hz) + 1))
        truth = [PoseState(x[:8], x[8:]) for x in flow.x]
        camera = self.camera(rate_hz)
        normal = noise.normal(seed, trials, "camera", (len(truth), camera.noise_size))
        measured = [camera.measure(x, None, normal[:, k]) for k, x in enumerate(truth)]
        C0 = self.covariance()
        error = noise.normal(seed, trials, "start", 12) * np.sqrt(np.diag(C0))
        start = PoseState(dual_quaternion.mul(pose, dual_quaternion.exp(-error[:, :6])), x0.chi_B - error[:, 6:])
        return Data(h, truth, camera, measured, start, C0, self._bound(flow, truth, camera, C0))

    def _bound(self, flow: Any, truth: list[Any], camera: RelativePose, C0: Array) -> Bound:
        gained = [np.zeros((12, 12))]
        for x in truth[1:]:
            predicted = camera.predict(x, None)
            gained.append(cramer_rao.information(predicted.H, predicted.R))
        C = cramer_rao.posterior(flow.F, flow.Q, np.array(gained), C0)[len(truth) // 2 :]
        turn, move = (np.trace(C[:, part, part], axis1=-2, axis2=-1).mean() for part in (slice(3), slice(3, 6)))
        return Bound(float(np.degrees(np.sqrt(turn))), float(np.sqrt(move)))

    def tunes(self, f: Filter) -> bool:
        """Tell whether the filter's process noise is chosen in its favour."""
        return f.tuned

    def fly(self, f: Filter, psd: float, data: Data) -> Score:
        """Run a filter over all trials and score its second half, lost trials apart."""
        turns, moves, normalised = [], [], []
        for filter_, belief, x in self._flown(f, psd, data):
            xi = dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(belief.dq_IB), x.dq_IB))
            turns.append(np.sum(xi[:, :3] ** 2, axis=-1))
            moves.append(np.sum(xi[:, 3:] ** 2, axis=-1))
            normalised.append(nees(*filter_.error(belief, x)))
        return scored(np.mean(turns, axis=0), np.mean(normalised, axis=0), np.mean(moves, axis=0))

    def _flown(self, f: Filter, psd: float, data: Data) -> Iterator[tuple[DqEkf, Any, PoseState]]:
        """Fly a filter; yield it, its belief and the truth of the times that count."""
        half = len(data.truth) // 2
        if f.history:
            best, times = f.make(self.M, data.h), some_times(len(data.truth) - 1)
            readings = [[(data.camera, z)] for z in data.measured[1:]]
            estimates = best.estimates(best.filter.start(data.start, data.C0), readings, times)
            yield from ((best.filter, belief, data.truth[k]) for k, belief in zip(times, estimates, strict=True))
            return
        dqekf = f.make(self.M, psd)
        belief = dqekf.start(data.start, data.C0)
        for k in range(1, len(data.truth)):
            belief = moved(dqekf, belief, None, data.h, [(data.camera, data.measured[k])], f.joint, gated=False)
            if k >= half:
                yield dqekf, belief, data.truth[k]


class Data(NamedTuple):
    """Truth at the sample times, what was measured, and where a filter starts."""

    h: float
    truth: list[PoseState]
    camera: RelativePose
    measured: list[Any]
    start: PoseState
    C0: Array
    bound: Bound
