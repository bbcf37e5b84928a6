"""A tape as LLVM vector code: every operation on W trials at once."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gnc.batch.tape import Entry, Tape

TURN = 120  # operations; 100 to 150 are alike
_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv", "negative": "fneg"}
_COMPARISON = {"less": "olt", "less_equal": "ole", "equal": "oeq"}
_INTRINSIC = {"sqrt": "sqrt", "absolute": "fabs", "copysign": "copysign", "floor": "floor", "rint": "rint"}


def tile_function(tape: Tape, results: list[int], width: int, repeating: bool, vectors: int = 1) -> Iterator[str]:
    """Write the tape as vector code on the buffer's slots; lanes that are not active keep what they have.

    A slot may be several vectors that take turns, TURN operations each: while those of one wait for each other the core
    finds work in the next one's, and yet only the values of one are in registers, which side by side they would share.
    """
    yield f"define internal void @tile(ptr %buffer, <{width} x i1> %active) alwaysinline {{"
    turn = TURN if vectors > 1 else len(tape.entries)
    parts = [_Part(tape, width // vectors, vectors, number) for number in range(vectors)]
    for first in range(0, len(tape.entries), turn):
        for part in parts:
            for index in range(first, min(first + turn, len(tape.entries))):
                yield from part.compute(index)
    for part in parts:
        yield from part.store(results, repeating)
    yield "  ret void\n}"


class _Part:
    """The lanes of one vector: code whose names end in the vector's number."""

    def __init__(self, tape: Tape, width: int, vectors: int, number: int) -> None:
        self.tape, self.width, self.vectors, self.number = tape, width, vectors, number
        self.vector = f"<{width} x double>"

    def compute(self, index: int) -> Iterator[str]:
        """Write one entry."""
        entry, name = self.tape.entries[index], f"%v{index}.{self.number}"
        if entry.op == "input":
            yield self._slot(f"%a{index}", entry.operands[0])
            yield f"  {name} = load {self.vector}, ptr %a{index}.{self.number}, align {8 * self.width}"
        elif entry.op != "constant":
            yield f"  {name} = {instruction(self.tape, entry, self.width, f'.{self.number}')}"

    def store(self, results: list[int], repeating: bool) -> Iterator[str]:
        """Write the results behind the inputs, or over them in the lanes that are active."""
        end, tests = f".{self.number}", f"<{self.width} x i1>"
        if repeating:
            lanes = ", ".join(f"i32 {self.number * self.width + lane}" for lane in range(self.width))
            whole = f"<{self.width * self.vectors} x i1>"
            yield f"  %on{end} = shufflevector {whole} %active, {whole} poison, <{self.width} x i32> <{lanes}>"
        for number, index in enumerate(results):
            value = value_of(self.tape, index, self.width, end)
            yield self._slot(f"%r{number}", number if repeating else self.tape.inputs + number)
            if repeating:
                yield f"  %o{number}{end} = load {self.vector}, ptr %r{number}{end}, align {8 * self.width}"
                choice = f"{tests} %on{end}, {self.vector} {value}, {self.vector} %o{number}{end}"
                yield f"  %n{number}{end} = select {choice}"
                value = f"%n{number}{end}"
            yield f"  store {self.vector} {value}, ptr %r{number}{end}, align {8 * self.width}"

    def _slot(self, name: str, slot: int) -> str:
        place = slot * self.vectors + self.number
        return f"  {name}.{self.number} = getelementptr {self.vector}, ptr %buffer, i64 {place}"


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
