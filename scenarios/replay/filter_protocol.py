"""The small face behind which replay drives its filters, and what they share.

It moves with a sample of its driver (gyro, or known inputs), held over h, or coasts without it (None); `end` is the
driver's sample at the end of h, valid if there is one. What is recorded is found for many beliefs at once, stacked
along the first axis.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from gnc import dual_quaternion
from gnc.estimators.chart import Chart
from gnc.models.pose_body import PoseState
from gnc.models.sensors import Measurement
from gnc.scenarios.replay import config

Array = Any
Sample = Measurement | None  # of what drives the filter


CONSTANTS = ("bias", "tilt", "hard_iron", "soft_iron", "dipole", "inertia")  # errors of what does not move


class First(NamedTuple):
    """The first attitude and position, with the covariance of both (6, 6); the attitude's first."""

    q_IB: Array
    r_IB: Array
    C: Array
    headless: bool = False  # gravity told the attitude, and nothing its heading


class ReplayFilter(Protocol):
    """What the runner asks of a filter."""

    filter: Any
    errors: tuple[str, ...]  # names of the rows of C
    fields: tuple[str, ...]  # of a belief, that C is of
    chart: Chart  # of these
    sample_size: int = 3  # numbers of the driver's sample
    longest_gap_s: float = np.inf  # of the driver; behind a longer one the filter begins anew
    recordable: bool = True  # whether `step` and `update` can be part of a compiled program

    def start_size(self, start: config.Start) -> int:
        """Return how many rows start.C has."""
        return len(self.errors)

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the first belief."""

    def step(self, belief: Any, sample: Sample, h: Array, end: Measurement) -> Any:
        """Move over h."""

    def slope(self, before: Any, after: Any, sample: Sample, h: Array, end: Measurement) -> Array:
        """Return F of that move, over the errors."""
        return self.filter.transition(after, h)

    def parts(self, belief: Any) -> tuple[Array, ...]:
        """Return the parts of the chart."""
        return tuple(getattr(belief, name) for name in self.fields)

    def moved(self, belief: Any, parts: tuple[Array, ...], C: Array) -> Any:
        """Return the belief with other parts and covariance."""
        return belief._replace(C=C, **dict(zip(self.fields, parts, strict=True)))

    def update(self, belief: Any, sensor: Any, measurement: Measurement, env: Any, gated: bool) -> tuple[Any, Any]:
        """Correct with a measurement, and return an innovation too."""
        return self.filter.update(belief, sensor, measurement, env, gated)

    def doubt(self, belief: Any, growth: float) -> Any:
        """Let the standard deviations of the motion grow, that of the attitude to a radian at most; no constants'."""
        scale = np.full(belief.C.shape[-1], growth)
        scale[[i for i, name in enumerate(self.errors) if name.startswith(CONSTANTS)]] = 1.0
        scale[:3] = np.clip(1.0 / np.sqrt(np.diagonal(belief.C)[:3]), 1.0, growth)
        return belief._replace(C=np.outer(scale, scale) * belief.C)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return what is recorded."""


def blocks(*sigmas_or_blocks: Array) -> Array:
    """Return the covariance with these blocks on its diagonal."""
    n = sum(len(b) for b in sigmas_or_blocks)
    C, at = np.zeros((n, n)), 0
    for b in sigmas_or_blocks:
        C[at : at + len(b), at : at + len(b)], at = b, at + len(b)
    return C


def variance(sigma: float, n: int = 3) -> Array:
    """Return the covariance of n independent errors."""
    return sigma**2 * np.eye(n)


def given(start: config.Start) -> Array | None:
    """Return the covariance that the configuration states, if it does."""
    return None if start.C is None else np.array(start.C)


def named(*groups: str) -> tuple[str, ...]:
    """Return the names of vectors' components."""
    return tuple(f"{group}_{axis}" for group in groups for axis in "xyz")


def first_pose(first: First, start: config.Start) -> PoseState:
    """Return the first pose, and the twist that the configuration states."""
    pose = dual_quaternion.from_pose(first.q_IB, first.r_IB) if start.dq_IB is None else np.array(start.dq_IB)
    return PoseState(pose, np.concatenate([start.w_B, start.v_B]))


def pose_covariance(first: First, start: config.Start) -> Array:
    """Return the covariance of pose and twist."""
    rates = variance(np.radians(start.sigma_rate_deg_s)), variance(start.sigma_velocity_m_s)
    C = given(start)
    return blocks(first.C, *rates) if C is None else C


def pose_columns(belief: Any) -> dict[str, Array]:
    """Return what is recorded of a pose filter."""
    q_IB, r_IB = dual_quaternion.to_pose(belief.dq_IB)
    twist = {"w_B": belief.chi_B[..., :3], "v_B": belief.chi_B[..., 3:]}
    return {"q_IB": q_IB, "r_IB": r_IB, "dq_IB": belief.dq_IB, **twist, "C": belief.C}
