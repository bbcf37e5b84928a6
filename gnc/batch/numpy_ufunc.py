"""Handing a compiled loop to NumPy as a gufunc, through NumPy's public C interface."""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnc.batch.kernel import Kernel

# NumPy's C interface, as its public header __ufunc_api.h gives it; a test reads the header and compares.
UFUNC_API_INDEX = 31  # PyUFunc_FromFuncAndDataAndSignature
NPY_DOUBLE = 12
PYUFUNC_NONE = -1  # no identity element


_alive: list[Any] = []  # what NumPy points to


@functools.cache
def _from_function() -> Any:
    """Return NumPy's PyUFunc_FromFuncAndDataAndSignature."""
    # NumPy's own import_ufunc() macro finds the table there.
    table_module = importlib.import_module("numpy._core._multiarray_umath")

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(table_module._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    text, number = ctypes.c_char_p, ctypes.c_int
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p,
        ctypes.c_void_p,
        text,
        number,
        number,
        number,
        number,
        text,
        text,
        number,
        text,
    )
    return prototype(table[UFUNC_API_INDEX])


def as_gufunc(kernel: Kernel, address: int, repeating: bool) -> Any:
    """Make a gufunc of a loop; NumPy keeps pointers to all it is given, so that must live on."""
    arguments, results = len(kernel.layout.ins) + repeating, len(kernel.layout.outs)
    functions, data = (ctypes.c_void_p * 1)(address), (ctypes.c_void_p * 1)(None)
    types = ctypes.create_string_buffer(bytes([NPY_DOUBLE] * (arguments + results)))
    name, doc = kernel.__name__.encode(), (kernel.__doc__ or "").encode()
    signature = kernel.layout.signature(counter=repeating).encode()
    _alive.append((functions, data, types, name, doc, signature))
    return _from_function()(
        ctypes.addressof(functions),
        ctypes.addressof(data),
        types,
        1,
        arguments,
        results,
        PYUFUNC_NONE,
        name,
        doc,
        0,
        signature,
    )
