"""Checks of parameters that sensors and actuators share, beside those of `gnc.check`.

All return what they are given again when called on their own result, so that `dataclasses.replace` works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnc import check
from gnc.errors import InputError

Array = Any

UNIT_NORM = 1e-6  # as for quaternions: seven printed digits pass, a forgotten normalisation does not


_RULES: dict[str, tuple[Callable[[Array], Array], str]] = {
    "finite": (np.isfinite, "finite"),
    "non-negative": (lambda a: np.isfinite(a) & (a >= 0.0), "a finite number >= 0"),
    "positive": (lambda a: np.isfinite(a) & (a > 0.0), "a finite number > 0"),
    "limit": (lambda a: a > 0.0, "a number > 0, or inf for no limit"),
}


def _ruled(name: str, a: Array, rule: str) -> Array:
    good, rule_text = _RULES[rule]
    bad = ~good(a)
    if bad.any():
        raise InputError(f"{name}: {a[bad].flat[0]:g} is not {rule_text}")
    return a


def limit(name: str, x: Any) -> Array:
    """Numbers above zero; infinity means that there is no limit."""
    return _ruled(name, check.shape(name, x, ()), "limit")


def each(name: str, x: Any, n: int, rule: str = "finite") -> Array:
    """Numbers (..., n) that obey a rule; a single number counts for all n."""
    a = np.asarray(x)
    return _ruled(name, check.shape(name, a if a.ndim else np.full(n, a), (n,)), rule)


def between(name: str, x: Any, low: float, high: float) -> Array:
    """Finite numbers from low to high, both included."""
    a = check.finite(name, x)
    bad = (a < low) | (a > high)
    if bad.any():
        raise InputError(f"{name}: {a[bad].flat[0]:g} is not from {low:g} to {high:g}")
    return a


def unit_vectors(name: str, x: Any) -> Array:
    """Unit vectors (..., n, 3), one per row, normalised when within 1e-6 of unit length and refused beyond."""
    a = check.finite(name, x, np.shape(x)[-2:-1] + (3,))
    length = np.sqrt(a[..., 0] ** 2 + a[..., 1] ** 2 + a[..., 2] ** 2)
    bad = np.abs(length - 1.0) > UNIT_NORM
    if a.ndim < 2 or bad.any():
        got = f"shape {a.shape}" if a.ndim < 2 else f"a row of length {length[bad].flat[0]:.9g}"
        raise InputError(f"{name}: expected unit vectors as rows (..., n, 3), got {got}")
    already = np.abs(length - 1.0) <= 4 * np.finfo(np.float64).eps
    return np.where(already[..., None], a, a / length[..., None])


def store(component: Any, **values: Any) -> None:
    """Keep checked values in a frozen dataclass, from its __post_init__."""
    for name, value in values.items():
        object.__setattr__(component, name, value)
