"""What a user's own part must offer and return, checked when it is built and whenever it is called.

A part that breaks its contract ends with one line: part, method, what was expected and what was received.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gnc.batch import python_part
from gnc.batch.kernel import recording
from gnc.errors import PartError
from gnc.trees import leaves, mapped
from gnc.watchdog import LIMIT_S, Overdue, limited

Returned = Callable[[Any, tuple[Any, ...]], str]  # (result, arguments) -> what is wrong with it, "" if nothing


WRENCH = 6  # numbers of a wrench; efforts of joints may follow in a demand


def _numbers(value: Any, sizes: tuple[int, ...], what: str) -> str:
    """Say what is wrong with an array (..., size) of numbers."""
    try:
        array = np.asarray(value)
    except ValueError:
        return f"{what}: expected an array (trials, {_or(sizes)}), received rows of unequal length"
    if array.dtype.kind not in "iufb":
        return f"{what}: expected an array (trials, {_or(sizes)}), received {_kind(value)}"
    if sizes and (array.ndim == 0 or array.shape[-1] not in sizes):
        return f"{what}: expected an array (trials, {_or(sizes)}), received shape {array.shape}"
    if np.ma.is_masked(value):
        return f"{what}: expected numbers, received an array with masked ones"
    if np.isnan(array).any():
        return f"{what}: expected finite numbers, received NaN"
    return ""


def _rows(value: Any, arguments: tuple[Any, ...], what: str) -> str:
    """Say whether an array (..., size) has other rows than one for each trial, or one for all."""
    rows = {leaf.shape[0] for leaf in leaves(arguments) if isinstance(leaf, np.ndarray) and leaf.ndim > 1}
    shape = np.shape(value)
    if rows and (len(shape) > 2 or (len(shape) == 2 and shape[0] not in rows | {1})):
        return f"{what}: expected a row for each trial, received shape {shape}"
    return ""


def _or(sizes: tuple[int, ...]) -> str:
    return " or ".join(map(str, sizes)) if sizes else "..."


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"


def _pair(value: Any, names: str) -> str:
    if not isinstance(value, tuple) or len(value) != 2:
        count = f" of {len(value)}" if isinstance(value, tuple | list) else ""
        return f"expected ({names}), received {_kind(value)}{count}"
    return ""


def _finite(arguments: tuple[Any, ...]) -> bool:
    """Tell whether everything that was handed over is finite: NaN in, NaN out is no fault."""
    for value in arguments:
        if isinstance(value, tuple):
            if not _finite(value):
                return False
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
            return False
    return True


def _demand(result: Any, arguments: tuple[Any, ...]) -> str:
    wrong = _pair(result, "demand, memory")
    joints = not wrong and np.ndim(result[0]) > 0 and np.shape(result[0])[-1] > WRENCH
    wrong = wrong or _numbers(result[0], () if joints else (3, WRENCH), "demand")
    return wrong or _rows(result[0], arguments, "demand")


def _load(result: Any, arguments: tuple[Any, ...]) -> str:
    return _pair(result, "load, state") or _numbers(result[0], (3, 6), "load") or _numbers(result[1], (), "state")


def _measurement(result: Any, arguments: tuple[Any, ...]) -> str:
    return _pair(result, "z, valid") or _numbers(result[0], (), "z") or _rows(result[0], arguments, "z")


def _belief(result: Any, arguments: tuple[Any, ...]) -> str:
    return "" if result is not None else "expected a belief, received None"


def _updated(result: Any, arguments: tuple[Any, ...]) -> str:
    return _pair(result, "belief, innovation")


def _state(result: Any, arguments: tuple[Any, ...]) -> str:
    wrong = _pair(result, "q_IB, w_B")
    return wrong or _numbers(result[0], (4, 8), "q_IB") or _numbers(result[1], (3, 6), "w_B")


def _reference(result: Any, arguments: tuple[Any, ...]) -> str:
    if not isinstance(result, tuple) or not result:
        return f"expected an AttitudeReference or a tuple (q_IR, w_R, wdot_R), received {_kind(result)}"
    return _numbers(result[0], (4, 8), "q_IR") or _rows(result[0], arguments, "q_IR")


def _torque(result: Any, arguments: tuple[Any, ...]) -> str:
    return _numbers(result, (3,), "torque") or _rows(result, arguments, "torque")


def _plant(result: Any, arguments: tuple[Any, ...]) -> str:
    if hasattr(result, "dq_IB") and hasattr(result, "chi_B"):
        return _numbers(result.dq_IB, (8,), "dq_IB") or _numbers(result.chi_B, (6,), "chi_B")
    if hasattr(result, "q_IB") and hasattr(result, "w_B"):
        return _numbers(result.q_IB, (4,), "q_IB") or _numbers(result.w_B, (3,), "w_B")
    return f"expected a NamedTuple with q_IB and w_B, or dq_IB and chi_B, received {_kind(result)}"


METHODS: Mapping[str, Mapping[str, Returned | None]] = {  # of a slot: what must be there, and what it must return
    "craft": {"start": _plant, "step": _plant},
    "law": {"command": _demand},
    "actuator": {"apply": _load, "share": None},
    "sensor": {"measure": _measurement, "predict": None, "residual": None, "noise_size": None},
    "navigation": {"start": _belief, "state": _state, "predict": _belief, "update": _updated},
    "guidance": {"at": _reference},
    "fdir": {"start": None, "excluded": None},
    "load": {"torque": _torque},
    "orbit": {"at": None},
}
INSTEAD = {"guidance": {"guide"}}  # methods that do in place of all others


def guarded(part: Any, slot: str, source: str) -> Any:
    """Return a user's part, every call of which is held to the contract of its slot."""
    wanted = METHODS.get(slot, {})
    missing = [name for name in wanted if not hasattr(part, name)]
    if missing and not any(hasattr(part, name) for name in INSTEAD.get(slot, ())):
        raise PartError(source_name(source), missing[0], f"a {slot} must have it; the class has no such attribute")
    return _Guarded(part, {name: check for name, check in wanted.items() if check is not None}, source)


def source_name(source: str) -> str:
    """The name of a part without its folder."""
    return source.replace("\\", "/").rsplit("/", 1)[-1]


def _private(value: Any) -> Any:
    """A copy of an array that the part may overwrite: what others hold stays theirs."""
    return value.copy() if isinstance(value, np.ndarray) else value


class _Guarded:
    """A part that looks like the user's own and checks what it returns."""

    def __init__(self, part: Any, checks: Mapping[str, Returned], source: str) -> None:
        object.__setattr__(self, "_part", part)
        object.__setattr__(self, "_checks", checks)
        object.__setattr__(self, "_source", source)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._part)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._part, name)
        check = self._checks.get(name)
        return value if check is None or not callable(value) else self._checked(name, value, check)

    def _checked(self, name: str, method: Callable[..., Any], check: Returned) -> Callable[..., Any]:
        part, recordable = source_name(self._source), getattr(self._part, "compilable", False)

        def call(*arguments: Any, **more: Any) -> Any:
            if recording() and recordable:
                return method(*arguments, **more)
            if recording():  # it may do more than compute: Python calls it at every tick
                return python_part(f"{part}.{name}", functools.partial(plain, **more), *arguments)
            return checked(*mapped(_private, arguments), **more)

        def plain(*arguments: Any, **more: Any) -> Any:
            if recording():
                raise TypeError("it is written in plain NumPy")
            return checked(*arguments, **more)

        def checked(*arguments: Any, **more: Any) -> Any:
            try:
                result = limited(f"{part}.{name}", method, *arguments, **more)
            except Overdue:
                raise PartError(part, name, f"no answer within {LIMIT_S:g} s (GNC_PART_LIMIT_S)") from None
            wrong = check(result, arguments)
            if wrong and not (wrong.endswith("received NaN") and not _finite(arguments)):
                raise PartError(part, name, wrong)
            return result

        object.__setattr__(self, name, call)  # found at once the next time
        return call

    def __repr__(self) -> str:
        return repr(self._part)
