"""The loop that a NumPy gufunc calls, in LLVM: tiles of W trials are gathered, computed and scattered.

For each tile of W trials every argument is gathered into a buffer of W-wide slots, one slot for each number of a trial;
the tape runs on whole slots (`@tile`, straight-line vector code); the results are scattered:

    buffer   | in 0 ... in n-1 | out 0 ... out m-1 |     each slot <W x double>, lane l belongs to trial t + l

Repeating loops run the tile many times before scattering, with the results written back over the first inputs of the
lanes whose count is not yet reached. No operation carries a fast-math flag, so LLVM neither contracts nor
reassociates, and the lanes cannot influence each other.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

from gnc.batch.layout import Core, Layout, starts
from gnc.batch.llvm_writer import Writer
from gnc.batch.tape import Tape
from gnc.batch.tile import compute, declarations, tile_code
from gnc.batch.transposing import move_tile


def loop_module(layout: Layout, tape: Tape, results: list[int], width: int, repeating: bool, vectors: int) -> str:
    """Write the LLVM module with the gufunc loop `@loop` of a kernel."""
    tile, loop = tile_code(layout, tape, results, width, repeating, vectors), _loop(layout, width, repeating)
    return "\n".join([*tile, *loop, *declarations(width, width // vectors)])


class _Operand:
    """One argument or result of the gufunc: its memory, and its place in the buffer."""

    def __init__(self, w: Writer, position: int, core_steps: int, core: Core, slot: int):
        def read(kind: str, array: str, i: int) -> str:
            return w.let(f"load {kind}, ptr {w.let(f'getelementptr {kind}, ptr {array}, i64 {i}')}")

        self.core, self.slot = core, slot
        self.memory = read("ptr", "%args", position)
        self.trial_step = read("i64", "%steps", position)
        self.steps = [read("i64", "%steps", core_steps + axis) for axis in range(len(core))]

        self.side_by_side = "true"  # whether the numbers of a trial are
        for axis, step in enumerate(self.steps):
            fits = w.let(f"icmp eq i64 {step}, {8 * math.prod(core[axis + 1 :])}")
            self.side_by_side = w.let(f"and i1 {self.side_by_side}, {fits}")

    def move(self, w: Writer, width: int, tile: str, lanes: str | int, scatter: bool) -> None:
        """Copy a tile between memory and buffer, in one go if it is full and its trials are in order."""
        full = w.let(f"icmp sle i64 {w.let(f'add i64 {tile}, {width - 1}')}, %last")
        at_once = w.let(f"and i1 {full}, {self.side_by_side}")
        with w.when(at_once):
            slots = w.further("%buffer", str(self.slot), 8 * width)
            first = w.further(self.memory, tile, self.trial_step)
            move_tile(w, first, self.trial_step, slots, math.prod(self.core), width, scatter)
        with w.when(w.let(f"xor i1 {at_once}, true")):
            self._move_singly(w, width, tile, lanes, scatter)

    def _move_singly(self, w: Writer, width: int, tile: str, lanes: str | int, scatter: bool) -> None:
        """Copy number by number; lanes beyond the last trial repeat it."""
        with w.loop(lanes) as lane, contextlib.ExitStack() as loops:
            trial = w.smaller(w.let(f"add i64 {tile}, {lane}"), "%last")
            far, number = w.further(self.memory, trial, self.trial_step), "0"
            for size, step in zip(self.core, self.steps, strict=True):
                i = loops.enter_context(w.loop(size))
                far = w.further(far, i, step)
                number = w.let(f"add i64 {w.let(f'mul i64 {number}, {size}')}, {i}")
            slot = w.let(f"mul i64 {w.let(f'add i64 {number}, {self.slot}')}, {width}")
            near = w.let(f"getelementptr double, ptr %buffer, i64 {w.let(f'add i64 {slot}, {lane}')}")
            source, target = (near, far) if scatter else (far, near)
            w.do(f"store double {w.let(f'load double, ptr {source}')}, ptr {target}")


def _loop(layout: Layout, width: int, repeating: bool) -> Iterator[str]:
    """Write the function NumPy calls: (args, dims, steps, data)."""
    w = Writer()
    slots = layout.inputs + layout.outputs + 1
    w.make_room("%buffer", slots, width)
    trials = w.let("load i64, ptr %dims")
    w.do(f"%last = sub i64 {trials}, 1")
    if not repeating:  # lanes without a trial compute too; what they start from does not matter
        w.do(f"call void @llvm.memset.p0.i64(ptr %buffer, i8 0, i64 {slots * width * 8}, i1 false)")
    ins, outs = _operands(w, layout, repeating)
    with w.loop(trials, step=width) as tile:
        # few trials should not pay for gathering many
        lanes = width if repeating else w.smaller(w.let(f"sub i64 {trials}, {tile}"), width)
        for operand in ins:
            first = w.let(f"icmp eq i64 {tile}, 0")
            varies = w.let(f"icmp ne i64 {operand.trial_step}, 0")
            with w.when(w.let(f"or i1 {first}, {varies}") if not repeating else "true"):
                operand.move(w, width, tile, lanes, scatter=False)
        places = [w.further("%buffer", str(operand.slot), 8 * width) for operand in (ins if repeating else ins + outs)]
        counts = places.pop() if repeating else None
        compute(w, layout, width, places, counts)
        for operand in outs:
            operand.move(w, width, tile, lanes, scatter=True)
    w.do("call i32 @feclearexcept(i32 63)")  # a lost trial is NaN, not a warning
    yield from w.function("@loop(ptr %args, ptr %dims, ptr %steps, ptr %data)")


def _operands(w: Writer, layout: Layout, repeating: bool) -> tuple[list[_Operand], list[_Operand]]:
    """Give the arguments and the results, with their places in NumPy's tables and in the buffer.

    The counter of a repeating loop is one more argument; its results take the slots of the first inputs.
    """
    ins = (*layout.ins, ()) if repeating else layout.ins
    cores = ins + layout.outs
    slots = [*starts(ins), *starts(layout.outs, 0 if repeating else layout.inputs)]
    core_steps = len(cores)  # the steps of the trial axis come first
    operands = []
    for position, (core, slot) in enumerate(zip(cores, slots, strict=True)):
        operands.append(_Operand(w, position, core_steps, core, slot))
        core_steps += len(core)
    return operands[: len(ins)], operands[len(ins) :]
