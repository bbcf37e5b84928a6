"""One tick of a loop as a program: what it was recorded from, what it needs at every tick, what it makes.

A tick whose parts can all be recorded is one program, which many ticks run. Around a part that only Python can compute
the program is split (`gnc.batch.stages`). What such a part returns is known when it has been called: the tick in which
that happens for the first time is computed by NumPy, entry by entry (`discover`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.batch.evaluation import evaluated
from gnc.batch.program import Program, Recorder, Rows, of_steps, of_trials
from gnc.batch.python_parts import Returned, Unknown, collected, reader
from gnc.batch.stages import Stages
from gnc.errors import said
from gnc.flying import Flying, Moment, Waiting
from gnc.instant import Clock, Instant
from gnc.noise import Stream
from gnc.state_slots import StateSlots
from gnc.trees import SharedChange

if TYPE_CHECKING:
    from gnc.loop import Instrument, Loop

MOST_MADE = 1_000_000  # numbers of innovations that are kept of one run


class NotRecordable(Exception):
    """A tick cannot be recorded, and not even split."""

    def __init__(self, error: Exception | str) -> None:
        super().__init__(error if isinstance(error, str) else said(error))
        self.shared = error.place if isinstance(error, SharedChange) and error.is_number else None  # to be packed too


class Made(NamedTuple):
    """An innovation that a tick makes."""

    name: str
    time: Instant
    read: Callable[[np.ndarray, int], Any]  # from what ticks have made (ticks, trials, numbers), and their first number


@dataclass
class Recording:
    """The recording of one tick, up to the first part in Python whose result has an unknown structure."""

    loop: Loop
    slots: StateSlots
    start: tuple[int, Waiting]
    innovations: bool
    opaque: dict[str, str]
    returned: list[Returned] = field(default_factory=list)
    observe: Callable[[Moment], Any] | None = None  # what else comes out of the tick: arrays of numbers
    made: list[Made] = field(init=False)
    results: list[int] | None = field(
        init=False, default=None
    )  # entries of the tape: the next state, then what is made
    after: Waiting = field(init=False, default=Waiting())
    read_observed: Callable[[np.ndarray, int], Any] = field(init=False)  # from what is made (ticks, trials, numbers)

    def __post_init__(self) -> None:
        """Record."""
        self.recorder = Recorder(self.slots.packing.trials, self.opaque, self.returned)
        self.clock, self.made = Clock(self.loop.h, self.start[0], self.recorder), []
        try:
            with self.recorder.recording():
                self._record()
        except Unknown:
            pass

    def _record(self) -> None:
        (k, waiting), recorder, numbers = self.start, self.recorder, list[Any]()
        flying, slots = OnSymbols(self.loop, self.clock), self.slots.symbols(recorder)

        def collect(name: str, time: Any, tree: Any) -> None:
            self.made.append(Made(name, time, reader(collected(tree, numbers))))

        flying.put(k, self.slots.used(slots, waiting), waiting)
        flying.tick(collect if self.innovations else None)
        if self.observe is not None:
            self.read_observed = reader(collected(self.observe(flying.moment()), numbers))
        flying.move()
        self.after = flying.waiting()
        state = self.slots.numbers(recorder, slots, flying.state(), self.after)
        self.results = recorder.results(state, numbers)

    def rows(self, k: int, n: int, used: Iterator[bool]) -> list[Rows | None]:
        """Return the inputs of n ticks from the k-th on; inputs that no result depends on are not looked up."""
        return [row for source in self.clock.sources for row in source.rows(k, n, used)]


class OnSymbols(Flying):
    """A flight whose states are symbols."""

    def __init__(self, loop: Loop, clock: Clock) -> None:
        super().__init__(loop)
        self._clock = clock

    def clock(self, tick: int) -> Any:
        """Return the time of a tick as an instant, which stands for the times of many ticks."""
        return self._clock(tick)

    def draw(self, instrument: Instrument) -> Any:
        """Return the symbols of noise that is drawn when the tick is run."""
        stream = instrument.noise
        return None if stream is None else self._clock.symbols_of(stream, Noise(stream), [(stream.size,)])[0]

    def part(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Record a part, or note that Python calls it."""
        return self._clock.recorder.part(name, function, args)


class Noise(NamedTuple):
    """The noise of an instrument, as an input of every tick."""

    stream: Stream

    def rows(self, k: int, n: int, used: Iterator[bool]) -> list[Rows | None]:
        """Return the noise of the next n ticks; the stream moves on even where the program does not use the noise."""
        taken = self.stream.take(n)
        return [of_trials(taken) if next(used) else None]


class RecordedTick:
    """A tick that can be run: one program, or stages with Python between them."""

    def __init__(self, recording: Recording) -> None:
        self.recording, self.clock, self.made = recording, recording.clock, recording.made
        self.after, recorder, results = recording.after, recording.recorder, recording.results or []
        self.numbers = len(results) - recorder.state_size  # of innovations
        self.most = max(1, MOST_MADE // max(1, recorder.trials * self.numbers))  # ticks at once
        self.stages = Stages(recorder, results) if recorder.cuts else None
        if self.stages is None:
            program = Program(recorder.trials, recorder.tape, results, recorder.state_size, recorder.given)
            self.program, self._used = program, program.used
        else:
            self._used = [True] * sum(one.memory is None for one in recorder.given)

    def longest(self, k: int, most: int) -> int:
        """Return how many ticks from the k-th on may be run at once: 0 if the tick is of another kind."""
        guards = self.clock.guards
        if not all(guard.holds(k) for guard in guards):
            return 0
        n = min([most, self.most, *(stream.ready for stream in self._streams())])
        while not all(guard.holds(k + n - 1) for guard in guards):  # what holds at both ends holds between
            n //= 2
        return n

    def run(self, state: np.ndarray, k: int, n: int) -> list[tuple[RecordedTick, np.ndarray]]:
        """Run up to n ticks from the k-th on, in place; return them with what they make (ticks, trials, numbers).

        Fewer are run where a part in Python returns another structure; the tick with that comes last.
        """
        outputs = np.empty((n, self.recording.recorder.trials, self.numbers))
        rows = self.recording.rows(k, n, iter(self._used))
        if self.stages is None:
            self.program.run(state, rows, n, of_steps(outputs) if self.numbers else None)
            return [(self, outputs)]
        ticks_run, other = self.stages.run(state, rows, k, outputs)
        if other is not None:
            for stream in self._streams():
                stream.give_back(n - ticks_run - 1)
            following = (row and row.shifted(ticks_run * row.time_step) for row in rows)
            by_source = {key: [next(following) for _ in symbols] for key, symbols in self.clock.symbols.items()}
            tick, numbers = self._discovered(*other, state, k + ticks_run, by_source)
            return [(self, outputs[:ticks_run]), (tick, numbers[None])]
        return [(self, outputs)]

    def _discovered(
        self, number: int, tree: Any, state: np.ndarray, k: int, rows: dict[Any, list[Any]]
    ) -> tuple[RecordedTick, np.ndarray]:
        """Compute the tick in which a part returns a structure other than before."""
        known = [cut.returned for cut in self.recording.recorder.cuts[:number] if cut.returned]
        values = self.stages.returned[:number] if self.stages else []
        discovery = _Discovery(self.recording, known, values, rows)
        discovery.returns(tree)
        return discovery.run(state, k)

    def _streams(self) -> Iterator[Stream]:
        return (source.stream for source in self.clock.sources if isinstance(source, Noise))


def discover(
    recording: Recording, state: np.ndarray, k: int, rows: dict[Any, list[Any]] | None = None
) -> tuple[RecordedTick, np.ndarray]:
    """Compute a tick with parts in Python for the first time, in place; return the tick and the numbers it makes.

    `rows` are inputs that no source is asked for, by the key of their source: for noise, the stream; and changes of
    parameters, by their identity.
    """
    return _Discovery(recording, [], [], rows or {}).run(state, k)


class _Discovery:
    """A tick that is computed part by part, to learn the structures that its parts in Python return."""

    def __init__(
        self, recording: Recording, known: list[Returned], values: list[np.ndarray], rows: dict[Any, list[Any]]
    ) -> None:
        self.recording, self.known, self.values, self.rows = recording, known, values, rows

    def returns(self, tree: Any) -> None:
        """Take the result of the next part in Python, and record the tick again with the result's structure known."""
        old = self.recording
        one = Returned(tree, old.recorder.trials)
        values = np.empty((old.recorder.trials, one.size))
        one.writer(values)(tree)
        self.known, self.values = [*self.known, one], [*self.values, values]
        try:
            self.recording = replace(old, returned=self.known)
        except Exception as error:  # the state has changed its structure
            raise self._given_up(error) from error

    def _given_up(self, error: Exception) -> NotRecordable:
        """Give the noise of this tick back to its streams, and return the error to raise."""
        for key in self.rows:
            if isinstance(key, Stream):
                key.give_back(1)
        return NotRecordable(error)

    def run(self, state: np.ndarray, k: int) -> tuple[RecordedTick, np.ndarray]:
        """Go on to the end of the tick."""
        while (results := self.recording.results) is None:
            cut = self.recording.recorder.cuts[-1]
            try:
                tree = cut.call(self._evaluated(cut.operands, state, k), k)
            except Exception as error:  # whoever flies tick by tick meets the error too, if it is the part's own
                raise self._given_up(error) from error
            self.returns(tree)
        size = self.recording.recorder.state_size
        numbers = self._evaluated(results, state, k)
        state[...] = numbers[:, :size]
        return RecordedTick(self.recording), numbers[:, size:]

    def _evaluated(self, results: list[int], state: np.ndarray, k: int) -> np.ndarray:
        """Compute entries of the tape."""
        recorder, clock = self.recording.recorder, self.recording.clock
        for (key, symbols), source in zip(clock.symbols.items(), clock.sources, strict=True):
            if key not in self.rows:
                self.rows[key] = source.rows(k, 1, iter([True] * len(symbols)))
        columns, rows = dict(enumerate(state.T)), iter([row for key in clock.symbols for row in self.rows[key]])
        for one in recorder.given:
            source_rows = next(rows) if one.memory is None else None
            if not one.size:
                continue
            if source_rows is not None:
                block = source_rows.read(recorder.trials, one.size)
            elif one.memory is not None:  # what is known of a parameter is its change
                memory = one.memory.reshape(recorder.trials if one.trial_step else 1, one.size)
                block = memory + self.rows.get(id(one.original), [0.0])[0]
            columns |= {one.slot + i: column for i, column in enumerate(block.T)}
        for cut, values in zip(recorder.cuts, self.values, strict=False):
            columns |= {cut.slot + i: column for i, column in enumerate(values.T)}
        return evaluated(recorder.tape, results, columns.__getitem__, recorder.trials)
