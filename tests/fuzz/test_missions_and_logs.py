"""Mutants of every built-in mission and of logs: a flight, or one line with exit code 2 and nothing written."""

import time
from contextlib import suppress

import pytest
import typer

from gnc.config import dump
from gnc.scenarios import cli, exits
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.missions.flight import fly
from gnc.scenarios.missions.load import builtin, read
from gnc.scenarios.replay.command import replay
from tests.fuzz.mutants import mutant
from tests.scenarios.replay import flights

PATIENCE_S = 120.0  # of one case: far more than any needs
QUICK = ("attitude-only", "pointing", "servicing", "touchdown")  # of which those that are accepted fly a few ticks


def shown(name: str) -> str:
    """The complete file of a mission, of a flight of ten ticks."""
    step = read(name).run.truth_step_s
    return dump(read(name, [f"run.duration_s={10 * step}", f"run.record_s={step}", "run.trials=1"]))


def outcome(command, capsys) -> int:
    """Run a command; its exit code, after one line at most."""
    began = time.monotonic()
    code = exits.ended(command, [])
    told = capsys.readouterr().err
    assert code in (0, 2), told
    assert told.count("\n") == (code == 2) and "Traceback" not in told
    assert time.monotonic() - began < PATIENCE_S
    return code


def attack_missions(folder, capsys, cases: range, flown: int) -> None:
    names, flights_left = list(builtin()), flown
    texts = {name: shown(name) for name in names}
    for case in cases:
        name = names[case % len(names)]
        path = folder / "mutant.toml"
        path.write_text(mutant(texts[name], f"mission {case}"), encoding="utf-8", errors="replace")
        code = outcome(lambda _: cli.app(["show", str(path)], standalone_mode=False), capsys)  # noqa: B023
        if code == 0 and flights_left and name in QUICK:
            flights_left -= 1
            outcome(lambda _: fly(read(str(path)), [0], 0) and 0, capsys)  # noqa: B023
        assert [p.name for p in folder.iterdir()] == ["mutant.toml"], f"case {case}"


def test_mutants_of_missions(tmp_path, capsys) -> None:
    attack_missions(tmp_path, capsys, range(400), flown=12)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 5000, 500))
def test_many_mutants_of_missions(tmp_path, capsys, first) -> None:
    attack_missions(tmp_path, capsys, range(first, first + 500), flown=20)


def attack_logs(folder, capsys, cases: range) -> None:
    flight, path, out = flights.gyro_flight(40), folder / "log.csv", folder / "out"
    write_log(path, {"": flight.columns})
    (folder / "filter.toml").write_text(flight.toml)
    whole = path.read_text()
    for case in cases:
        text = mutant(whole, f"log {case}") if case % 3 else whole
        path.write_text(text, encoding="utf-8", errors="replace")
        toml = flight.toml if case % 3 else mutant(flight.toml, f"config {case}")
        (folder / "filter.toml").write_text(toml, encoding="utf-8", errors="replace")
        with pytest.MonkeyPatch.context() as quick:
            quick.setattr("gnc.scenarios.replay.folder.write", lambda *_: [])  # figures and page take most of the time
            code = outcome(lambda _: _replayed(path, folder), capsys)
        if code == 2:
            assert not out.exists(), f"case {case}"
        else:
            for left in out.iterdir():
                left.unlink()
            out.rmdir()


def _replayed(log, folder) -> int:
    with suppress(typer.Exit):  # the filter was lost, or a sensor refused: a result
        replay(log, folder / "filter.toml", folder / "out", as_json=True)
    return 0


def test_mutants_of_logs(tmp_path, capsys) -> None:
    attack_logs(tmp_path, capsys, range(100))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_many_mutants_of_logs(tmp_path, capsys, first) -> None:
    attack_logs(tmp_path, capsys, range(first, first + 500))


def test_mutants_are_the_same_for_the_same_seed_and_differ_for_others() -> None:
    text = shown("pointing")
    made = [mutant(text, f"{k}") for k in range(100)]
    assert made == [mutant(text, f"{k}") for k in range(100)] and len(set(made)) > 90
