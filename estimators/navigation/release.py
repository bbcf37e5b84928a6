"""The dual-quaternion EKF of a carrier through the release of its cargo, as a part of a mission."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from gnc import spatial
from gnc.batch import batched, where
from gnc.errors import InputError
from gnc.estimators.navigation.base import Navigation, PoseEstimate
from gnc.estimators.navigation.dqekf import DqekfPart
from gnc.estimators.navigation.pose import PoseNavigation
from gnc.estimators.pose_belief import PoseBelief
from gnc.history import Signal
from gnc.linalg import block, zeros
from gnc.models.craft.base import Report
from gnc.models.known import Known, together
from gnc.models.parameters import store
from gnc.models.pose_body import push, push_impulse
from gnc.typing import Array


class ReleaseBelief(NamedTuple):
    """What is believed of the carrier, and whether its cargo is believed to be gone."""

    filter: PoseBelief
    gone: Array  # (trials,)


@dataclass(frozen=True, eq=False)
class ReleaseNavigation:
    """A filter that goes on without the cargo, through the nominal push, which is as uncertain as the spring is.

    The carrier's flag tells that the cargo is gone, at the end of the interval in which it left.
    """

    inner: PoseNavigation
    M_both: Array  # (6, 6) with the cargo
    M_alone: Array  # (6, 6) without
    jump_B: Array  # (6,) of the twist, nominal
    C_jump: Array  # (6, 6) of the twist

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What is told of belief and truth."""
        return self.inner.signals

    def predict(self, belief: ReleaseBelief, command: Any, report: Report, t: Any, h: Any) -> ReleaseBelief:
        """Move over h, and through the release if that has come."""
        filter_ = copy(self.inner.filter)  # of each trial, with the mass that it has now
        M = _mass(belief.gone, self.M_both, self.M_alone)
        store(filter_, M=M)
        known = replace(self.inner.known, nominal=self.inner.known.nominal._replace(M=M))
        moved = replace(self.inner, filter=filter_, known=known).predict(belief.filter, command, report, t, h)
        chi_B, C, gone = _jumped(moved.chi_B, moved.C, belief.gone, report.flag, self.jump_B, self.C_jump)
        return ReleaseBelief(moved._replace(chi_B=chi_B, C=C), gone)

    def update(self, belief: ReleaseBelief, name: str, measurement: Any, t: Any) -> tuple[ReleaseBelief, Any]:
        """Correct with a measurement."""
        corrected, made = self.inner.update(belief.filter, name, measurement, t)
        return belief._replace(filter=corrected), made

    def estimate(self, belief: ReleaseBelief, report: Report) -> PoseEstimate:
        """Return pose and twist."""
        return self.inner.estimate(belief.filter, report)

    def observe(self, belief: ReleaseBelief, truth: Any, t: float) -> Mapping[str, Array]:
        """Return errors, and what the filter believes of them."""
        return self.inner.observe(belief.filter, truth, t)


@batched("(),(6,6),(6,6)->(6,6)")
def _mass(gone, M_both, M_alone):
    """Return the inertia of a trial."""
    return where(gone > 0.0, M_alone, M_both)


@batched("(6),(12,12),(),(),(6),(6,6)->(6),(12,12),()")
def _jumped(chi_B, C, before, after, jump_B, C_jump):
    """Return twist and covariance, after the push where the cargo has just left, and where it is gone."""
    leaves, none = (before == 0.0) & (after > 0.0), zeros(6, 6)
    more = block([[none, none], [none, where(leaves, C_jump, none)]])
    return chi_B + where(leaves, jump_B, 0.0 * jump_B), C + more, after


class ReleaseDqekfPart(DqekfPart):
    """A dual-quaternion EKF of a carrier that lets its cargo go: it knows the nominal masses and the nominal push."""

    kind: Literal["release-dqekf"] = "release-dqekf"  # type: ignore[assignment]
    event: str = "release"
    """The event of kind "release" that it expects."""
    push_error_percent: Annotated[float, Field(ge=0, le=50)] = 2.0
    """By how much the push may be off beside the errors of the spring, as masses are not known exactly, one sigma."""
    knows_release: bool = True
    """False: after the release it goes on with the cargo's mass and without the push, for comparison."""

    def build(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return the filter in the loop and what it believes at time zero."""
        release = known.events.get(self.event)
        if release is None or release.kind != "release" or release.carrier != known.craft or self.of:
            raise InputError(f"event = {self.event!r}: is no release of this craft")
        if self.inertia_sigma_percent > 0.0:
            raise InputError("inertia_sigma_percent: a filter that changes its mass estimates none; set 0")
        M, M_both = known.M, together(known, (release.cargo,))
        filter_ = self.filter(known.nominal._replace(M=M_both), known)
        belief = filter_.start(*self.start.draw(known.draws, truth, reference))
        inner = PoseNavigation(filter_, known, ungated_s=self.ungated_s)
        if not self.knows_release:
            return inner, belief
        port = known.nominal.port
        if port is None:
            raise InputError("port: a release takes a craft with a port; give it one")
        jump = self._jump(release, port, M, M_both - M)
        return ReleaseNavigation(inner, M_both, M, *jump), ReleaseBelief(belief, np.zeros(known.trials))

    def _jump(self, release: Any, port: Array, M: Array, M_cargo: Array) -> tuple[Array, Array]:
        """Return the jump (6) of the twist by the nominal push, and its covariance."""
        spring = release.spring(port)
        impulse = push_impulse(M, M_cargo, *spring)
        off = 0.005 * release.energy_error_percent, 0.01 * self.push_error_percent
        share = np.linalg.norm([*off, np.radians(release.direction_sigma_deg)])
        lever = release.point_sigma_m + np.linalg.norm(spring.point_B) * share
        Y = spatial.inverse(M)
        sigmas = impulse * np.repeat([lever, share], 3)
        return -(Y @ (impulse * push(*spring[:2]))), Y @ np.diag(sigmas**2) @ Y.T
