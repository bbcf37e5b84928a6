"""Vectors and matrices of a configuration: nested lists in TOML, tuples of floats in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field

from gnc import check
from gnc.config.schema import Noun
from gnc.errors import InputError

Row3: TypeAlias = tuple[float, float, float]
Check: TypeAlias = Callable[[str, Any], Any]


def _checked(shape: tuple[int, ...], noun: Noun, test: Check | None = None) -> BeforeValidator:
    """A validator that turns nested lists or an array of this shape into tuples of floats."""

    def convert(value: Any) -> Any:
        array = _numbers(value, shape, noun)
        if test is not None:
            try:
                array = test("", array)
            except InputError as error:
                raise InputError(str(error).removeprefix(": ")) from None
        return _tuples(array.tolist())

    return BeforeValidator(convert)


def _numbers(value: Any, shape: tuple[int, ...], noun: Noun) -> Any:
    if not _plain(value.tolist() if isinstance(value, np.ndarray) else value):
        raise InputError(f"give {noun}, all of them finite numbers")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (ValueError, OverflowError):
        raise InputError(f"give {noun}; the rows have unequal lengths or a number is too large") from None
    if array.shape != shape:
        raise InputError(f"give {noun}, not {' x '.join(map(str, array.shape)) or 'one number'}")
    if not np.isfinite(array).all():
        raise InputError(f"give {noun}, all of them finite numbers")
    return array


def _plain(value: Any) -> bool:
    """Whether there are only numbers in the nested lists; a truth value or text is not one."""
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


_VECTOR3, _MATRIX3, _EDGES = Noun("3 numbers"), Noun("3 rows of 3 numbers"), Noun("3 numbers > 0")
_GAINS = Noun("3 rows of 6 numbers")
_QUATERNION = Noun("4 numbers of unit norm, scalar first")
_INERTIA = Noun("3 rows of 3 numbers, an inertia matrix")


def _positive(_name: str, array: Any) -> Any:
    if not (array > 0.0).all():
        raise InputError(f"give {_EDGES}")
    return array


Vector3 = Annotated[Row3, _checked((3,), _VECTOR3), _VECTOR3]
Edges = Annotated[Row3, _checked((3,), _EDGES, _positive), _EDGES]  # of a box
Matrix3 = Annotated[tuple[Row3, Row3, Row3], _checked((3, 3), _MATRIX3), _MATRIX3]
Quaternion = Annotated[
    tuple[float, float, float, float], _checked((4,), _QUATERNION, check.unit_quaternion), _QUATERNION
]
Gains = Annotated[tuple[tuple[float, ...], ...], _checked((3, 6), _GAINS), _GAINS]  # from a state of six to a torque
Inertia = Annotated[tuple[Row3, Row3, Row3], _checked((3, 3), _INERTIA, check.inertia), _INERTIA]

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
