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
import itertools
import math
from collections.abc import Iterator

from gnc.batch.layout import Core, Layout
from gnc.batch.tape import Tape
from gnc.batch.vector_code import intrinsics, splat, tile_function

MOST_STEPS = 2.0**53  # a larger count is a mistake: the trial is lost


def loop_module(layout: Layout, tape: Tape, results: list[int], width: int, repeating: bool) -> str:
    """Write the LLVM module with the gufunc loop `@loop` of a kernel."""
    tile, loop = tile_function(tape, results, width, repeating), _loop(layout, width, repeating)
    return "\n".join([*tile, *loop, *_declarations(width)])


class _Writer:
    """Lines of one function; counted loops keep their counters in memory, which LLVM turns into registers."""

    def __init__(self) -> None:
        self.head: list[str] = []  # what belongs at the function's entry
        self.body: list[str] = []
        self._names = (f"x{i}" for i in itertools.count())

    def let(self, instruction: str) -> str:
        """Name the result of an instruction."""
        name = f"%{next(self._names)}"
        self.body.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Write an instruction without a result."""
        self.body.append(f"  {instruction}")

    def label(self, name: str) -> None:
        """Begin a block, reached from the one before too."""
        self.body += [f"  br label %{name}", f"{name}:"]

    @contextlib.contextmanager
    def loop(self, stop: str | int, step: int = 1) -> Iterator[str]:
        """Write a loop over 0, step, 2 step ... below stop; gives the counter's name."""
        name = next(self._names)
        self.head.append(f"  %{name} = alloca i64")
        self.do(f"store i64 0, ptr %{name}")
        self.label(f"{name}.test")
        i = self.let(f"load i64, ptr %{name}")
        go = self.let(f"icmp slt i64 {i}, {stop}")
        self.body += [f"  br i1 {go}, label %{name}.do, label %{name}.end", f"{name}.do:"]
        yield i
        following = self.let(f"add i64 {i}, {step}")
        self.body += [f"  store i64 {following}, ptr %{name}", f"  br label %{name}.test", f"{name}.end:"]

    @contextlib.contextmanager
    def when(self, test: str) -> Iterator[None]:
        """Write a block that runs only if the test holds."""
        name = next(self._names)
        self.body += [f"  br i1 {test}, label %{name}.then, label %{name}.end", f"{name}.then:"]
        yield
        self.label(f"{name}.end")


class _Operand:
    """One argument or result of the gufunc: its memory, and its place in the buffer."""

    def __init__(self, w: _Writer, position: int, core_steps: int, core: Core, slot: int):
        def read(kind: str, array: str, i: int) -> str:
            return w.let(f"load {kind}, ptr {w.let(f'getelementptr {kind}, ptr {array}, i64 {i}')}")

        self.core, self.slot = core, slot
        self.memory = read("ptr", "%args", position)
        self.trial_step = read("i64", "%steps", position)
        self.steps = [read("i64", "%steps", core_steps + axis) for axis in range(len(core))]

    def move(self, w: _Writer, width: int, tile: str, lanes: str | int, scatter: bool) -> None:
        """Copy a tile between memory and buffer; lanes beyond the last trial repeat it."""
        with w.loop(lanes) as lane, contextlib.ExitStack() as loops:
            trial = w.let(f"call i64 @llvm.smin.i64(i64 {w.let(f'add i64 {tile}, {lane}')}, i64 %last)")
            far, number = _at(w, self.memory, trial, self.trial_step), "0"
            for size, step in zip(self.core, self.steps, strict=True):
                i = loops.enter_context(w.loop(size))
                far = _at(w, far, i, step)
                number = w.let(f"add i64 {w.let(f'mul i64 {number}, {size}')}, {i}")
            slot = w.let(f"mul i64 {w.let(f'add i64 {number}, {self.slot}')}, {width}")
            near = w.let(f"getelementptr double, ptr %buffer, i64 {w.let(f'add i64 {slot}, {lane}')}")
            source, target = (near, far) if scatter else (far, near)
            w.do(f"store double {w.let(f'load double, ptr {source}')}, ptr {target}")


def _at(w: _Writer, memory: str, index: str, step: str) -> str:
    """Return the address index * step bytes further on."""
    return w.let(f"getelementptr i8, ptr {memory}, i64 {w.let(f'mul i64 {index}, {step}')}")


def _loop(layout: Layout, width: int, repeating: bool) -> Iterator[str]:
    """Write the function NumPy calls: (args, dims, steps, data)."""
    w = _Writer()
    slots = layout.inputs + layout.outputs + 1
    w.head.append(f"  %buffer = alloca [{slots} x <{width} x double>], align {8 * width}")
    trials = w.let("load i64, ptr %dims")
    w.do(f"%last = sub i64 {trials}, 1")
    if not repeating:  # lanes without a trial compute too; what they start from does not matter
        w.do(f"call void @llvm.memset.p0.i64(ptr %buffer, i8 0, i64 {slots * width * 8}, i1 false)")
    ins, outs = _operands(w, layout, repeating)
    with w.loop(trials, step=width) as tile:
        lanes = width if repeating else _lanes(w, trials, tile, width)
        for operand in ins:
            first = w.let(f"icmp eq i64 {tile}, 0")
            varies = w.let(f"icmp ne i64 {operand.trial_step}, 0")
            with w.when(w.let(f"or i1 {first}, {varies}") if not repeating else "true"):
                operand.move(w, width, tile, lanes, scatter=False)
        if repeating:
            _repeat(w, layout, width)
        else:
            w.do(f"call void @tile(ptr %buffer, <{width} x i1> {splat('i1 true', width)})")
        for operand in outs:
            operand.move(w, width, tile, lanes, scatter=True)
    w.do("call i32 @feclearexcept(i32 63)")  # a lost trial is NaN, not a warning
    yield "define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) {"
    yield from (*w.head, *w.body, "  ret void", "}")


def _lanes(w: _Writer, trials: str, tile: str, width: int) -> str:
    """Count the trials of a tile: few trials should not pay for gathering many."""
    return w.let(f"call i64 @llvm.smin.i64(i64 {w.let(f'sub i64 {trials}, {tile}')}, i64 {width})")


def _repeat(w: _Writer, layout: Layout, width: int) -> None:
    """Run the tile as often as the largest count of its lanes says; each lane stops at its own, or is lost."""
    vector = f"<{width} x double>"
    slot = w.let(f"getelementptr {vector}, ptr %buffer, i64 {layout.inputs}")
    given = w.let(f"load {vector}, ptr {slot}, align {8 * width}")
    enough = w.let(f"fcmp oge {vector} {given}, {splat('double 0.0', width)}")
    sane = w.let(f"fcmp ole {vector} {given}, {splat(f'double {MOST_STEPS:e}', width)}")
    good = w.let(f"and <{width} x i1> {enough}, {sane}")
    counts = w.let(f"select <{width} x i1> {good}, {vector} {given}, {vector} {splat('double 0.0', width)}")
    largest = w.let(f"call double @llvm.vector.reduce.fmax.v{width}f64({vector} {counts})")
    with w.loop(w.let(f"fptosi double {largest} to i64")) as i:
        one = w.let(f"insertelement {vector} poison, double {w.let(f'sitofp i64 {i} to double')}, i64 0")
        all_lanes = f"<{width} x i32> zeroinitializer"
        steps = w.let(f"shufflevector {vector} {one}, {vector} poison, {all_lanes}")
        active = w.let(f"fcmp olt {vector} {steps}, {counts}")
        w.do(f"call void @tile(ptr %buffer, <{width} x i1> {active})")
    with w.loop(layout.outputs) as number:
        result = w.let(f"getelementptr {vector}, ptr %buffer, i64 {number}")
        value = w.let(f"load {vector}, ptr {result}, align {8 * width}")
        lost = splat("double 0x7FF8000000000000", width)
        kept = w.let(f"select <{width} x i1> {good}, {vector} {value}, {vector} {lost}")
        w.do(f"store {vector} {kept}, ptr {result}, align {8 * width}")


def _operands(w: _Writer, layout: Layout, repeating: bool) -> tuple[list[_Operand], list[_Operand]]:
    """Give the arguments and the results, with their places in NumPy's tables and in the buffer.

    The counter of a repeating loop is one more argument; its results take the slots of the first inputs.
    """
    ins = (*layout.ins, ()) if repeating else layout.ins
    cores = ins + layout.outs
    slots = [*_starts(ins, 0), *_starts(layout.outs, 0 if repeating else layout.inputs)]
    core_steps = len(cores)  # the steps of the trial axis come first
    operands = []
    for position, (core, slot) in enumerate(zip(cores, slots, strict=True)):
        operands.append(_Operand(w, position, core_steps, core, slot))
        core_steps += len(core)
    return operands[: len(ins)], operands[len(ins) :]


def _starts(cores: tuple[Core, ...], first: int) -> list[int]:
    """Return the first slot of each array when they stand one after the other."""
    return list(itertools.accumulate(map(math.prod, cores[:-1]), initial=first))


def _declarations(width: int) -> Iterator[str]:
    yield from intrinsics(width)
    yield f"declare double @llvm.vector.reduce.fmax.v{width}f64(<{width} x double>)"
    yield "declare i64 @llvm.smin.i64(i64, i64)"
    yield "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    yield "declare i32 @feclearexcept(i32)"
