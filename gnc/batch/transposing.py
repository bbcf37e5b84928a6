"""Moving a whole tile between memory, where the numbers of a trial lie side by side, and slots, where trials do.

Squares of four trials by four numbers, or what is left of them, are transposed in registers, not moved one by one.
"""

from __future__ import annotations

from gnc.batch.llvm_writer import Writer

SIDE = 4
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


def _at(w: Writer, numbers: str, i: str) -> str:
    return w.let(f"getelementptr double, ptr {numbers}, i64 {i}")


def _gather(w: Writer, trials: list[str], slots: str, size: int, width: int) -> None:
    """Copy up to four numbers of each trial to as many slots."""
    rows = [_resized(w, w.let(f"load <{size} x double>, ptr {trial}, align 8"), size, SIDE) for trial in trials]
    squares = [_transposed(w, rows[first : first + SIDE]) for first in range(0, width, SIDE)]
    for i in range(size):
        value = _joined(w, [square[i] for square in squares], SIDE)
        w.do(f"store <{width} x double> {value}, ptr {w.further(slots, str(i), 8 * width)}, align {8 * width}")


def _scatter(w: Writer, trials: list[str], slots: str, size: int, width: int) -> None:
    """Copy up to four slots to as many numbers of each trial."""
    values = [
        w.let(f"load <{width} x double>, ptr {w.further(slots, str(i), 8 * width)}, align {8 * width}")
        for i in range(size)
    ]
    for first in range(0, width, SIDE):
        columns = [_part(w, value, width, first) for value in values] + ["poison"] * (SIDE - size)
        for trial, row in zip(trials[first : first + SIDE], _transposed(w, columns), strict=True):
            w.do(f"store <{size} x double> {_resized(w, row, SIDE, size)}, ptr {trial}, align 8")


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
