"""States as trees: NamedTuples and tuples of arrays, nested, and how their numbers lie side by side in one array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Tree = Any
Core = tuple[int, ...]  # the shape of one trial's array


def mapped(change: Callable[[Any], Any], tree: Tree) -> Tree:
    """Return the tree with every leaf changed; what is no tuple is a leaf."""
    if not isinstance(tree, tuple):
        return change(tree)
    parts = [mapped(change, part) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)


def joined(join: Callable[[Any, Any], Any], first: Tree, second: Tree) -> Tree:
    """Return the tree whose leaves are joined from those of two trees of the same structure."""
    if not isinstance(first, tuple):
        return join(first, second)
    parts = [joined(join, a, b) for a, b in zip(first, second, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)


def leaves(tree: Tree) -> Iterator[Any]:
    """Give the leaves in order."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from leaves(part)
    else:
        yield tree


def paths(tree: Tree, prefix: str = "") -> Iterator[str]:
    """Give the names of the leaves in order: of fields and numbers from the root on."""
    if isinstance(tree, tuple):
        names = tree._fields if hasattr(tree, "_fields") else range(len(tree))
        for name, part in zip(names, tree, strict=True):
            yield from paths(part, f"{prefix}_{name}" if prefix else str(name))
    else:
        yield prefix


def trials_of(tree: Tree) -> int:
    """Return how many trials a tree has: the length of the leading axis of its first array."""
    arrays = [leaf for leaf in leaves(tree) if isinstance(leaf, np.ndarray) and leaf.ndim]
    if not arrays:
        raise TypeError("a state without an array has no trials")
    return len(arrays[0])


def has_trials(leaf: Any, trials: int) -> bool:
    """Tell whether a leaf is an array with the trials first."""
    return isinstance(leaf, np.ndarray) and leaf.ndim > 0 and len(leaf) == trials


class SharedChange(TypeError):
    """A leaf without an axis of trials has changed."""

    def __init__(self, place: int, leaf: Any) -> None:
        super().__init__(f"a part of a state changes that has no axis of trials: {leaf!r}")
        self.place, self.is_number = place, isinstance(leaf, (float, np.ndarray)) and np.asarray(leaf).dtype == float


class Packing:
    """How the arrays of a tree that have the trials first make one array (trials, numbers).

    Arrays are of floats, or of tests, which are 1 or 0 among the numbers. Other leaves stay, but for numbers that all
    trials share and that change: their places are told in `shared`, and every trial has them.
    """

    def __init__(self, tree: Tree, shared: frozenset[int] = frozenset()) -> None:
        self.trials, self._tree, self.shared = trials_of(tree), tree, shared
        self._own = [has_trials(x, self.trials) or i in shared for i, x in enumerate(leaves(tree))]
        arrays = self.arrays(tree)
        places = [i for i, own in enumerate(self._own) if own]
        self.common = [i in shared for i in places]  # of the arrays: whether all trials share it
        self.cores: list[Core] = [np.shape(x)[not common :] for x, common in zip(arrays, self.common, strict=True)]
        self.tests = [np.asarray(x).dtype == bool for x in arrays]
        self._ends = list(itertools.accumulate(map(math.prod, self.cores)))
        for x in arrays:
            if np.asarray(x).dtype not in (float, bool):
                raise TypeError(f"a state holds arrays of floats or bools, got {np.asarray(x).dtype}")

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of the arrays."""
        return [name for name, own in zip(paths(self._tree, prefix), self._own, strict=True) if own]

    def fits(self, tree: Tree) -> bool:
        """Tell whether a tree differs in its numbers only."""
        try:
            arrays = list(map(np.asarray, self.arrays(tree)))
        except TypeError:
            return False
        shapes = [
            core if common else (self.trials, *core) for core, common in zip(self.cores, self.common, strict=True)
        ]
        tests = [x.dtype == bool for x in arrays]
        return [x.shape for x in arrays] == shapes and tests == self.tests

    def pack(self, tree: Tree) -> np.ndarray:
        """Return the numbers of a tree for which `fits` holds."""
        numbers = np.empty((self.trials, self._ends[-1] if self._ends else 0))
        ends = itertools.pairwise([0, *self._ends])
        for x, (a, b), common in zip(self.arrays(tree), ends, self.common, strict=True):
            numbers[:, a:b] = np.reshape(x, (1 if common else self.trials, b - a))
        return numbers

    def unpack(self, numbers: np.ndarray) -> Tree:
        """Return the tree with these numbers, in new arrays."""
        return self.filled(self._unpacked(numbers))

    def _unpacked(self, numbers: np.ndarray) -> Iterator[Any]:
        ends = itertools.pairwise([0, *self._ends])
        for (a, b), core, test, common in zip(ends, self.cores, self.tests, self.common, strict=True):
            part = numbers[:, a:b] != 0.0 if test else numbers[:, a:b].copy()
            part = part.reshape(self.trials, *core)
            alike = common and np.array_equal(part, np.broadcast_to(part[0], part.shape), equal_nan=True)
            yield np.array(part[0]) if alike else part

    def filled(self, arrays: Iterator[Any]) -> Tree:
        """Return the tree with the given arrays or symbols in place of its arrays of trials."""
        own = iter(self._own)
        return mapped(lambda leaf: next(arrays) if next(own) else leaf, self._tree)

    def arrays(self, tree: Tree) -> list[Any]:
        """Return the leaves of a tree that stand where the arrays do; raise if anything else has changed."""
        if structure(tree) != structure(self._tree):
            raise TypeError("the structure of a state changes")
        arrays = []
        for place, (new, old, own) in enumerate(zip(leaves(tree), leaves(self._tree), self._own, strict=True)):
            if own:
                arrays.append(new)
            elif new is not old and not (isinstance(old, (int, float, str)) and not is_symbolic(new) and new == old):
                raise SharedChange(place, old)
        return arrays


def is_symbolic(leaf: Any) -> bool:
    """Tell whether a leaf is a symbol, or an array of symbols, instead of numbers."""
    return not isinstance(leaf, (int, float, str, np.generic)) and not (
        isinstance(leaf, np.ndarray) and not leaf.dtype.hasobject
    )


def structure(tree: Tree) -> Any:
    """Return the nested types of a tree: equal for trees that differ in their leaves only."""
    return (type(tree), *map(structure, tree)) if isinstance(tree, tuple) else None
