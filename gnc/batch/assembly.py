"""Kernels of kernels: called kernels stay calls, so that hundreds of calls are quick to compile.

    Assembly(function, layout)        as `Kernel`: it takes any stack of trials, and is called inside other kernels

A kernel inlines what it calls, which is faster up to some thousands of operations. An assembly is compiled as a list of
calls, with each of its kernels compiled once for all assemblies and programs. Its function is written as for arrays:
kernels broadcast over leading axes, and between the calls it may add, multiply, select and stack. Bits are those of the
same function on arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gnc.batch.kernel import Kernel, Plainly, core_array
from gnc.batch.layout import Layout
from gnc.batch.tape import Tape


class Assembly(Kernel):
    """A function of one trial whose kernels stay calls; called from Python it broadcasts over leading axes."""

    def __init__(self, function: Callable[..., Any], layout: Layout):
        """Wrap a function; nothing is traced or compiled before the first call."""
        super().__init__(function, layout)
        self._alone = lambda *args: None  # one trial is computed as a tile of which the other lanes are idle

    def repeat(self, n: Any, *args: Any) -> Any:
        """Refuse: only kernels are repeated."""
        raise TypeError(f"{self.__name__}.repeat: an assembly of kernels is not repeated: write a loop")

    @functools.cached_property
    def tape(self) -> tuple[Tape, list[int]]:
        """The recorded calls and the entries that are the results."""
        tape = Tape(literal=True)
        results = self._run([tape.input() for _ in range(self.layout.inputs)], _Calls(tape))
        return tape, [tape.index(x) for x in results]


class _Calls(Plainly):
    """Inside an assembly kernels are recorded as calls."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.masked = tape.masked  # type: ignore[method-assign]

    def call(self, kernel: Kernel, args: tuple[Any, ...]) -> Any:
        arrays = [np.asarray(x, object) for x in args]
        lead = kernel.leading([np.broadcast_to(0.0, a.shape) for a in arrays])  # it checks numbers, not symbols
        stacks = [np.broadcast_to(a, lead + core) for a, core in zip(arrays, kernel.layout.ins, strict=True)]
        results = tuple(np.empty(lead + core, object) for core in kernel.layout.outs)
        for place in np.ndindex(lead):
            flat = iter(self.tape.call(kernel, [x for stack in stacks for x in np.ravel(stack[place])], False))
            for result, core in zip(results, kernel.layout.outs, strict=True):
                result[place] = core_array(flat, core)
        return results if len(results) > 1 else results[0]

    def repeat(self, kernel: Kernel, n: Any, args: tuple[Any, ...]) -> Any:
        """Record a repeated kernel of one trial; the count may be a symbol."""
        numbers = [x for array in (*args, n) for x in np.ravel(np.asarray(array, object))]
        flat = iter(self.tape.call(kernel, numbers, True))
        results = tuple(core_array(flat, core) for core in kernel.layout.outs)
        return results if len(results) > 1 else results[0]
