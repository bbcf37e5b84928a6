"""Sums of products on a tape that C computes in loops: matrices by vectors, where tracing left one sum for each row.

A sum counts if all of its terms are products that nobody else takes, added one after the other: the loop then makes
the same roundings. Sums that share a vector are computed together, as soon as the first is due.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from gnc.batch.tape import Tape

LEAST = 8  # products of a matrix and a vector; with fewer, statements are shorter than a call

Vector = tuple[int, ...]  # indices of entries


class Sum(NamedTuple):
    """A sum of products left[k] right[k]."""

    root: int
    left: Vector
    right: Vector
    inner: tuple[int, ...]  # entries that nobody else takes


class Product(NamedTuple):
    """The sums of the rows of a matrix, each times the same vector."""

    vector: Vector
    rows: list[Vector]
    roots: list[int]


def products(tape: Tape, needed: Collection[int], results: Sequence[int]) -> tuple[dict[int, Product], set[int]]:
    """Return products by the entry at which they are due, and all entries that need no statement of their own."""
    sums = _sums(tape, needed, results)
    by_vector: dict[Vector, list[Sum]] = defaultdict(list)
    for one in sums:
        for vector in {one.left, one.right}:
            by_vector[vector].append(one)
    due: dict[int, Product] = {}
    done: set[int] = set()
    for one in sums:
        if one.root in done:
            continue
        groups = [(v, [s for s in by_vector[v] if s.root not in done and _ready(s, one.root)]) for v in one[1:3]]
        vector, group = max(groups, key=lambda pair: len(pair[1]))
        if len(group) * len(vector) >= LEAST:
            rows = [s.right if s.left == vector else s.left for s in group]
            due[one.root] = Product(vector, rows, [s.root for s in group])
            done |= {i for s in group for i in (s.root, *s.inner)}
    return due, done


def _ready(one: Sum, index: int) -> bool:
    """Tell whether a sum is not due before an entry, and all of its terms are known there."""
    return max(*one.left, *one.right) < index <= one.root


def _sums(tape: Tape, needed: Collection[int], results: Sequence[int]) -> list[Sum]:
    """Return all sums of three products or more, in the order of their roots."""
    entries, uses = tape.entries, Counter(results)
    for i in needed:
        uses.update(() if entries[i].op == "input" else entries[i].operands)
    inside: set[int] = set()
    found = []
    for root in sorted(needed, reverse=True):
        if root in inside or entries[root].op != "add":
            continue
        terms, inner, index = list[int](), list[int](), root
        while entries[index].op == "add" and (index == root or uses[index] == 1):
            inner.append(index)
            own = [i for i in entries[index].operands if entries[i].op == "multiply" and uses[i] == 1]
            rest = [i for i in entries[index].operands if i not in own]
            terms += own[::-1]
            if len(rest) != 1:
                break
            index = rest[0]
        if len(terms) == len(inner) + 1 >= 3:
            left, right = (tuple(entries[i].operands[k] for i in reversed(terms)) for k in (0, 1))
            inside.update(inner)
            found.append(Sum(root, left, right, (*inner[1:], *terms)))
    return found[::-1]
