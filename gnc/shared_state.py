"""What all flights of a process share, and a user's code must leave alone.

Functions of gnc, of NumPy and of Python, loaded modules, the working directory, the limit of recursion, how NumPy takes
floating-point errors. It is looked at before and after each flight; what was changed is put back and told.
"""

from __future__ import annotations

import atexit
import builtins
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from gnc.errors import PartError, blamed, is_ours, is_user

AN_OWN_PART = "an own part"
METHODS = (FunctionType, classmethod, staticmethod, property)
CONSTANTS = (int, float, str, tuple)
_watching: list[Shared] = []  # of the flights under way, one within another; they look once a user's code is there
_users: list[str] = []  # whose code was loaded
left_running: list[threading.Thread] = []  # of a user's code: Python would wait for them


class Shared:
    """What was there before a user's code ran."""

    def __init__(self) -> None:
        """Look at nothing yet."""
        self.before: dict[tuple[Any, str], Any] = {}

    def look(self) -> None:
        """Remember functions, modules and settings."""
        self.folder, self.depth, self.errors = os.getcwd(), sys.getrecursionlimit(), np.geterr()
        self.modules = dict(sys.modules)
        self.threads, self.hook = set(threading.enumerate()), threading.excepthook
        self.died: list[BaseException] = []
        threading.excepthook = self._thread_died
        for owner in (np, np.linalg, math, builtins):
            self.before |= {(owner, name): value for name, value in vars(owner).items() if callable(value)}
        for name, module in self.modules.items():
            if name.partition(".")[0] == "gnc":
                self._remember(module)

    def _remember(self, module: ModuleType) -> None:
        for name, value in vars(module).items():
            if callable(value) or (name.isupper() and isinstance(value, CONSTANTS)):
                self.before[module, name] = value
            if isinstance(value, type) and value.__module__ == module.__name__:
                methods = {(value, key): one for key, one in vars(value).items() if isinstance(one, METHODS)}
                self.before |= methods

    def _thread_died(self, told: threading.ExceptHookArgs) -> None:
        error = told.exc_value
        if isinstance(error, BaseException) and isinstance(blamed(error), PartError):
            self.died.append(error)
        else:
            self.hook(told)

    def restored(self) -> PartError | None:
        """Put back what a user's code has changed, and return the first such change as an error of its part."""
        if not self.before:  # no user's code was loaded
            return None
        threading.excepthook = self.hook
        return next(iter([*self._settings(), *self._modules(), *self._replaced(), *self._threads()]), None)

    def _settings(self) -> Iterator[PartError]:
        refused = partial(PartError, AN_OWN_PART)
        if os.getcwd() != self.folder:
            os.chdir(self.folder)
            yield refused("os.chdir", "changes the directory in which results are written; leave it")
        if sys.getrecursionlimit() != self.depth:
            sys.setrecursionlimit(self.depth)
            yield refused("sys.setrecursionlimit", "changes what all share; leave it")
        if np.geterr() != self.errors:
            np.seterr(**self.errors)
            yield refused("numpy.seterr", "changes what all share; use numpy.errstate, as a context")

    def _modules(self) -> Iterator[PartError]:
        """Tell modules that are gone; those of gnc, NumPy and Python that others stand for."""
        ours = {"gnc", "numpy", *sys.builtin_module_names}
        gone = [
            name
            for name, module in self.modules.items()
            if name not in sys.modules or (name.partition(".")[0] in ours and sys.modules[name] is not module)
        ]
        sys.modules.update({name: self.modules[name] for name in gone})
        if {name.partition(".")[0] for name in gone} & ours:
            yield PartError(AN_OWN_PART, "sys.modules", f"takes out loaded modules, {gone[0]} for one; leave them")

    def _replaced(self) -> Iterator[PartError]:
        for (owner, name), before in self.before.items():
            now = vars(owner).get(name)
            if now is not before:
                setattr(owner, name, before)
                code = getattr(getattr(now, "__func__", now), "__code__", None)
                file = Path(getattr(code, "co_filename", AN_OWN_PART)).name
                whole = f"{owner.__module__}.{owner.__name__}" if isinstance(owner, type) else owner.__name__
                told = f"replaces {whole}.{name}; leave it"
                yield PartError(file, getattr(now, "__name__", name), told)

    def _threads(self) -> Iterator[PartError]:
        for error in self.died:
            yield blamed(error)  # type: ignore[misc]
        frames = sys._current_frames()
        for thread in set(threading.enumerate()) - self.threads:
            if not thread.daemon and thread.ident in frames and _of_user(frames[thread.ident]):
                left_running.append(thread)
                yield PartError(AN_OWN_PART, "threading.Thread", "leaves a thread running; end it, or make it a daemon")


def _of_user(frame: Any) -> bool:
    while frame is not None:
        if is_user(frame):
            return True
        frame = frame.f_back
    return False


def watch() -> None:
    """Remember, before a user's code first runs, what it could change; do not let it end the process unnoticed."""
    if not _users:
        os._exit = _refuse_to_end  # type: ignore[assignment]
        atexit.register = _refuse_to_register  # type: ignore[assignment]
        _users.append(AN_OWN_PART)
        for shared in _watching:
            shared.look()


@contextmanager
def undisturbed() -> Iterator[None]:
    """PartError if a user's code fails in the block, or changes what all share."""
    shared = Shared()
    if _users:
        shared.look()
    _watching.append(shared)
    try:
        yield
    except KeyboardInterrupt:
        shared.restored()
        raise
    except BaseException as error:
        changed, cause = shared.restored(), blamed(error)
        if isinstance(cause, PartError):  # whatever it raised: what ends a command by itself, too
            raise cause from error
        if changed is not None:
            raise changed from error
        raise
    finally:
        _watching.remove(shared)
    if (changed := shared.restored()) is not None:
        raise changed


def end_at_once(code: int) -> None:
    """End the process if a thread that a user's code has left would keep Python waiting."""
    if any(thread.is_alive() for thread in left_running):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _refuse_to_end(code: int, _end: Callable[[int], Any] = os._exit) -> None:
    """Do what os._exit does, unless a user's code asks for it: it would end a command as if all were done."""
    frame = sys._getframe(1)
    if is_user(frame) or not is_ours(frame):
        raise SystemExit(f"os._exit({code})")
    _end(code)


def _refuse_to_register(
    function: Callable[..., Any], *args: Any, _register: Callable[..., Any] = atexit.register, **options: Any
) -> Any:
    """Do what atexit.register does, unless a user's code asks for it: that may change the exit code of a command."""
    if is_user(sys._getframe(1)):
        raise RuntimeError("atexit.register: gnc ends by itself; close what is open before the flight ends")
    return _register(function, *args, **options)
