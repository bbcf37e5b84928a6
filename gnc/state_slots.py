"""The state of a flight as one array (trials, numbers), with slots for all marks and measurements that may wait.

What waits changes from tick to tick: marks and measurements on their way (`gnc.flying.Waiting`). Each has a slot, the
marks in their order, the measurements in that of their instrument. A slot that is not in use keeps any numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.batch.program import Recorder
from gnc.batch.scalar import is_test
from gnc.flying import Flying, State, Waiting
from gnc.trees import Packing, trials_of

if TYPE_CHECKING:
    from gnc.loop import Loop


class StateSlots:
    """Where the parts of a state stand among its numbers."""

    def __init__(
        self, flying: Flying, measurements: dict[str, Any], report: Any = None, shared: frozenset[int] = frozenset()
    ) -> None:
        """Make slots for the flight, with an example of a measurement of every instrument that may be late.

        `report` is an example of what the actuators tell; by default that of now. `shared` are the places of numbers
        that all trials share, and that change.
        """
        self._empty, names = _all_slots(flying, measurements, report)
        self._names = [name for name in names if name in measurements]
        self.packing, self._truth = Packing(self._empty, shared), Packing(self._empty.truth, shared)
        self._happened = np.full(self.packing.trials, np.nan)

    def fits(self, flying: Flying, measurements: dict[str, Any]) -> bool:
        """Tell whether the numbers of another flight of the loop go into these slots."""
        try:
            return self.packing.fits(_all_slots(flying, measurements)[0])
        except TypeError:
            return False

    def pack(self, state: State, waiting: Waiting, before: np.ndarray | None = None) -> np.ndarray:
        """Return the numbers of a state; slots not in use keep the numbers of `before`, or of the examples."""
        slots = self._empty if before is None else self.packing.unpack(before)
        happened = tuple(np.array(np.broadcast_to(x, self._happened.shape)) for x in state.happened)
        return self.packing.pack(self._put(state._replace(happened=happened), waiting, slots))

    def unpack(self, numbers: np.ndarray, waiting: Waiting) -> State:
        """Return the state with these numbers, in new arrays."""
        return self.used(self.packing.unpack(numbers), waiting)

    def truth(self, numbers: np.ndarray) -> Any:
        """Return the truth alone, which comes first."""
        return self._truth.unpack(numbers)

    def symbols(self, recorder: Recorder) -> State:
        """Return all slots as the state of a program."""
        kinds = zip(self.packing.cores, self.packing.tests, self.packing.common, strict=True)
        return self.packing.filled(recorder.state(*kind) for kind in kinds)

    def numbers(self, recorder: Recorder, slots: State, state: State, waiting: Waiting) -> list[Any]:
        """Return the numbers of a state of symbols; slots not in use keep the symbols of `slots`."""
        packing = self.packing
        numbers = []
        parts = packing.arrays(self._put(state, waiting, slots))
        for part, core, test in zip(parts, packing.cores, packing.tests, strict=True):
            if test and not all(isinstance(x, (bool, np.bool_)) or is_test(x) for x in np.ravel(np.asarray(part))):
                raise TypeError("a part of a state changes from tests to numbers")
            numbers += recorder.numbers(part, core)
        return numbers

    def _put(self, state: State, waiting: Waiting, slots: State) -> State:
        """Return the slots with the marks and measurements of a state put into theirs."""
        moves = (*state.moves, *slots.moves[len(state.moves) :])
        taken = list(map(list, slots.taken))
        for (_, name), number, measurement in zip(waiting.taken, _numbers(waiting), state.taken, strict=True):
            taken[self._names.index(name)][number] = measurement
        return state._replace(moves=moves, taken=tuple(map(tuple, taken)))

    def used(self, slots: State, waiting: Waiting) -> State:
        """Return the state whose marks and measurements are taken from the slots in use."""
        names = [name for _, name in waiting.taken]
        places = zip(names, _numbers(waiting), strict=True)
        taken = tuple(slots.taken[self._names.index(name)][number] for name, number in places)
        return slots._replace(moves=slots.moves[: len(waiting.marks)], taken=taken)


def _all_slots(flying: Flying, measurements: dict[str, Any], report: Any = None) -> tuple[State, dict[str, int]]:
    """Return an example of a state with every slot in use, and how many measurements of each instrument may wait."""
    loop, state = flying.loop, flying.state()
    happened = (np.full(trials_of(state), np.nan),) * len(state.happened)
    if not loop.delay:
        return state._replace(happened=happened, moves=(), taken=()), {}
    move = state.command, loop.plant.report(state.truth) if report is None else report
    marks, measured = most_waiting(loop)
    taken = tuple((measurements[name],) * n for name, n in measured.items() if name in measurements)
    return state._replace(happened=happened, moves=(move,) * marks, taken=taken), measured


def _numbers(waiting: Waiting) -> Iterator[int]:
    """Count the measurements on their way, each instrument's by themselves."""
    names = [name for _, name in waiting.taken]
    return (names[:i].count(name) for i, name in enumerate(names))


def most_waiting(loop: Loop) -> tuple[int, dict[str, int]]:
    """Return how many marks, and how many measurements of each instrument, wait at a time at most."""
    k = np.arange(loop.steps + 1)
    own = {instrument.name: schedule.due(k) for instrument, schedule in loop.measured}
    new = np.any([loop.commanded.due(k), *own.values()], axis=0)

    def most(due: np.ndarray) -> int:
        before, window = np.concatenate([[0], np.cumsum(due)]), min(loop.delay, len(k))
        return int(np.max(before[window:] - before[: len(before) - window]))

    return most(new), {name: most(due) for name, due in own.items() if loop.delay}
