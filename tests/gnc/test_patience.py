import sys
import time

from gnc import patience


def test_a_person_at_a_terminal_is_told_once(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(patience._Patience, "left_s", 0.05)
    monkeypatch.setattr(patience._Patience, "told", False)
    for _ in range(3):
        with patience.telling():
            time.sleep(0.2)
    assert capsys.readouterr().err == patience.MESSAGE + "\n"


def test_many_short_compilations_count_together(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(patience._Patience, "left_s", 0.25)
    monkeypatch.setattr(patience._Patience, "told", False)
    for n in range(4):
        with patience.telling():
            time.sleep(0.1)
        assert (capsys.readouterr().err == "") == (n != 2)


def test_a_pipe_is_told_nothing(monkeypatch, capsys):
    monkeypatch.setattr(patience._Patience, "left_s", 0.0)
    monkeypatch.setattr(patience._Patience, "told", False)
    with patience.telling():
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
