"""Filters of the attitude in the loop: which sensors they trust, which torques they know, how they begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gnc import quaternion
from gnc.batch import batched, maximum, minimum, sized
from gnc.config import NonNegative, Positive, Section
from gnc.errors import InputError
from gnc.estimators import consistency
from gnc.estimators.attitude_belief import inertial_error
from gnc.estimators.initialise import VECTOR_SENSORS, attitude_covariance, observed_vector, quest, stacked, triad
from gnc.estimators.navigation import model_error
from gnc.estimators.navigation.acquisition import Acquisition, TrackerAcquisition
from gnc.estimators.navigation.base import Estimate
from gnc.history import Signal
from gnc.linalg import array, block, zeros
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.models.sensors import StarTracker
from gnc.models.states import AttitudeState
from gnc.typing import Array

SWIFTEST = 0.05  # [rad/s] up to which slews count

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
UNKNOWN = AttitudeState(IDENTITY, np.zeros(3)), np.eye(6)  # before a search ends
CERTAIN = 1e-6  # [rad, rad/s] at least: a filter without any doubt at the start has nothing to correct
SLIGHT = 1e-9  # the same of biases, in their units: 1 nT

SIGNALS = {
    "knowledge_error_deg": Signal(
        "deg", "true attitude against the estimate, rotation vector, body axes", sigma="sigma_deg"
    ),
    "rate_error_deg_s": Signal("deg/s", "true rate minus its estimate, body axes"),
}
HONESTY = {
    "sigma_deg": Signal("deg", "what the filter believes of its attitude error, one sigma, body axes"),
    "nees": Signal("1", "normalised error squared of attitude and momentum", nominal=6.0),
    "recoveries": Signal("1", "how often the filter has recovered from refusals in a row"),
}


@dataclass(frozen=True, eq=False)
class AttitudeNavigation:
    """A filter that knows the wheels by their tachometers, loads by its own models, torquers by their command."""

    filter: Any  # with state, predict and update, as `Mekf` has
    known: Known
    ungated_s: float = 0.0  # until then all measurements are let in, while the rate is being acquired
    covariance: bool = True  # whether its beliefs have one
    slewing: Array | None = None  # (3) variance of the momentum by an inertia that is off, per square of the rate

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What is told of belief and truth."""
        return {**SIGNALS, **(HONESTY if self.covariance else {})}

    def predict(self, belief: Any, command: tuple[Array, ...], report: Report, t: Any, h: Any) -> Any:
        """Move over h; the environment is that of the middle."""
        env = self.known.sky.at(t + 0.5 * h)
        tau_B = self.known.wrench_B(belief.q_IB, command, report, env)
        moved = self.filter.predict(belief, tau_B, h, report.rho_B, env)
        if self.slewing is None:
            return moved
        rates = self.filter.state(belief).w_B, self.filter.state(moved).w_B
        return moved._replace(C=slewed_by(np.shape(moved.C)[-1])(moved.C, *rates, self.slewing))

    def update(self, belief: Any, name: str, measurement: Any, t: Any) -> tuple[Any, Any]:
        """Correct with a measurement."""
        gated = t >= self.ungated_s
        return self.filter.update(belief, self.known.sensors[name], measurement, self.known.sky.at(t), gated=gated)

    def estimate(self, belief: Any, report: Report) -> Estimate:
        """Return attitude and rate."""
        q_IB, w_B = self.filter.state(belief)
        return Estimate(q_IB, w_B, report.rho_B, None, None)

    def observe(self, belief: Any, truth: Any, t: float) -> Mapping[str, Array]:
        """Return errors, and what the filter believes of them."""
        q_IB, w_B = self.filter.state(belief)
        errors = {"knowledge_error_deg": turn_deg(q_IB, truth.q_IB), "rate_error_deg_s": np.degrees(truth.w_B - w_B)}
        return errors | (self._honesty(belief, truth, w_B) if self.covariance else {})

    def _honesty(self, belief: Any, truth: Any, w_B: Array) -> dict[str, Array]:
        """Return what the filter tells of its error, and whether that is true.

        That is its covariance, and what is no state of it: an inertia that is off.
        """
        known, C = self.known, belief.C[..., :6, :6]
        off = model_error.momentum_error(known.J, w_B, np.asarray(known.J_error_percent, float))
        C = _told(C, off)
        error, C_inertial = inertial_error(belief.q_IB, belief.P_B, C, truth.q_IB, truth.P_B)
        nees = consistency.nees(error, C_inertial)
        return {"nees": nees, "sigma_deg": sigma3_deg(C[..., :3, :3]), "recoveries": belief.recoveries}


@sized(lambda n: f"({n},{n}),(3),(3),(3)->({n},{n})")
def slewed_by(C, w_before, w_after, slewing, *, n):
    """Return the kernel that lets a covariance of n errors grow where a body of unsure inertia turns faster or slower.

    The momentum is off by dJ w, and in a turn that begins or ends by something else than before: its variance grows by
    what that of dJ w changes by, in as many steps as may be, to no more than that of dJ w at a rate that craft slew at:
    a filter that is lost believes in any rate, and would feed on its own error.
    """
    before, after = w_before @ w_before, w_after @ w_after
    swift = minimum(maximum(before, after), SWIFTEST * SWIFTEST)
    grown = zeros(n, n)
    for i in range(3):
        left = maximum(slewing[i] * swift - C[3 + i, 3 + i], 0.0)
        grown[3 + i, 3 + i] = minimum(slewing[i] * abs(after - before), left)
    return C + grown


@batched("(6,6),(3,3)->(6,6)")
def _told(C, momentum):
    """Return a covariance of attitude and momentum with more of the momentum."""
    none = zeros(3, 3)
    return C + block([[none, none], [none, momentum]])


@batched("(4),(4)->(3)")
def turn_deg(q_from, q_to):
    """Return the rotation vector from one attitude to another, in the axes of the second [deg]."""
    return quaternion.log(quaternion.mul(quaternion.conj(q_from), q_to)) * (180.0 / np.pi)


@batched("(3,3)->(3)")
def sigma3_deg(C):
    """Return the standard deviations of an attitude's covariance [deg]."""
    return array([np.sqrt(C[i, i]) for i in range(3)]) * (180.0 / np.pi)


STARTS = {  # in words
    "anywhere": "at any attitude",
    "inertial": "near the inertial axes",
    "reference": "near what guidance first asks for",
}


class AttitudeKnowledge(Section):
    """What the filter believes before the first measurement, and how sure it is of that."""

    source: Literal["reference", "triad", "quest", "inertial", "search", "tracker"] = "reference"
    """Where guidance first asks it to be, at the inertial axes, from two vectors, from two or more, from these once one
    is quiet, or from the first attitude that a star tracker sees."""
    vectors: tuple[str, ...] = ()
    """The two sensors of TRIAD, the better one first; those of QUEST, as many as are; or the star trackers, by default
    all."""
    by: Literal["triad", "quest"] = "triad"
    """How a search makes an attitude of vectors: QUEST takes all of them that are in sight, weighted by their noise."""
    watch: str = ""
    """The one whose vector must be quiet before a search ends; by default the second."""
    quiet_deg_s: Positive = 0.5
    """A search ends when that vector has turned slower than this ..."""
    quiet_s: NonNegative = 120.0
    """... for so long, and the other is in sight at an angle; until then nothing is `known`."""
    attitude_sigma_deg: NonNegative | None = None
    """One sigma about each axis; by default that of the craft's start."""
    rate_sigma_deg_s: NonNegative | None = None
    """One sigma about each axis; by default that of the craft's start."""

    def belief(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[AttitudeState, Array]:
        """Return the first estimate, and its covariance over (a, dw)."""
        attitude, rate = self._sigmas(start)
        if self.source in ("triad", "quest"):
            return self._measured(known, truth, rate)
        near = "inertial" if reference is None else self.source
        self._meets(getattr(start, "about", near), near)
        q_IB, w_B = (IDENTITY, 0.0) if near == "inertial" else (reference.q_IR, reference.w_R)
        x = AttitudeState(q_IB, w_B + np.radians(getattr(start, "rate_deg_s", np.zeros(3))))
        return x, diagonal([attitude] * 3 + [rate] * 3)

    def _meets(self, about: str, near: str) -> None:
        """Refuse a first attitude that has nothing to do with that of the craft, unless its error is said."""
        if about != near and self.attitude_sigma_deg is None:
            raise InputError(
                f'start.source = "{self.source}": the craft starts {STARTS[about]}; give '
                f'{"" if about == "anywhere" else f"{about!r}, "}"triad", "quest", "search" or "tracker", '
                "or say by attitude_sigma_deg how far off this is"
            )

    def _sigmas(self, start: Any) -> tuple[Array, Array]:
        """Return one sigma of attitude and rate [rad, rad/s]."""
        own = self.attitude_sigma_deg, self.rate_sigma_deg_s
        given = getattr(start, "attitude_sigma_deg", 0.0), getattr(start, "rate_sigma_deg_s", 0.0)
        attitude, rate = (np.radians(b if a is None else a) for a, b in zip(own, given, strict=True))
        return attitude, rate

    def _measured(self, known: Known, truth: Any, rate: Array) -> tuple[AttitudeState, Array]:
        """Return the attitude by vectors at time zero, and a rate that is off as much as is known."""
        noise = {
            name: known.draws.normal(f"first {name}", known.sensors[name].noise_size)
            for name in self.chosen(known.sensors)
        }
        q_IB, C = _of_vectors(self.source, known.sensors, noise, known.sky.at(0.0), truth)
        return AttitudeState(q_IB, truth.w_B + known.draws.vector("first rate", rate)), attitude_covariance(C, rate)

    def chosen(self, sensors: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the vectors, or say that they are not there."""
        quest = "quest" in (self.source, self.by)
        right = len(set(self.vectors)) == len(self.vectors) >= 2 and (quest or len(self.vectors) == 2)
        if not right or not set(self.vectors) <= set(sensors):
            there, number = ", ".join(sensors) or "none", "two or more" if quest else "two"
            raise InputError(
                f"start.vectors = {list(self.vectors)}: give the names of {number} sensors; there are {there}"
            )
        for name in self.vectors:
            if not isinstance(sensors[name], VECTOR_SENSORS):
                there = ", ".join(one for one, sensor in sensors.items() if isinstance(sensor, VECTOR_SENSORS))
                raise InputError(f"start.vectors: {name} measures no vector; {there or 'no sensor'} would")
        return self.vectors

    def search(self, navigation: AttitudeNavigation, start: Any, more: Mapping[str, Any]) -> Acquisition:
        """Return a navigation that begins once a vector is quiet."""
        sensors = navigation.known.sensors
        if self.source == "tracker":
            return self._from_tracker(navigation, start, more)
        vectors = self.chosen(sensors)
        watched = self.watch or vectors[1]
        if watched not in vectors:
            raise InputError(f"start.watch = {watched!r}: is none of start.vectors, {' and '.join(vectors)}")
        rate = float(self._sigmas(start)[1])
        period, quiet = 1.0 / sensors[watched].rate_hz, (float(np.radians(self.quiet_deg_s)), self.quiet_s)
        return Acquisition(navigation, vectors, watched, period, *quiet, rate, more, self.by == "quest")

    def _from_tracker(self, navigation: AttitudeNavigation, start: Any, more: Mapping[str, Any]) -> Acquisition:
        """Return a navigation that begins once a star tracker sees something."""
        trackers = [name for name, one in navigation.known.sensors.items() if isinstance(one, StarTracker)]
        if not trackers or not set(self.vectors) <= set(trackers):
            raise InputError(f"start.vectors: give star trackers; there are {', '.join(trackers) or 'none'}")
        names: Any = self.vectors or tuple(trackers)
        return TrackerAcquisition(navigation, names, "", 1.0, 0.0, 0.0, float(self._sigmas(start)[1]), more)

    def covariance(self, sensors: Mapping[str, Any], env: Any, start: Any, truth: AttitudeState) -> Array:
        """Return the covariance over (a, dw) of the first estimate at a truth, whatever the noise of its vectors."""
        attitude, rate = self._sigmas(start)
        if self.source not in ("triad", "quest"):
            return diagonal([attitude] * 3 + [rate] * 3)
        lead = np.shape(truth.q_IB)[:-1]
        noise = {name: np.zeros((*lead, sensors[name].noise_size)) for name in self.chosen(sensors)}
        return attitude_covariance(_of_vectors(self.source, sensors, noise, env, truth)[1], rate)


def started(
    filter_: Any,
    knowledge: AttitudeKnowledge,
    given: tuple[Known, Any, Any, Any],
    more: Mapping[str, Any],
    kind: type[AttitudeNavigation] = AttitudeNavigation,
    **how: Any,
) -> tuple[Any, Any]:
    """Return a filter in the loop and what it believes at time zero; given are known, start, truth and reference."""
    known, start, truth, reference = given
    rho_B = known.rho_B(truth)
    searching = knowledge.source in ("search", "tracker")
    x, C = UNKNOWN if searching else knowledge.belief(known, start, truth, reference)
    wide = AttitudeState(*(np.broadcast_to(part, (known.trials, np.shape(part)[-1])) for part in x))
    belief = filter_.start(wide, C, rho_B=rho_B, **more)
    covariance = {"q_IB", "P_B", "C", "recoveries"} <= set(dir(belief))
    navigation = kind(filter_, known, covariance=covariance, **how)
    if not searching:
        return navigation, belief
    search = knowledge.search(navigation, start, more)
    return search, search.start(belief, np.broadcast_to(rho_B, (known.trials, 3)))


def _of_vectors(
    how: str, sensors: Mapping[str, Any], noise: Mapping[str, Array], env: Any, truth: Any
) -> tuple[Array, Array]:
    """Return attitude and covariance by TRIAD or QUEST from one measurement of each sensor."""
    seen = [observed_vector(sensors[name], sensors[name].measure(truth, env, n).z, env) for name, n in noise.items()]
    if how == "quest":
        return quest(*stacked(seen))
    (b_1, r_1, sigma_1), (b_2, r_2, sigma_2) = seen
    return triad(b_1, b_2, r_1, r_2, sigma_1, sigma_2)


def diagonal(sigmas: Sequence[Any], least: float = CERTAIN) -> Array:
    """Return the covariance (..., n, n) of independent errors, each sigma a number or one per trial."""
    if not sigmas:
        return np.zeros((0, 0))
    stacked = np.maximum(np.stack(np.broadcast_arrays(*sigmas), axis=-1), least)
    return np.square(stacked)[..., None] * np.eye(stacked.shape[-1])
