"""States as trees: NamedTuples and tuples of arrays, nested, and how their numbers lie side by side in one array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gnc.batch.layout import Core

Tree = Any


def mapped(change: Callable[[Any], Any], tree: Tree) -> Tree:
    """Return the tree with every leaf changed; what is no tuple is a leaf."""
    if not isinstance(tree, tuple):
        return change(tree)
    parts = [mapped(change, part) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)


def leaves(tree: Tree) -> Iterator[Any]:
    """Give the leaves in order."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from leaves(part)
    else:
        yield tree


def trials_of(tree: Tree) -> int:
    """Return how many trials a tree has: the length of the leading axis of its first array."""
    arrays = [leaf for leaf in leaves(tree) if isinstance(leaf, np.ndarray) and leaf.ndim]
    if not arrays:
        raise TypeError("a state without an array has no trials")
    return len(arrays[0])


class Packing:
    """How the arrays of a tree that have the trials first make one array (trials, numbers); other leaves stay."""

    def __init__(self, tree: Tree) -> None:
        self.trials, self._tree = trials_of(tree), tree
        self._own = [isinstance(x, np.ndarray) and x.ndim > 0 and len(x) == self.trials for x in leaves(tree)]
        arrays = self.arrays(tree)
        self.cores: list[Core] = [x.shape[1:] for x in arrays]
        self._ends = list(itertools.accumulate(map(math.prod, self.cores)))
        for x in arrays:
            if x.dtype != float:
                raise TypeError(f"a state holds arrays of floats, got {x.dtype}")

    def fits(self, tree: Tree) -> bool:
        """Tell whether a tree differs in its numbers only."""
        try:
            return [np.shape(x) for x in self.arrays(tree)] == [(self.trials, *core) for core in self.cores]
        except TypeError:
            return False

    def pack(self, tree: Tree) -> np.ndarray:
        """Return the numbers of a tree that fits."""
        return np.concatenate([x.reshape(self.trials, -1) for x in self.arrays(tree)], axis=1)

    def unpack(self, numbers: np.ndarray) -> Tree:
        """Return the tree with these numbers, in new arrays."""
        places = zip(itertools.pairwise([0, *self._ends]), self.cores, strict=True)
        return self.filled(np.array(numbers[:, a:b]).reshape(self.trials, *core) for (a, b), core in places)

    def filled(self, arrays: Iterator[Any]) -> Tree:
        """Return the tree with other things in place of its arrays of trials."""
        own = iter(self._own)
        return mapped(lambda leaf: next(arrays) if next(own) else leaf, self._tree)

    def arrays(self, tree: Tree) -> list[Any]:
        """Return what a tree of the same structure has in place of the arrays; other leaves may not have changed."""
        if _shape(tree) != _shape(self._tree):
            raise TypeError("the structure of a state changes")
        found = []
        for new, old, own in zip(leaves(tree), leaves(self._tree), self._own, strict=True):
            if own:
                found.append(new)
            elif new is not old and not (isinstance(old, (int, float, str)) and new == old):
                raise TypeError(f"a part of a state changes that has no axis of trials: {old!r}")
        return found


def _shape(tree: Tree) -> Any:
    return (type(tree), *map(_shape, tree)) if isinstance(tree, tuple) else None
