"""`gnc monte-carlo` on a real scenario: reproducible, resumable, honest about losses."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from gnc import history
from gnc.scenarios import cli

DISPERSED = """
base = "pointing"
[run]
trials = 12
duration_s = 20
record_s = 2
[requirements.lost]
when = "t >= 10 and pointing_error_deg > 60"
[requirements.sun_p997_deg]
when = "t >= 10"
at_most = 60.0
[requirements.eclipse_p997_deg]
when = "t >= 10"
at_most = 60.0
[requirements.nees]
when = "t >= 10"
at_most = 600.0
[dispersions.noise]
kind = "log-normal"
key = "craft.sat.sensors.magnetometer.sigma_deg"
sigma = 0.5
[dispersions.inertia]
kind = "inertia"
key = "craft.sat.J_kgm2"
sigma_percent = 10
[dispersions.rate]
kind = "discrete"
key = "software.sat.rate_hz"
choices = [1.0, 2.0]
"""


@pytest.fixture
def dispersed(tmp_path):
    path = tmp_path / "dispersed.toml"
    path.write_text(DISPERSED)
    return path


def campaign(capsys, *arguments, code=0):
    assert cli.main(["monte-carlo", *map(str, arguments), "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    return told, {key: value for key, value in told.items() if key not in ("timing", "out", "worst")}


def test_the_contract_of_the_json_is_kept(dispersed, tmp_path, capsys):
    told, _ = campaign(capsys, dispersed, "--workers", 1, "--out", tmp_path / "mc")
    assert {"scenario", "seed", "trials", "lost", "metrics", "success", "timing", "out"} <= set(told)
    assert told["trials"] == 12 and set(told["success"]) == {"p", "lo", "hi"}
    assert told["worst"]["sun_p997_deg"][0]["replay"].startswith("gnc run ")


def test_chunks_and_workers_change_no_number(dispersed, tmp_path, capsys):
    _, first = campaign(capsys, dispersed, "--workers", 1, "--chunk", 1, "--out", tmp_path / "a")
    for i, (workers, chunk) in enumerate([(1, 7), (1, 64), (2, 5)]):
        _, again = campaign(capsys, dispersed, "--workers", workers, "--chunk", chunk, "--out", tmp_path / f"b{i}")
        assert again == first
        assert (tmp_path / f"b{i}" / "bands.nc").read_bytes() == (tmp_path / "a" / "bands.nc").read_bytes()


def test_a_trial_of_a_campaign_is_replayed_bit_for_bit(dispersed, tmp_path, capsys):
    out, table = tmp_path / "mc", tmp_path / "table.csv"
    campaign(capsys, dispersed, "--workers", 1, "--out", out, "--export", table)
    rows = list(csv.DictReader(table.open()))
    code = cli.main(["run", str(out / "config.toml"), "--trial", "7", "--out", str(tmp_path / "one"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert code in (0, 1) and told["trials"] == 1
    one = history.load(tmp_path / "one" / "trials.nc")
    assert float(one["sun_p997_deg"].values[0]) == float(rows[7]["sun_p997_deg"])


def test_dispersed_fields_are_in_the_table_and_explain_the_metrics(dispersed, tmp_path, capsys):
    table = tmp_path / "table.csv"
    campaign(capsys, dispersed, "--workers", 1, "--out", tmp_path / "mc", "--export", table)
    rows = list(csv.DictReader(table.open()))
    sigma = np.array([float(row["input.craft.sat.sensors.magnetometer.sigma_deg"]) for row in rows])
    assert len(rows) == 12 and np.ptp(sigma) > 0.5
    assert {row["input.software.sat.rate_hz"] for row in rows} == {"1.0", "2.0"}


def test_a_campaign_goes_on_from_its_directory_alone_and_tells_what_was_damaged(dispersed, tmp_path, capsys):
    out = tmp_path / "mc"
    _, whole = campaign(capsys, dispersed, "--workers", 1, "--chunk", 3, "--out", out)
    missing, damaged = sorted(out.glob("trials-*.nc"))[1:3]
    missing.unlink()
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert cli.main(["monte-carlo", "--resume", str(out), "--workers", "1", "--json"]) == 0
    told, aside = capsys.readouterr(), out / "damaged"
    assert told.err == f"gnc: {damaged.name}: damaged; set aside in {aside}, and its trials flown again\n"
    again = json.loads(told.out)
    assert {key: again[key] for key in whole} == whole and again["timing"]["flown_trials"] == 6


def test_another_configuration_is_refused_by_its_key(dispersed, tmp_path, capsys):
    out = tmp_path / "mc"
    campaign(capsys, dispersed, "--workers", 1, "--out", out)
    assert cli.main(["monte-carlo", "--resume", str(out), "--set", "craft.sat.loads.dipole.size_Am2=0.5"]) == 2
    assert "craft.sat.loads.dipole.size_Am2" in capsys.readouterr().err
    assert cli.main(["monte-carlo", str(dispersed), "--resume", str(out), "--seed", "4"]) == 2
    assert "seed" in capsys.readouterr().err


def test_an_impossible_draw_ends_the_campaign_and_names_its_trial(tmp_path, capsys):
    """Leaving the trial out would fly another distribution than the one stated."""
    path = tmp_path / "some.toml"
    text = DISPERSED.split("[dispersions")[0]
    path.write_text(
        text + '[dispersions.x]\nkind = "normal"\nkey = "craft.sat.actuators.wheels.torque_limit_Nm"\nsigma = 0.005\n'
    )
    assert cli.main(["monte-carlo", str(path), "--workers", "1", "--out", str(tmp_path / "mc")]) == 2
    told = capsys.readouterr().err
    assert re.fullmatch(r"gnc: trial \d+: .*torque_limit.*\n", told)
    assert not list((tmp_path / "mc").glob("trials-*"))


LAW = """
import sys
import numpy as np


class Law:
    def __init__(self, J):
        self.calls = 0

    def start(self, shape):
        return ()

    def command(self, belief, reference, memory):
        self.calls += 1
        if len(belief.q_IB) > 1:  # the probe of one nominal trial passes
            {statement}
        return np.zeros(belief.w_B.shape), memory
"""


@pytest.mark.parametrize(
    ("statement", "workers", "code", "says"),
    [
        ("sys.exit(0)", 1, 3, "law.py:Law.command: SystemExit: 0, line 16 (trial"),
        ("sys.exit(0)", 2, 3, "law.py:Law.command: SystemExit: 0, line 16 (trial"),
        ("open('/nowhere/at all')", 1, 3, "law.py:Law.command: FileNotFoundError"),
        ("open(__file__, 'a').write('# edited in flight\\n')", 1, 2, "has other software: law.py is"),
    ],
)
def test_an_error_in_a_law_is_no_loss(statement, workers, code, says, tmp_path, capsys):
    """On the old code the first ended with 0, the others with lost trials and 0."""
    (tmp_path / "law.py").write_text(LAW.format(statement=statement))
    text = DISPERSED.split("[dispersions")[0] + '[software.sat.modes.nadir]\nlaw = "law.py:Law"\n'
    (tmp_path / "own.toml").write_text(text)
    out, options = tmp_path / "mc", ["--workers", str(workers), "--chunk", "4", "--trials", "8"]
    assert cli.main(["monte-carlo", str(tmp_path / "own.toml"), *options, "--out", str(out)]) == code
    told = capsys.readouterr().err
    assert says in told and told.count("\n") == 1
    assert len(list(out.glob("trials-*"))) < 2 and not (out / "metrics.json").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give a mission"),
        (["pointing", "--engine", "slurm"], "local or dask"),
        (["pointing", "--address", "tcp://localhost:1"], "--engine dask"),
        (["pointing", "--resume", "nowhere"], "nowhere"),
        (["pointing", "--out", "a", "--resume", "b"], "not both"),
        (["pointing", "--export", "table.xls"], ".csv"),
        (["pointing", "--set", "software.sat.rate_hz=7"], "controller: period"),
        (["pointing", "--trials", "0"], "--trials"),
    ],
)
def test_bad_arguments_give_one_line_and_leave_nothing(arguments, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["monte-carlo", *arguments]) == 2
    err = capsys.readouterr().err
    assert says in err and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_campaign_whose_requirements_are_not_met_ends_with_one(tmp_path, capsys):
    """On the old code `--set duration_s=800`, shorter than what was judged, printed success 1.0000 and ended with 0."""
    short = ["--trials", "4", "--set", "run.duration_s=20", "--set", "run.record_s=2"]
    told, _ = campaign(capsys, "pointing", *short, "--workers", 1, "--out", tmp_path / "mc", code=1)
    assert told["success"]["p"] == 0.0 and not told["ok"]
    assert [check["note"] for check in told["checks"] if check["name"].startswith("pointing")] == ["no data"] * 2


def test_a_campaign_is_judged_as_one_flight_of_all_its_trials_is(dispersed, tmp_path, capsys):
    told, _ = campaign(capsys, dispersed, "--workers", 1, "--chunk", 5, "--out", tmp_path / "mc")
    cli.main(["run", str(dispersed), "--out", str(tmp_path / "run"), "--json"])
    flight = json.loads(capsys.readouterr().out)
    assert [check["ok"] for check in told["checks"]] == [check["ok"] for check in flight["checks"]]
    values = {check["name"]: check["value"] for check in flight["checks"]}
    for check in told["checks"]:
        if "share of time" not in check["note"]:
            assert check["value"] == pytest.approx(values[check["name"]], rel=1e-12), check["name"]


def test_time_and_eclipse_may_be_asked_of_a_run_and_of_a_campaign(tmp_path, capsys):
    """What every flight has beside its signals: the first time of a mode, the share of the time in shadow."""
    lines = 'base = "pointing"', 'remove = ["requirements"]', "[run]", "duration_s = 30.0", "record_s = 1.0"
    asked = (
        '[requirements.first_s]\nsignal = "t"\nwhen = "mode == \'nadir\' and t > 4.5"\nstatistic = "min"\nat_most = 5.0'
    )
    shade = '[requirements.dark]\nsignal = "eclipse"\nstatistic = "mean"\nat_most = 0.0'
    near = 'when = "knowledge_error_deg < 0.7"'  # trials have different numbers of such times
    mean = f'[requirements.near_deg]\nsignal = "knowledge_error_deg"\n{near}\nstatistic = "rms"\nat_most = 0.7'
    honest = f'[requirements.honest]\nkind = "consistency"\nsignal = "nees"\n{near}\nexcess = 9.0'
    (tmp_path / "timed.toml").write_text("\n".join([*lines, asked, shade, mean, honest]))
    checks = []
    for command in (["run"], ["monte-carlo", "--workers", "1"]):
        arguments = [str(tmp_path / "timed.toml"), "--trials", "2", "--out", str(tmp_path / command[0]), "--json"]
        assert cli.main([*command, *arguments]) in (0, 1)
        told = json.loads(capsys.readouterr().out)
        metrics = told["metrics"]
        assert np.ravel(metrics["first_s"] if command == ["run"] else metrics["first_s"]["mean"]) == 5.0
        checks.append({check["name"]: check["value"] for check in told["checks"]})
    for name in ("near_deg", "honest"):
        assert checks[1][name] == pytest.approx(checks[0][name], rel=1e-12)


def test_everything_drawn_counts_in_the_sensitivities(dispersed, tmp_path, capsys):
    table = tmp_path / "table.csv"
    campaign(capsys, dispersed, "--workers", 1, "--out", tmp_path / "mc", "--export", table)
    columns = next(csv.reader(table.open()))
    assert {"input.inertia[0,0]", "input.wheels[2]", "input.dipole[1]", "input.attitude[0]"} <= set(columns)


@pytest.mark.slow
def test_ten_kills_of_driver_or_worker_leave_the_numbers_of_an_undisturbed_campaign(tmp_path, capsys):
    settings = ["--trials", "60", "--chunk", "5", "--set", "run.duration_s=60", "--set", "run.record_s=5"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    campaign(capsys, "pointing", *settings, "--workers", 1, "--out", whole, code=1)  # too short to be judged
    random = np.random.default_rng(0)
    for k in range(10):
        begin = (
            ["--resume", broken] if (broken / "manifest.json").exists() else ["pointing", *settings, "--out", broken]
        )
        command = [sys.executable, "-m", "gnc.scenarios", "monte-carlo", *map(str, begin), "--workers", "2"]
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(2.0, 8.0))
        children = subprocess.run(["pgrep", "-P", str(driver.pid)], capture_output=True, text=True, check=False)
        workers = [int(pid) for pid in children.stdout.split()]
        os.kill(workers[0] if k % 2 and workers else driver.pid, signal.SIGKILL)
        time.sleep(1.0)
        driver.kill()
        driver.wait()
    campaign(capsys, "--resume", broken, "--workers", 1, code=1)
    for name in ("metrics.json", "bands.nc"):
        assert (broken / name).read_bytes() == (whole / name).read_bytes()
