"""`tangent`: a kernel with its derivative along one direction; many directions are many trials.

    tangent(f)(x, dx) = f(x), f'(x) dx

A Jacobian of ninety directions is too much for one kernel (`derivative.jacobian` writes every slope); its tangent has
two to three times the operations of the kernel, however many directions there are. `tangent_tape` does the same with a
tape of calls, where every kernel is replaced by its tangent. Branches are those of the values.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc.batch.dual import Dual, level_above
from gnc.batch.evaluation import constant_value
from gnc.batch.kernel import Kernel, core_array
from gnc.batch.layout import Layout
from gnc.batch.scalar import Operand, operate
from gnc.batch.tape import Call, Entry, Tape

Place = tuple[int, bool]  # the number of an argument; whether its slope is meant


def tangent(kernel: Kernel, wrt: Sequence[str] | None = None) -> Kernel:
    """Return the kernel of values and slopes along one direction.

    It takes the arguments and, named `d_x`, the slopes of those in `wrt` (all, if None); it returns all results, then
    all their slopes. Arguments come before slopes, those that `repeat` changes first: `layout.names` has the order.
    """
    names = kernel.layout.names
    for name in wrt or ():
        if name not in names:
            raise ValueError(f"wrt: {kernel.__name__} has no argument {name!r}, only {', '.join(names)}")
    return _tangent(kernel, tuple(wrt is None or name in wrt for name in names))


def _order(kernel: Kernel, active: tuple[bool, ...]) -> list[Place]:
    """Return what the tangent takes; a kernel that can be repeated changes its first arguments and their slopes."""
    first, count = len(kernel.layout.outs) if kernel.repeatable else 0, len(kernel.layout.ins)
    order = [(i, slope) for slope in (False, True) for i in range(first)]
    return order + [(i, slope) for slope in (False, True) for i in range(first, count) if active[i] or not slope]


@functools.cache
def _tangent(kernel: Kernel, active: tuple[bool, ...]) -> Kernel:
    ins, outs, order = kernel.layout.ins, kernel.layout.outs, _order(kernel, active)

    def function(*args: Any) -> Any:
        given, level = dict(zip(order, args, strict=True)), level_above([x for a in args for x in _flat(a)])
        duals = []
        for i, core in enumerate(ins):
            numbers = iter(_flat(given[i, False]))
            if (i, True) in given:
                pairs = zip(_flat(given[i, False]), _flat(given[i, True]), strict=True)
                numbers = iter([Dual(x, {0: dx}, level) for x, dx in pairs])
            duals.append(core_array(numbers, core))
        results = kernel.one(duals)
        both = [[_split(x, level) for x in _flat(y)] for y in (results if len(outs) > 1 else (results,))]
        pairs_of = [zip(both, outs, strict=True) for _ in range(2)]
        return tuple(core_array(iter([x[d] for x in y]), core) for d in (0, 1) for y, core in pairs_of[d])

    function.__name__ = function.__qualname__ = f"{kernel.__name__}_tangent"
    function.__doc__ = f"Return the results of {kernel.__name__} and their slopes along one direction."
    names = tuple(f"d_{kernel.layout.names[i]}" if slope else kernel.layout.names[i] for i, slope in order)
    layout = Layout(names, tuple(ins[i] for i, _ in order), (*outs, *outs))
    return _WithTape(function, layout, kernel, order) if kernel.tape[0].calls else Kernel(function, layout)


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
        slopes: dict[int, Operand] = {}
        for i, slope in self._order:
            (slopes if slope else values).update({slot: new.input() for slot in range(ends[i], ends[i + 1])})
        x, dx = tangent_tape(old, results, new, values, slopes)
        return new, [new.index(y) for y in (*x, *dx)]


def tangent_tape(
    old: Tape, results: Sequence[int], new: Tape, values: dict[int, Operand], slopes: dict[int, Operand]
) -> tuple[list[Operand], list[Operand]]:
    """Write a tape and its derivative onto a new one; return the results and their slopes there.

    `values` and `slopes` are those of the old tape's inputs, by slot; an input without slope does not move.
    """
    x: dict[int, Any] = {}  # of each entry; of a call, the list of its results
    dx: dict[int, Any] = {}  # None: it does not move
    for index in sorted(old.needed(results)):
        entry = old.entries[index]
        if entry.op == "input":
            x[index], dx[index] = values[entry.operands[0]], slopes.get(entry.operands[0])
        elif entry.op == "constant":
            x[index], dx[index] = constant_value(entry), None
        elif entry.op == "part":
            x[index], dx[index] = (y and y[int(entry.constant)] for y in (x[entry.operands[0]], dx[entry.operands[0]]))
        elif entry.op == "call":
            x[index], dx[index] = _called(old, entry, new, x, dx)
        else:
            x[index] = operate(entry.op, *[x[i] for i in entry.operands])
            moved = [x[i] if dx[i] is None else Dual(x[i], {0: dx[i]}, 1) for i in entry.operands]
            dual = operate(entry.op, *moved)
            dx[index] = dual.slopes.get(0) if isinstance(dual, Dual) else None
    return [x[i] for i in results], [0.0 if dx[i] is None else dx[i] for i in results]


def _called(old: Tape, entry: Entry, new: Tape, x: dict[int, Any], dx: dict[int, Any]) -> tuple[list[Any], Any]:
    """Write the call of a kernel, or of its tangent if any argument moves."""
    kernel, repeating, masked = old.calls[int(entry.constant)]
    layout = kernel.layout
    ends = itertools.accumulate(map(math.prod, layout.ins), initial=0)
    parts = [entry.operands[a:b] for a, b in itertools.pairwise(ends)]
    active = tuple(any(dx[i] is not None for i in part) for part in parts)
    order = _order(kernel, active) if any(active) else [(i, False) for i in range(len(parts))]
    twin = _tangent(kernel, active) if any(active) else kernel
    given = [(0.0 if dx[i] is None else dx[i]) if slope else x[i] for one, slope in order for i in parts[one]]
    rest = [x[i] for i in entry.operands[layout.inputs :]]  # count, test
    made = new.record(
        Entry("call", tuple(map(new.index, [*given, *rest])), new.call_number(Call(twin, repeating, masked)))
    )
    numbers = new.parts(made, twin.layout.outputs)
    return numbers[: layout.outputs], numbers[layout.outputs :] or None


def _flat(x: Any) -> list[Operand]:
    return list(np.ravel(np.asarray(x, dtype=object)))


def _split(x: Operand, level: int) -> tuple[Operand, Operand]:
    return (x.value, x.slopes.get(0, 0.0)) if isinstance(x, Dual) and x.level == level else (x, 0.0)
