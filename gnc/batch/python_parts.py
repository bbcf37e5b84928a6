"""Parts of a program that Python computes: what goes into them, what comes out, in which shapes.

A part that cannot be recorded, such as a user's plain NumPy, splits the program (`stages`). Its arguments are numbers
that the program makes; what it returns is an input of what follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch.scalar import Scalar, is_test
from gnc.trees import Core, Tree, has_trials, leaves, mapped, structure


@dataclass(frozen=True, slots=True)
class Numbers:
    """Where the numbers of an array of a tree are among those of one trial."""

    first: int
    core: Core
    test: bool  # whether 1 and 0 stand for tests

    def read(self, numbers: np.ndarray) -> np.ndarray:
        """Return the array (trials, *core) from numbers (trials, all), as a view where possible."""
        core, first = self.core, self.first
        part = numbers[:, first : first + math.prod(core)] if core else numbers[:, first]
        part = part.reshape(len(numbers), *core) if len(core) > 1 else part
        return part != 0.0 if self.test else part


def collected(tree: Tree, numbers: list[Any]) -> Tree:
    """Append the symbols of a tree to a list of numbers and return the tree with `Numbers` in their place."""

    def place(leaf: Any) -> Any:
        if not isinstance(leaf, Scalar) and not (isinstance(leaf, np.ndarray) and leaf.dtype == object):
            return leaf
        first, array = len(numbers), np.asarray(leaf, object)
        numbers.extend(array.ravel())
        return Numbers(first, array.shape, bool(array.size) and is_test(array.flat[0]))

    return mapped(place, tree)


def read(tree: Tree, numbers: np.ndarray, k: int) -> Tree:
    """Return a collected tree with arrays of trials, and with times of the k-th tick."""

    def value(leaf: Any) -> Any:
        return leaf.read(numbers) if isinstance(leaf, Numbers) else leaf.at(k) if hasattr(leaf, "as_number") else leaf

    return mapped(value, tree)


class Returned:
    """The structure of what a part returns: arrays of trials and numbers, which change, and leaves that do not."""

    def __init__(self, tree: Tree, trials: int) -> None:
        self.trials, self._structure, self._tree, self.size = trials, structure(tree), tree, 0
        self._leaves = [self._kind(leaf) for leaf in leaves(tree)]

    def _kind(self, leaf: Any) -> Any:
        array = np.asarray(leaf) if isinstance(leaf, (float, int, np.ndarray, np.generic)) else None
        if array is None or isinstance(leaf, bool) or array.dtype.kind not in "fiub":
            return leaf
        core = array.shape[1:] if has_trials(leaf, self.trials) else array.shape
        self.size += math.prod(core)
        return Numbers(self.size - math.prod(core), core, array.dtype == bool)

    def write(self, tree: Tree, target: np.ndarray) -> bool:
        """Write the numbers of a tree (trials, numbers), and tell whether the tree has this structure."""
        if structure(tree) != self._structure:
            return False
        for leaf, kind in zip(leaves(tree), self._leaves, strict=True):
            if not isinstance(kind, Numbers):
                if leaf is not kind and not (isinstance(kind, (str, bool)) and leaf == kind):
                    return False
            elif not self._write(leaf, kind, target):
                return False
        return True

    def _write(self, leaf: Any, kind: Numbers, target: np.ndarray) -> bool:
        array = np.asarray(leaf)
        shape = array.shape[1:] if has_trials(leaf, self.trials) else array.shape
        if shape != kind.core or (array.dtype == bool) != kind.test or array.dtype.kind not in "fiub":
            return False
        flat = array.reshape(-1, math.prod(shape)) if array.shape != shape or len(shape) != 1 else array
        target[:, kind.first : kind.first + math.prod(shape)] = flat
        return True

    def filled(self, symbols: Callable[[Numbers], Any]) -> Tree:
        """Return the tree with symbols in place of what changes."""
        kinds: Iterator[Any] = iter(self._leaves)

        def symbol(_: Any) -> Any:
            kind = next(kinds)
            return symbols(kind) if isinstance(kind, Numbers) else kind

        return mapped(symbol, self._tree)


@dataclass
class Cut:
    """A call of a part in Python, which splits a program in two."""

    name: str
    function: Callable[..., Any]
    args: Tree  # with `Numbers`
    operands: list[int]  # the entries of the tape that are the numbers
    returned: Returned | None = None
    slot: int = 0  # first input of the tape that stands for what is returned

    def call(self, numbers: np.ndarray, k: int) -> Tree:
        """Call the part at the k-th tick, with new arrays: the part may keep them."""
        return self.function(*read(self.args, numbers[:, : len(self.operands)].copy(), k))


class Unknown(BaseException):
    """A part in Python is reached of which it is not known what it returns; no part may catch this."""
