"""A tape as LLVM vector code: every operation on W trials at once."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gnc.batch.tape import Entry, Tape

_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv", "negative": "fneg"}
_COMPARISON = {"less": "olt", "less_equal": "ole", "equal": "oeq"}
_INTRINSIC = {"sqrt": "sqrt", "absolute": "fabs", "copysign": "copysign", "floor": "floor", "rint": "rint"}


def tile_function(tape: Tape, results: list[int], width: int, repeating: bool) -> Iterator[str]:
    """Write the tape as vector code on the buffer's slots; lanes that are not active keep what they have."""
    vector = f"<{width} x double>"
    yield f"define internal void @tile(ptr %buffer, <{width} x i1> %active) alwaysinline {{"
    for index, entry in enumerate(tape.entries):
        if entry.op == "input":
            yield f"  %a{index} = getelementptr {vector}, ptr %buffer, i64 {entry.operands[0]}"
            yield f"  %v{index} = load {vector}, ptr %a{index}, align {8 * width}"
        elif entry.op != "constant":
            yield f"  %v{index} = {instruction(tape, entry, width)}"
    for number, index in enumerate(results):
        slot, value = f"%r{number}", value_of(tape, index, width)
        yield f"  {slot} = getelementptr {vector}, ptr %buffer, i64 {number if repeating else tape.inputs + number}"
        if repeating:
            yield f"  %o{number} = load {vector}, ptr {slot}, align {8 * width}"
            yield f"  %n{number} = select <{width} x i1> %active, {vector} {value}, {vector} %o{number}"
            value = f"%n{number}"
        yield f"  store {vector} {value}, ptr {slot}, align {8 * width}"
    yield "  ret void\n}"


def instruction(tape: Tape, entry: Entry, width: int) -> str:
    """Write the instruction of one operation."""
    numbers, tests = f"<{width} x double>", f"<{width} x i1>"
    values = [value_of(tape, i, width) for i in entry.operands]
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


def value_of(tape: Tape, index: int, width: int) -> str:
    """Write an operand: a register, or a constant in every lane."""
    entry = tape.entries[index]
    if entry.op != "constant":
        return f"%v{index}"
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
