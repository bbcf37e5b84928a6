"""Choosing between states by a test of each trial, and work that is done only where some trial needs it.

    chosen(test, first, second)                   trees of arrays, or of a recorded program's symbols
    when(test, function, args, otherwise)         chosen(test, function(*args), otherwise)

Modes, faults and recoveries are selected so. On arrays `when` calls the function if the test holds in any trial. In a
recorded program the kernels that the function calls are skipped in every tile of trials in which the test holds in
none, so that ten modes cost as much as those that are flown. The bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnc.batch.functions import where
from gnc.batch.kernel import inside
from gnc.batch.scalar import Scalar, is_test
from gnc.batch.symbols import as_symbols
from gnc.trees import Tree, joined

LONGEST_VECTOR = 16  # of constants that flight software chooses between


def when(test: Any, function: Callable[..., Tree], args: tuple[Any, ...], otherwise: Tree) -> Tree:
    """Return function(*args) in the trials in which the test holds, and `otherwise` in the others."""
    if test is np.False_:  # of one trial in Python: first, as the quickest to tell
        return otherwise
    if not isinstance(test, Scalar):
        return otherwise if nowhere(test) else chosen(test, function(*args), otherwise)
    with inside.get().masked(test):  # type: ignore[union-attr]
        result = function(*args)
    return chosen(test, result, otherwise)


def nowhere(test: Any) -> bool:
    """Tell whether a test is known to hold in no trial: what is done only where it holds may be left out."""
    if isinstance(test, Scalar):
        return False
    return not (test.any() if isinstance(test, np.ndarray) else test)  # of one trial np.any takes long


def chosen(test: Any, first: Tree, second: Tree) -> Tree:
    """Return the first state in the trials in which the test holds, the second in the others."""
    choose = _of_symbols if isinstance(test, Scalar) else _of_arrays
    return joined(lambda a, b: a if a is b else choose(test, a, b), first, second)


def _of_arrays(test: Any, first: Any, second: Any) -> np.ndarray:
    test, first, second = np.asarray(test), np.asarray(first), np.asarray(second)
    return np.where(test.reshape(test.shape + (1,) * (max(first.ndim, second.ndim) - test.ndim)), first, second)


def _of_symbols(test: Scalar, first: Any, second: Any) -> Any:
    if isinstance(first, (str, type(None))) and first == second:
        return first
    sides = [np.asarray(x, object) if isinstance(x, Scalar) else np.asarray(x) for x in (first, second)]
    if sides[0].shape != sides[1].shape and all(x.dtype == object for x in sides):
        raise TypeError(f"states of the shapes {sides[0].shape} and {sides[1].shape} cannot be chosen from")
    if any(x.dtype == object and x.size and is_test(x.flat[0]) for x in sides):
        return as_symbols(np.frompyfunc(lambda a, b: test & a | ~test & b, 2, 1)(*sides))
    core = next((x.shape for x in sides if x.dtype == object), _core_of_constants(*sides))
    within: Any = inside.get()
    a, b = (within.symbols(x, core) for x in (first, second))
    return where(test, a, b)


def _core_of_constants(first: np.ndarray, second: np.ndarray) -> tuple[int, ...] | None:
    """Return the shape of two constants if they are vectors of one trial; None: the number of trials tells.

    What flight software makes while it is recorded has no axis of trials, so that with four trials a quaternion looks
    like one number for each. Numbers of few trials taken for a vector are refused later, and Python flies them.
    """
    return first.shape if first.shape == second.shape and first.ndim == 1 and len(first) <= LONGEST_VECTOR else None
