"""Functions of whole trees as one call: written for arrays of trials, and run with a few trials through all links.

Called from Python for every link, a kernel costs some microseconds and leaves its results in memory, for all trials.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gnc.batch import Assembly, Kernel
from gnc.batch.layout import Core, Layout

MOST_BODIES = 500  # a larger tree would compile for many seconds


def assembled(
    function: Callable[..., Any], bodies: int, ins: tuple[Core, ...], outs: tuple[Core, ...], inlined: int = 0
) -> Callable[..., Any]:
    """Return a function of arrays as an assembly of its kernels, or with as few bodies as `inlined` as one kernel.

    For a single body and for very many it stays as it is.
    """
    if not 1 < bodies <= MOST_BODIES:
        return function
    names = tuple(inspect.signature(function).parameters)
    names = names if len(names) == len(ins) else tuple(f"argument {i}" for i in range(len(ins)))  # of *arguments
    layout = Layout(names, ins, outs)
    return Kernel(function, layout) if bodies <= inlined else Assembly(function, layout)
