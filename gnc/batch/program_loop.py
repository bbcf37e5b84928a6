"""The loop of programs in LLVM: many steps of a tile of W trials before the next tile, the state in the buffer.

    buffer   | state | other inputs | what comes out of every step |       slots of W lanes, as in `tile`

`@loop(table, trials, steps)` is the same for all programs of a width. It gets a table of five whole numbers in a row.
The first row is (the program's tile, the buffer, how many inputs stay, how many change, how many pieces of the state
are touched). The others tell where memory is, how many bytes lie between trials and between steps (0: it is the same
for all), its first slot, and how many numbers it has for one trial and step, which lie side by side: the pieces of the
state, the inputs that stay, those of which every step has its own, and last what comes out of every step. The loop
leaves the addresses of these two moved on by the steps taken, so that it can be called again for the next.
`@tile(buffer)` is the program itself, which leaves the next state in place of the state.
"""

from __future__ import annotations

from gnc.batch.llvm_writer import Writer
from gnc.batch.program_code import calling_function
from gnc.batch.tape import Tape
from gnc.batch.tile import declarations, run_tile
from gnc.batch.transposing import MASKED, SIDE, move_rest, move_squares
from gnc.batch.vector_code import splat

COLUMNS = 5
CACHE_LINE = 8  # numbers
PREFETCH = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"


def program_module(tape: Tape, results: list[int], state: int, width: int) -> str:
    """Write the LLVM module with `@loop`, here the tile of a program, whose first results are the state."""
    slots = [("%buffer", slot) for slot in range(tape.inputs + len(results) - state)]
    ins, outs = slots[: tape.inputs], slots[:state] + slots[tape.inputs :]
    tile = calling_function(tape, results, width, ["%buffer"], ins, outs, quick=False)
    w = Writer()
    run_tile(w, width, ["%buffer"], splat("i1 true", width))
    return "\n".join([*tile, *w.function("@loop(ptr %buffer)"), *declarations(width)])


def loop_of_programs(width: int) -> str:
    """Write the LLVM module with the loop of all programs."""
    w = Writer()
    tile_function, buffer = (w.let(f"load ptr, ptr {_cell(w, column)}") for column in (0, 1))
    staying, changing, pieces = (w.let(f"load i64, ptr {_cell(w, column)}") for column in (2, 3, 4))
    fixed = w.let(f"add i64 {pieces}, {staying}")
    w.do("%last = sub i64 %trials, 1")
    w.do(f"%buffer = getelementptr i8, ptr {buffer}, i64 0")
    made = _Row(w, w.let(f"add i64 {w.let(f'add i64 {fixed}, {changing}')}, 1"))
    with w.loop("%trials", step=width) as tile:
        first = w.let(f"icmp eq i64 {tile}, 0")
        with w.loop(fixed) as number:
            row = _Row(w, w.let(f"add i64 {number}, 1"))
            with w.when(w.let(f"or i1 {first}, {row.differs}")):  # what all trials share is in the buffer already
                row.gather(w, width, tile, "0")
        with w.loop("%steps") as step:
            with w.loop(changing) as number:
                _Row(w, w.let(f"add i64 {w.let(f'add i64 {number}, {fixed}')}, 1")).gather(w, width, tile, step)
            w.do(f"call void {tile_function}(ptr %buffer)")
            made.scatter(w, width, tile, step)
        with w.loop(pieces) as number:
            _Row(w, w.let(f"add i64 {number}, 1")).scatter(w, width, tile, "0")
    with w.loop(w.let(f"add i64 {changing}, 1")) as number:
        _Row(w, w.let(f"add i64 {w.let(f'add i64 {number}, {fixed}')}, 1")).move_on(w, "%steps")
    w.do("call i32 @feclearexcept(i32 63)")  # a lost trial is NaN, not a warning
    return "\n".join(
        [*w.function("@loop(ptr %table, i64 %trials, i64 %steps)"), *declarations(width), PREFETCH, *MASKED]
    )


def _cell(w: Writer, column: int) -> str:
    return w.let(f"getelementptr i64, ptr %table, i64 {column}")


class _Row:
    """A row of the table."""

    def __init__(self, w: Writer, number: str) -> None:
        self._start = start = w.further("%table", number, 8 * COLUMNS)
        self.memory = w.let(f"load ptr, ptr {start}")
        self.trial_step, self.time_step, self.slot, self.size = (
            w.let(f"load i64, ptr {w.let(f'getelementptr i64, ptr {start}, i64 {column}')}")
            for column in range(1, COLUMNS)
        )
        self.differs = w.let(f"icmp ne i64 {self.trial_step}, 0")  # from trial to trial

    def gather(self, w: Writer, width: int, tile: str, step: str) -> None:
        """Copy from memory to the buffer."""
        with w.when(self.differs):
            self._each_lane(w, width, tile, step, scatter=False)
        with w.when(w.let(f"xor i1 {self.differs}, true")):
            self._all_lanes(w, width, step)

    def move_on(self, w: Writer, steps: str) -> None:
        """Leave in the table where the steps after so many begin."""
        w.do(f"store ptr {w.further(self.memory, steps, self.time_step)}, ptr {self._start}")

    def scatter(self, w: Writer, width: int, tile: str, step: str) -> None:
        """Copy from the buffer to memory."""
        self._each_lane(w, width, tile, step, scatter=True)

    def _all_lanes(self, w: Writer, width: int, step: str) -> None:
        far, near = w.further(self.memory, step, self.time_step), w.further("%buffer", self.slot, 8 * width)
        vector = f"<{width} x double>"
        with w.loop(self.size) as i:
            value = w.let(f"load double, ptr {w.let(f'getelementptr double, ptr {far}, i64 {i}')}")
            one = w.let(f"insertelement {vector} poison, double {value}, i64 0")
            all_lanes = w.let(f"shufflevector {vector} {one}, {vector} poison, <{width} x i32> zeroinitializer")
            w.do(f"store {vector} {all_lanes}, ptr {w.further(near, i, 8 * width)}, align {8 * width}")

    def _each_lane(self, w: Writer, width: int, tile: str, step: str, scatter: bool) -> None:
        """Go through the lanes, in squares that are transposed; lanes beyond the last trial do as it does."""
        now, slot = w.further(self.memory, step, self.time_step), w.further("%buffer", self.slot, 8 * width)
        numbers = [w.smaller(w.let(f"add i64 {tile}, {lane}"), "%last") for lane in range(width)]
        trials = [w.further(now, number, self.trial_step) for number in numbers]
        if width % SIDE:
            self._one_by_one(w, width, trials, slot, scatter)
            return
        if not scatter:
            self._announce(w, width, trials)
        move_squares(w, trials, slot, w.let(f"and i64 {self.size}, {-SIDE}"), width, scatter)
        move_rest(w, trials, slot, self.size, width, scatter)

    def _announce(self, w: Writer, width: int, trials: list[str]) -> None:
        """Have the numbers of the next tile fetched while this one is computed; beyond the end that does no harm."""
        for trial in trials:
            following = w.further(trial, str(width), self.trial_step)
            with w.loop(self.size, step=CACHE_LINE) as i:
                there = w.let(f"getelementptr double, ptr {following}, i64 {i}")
                w.do(f"call void @llvm.prefetch.p0(ptr {there}, i32 0, i32 2, i32 1)")

    def _one_by_one(self, w: Writer, width: int, trials: list[str], slot: str, scatter: bool) -> None:
        """Copy number by number."""
        for lane, trial in enumerate(trials):
            near = w.let(f"getelementptr double, ptr {slot}, i64 {lane}")
            with w.loop(self.size) as i:
                there, here = w.let(f"getelementptr double, ptr {trial}, i64 {i}"), w.further(near, i, 8 * width)
                source, target = (here, there) if scatter else (there, here)
                w.do(f"store double {w.let(f'load double, ptr {source}')}, ptr {target}")
