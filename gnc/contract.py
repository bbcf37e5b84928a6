"""What a user's own part must offer and return, checked when it is built and whenever it is called.

A part that breaks its contract ends with one line: part, method, what was expected and what was received.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
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
UNIT = 1e-3  # by which the length of a quaternion may be off
ROUND_OFF = 1e-9  # of the largest element of a covariance
LEAST_RADIUS_M = 6.3e6  # of an orbit about the Earth
NO_NUMBER, INFINITE = "NaN", "infinite ones"
HERE = sys.modules[__name__]

_called: list[str] = []  # users' parts that are being called
_forks: list[str] = []  # those among them that have forked the process


def _end_twin() -> None:
    """End a process that a part has forked, before it flies on as if it were this one."""
    if _called:
        os.kill(os.getpid(), signal.SIGKILL)  # os._exit is not what it was while a part is called


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=lambda: _forks.extend(_called), after_in_child=_end_twin)


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
    if not np.isfinite(array).all():
        return f"{what}: expected finite numbers, received {NO_NUMBER if np.isnan(array).any() else INFINITE}"
    return ""


def _unit(value: Any, what: str) -> str:
    """Say whether quaternions, or the real parts of dual ones, are far from unit length."""
    off = np.abs(np.linalg.norm(np.asarray(value, float)[..., :4], axis=-1) - 1.0)
    return f"{what}: expected unit quaternions, received one of length off by {off.max():.2g}" * bool(
        (off > UNIT).any()
    )


def _covariance(value: Any, what: str) -> str:
    """Say whether a matrix (..., m, m) of finite numbers is none of a covariance."""
    R = np.asarray(value, float)
    size = np.abs(R).max(initial=0.0)
    if (np.abs(R - np.swapaxes(R, -2, -1)) > ROUND_OFF * size).any():
        return f"{what}: expected a covariance, received a matrix that is not symmetric"
    negative = R.size and np.linalg.eigvalsh(R).min() < -ROUND_OFF * size
    return f"{what}: expected a covariance, received one with negative variances" if negative else ""


def _rows(value: Any, arguments: tuple[Any, ...], what: str, for_all: bool = True) -> str:
    """Say whether an array (..., size) has other rows than one for each trial, or one for all."""
    rows = {leaf.shape[0] for leaf in leaves(arguments) if isinstance(leaf, np.ndarray) and leaf.ndim > 1}
    shape, fit = np.shape(value), rows | {1} if for_all else {max(rows, default=0)}
    if rows and (len(shape) > 2 or (len(shape) == 2 and shape[0] not in fit)):
        return f"{what}: expected a row for each trial, received shape {shape}"
    return ""


def _or(sizes: tuple[int, ...]) -> str:
    return " or ".join(map(str, sizes)) if sizes else "..."


def _kind(value: Any) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"


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
    wrong = _pair(result, "demand, memory") or _memory(result[1])
    joints = not wrong and np.ndim(result[0]) > 0 and np.shape(result[0])[-1] > WRENCH
    wrong = wrong or _numbers(result[0], () if joints else (3, WRENCH), "demand")
    return wrong or _rows(result[0], arguments, "demand")


def _memory(value: Any) -> str:
    """Say whether arrays that are remembered hold something else than real numbers."""
    kinds = [leaf.dtype for leaf in leaves(value) if isinstance(leaf, np.ndarray) and leaf.dtype.kind not in "iufb"]
    return f"memory: expected arrays of real numbers, received one of {kinds[0]}" if kinds else ""


def _measurement(result: Any, arguments: tuple[Any, ...]) -> str:
    wrong = _pair(result, "z, valid") or _numbers(result[0], (), "z") or _rows(result[0], arguments, "z")
    if wrong or np.shape(result[1]) in ((), (1,), np.shape(result[0])[:-1]):
        return wrong or _numbers(result[1], (), "valid")
    return f"valid: expected one for each trial, received shape {np.shape(result[1])}"


def _prediction(result: Any, arguments: tuple[Any, ...]) -> str:
    if not isinstance(result, tuple) or len(result) != 3:
        return f"expected a tuple (z, H, R), received {_kind(result)}"
    wrong = next(filter(None, (_numbers(part, (), name) for part, name in zip(result, "zHR", strict=True))), "")
    H, R = np.shape(result[1]), np.shape(result[2])
    if not wrong and (len(H) < 2 or R[-2:] != (H[-2], H[-2])):
        return f"expected H (..., m, n) and R (..., m, m), received shapes {H} and {R}"
    return wrong or _covariance(result[2], "R")


def _residual(result: Any, arguments: tuple[Any, ...]) -> str:
    return _numbers(result, (), "residual") or (
        "residual: expected an array, received a number" * (not np.ndim(result))
    )


def _path(result: Any, arguments: tuple[Any, ...]) -> str:
    wrong = _pair(result, "r_I, v_I") or _numbers(result[0], (3,), "r_I") or _numbers(result[1], (3,), "v_I")
    wanted = (*np.shape(arguments[0]), 3)
    if not wrong and not np.shape(result[0]) == np.shape(result[1]) == wanted:
        return f"expected r_I and v_I of the shape {wanted}, received {np.shape(result[0])} and {np.shape(result[1])}"
    least = np.inf if wrong else np.linalg.norm(np.asarray(result[0], float), axis=-1).min(initial=np.inf)
    return wrong or ("" if least > LEAST_RADIUS_M else f"r_I: {least:.4g} m is within the Earth; give metres")


def _left_out(result: Any, arguments: tuple[Any, ...]) -> str:
    if not isinstance(result, Mapping):
        return f"expected a dictionary {{part: 1 where left out}}, received {_kind(result)}"
    return next(filter(None, (_numbers(out, (), f"{name}") for name, out in result.items())), "")


def _belief(result: Any, arguments: tuple[Any, ...]) -> str:
    return "" if result is not None else "expected a belief, received None"


def _updated(result: Any, arguments: tuple[Any, ...]) -> str:
    wrong = _pair(result, "belief, innovation") or _belief(result[0], arguments)
    made = None if wrong else result[1]
    if made is None:
        return wrong
    missing = [name for name in ("y", "S", "nis", "used") if not hasattr(made, name)]
    if missing:
        return f"innovation: expected y, S, nis and used, or None, received {_kind(made)} without {missing[0]}"
    y, S, m = np.shape(made.y), np.shape(made.S), np.shape(made.y)[-1:]
    if not y or S[-2:] != m * 2 or any(np.shape(x) not in ((), y[:-1]) for x in (made.nis, made.used)):
        shapes = f"{y}, {S}, {np.shape(made.nis)} and {np.shape(made.used)}"
        return f"innovation: expected y (..., m), S (..., m, m), nis and used (...), received shapes {shapes}"
    return ""


def _state(result: Any, arguments: tuple[Any, ...]) -> str:
    wrong = _pair(result, "q_IB, w_B")
    wrong = wrong or _numbers(result[0], (4, 8), "q_IB") or _numbers(result[1], (3, 6), "w_B")
    return wrong or _rows(result[0], arguments, "q_IB", for_all=False) or _unit(result[0], "q_IB")


def _reference(result: Any, arguments: tuple[Any, ...]) -> str:
    if not isinstance(result, tuple) or not result:
        return f"expected an AttitudeReference or a tuple (q_IR, w_R, wdot_R), received {_kind(result)}"
    wrong = _numbers(result[0], (4, 8), "q_IR") or _rows(result[0], arguments, "q_IR") or _unit(result[0], "q_IR")
    size = 3 if not wrong and np.shape(result[0])[-1] == 4 else 6
    rest = zip(result[1:], ("w_R", "wdot_R"), strict=False)
    return wrong or next(filter(None, (_numbers(part, (size,), name) for part, name in rest)), "")


def _plant(result: Any, arguments: tuple[Any, ...]) -> str:
    if hasattr(result, "dq_IB") and hasattr(result, "chi_B"):
        wrong = _numbers(result.dq_IB, (8,), "dq_IB") or _numbers(result.chi_B, (6,), "chi_B")
        return wrong or _unit(result.dq_IB, "dq_IB")
    if hasattr(result, "q_IB") and hasattr(result, "w_B"):
        wrong = _numbers(result.q_IB, (4,), "q_IB") or _numbers(result.w_B, (3,), "w_B")
        return wrong or _unit(result.q_IB, "q_IB")
    return f"expected a NamedTuple with q_IB and w_B, or dq_IB and chi_B, received {_kind(result)}"


METHODS: Mapping[str, Mapping[str, Returned | None]] = {  # of a slot: what must be there, and what it must return
    "craft": {"start": _plant, "step": _plant},
    "law": {"command": _demand},
    "actuator": {
        "apply": lambda r, a: _pair(r, "load, state") or _numbers(r[0], (3, 6), "load") or _numbers(r[1], (), "state"),
        "share": lambda r, a: _numbers(r, (), "command") or _rows(r, a, "command"),
    },
    "sensor": {"measure": _measurement, "predict": _prediction, "residual": _residual, "noise_size": None},
    "navigation": {"start": _belief, "state": _state, "predict": _belief, "update": _updated},
    "guidance": {"at": _reference},
    "fdir": {"start": None, "excluded": _left_out},
    "load": {"torque": lambda r, a: _numbers(r, (3,), "torque") or _rows(r, a, "torque")},
    "orbit": {"at": _path},
}
INLINE = {_prediction, _residual, _left_out}  # of methods that a recording calls as it would any other
INSTEAD = {
    "guidance": {"guide": lambda r, a: _pair(r, "reference, memory") or _reference(r[0], a) or _memory(r[1])}
}  # methods that do in place of all others


def guarded(part: Any, slot: str, source: str) -> Any:
    """Return a user's part, every call of which is held to the contract of its slot."""
    methods = METHODS.get(slot, {})
    instead = {name: check for name, check in INSTEAD.get(slot, {}).items() if hasattr(part, name)}
    missing = [name for name in methods if not hasattr(part, name)]
    if missing and not instead:
        raise PartError(source_name(source), missing[0], f"a {slot} must have it; the class has no such attribute")
    return _Guarded(part, {name: check for name, check in {**methods, **instead}.items() if check is not None}, source)


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
        object.__setattr__(self, "_rows", {})  # of the H that was last predicted

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._part)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._part, name)
        check = self._checks.get(name)
        return value if check is None or not callable(value) else self._checked(name, value, check)

    def _checked(self, name: str, method: Callable[..., Any], check: Returned) -> Callable[..., Any]:
        part, recordable = source_name(self._source), getattr(self._part, "compilable", False)
        rows = self._rows

        def call(*arguments: Any, **keywords: Any) -> Any:
            if recording() and recordable:
                return method(*arguments, **keywords)
            if recording() and check in INLINE:
                try:
                    return method(*arguments, **keywords)
                except (TypeError, ValueError):
                    raise TypeError(f"{part}.{name} is written in plain NumPy") from None
            if recording():  # it may do more than compute: Python calls it at every tick
                return python_part(f"{part}.{name}", functools.partial(plain, **keywords), *arguments)
            return checked(*mapped(_private, arguments), **keywords)

        def plain(*arguments: Any, **keywords: Any) -> Any:
            if recording():
                raise TypeError("it is written in plain NumPy")
            return checked(*arguments, **keywords)

        def checked(*arguments: Any, **keywords: Any) -> Any:
            _called.append(part)
            if len(_called) == 1:
                _forks.clear()
            try:
                result = limited(f"{part}.{name}", method, *arguments, **keywords)
            except Overdue:
                raise PartError(part, name, f"no answer within {LIMIT_S:g} s (GNC_PART_LIMIT_S)") from None
            finally:
                _called.pop()
            if _forks:
                raise PartError(part, name, "forks the process, which would fly twice; leave that to workers of gnc")
            if sys.modules.get(__name__) is not HERE:
                raise PartError(part, name, "takes out loaded modules; leave sys.modules")
            wrong = check(result, arguments)
            if check is _prediction and not wrong:
                rows["of H"] = np.shape(result[1])[-2]
            if check is _residual and not wrong and rows.get("of H", np.shape(result)[-1]) != np.shape(result)[-1]:
                wrong = (
                    f"residual: expected {rows['of H']} numbers, as the rows of H, received shape {np.shape(result)}"
                )
            if wrong and not (wrong.endswith((NO_NUMBER, INFINITE)) and not _finite(arguments)):
                raise PartError(part, name, wrong)
            return result

        object.__setattr__(self, name, call)  # found at once the next time
        return call

    def __repr__(self) -> str:
        return repr(self._part)
