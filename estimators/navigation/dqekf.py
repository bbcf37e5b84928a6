"""The dual-quaternion EKF as a part of a mission: of the own craft, or of another that flies freely."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc import lie, quaternion
from gnc.config import NonNegative
from gnc.errors import InputError
from gnc.estimators import pose_motion, standard_mekf
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.extra_states import ExtraState, Inertia, SensorBias, sensor_biases
from gnc.estimators.navigation.base import Navigation, NavigationPart
from gnc.estimators.navigation.chaser import ChaserNavigation, PairBelief, taken_along
from gnc.estimators.navigation.free_body import Move, Prior, TargetNavigation
from gnc.estimators.navigation.pose import PoseKnowledge, PoseNavigation
from gnc.models.actuators.reaction_wheels import WheelSet
from gnc.models.craft.base import Nominal
from gnc.models.craft.body import about_centre
from gnc.models.known import Known, other
from gnc.models.pose_body import PoseState
from gnc.typing import Array

Percent = Annotated[float, Field(ge=0, le=50)]
SIGMAS = 5.0  # how many of them a momentum may be off before it counts as impossible
WALK = 1e-3  # of the inertia's first standard deviation in a second's root, as `pose_motion` advises


class DqekfPart(NavigationPart):
    """A dual-quaternion EKF of pose and twist: of the own craft, or `of` another that flies freely.

    Biases of sensors are among the states, known as well as their sections say; so is a star tracker's misalignment: it
    cannot be told from the attitude, and without it the filter would be too sure. Of another craft: sensors that see it
    measure from the own pose, which counts as known unless `own` estimates it.
    """

    kind: Literal["dqekf"] = "dqekf"
    method: Literal["auto", "vi4", "vi2", "exact", "rk4", "midpoint"] = "auto"
    """What moves the mean; `midpoint` has a truncated transition matrix, the others the exact one of their step."""
    chart: Literal["usual", "conserved"] = "usual"
    """conserved: corrections keep the constants of the motion linear, see docs/conserved_chart.md."""
    substeps: bool = True
    """False: one step of the method between two measurements, however far it turns."""
    torque_psd_Nm2s: NonNegative | None = None
    """Power spectral density of the torque it does not know [N^2 m^2 s]; by default 3.7e-11 rad^2/s^3 times the
    square of the mean moment of inertia, and for own thrusters the square of 2 % of their torque, over a control
    interval."""
    force_psd_N2s: NonNegative | None = None
    """Power spectral density of the force it does not know, at the origin, or at the centre of mass of another craft
    [N^2 s]; by default the square of 2 % of what own thrusters can do, over a control interval; of another craft 0, or
    with `own` what suits that filter, times the square of the masses' ratio."""
    inertia_sigma_percent: Percent = 0.0
    """One sigma of the ratios of the inertia before the flight; 0: the filter does not estimate them."""
    own: DqekfPart | None = None
    """With `of`: a filter of the own craft, by the sensors that do not look at another; none: own motion is known."""
    knows_plan: bool = True
    """Whether it is told the reaction of motions that guidance has planned, of an arm say."""
    gate_probability: Annotated[float, Field(gt=0.5, le=1)] = 0.999
    """With which a good measurement passes; 1 lets all in."""
    ungated_s: NonNegative = 0.0
    """All measurements before this time are let in, whatever they say."""
    start: PoseKnowledge = PoseKnowledge()

    def build(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return the filter in the loop and what it believes at time zero."""
        if not self.of:
            if self.own is not None:
                raise InputError("own: is for a filter of another craft; leave it out, or say which by `of`")
            filter_, belief = self._begun(known.nominal, known, truth, reference)[:2]
            planned = known.planned if self.knows_plan else ()
            return PoseNavigation(filter_, known, ungated_s=self.ungated_s, planned=planned), belief
        nominal, seen = other(known, self.of, "of"), truth[self.of]
        if self.own is not None:
            chaser = truth[known.craft]
            mine = replace(known, draws=known.draws.within("own "))
            own, first = self.own.build(mine, start, chaser, reference)
            wrong = chaser.dq_IB, chaser.chi_B, first.dq_IB, first.chi_B
            seen = PoseState(*taken_along(*wrong, seen.dq_IB, seen.chi_B))  # what is known is known from the chaser
        filter_, belief, x, C = self._begun(nominal, known, seen, reference)
        prior = self._prior(filter_, x, C)
        how = _mover(filter_), self.ungated_s, prior, known.sky, self.method != "auto"
        target = TargetNavigation(filter_, known.sensors, *how)
        if self.own is None:
            return target, target.start(belief)
        assert isinstance(own, PoseNavigation)
        return ChaserNavigation(own, target, known.craft, self.of), PairBelief(first, target.start(belief))

    def _begun(self, nominal: Nominal, known: Known, truth: Any, reference: Any) -> tuple[DqEkf, Any, PoseState, Array]:
        """Return the filter of a craft, its first belief, and the state and covariance that it begins with."""
        filter_ = self.filter(nominal, known)
        x, C = self.start.draw(known.draws, truth, reference)
        spread = [np.full(extra.size, self._sigma(extra, nominal) ** 2) for extra in filter_.extras]
        return filter_, filter_.start(x, C, C_extras=np.diag(np.concatenate([*spread, []]))), x, C

    def filter(self, nominal: Nominal, known: Known) -> DqEkf:
        """Return the filter of a craft as it is believed to be."""
        if nominal.M is None:
            raise InputError(f'craft.{known.craft}: turns only; a filter of poses needs kind = "pose"')
        if not self.of and any(isinstance(e, WheelSet) for e in known.effectors.values()):
            raise InputError("dqekf: knows no wheels; fly the craft on thrusters, or estimate with an own filter")
        psd = self._wrench_psd(nominal, known)
        if self.of:  # what pushes another craft pushes its centre of mass
            about = np.eye(6)
            about[:3, 3:] = lie.hat(_centre(nominal.M))
            psd = about @ psd @ about.T
        options: dict[str, Any] = {"wrench_psd": psd, "gate_probability": self.gate_probability}
        if self.method == "midpoint":
            if self.inertia_sigma_percent > 0.0 or not self.of:
                wanted = "estimates no inertia" if self.of else "is for a craft that flies freely"
                raise InputError(f'inertia_sigma_percent: method "midpoint" {wanted}; set 0 or use "vi4"')
            return standard_mekf.MidpointDqEkf(nominal.M, **options)
        turn = pose_motion.TURN if self.substeps else None
        extras = self._extras(nominal, known)
        return DqEkf(nominal.M, method=self.method, turn=turn, chart=self.chart, extras=extras, **options)

    def _wrench_psd(self, nominal: Nominal, known: Known) -> Array:
        """Return the density (6, 6) that is stated, or one that suits the craft."""
        psd = np.zeros((6, 6)) if self.of else known.push_psd
        if self.own is not None:  # what pushes the chaser unknown to it looks like a push of the other craft
            push = self.own._wrench_psd(known.nominal, known)[3:, 3:]
            assert nominal.M is not None
            psd[3:, 3:] = (nominal.M[3, 3] / known.M[3, 3]) ** 2 * np.max(push) * np.eye(3)
        psd[:3, :3] += 3.7e-11 * nominal.mean_moment**2 * np.eye(3)
        if self.torque_psd_Nm2s is not None:
            psd[:3, :3] = self.torque_psd_Nm2s * np.eye(3)
        if self.force_psd_N2s is not None:
            psd[3:, 3:] = self.force_psd_N2s * np.eye(3)
        return psd

    def _extras(self, nominal: Nominal, known: Known) -> tuple[ExtraState, ...]:
        """Return what is estimated beside pose and twist."""
        found: list[ExtraState] = []
        if self.inertia_sigma_percent > 0.0:
            found.append(Inertia(form="ratios", walk=(WALK * self._inertia_sigma(nominal)) ** 2))
        return (*found, *(() if self.of else sensor_biases(known.sensors)))

    def _sigma(self, extra: ExtraState, nominal: Nominal) -> Any:
        """Return the standard deviation before the flight."""
        if isinstance(extra, Inertia):
            return self._inertia_sigma(nominal)
        assert isinstance(extra, SensorBias)
        return extra.sigma

    def _inertia_sigma(self, nominal: Nominal) -> float:
        return 0.01 * self.inertia_sigma_percent * float(nominal.mean_moment)

    def _prior(self, filter_: DqEkf, x: PoseState, C: Array) -> Prior:
        """Return the momentum that was known before the flight, and how far off it may be."""
        q_IT, P_T, _, p_I = about_centre(*x, filter_.M)
        sigma, lever = self.start.sigma(), float(np.linalg.norm(_centre(filter_.M)))
        possible = SIGMAS * np.array([sigma[6], np.hypot(sigma[9], lever * sigma[6])])
        return Prior(quaternion.rotate(q_IT, P_T), p_I, C, possible)

    @property
    def perfect(self) -> list[str]:
        """What this navigation is told that a real one would have to find out."""
        if not self.of:
            return ["mass, centre of mass and inertia are those of the section"]
        exact = [] if self.inertia_sigma_percent > 0.0 else [f"nobody estimates the inertia of {self.of}"]
        known = (
            ["own pose and twist are the truth: there is no navigation of the own craft"] if self.own is None else []
        )
        return [*known, f"{self.of} is not disturbed, and its mass and centre of mass are exact", *exact]


def _centre(M: Array) -> Array:
    """Return the centre of mass of an inertia."""
    return np.array([M[2, 4], M[0, 5], M[1, 3]]) / M[3, 3]


def _mover(filter_: DqEkf) -> Move:
    """Return what moves the mean as the filter does."""
    if isinstance(filter_, standard_mekf.MidpointDqEkf):
        return lambda x, M, h: PoseState(*standard_mekf.midpoint_move(*x, M, h)[:2])
    if filter_.method == "auto":
        return lambda x, M, h: PoseState(*pose_motion.drift_mean(*x, M, h))
    return lambda x, M, h: PoseState(*pose_motion.move_mean(filter_.method, *x, None, M, h, filter_.turn))
