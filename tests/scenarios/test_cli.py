"""The command `gnc`: its output, its exit codes, and the one line for bad input."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gnc import __version__
from gnc.scenarios import cli, display, papers

GNC = (sys.executable, "-m", "gnc.scenarios")
SLOW_TO_IMPORT = {"numba", "llvmlite", "scipy", "matplotlib", "xarray", "control", "filterpy"}


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"gnc {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["list", "--help"], ["reproduce", "--help"]])
def test_help_goes_to_standard_output(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Usage: gnc") and err == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["lsit"], "Did you mean 'list'?"),
        (["reprodcue"], "Did you mean 'reproduce'?"),
        (["--nonsense"], "No such option: --nonsense"),
        (["list", "--jsn"], "--json"),
        (["list", "extra"], "unexpected extra argument"),
        (["reproduce", "nope"], "unknown case 'nope'"),
        (["reproduce", "no\nsuch\ncase"], "unknown case"),
        (["reproduce", "../case"], "unknown case '../case'"),
        (["reproduce", "case"], "unknown case 'case'"),
        (["reproduce", "example/god"], "did you mean 'example/good'?"),
        (["reproduce", "example/good", "--all"], "not both"),
        (["reproduce", "example/good", "--seed", "-1"], "--seed"),
        (["reproduce", "example/good", "--seed", "soon"], "--seed"),
        (["reproduce", "example/good", "--out"], "--out"),
        (["reproduce", "example/good", "--out", "file"], "--out file"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2_and_nothing_written(
    arguments: list[str],
    says: str,
    example_cases: None,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("in the way")
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gnc: ") and err.endswith("\n") and err.count("\n") == 1
    assert says in err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_list_names_every_case(example_cases: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    text = capsys.readouterr().out
    assert all(case.name in text and case.title in text for case in papers.cases())
    assert cli.main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"name": "example/good", "title": "Checks that hold"} in listed["cases"]
    assert isinstance(listed["missions"], list)


def test_reproduce_without_a_case_lists_them(example_cases: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce"]) == 0
    assert "example/good" in capsys.readouterr().out


def test_reproduce_prints_the_checks_as_json(
    example_cases: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["reproduce", "example/good", "--json", "--seed", "5", "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["case"] == "example/good"
    assert printed["metrics"] == {"drift": 1e-12, "seed": 5}
    told = {"name": "drift", "value": 1e-12, "bound": 1e-9, "ok": True, "relation": "<=", "note": ""}
    assert printed["checks"] == [told | {"source": "EXAMPLE good"}]
    assert [Path(file).name for file in printed["files"]] == ["example_good.png"]


def test_a_failed_check_is_exit_code_1_and_its_lost_number_null(
    example_cases: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["reproduce", "example/bad", "--json", "--out", str(tmp_path)]) == 1
    lost = json.loads(capsys.readouterr().out)["checks"][1]
    assert lost["value"] is None and lost["ok"] is False


def test_a_paper_runs_all_its_cases_and_fails_with_one(
    example_cases: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["reproduce", "example", "--json", "--out", str(tmp_path)]) == 1
    ran = json.loads(capsys.readouterr().out)["cases"]
    assert [report["case"] for report in ran] == ["example/bad", "example/good"]


def test_all_runs_every_case(
    example_cases: None, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(papers, "_papers", list)  # the real cases have their own tests
    assert cli.main(["reproduce", "--all", "--out", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "example/bad: A check that fails" in out and "example/good: Checks that hold" in out


def test_a_pipe_gets_plain_text(example_cases: None, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cli.main(["reproduce", "example/bad", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert out.isascii() and "\x1b" not in out
    assert out.splitlines() == [
        "example/bad: A check that fails",
        "check  value  bound  ok      source",
        "rate   2      >= 1   ok      EXAMPLE bad",
        "lost   nan    <= 1   FAILED  EXAMPLE bad",
    ]


def test_a_terminal_gets_a_frame(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    display.table("title [x]", ("a", "b"), [("[1]", "FAILED")])
    out = capsys.readouterr().out
    assert "title [x]" in out and "[1]" in out
    assert not out.isascii()


def test_an_interrupted_command_is_one_line_and_exit_code_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt() -> list:
        raise KeyboardInterrupt

    monkeypatch.setattr(papers, "cases", interrupt)
    assert cli.main(["list"]) == 130
    assert capsys.readouterr() == ("", "gnc: interrupted\n")


def test_the_process_ends_with_the_exit_code(repository: Path) -> None:
    done = subprocess.run([*GNC, "nonsense"], cwd=repository, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "gnc: No such command 'nonsense'.\n")


def test_a_closed_pipe_is_no_traceback(repository: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run([*GNC, "list"], cwd=repository, stdout=closed, stderr=subprocess.PIPE, text=True)
    assert done.returncode not in (0, -signal.SIGPIPE)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", ["--help", "--version"])
def test_help_starts_without_the_heavy_libraries(repository: Path, arguments: str) -> None:
    program = (
        f"import sys; from gnc.scenarios.cli import main; main([{arguments!r}]); "
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=repository, capture_output=True, text=True, check=True)
    assert "gnc" in done.stderr.split()
    assert SLOW_TO_IMPORT & set(done.stderr.split()) == set()


def test_json_takes_numpy_values_and_stays_readable_by_every_parser() -> None:
    metrics = {"rms": np.float64(0.5), "band": np.array([1.0, np.inf]), "lost": np.int64(2), "ok": np.bool_(True)}
    assert json.loads(display.as_json(metrics)) == {"rms": 0.5, "band": [1.0, None], "lost": 2, "ok": True}
