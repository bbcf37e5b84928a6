"""The exact derivative of a whole tick of a loop, with respect to its state, its noise and its parameters.

    z' = f(z, w, p)        z: truth, belief with its covariance, command, memory, what waits; w: noise; p: parameters
    A = df/dz,  B = df/dw,  D = df/dp

A tick is a tape of calls; its tangent (`gnc.batch.tangent`) takes (z, dz) to (z', dz'), with directions as trials.
Branches are those of the values. A tick with a part that only Python can compute is differenced as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.batch.program import Input, Program, Rows, of_all, of_block, of_steps
from gnc.batch.tangent import tangent_tape
from gnc.batch.tape import Tape
from gnc.flying import NOTHING, Flying, Moment, State, Waiting
from gnc.recorded_tick import Noise, Recording, discover
from gnc.state_slots import StateSlots
from gnc.trees import Tree, has_trials, mapped

if TYPE_CHECKING:
    from gnc.loop import Loop

STEP = 1e-6  # of central differences, relative to the array of the state that is changed

Slopes = Callable[[Input], np.ndarray | None]


class TangentTick:
    """A recorded tick with its derivative along many directions."""

    def __init__(
        self, recording: Recording, directions: int, parameters: Slopes, noise: Mapping[Any, np.ndarray] | None = None
    ) -> None:
        """Write the program.

        `parameters` gives the slopes (directions, size) of an array that the tick was recorded with, or None; `noise`
        those of a stream.
        """
        self.recording, self.directions = recording, directions
        recorder, results = recording.recorder, recording.results
        if results is None:
            raise TypeError(f"parts cannot be differentiated: {', '.join(recording.opaque)}")
        new, size = Tape(literal=True), recorder.state_size
        values: dict[int, Any] = {slot: new.input() for slot in range(size)}
        slopes: dict[int, Any] = {slot: new.input() for slot in range(size)}
        given = []
        for one in recorder.given:
            memory = one.memory if one.memory is None or not one.trial_step else one.memory[0].copy()
            given.append(Input(new.inputs, one.size, memory, 0, one.original))
            values |= {one.slot + i: new.input() for i in range(one.size)}
        for one, slope in [*self._noises(noise or {}), *((one, parameters(one)) for one in recorder.given)]:
            if slope is not None and slope.any():
                given.append(Input(new.inputs, one.size, np.ascontiguousarray(slope, float), 8 * one.size))
                slopes |= {one.slot + i: new.input() for i in range(one.size)}
        x, dx = tangent_tape(recorder.tape, results, new, values, slopes)
        order = [*x[:size], *dx[:size], *x[size:], *dx[size:]]
        self.program = Program(directions, new, [new.index(y) for y in order], 2 * size, given)

    def run(self, z: np.ndarray, dz: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Take tick k without noise from numbers z with slopes dz (directions, numbers).

        Return those after the tick, and what the tick makes (innovations, observations) with its slopes.
        """
        size, many = len(z), self.directions
        state, made = np.empty((many, 2 * size)), np.empty((1, many, self.program.made))
        state[:, :size], state[:, size:] = z, dz
        used = iter(self.program.used)
        rows = [row for source in self.recording.clock.sources for row in _quiet_rows(source, k, used)]
        self.program.run(state, rows, 1, of_steps(made))
        half = self.program.made // 2
        return state[0, :size].copy(), state[:, size:].copy(), made[0, 0, :half], made[0, :, half:]

    def _noises(self, noise: Mapping[Any, np.ndarray]) -> list[tuple[Input, np.ndarray | None]]:
        clock = self.recording.clock
        timed = iter([one for one in self.recording.recorder.given if one.memory is None])
        places = {key: [next(timed) for _ in symbols] for key, symbols in clock.symbols.items()}
        return [(places[key][0], noise[key]) for key in places if key in noise]


def _quiet_rows(source: Any, k: int, used: Any) -> list[Rows | None]:
    """Return the inputs of a tick, noise as zeros."""
    if isinstance(source, Noise):
        return [of_all(np.zeros((1, source.stream.size))) if next(used) else None]
    return source.rows(k, 1, used)


class TickDerivative(NamedTuple):
    """What a tick makes of a state, and the derivatives; numbers are those of `slots`."""

    after: np.ndarray  # (n) the next state
    A: np.ndarray  # (n, n) with respect to the state
    B: dict[str, np.ndarray]  # (n, size) with respect to the noise of each instrument that is due
    D: list[np.ndarray]  # (n, size) with respect to each parameter
    made: np.ndarray  # (m) what is observed
    made_slopes: np.ndarray  # (m, directions) with respect to state, noises and parameters, side by side
    slots: StateSlots
    waiting: Waiting  # at the next tick
    differenced: tuple[str, ...]  # parts in Python, because of which central differences were taken


@dataclass(frozen=True)
class TickPoint:
    """A tick of a loop at a state of one trial, where derivatives are taken.

    `observe` returns numbers of a `Moment`. Loops with late measurements need an example of each in `measurements`.
    """

    loop: Loop
    state: State
    k: int
    waiting: Waiting = NOTHING
    observe: Callable[[Moment], Any] | None = None
    measurements: dict[str, Any] = field(default_factory=dict)

    def recording(self, trials: int = 1) -> tuple[Recording, np.ndarray]:
        """Record the tick for so many trials that are alike; return the numbers of their state too."""

        def tiled(tree: Tree) -> Tree:
            return mapped(lambda x: np.repeat(x, trials, axis=0) if has_trials(x, 1) else x, tree)

        flying, state = Flying(self.loop), tiled(self.state)
        flying.put(self.k, state, self.waiting)
        slots = StateSlots(flying, {name: tiled(one) for name, one in self.measurements.items()})
        start = self.k, self.waiting
        return Recording(self.loop, slots, start, False, {}, observe=self.observe), slots.pack(
            flying.state(), self.waiting
        )


def tick_derivatives(point: TickPoint, parameters: Sequence[np.ndarray] = ()) -> TickDerivative:
    """Return the derivatives of a tick; `parameters` are arrays that parts of the loop hold and hand to kernels."""
    due = [one for one, schedule in point.loop.measured if one.noise is not None and schedule.due(point.k)]
    recording, numbers = point.recording()
    sizes = [numbers.shape[1], *(one.noise.size for one in due if one.noise), *(p.size for p in parameters)]
    ends = np.cumsum(sizes)
    blocks = np.split(np.eye(ends[-1]), ends[:-1], axis=1)
    noise = {one.noise: block for one, block in zip(due, blocks[1:], strict=False)}
    known = {id(p): block for p, block in zip(parameters, blocks[1 + len(due) :], strict=True)}
    if recording.results is None:
        after, slopes, made, made_slopes, follows = _differenced(point, blocks[0], noise, known)
    else:
        tick = TangentTick(recording, ends[-1], lambda one: known.get(id(one.original)), noise)
        after, slopes, made, made_slopes = tick.run(numbers[0], blocks[0], point.k)
        follows = recording.after
    A, *rest = (part.T for part in np.split(slopes, ends[:-1]))
    B = dict(zip([one.name for one in due], rest, strict=False))
    D, opaque = rest[len(due) :], tuple(recording.opaque)
    return TickDerivative(after, A, B, D, made, made_slopes.T, recording.slots, follows, opaque)


def _differenced(
    point: TickPoint, dz: np.ndarray, noise: Mapping[Any, np.ndarray], parameters: Mapping[int, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Waiting]:
    """Do as `TangentTick.run` by central differences: the two ends of every direction, and the middle, are trials."""
    many = len(dz)
    recording, state = point.recording(2 * many + 1)
    size = _sizes(recording.slots, state[0]) @ np.abs(dz).T
    step = STEP * np.where(size > 0.0, size, 1.0)[:, None]  # of each direction
    both = lambda d: np.concatenate([step * d, -step * d, np.zeros_like(d[:1])])  # noqa: E731
    state = state + both(dz)
    rows: dict[Any, list[Any]] = {stream: [of_block(both(d))] for stream, d in noise.items()}
    rows |= {key: [both(d)] for key, d in parameters.items()}
    tick, made = discover(recording, state, point.k, rows)
    slopes, outputs = ((y[:many] - y[many:-1]) / (2.0 * step) for y in (state, made))
    return state[-1], slopes, made[-1], outputs, tick.after


def _sizes(slots: StateSlots, numbers: np.ndarray) -> np.ndarray:
    """Return for every number of a state how large its array is."""
    ends = np.cumsum([math.prod(core) for core in slots.packing.cores])[:-1]
    return np.concatenate([np.full(len(part), np.max(np.abs(part))) for part in np.split(numbers, ends)])
