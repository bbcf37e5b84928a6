"""Computing one tile of W trials on a buffer of W-wide slots, once or many times.

    buffer   | in 0 ... in n-1 | out 0 ... out m-1 |       or, repeated,   | in 0 ... in n-1 | count |

`@tile` is the tape as straight-line code (`vector_code`), or with calls (`program_code`). Repeated, its results go over
the first inputs of the lanes whose count is not yet reached.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnc.batch.layout import Layout
from gnc.batch.llvm_writer import Writer
from gnc.batch.program_code import calling_function
from gnc.batch.tape import Tape
from gnc.batch.vector_code import intrinsics, splat, tile_function

MOST_STEPS = 2.0**53  # a larger count is a mistake: the trial is lost


def callee_module(layout: Layout, tape: Tape, results: list[int], width: int, repeating: bool) -> str:
    """Write the LLVM module with the function `@loop(buffer)` of one tile, for programs of many kernels to call."""
    w = Writer()
    compute(w, layout, width, repeating)
    tile = tile_code(tape, results, width, repeating)
    return "\n".join([*tile, *w.function("@loop(ptr %buffer)"), *declarations(width)])


def tile_code(tape: Tape, results: list[int], width: int, repeating: bool, vectors: int = 1) -> Iterator[str]:
    """Write the function `@tile` of a kernel, or of one that calls others."""
    if tape.calls:
        return calling_function(tape, results, width, quick=True)
    return tile_function(tape, results, width, repeating, vectors)


def compute(w: Writer, layout: Layout, width: int, repeating: bool) -> None:
    """Write the computation of the tile in %buffer."""
    if repeating:
        _repeat(w, layout, width)
    else:
        compute_all(w, width)


def compute_all(w: Writer, width: int) -> None:
    """Write the computation of the tile in %buffer, once in all lanes."""
    w.do(f"call void @tile(ptr %buffer, <{width} x i1> {splat('i1 true', width)})")


def _repeat(w: Writer, layout: Layout, width: int) -> None:
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


def declarations(width: int, lanes: int | None = None) -> Iterator[str]:
    """Declare the functions that loops call, for tiles of `width` trials in vectors of `lanes`, or in one."""
    yield from intrinsics(lanes or width)
    yield f"declare double @llvm.vector.reduce.fmax.v{width}f64(<{width} x double>)"
    yield "declare i64 @llvm.smin.i64(i64, i64)"
    yield "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    yield "declare i32 @feclearexcept(i32)"
    yield "declare ptr @aligned_alloc(i64, i64)"
    yield "declare void @free(ptr)"
