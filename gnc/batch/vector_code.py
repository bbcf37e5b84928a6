"""A tape as LLVM vector code: every operation on W trials at once.

    @tile(in 0 ... in n-1, out 0 ... out m-1, active)

takes a pointer for each argument and each result, to slots of W lanes, one for each number. Repeated kernels have no
`out`: their results go over the first arguments in the lanes that are active.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence

from gnc.batch.layout import Core, Layout
from gnc.batch.tape import Entry, Tape

Place = tuple[str, int]  # memory, slot

TURN = 120  # operations; 100 to 150 are alike
_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv", "negative": "fneg"}
_COMPARISON = {"less": "olt", "less_equal": "ole", "equal": "oeq"}
_INTRINSIC = {"sqrt": "sqrt", "absolute": "fabs", "copysign": "copysign", "floor": "floor", "rint": "rint"}


def pointers(layout: Layout, repeating: bool) -> list[str]:
    """Name the pointers that `@tile` takes."""
    ins = [f"%in{k}" for k in range(len(layout.ins))]
    return ins if repeating else [*ins, *(f"%out{k}" for k in range(len(layout.outs)))]


def places(prefix: str, cores: tuple[Core, ...]) -> list[Place]:
    """Return where each number of some arrays is: the name of its pointer and its slot there."""
    return [(f"%{prefix}{k}", slot) for k, core in enumerate(cores) for slot in range(math.prod(core))]


def tile_head(names: list[str], width: int, attributes: str) -> str:
    """Begin the function `@tile`."""
    return f"define internal void @tile({', '.join(f'ptr {n}' for n in names)}, <{width} x i1> %active) {attributes} {{"


def tile_function(
    layout: Layout, tape: Tape, results: Sequence[int | None], width: int, repeating: bool, vectors: int = 1
) -> Iterator[str]:
    """Write the tape as straight-line code; what is left out of the results is not computed: LLVM leaves it off.

    A slot may be several vectors that take turns, TURN operations each: while those of one wait for each other the core
    finds work in the next one's, and yet only the values of one are in registers, which side by side they would share.
    """
    yield tile_head(pointers(layout, repeating), width, "alwaysinline")
    turn = TURN if vectors > 1 else len(tape.entries)
    ins, outs = places("in", layout.ins), places("in" if repeating else "out", layout.outs)
    parts = [_Part(tape, ins, width // vectors, vectors, number) for number in range(vectors)]
    for first in range(0, len(tape.entries), turn):
        for part in parts:
            for index in range(first, min(first + turn, len(tape.entries))):
                yield from part.compute(index)
    for part in parts:
        yield from part.store(results, outs, repeating)
    yield "  ret void\n}"


class _Part:
    """The lanes of one vector: code whose names end in the vector's number."""

    def __init__(self, tape: Tape, ins: list[Place], width: int, vectors: int, number: int) -> None:
        self.tape, self.ins, self.width, self.vectors, self.number = tape, ins, width, vectors, number
        self.vector = f"<{width} x double>"

    def compute(self, index: int) -> Iterator[str]:
        """Write one entry."""
        entry, name = self.tape.entries[index], f"%v{index}.{self.number}"
        if entry.op == "input":
            yield self._slot(f"%a{index}", self.ins[entry.operands[0]])
            yield f"  {name} = load {self.vector}, ptr %a{index}.{self.number}, align {8 * self.width}"
        elif entry.op != "constant":
            yield f"  {name} = {instruction(self.tape, entry, self.width, f'.{self.number}')}"

    def store(self, results: Sequence[int | None], outs: list[Place], repeating: bool) -> Iterator[str]:
        """Write the results, of a repeated kernel in the lanes that are active."""
        end, tests = f".{self.number}", f"<{self.width} x i1>"
        if repeating:
            lanes = ", ".join(f"i32 {self.number * self.width + lane}" for lane in range(self.width))
            whole = f"<{self.width * self.vectors} x i1>"
            yield f"  %on{end} = shufflevector {whole} %active, {whole} poison, <{self.width} x i32> <{lanes}>"
        for number, (index, place) in enumerate(zip(results, outs, strict=True)):
            if index is None:
                continue
            value = value_of(self.tape, index, self.width, end)
            yield self._slot(f"%r{number}", place)
            if repeating:
                yield f"  %o{number}{end} = load {self.vector}, ptr %r{number}{end}, align {8 * self.width}"
                choice = f"{tests} %on{end}, {self.vector} {value}, {self.vector} %o{number}{end}"
                yield f"  %n{number}{end} = select {choice}"
                value = f"%n{number}{end}"
            yield f"  store {self.vector} {value}, ptr %r{number}{end}, align {8 * self.width}"

    def _slot(self, name: str, place: Place) -> str:
        memory, slot = place
        at = slot * self.vectors + self.number
        return f"  {name}.{self.number} = getelementptr {self.vector}, ptr {memory}, i64 {at}"


def instruction(tape: Tape, entry: Entry, width: int, end: str = "") -> str:
    """Write the instruction of one operation; `end` is what the names of registers end in."""
    numbers, tests = f"<{width} x double>", f"<{width} x i1>"
    values = [value_of(tape, i, width, end) for i in entry.operands]
    if entry.op in _ARITHMETIC:
        return f"{_ARITHMETIC[entry.op]} {numbers} {', '.join(values)}"
    if entry.op in _COMPARISON:
        return f"fcmp {_COMPARISON[entry.op]} {numbers} {', '.join(values)}"
    if entry.op in _INTRINSIC:
        operands = ", ".join(f"{numbers} {v}" for v in values)
        return f"call {numbers} @llvm.{_INTRINSIC[entry.op]}.v{width}f64({operands})"
    if entry.op == "where":
        return f"select {tests} {values[0]}, {numbers} {values[1]}, {numbers} {values[2]}"
    if entry.op == "not":
        return f"xor {tests} {values[0]}, {splat('i1 true', width)}"
    return f"{entry.op} {tests} {', '.join(values)}"  # and, or


def value_of(tape: Tape, index: int, width: int, end: str = "") -> str:
    """Write an operand: a register, or a constant in every lane."""
    entry = tape.entries[index]
    if entry.op != "constant":
        return f"%v{index}{end}"
    if entry.constant in ("True", "False"):
        return splat(f"i1 {entry.constant.lower()}", width)
    bits = struct.pack(">d", float.fromhex(entry.constant)).hex()
    return splat(f"double 0x{bits}", width)


def splat(element: str, width: int) -> str:
    """Return a constant vector with one element in every lane."""
    return f"<{', '.join([element] * width)}>"


def intrinsics(width: int) -> Iterator[str]:
    """Declare LLVM's functions that the code may call."""
    vector = f"<{width} x double>"
    for name in _INTRINSIC.values():
        operands = ", ".join([vector] * (2 if name == "copysign" else 1))
        yield f"declare {vector} @llvm.{name}.v{width}f64({operands})"
