"""Trees of arrays as structs of C, with the comments of the classes that they come from."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.batch.program import Recorder
from gnc.trees import Core, Packing, Tree, leaves, mapped


class Field(NamedTuple):
    """A member of a struct."""

    name: str
    core: Core
    about: str

    def places(self, base: str) -> list[str]:
        """Return C for each of its numbers."""
        return [f"{base}{self.name}[{i}]" for i in range(math.prod(self.core))] if self.core else [f"{base}{self.name}"]


class Struct:
    """A tree of arrays as a struct of C: its members in the order of the leaves."""

    def __init__(self, tree: Tree, prefix: str = "", shared: frozenset[int] = frozenset()) -> None:
        self.packing = Packing(tree, shared) if any(isinstance(x, np.ndarray) for x in leaves(tree)) else None
        packed = self.packing
        names = packed.names(prefix) if packed else []
        about = [text for text, own in zip(_described(tree), packed._own, strict=True) if own] if packed else []
        cores = packed.cores if packed else []
        short = [_member(re.sub(rf"^({prefix}_)?0(_|$)", r"\1", name)) for name in names]
        self.fields = [Field(*one) for one in zip(short, cores, about, strict=True) if math.prod(one[1])]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(math.prod(one.core) for one in self.fields)

    def places(self, base: str) -> list[str]:
        """Return C for each number."""
        return [place for one in self.fields for place in one.places(base)]

    def symbols(self, recorder: Recorder) -> Tree:
        """Return the tree with inputs of a program for its arrays."""
        if self.packing is None:
            return ()
        kinds = zip(self.packing.cores, self.packing.tests, strict=True)
        return self.packing.filled(recorder.timed(core, test) for core, test in kinds)

    def numbers(self, recorder: Recorder, tree: Tree) -> list[Any]:
        """Return a tree of symbols as numbers."""
        if self.packing is None:
            return []
        pairs = zip(self.packing.arrays(tree), self.packing.cores, strict=True)
        return [x for part, core in pairs for x in recorder.numbers(part, core)]

    def flat(self, tree: Tree, trials: int) -> np.ndarray:
        """Return the numbers (trials, size) of a tree of as many trials."""
        if self.packing is None:
            return np.zeros((trials, 0))
        own = [leaf for leaf, mine in zip(leaves(tree), self.packing._own, strict=True) if mine]
        pairs = zip(own, self.packing.cores, strict=True)
        columns = [np.broadcast_to(np.asarray(x, float), (trials, *core)).reshape(trials, -1) for x, core in pairs]
        return np.concatenate([np.zeros((trials, 0)), *columns], axis=1)

    def tree(self, numbers: np.ndarray, like: Tree) -> Tree:
        """Return the tree of which these are the numbers (trials, size); other leaves are those of `like`."""
        if self.packing is None:
            return like
        arrays, at = [], 0
        for core, test in zip(self.packing.cores, self.packing.tests, strict=True):
            part = numbers[:, at : at + math.prod(core)].reshape(len(numbers), *core)
            arrays.append(part != 0.0 if test else part.copy())
            at += math.prod(core)
        own, found = iter(self.packing._own), iter(arrays)
        return mapped(lambda leaf: next(found) if next(own) else leaf, like)


def _member(name: str) -> str:
    """Return a name that C takes for a member of a struct."""
    name = re.sub(r"\W", "_", name).strip("_")
    words = "auto break case char const continue default do double else enum extern float for goto if inline int long"
    words += (
        " register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"
    )
    return f"value_{name}".rstrip("_") if not name or name[0].isdigit() or name in words.split() else name


@functools.cache
def comments(kind: Any) -> dict[str, str]:
    """Return what the comments of a NamedTuple say of its fields, without the shapes."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        return {}
    found = re.findall(r"^    (\w+): [^#\n]*#\s*(.+)$", source, re.M)
    return {name: re.sub(r"^\([^)]*\)\s*", "", text).replace("*/", "* /") for name, text in found}


def _described(tree: Tree, about: str = "") -> Iterator[str]:
    """Give what is said of each leaf."""
    if not isinstance(tree, tuple):
        yield about
        return
    names: Sequence[str] = getattr(tree, "_fields", [""] * len(tree))
    for name, part in zip(names, tree, strict=True):
        yield from _described(part, comments(type(tree)).get(name, about))
