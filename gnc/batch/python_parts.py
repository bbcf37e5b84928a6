"""Parts of a program that Python computes: what goes into them, what comes out, in which shapes.

A part that cannot be recorded, such as a user's plain NumPy, splits the program (`stages`). Its arguments are numbers
that the program makes; what it returns is an input of what follows.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch.scalar import Scalar, is_test
from gnc.trees import Core, Tree, has_trials, leaves, mapped


@dataclass(frozen=True, slots=True)
class Numbers:
    """Where the numbers of an array of a tree are among those of one trial."""

    first: int
    core: Core
    test: bool  # whether 1 and 0 stand for tests
    common: bool = False  # whether all trials share them

    @property
    def columns(self) -> slice:
        """The places among all numbers."""
        return slice(self.first, self.first + math.prod(self.core))

    def ticks(self, numbers: np.ndarray, k: int) -> Iterator[Any]:
        """Give the array (trials, *core), a view if it is no test, of numbers (ticks, trials, all), tick by tick."""
        rows = numbers[:, 0, self.columns] if self.common else numbers[:, :, self.columns]
        arrays: Iterator[Any] = iter(rows.reshape(*rows.shape[:-1], *self.core))
        arrays = map(np.asarray, arrays) if self.common else arrays
        return (array != 0.0 for array in arrays) if self.test else arrays


def collected(tree: Tree, numbers: list[Any], is_common: Callable[[Sequence[Any]], bool] = lambda _: False) -> Tree:
    """Append the symbols of a tree to a list of numbers and return the tree with `Numbers` in their place."""

    def place(leaf: Any) -> Any:
        if not isinstance(leaf, Scalar) and not (isinstance(leaf, np.ndarray) and leaf.dtype == object):
            return leaf
        first, array = len(numbers), np.asarray(leaf, object)
        numbers.extend(array.ravel())
        return Numbers(first, array.shape, bool(array.size) and is_test(array.flat[0]), is_common(numbers[first:]))

    return mapped(place, tree)


def reader(tree: Tree) -> Callable[[np.ndarray, int], Iterator[Tree]]:
    """Return the function (numbers (ticks, trials, all), k) that gives a collected tree at tick k and those after it.

    The tree has arrays of trials, and the time of the tick. The numbers of a tick are read when its tree is asked for.
    """
    if isinstance(tree, tuple) and tree:
        parts, make = [reader(part) for part in tree], getattr(type(tree), "_make", type(tree))
        return lambda numbers, k: map(make, zip(*[part(numbers, k) for part in parts], strict=False))
    if isinstance(tree, Numbers):
        return tree.ticks
    if hasattr(tree, "as_number"):
        return lambda numbers, k: iter(tree.times(k, len(numbers)))
    return lambda numbers, k: itertools.repeat(tree)


class Returned:
    """The structure of what a part returns: arrays of trials and numbers, which change, and leaves that do not."""

    def __init__(self, tree: Tree, trials: int) -> None:
        self._trials, self._tree, self.size = trials, tree, 0
        self._leaves = [self._kind(leaf) for leaf in leaves(tree)]

    def _kind(self, leaf: Any) -> Any:
        array = np.asarray(leaf) if isinstance(leaf, (float, int, np.ndarray, np.generic)) else None
        if array is None or isinstance(leaf, bool) or array.dtype.kind not in "fiub":
            return leaf
        common = not has_trials(leaf, self._trials)
        core = array.shape if common else array.shape[1:]
        self.size += math.prod(core)
        return Numbers(self.size - math.prod(core), core, array.dtype == bool, common)

    def writer(self, target: np.ndarray) -> Callable[[Tree], bool]:
        """Return the function that writes a tree into an array; False if the structure is another one."""
        return self._writer(self._tree, iter(self._leaves), target)

    def _writer(self, tree: Tree, kinds: Iterator[Any], target: np.ndarray) -> Callable[[Tree], bool]:
        if not isinstance(tree, tuple):
            kind = next(kinds)
            if isinstance(kind, Numbers):
                return self._writer_of_numbers(kind, target)
            return functools.partial(_same if isinstance(kind, (str, bool)) else operator.is_, kind)
        structure, count, parts = type(tree), len(tree), [self._writer(part, kinds, target) for part in tree]

        def write(given: Tree) -> bool:
            if type(given) is not structure or len(given) != count:
                return False
            return all(map(operator.call, parts, given))

        return write

    def _writer_of_numbers(self, kind: Numbers, target: np.ndarray) -> Callable[[Any], bool]:
        shape = kind.core if kind.common else (self._trials, *kind.core)
        place, dtype = target[:, kind.columns].reshape(self._trials, *kind.core), np.dtype(bool if kind.test else float)

        def write(leaf: Any) -> bool:
            array = leaf if isinstance(leaf, np.ndarray) else np.asarray(leaf)
            if array.shape != shape or (array.dtype is not dtype and not _alike(array.dtype, dtype)):
                return False
            place[...] = array
            return True

        return write

    def filled(self, symbols: Callable[[Numbers], Any]) -> Tree:
        """Return the tree with symbols in place of what changes."""
        kinds: Iterator[Any] = iter(self._leaves)

        def symbol(_: Any) -> Any:
            kind = next(kinds)
            return symbols(kind) if isinstance(kind, Numbers) else kind

        return mapped(symbol, self._tree)


def _same(kind: Any, leaf: Any) -> bool:
    return leaf is kind or leaf == kind


def _alike(a: np.dtype, b: np.dtype) -> bool:
    """Tell whether numbers of both types go where numbers of the second go."""
    return a == b or (a.kind in "fiu" and b.kind == "f")


@dataclass
class Cut:
    """A call of a part in Python, which splits a program in two."""

    name: str
    function: Callable[..., Any]
    args: Tree  # with `Numbers`
    operands: list[int]  # the entries of the tape that are the numbers
    returned: Returned | None = None
    slot: int = 0  # first input of the tape that stands for what is returned

    def __post_init__(self) -> None:
        """Prepare to read arguments quickly."""
        self._read = reader(self.args)

    def arguments(self, numbers: np.ndarray, k: int) -> Iterator[tuple[Any, ...]]:
        """Give the arguments of the part at tick k and those after it: views of numbers (ticks, trials, all).

        Those of a tick are read when they are asked for.
        """
        return self._read(numbers, k)

    def call(self, numbers: np.ndarray, k: int) -> Tree:
        """Call the part at the k-th tick."""
        return self.function(*next(self.arguments(numbers[None], k)))


class Unknown(BaseException):
    """A part in Python is reached of which it is not known what it returns; no part may catch this."""
