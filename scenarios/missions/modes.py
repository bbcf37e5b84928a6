"""Modes of flight software: which one each trial is in, and the guards by which it leaves.

A guard is a condition on what flight software knows. It must hold for a stated time; once it has begun to, a weaker
condition (`keep`) may be enough for it to go on, so that noise at the threshold does not start the clock anew. Of
several guards that come true at one moment the first in the file wins.

| name | what it is |
|---|---|
| `t`, `mode_time_s` | time, and time since the mode began [s] |
| `rate_deg_s`, `momentum_Nms` | lengths of the believed rate, and of the wheels' momentum |
| `error_deg`, `error_m` | believed attitude or position against what was asked for at the command before |
| `sigma_deg` | the largest standard deviation that the filter believes its attitude to have |
| `known`, `flag`, `eclipse` | 1 once the filter has begun; a switch has closed; in the believed shadow of the Earth |
| `range_m` | believed distance of the craft that the navigation is of |
| `NAME.valid`, `NAME.age_s`, `NAME.nis` | of a sensor: whether it last was, age of its last word, NIS over size |
| `MODE.elevation_deg` | of the ground target of a mode, over its horizon, whatever the present mode |
| `MODE.in_corridor` | of the approach of a mode: 1 where the port is believed to be inside the corridor |
| `NAME.excluded` | of a sensor 1, of an actuator how many of its members are left out by FDIR or by what it was told |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import Kernel, as_numbers, batched, maximum, where
from gnc.errors import InputError
from gnc.expression import Expression, parse
from gnc.models.craft.base import Report
from gnc.typing import Array

OF_BELIEF = ("rate_deg_s", "momentum_Nms", "error_deg", "error_m", "sigma_deg", "known", "range_m")
PLAIN = ("t", "mode_time_s", *OF_BELIEF, "flag", "eclipse")
OF_SENSOR = ("valid", "age_s", "nis", "excluded")


@dataclass(frozen=True, eq=False)
class Guard:
    """A transition, built: places of its modes, its condition as a kernel of numbers."""

    source: tuple[int, int]  # the first and the last mode that it leads out of
    target: int
    names: tuple[str, ...]
    kernel: Kernel  # of the values of the names -> 1 or 0 whether it holds, whether it may go on
    for_s: float
    text: str


def guard(
    places: tuple[tuple[int, int], int], when: Expression, keep: str, for_s: float, parts: Mapping[str, Sequence[str]]
) -> Guard:
    """Return a transition with its condition compiled; `parts` are the words that may follow the name of a part."""
    weaker = parse(keep) if keep else when
    names = tuple(sorted(when.names | weaker.names))
    for name in names:
        part, _, word = name.partition(".")
        if name not in PLAIN and word not in parts.get(part, ()):
            vocabulary = (*PLAIN, *(f"{one}.{words[0]}" for one, words in parts.items() if words))
            raise InputError(f"when = {when.text!r}: {name} is not known to software; {', '.join(vocabulary)} are")
    for one in (when, weaker):
        if one.said:
            raise InputError(f"when = {one.text!r}: software knows numbers only; transitions tell modes by from and to")

    @batched(f"({max(len(names), 1)})->(2)")
    def holds(values):
        """Return 1 where the condition is true, and where the weaker one is."""
        value = lambda name: values[names.index(name)]  # noqa: E731
        return np.stack([where(one.truth(value), 1.0, 0.0) for one in (when, weaker)])

    return Guard(*places, names, holds, for_s, when.text)


def words_of(sensors: Sequence[str], actuators: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the words that may follow the name of a part in a guard."""
    return {**dict.fromkeys(actuators, ("excluded",)), **dict.fromkeys(sensors, OF_SENSOR)}


def value(name: str, estimate: Any, report: Report, now: Array, entered_s: Array) -> Array:
    """Return the value (trials,) of a name of the estimate that a guard uses."""
    if name == "t":
        return now
    if name == "mode_time_s":
        return now - entered_s
    if name == "momentum_Nms":
        return size(report.rho_B)
    if name == "rate_deg_s":
        return size(estimate.w_B) * (180.0 / np.pi)
    if name == "range_m":
        target = getattr(estimate, "target", None)
        return 0.0 * now if target is None else _range(estimate.dq_IB, target.dq_IB)
    number = report.flag if name == "flag" else getattr(estimate, name, None)
    if number is None:  # most filters know from the start on
        return 0.0 * now + (1.0 if name == "known" else 0.0)
    return as_numbers(number) + 0.0 * now


def errors(wanted: Array, estimate: Any) -> Array:
    """Return the believed errors (trials, 2) of attitude [deg] and position [m] against what is wanted."""
    if np.shape(wanted)[-1] == 8 and hasattr(estimate, "dq_IB"):
        return _pose_errors(wanted, estimate.dq_IB)
    return _attitude_errors(wanted[..., :4], estimate.q_IB)


@batched("(8),(8)->(2)")
def _pose_errors(dq_IR, dq_IB):
    """Return angle and distance between two poses."""
    q, r = dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_IR), dq_IB))
    turn = quaternion.log(q)
    return np.stack([np.sqrt(turn @ turn) * (180.0 / np.pi), np.sqrt(r @ r)])


@batched("(4),(4)->(2)")
def _attitude_errors(q_IR, q_IB):
    """Return the angle between two attitudes, and no distance."""
    turn = quaternion.log(quaternion.mul(quaternion.conj(q_IR), q_IB))
    angle = np.sqrt(turn @ turn) * (180.0 / np.pi)
    return np.stack([angle, 0.0 * angle])


@batched("(8),(8)->()")
def _range(dq_1, dq_2):
    """Return the distance of the origins of two poses."""
    gap = dual_quaternion.to_pose(dq_2)[1] - dual_quaternion.to_pose(dq_1)[1]
    return np.sqrt(gap @ gap)


@batched("(3)->()")
def size(v):
    """Return |v|."""
    return np.sqrt(v @ v)


@batched("(),(),(),(2),(),(),(2),(),(),(),()->(),(),(),()")
def step(start, mode, entered, holds, held, longest, source, target, for_s, period_s, now):
    """Return mode, time of entry, how long the guard has held and the longest of it; the first of a moment wins."""
    here = (start >= source[0]) & (start <= source[1]) & (start != target) & (mode == start)
    true = (holds[0] > 0.0) | ((held > 0.0) & (holds[1] > 0.0))
    clock = where(true & here, held + period_s, 0.0)
    goes = here & true & (clock >= for_s)
    longest = maximum(longest, clock)
    return where(goes, target, mode), where(goes, now, entered), where(goes, 0.0, clock), longest
