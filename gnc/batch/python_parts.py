"""Parts of a program that Python computes: what goes into them, what comes out, in which shapes.

A part that cannot be recorded, such as a user's plain NumPy, splits the program (`stages`). Its arguments are numbers
that the program makes; what it returns is an input of what follows.
"""

from __future__ import annotations

import math
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

    def reader(self) -> Callable[[np.ndarray, int], np.ndarray]:
        """Return the function that takes the array (trials, *core) from numbers (trials, all), mostly as a view."""
        core, key = self.core, (0 if self.common else slice(None), self.columns if self.core else self.first)
        if self.common:
            return lambda numbers, _: np.asarray(numbers[key] != 0.0 if self.test else numbers[key]).reshape(core)
        if self.test:
            return lambda numbers, _: (numbers[key] != 0.0).reshape(len(numbers), *core)
        if len(core) < 2:
            return lambda numbers, _: numbers[key]
        return lambda numbers, _: numbers[key].reshape(len(numbers), *core)


def collected(tree: Tree, numbers: list[Any], is_common: Callable[[Sequence[Any]], bool] = lambda _: False) -> Tree:
    """Append the symbols of a tree to a list of numbers and return the tree with `Numbers` in their place."""

    def place(leaf: Any) -> Any:
        if not isinstance(leaf, Scalar) and not (isinstance(leaf, np.ndarray) and leaf.dtype == object):
            return leaf
        first, array = len(numbers), np.asarray(leaf, object)
        numbers.extend(array.ravel())
        return Numbers(first, array.shape, bool(array.size) and is_test(array.flat[0]), is_common(numbers[first:]))

    return mapped(place, tree)


def reader(tree: Tree) -> Callable[[np.ndarray, int], Tree]:
    """Return the function (numbers, k) that gives a collected tree with arrays of trials, and the time of tick k."""
    if isinstance(tree, tuple):
        parts, kind = [reader(part) for part in tree], type(tree)
        make: Callable[[Any], Tree] = getattr(kind, "_make", kind)
        return lambda numbers, k: make([part(numbers, k) for part in parts])
    if isinstance(tree, Numbers):
        return tree.reader()
    if hasattr(tree, "as_number"):
        return lambda numbers, k: tree.at(k)
    return lambda numbers, k: tree


class Returned:
    """The structure of what a part returns: arrays of trials and numbers, which change, and leaves that do not."""

    def __init__(self, tree: Tree, trials: int) -> None:
        self._trials, self._tree, self.size = trials, tree, 0
        self._leaves = [self._kind(leaf) for leaf in leaves(tree)]
        self.write = self._writer(tree, iter(self._leaves))  # (tree, numbers): False if the structure is another one

    def _kind(self, leaf: Any) -> Any:
        array = np.asarray(leaf) if isinstance(leaf, (float, int, np.ndarray, np.generic)) else None
        if array is None or isinstance(leaf, bool) or array.dtype.kind not in "fiub":
            return leaf
        common = not has_trials(leaf, self._trials)
        core = array.shape if common else array.shape[1:]
        self.size += math.prod(core)
        return Numbers(self.size - math.prod(core), core, array.dtype == bool, common)

    def _writer(self, tree: Tree, kinds: Iterator[Any]) -> Callable[[Tree, np.ndarray], bool]:
        if not isinstance(tree, tuple):
            kind = next(kinds)
            return self._writer_of_numbers(kind) if isinstance(kind, Numbers) else lambda leaf, _: _same(leaf, kind)
        structure, count, parts = type(tree), len(tree), [self._writer(part, kinds) for part in tree]

        def write(given: Tree, target: np.ndarray) -> bool:
            if type(given) is not structure or len(given) != count:
                return False
            return all([part(leaf, target) for part, leaf in zip(parts, given, strict=True)])  # a list is faster

        return write

    def _writer_of_numbers(self, kind: Numbers) -> Callable[[Any, np.ndarray], bool]:
        shape = kind.core if kind.common else (self._trials, *kind.core)
        key, dtype = (slice(None), kind.columns), np.dtype(bool if kind.test else float)

        def write(leaf: Any, target: np.ndarray) -> bool:
            array = leaf if isinstance(leaf, np.ndarray) else np.asarray(leaf)
            if array.shape != shape or (array.dtype is not dtype and not _alike(array.dtype, dtype)):
                return False
            if array.ndim != 2 or kind.common:
                array = array.reshape(1 if kind.common else self._trials, math.prod(kind.core))
            target[key] = array
            return True

        return write

    def filled(self, symbols: Callable[[Numbers], Any]) -> Tree:
        """Return the tree with symbols in place of what changes."""
        kinds: Iterator[Any] = iter(self._leaves)

        def symbol(_: Any) -> Any:
            kind = next(kinds)
            return symbols(kind) if isinstance(kind, Numbers) else kind

        return mapped(symbol, self._tree)


def _same(leaf: Any, kind: Any) -> bool:
    return leaf is kind or (isinstance(kind, (str, bool)) and leaf == kind)


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

    def call(self, numbers: np.ndarray, k: int) -> Tree:
        """Call the part at the k-th tick, with new arrays: the part may keep them."""
        return self.function(*self._read(numbers[:, : len(self.operands)].copy(), k))

    def returns(self, tree: Tree, target: np.ndarray) -> bool:
        """Write what the part has returned, and tell whether the structure is the expected one."""
        return self.returned is not None and self.returned.write(tree, target)


class Unknown(BaseException):
    """A part in Python is reached of which it is not known what it returns; no part may catch this."""
