"""Arrays of symbols in a recorded program, on which NumPy does what has the same bits compiled, and nothing else.

Elementwise operations, comparisons, `np.where`, slices and stacks are recorded. Sums and products of matrices are
refused: NumPy adds in an order of its own. So are functions that are not IEEE operations, such as `np.sin`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnc.batch.functions import copysign, where

_EXACT = {np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.sqrt, np.absolute, np.square}
_EXACT |= {np.floor, np.rint, np.degrees, np.radians, np.power, np.bitwise_and, np.bitwise_or, np.invert}
_TESTS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
_RENAMED: dict[Any, Callable[..., Any]] = {
    np.logical_and: np.bitwise_and,
    np.logical_or: np.bitwise_or,
    np.logical_not: np.invert,
    np.isnan: lambda x: x != x,
    np.isfinite: lambda x: abs(x) < np.inf,
    np.copysign: copysign,
}
_SUMS = {np.dot, np.vdot, np.inner, np.einsum, np.tensordot, np.linalg.norm}


class Symbols(np.ndarray):
    """An array of symbols of one trial."""

    def __getitem__(self, key: Any) -> Any:
        """Return a part; what has no axes left is a symbol."""
        return _bare(super().__getitem__(key))

    def reshape(self, *shape: Any, **how: Any) -> Any:
        """Return another shape; none at all is that of a symbol, where arrays keep the axis of the trials."""
        return _bare(super().reshape(*(shape or ((),)), **how))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **how: Any) -> Any:
        """Record an operation that has NumPy's bits."""
        if method != "__call__" or how:
            raise TypeError(f"{ufunc.__name__}.{method} between kernels would not have NumPy's bits: use a kernel")
        args = tuple(x.view(np.ndarray) if isinstance(x, Symbols) else x for x in args)
        if ufunc in _RENAMED:
            return as_symbols(_RENAMED[ufunc](*map(as_symbols, args)))
        if ufunc in _TESTS:
            return as_symbols(ufunc(*args, dtype=object))
        if ufunc not in _EXACT:
            raise TypeError(f"{ufunc.__name__} between kernels would not have NumPy's bits: compute it in a kernel")
        return as_symbols(ufunc(*args))

    def __array_function__(self, function: Any, types: Any, args: Any, how: Any) -> Any:
        """Record a choice; let NumPy move elements around, but not compute."""
        if function is np.where and len(args) == 3:
            return as_symbols(where(*args))
        if function in _SUMS:
            raise TypeError(f"{function.__name__} between kernels would not have NumPy's bits: use a kernel")
        return super().__array_function__(function, types, args, how)


def as_symbols(x: Any) -> Any:
    """Return an object array with these rules; anything else as it is."""
    return _bare(x.view(Symbols)) if isinstance(x, np.ndarray) and x.dtype == object else x


def _bare(x: Any) -> Any:
    return x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x
