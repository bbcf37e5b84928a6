"""What filters of poses have in common in the loop: estimate, errors, and whether they are honest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import batched, sized
from gnc.config import Positive, Section
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.estimators import consistency
from gnc.estimators.navigation.base import PoseEstimate
from gnc.estimators.pose_belief import PoseBelief
from gnc.history import Signal
from gnc.linalg import array, block, identity, zeros
from gnc.models.craft.base import Report
from gnc.models.environment.constants import EARTH_MU
from gnc.models.known import Known
from gnc.models.pose_body import PoseState
from gnc.models.sensors.interface import Measurement, Sighting
from gnc.typing import Array

SIGNALS = {
    "knowledge_error_m": Signal("m", "true position minus its estimate, axes of what is estimated", sigma="sigma_m"),
    "knowledge_error_deg": Signal(
        "deg", "true attitude against its estimate, axes of what is estimated", sigma="sigma_deg"
    ),
    "rate_error_deg_s": Signal("deg/s", "true rate minus its estimate, axes of what is estimated"),
}
HONESTY = {
    "sigma_m": Signal("m", "what the filter believes of its position error, one sigma"),
    "sigma_deg": Signal("deg", "what the filter believes of its attitude error, one sigma"),
    "nees": Signal("1", "normalised error squared of pose and twist", nominal=12.0),
    "recoveries": Signal("1", "how often the filter has recovered from refusals in a row"),
}


@dataclass(frozen=True, eq=False)
class PoseNavigation:
    """A pose filter in the loop: of the own craft, whose commands it knows, or of another that flies freely."""

    filter: Any  # with state, predict and update, as `DqEkf` has
    known: Known
    of: str = ""  # the other craft
    ungated_s: float = 0.0
    covariance: bool = True  # whether its beliefs have one
    planned: Sequence[Callable[[Any], Array]] = ()  # time -> (6) what planned motions do to the body

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What is told of belief and truth."""
        return signals(self.covariance)

    def predict(self, belief: Any, command: tuple[Array, ...], report: Report, t: Any, h: Any) -> Any:
        """Move over h; the environment is that of the middle."""
        if self.of:
            return self.filter.predict(belief, None, h)
        dq_IB = self.filter.state(belief)[0]
        wrench_B = self.known.pose_wrench_B(dq_IB, command, report, self.known.sky.at(t + 0.5 * h))
        for load_B in self.planned:
            wrench_B = wrench_B + load_B(t + 0.5 * h)
        moved = self.filter.predict(belief, wrench_B, h)
        if self.known.sky.tide is None or not isinstance(moved, PoseBelief):
            return moved
        r_I = self.known.sky.at(t + 0.5 * h).r_I
        return moved._replace(C=_pulled_apart(moved.C.shape[-1])(moved.C, dq_IB[..., :4], r_I, h))

    def update(self, belief: Any, name: str, measurement: Any, t: Any) -> tuple[Any, Any]:
        """Correct with a measurement; that of another craft is taken from the own one."""
        env = measurement.observer if isinstance(measurement, Sighting) else self.known.sky.at(t)
        reading = Measurement(*measurement[:2])
        return self.filter.update(belief, self.known.sensors[name], reading, env, gated=t >= self.ungated_s)

    def estimate(self, belief: Any, report: Report) -> PoseEstimate:
        """Return pose and twist of the own craft, known if the filter is of another, and that one."""
        x = PoseState(*self.filter.state(belief))
        own, target = (report.pose, x) if self.of else (x, None)
        return PoseEstimate(
            own.dq_IB[..., :4], own.chi_B[..., :3], report.rho_B, None, None, own.dq_IB, own.chi_B, target
        )

    def observe(self, belief: Any, truth: Any, t: float) -> Mapping[str, Array]:
        """Return errors, and what the filter believes of them."""
        return observed(PoseState(*self.filter.state(belief)), belief if self.covariance else None, truth)


def observed(x: PoseState, belief: Any, truth: Any) -> dict[str, Array]:
    """Return the errors of an estimate; with what the filter believes of them, if `belief` is not None."""
    error, move, turn = _deviation(x.dq_IB, x.chi_B, truth.dq_IB, truth.chi_B)
    found = {"knowledge_error_m": move, "knowledge_error_deg": np.degrees(turn)}
    found["rate_error_deg_s"] = np.degrees(error[..., 6:9])
    if belief is None:
        return found
    C = belief.C[..., :12, :12]
    sigma = _sigmas(C)
    honesty = {"sigma_m": sigma[..., 3:], "sigma_deg": np.degrees(sigma[..., :3]), "nees": consistency.nees(error, C)}
    return {**found, **honesty, "recoveries": belief.recoveries}


@batched("(8),(6),(8),(6)->(12),(3),(3)")
def _deviation(dq_believed, chi_believed, dq_IT, chi_T):
    """Return the filter's error (dxi, dchi), and as a displacement in body axes and a rotation vector."""
    between = dual_quaternion.mul(dual_quaternion.conj(dq_believed), dq_IT)
    error = np.concatenate([dual_quaternion.log(between), chi_T - chi_believed])
    q, r = dual_quaternion.to_pose(between)
    return error, quaternion.inverse_rotate(q, r), error[:3]


@batched("(12,12)->(6)")
def _sigmas(C):
    """Return the standard deviations of the pose."""
    return np.sqrt(array([C[i, i] for i in range(6)]))


@sized(lambda n: f"({n},{n}),(4),(3),()->({n},{n})")
def _pulled_apart(C, q_IB, r_I, h, *, n):
    """Return K C K^T, dv = h mu/r^3 (3 u u^T - 1) dr along u = r/|r|, body axes."""
    r_B = quaternion.inverse_rotate(q_IB, r_I)
    square = r_B @ r_B
    pull = (h * EARTH_MU / (square * np.sqrt(square))) * (3.0 / square * np.outer(r_B, r_B) - identity(3))
    one, many = identity(3), n - 12
    K = block(
        [
            [identity(9), zeros(9, 3 + many)],
            [zeros(3, 3), pull, zeros(3, 3), one, zeros(3, many)],
            [zeros(many, 12), identity(many)],
        ][: 3 if many else 2]
    )
    return K @ C @ K.T


class PoseKnowledge(Section):
    """What is known before the first measurement, and how well."""

    source: Literal["truth", "reference"] = "truth"
    """The truth, off by as much as is not known; or the pose that guidance first asks for, at rest."""
    position_sigma_m: Positive = 0.2
    """One sigma along each axis."""
    attitude_sigma_deg: Positive = 5.0
    """One sigma about each axis."""
    velocity_sigma_m_s: Positive = 0.02
    rate_sigma_deg_s: Positive = 0.5

    def sigma(self) -> Array:
        """Return the standard deviations (12) over (dxi, dchi)."""
        turns = np.radians([self.attitude_sigma_deg, self.rate_sigma_deg_s])
        return np.repeat([turns[0], self.position_sigma_m, turns[1], self.velocity_sigma_m_s], 3)

    def draw(self, draws: Draws, truth: Any, reference: Any = None) -> tuple[PoseState, Array]:
        """Return the first estimate of each trial, and its covariance."""
        sigma = self.sigma()
        if self.source == "reference":
            if np.shape(getattr(reference, "dq_IR", ()))[-1:] != (8,):
                raise InputError('start.source = "reference": guidance asks for no pose at first; give "truth"')
            n = len(draws.trials)
            return PoseState(np.broadcast_to(reference.dq_IR, (n, 8)), np.zeros((n, 6))), np.diag(sigma**2)
        error = sigma * draws.normal("knowledge", 12)
        dq_IB = dual_quaternion.mul(truth.dq_IB, dual_quaternion.exp(-error[:, :6]))
        return PoseState(dq_IB, truth.chi_B - error[:, 6:]), np.diag(sigma**2)


def signals(covariance: bool) -> Mapping[str, Signal]:
    """Return what is told of belief and truth."""
    return {**SIGNALS, **(HONESTY if covariance else {})}
