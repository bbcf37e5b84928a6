"""`tangent`: a kernel with its derivative along one direction; many directions are many trials.

    tangent(f)(x, dx) = f(x), f'(x) dx

A Jacobian of ninety directions is too much for one kernel (`derivative.jacobian` writes every slope); its tangent has
two to three times the operations of the kernel, however many directions there are. `tangent_tape` does the same with a
tape of calls, where every kernel is replaced by its tangent. A trial of a tape may carry several slopes, which share
the values: along each of these ways only what moves in it costs. Branches are those of the values.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnc.batch.dual import Dual, level_above
from gnc.batch.evaluation import constant_value
from gnc.batch.kernel import Kernel, core_array
from gnc.batch.layout import Layout
from gnc.batch.scalar import TESTS, Operand, operate
from gnc.batch.tape import Call, Entry, Tape

VALUE = -1
STILL = dict.fromkeys((*TESTS, "floor", "rint"), slice(0))
MOVING = STILL | {"where": slice(1, None), "copysign": slice(1)}  # operands with which an operation moves; else all
Place = tuple[int, int]  # the number of an argument; VALUE, or the way along which its slope is meant
Ways = tuple[tuple[bool, ...], ...]  # for every way, which arguments move
Slopes = dict[int, Operand]  # by the ways along which a number moves


def tangent(kernel: Kernel, wrt: Sequence[str] | None = None) -> Kernel:
    """Return the kernel of values and slopes along one direction.

    It takes the arguments and, named `d_x`, the slopes of those in `wrt` (all, if None); it returns all results, then
    all their slopes. Arguments come before slopes, those that `repeat` changes first: `layout.names` has the order.
    """
    names = kernel.layout.names
    for name in wrt or ():
        if name not in names:
            raise ValueError(f"wrt: {kernel.__name__} has no argument {name!r}, only {', '.join(names)}")
    return _tangent(kernel, (tuple(wrt is None or name in wrt for name in names),))


def _order(kernel: Kernel, ways: Ways) -> list[Place]:
    """Return what the tangent takes; a kernel that can be repeated changes its first arguments and their slopes."""
    first, count = len(kernel.layout.outs) if kernel.repeatable else 0, len(kernel.layout.ins)
    order = [(i, way) for way in range(VALUE, len(ways)) for i in range(first)]
    rest = [(i, way) for way in range(VALUE, len(ways)) for i in range(first, count)]
    return order + [(i, way) for i, way in rest if way == VALUE or ways[way][i]]


@functools.cache
def _tangent(kernel: Kernel, ways: Ways) -> Kernel:
    ins, outs, order, every = kernel.layout.ins, kernel.layout.outs, _order(kernel, ways), len(ways)

    def function(*args: Any) -> Any:
        given = {place: _flat(x) for place, x in zip(order, args, strict=True)}
        level, duals = level_above([x for flat in given.values() for x in flat]), []
        for i, core in enumerate(ins):
            moved = {way: given[i, way] for way in range(every) if (i, way) in given}
            slopes = [{way: dx[j] for way, dx in moved.items()} for j in range(math.prod(core))]
            numbers = [Dual(x, dx, level) if dx else x for x, dx in zip(given[i, VALUE], slopes, strict=True)]
            duals.append(core_array(iter(numbers), core))
        results = kernel.one(duals)
        made = [[_split(x, level) for x in _flat(y)] for y in (results if len(outs) > 1 else (results,))]
        sides = [(way, y, core) for way in range(VALUE, every) for y, core in zip(made, outs, strict=True)]
        return tuple(
            core_array(iter([x if way == VALUE else dx.get(way, 0.0) for x, dx in y]), c) for way, y, c in sides
        )

    function.__name__ = function.__qualname__ = f"{kernel.__name__}_tangent"
    function.__doc__ = f"Return the results of {kernel.__name__} and their slopes along one direction."
    names = tuple(f"{_prefix(way, every)}{kernel.layout.names[i]}" for i, way in order)
    layout = Layout(names, tuple(ins[i] for i, _ in order), outs * (1 + every))
    return _WithTape(function, layout, kernel, order) if kernel.tape[0].calls else Kernel(function, layout)


def _prefix(way: int, every: int) -> str:
    return "" if way == VALUE else "d_" if every == 1 else f"d{way}_"


class _WithTape(Kernel):
    """The tangent of an assembly: its calls are those of tangents."""

    def __init__(self, function: Any, layout: Layout, kernel: Kernel, order: list[Place]) -> None:
        super().__init__(function, layout)
        self._alone = lambda *args: None
        self._kernel, self._order = kernel, order

    @functools.cached_property
    def tape(self) -> tuple[Tape, list[int]]:
        """The recorded calls and the entries that are the results."""
        new, old, results = Tape(literal=True), *self._kernel.tape
        ends = list(itertools.accumulate(map(math.prod, self._kernel.layout.ins), initial=0))
        values: dict[int, Operand] = {}
        slopes: dict[int, Slopes] = {}
        for i, way in self._order:
            for slot in range(ends[i], ends[i + 1]):
                if way == VALUE:
                    values[slot] = new.input()
                else:
                    slopes.setdefault(slot, {})[way] = new.input()
        x, dx = tangent_tape(old, results, new, values, slopes)
        every = len(self.layout.outs) // len(self._kernel.layout.outs) - 1
        return new, [new.index(y) for y in (*x, *(slope.get(way, 0.0) for way in range(every) for slope in dx))]


def tangent_tape(
    old: Tape, results: Sequence[int], new: Tape, values: dict[int, Operand], slopes: dict[int, Slopes]
) -> tuple[list[Operand], list[Slopes]]:
    """Write a tape and its derivatives onto a new one; return the results and their slopes there.

    `values` and `slopes` are those of the old tape's inputs, by slot; an input without slopes does not move.
    """
    x: dict[int, Any] = {}  # of each entry; of a call, the list of its results
    dx: dict[int, Any] = {}
    for index in sorted(old.needed(results)):
        entry = old.entries[index]
        if entry.op == "input":
            x[index], dx[index] = values[entry.operands[0]], slopes.get(entry.operands[0], {})
        elif entry.op == "constant":
            x[index], dx[index] = constant_value(entry), {}
        elif entry.op == "part":
            x[index], dx[index] = (y[entry.operands[0]][int(entry.constant)] for y in (x, dx))
        elif entry.op == "call":
            x[index], dx[index] = _called(old, entry, new, x, dx)
        else:
            x[index] = operate(entry.op, *[x[i] for i in entry.operands])
            dual = operate(entry.op, *[Dual(x[i], dx[i], 1) if dx[i] else x[i] for i in entry.operands])
            dx[index] = dual.slopes if isinstance(dual, Dual) else {}
    return [x[i] for i in results], [dx[i] for i in results]


def _called(old: Tape, entry: Entry, new: Tape, x: dict[int, Any], dx: dict[int, Any]) -> tuple[list[Any], list[Any]]:
    """Write the call of a kernel, or of its tangent along the ways in which any result moves."""
    kernel, repeating, masked = old.calls[int(entry.constant)]
    layout, parts, needs = kernel.layout, _parts(kernel, entry), _needs(kernel, repeating)
    used = functools.reduce(operator.or_, needs, 0)
    moving = {}
    for way in sorted({way for part in parts for i in part for way in dx[i]}):
        active = tuple(used >> one & 1 > 0 and any(way in dx[i] for i in part) for one, part in enumerate(parts))
        if any(active):
            moving[way] = active
    ways = sorted(moving, key=lambda way: moving[way], reverse=True)  # alike calls have one twin
    patterns = tuple(moving[way] for way in ways)
    order = _order(kernel, patterns) if ways else [(i, VALUE) for i in range(len(parts))]
    twin = _tangent(kernel, patterns) if ways else kernel
    given = [x[i] if way == VALUE else dx[i].get(ways[way], 0.0) for one, way in order for i in parts[one]]
    rest = [x[i] for i in entry.operands[layout.inputs :]]  # count, test
    made = new.record(
        Entry("call", tuple(map(new.index, [*given, *rest])), new.call_number(Call(twin, repeating, masked)))
    )
    numbers, size = new.parts(made, twin.layout.outputs), layout.outputs
    masks = [sum(1 << one for one, active in enumerate(pattern) if active) for pattern in patterns]
    slopes = [
        {way: numbers[size * (1 + d) + j] for d, way in enumerate(ways) if masks[d] & need}
        for j, need in enumerate(needs)
    ]
    return numbers[:size], slopes


def _parts(kernel: Kernel, entry: Entry) -> list[tuple[int, ...]]:
    """Return the operands of a call by the kernel's arguments."""
    ends = itertools.accumulate(map(math.prod, kernel.layout.ins), initial=0)
    return [entry.operands[a:b] for a, b in itertools.pairwise(ends)]


def reach(tape: Tape, bits: Mapping[int, int]) -> list[Any]:
    """Return for every entry which bits, given for inputs by slot, it moves with; for a call a list, of its results."""
    reached: list[Any] = []
    for entry in tape.entries:
        if entry.op == "call":
            kernel, repeating, _ = tape.calls[int(entry.constant)]
            own = [functools.reduce(operator.or_, (reached[i] for i in p), 0) for p in _parts(kernel, entry)]
            reached.append([_joined(own, need) for need in _needs(kernel, repeating)])
        elif entry.op == "part":
            reached.append(reached[entry.operands[0]][int(entry.constant)])
        elif entry.op == "input":
            reached.append(bits.get(entry.operands[0], 0))
        else:
            moving = entry.operands[MOVING.get(entry.op, slice(None))]
            reached.append(functools.reduce(operator.or_, (reached[i] for i in moving), 0))
    return reached


def _joined(masks: Sequence[int], chosen: int) -> int:
    return functools.reduce(operator.or_, (mask for i, mask in enumerate(masks) if chosen >> i & 1), 0)


@functools.cache
def _needs(kernel: Kernel, repeating: bool) -> list[int]:
    """Return for every number that a kernel returns with which arguments it moves, as bits."""
    tape, results = kernel.tape
    ends = list(itertools.accumulate(map(math.prod, kernel.layout.ins), initial=0))
    argument = [i for i, (a, b) in enumerate(itertools.pairwise(ends)) for _ in range(a, b)]
    reached = reach(tape, {slot: 1 << i for slot, i in enumerate(argument)})
    needs, before = [reached[i] for i in results], list[int]()
    while repeating and needs != before:  # the next time arguments are what came out
        before = needs
        outs = [_joined(needs, sum(1 << j for j in range(len(needs)) if argument[j] == i)) for i in range(len(ends))]
        needs = [need | 1 << argument[j] | _joined(outs, need) for j, need in enumerate(needs)]
    return needs


def _flat(x: Any) -> list[Operand]:
    return list(np.ravel(np.asarray(x, dtype=object)))


def _split(x: Operand, level: int) -> tuple[Operand, Slopes]:
    return (x.value, x.slopes) if isinstance(x, Dual) and x.level == level else (x, {})
