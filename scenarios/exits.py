"""How a command ends: its exit code, and one line on standard error where something went wrong.

0: done, and all requirements met; 1: ran, and a requirement failed; 2: bad input; 3: an error in a user's own part;
70: a defect of gnc; 130: interrupted. `--traceback`, anywhere among the arguments, shows where 3 and 70 come from.
"""

import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import typer

from gnc.errors import DefectError, InputError, PartError, blamed
from gnc.files import error_line
from gnc.scenarios.display import printable

CHECK_FAILED, BAD_INPUT, PART_FAILED, DEFECT, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 70, 130, 141
TRACEBACK = "--traceback"


class Stopped(Exception):
    """An interrupt that left something, which the message names."""


def ended(command: Callable[[list[str]], int | None], arguments: Sequence[str] | None) -> int:
    """Run a command with its arguments and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does: workers too, with one line
    sys.stdout, sys.stderr = (stream or io.StringIO() for stream in (sys.stdout, sys.stderr))  # None: closed by a shell
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error: a title may have what ASCII lacks
    try:
        code = command([word for word in words if word != TRACEBACK]) or 0
        sys.stdout.flush()
    except typer.TyperException as error:
        return _complain(error.format_message(), BAD_INPUT)
    except Stopped as early:
        return _complain(str(early), INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BaseException as error:
        if isinstance(error.__context__, BrokenPipeError):  # typer answers it with SystemExit
            return PIPE_CLOSED
        if isinstance(error, SystemExit) and _completes(words):  # the shell's question is answered
            return int(error.code or 0)
        if _gone(sys.stdout) or _gone(sys.stderr):
            return _complain("an own part has closed standard output or standard error; leave them open", PART_FAILED)
        return _failed(error, TRACEBACK in words)
    return _complain("interrupted", code) if code == INTERRUPTED else code


def _gone(stream: Any) -> bool:
    """Tell whether a standard stream is closed, which nothing of gnc does."""
    try:
        return stream is None or stream.closed or not os.fstat(stream.fileno())
    except io.UnsupportedOperation:  # there is no file behind it
        return False
    except OSError:
        return True


def _completes(words: list[str]) -> bool:
    """Tell whether a shell asks for completions, or how it gets them."""
    return "_GNC_COMPLETE" in os.environ or bool({"--show-completion", "--install-completion"} & set(words))


def _failed(error: BaseException, trace: bool) -> int:
    """Say whose error it is."""
    cause = blamed(error)
    if isinstance(cause, DefectError) and isinstance(error, OSError):
        cause = InputError(error_line(error))
    if isinstance(cause, InputError):
        return _complain(str(cause), BAD_INPUT)
    if trace:
        print(cause.trace, file=sys.stderr, end="")
    hint = "" if trace else f"; {TRACEBACK} shows more"
    if isinstance(cause, PartError):
        return _complain(f"{cause}{hint}", PART_FAILED)
    return _complain(f"a defect of gnc, please report it: {cause}{hint}", DEFECT)


def _complain(message: str, code: int) -> int:
    shown = printable(" ".join(message.split()))
    with suppress(ValueError, OSError):  # closed: the exit code tells
        print("gnc:", shown, file=sys.stderr)
    return code
