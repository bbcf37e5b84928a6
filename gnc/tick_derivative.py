"""The exact derivative of a whole tick of a loop, with respect to its state, its noise and its parameters.

    z' = f(z, w, p)        z: truth, belief with its covariance, command, memory, what waits; w: noise; p: parameters
    A = df/dz,  B = df/dw,  D = df/dp

A tick is a tape of calls; its tangent (`gnc.batch.tangent`) takes (z, dz) to (z', dz'), with directions as trials.
Branches are those of the values. Around a part that only Python can compute the tape is split: slopes go through such a
part by differences of the part alone, and are exact everywhere else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gnc.batch.program import Input, Program, Rows, of_all, of_steps
from gnc.batch.python_parts import Cut, Numbers
from gnc.batch.tangent import tangent_tape
from gnc.batch.tape import Tape
from gnc.part_slopes import part_slopes
from gnc.recorded_tick import Noise, Recording, discover
from gnc.trees import leaves

Slopes = Callable[[Input], np.ndarray | None]
SEARCHED = 32  # ticks after which the steps of differences are searched for again
RowSlopes = Callable[[np.ndarray], np.ndarray]  # of numbers (trials, size) of a part that holds parameters


class TangentTick:
    """A recorded tick with its derivative along many directions."""

    def __init__(
        self,
        recording: Recording,
        seeds: np.ndarray,
        parameters: Slopes,
        noise: Mapping[Any, np.ndarray] | None = None,
        of_rows: RowSlopes | None = None,
        alike: Sequence[int] = (0,),
    ) -> None:
        """Write the programs.

        `seeds` are the slopes (directions, numbers) of the state before the tick; `parameters` gives those of an array
        that the tick was recorded with, or None; `noise` those of a stream; `of_rows` those of what a part in Python
        returns, by the parameters that it holds itself; trials `alike` have the parameters of the first.
        """
        if recording.results is None:
            raise TypeError(f"parts cannot be differentiated: {', '.join(recording.opaque)}")
        self.recording, self.directions, self._of_rows = recording, len(seeds), of_rows
        self._seeds, self._state = seeds, np.empty((len(seeds), 2 * seeds.shape[1]))
        self._parameters, self._noise = parameters, noise or {}
        self._alike = alike
        self._steps = dict[int, tuple[np.ndarray, np.ndarray | None, int]]()  # of differences, by parts in Python
        self.thorough = True  # whether those steps are searched for in every tick
        self.kinks = False  # whether a part in Python switched within the shortest steps
        cuts = recording.recorder.cuts
        sizes = [cut.returned.size if cut.returned else 0 for cut in cuts]
        self._returned = [(np.zeros(size), np.zeros((len(seeds), size))) for size in sizes]
        self._stages = [self._program(cut.operands, i) for i, cut in enumerate(cuts)]
        self._last = self._program(recording.results[recording.recorder.state_size :], len(cuts))

    def _program(self, made: Sequence[int], stage: int) -> Program:
        """Return the program that makes some entries of the tape, with slopes; the last one moves the state too."""
        recorder, results = self.recording.recorder, self.recording.results or []
        new, size, cuts = Tape(literal=True), recorder.state_size, recorder.cuts
        values: dict[int, Any] = {slot: new.input() for slot in range(size)}
        slopes: dict[int, Any] = {slot: new.input() for slot in range(size)}
        given = []
        for one in recorder.given:
            memory = one.memory if one.memory is None or not one.trial_step else np.array(one.memory[:1])
            given.append(Input(new.inputs, one.size, memory, 0, one.original))
            values |= {one.slot + i: new.input() for i in range(one.size)}
        moving: list[tuple[Input, np.ndarray | None]] = self._noises()
        moving += [(one, self._parameters(one)) for one in recorder.given]
        for cut, (value, change) in zip(cuts[:stage], self._returned, strict=False):
            given.append(Input(new.inputs, len(value), value))
            values |= {cut.slot + i: new.input() for i in range(len(value))}
            moving.append((Input(cut.slot, len(value), None), change))
        for one, slope in moving:
            if slope is not None and (slope.any() or one.slot in {cut.slot for cut in cuts}):
                given.append(Input(new.inputs, one.size, np.ascontiguousarray(slope, float), 8 * one.size))
                slopes |= {one.slot + i: new.input() for i in range(one.size)}
        last = stage == len(cuts)
        x, dx = tangent_tape(recorder.tape, [*results[:size], *made] if last else made, new, values, slopes)
        kept = size if last else 0
        before = [] if last else [*(values[i] for i in range(size)), *(slopes[i] for i in range(size))]
        order = [*before, *x[:kept], *dx[:kept], *x[kept:], *dx[kept:]]
        return Program(self.directions, new, [new.index(y) for y in order], 2 * size, given)

    def run(
        self, z: np.ndarray, k: int, steps: int, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Take ticks from the k-th on without noise from numbers z with the slopes of `seeds`.

        Return the numbers after the ticks, slopes of those in some places, and what the last tick makes (innovations,
        observations) with its slopes.
        """
        size, state = len(z), self._state
        state[:, :size], state[:, size:] = z, self._seeds
        if not self._stages:
            made = self._run(self._last, state, k, steps)
        for tick in range(k, k + steps) if self._stages else ():
            for stage, cut, known in zip(self._stages, self.recording.recorder.cuts, self._returned, strict=True):
                given = self._run(stage, state, tick, 1)
                known[0][:], known[1][:] = self._called(cut, *_halves(given), tick)
            made = self._run(self._last, state, tick, 1)
        return state[0, :size].copy(), state.take(size + places, axis=1), *_halves(made)

    def _run(self, program: Program, state: np.ndarray, k: int, steps: int) -> np.ndarray:
        used, made = iter(program.used), np.empty((steps, self.directions, program.made))
        rows = [row for source in self.recording.clock.sources for row in _quiet_rows(source, k, steps, used)]
        program.run(state, rows, steps, of_steps(made))
        return made[-1]

    def _called(self, cut: Cut, x: np.ndarray, dx: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what a part in Python makes of numbers x, and its slopes along dx: differences of the part alone."""
        trials, sizes = self.recording.recorder.trials, _sizes(cut, x)

        def call(numbers: np.ndarray) -> np.ndarray:
            tree = cut.call(numbers, k)
            y = np.empty((trials, cut.returned.size if cut.returned else 0))
            if cut.returned is None or not cut.returned.writer(y)(tree):
                raise TypeError(f"{cut.name}: returns another structure from tick to tick")
            return y

        middle, moved = call(np.tile(x, (trials, 1))), np.flatnonzero(dx.any(axis=0) & (sizes > 0.0))
        alike = np.array(self._alike)

        def change(places: np.ndarray, relative: np.ndarray) -> np.ndarray:
            steps, made = relative[:, None] * np.diag(sizes)[moved[places]], [np.zeros((0, middle.shape[1]))]
            for some in np.split(np.vstack([steps, -steps]), range(len(alike), 2 * len(steps), len(alike))):
                numbers, rows = np.tile(x, (trials, 1)), alike[: len(some)]
                numbers[rows] += some
                made.append(call(numbers)[rows])
            up, down = np.split(np.concatenate(made), 2)
            return np.where(np.isfinite(middle[0]), 0.5 * (up - down), 0.0)

        before, known, since = self._steps.get(id(cut), (moved, None, 0))
        if self.thorough or since % SEARCHED == 0 or not np.array_equal(before, moved):
            known, since = None, 0
        own, kinks, known = part_slopes(change, len(moved), np.nan_to_num(np.abs(middle[0])), known)
        self._steps[id(cut)] = moved, known, since + 1
        self.kinks |= kinks
        rest = 0.0 if self._of_rows is None else self._of_rows(middle)
        return middle[0], rest + (dx[:, moved] / sizes[moved]) @ np.nan_to_num(own)

    def _noises(self) -> list[tuple[Input, np.ndarray | None]]:
        clock = self.recording.clock
        timed = iter([one for one in self.recording.recorder.given if one.memory is None])
        places = {key: [next(timed) for _ in symbols] for key, symbols in clock.symbols.items()}
        return [(places[key][0], self._noise[key]) for key in places if key in self._noise]


def _halves(made: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values and slopes of what a program has made."""
    half = made.shape[1] // 2
    return made[0, :half], made[:, half:]


def _quiet_rows(source: Any, k: int, steps: int, used: Iterator[bool]) -> list[Rows | None]:
    """Return the inputs of ticks, noise as zeros."""
    if isinstance(source, Noise):
        return [_zeros(steps, source.stream.size) if next(used) else None]
    return source.rows(k, steps, used)


@functools.cache
def _zeros(steps: int, size: int) -> Rows:
    return of_all(np.zeros((steps, size)))


def _sizes(cut: Cut, x: np.ndarray) -> np.ndarray:
    """Return for every argument of a part how large it is: its array, or in a covariance the two sigmas.

    0: a test, or no number, which does not move.
    """
    sizes = np.zeros(len(x))
    for numbers in leaves(cut.args):
        if not isinstance(numbers, Numbers) or numbers.test or not x[numbers.columns].size:
            continue
        own, core = np.abs(np.nan_to_num(x[numbers.columns])), numbers.core
        if len(core) == 2 and core[0] == core[1] and np.diag(own.reshape(core)).all():
            sigma = np.sqrt(np.diag(own.reshape(core)))
            sizes[numbers.columns] = np.outer(sigma, sigma).ravel()
        else:
            sizes[numbers.columns] = np.max(own) or 1.0
    return np.where(np.isfinite(x), sizes, 0.0)


def complete(recording: Recording, numbers: np.ndarray, k: int) -> Recording:
    """Return a recording that knows what its parts in Python return, by a tick without noise from these numbers."""
    if recording.results is not None:
        return recording
    streams = [one.noise for one, schedule in recording.loop.measured if one.noise is not None and schedule.due(k)]
    quiet: dict[Any, list[Any]] = {one: [of_all(np.zeros((1, one.size)))] for one in streams}
    return discover(recording, numbers.copy(), k, quiet)[0].recording
