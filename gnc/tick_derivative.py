"""The exact derivative of a whole tick of a loop, with respect to its state, its noise and its parameters.

    z' = f(z, w, p)        z: truth, belief with its covariance, command, memory, what waits; w: noise; p: parameters
    A = df/dz,  B = df/dw,  D = df/dp

A tick is a tape of calls; its tangent (`gnc.batch.tangent`) takes (z, dz) to (z', dz'), with directions as trials.
Branches are those of the values. Around a part that only Python can compute the tape is split: slopes go through such a
part by differences of the part alone, and are exact everywhere else.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gnc.batch.program import Input, Program, Rows, of_all, of_steps
from gnc.batch.python_parts import Cut, Numbers, Returned
from gnc.batch.tangent import reach, tangent_tape
from gnc.batch.tape import Tape
from gnc.recorded_tick import Noise, Recording, discover
from gnc.trees import leaves

STEP = 1e-4  # of differences of a part in Python, relative to the array that is changed
STENCIL = ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0))  # of fourth order, over 12 steps

Slopes = Callable[[Input], np.ndarray | None]
RowSlopes = Callable[[np.ndarray], np.ndarray]  # of numbers (trials, size) of a part that holds parameters


class TangentTick:
    """A recorded tick with its derivative along many directions.

    A trial of the program has several directions, which share the values of the tick. Directions that the same calls of
    kernels depend on go the same way: along a way, only the calls that its directions reach are differentiated.
    """

    def __init__(
        self,
        recording: Recording,
        seeds: np.ndarray,
        places: np.ndarray,
        parameters: Slopes,
        noise: Mapping[Any, np.ndarray] | None = None,
        of_rows: RowSlopes | None = None,
        repeated: bool = False,
        ways: int = 1,
    ) -> None:
        """Write the programs.

        `seeds` are the slopes (directions, numbers) of the state before the tick; `places` the numbers whose slopes are
        asked for; `parameters` gives the slopes of an array that the tick was recorded with, or None; `noise` those of
        a stream; `of_rows` those of what a part in Python returns, by the parameters that it holds itself. Only a
        `repeated` tick can be run for several steps. A trial has so many `ways`.
        """
        if recording.results is None:
            raise TypeError(f"parts cannot be differentiated: {', '.join(recording.opaque)}")
        self.recording, self.directions, self._of_rows, self._repeated = recording, len(seeds), of_rows, repeated
        recorder = recording.recorder
        moving = _noises(recording, noise or {}) + [(one, parameters(one)) for one in recorder.given]
        self._moving = [(one, np.asarray(slope, float)) for one, slope in moving if slope is not None and slope.any()]
        self._ways = min(ways, len(seeds))
        self._trials = -(-len(seeds) // self._ways)
        self._rank = np.argsort(np.lexsort(_reached(recording, seeds, self._moving)), kind="stable")
        self._seeds = self._by_ways(seeds)
        self._state = np.empty((self._trials, seeds.shape[1] * (1 + self._ways)))
        self._gather, self._made = self._found(len(seeds[0]))[places], dict[int, np.ndarray]()
        self._returned = [np.zeros(cut.returned.size if cut.returned else 0) for cut in recorder.cuts]
        self._changes = [np.zeros((self._ways, self._trials, len(value))) for value in self._returned]
        self._stages = [self._program(cut.operands, i) for i, cut in enumerate(recorder.cuts)]
        self._last = self._program(recording.results[recorder.state_size :], len(recorder.cuts))

    def _by_ways(self, slopes: np.ndarray) -> np.ndarray:
        """Return slopes (directions, size) as those of ways and trials (ways, trials, size)."""
        spread = np.zeros((self._ways * self._trials, slopes.shape[1]))
        spread[self._rank] = slopes
        return spread.reshape(self._ways, self._trials, -1)

    def _found(self, size: int) -> np.ndarray:
        """Return where the slopes (size, directions) stand in rows (trials) of numbers, then slopes by way."""
        way, trial = np.divmod(self._rank, self._trials)
        return (trial * (1 + self._ways) + 1 + way) * size + np.arange(size)[:, None]

    def _program(self, made: Sequence[int], stage: int) -> Program:
        """Return the program that makes some entries of the tape, with slopes; the last one moves the state too."""
        recorder, results = self.recording.recorder, self.recording.results or []
        new, size, cuts, ways = Tape(literal=True), recorder.state_size, recorder.cuts, range(self._ways)
        values: dict[int, Any] = {slot: new.input() for slot in range(size)}
        before = [{slot: new.input() for slot in range(size)} for _ in ways]
        changed = [slot for slot in range(size) if recorder.tape.entries[results[slot]][:2] != ("input", (slot,))]
        slopes: dict[int, dict[int, Any]] = {slot: {} for slot in range(size)}
        for way in ways:
            moved = np.flatnonzero(self._seeds[way].any(axis=0)).tolist() + (changed if self._repeated else [])
            for slot in moved:
                slopes[slot][way] = before[way][slot]
        given = []
        for one in recorder.given:
            memory = one.memory if one.memory is None or not one.trial_step else np.array(one.memory[:1])
            given.append(Input(new.inputs, one.size, memory, 0, one.original))
            values |= {one.slot + i: new.input() for i in range(one.size)}
        moving = [(one.slot, self._by_ways(slope)) for one, slope in self._moving]
        for cut, value, change in zip(cuts[:stage], self._returned, self._changes, strict=False):
            given.append(Input(new.inputs, len(value), value))
            values |= {cut.slot + i: new.input() for i in range(len(value))}
            moving.append((cut.slot, change))
        for first, change in moving:
            for way, slope in enumerate(change):
                if slope.any() or any(change is one for one in self._changes):
                    given.append(Input(new.inputs, slope.shape[1], slope, 8 * slope.shape[1]))
                    for i in range(slope.shape[1]):
                        slopes.setdefault(first + i, {})[way] = new.input()
        last = stage == len(cuts)
        x, dx = tangent_tape(recorder.tape, [*results[:size], *made] if last else made, new, values, slopes)
        kept, still = size if last else 0, set(range(size)) - set(changed if last else ())
        order = x[:kept] if last else list(values[slot] for slot in range(size))
        for way in ways:
            order += [before[way][i] if i in still else dx[i].get(way, 0.0) for i in range(size)]
        order += [*x[kept:], *(slope.get(way, 0.0) for way in ways for slope in dx[kept:])]
        return Program(self._trials, new, [new.index(y) for y in order], size * (1 + self._ways), given)

    def run(self, z: np.ndarray, k: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Take ticks from the k-th on without noise from numbers z with the slopes of `seeds`.

        Return the numbers after the ticks, slopes (places, directions), and what the last tick makes (innovations,
        observations) with its slopes.
        """
        size, state = len(z), self._state
        state[:, :size] = z
        for way, seeds in enumerate(self._seeds, 1):
            state[:, way * size : (1 + way) * size] = seeds
        if not self._stages:
            made = self._run(self._last, state, k, steps)
        for tick in range(k, k + steps) if self._stages else ():
            stages = zip(self._stages, self.recording.recorder.cuts, self._returned, self._changes, strict=True)
            for stage, cut, value, change in stages:
                x, dx = self._split(self._run(stage, state, tick, 1))
                value[:], slopes = self._called(cut, x, dx.T, tick)
                change[:] = self._by_ways(slopes)
            made = self._run(self._last, state, tick, 1)
        return state[0, :size].copy(), state.take(self._gather), *self._split(made)

    def _run(self, program: Program, state: np.ndarray, k: int, steps: int) -> np.ndarray:
        used, made = iter(program.used), np.empty((steps, self._trials, program.made))
        rows = [row for source in self.recording.clock.sources for row in _quiet_rows(source, k, steps, used)]
        program.run(state, rows, steps, of_steps(made))
        return made[-1]

    def _split(self, made: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values and slopes (numbers, directions) of what a program has made."""
        size = made.shape[1] // (1 + self._ways)
        if size not in self._made:
            self._made[size] = self._found(size)
        return made[0, :size], made.take(self._made[size])

    def _called(self, cut: Cut, x: np.ndarray, dx: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what a part in Python makes of numbers x, and its slopes along dx: differences of the part."""
        trials, step = self.recording.recorder.trials, STEP * _sizes(cut, x)

        def call(numbers: np.ndarray) -> np.ndarray:
            tree = cut.call(numbers, k)
            y = np.empty((trials, Returned(tree, trials).size))
            if not cut.returns(tree, y):
                raise TypeError(f"{cut.name}: returns another structure from tick to tick")
            return y

        middle, moved = call(np.tile(x, (trials, 1))), np.flatnonzero(dx.any(axis=0) & (step > 0.0))
        slopes = np.zeros((self.directions, middle.shape[1])) if self._of_rows is None else self._of_rows(middle)
        for some in np.split(moved, range(trials, len(moved), trials)) if len(moved) else ():
            change, rows = np.zeros((len(some), middle.shape[1])), np.arange(len(some))
            for far, weight in STENCIL:
                numbers = np.tile(x, (trials, 1))
                numbers[rows, some] += far * step[some]
                change += weight * call(numbers)[rows]
            slopes += dx[:, some] @ (change / (12.0 * step[some, None]))
        return middle[0], slopes


def _noises(recording: Recording, noise: Mapping[Any, np.ndarray]) -> list[tuple[Input, np.ndarray | None]]:
    timed = iter([one for one in recording.recorder.given if one.memory is None])
    places = {key: [next(timed) for _ in symbols] for key, symbols in recording.clock.symbols.items()}
    return [(places[key][0], noise[key]) for key in places if key in noise]


def _reached(recording: Recording, seeds: np.ndarray, moving: Sequence[tuple[Input, np.ndarray]]) -> np.ndarray:
    """Return for every call of the tape, the longest kernel last, which directions do not reach its results."""
    recorder, bits, count = recording.recorder, dict[int, int](), len(seeds)
    every = [(0, seeds), *((one.slot, slope) for one, slope in moving)]
    every += [(cut.slot, np.ones((count, cut.returned.size if cut.returned else 0))) for cut in recorder.cuts]
    for first, slopes in every:
        for i, column in enumerate(slopes.T != 0.0):
            bits[first + i] = int.from_bytes(np.packbits(column).tobytes(), "big")
    reached, found = reach(recorder.tape, bits), []
    for entry, masks in zip(recorder.tape.entries, reached, strict=True):
        if entry.op == "call":
            mask = functools.reduce(operator.or_, masks, 0).to_bytes(-(-count // 8), "big")
            cost = len(recorder.tape.calls[int(entry.constant)].kernel.tape[0].entries)
            found.append((cost, 1 - np.unpackbits(np.frombuffer(mask, np.uint8), count=count)))
    return np.array([row for _, row in sorted(found, key=lambda one: one[0])]).reshape(-1, count)


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
