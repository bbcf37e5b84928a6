"""`jacobian`: the exact derivatives of a kernel, as a kernel."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from gnc.batch.dual import Dual, level_above
from gnc.batch.kernel import Kernel, core_array
from gnc.batch.layout import Core, Layout
from gnc.batch.scalar import Operand


def jacobian(kernel: Kernel, wrt: str | tuple[str, ...], value: bool = False) -> Kernel:
    """Return the kernel of the exact derivatives of a kernel, by forward mode on the same arithmetic.

    For every result and every argument in `wrt` it returns one array, of the result's shape followed by the
    argument's, results outermost; with `value=True` the kernel's own results come first.
    """
    names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    layout = kernel.layout
    for name in names:
        if name not in layout.names:
            raise ValueError(f"wrt: {kernel.__name__} has no argument {name!r}, only {', '.join(layout.names)}")
    chosen = [layout.names.index(name) for name in names]
    ends = itertools.accumulate((math.prod(layout.ins[i]) for i in chosen), initial=0)
    directions = [range(a, b) for a, b in itertools.pairwise(ends)]

    def derivatives(*args: Any) -> Any:
        level = level_above([x for a in args for x in _flat(a)])
        seeded = list(args)
        for i, along in zip(chosen, directions, strict=True):
            numbers = (Dual(x, {d: 1.0}, level) for x, d in zip(_flat(args[i]), along, strict=True))
            seeded[i] = core_array(numbers, layout.ins[i])
        results = kernel.one(seeded)
        pairs = list(zip(results if len(layout.outs) > 1 else (results,), layout.outs, strict=True))
        values = [core_array(iter([_value(x, level) for x in _flat(y)]), out) for y, out in pairs] if value else []
        slopes = [
            core_array(iter([_slope(x, level, d) for x in _flat(y) for d in along]), out + layout.ins[i])
            for y, out in pairs
            for i, along in zip(chosen, directions, strict=True)
        ]
        return (*values, *slopes) if len(values + slopes) > 1 else slopes[0]

    derivatives.__name__ = derivatives.__qualname__ = f"{kernel.__name__}_jacobian"
    derivatives.__doc__ = f"Return the derivatives of {kernel.__name__} with respect to {', '.join(names)}."
    return Kernel(derivatives, Layout(layout.names, layout.ins, _shapes(layout, chosen, value)))


def _shapes(layout: Layout, chosen: list[int], value: bool) -> tuple[Core, ...]:
    slopes = tuple(out + layout.ins[i] for out in layout.outs for i in chosen)
    return layout.outs + slopes if value else slopes


def _flat(x: Any) -> np.ndarray:
    return np.ravel(np.asarray(x, dtype=object))


def _value(x: Operand, level: int) -> Operand:
    return x.value if isinstance(x, Dual) and x.level == level else x


def _slope(x: Operand, level: int, direction: int) -> Operand:
    return x.slopes.get(direction, 0.0) if isinstance(x, Dual) and x.level == level else 0.0
