"""Loops that end by a trial's own data, compiled by numba.

A compiled function calls only functions of its own file, because numba's cache does not notice an edit in another one.
Import such a file on first use, since numba takes its time to load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without fast-math, division by zero giving infinity, and keep the code on disk if there is a place."""
    try:
        return njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the source's folder nor the user's can be written
        return njit(error_model="numpy")(function)
