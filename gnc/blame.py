"""Whose error an exception is, read off its traceback: the input's, a user's part's, or ours.

A frame is a user's if its module is neither of this framework, nor of Python, nor installed; a loader of users' parts
adds packages that are installed to `PACKAGES`.
"""

from __future__ import annotations

import math
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from gnc.errors import DefectError, InputError, PartError

PACKAGES: set[str] = set()  # installed ones that hold users' parts
INSTALLED = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))
_known: dict[tuple[ModuleType, str], Any] = {}  # functions that all share, as they were before a user's code ran


def watch() -> None:
    """Remember, before a user's code first runs, what it could replace; and do not let it end the process unnoticed."""
    if not _known:
        for module in (np, np.linalg, math):
            _known.update({(module, name): value for name, value in vars(module).items() if callable(value)})
        os._exit = _refuse_to_end  # type: ignore[assignment]


@contextmanager
def undisturbed() -> Iterator[None]:
    """PartError if a user's code changes in the block what all share: the working directory, or functions of NumPy."""
    folder = os.getcwd()
    yield
    if os.getcwd() != folder:
        os.chdir(folder)
        raise PartError("an own part", "os.chdir", "changes the directory in which results are written; leave it")
    _refuse_replaced()


def _refuse_replaced() -> None:
    """PartError if a user's code has replaced a function of NumPy: every flight of this process would change."""
    for (module, name), before in _known.items():
        if (now := vars(module).get(name)) is not before:
            file = Path(getattr(getattr(now, "__code__", None), "co_filename", "an own part")).name
            raise PartError(file, getattr(now, "__name__", name), f"replaces {module.__name__}.{name}; leave it")


def _refuse_to_end(code: int, _end: Any = os._exit) -> None:
    """Do what os._exit does, unless a user's code asks for it: it would end a command as if all were done."""
    frame = sys._getframe(1)
    if not _is_ours(frame) and not frame.f_code.co_filename.startswith(INSTALLED):
        raise SystemExit(f"os._exit({code})")
    _end(code)


def blamed(error: BaseException, place: str = "") -> InputError | PartError | DefectError:
    """The error to end with; `place` tells the trials that flew."""
    if isinstance(error, InputError):
        return InputError(f"{place}: {error}") if place else error
    if isinstance(error, PartError):
        return PartError(error.part, error.method, error.message, error.place or place, error.trace)
    if isinstance(error, DefectError):
        return DefectError(error.message, error.source, error.place or place, error.trace)
    trace = "".join(traceback.format_exception(error))
    frames = list(traceback.walk_tb(error.__traceback__))
    own = [i for i, (frame, _) in enumerate(frames) if _is_user(frame)]
    if own:
        entry = next(i for i in reversed(own) if i - 1 not in own)
        message = f"{_said(error)}, line {frames[own[-1]][1]}"
        return PartError(*_part_and_method(frames[entry][0]), message, place, trace)
    if isinstance(error, MemoryError):
        return InputError(f"{place or 'memory'}: out of memory; fly fewer trials at once, or with fewer workers")
    return DefectError(_said(error), _source(frames), place, trace)


def _package(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]


def _is_ours(frame: FrameType) -> bool:
    return _package(frame) == "gnc" or _package(frame) in sys.stdlib_module_names


def _is_user(frame: FrameType) -> bool:
    ours = _is_ours(frame) or frame.f_code.co_filename.startswith(("<", *INSTALLED))
    return _package(frame) in PACKAGES or not ours


def _part_and_method(frame: FrameType) -> tuple[str, str]:
    """`file.py:Class` and the method of a user's frame; the file alone for a function."""
    code, owner = frame.f_code, frame.f_locals.get("self")
    file = Path(code.co_filename).name
    return (file if owner is None else f"{file}:{type(owner).__name__}"), code.co_name


def _source(frames: list[tuple[FrameType, int]]) -> str:
    """The innermost line of ours, as module and number."""
    ours = [(f, n) for f, n in frames if f.f_globals.get("__name__", "").partition(".")[0] == "gnc"] or frames
    return f"{ours[-1][0].f_globals.get('__name__')}:{ours[-1][1]}" if ours else "an unknown line"


def _said(error: BaseException) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
