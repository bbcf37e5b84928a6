"""Kernels of any size: one function, and a kernel of it for every number of wheels, plates or error states."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from gnc.batch.kernel import Kernel, batched


def sized(layout: Callable[..., str]) -> Callable[[Callable[..., Any]], Callable[..., Kernel]]:
    """Lift a one-trial function to kernels of any size, `f(n)`; the layout is a function of the sizes.

        @sized(lambda n: f"({n}),()->({n})")
        def louder(noise, factor): ...

    A size that the function itself asks for is a keyword-only argument of the same name.
    """

    def lift(function: Any) -> Callable[..., Kernel]:
        code, names = function.__code__, layout.__code__.co_varnames

        @functools.wraps(function)
        def of(*sizes: Any) -> Kernel:
            one = types.FunctionType(code, function.__globals__, code.co_name, None, function.__closure__)
            asked = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
            one.__kwdefaults__ = {k: size for k, size in zip(names, sizes, strict=True) if k in asked}
            one.__doc__, one.__qualname__ = function.__doc__, function.__qualname__
            return batched(layout(*sizes))(one)

        return functools.cache(of)

    return lift
