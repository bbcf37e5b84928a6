"""A filter that waits: it begins in each trial by itself, once a measured vector stands still and another is in sight.

How fast the vector turns is |b - mean|/(memory |b|), mean its average with an exponential memory: the difference of two
measurements would be all noise. A spin about the vector itself is seen once the vector has turned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import batched, chosen, when, where
from gnc.estimators.initialise import attitude_covariance, in_body, known_vector, quest, stacked, triad
from gnc.history import Signal
from gnc.linalg import cross
from gnc.models.craft.base import Report
from gnc.models.sensors.interface import Measurement
from gnc.models.states import AttitudeState
from gnc.typing import Array

UNSEEN = 1e6  # noise [rad] of a vector that is not in sight
LEAST_SINE = 0.34  # of the angle between the two vectors, 20 deg, below which they give no attitude
MEMORY_S = 10.0  # of the average
UNTURNED = AttitudeState(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
STAGES = (
    "the vector of {watched} never was quiet for long enough",
    "{watched} was quiet but {other} saw nothing at an angle to it",
    "the filter runs",
)


class Search(NamedTuple):
    """The belief: of the filter once it has begun, and what the vectors tell before that."""

    filter: Any  # means nothing before `since`
    since: Array  # (trials,) when the filter began; NaN: not yet [s]
    rho_B: Array  # (trials, 3) momentum of the wheels as last told [N m s]
    b_B: Array  # (trials, 3) the watched vector as last measured, body axes, NaN before
    others: tuple[Array, ...]  # (trials, 3) the others likewise, NaN where not in sight; for QUEST
    mean_B: Array  # (trials, 3) its average, body axes, NaN before
    quiet_s: Array  # (trials,) for how long it has turned slowly
    longest_s: Array  # (trials,) and the longest of such times


@dataclass(frozen=True, eq=False)
class Acquisition:
    """Navigation that starts its filter from TRIAD, or QUEST, when a vector has turned slowly for a while."""

    inner: Any  # the navigation that begins then, an `AttitudeNavigation`
    vectors: tuple[str, ...]  # names of the sensors; of two the better one first
    watched: str  # the one of them whose vector must stand still
    period_s: float  # of the watched sensor
    quiet_rate: float  # [rad/s]
    quiet_s: float
    sigma_rate: float  # [rad/s] about each axis when the filter begins
    more: Mapping[str, Any]  # what the filter's start takes beside attitude, covariance and wheels
    by_quest: bool = False

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What is told of belief and truth: nothing before the filter has begun."""
        found = {name: signal._replace(partial=True) for name, signal in self.inner.signals.items()}
        return found | {"search": Signal("1", "how far the search for the attitude has come", labels=self._stages)}

    @property
    def _stages(self) -> tuple[str, ...]:
        return tuple(stage.format(watched=self.watched, other=" or ".join(self._others)) for stage in STAGES)

    @property
    def _others(self) -> list[str]:
        return [name for name in self.vectors if name != self.watched]

    def start(self, belief: Any, rho_B: Array) -> Search:
        """Return the belief before any measurement; that of the filter means nothing yet."""
        nothing, zero = np.full(rho_B.shape, np.nan), np.zeros(len(rho_B))
        others = tuple(nothing.copy() for _ in self._others) if self.by_quest else ()
        seen = np.array(rho_B), nothing, others, nothing.copy()
        return Search(belief, nothing[:, 0].copy(), *seen, zero, zero.copy())

    def predict(self, belief: Search, command: tuple[Array, ...], report: Report, t: Any, h: Any) -> Search:
        """Move the filter over h."""
        return belief._replace(filter=self.inner.predict(belief.filter, command, report, t, h), rho_B=report.rho_B)

    def update(self, belief: Search, name: str, measurement: Measurement, t: Any) -> tuple[Search, Any]:
        """Correct the filters that have begun, and begin others."""
        filter_, made = self._corrected(belief, name, measurement, t)
        belief = belief._replace(filter=filter_)
        if name == self.watched:
            belief = self._watch(belief, measurement, t)
        elif name in self.vectors:
            belief = self._begin(belief, name, measurement, t)
        return belief, made

    def _corrected(self, belief: Search, name: str, measurement: Measurement, t: Any) -> tuple[Any, Any]:
        """Correct the filters that have begun; a gyro that drives them tells its rate before that too."""
        heard = measurement[1]
        if name != getattr(self.inner, "gyro", ""):
            heard = _begun(heard, belief.since) != 0.0
        return self.inner.update(belief.filter, name, Measurement(measurement[0], heard), t)

    def _in_body(self, name: str, measurement: Measurement) -> Array:
        """Return a measured vector, body axes."""
        return in_body(self.inner.known.sensors[name], measurement[0])

    def _known(self, name: str, t: Any) -> tuple[Array, Array]:
        """Return what a measured vector is of, inertial axes, and its noise as an angle."""
        return known_vector(self.inner.known.sensors[name], self.inner.known.sky.at(t))

    def _weighed(self, name: str, b_B: Array, t: Any) -> tuple[Array, Array, Array]:
        """Return a vector for QUEST; one that is not in sight has next to no weight."""
        r_I, sigma = self._known(name, t)
        return _weight(b_B, r_I, np.asarray(sigma, float))

    def _watch(self, belief: Search, measurement: Measurement, t: Any) -> Search:
        """Note the watched vector, and for how long it has turned slowly."""
        seen_B, valid = self._in_body(self.watched, measurement), measurement[1]
        numbers = 1.0 - float(np.exp(-self.period_s / MEMORY_S)), MEMORY_S, self.quiet_rate, self.period_s
        state = belief.b_B, belief.mean_B, belief.quiet_s, belief.longest_s
        b_B, mean_B, quiet_s, longest_s = _watched(seen_B, valid, *state, *numbers)
        return belief._replace(b_B=b_B, mean_B=mean_B, quiet_s=quiet_s, longest_s=longest_s)

    def _begin(self, belief: Search, name: str, measurement: Measurement, t: Any) -> Search:
        """Start the filter where the watched vector is quiet and the other in sight, at an angle."""
        mine_B = self._in_body(name, measurement)
        seen_B = {name: mine_B, self.watched: belief.b_B}
        pair = [(seen_B[one], *self._known(one, t)) for one in self.vectors if one in seen_B]
        (b_1, r_1, sigma_1), (b_2, r_2, sigma_2) = pair
        valid = measurement[1]
        ready = _ready(valid, belief.since, belief.quiet_s, self.quiet_s, b_1, b_2) > 0.0
        if self.by_quest:
            k = self._others.index(name)
            others = (*belief.others[:k], _in_sight(mine_B, valid), *belief.others[k + 1 :])
            belief = belief._replace(others=others)
            readings = zip((self.watched, *self._others), (belief.b_B, *others), strict=True)
            all_ = [self._weighed(one, b_B, t) for one, b_B in readings]
            given: Any = stacked(all_), belief.rho_B
        else:
            given = (b_1, b_2, r_1, r_2, sigma_1, sigma_2), belief.rho_B
        filter_ = when(ready, self._fresh, given, belief.filter)
        return belief._replace(filter=filter_, since=_since(ready, t, belief.since))

    def _fresh(self, vectors: tuple[Array, ...], rho_B: Array) -> Any:
        """Return the belief of a filter that begins with the attitude of vectors."""
        q_IB, C = quest(*vectors) if self.by_quest else triad(*vectors)
        x = AttitudeState(q_IB, 0.0 * rho_B)
        return self.inner.filter.start(x, attitude_covariance(C, self.sigma_rate), rho_B=rho_B, **self.more)

    def listens(self, belief: Search) -> Array:
        """Return 1 where the filter has begun, and so uses or refuses measurements."""
        return _known(belief.since)

    def estimate(self, belief: Search, report: Report) -> Any:
        """Return attitude and rate, and whether they mean anything."""
        return self.inner.estimate(belief.filter, report)._replace(known=_known(belief.since))

    def observe(self, belief: Search, truth: Any, t: float) -> Mapping[str, Array]:
        """Return errors, NaN before the filter has begun, and how far the search has come."""
        begun, values = belief.since == belief.since, self.inner.observe(belief.filter, truth, t)
        found = {name: chosen(begun, value, np.nan * value) for name, value in values.items()}
        return found | {"search": _stage(belief.since, belief.longest_s, self.quiet_s)}


@dataclass(frozen=True, eq=False)
class TrackerAcquisition(Acquisition):
    """Navigation that starts its filter with the first attitude that one of its star trackers sees."""

    @property
    def _stages(self) -> tuple[str, ...]:
        return ("no star tracker saw anything",) * 2 + STAGES[2:]

    def update(self, belief: Search, name: str, measurement: Measurement, t: Any) -> tuple[Search, Any]:
        """Correct the filters that have begun, and begin others."""
        filter_, made = self._corrected(belief, name, measurement, t)
        if name not in self.vectors:
            return belief._replace(filter=filter_), made
        ready = _can_begin(measurement[1], belief.since)
        tracker = self.inner.known.sensors[name]
        given = _attitude_of(measurement[0], tracker.q_BS, tracker.predict(UNTURNED).R), belief.rho_B
        filter_ = when(ready > 0.0, self._from_tracker, given, filter_)
        return belief._replace(filter=filter_, since=_since(ready, t, belief.since)), made

    def _from_tracker(self, seen: tuple[Array, Array], rho_B: Array) -> Any:
        """Return the belief of a filter that begins with the attitude of a star tracker."""
        q_IB, C = seen
        x = AttitudeState(q_IB, 0.0 * rho_B)
        return self.inner.filter.start(x, attitude_covariance(C, self.sigma_rate), rho_B=rho_B, **self.more)


@batched("(),(),()->()")
def _stage(since, longest_s, needed_s):
    """Return how far the search has come, as a number of `STAGES`."""
    return where(since == since, 2.0, where(longest_s >= needed_s, 1.0, 0.0))


@batched("(3),()->(3)")
def _in_sight(b_B, valid):
    """Return a measured vector, NaN where it is not valid."""
    return where(valid > 0.0, b_B, np.nan)


@batched("(3),(3),()->(3),(3),()")
def _weight(b_B, r_I, sigma):
    """Return a vector for QUEST: one that is NaN as any other, without weight."""
    there = b_B[0] == b_B[0]
    return where(there, b_B, r_I), r_I + 0.0, where(there, sigma, UNSEEN)


@batched("()->()")
def _known(since):
    """Return 1 where a time is one."""
    return where(since == since, 1.0, 0.0)


@batched("(4),(4),(3,3)->(4),(3,3)")
def _attitude_of(z, q_BS, R):
    """Return the attitude of the body by that of its tracker, and its covariance, body axes."""
    R_BS = quaternion.to_matrix(q_BS)
    return quaternion.mul(z, quaternion.conj(q_BS)), R_BS @ R @ R_BS.T


@batched("(),()->()")
def _can_begin(valid, since):
    """Return 1 where a measurement is valid and the filter has not begun."""
    return where((valid > 0.0) & (since != since), 1.0, 0.0)


@batched("(),()->()")
def _begun(valid, since):
    """Return 1 where a measurement is valid and the filter has begun."""
    return where((valid > 0.0) & (since == since), 1.0, 0.0)


@batched("(),(),()->()")
def _since(ready, t, since):
    """Return the time at which the filter has begun."""
    return where(ready > 0.0, t, since)


@batched("(3),(),(3),(3),(),(),(),(),(),()->(3),(3),(),()")
def _watched(b_B, valid, before, mean_before, quiet_s, longest_s, gain, memory_s, quiet_rate, period_s):
    """Return the vector, its average and the quiet times after a measurement; one that is not valid changes nothing."""
    there = valid > 0.0
    mean = where((mean_before[0] != mean_before[0]) & there, b_B, mean_before)
    away = b_B - mean
    slow = away @ away < (memory_s * quiet_rate) ** 2 * (b_B @ b_B)
    quiet = where(there, where(slow, quiet_s + period_s, 0.0), quiet_s)
    longest = where(quiet > longest_s, quiet, longest_s)
    return where(there, b_B, before), where(there, mean + gain * away, mean_before), quiet, longest


@batched("(),(),(),(),(3),(3)->()")
def _ready(valid, since, quiet_s, needed_s, a, b):
    """Return 1 where the filter has not begun and can: one vector quiet, the other in sight, an angle between them."""
    n = cross(a, b)
    sine = np.sqrt((n @ n) / ((a @ a) * (b @ b)))  # NaN if one is not known
    return where((valid > 0.0) & (since != since) & (quiet_s >= needed_s) & (sine > LEAST_SINE), 1.0, 0.0)
