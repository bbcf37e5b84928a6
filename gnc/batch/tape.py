"""Recording a kernel: every operation becomes one entry of a tape."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.batch.scalar import TESTS, Operand, Scalar, operate

COMMUTATIVE = {"add", "multiply"}
LATENCY = {"input": 0, "constant": 0, "divide": 4, "sqrt": 6}  # in additions, roughly, on current cores


class Entry(NamedTuple):
    """One operation; its operands are indices of earlier entries."""

    op: str
    operands: tuple[int, ...] = ()
    constant: str = ""  # the hexadecimal value of a constant, so that 0.0 and -0.0 differ; the number of a call or part


class Call(NamedTuple):
    """A kernel that is compiled by itself and called.

    The operands are the kernel's arguments, then the count of a repeated kernel, then the test of a masked call.
    """

    kernel: Any
    repeating: bool
    masked: bool = False  # skipped, with zeros for results, where the test is false in all trials of a tile


class Tape:
    """The straight-line program of a kernel, without repeated entries."""

    def __init__(self, literal: bool = False) -> None:
        """Start empty; `literal`: what is recorded must have the bits of NumPy, where nothing is a constant."""
        self.literal = literal
        self.entries: list[Entry] = []
        self._index: dict[Entry, int] = {}
        self.inputs = 0
        self.calls: list[Call] = []
        self._mask: Operand = True  # the test under which calls are recorded

    def input(self) -> Symbol:
        """Add one input number."""
        self.entries.append(Entry("input", (self.inputs,)))
        self.inputs += 1
        return Symbol(self, len(self.entries) - 1)

    def record(self, entry: Entry) -> int:
        """Return the index of an entry, adding it if it is new."""
        index = self._index.setdefault(entry, len(self.entries))
        if index == len(self.entries):
            self.entries.append(entry)
        return index

    def known(self, op: str, operands: tuple[int, ...]) -> int | None:
        """Return the index of an operation, or None if the tape does not have the operation yet."""
        return self._index.get((op, operands, ""))  # type: ignore[call-overload]  # as quick as a plain tuple

    def call(self, kernel: Any, operands: Sequence[Operand], repeating: bool) -> list[Symbol]:
        """Record a call of a kernel and return the symbols of its results."""
        masked = self._mask is not True
        indices = tuple(map(self.index, (*operands, self._mask) if masked else operands))
        index = self.record(Entry("call", indices, self.call_number(Call(kernel, repeating, masked))))
        return self.parts(index, kernel.layout.outputs)

    def parts(self, call: int, count: int) -> list[Symbol]:
        """Return the symbols of the results of a call."""
        return [Symbol(self, self.record(Entry("part", (call,), str(i)))) for i in range(count)]

    def call_number(self, call: Call) -> str:
        """Return the number of a call, as entries name it."""
        if call not in self.calls:
            self.calls.append(call)
        return str(self.calls.index(call))

    @contextlib.contextmanager
    def masked(self, test: Operand) -> Iterator[None]:
        """Record the calls made inside as calls that only trials need in which the test holds."""
        outer = self._mask
        self._mask = test if outer is True else operate("and", outer, test)
        try:
            yield
        finally:
            self._mask = outer

    def needed(self, results: Iterable[int]) -> set[int]:
        """Return the entries that results depend on, the results included."""
        indices: set[int] = set()
        waiting = list(results)
        while waiting:
            if (index := waiting.pop()) not in indices:
                indices.add(index)
                entry = self.entries[index]
                waiting += () if entry.op == "input" else entry.operands
        return indices

    def asked(self, results: Iterable[int]) -> list[frozenset[int]]:
        """Return for every call which of the call's results the given results depend on."""
        parts: list[set[int]] = [set() for _ in self.calls]
        for index in self.needed(results):
            entry = self.entries[index]
            if entry.op == "part":
                parts[int(self.entries[entry.operands[0]].constant)].add(int(entry.constant))
        return list(map(frozenset, parts))

    def wanted(self, results: list[int], asked: frozenset[int], repeating: bool) -> list[int | None]:
        """Return the results, None for each not asked for; a repeated kernel keeps those that its next step needs."""
        keep, before = set(asked), set[int]()
        while repeating and keep != before:
            before = set(keep)
            entries = (self.entries[i] for i in self.needed(results[i] for i in keep))
            keep |= {entry.operands[0] for entry in entries if entry.op == "input" and entry.operands[0] < len(results)}
        return [entry if i in keep else None for i, entry in enumerate(results)]

    def chain(self) -> int:
        """Return the length of the longest chain of operations that wait for each other, counted in additions."""
        ends: list[int] = []
        for entry in self.entries:
            waits = 0 if entry.op in ("input", "constant") else max(ends[i] for i in entry.operands)
            ends.append(waits + LATENCY.get(entry.op, 1))
        return max(ends, default=0)

    def index(self, x: Operand) -> int:
        """Return where a number stands on this tape; constants are added."""
        if not isinstance(x, Symbol):
            return self.record(Entry("constant", (), float(x).hex() if not isinstance(x, bool) else str(x)))
        if x.tape is not self:
            raise TypeError("a number of one kernel's trace was used in another: kernels may not keep state")
        return x.index


class Symbol(Scalar):
    """A number that is not known yet: an entry of a tape."""

    __slots__ = ("index", "is_test", "tape")
    shape: tuple[int, ...] = ()  # an array (trials,) is a number here, and has the rest of that shape
    ndim = 0

    def __init__(self, tape: Tape, index: int, is_test: bool = False):
        """Name an entry."""
        self.tape, self.index, self.is_test = tape, index, is_test

    @property
    def literal(self) -> bool:  # type: ignore[override]
        """Whether operations with zeros and ones are recorded too."""
        return self.tape.literal

    def __getitem__(self, places: Any) -> Any:
        """Return an array of this number with new axes, as `x[..., None]` makes of an array of trials."""
        rest = places if isinstance(places, tuple) else (places,)
        rest = rest[1:] if rest[:1] == (Ellipsis,) or rest[:1] == (slice(None),) else rest
        if not rest or any(place is not None for place in rest):
            raise TypeError("a number of each trial has no parts, and trials are not told apart in a program")
        return self.reshape((1,) * len(rest))

    def reshape(self, *shape: Any) -> Any:
        """Return an array of this number, as an array of trials would be reshaped."""
        from gnc.batch.symbols import as_symbols

        return as_symbols(np.array([self], dtype=object).reshape(*shape))

    def apply(self, op: str, values: list[Operand]) -> Symbol:
        """Record the operation; a + b is the same entry as b + a."""
        tape = self.tape
        operands = tuple([x.index if type(x) is Symbol and x.tape is tape else tape.index(x) for x in values])
        if op in COMMUTATIVE and operands[0] > operands[1]:
            operands = operands[::-1]
        index = tape.known(op, operands)
        return Symbol(tape, tape.record(Entry(op, operands)) if index is None else index, op in TESTS)

    def __repr__(self) -> str:
        return f"<{self.tape.entries[self.index].op} #{self.index}>"
