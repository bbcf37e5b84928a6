"""Computing one tile of W trials, once or many times.

`@tile` (see `vector_code`) is the tape as straight-line code, or with calls (`program_code`). Repeated, it runs as
often as the largest count of the tile's trials says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gnc.batch.layout import Layout
from gnc.batch.llvm_writer import Writer
from gnc.batch.program_code import calling_function
from gnc.batch.tape import Tape
from gnc.batch.vector_code import intrinsics, places, pointers, splat, tile_function

MOST_STEPS = 2.0**53  # a larger count is a mistake: the trial is lost


def callee_module(layout: Layout, tape: Tape, results: list[int | None], width: int, repeating: bool) -> str:
    """Write the LLVM module with the function `@loop` of one tile, for others to call; results may be left out.

    Its arguments are the pointers of `@tile`, and of a repeated kernel one more, to the counts.
    """
    w, names = Writer(), pointers(layout, repeating)
    compute(w, layout, width, names, "%count" if repeating else None)
    given = ", ".join(f"ptr {name}" for name in (*names, *(["%count"] if repeating else [])))
    tile = tile_code(layout, tape, results, width, repeating)
    return "\n".join([*tile, *w.function(f"@loop({given})"), *declarations(width)])


def tile_code(
    layout: Layout, tape: Tape, results: Sequence[int | None], width: int, repeating: bool, vectors: int = 1
) -> Iterator[str]:
    """Write the function `@tile` of a kernel, or of one that calls others."""
    if tape.calls:
        pairs = zip(results, places("out", layout.outs), strict=True)
        entries, outs = [one for one in results if one is not None], [out for one, out in pairs if one is not None]
        return calling_function(
            tape, entries, width, pointers(layout, False), places("in", layout.ins), outs, quick=True
        )
    return tile_function(layout, tape, results, width, repeating, vectors)


def compute(w: Writer, layout: Layout, width: int, given: list[str], counts: str | None) -> None:
    """Write the computation of a tile with pointers to its arrays, and to its counts if it is repeated."""
    if counts is None:
        run_tile(w, width, given, splat("i1 true", width))
    else:
        _repeat(w, layout, width, given, counts)


def run_tile(w: Writer, width: int, given: list[str], active: str) -> None:
    """Write a call of `@tile`."""
    w.do(f"call void @tile({', '.join(f'ptr {pointer}' for pointer in given)}, <{width} x i1> {active})")


def _repeat(w: Writer, layout: Layout, width: int, given: list[str], counts_at: str) -> None:
    """Run the tile as often as the largest count of its lanes says; each lane stops at its own, or is lost."""
    vector = f"<{width} x double>"
    asked = w.let(f"load {vector}, ptr {counts_at}, align {8 * width}")
    enough = w.let(f"fcmp oge {vector} {asked}, {splat('double 0.0', width)}")
    sane = w.let(f"fcmp ole {vector} {asked}, {splat(f'double {MOST_STEPS:e}', width)}")
    good = w.let(f"and <{width} x i1> {enough}, {sane}")
    counts = w.let(f"select <{width} x i1> {good}, {vector} {asked}, {vector} {splat('double 0.0', width)}")
    largest = w.let(f"call double @llvm.vector.reduce.fmax.v{width}f64({vector} {counts})")
    with w.loop(w.let(f"fptosi double {largest} to i64")) as i:
        one = w.let(f"insertelement {vector} poison, double {w.let(f'sitofp i64 {i} to double')}, i64 0")
        all_lanes = f"<{width} x i32> zeroinitializer"
        steps = w.let(f"shufflevector {vector} {one}, {vector} poison, {all_lanes}")
        active = w.let(f"fcmp olt {vector} {steps}, {counts}")
        run_tile(w, width, given, active)
    all_good = w.let(f"icmp eq i{width} {w.let(f'bitcast <{width} x i1> {good} to i{width}')}, -1")
    with w.when(w.let(f"xor i1 {all_good}, true")):
        _lose(w, layout, width, given, good)


def _lose(w: Writer, layout: Layout, width: int, given: list[str], good: str) -> None:
    """Write NaN for the results of lanes that are not good."""
    vector = f"<{width} x double>"
    for pointer, core in zip(given[: len(layout.outs)], layout.outs, strict=True):
        with w.loop(math.prod(core)) as number:
            result = w.let(f"getelementptr {vector}, ptr {pointer}, i64 {number}")
            value = w.let(f"load {vector}, ptr {result}, align {8 * width}")
            lost = splat("double 0x7FF8000000000000", width)
            kept = w.let(f"select <{width} x i1> {good}, {vector} {value}, {vector} {lost}")
            w.do(f"store {vector} {kept}, ptr {result}, align {8 * width}")


def declarations(width: int, lanes: int | None = None) -> Iterator[str]:
    """Declare the functions that loops call, for tiles of `width` trials in vectors of `lanes`, or in one."""
    yield from intrinsics(lanes or width)
    yield f"declare double @llvm.vector.reduce.fmax.v{width}f64(<{width} x double>)"
    yield "declare i64 @llvm.smin.i64(i64, i64)"
    yield "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    yield "declare i32 @feclearexcept(i32)"
    yield "declare ptr @aligned_alloc(i64, i64)"
    yield "declare void @free(ptr)"
