"""Moving a whole tile between memory, where the numbers of a trial lie side by side, and slots, where trials do.

Squares of four trials by four numbers, or what is left of them, are transposed in registers, not moved one by one.
"""

from __future__ import annotations

import contextlib

from gnc.batch.llvm_writer import Writer

SIDE = 4
MASKED = (
    f"declare <{SIDE} x double> @llvm.masked.load.v{SIDE}f64.p0(ptr, i32, <{SIDE} x i1>, <{SIDE} x double>)",
    f"declare void @llvm.masked.store.v{SIDE}f64.p0(<{SIDE} x double>, ptr, i32, <{SIDE} x i1>)",
)
_EVEN, _ODD, _LOW, _HIGH = (0, 4, 2, 6), (1, 5, 3, 7), (0, 1, 4, 5), (2, 3, 6, 7)


def move_tile(w: Writer, memory: str, trial_step: str, slots: str, size: int, width: int, scatter: bool) -> None:
    """Copy the numbers of `width` trials from memory to slots, or back; `size` numbers of each trial."""
    trials = [w.further(memory, str(lane), trial_step) for lane in range(width)]
    rest = size % SIDE
    whole = size - rest
    if whole:
        move_squares(w, trials, slots, whole, width, scatter)
    if rest:
        move = _scatter if scatter else _gather
        move(w, [_at(w, trial, str(whole)) for trial in trials], w.further(slots, str(whole), 8 * width), rest, width)


def move_squares(w: Writer, trials: list[str], slots: str, size: str | int, width: int, scatter: bool) -> None:
    """Copy a multiple of SIDE numbers of each trial, whose pointers are given."""
    move = _scatter if scatter else _gather
    with w.loop(size, step=SIDE) as i:
        move(w, [_at(w, trial, i) for trial in trials], w.further(slots, i, 8 * width), SIDE, width)


def move_rest(w: Writer, trials: list[str], slots: str, size: str, width: int, scatter: bool) -> None:
    """Copy what is left of a number of each trial, up to SIDE - 1, that is known when the code runs."""
    rest, whole = w.let(f"and i64 {size}, {SIDE - 1}"), w.let(f"and i64 {size}, {-SIDE}")
    one = w.let(f"insertelement <{SIDE} x i64> poison, i64 {rest}, i64 0")
    counts = w.let(f"shufflevector <{SIDE} x i64> {one}, <{SIDE} x i64> poison, <{SIDE} x i32> zeroinitializer")
    there = w.let(f"icmp ult <{SIDE} x i64> <{', '.join(f'i64 {i}' for i in range(SIDE))}>, {counts}")
    with w.when(w.let(f"icmp ne i64 {rest}, 0")):
        places, near = [_at(w, trial, whole) for trial in trials], w.further(slots, whole, 8 * width)
        if scatter:
            _scatter(w, places, near, SIDE, width, there)
        else:
            _gather(w, places, near, SIDE, width, (there, rest))


def _at(w: Writer, numbers: str, i: str) -> str:
    return w.let(f"getelementptr double, ptr {numbers}, i64 {i}")


def _gather(
    w: Writer, trials: list[str], slots: str, size: int, width: int, part: tuple[str, str] | None = None
) -> None:
    """Copy up to four numbers of each trial to as many slots; of those only a part: which, and how many."""
    if part is None:
        rows = [_resized(w, w.let(f"load <{size} x double>, ptr {trial}, align 8"), size, SIDE) for trial in trials]
    else:
        given = f"i32 8, <{SIDE} x i1> {part[0]}, <{SIDE} x double> zeroinitializer"
        rows = [w.let(f"call <{SIDE} x double> @llvm.masked.load.v{SIDE}f64.p0(ptr {t}, {given})") for t in trials]
    squares = [_transposed(w, rows[first : first + SIDE]) for first in range(0, width, SIDE)]
    for i in range(size if part is None else SIDE - 1):
        value = _joined(w, [square[i] for square in squares], SIDE)
        with contextlib.nullcontext() if part is None else w.when(w.let(f"icmp ugt i64 {part[1]}, {i}")):
            w.do(f"store <{width} x double> {value}, ptr {w.further(slots, str(i), 8 * width)}, align {8 * width}")


def _scatter(w: Writer, trials: list[str], slots: str, size: int, width: int, part: str | None = None) -> None:
    """Copy up to four slots to as many numbers of each trial, or to a part of those."""
    values = [
        w.let(f"load <{width} x double>, ptr {w.further(slots, str(i), 8 * width)}, align {8 * width}")
        for i in range(size)
    ]
    for first in range(0, width, SIDE):
        columns = [_part(w, value, width, first) for value in values] + ["poison"] * (SIDE - size)
        for trial, row in zip(trials[first : first + SIDE], _transposed(w, columns), strict=True):
            if part is None:
                w.do(f"store <{size} x double> {_resized(w, row, SIDE, size)}, ptr {trial}, align 8")
            else:
                given = f"<{SIDE} x double> {row}, ptr {trial}, i32 8, <{SIDE} x i1> {part}"
                w.do(f"call void @llvm.masked.store.v{SIDE}f64.p0({given})")


def _transposed(w: Writer, rows: list[str]) -> list[str]:
    """Transpose a square of four vectors of four."""
    a, b, c, d = rows
    even, odd = (_shuffled(w, a, b, SIDE, lanes) for lanes in (_EVEN, _ODD))
    even_too, odd_too = (_shuffled(w, c, d, SIDE, lanes) for lanes in (_EVEN, _ODD))
    return [_shuffled(w, *pair, SIDE, lanes) for lanes in (_LOW, _HIGH) for pair in ((even, even_too), (odd, odd_too))]


def _joined(w: Writer, parts: list[str], size: int) -> str:
    """Put vectors one behind the other, a power of two of them."""
    while len(parts) > 1:
        size *= 2
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [_shuffled(w, a, b, size // 2, tuple(range(size))) for a, b in pairs]
    return parts[0]


def _part(w: Writer, value: str, width: int, first: int) -> str:
    """Return four lanes of a vector."""
    return _shuffled(w, value, "poison", width, tuple(range(first, first + SIDE)))


def _resized(w: Writer, value: str, size: int, new: int) -> str:
    """Return a vector with lanes left off or with any lanes added."""
    return _shuffled(w, value, "poison", size, tuple(i if i < size else -1 for i in range(new)))


def _shuffled(w: Writer, a: str, b: str, size: int, lanes: tuple[int, ...]) -> str:
    """Choose lanes of two vectors, counted through both; -1 is any."""
    mask = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in lanes)
    return w.let(f"shufflevector <{size} x double> {a}, <{size} x double> {b}, <{len(lanes)} x i32> <{mask}>")
