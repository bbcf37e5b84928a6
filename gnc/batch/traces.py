"""What a kernel computes, told without a trace: by the framework's files and the data that the function closes over.

A kernel whose function stands in the framework computes what the framework's files say, with the values that its
closure and its defaults hold. If all of those are plain data, other functions of the framework and kernels, their text
is the kernel's name: its object code is found on disk without a trace. Any other kernel, a user's for instance, has no
such name and is traced.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gnc.errors import InputError

LIBRARIES = ("numpy", "math", "builtins", "operator", "functools", "scipy")
PLAIN = (int, float, complex, str, bytes, bool, type(None))


class Nameless(Exception):
    """Something that a kernel reaches is not determined by the framework's files."""


def name_of(kernel: Any, use: str) -> str | None:
    """Return the hash under which a use of the kernel is kept; None if only a trace tells what it computes."""
    try:
        return hashlib.sha256("\n".join([_software(), use, _text(kernel)]).encode()).hexdigest()
    except (Nameless, InputError, RecursionError, ValueError):  # ValueError: a cell that is still empty
        return None


@functools.cache
def _software() -> str:
    """Return what the framework's files and the libraries are: as they were loaded, or it raises."""
    from gnc.montecarlo.identity import framework

    return repr(sorted(framework().items()))


def _text(value: Any) -> str:
    """Return a value as text that no other value has."""
    from gnc.batch.kernel import Kernel

    if type(value) in PLAIN or isinstance(value, np.generic):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple | list):
        return f"{_text(type(value))}({', '.join(map(_text, value))})"
    if type(value) is np.ndarray and value.dtype != object:
        return f"array {value.dtype.str} {value.shape} {value.tobytes().hex()}"
    if getattr(getattr(type(value), "__dataclass_params__", None), "frozen", False):
        return f"{_text(type(value))}({', '.join(_text(getattr(value, f.name)) for f in dataclasses.fields(value))})"
    if type(value) is Kernel:
        return f"kernel {_text(value.layout)} {_text(value.function)}"
    if isinstance(value, functools.partial):
        return f"partial {_text(value.func)} {_text(value.args)} {_text(tuple(sorted(value.keywords.items())))}"
    if isinstance(value, types.FunctionType):
        return _function(value)
    if isinstance(value, types.ModuleType | type | np.ufunc | types.BuiltinFunctionType) and _is_named(value):
        return f"{type(value).__name__} {getattr(value, '__module__', '')} {value.__name__}"
    raise Nameless


def _function(function: types.FunctionType) -> str:
    """Return a function as its place in the framework's files, and what it closes over."""
    if not _is_framework(function.__module__, function.__code__.co_filename):
        raise Nameless
    cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
    held = _text((cells, function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items()))))
    code = function.__code__
    return f"function {function.__module__} {function.__qualname__} {code.co_firstlineno} {held} {_reached(function)}"


def _reached(function: types.FunctionType) -> str:
    """Return which functions the names in a function stand for, and in those: somebody may have put others there."""
    found, waiting = {}, [function]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        if not _is_framework(one.__module__, one.__code__.co_filename):
            raise Nameless
        called = [_called(value) for value in _values(one.__code__, one.__globals__)]
        found[one] = [f"{f.__module__}.{f.__qualname__}" for f in called if f is not None]
        waiting += [f for f in called if f is not None and f.__module__.partition(".")[0] not in LIBRARIES]
    return hashlib.sha256(repr([(f.__qualname__, names) for f, names in found.items()]).encode()).hexdigest()


def _values(code: types.CodeType, space: Mapping[str, Any]) -> Iterator[Any]:
    """Give what the global names of a function's code stand for, and attributes of modules by these names."""
    modules: list[types.ModuleType] = []
    for name in code.co_names:
        value = space.get(name)
        yield value
        for module in modules:
            yield vars(module).get(name)
        if isinstance(value, types.ModuleType):
            modules.append(value)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _values(inner, space)


def _called(value: Any) -> types.FunctionType | None:
    """Return the function that stands behind a value, if one does."""
    from gnc.batch.kernel import Kernel

    function = value.function if type(value) is Kernel else getattr(value, "__wrapped__", value)
    return function if isinstance(function, types.FunctionType) else None


def _is_named(value: Any) -> bool:
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    root = str(module).partition(".")[0]
    if root == "gnc":
        return isinstance(value, types.ModuleType) or getattr(sys.modules.get(str(module)), value.__name__, 0) is value
    return root in LIBRARIES


def _is_framework(module: str, file: str) -> bool:
    loaded = sys.modules.get(module)
    return module.startswith("gnc.") and getattr(loaded, "__file__", None) == file
