"""A tape with calls as LLVM code on W trials at once: what calls pass on stays in memory, in slots of W lanes.

    %buffer    the inputs of the program, and behind them its results
    %scratch   the inputs of the kernel that is being called, and behind them its results
    %made      the results of all calls

Numbers that lie side by side are copied together, a matrix in one go. Only what is computed between calls is loaded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from gnc.batch.llvm_writer import room
from gnc.batch.tape import Call, Entry, Tape
from gnc.batch.vector_code import instruction, value_of

Place = tuple[str, int]  # memory, slot


def calling_function(tape: Tape, results: list[int], width: int, quick: bool) -> Iterator[str]:
    """Write `@tile` (see `vector_code`) of a tape with calls, all lanes active; `quick`: long, and not optimised."""
    yield from _Step(tape, results, width).lines("noinline optnone" if quick else "")
    yield from (f"declare void @call{i}(ptr)" for i in range(len(tape.calls)))
    yield "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def _slots(call: Call) -> int:
    """Count the slots that a called kernel works on: its inputs, and its count or its results."""
    layout = call.kernel.layout
    return layout.inputs + (1 if call.repeating else layout.outputs)


class _Step:
    def __init__(self, tape: Tape, results: list[int], width: int) -> None:
        self.tape, self.results, self.width = tape, results, width
        self.vector = f"<{width} x double>"
        self.places: dict[int, Place] = {}  # of entries that are in memory
        self.loaded: set[int] = set()
        self.made = 0
        self._names = (f"%p{i}" for i in itertools.count())

    def lines(self, attributes: str) -> Iterator[str]:
        body = [*self._body(), *self._copied(self.results, ("%buffer", self.tape.inputs))]
        yield f"define internal void @tile(ptr %buffer, <{self.width} x i1> %active) {attributes} {{"
        scratch, scratch_back = room("%scratch", max(map(_slots, self.tape.calls), default=0), self.width)
        made, made_back = room("%made", self.made, self.width)
        yield from (scratch, made, *body, *scratch_back, *made_back, "  ret void\n}")

    def _body(self) -> Iterator[str]:
        for index, entry in enumerate(self.tape.entries):
            if entry.op == "input":
                self.places[index] = "%buffer", entry.operands[0]
            elif entry.op == "call":
                yield from self._call(index, entry)
            elif entry.op == "part":
                memory, first = self.places[entry.operands[0]]
                self.places[index] = memory, first + int(entry.constant)
            elif entry.op != "constant":
                for operand in entry.operands:
                    yield from self._load(operand)
                yield f"  %v{index} = {instruction(self.tape, entry, self.width)}"

    def _call(self, index: int, entry: Entry) -> Iterator[str]:
        """Write the operands into the scratch memory, call the kernel on it, and keep what it leaves."""
        call = self.tape.calls[int(entry.constant)]
        yield from self._copied(entry.operands, ("%scratch", 0))
        yield f"  call void @call{entry.constant}(ptr %scratch)"
        self.places[index] = "%made", self.made
        yield from self._copy(("%scratch", 0 if call.repeating else call.kernel.layout.inputs), ("%made", self.made),
                              call.kernel.layout.outputs)  # fmt: skip
        self.made += call.kernel.layout.outputs

    def _copied(self, entries: Sequence[int], target: Place) -> Iterator[str]:
        """Write entries side by side; those that are side by side in memory already, together."""
        memory, first = target
        at = 0
        while at < len(entries):
            place, n = self.places.get(entries[at]), 1
            if place is None:
                yield from self._store(entries[at], (memory, first + at))
            else:
                while at + n < len(entries) and self.places.get(entries[at + n]) == (place[0], place[1] + n):
                    n += 1
                yield from self._copy(place, (memory, first + at), n)
            at += n

    def _copy(self, source: Place, target: Place, n: int) -> Iterator[str]:
        a, b = next(self._names), next(self._names)
        yield f"  {a} = getelementptr {self.vector}, ptr {source[0]}, i64 {source[1]}"
        yield f"  {b} = getelementptr {self.vector}, ptr {target[0]}, i64 {target[1]}"
        aligned, size = f"align {8 * self.width}", 8 * self.width * n
        yield f"  call void @llvm.memcpy.p0.p0.i64(ptr {aligned} {b}, ptr {aligned} {a}, i64 {size}, i1 false)"

    def _store(self, index: int, target: Place) -> Iterator[str]:
        name = next(self._names)
        yield f"  {name} = getelementptr {self.vector}, ptr {target[0]}, i64 {target[1]}"
        value = value_of(self.tape, index, self.width)
        yield f"  store {self.vector} {value}, ptr {name}, align {8 * self.width}"

    def _load(self, index: int) -> Iterator[str]:
        """Load a number that is in memory, once; no slot of %buffer's inputs or of %made is written again."""
        if index in self.places and index not in self.loaded:
            self.loaded.add(index)
            memory, slot = self.places[index]
            yield f"  %a{index} = getelementptr {self.vector}, ptr {memory}, i64 {slot}"
            yield f"  %v{index} = load {self.vector}, ptr %a{index}, align {8 * self.width}"
