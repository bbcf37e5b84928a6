"""A tape computed by NumPy, entry by entry: for the first look at what a program needs, and for debugging."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnc.batch.tape import Entry, Tape

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "sqrt": np.sqrt,
    "absolute": np.absolute,
    "copysign": np.copysign,
    "floor": np.floor,
    "rint": np.rint,
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "where": np.where,
}


def evaluated(tape: Tape, results: Sequence[int], inputs: Callable[[int], np.ndarray], trials: int) -> np.ndarray:
    """Return the results (trials, numbers) of a tape; `inputs` gives the numbers (trials) of an input, by its slot."""
    values: dict[int, Any] = {}
    with np.errstate(all="ignore"):  # a lost trial is NaN, not a warning
        for index in sorted(tape.needed(results)):
            entry = tape.entries[index]
            if entry.op == "input":
                values[index] = inputs(entry.operands[0])
            elif entry.op == "constant":
                values[index] = constant_value(entry)
            elif entry.op == "part":
                values[index] = values[entry.operands[0]][int(entry.constant)]
            elif entry.op == "call":
                values[index] = _called(tape, entry, values, trials)
            else:
                values[index] = OPERATIONS[entry.op](*[values[i] for i in entry.operands])
    found = np.empty((trials, len(results)))
    for column, index in enumerate(results):
        found[:, column] = values[index]
    return found


def constant_value(entry: Entry) -> float | bool:
    """Return the value of a constant."""
    return entry.constant == "True" if entry.constant in ("True", "False") else float.fromhex(entry.constant)


def _called(tape: Tape, entry: Entry, values: dict[int, Any], trials: int) -> list[np.ndarray]:
    """Return the numbers (trials) of all results of a call; a masked one is computed in all trials."""
    kernel, repeating, _ = tape.calls[int(entry.constant)]
    numbers = [np.broadcast_to(values[i], (trials,)) for i in entry.operands[: kernel.layout.inputs + repeating]]
    ends = itertools.pairwise(itertools.accumulate(map(math.prod, kernel.layout.ins), initial=0))
    cores = zip(ends, kernel.layout.ins, strict=True)
    args = [np.stack(numbers[a:b], -1).reshape(trials, *core) for (a, b), core in cores]
    results = kernel.repeat(numbers[-1], *args) if repeating else kernel(*args)
    arrays = results if isinstance(results, tuple) else (results,)
    return [column for array in arrays for column in array.reshape(trials, -1).T]
