"""A loop whose ticks are compiled: one program in place of all calls from Python, with the same bits.

A tick is recorded once (`gnc.flying` runs on symbols) and then run many times, as long as the same is due and the same
waits (`gnc.flying.Waiting`: late measurements). Parts of such a loop compute with kernels and with `+ - * /` and slices
between them, do not branch on a trial's data, and do nothing beside computing; what they may do with the time is told
in `gnc.instant`. A part that does otherwise raises an error while it is recorded. Python calls that part at its ticks,
and all the others stay compiled around it.

The state, that is truth, belief, command, memory, events and all that waits, is one array (trials, numbers).
What a `Record` observes is computed in the tick too, if it can be recorded, else from the states by Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.flying import Flying, Innovations, Moment, Record, Waiting
from gnc.recorded_tick import NotRecordable, RecordedTick, Recording, discover
from gnc.state_slots import StateSlots

if TYPE_CHECKING:
    from gnc.loop import Loop

HEAVY = {"plant.step", "navigation.predict", "navigation.update", "controller"}  # without them nothing is compiled
MOST_VARIANTS = 16  # of a tick, by what its parts in Python return


def fly(
    flying: Flying,
    record: Callable[[Moment], None] | None,
    innovation: Innovations | None,
    progress: Callable[[int, int], None] | None,
) -> str:
    """Fly as far as ticks can be compiled, entirely or around parts; return what was not compiled, and why."""
    loop, compiled = flying.loop, _Compiled(flying, innovation)
    try:
        for end, recorded in _runs(loop, record is not None):
            while flying.k < end:
                try:
                    compiled.run(end, record if recorded else None)
                except NotRecordable as error:
                    if error.shared is None:
                        raise
                    compiled.share(error.shared)
                if progress is not None:
                    progress(min(flying.k, loop.steps), loop.steps)
    except NotRecordable as error:
        return str(error)
    finally:
        compiled.land()
    return compiled.reasons()


def _runs(loop: Loop, recording: bool) -> Iterator[tuple[int, bool]]:
    """Give the ends of the runs of ticks at which the same is due, and whether they are recorded: those are alone."""
    k = np.arange(loop.steps + 1)
    due = [schedule.due(k) for schedule in (*(schedule for _, schedule in loop.measured), loop.commanded)]
    new = np.any(due, axis=0)
    due.append(np.concatenate([np.zeros(loop.delay, bool), new])[: len(k)])  # when late measurements arrive
    recorded = loop.recorded.due(k) & recording
    recorded[-1] = recording
    changes = recorded[1:] | recorded[:-1]
    for one in due:
        changes |= one[1:] != one[:-1]
    changes[-1:] = True  # from the last tick nothing moves on
    ends = np.append(np.flatnonzero(changes) + 1, loop.steps + 1)
    return zip(ends.tolist(), recorded[ends - 1].tolist(), strict=True)


class _Kind(NamedTuple):
    """What ticks must have in common to be one program."""

    instruments: tuple[bool, ...]
    commanding: bool
    moving: bool
    waiting: Waiting  # none where nothing is done with the belief
    innovations: bool
    observed: bool  # whether what is observed comes out of the tick

    @property
    def acting(self) -> bool:
        """Whether anything is done with the belief."""
        return self.commanding or any(self.instruments) or self.waiting != Waiting()


class _Compiled:
    """The state of a flight, and the programs of its ticks."""

    def __init__(self, flying: Flying, innovation: Innovations | None) -> None:
        self._flying, self._innovation = flying, innovation
        self._programs: dict[Any, Any] = flying.loop.programs
        self.opaque: dict[str, str] = self._programs.setdefault("opaque", {})
        self._measurements: dict[str, Any] = self._programs.setdefault("measurements", {})
        self._state: np.ndarray | None = None  # None: it is in `flying`
        self._waiting = Waiting()

    def run(self, end: int, record: Callable[[Moment], None] | None) -> None:
        """Fly ticks up to the end, or as many as can be flown at once."""
        if self._unknown():
            self._first_measurement(record)
            return
        k, state = self._flying.k, self._packed()
        if isinstance(record, Record) and self._run_observed(state, end, record):
            return
        before = self._slots.truth(state) if record is not None else None
        self._advance(self._kind(), state, end)
        if record is not None:
            flying, now = self._flying, later(self._waiting, -1)
            flying.put(k, self._slots.unpack(state, now)._replace(truth=before), now)
            record(flying.moment())
            flying.k = k + 1

    def _run_observed(self, state: np.ndarray, end: int, record: Record) -> bool:
        """Fly ticks that make what is observed too; tell whether that can be recorded, else nothing is done."""
        programs, kind = self._programs, self._kind(observed=True)
        if programs.get("record") != record:
            programs |= {"record": record, "observable": True}
            for key in [key for key in programs if isinstance(key, _Kind) and key.observed]:
                del programs[key]
        known = sum(isinstance(key, _Kind) and key.observed for key in programs)
        if not programs["observable"] or (kind not in programs and known >= MOST_VARIANTS):
            return False
        try:
            flown = self._advance(kind, state, end)
        except NotRecordable as error:
            if error.shared is not None:
                raise
            programs["observable"] = False
            return False
        for tick, made, k in flown:
            trees = tick.recording.read_observed(made, k)
            for i, (names, values) in zip(range(k, k + len(made)), trees, strict=False):
                record.note(self._flying.clock(i), dict(zip(names, values, strict=True)))
        return True

    def _advance(self, kind: _Kind, state: np.ndarray, end: int) -> list[tuple[RecordedTick, np.ndarray, int]]:
        """Fly ticks of a kind; return them with what they have made, and the first of them."""
        flying, flown = self._flying, []
        for tick, made in self._ticks(kind, state, end - flying.k):
            if self._innovation is not None:
                kept = made.copy()  # whoever is told may keep it
                trees = [one.read(kept, flying.k) for one in tick.made]
                for i in range(flying.k, flying.k + len(made)):
                    for one, tree in zip(tick.made, trees, strict=True):
                        self._innovation(one.name, one.time.at(i), next(tree))
            flown.append((tick, made, flying.k))
            flying.k += len(made)
            self._waiting = tick.after if kind.acting else later(self._waiting, len(made))
        return flown

    def reasons(self) -> str:
        """Return which parts Python computes, and why."""
        first = {call.split(", call ")[0]: reason for call, reason in reversed(self.opaque.items())}
        first.pop("flight code", None)  # is meant to be called
        return "; ".join(f"{name}: {reason}" for name, reason in reversed(first.items()))

    def share(self, place: int) -> None:
        """Make room in the state for numbers that all trials share."""
        self.land()
        self._programs["shared"] = self._programs.get("shared", frozenset()) | {place}
        self._programs.pop("slots")

    def land(self) -> None:
        """Hand the state back, so that the flight can go on tick by tick."""
        if self._state is not None:
            self._flying.put(self._flying.k, self._slots.unpack(self._state, self._waiting), self._waiting)
            self._state = None

    def _packed(self) -> np.ndarray:
        """Return the state in slots; other slots need other programs."""
        if self._state is None:
            flying, programs = self._flying, self._programs
            try:
                if "slots" not in programs or not programs["slots"].fits(flying, self._measurements):
                    shared = programs.get("shared", frozenset())
                    slots = StateSlots(flying, self._measurements, shared=shared)
                    for key in [key for key in programs if isinstance(key, _Kind)]:
                        del programs[key]
                    programs["slots"] = slots
                self._slots: StateSlots = programs["slots"]
                self._waiting = flying.waiting()
                self._state = self._slots.pack(flying.state(), self._waiting)
            except TypeError as error:
                raise NotRecordable(error) from error
        return self._state

    def _unknown(self) -> list[str]:
        """Return the instruments that are due now and may be late, and of which no measurement has been seen yet."""
        loop, k = self._flying.loop, self._flying.k
        due = [one.name for one, schedule in loop.measured if loop.delay and schedule.due(k)]
        return [name for name in due if name not in self._measurements]

    def _first_measurement(self, record: Callable[[Moment], None] | None) -> None:
        """Fly one tick by itself, and see what measurements are like."""
        self.land()
        flying = self._flying
        flying.tick(self._innovation)
        for (_, name), measurement in zip(flying.waiting().taken, flying.state().taken, strict=True):
            self._measurements[name] = measurement
        if record is not None:
            record(flying.moment())
        flying.move()

    def _kind(self, observed: bool = False) -> _Kind:
        loop, k, waiting = self._flying.loop, self._flying.k, self._waiting
        instruments, commanding = tuple(s.due(k) for _, s in loop.measured), loop.commanded.due(k)
        arriving = bool(waiting.marks) and waiting.marks[0] >= loop.delay
        acting = commanding or any(instruments) or arriving
        innovations = self._innovation is not None
        kept = waiting if acting or observed else Waiting()
        return _Kind(instruments, commanding, k < loop.steps, kept, innovations, observed)

    def _ticks(self, kind: _Kind, state: np.ndarray, most: int) -> list[tuple[RecordedTick, np.ndarray]]:
        """Run as many ticks as can be run at once; return them with what they have made."""
        k, known = self._flying.k, self._programs.setdefault(kind, [])
        if self.opaque.keys() >= HEAVY:
            raise NotRecordable(self.reasons())
        if len(known) > MOST_VARIANTS:
            raise NotRecordable("what a part returns has another structure from tick to tick")
        tick, n = next(((tick, n) for tick in known if (n := tick.longest(k, most))), (None, 0))
        if tick is None:
            recording = self._recorded(kind)
            if recording.results is None:
                tick, made = discover(recording, state, k)
                known.append(tick)
                return [(tick, made[None])]
            tick = RecordedTick(recording)
            known.append(tick)
            n = tick.longest(k, most)
        if kind.acting and tick.after != kind.waiting:
            n = 1
        ran = tick.run(state, k, n)
        known[:0] = [new for new, _ in ran[1:]]
        return ran

    def _recorded(self, kind: _Kind) -> Recording:
        loop, k = self._flying.loop, self._flying.k
        try:
            trials = self._slots.packing.trials
            observe = _named(self._programs["record"].observe, trials) if kind.observed else None
            return Recording(loop, self._slots, (k, kind.waiting), kind.innovations, self.opaque, observe=observe)
        except Exception as error:  # of any kind: whatever is done with symbols outside of parts
            raise NotRecordable(error) from error


def _named(observe: Callable[[Moment], Mapping[str, Any]], trials: int) -> Callable[[Moment], Any]:
    """Return the function that gives what is observed as a tree: names and values.

    An array with a number for each trial that is not handed to a kernel, but computed with, would become an axis of
    the symbols: what might be that is refused. What is no symbol, the command of an actuator that nobody uses say, is
    the same in all trials.
    """

    def all_trials(value: Any) -> Any:
        if np.asarray(value).dtype == object:
            return value
        return np.broadcast_to(value, (trials, *np.shape(value)))

    def names_and_values(moment: Moment) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        values = observe(moment)
        wide = [name for name, value in values.items() if np.shape(value)[:1] == (trials,)]
        if wide:
            raise TypeError(f"{wide[0]}: has {trials} parts, and there are as many trials")
        return tuple(values), tuple(map(all_trials, values.values()))

    return names_and_values


def later(waiting: Waiting, ticks: int) -> Waiting:
    """Return what waits when so many ticks more have passed."""
    marks, taken = waiting.marks, waiting.taken
    return Waiting(
        waiting.belief + ticks, tuple(ago + ticks for ago in marks), tuple((ago + ticks, name) for ago, name in taken)
    )
