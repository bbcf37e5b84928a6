"""The errors a command can end with: bad input, an error in a user's own part, a defect of the program itself.

Exit codes: 2 `InputError`, 3 `PartError`, 70 `DefectError`. None of them makes a trial lost: loss is physics, and shows
as NaN or as a reason that the flight itself returns. The last two keep their traceback as text, since an exception
loses it on the way from a worker process.

Whose error an exception is, read off its traceback: the input's, a user's part's, or ours.

A frame is a user's if its module is neither of this framework, nor of Python, nor installed; a loader of users' parts
adds packages that are installed to `PACKAGES`.
"""

from __future__ import annotations

import sys
import sysconfig
import traceback
from pathlib import Path
from types import FrameType


class InputError(ValueError):
    """A value from outside that cannot be used; the message is one line naming it and what would be right."""


class PartError(Exception):
    """An error in a part that a user wrote."""

    def __init__(self, part: str, method: str, message: str, place: str = "", trace: str = "") -> None:
        """Name the part (`file.py:Class`) and its method; `place` may tell the trials."""
        super().__init__(part, method, message, place, trace)  # pickle calls with these
        self.part, self.method, self.message, self.place, self.trace = part, method, message, place, trace

    def __str__(self) -> str:
        return f"{self.part}.{self.method}: {self.message}" + (f" ({self.place})" if self.place else "")


class DefectError(Exception):
    """An error of the program itself."""

    def __init__(self, message: str, source: str, place: str = "", trace: str = "") -> None:
        """Tell the line of the source where it was raised; `place` may tell the trials."""
        super().__init__(message, source, place, trace)
        self.message, self.source, self.place, self.trace = message, source, place, trace

    def __str__(self) -> str:
        return f"{self.message}, at {self.source}" + (f" ({self.place})" if self.place else "")


def said(error: BaseException, lines: int | None = 1) -> str:
    """Return type and first lines of an error, whose text may be a user's, as one."""
    try:
        text = " ".join(str(error).splitlines()[:lines])
    except Exception:  # its __str__ raises
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


PACKAGES: set[str] = set()  # installed ones that hold users' parts
INSTALLED = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))


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
    own = [i for i, (frame, _) in enumerate(frames) if is_user(frame)]
    if own:
        entry = next(i for i in reversed(own) if i - 1 not in own)
        message = f"{said(error)}, line {frames[own[-1]][1]}"
        return PartError(*_part_and_method(frames[entry][0]), message, place, trace)
    if isinstance(error, MemoryError):
        return InputError(f"{place or 'memory'}: out of memory; fly fewer trials at once, or with fewer workers")
    return DefectError(said(error), _source(frames), place, trace)


def _package(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]


def is_ours(frame: FrameType) -> bool:
    """Tell whether what runs in a frame belongs to gnc, to Python, or to what is installed."""
    package = _package(frame)
    return package in sys.stdlib_module_names | {"gnc"} or frame.f_code.co_filename.startswith(INSTALLED)


def is_user(frame: FrameType) -> bool:
    """Tell whether a user wrote what runs in a frame."""
    return _package(frame) in PACKAGES or not (is_ours(frame) or frame.f_code.co_filename.startswith("<"))


def _part_and_method(frame: FrameType) -> tuple[str, str]:
    """`file.py:Class` and the method of a user's frame; the file alone for a function."""
    code, owner = frame.f_code, frame.f_locals.get("self")
    file = Path(code.co_filename).name
    return (file if owner is None else f"{file}:{type(owner).__name__}"), code.co_name


def _source(frames: list[tuple[FrameType, int]]) -> str:
    """The innermost line of ours, as module and number."""
    ours = [(f, n) for f, n in frames if f.f_globals.get("__name__", "").partition(".")[0] == "gnc"] or frames
    return f"{ours[-1][0].f_globals.get('__name__')}:{ours[-1][1]}" if ours else "an unknown line"
