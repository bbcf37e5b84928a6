"""How a command ends: whose error it was is told by the exit code, in one line."""

import errno
import io
import os
import signal
import subprocess
import sys
import time

import pytest

from gnc.errors import InputError
from gnc.scenarios import cli, display, exits


def raising(error):
    def command(words):
        assert exits.TRACEBACK not in words
        raise error

    return command


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        (lambda _: 0, 0, ""),
        (raising(InputError("mass: -1 is not positive")), 2, "mass: -1 is not positive"),
        (raising(OSError(errno.ENOSPC, "No space", "x.png")), 3, "test_exits.py.command: OSError"),
        (raising(SystemExit(0)), 3, "SystemExit"),
        (raising(KeyError("gain")), 3, "test_exits.py.command: KeyError: 'gain', line"),
        (raising(KeyboardInterrupt()), 130, "interrupted"),
    ],
)
def test_the_exit_code_tells_whose_error_it_is(command, code, says, capsys) -> None:
    assert exits.ended(command, []) == code
    told = capsys.readouterr().err
    assert says in told and told.count("\n") == (code != 0)


def test_a_title_that_a_terminal_cannot_show_is_no_defect(monkeypatch) -> None:
    """On an ASCII terminal it was one, after the flight; on any other a title steered it."""
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", shown)
    rows = [("\N{GREEK SMALL LETTER MU}\x1b[2J",)]
    assert exits.ended(lambda _: display.table("title\x07", ("metric",), rows), []) == 0
    assert shown.buffer.getvalue() == b"title\\x07\nmetric\n\\u03bc\\x1b[2J\n"


def test_a_request_to_end_ends_like_an_interrupt(capsys) -> None:
    def ended_by_others(_):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5.0)

    before = signal.getsignal(signal.SIGTERM)
    try:
        assert exits.ended(ended_by_others, []) == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().err == "gnc: interrupted\n"


def test_a_defect_of_ours_is_70_with_the_line_to_look_at_and_a_traceback_on_request(monkeypatch, capsys) -> None:
    monkeypatch.setattr(display, "as_json", None)
    assert cli.main(["list", "--json"]) == 70
    told = capsys.readouterr().err
    assert "a defect of gnc, please report it: TypeError" in told and "at gnc.scenarios.display:" in told
    assert told.count("\n") == 1
    assert cli.main(["list", "--json", "--traceback"]) == 70
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_error_of_the_file_system_is_one_line(monkeypatch, capsys) -> None:
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device", "figure.png")

    full.__globals__["__name__"], name = "gnc.scenarios.plots", full.__globals__["__name__"]
    try:
        assert exits.ended(full, []) == 2
    finally:
        full.__globals__["__name__"] = name
    assert capsys.readouterr().err == "gnc: figure.png: the disk is full; free some space and try again\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = "import sys; from gnc.scenarios.cli import main; sys.exit(main(['list', '--json']))"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        command.stdout.close()
        assert command.stderr.read() == b""
