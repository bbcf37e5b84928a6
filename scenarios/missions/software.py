"""Flight software in the loop: modes with guidance and law, each trial in its own, and when they change.

At every command, in this order: what is believed is carried to now; the guards of the present mode are looked at;
every mode's guidance and law say what they would do; and the commands of the mode that each trial is in are taken. A
mode's guidance and law remember only while they are in charge.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import Kernel, as_numbers, batched, where
from gnc.controllers.allocation import Share
from gnc.controllers.bdot import MomentumUnloading
from gnc.controllers.guidance.base import Plan, View
from gnc.errors import InputError
from gnc.estimators.navigation.attitude import turn_deg
from gnc.expression import Expression
from gnc.history import Signal
from gnc.models.actuators.magnetorquers import TorquerSet, torque
from gnc.models.craft.base import Report
from gnc.models.sensors.error_state import attitude
from gnc.scenarios.missions.navigating import Belief, CraftNavigation
from gnc.trees import leaves, mapped
from gnc.typing import Array

GUARDED = ("t", "mode_time_s", "rate_deg_s", "momentum_Nms", "known", "flag")


POINTING = Signal("deg", "true attitude against the reference, rotation vector, body axes", partial=True)
EXCESS = Signal("N m s", "momentum of the wheels beyond what unloading lets them keep, body axes")


class Command(NamedTuple):
    """What flight software asks of its craft, and why."""

    effectors: tuple[Array, ...]  # (trials, size) of each actuator
    mode: Array  # (trials,) its place among the modes
    entered_s: Array  # (trials,) when the mode began
    wanted: Array  # (trials, 4 or 8) the attitude or pose that is asked for; NaN: none
    notes: Array  # (trials, notes) what guidance tells of itself; NaN: nothing


class Memory(NamedTuple):
    """What flight software remembers from command to command."""

    mode: Array  # (trials,) its place among the modes
    entered_s: Array  # (trials,) when the mode began
    held_s: Array  # (trials, transitions) for how long each guard has been true
    guidance: tuple[Any, ...]  # of each mode
    laws: tuple[Any, ...]  # of each mode


class Unloader(NamedTuple):
    """What takes momentum out of the wheels."""

    law: MomentumUnloading
    bias_B: Array
    torquers: TorquerSet
    actuator: int  # place among the actuators
    wheels: int
    share: Share  # of the wheels, which make up for the torquers


@dataclass(frozen=True, eq=False)
class ModeRun:
    """One mode, built."""

    name: str
    guidance: Any | None
    law: Any
    shares: Mapping[int, Share]  # by the actuator's place
    unload: Unloader | None = None
    plan: Any | None = None  # its guidance in the true environment, by which pointing is judged


@dataclass(frozen=True, eq=False)
class Guard:
    """A transition, built: places of its modes, its condition as a kernel of numbers."""

    source: int  # -1: from any mode
    target: int
    names: tuple[str, ...]
    kernel: Kernel
    for_s: float


def guard(source: int, target: int, condition: Expression, for_s: float) -> Guard:
    """Return a transition with its condition compiled."""
    names = tuple(sorted(condition.names))
    if unknown := set(names) - set(GUARDED):
        raise InputError(
            f"when = {condition.text!r}: {min(unknown)} is not known to software; {', '.join(GUARDED)} are"
        )

    @batched(f"({max(len(names), 1)})->()")
    def holds(values):
        """Return 1 where the condition is true."""
        return where(condition.value(lambda name: values[names.index(name)]), 1.0, 0.0)

    return Guard(source, target, names, holds, for_s)


@dataclass(frozen=True, eq=False)
class CraftSoftware:
    """The flight software of one craft."""

    navigation: CraftNavigation
    modes: Sequence[ModeRun]
    guards: Sequence[Guard]
    sizes: Sequence[int]  # numbers of each actuator's command
    period_s: float

    @property
    def signals(self) -> dict[str, Signal]:
        """What is recorded of commands."""
        found = {"mode": Signal("1", "mode of flight software", labels=tuple(mode.name for mode in self.modes))}
        found["mode_time_s"] = Signal("s", "time since the mode began")
        for mode in self.modes:
            found |= getattr(mode.guidance, "signals", {}) | getattr(mode.guidance, "notes", {})
        found |= {"pointing_error_deg": POINTING} if self.wanted else {}
        return found | ({} if self._unloader is None else {"momentum_excess_Nms": EXCESS})

    def start(self, belief: Belief, report: Report, trials: int) -> Memory:
        """Return the memory before the first command, in the first mode."""
        estimate = self.navigation.estimate(belief, report)
        guidance = tuple(() if m.guidance is None else m.guidance.start(estimate, report) for m in self.modes)
        laws = tuple(_started(m.law, trials) for m in self.modes)
        zero = np.zeros(trials)
        return Memory(zero, zero.copy(), np.zeros((trials, len(self.guards))), guidance, laws)

    def idle(self, trials: int) -> Command:
        """Return the commands of actuators that do nothing."""
        effectors = tuple(np.zeros((trials, size)) for size in self.sizes)
        none = np.full((trials, self.wanted), np.nan), np.full((trials, len(self.notes)), np.nan)
        return Command(effectors, np.zeros(trials), np.zeros(trials), *none)

    def command(self, belief: Belief, report: Report, t: Any, memory: Memory) -> tuple[Command, Memory]:
        """Return the commands of all actuators from t on, and what to remember."""
        estimate = self.navigation.estimate(belief, report)
        if self.guards:
            memory = self._changed(estimate, report, t, memory)
        done = [self._of_mode(i, estimate, report, t, memory) for i in range(len(self.modes))]
        if len(done) == 1:
            effectors, told, guidance, law = done[0]
            command = Command(effectors, memory.mode, memory.entered_s, *told)
            return command, memory._replace(guidance=(guidance,), laws=(law,))
        *taken, wanted, notes = _by_mode(memory.mode, [(*one[0], *one[1]) for one in done])
        before = zip(memory.guidance, memory.laws, strict=True)
        states = [
            _where_mode(memory.mode, i, one[2:], was) for i, (one, was) in enumerate(zip(done, before, strict=True))
        ]
        memory = memory._replace(guidance=tuple(s[0] for s in states), laws=tuple(s[1] for s in states))
        return Command(tuple(taken), memory.mode, memory.entered_s, wanted, notes), memory

    def _of_mode(
        self, i: int, estimate: Any, report: Report, t: Any, memory: Memory
    ) -> tuple[tuple[Array, ...], tuple[Array, Array], Any, Any]:
        """Return what one mode commands, what it wants and notes, and the memories of its guidance and law."""
        mode, reference, guidance = self.modes[i], None, memory.guidance[i]
        notes = self._told(mode, guidance, memory.mode)
        if mode.guidance is not None:
            reference, guidance = mode.guidance.guide(t, estimate, report, guidance)
        demand, law = mode.law.command(estimate, reference, memory.laws[i])
        lead = np.shape(memory.mode)
        commands = [mode.shares[k](demand, estimate) if k in mode.shares else None for k in range(len(self.sizes))]
        if mode.unload is not None:
            commands = _unloading(mode.unload, commands, estimate, report)
        idle = [np.zeros((*lead, size)) for size in self.sizes]
        given = tuple(z if u is None else _wide(u, memory.mode) for u, z in zip(commands, idle, strict=True))
        wanted = np.full((*lead, self.wanted), np.nan) if reference is None else _wide(reference[0], memory.mode)
        return given, (wanted, notes), guidance, law

    @property
    def notes(self) -> list[str]:
        """Names of what guidance tells of itself."""
        return list(dict.fromkeys(name for mode in self.modes for name in getattr(mode.guidance, "notes", {})))

    def _told(self, mode: ModeRun, memory: Any, like: Array) -> Array:
        """Return what the guidance of a mode tells of itself (trials, notes)."""
        own = getattr(mode.guidance, "notes", {})
        told = dict(zip(own, mode.guidance.told(memory), strict=True)) if own else {}  # type: ignore[union-attr]
        nothing = np.full(np.shape(like), np.nan)
        if not self.notes:
            return np.zeros((*np.shape(like), 0))
        return np.stack([told.get(name, nothing) for name in self.notes], axis=-1)

    def _changed(self, estimate: Any, report: Report, t: Any, memory: Memory) -> Memory:
        """Return the memory after the guards of this moment."""
        mode, entered, held = memory.mode, memory.entered_s, []
        now = _for_each(t, memory.mode)
        for k, one in enumerate(self.guards):
            values = [self._guarded(name, estimate, report, now, memory) for name in one.names] or [0.0 * mode]
            holds = one.kernel(np.stack(values, axis=-1))
            source = np.array(float(one.source))
            numbers = (
                memory.held_s[..., k],
                source,
                np.array(float(one.target)),
                np.array(one.for_s),
                self.period_s,
                now,
            )
            mode, entered, clock = _guard_step(memory.mode, mode, entered, holds, *numbers)
            held.append(clock)
        return memory._replace(mode=mode, entered_s=entered, held_s=np.stack(held, axis=-1))

    def _guarded(self, name: str, estimate: Any, report: Report, now: Array, memory: Memory) -> Array:
        """Return the value (trials,) of a name that a guard uses."""
        if name == "t":
            return now
        if name == "mode_time_s":
            return now - memory.entered_s
        if name == "momentum_Nms":
            return _size(report.rho_B)
        if name == "rate_deg_s":
            return _size(estimate.w_B) * (180.0 / np.pi)
        value = report.flag if name == "flag" else getattr(estimate, name, None)
        if value is None:  # most filters know from the start on
            return 0.0 * now + (1.0 if name == "known" else 0.0)
        return as_numbers(value) + 0.0 * now

    @property
    def _unloader(self) -> Unloader | None:
        """What unloads the wheels, in the first mode that does."""
        return next((mode.unload for mode in self.modes if mode.unload is not None), None)

    def observe(self, command: Command, truth: Any, report: Report, t: float) -> dict[str, Array]:
        """Return mode, time in it, and how far the craft is from what is asked for."""
        found = {"mode": command.mode, "mode_time_s": t - command.entered_s}
        if self.wanted:
            found["pointing_error_deg"] = turn_deg(self.reference(command, t)[..., :4], attitude(truth))
        if self._unloader is not None:
            found["momentum_excess_Nms"] = report.rho_B - self._unloader.bias_B
        return found

    def watch(self, command: Command, view: View) -> dict[str, Array]:
        """Return what the guidance of each mode tells; NaN while another mode is in charge."""
        found = {name: command.notes[..., k] for k, name in enumerate(self.notes)}
        for i, mode in enumerate(self.modes):
            if getattr(mode.guidance, "signals", {}):
                mine = np.where(command.mode == float(i), 1.0, np.nan)
                for name, value in mode.guidance.observe(view).items():  # type: ignore[union-attr]
                    own = mine.reshape(mine.shape + (1,) * (np.ndim(value) - mine.ndim)) * value
                    found[name] = np.where(np.isnan(own), found[name], own) if name in found else own
        return found

    @property
    def wanted(self) -> int:
        """How many numbers a reference has: 8 of a pose, 4 of an attitude, 0 of none."""
        return max((getattr(mode.guidance, "wanted", 4) for mode in self.modes if mode.guidance is not None), default=0)

    def reference(self, command: Command, t: float) -> Array:
        """Return the attitude or pose that is asked for at t: by a plan that of the moment, else the one held."""
        wanted = command.wanted
        for i, mode in enumerate(self.modes):
            if isinstance(mode.plan, Plan):
                now = _wide(mode.plan.at(t)[0], command.mode)
                wanted = now if len(self.modes) == 1 else np.where((command.mode == i)[..., None], now, wanted)
        return wanted


def _wide(reference: Array, like: Array) -> Array:
    """Return a reference with the axis of trials."""
    return reference + np.zeros((*np.shape(like), 1)) if np.ndim(reference) == 1 else reference


def _started(law: Any, trials: int) -> Any:
    begin = getattr(law, "start", None)
    return () if begin is None else begin((trials,))


def _unloading(unload: Unloader, commands: list[Any], estimate: Any, report: Report) -> list[Any]:
    """Return the commands with the torquers at work and the wheels making up for them: the body must feel nothing."""
    dipole_B = unload.law.command(report.rho_B, estimate.B_B, unload.bias_B)
    dipole_B = unload.torquers.torquers.dipole_B(dipole_B)
    against = unload.share(-torque(dipole_B, estimate.B_B), estimate)
    commands[unload.actuator] = dipole_B
    commands[unload.wheels] = against if commands[unload.wheels] is None else commands[unload.wheels] + against
    return commands


@batched("(),()->()")
def _for_each(t, mode):
    """Return a time once for every trial."""
    return t + 0.0 * mode


@batched("(3)->()")
def _size(v):
    """Return |v|."""
    return np.sqrt(v @ v)


@batched("(),(),(),(),(),(),(),(),(),()->(),(),()")
def _guard_step(start, mode, entered, holds, held, source, target, for_s, period_s, now):
    """Return mode, time of entry, and how long the guard has held; the first transition of a moment wins."""
    here = ((start == source) | (source < 0.0)) & (start != target) & (mode == start)
    clock = where((holds > 0.0) & here, held + period_s, 0.0)
    goes = here & (holds > 0.0) & (clock >= for_s)
    return where(goes, target, mode), where(goes, now, entered), where(goes, 0.0, clock)


@functools.cache
def _choice(modes: int, size: int) -> Kernel:
    """Return the kernel that takes one of several vectors."""

    @batched(f"(),({modes},{size})->({size})")
    def chosen(mode, options):
        """Return the vector of a mode."""
        found = options[0]
        for k in range(1, modes):
            found = where(mode == float(k), options[k], found)
        return found

    return chosen


def _by_mode(mode: Array, options: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Return the commands of the mode that each trial is in."""
    found = []
    for each in zip(*options, strict=True):
        size = each[0].shape[-1]
        found.append(_choice(len(options), size)(mode, np.stack(each, axis=-2)) if size else each[0])
    return tuple(found)


@functools.cache
def _picked(size: int) -> Kernel:
    """Return the kernel that takes new numbers in one mode and old ones in others."""

    @batched(f"(),(),({size}),({size})->({size})")
    def picked(mode, this, new, old):
        """Return the new ones where the mode is this one."""
        return where(mode == this, new, old)

    return picked


def _where_mode(mode: Array, i: int, new: Any, old: Any) -> Any:
    """Return a tree of states that is the new one in the trials of a mode, and the old one elsewhere."""
    fresh = iter(list(leaves(tuple(new))))
    return mapped(lambda was: _leaf(mode, i, next(fresh), was), tuple(old))


def _leaf(mode: Array, i: int, new: Any, old: Any) -> Any:
    if not isinstance(old, np.ndarray) and not hasattr(old, "shape"):
        return new
    lead, core = np.shape(mode), np.shape(old)[len(np.shape(mode)) :]
    size = int(np.prod(core)) if core else 1
    flat = lambda x: x.reshape(*lead, size)  # noqa: E731
    return _picked(size)(mode, np.array(float(i)), flat(new), flat(old)).reshape(*lead, *core)


def first_reference(guidance: Any, report: Report | None = None) -> Any:
    """Return what guidance asks for at time zero, by time alone or by what the craft tells."""
    if hasattr(guidance, "at"):
        return guidance.at(0.0)
    return guidance.first(report) if report is not None and hasattr(guidance, "first") else None
