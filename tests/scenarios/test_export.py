"""`gnc export` on the command line."""

import json

from gnc.scenarios.cli import main


def test_a_kernel_is_exported_by_its_name(tmp_path, capsys):
    assert main(["export", "kernel", "gnc.quaternion:mul", "--out", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["function"] == "mul" and {"mul.c", "mul.h", "Makefile"} <= {path.name for path in tmp_path.iterdir()}
    assert len(told["files"]) == 5


def test_what_is_no_kernel_is_refused_with_one_line(capsys):
    for what in ("gnc.quaternion:nothing", "gnc.nowhere:mul", "gnc.quaternion"):
        assert main(["export", "kernel", what]) == 2
        assert capsys.readouterr().err.count("\n") == 1
