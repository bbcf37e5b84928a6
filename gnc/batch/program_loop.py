"""The loop of a program in LLVM: many steps of a tile of W trials before the next tile, the state in the buffer.

    buffer   | state | other inputs | next state | what comes out of every step |       slots of W lanes, as in `tile`

`@loop(table, trials, steps)` is called with a table of five whole numbers in a row: where memory is, how many bytes lie
between trials and between steps (0: it is the same for all), its first slot, and how many numbers it has for one trial
and step, which lie side by side. The first row is that of the state, then come the inputs that stay, those of which
every step has its own, and last what comes out of every step.
"""

from __future__ import annotations

from gnc.batch.llvm_writer import Writer
from gnc.batch.program_code import step_function
from gnc.batch.tape import Tape
from gnc.batch.tile import declarations

COLUMNS = 5


def program_module(tape: Tape, results: list[int], state: int, rows: tuple[int, int], width: int) -> str:
    """Write the LLVM module of a program; `state` counts its numbers, `rows` the inputs that stay and that change."""
    w = Writer()
    w.head.append(f"  %buffer = alloca [{tape.inputs + len(results)} x <{width} x double>], align {8 * width}")
    w.do("%last = sub i64 %trials, 1")
    staying, changing = rows
    with w.loop("%trials", step=width) as tile:
        with w.loop(1 + staying) as row:
            _move(w, width, tile, "0", row, scatter=False)
        with w.loop("%steps") as step:
            with w.loop(changing) as row:
                _move(w, width, tile, step, w.let(f"add i64 {row}, {1 + staying}"), scatter=False)
            w.do("call void @step(ptr %buffer)")
            _move(w, width, tile, step, str(1 + staying + changing), scatter=True)
            new = w.let(f"getelementptr <{width} x double>, ptr %buffer, i64 {tape.inputs}")
            w.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %buffer, ptr {new}, i64 {8 * width * state}, i1 false)")
        _move(w, width, tile, "0", "0", scatter=True)
    w.do("call i32 @feclearexcept(i32 63)")  # a lost trial is NaN, not a warning
    calls = [f"declare void @call{i}(ptr)" for i in range(len(tape.calls))]
    copy = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    loop = w.function("@loop(ptr %table, i64 %trials, i64 %steps)")
    return "\n".join([*step_function(tape, results, width), *loop, *calls, copy, *declarations(width)])


def _move(w: Writer, width: int, tile: str, step: str, row: str, scatter: bool) -> None:
    """Copy what a row tells between memory and buffer; lanes beyond the last trial do as it does."""
    start = w.further("%table", row, 8 * COLUMNS)
    memory = w.let(f"load ptr, ptr {start}")
    trial_step, time_step, slot, size = (
        w.let(f"load i64, ptr {w.let(f'getelementptr i64, ptr {start}, i64 {column}')}") for column in range(1, COLUMNS)
    )
    now = w.further(memory, step, time_step)
    with w.loop(width) as lane:
        trial = w.smaller(w.let(f"add i64 {tile}, {lane}"), "%last")
        far = w.further(now, trial, trial_step)
        near = w.further("%buffer", slot, 8 * width)
        near = w.let(f"getelementptr double, ptr {near}, i64 {lane}")
        with w.loop(size) as i:
            there = w.let(f"getelementptr double, ptr {far}, i64 {i}")
            here = w.further(near, i, 8 * width)
            source, target = (here, there) if scatter else (there, here)
            w.do(f"store double {w.let(f'load double, ptr {source}')}, ptr {target}")
