"""A trial has the same bits in every chunk, on every worker and engine, after any number of deaths."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.montecarlo import campaign
from gnc.montecarlo.engines import Dask, LocalProcesses
from tests.gnc.montecarlo.flights import CONFIGURATION, AlwaysKillsItsWorker, KillsItsWorker, Walk

TRIALS = 80
WALK = Walk(total=TRIALS, lost=(3, 30))


def fly(out: Path, flight=WALK, trials=TRIALS, **options) -> campaign.Campaign:
    return campaign.run(
        flight, CONFIGURATION, seed=1, trials=trials, out=out, **({"consistency": {"nees": 2}} | options)
    )


def outcome(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in ("metrics.json", "bands.nc")}


def chunk_files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("trials-*.nc")}


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> tuple[campaign.Campaign, Path]:
    out = tmp_path_factory.mktemp("campaign") / "reference"
    return fly(out, chunk_size=64), out


def same_tables(a: campaign.Campaign, b: campaign.Campaign) -> bool:
    return a.table.keys() == b.table.keys() and all(
        np.array_equal(a.table[name], b.table[name], equal_nan=a.table[name].dtype.kind == "f") for name in a.table
    )


@pytest.mark.parametrize("chunk_size", [1, 7, 1000])
def test_the_chunk_size_changes_no_bit(reference, tmp_path: Path, chunk_size: int) -> None:
    result = fly(tmp_path / "run", chunk_size=chunk_size)
    assert outcome(tmp_path / "run") == outcome(reference[1])
    assert same_tables(result, reference[0])


@pytest.mark.parametrize("engine", [LocalProcesses(2), LocalProcesses(1)], ids=["two workers", "one worker"])
def test_worker_processes_write_the_same_bytes_as_this_process(reference, tmp_path: Path, engine) -> None:
    fly(tmp_path / "run", engine=engine, chunk_size=64)
    assert outcome(tmp_path / "run") == outcome(reference[1])
    assert chunk_files(tmp_path / "run") == chunk_files(reference[1])


def test_a_trial_alone_has_the_numbers_it_has_in_the_campaign(reference) -> None:
    for trial in (0, 41, TRIALS - 1):
        alone = WALK.fly(np.array([trial]))
        for name in ("final", "success", "input.walk.gain", "input.walk.bias"):
            assert alone[name][0] == reference[0].table[name][trial]


def test_a_worker_process_that_is_killed_is_replaced_and_nothing_changes(reference, tmp_path: Path) -> None:
    fly(tmp_path / "run", KillsItsWorker(WALK, tmp_path), engine=LocalProcesses(2), chunk_size=10)
    assert (tmp_path / "killed-at-20").exists()
    assert outcome(tmp_path / "run") == outcome(reference[1])


def test_dask_with_two_processes_one_killed_completes_with_the_same_bytes(reference, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    fly(tmp_path / "run", KillsItsWorker(WALK, tmp_path), engine=Dask(2), chunk_size=10)
    assert (tmp_path / "killed-at-20").exists()
    assert outcome(tmp_path / "run") == outcome(reference[1])


def test_dask_flies_on_the_cluster_of_a_scheduler(reference, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.LocalCluster(n_workers=1, **options) as cluster:
        fly(tmp_path / "run", engine=Dask(address=cluster.scheduler_address), chunk_size=10)
    assert outcome(tmp_path / "run") == outcome(reference[1])
    with (
        distributed.LocalCluster(n_workers=0, **options) as cluster,
        pytest.raises(InputError, match="address: the scheduler at .* has no workers"),
    ):
        fly(tmp_path / "idle", engine=Dask(address=cluster.scheduler_address), chunk_size=10)


def test_an_address_without_a_scheduler_is_named(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("gnc.montecarlo.engines.CONNECT_S", 0.2)
    with pytest.raises(InputError, match="address: no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        fly(tmp_path / "run", engine=Dask(address="tcp://127.0.0.1:9"), chunk_size=10)
    assert not (tmp_path / "run").exists()  # the old code left a folder that blocked the next try


def test_a_scheduler_that_goes_away_leaves_a_campaign_to_resume(reference, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    import dask

    quick = {"distributed.comm.timeouts.connect": "500ms", "distributed.comm.retry.count": 0}
    options = {"processes": False, "dashboard_address": None, "silence_logs": 60}
    with dask.config.set(quick), distributed.LocalCluster(n_workers=1, **options) as cluster:
        engine = Dask(address=cluster.scheduler_address)
        with pytest.raises(InputError, match="address: lost the connection to the Dask scheduler; resume"):
            fly(tmp_path / "run", engine=engine, chunk_size=10, progress=lambda _: cluster.close())
    fly(tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == outcome(reference[1])


def test_a_cluster_whose_workers_all_go_away_is_waited_for_and_left_to_resume(reference, tmp_path, monkeypatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("gnc.montecarlo.engines.WAIT_S", 0.2)
    monkeypatch.setattr("gnc.montecarlo.engines.DESERTED", 3)
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, silence_logs=60) as cluster:
        leave = lambda _: cluster.sync(cluster.workers[0].close) if 0 in cluster.workers else None  # noqa: E731
        with pytest.raises(InputError, match=r"workers: none for 0\.6\d* s; start some, and resume"):
            fly(tmp_path / "run", engine=Dask(address=cluster.scheduler_address), chunk_size=10, progress=leave)
    assert list((tmp_path / "run").glob("trials-*"))
    fly(tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == outcome(reference[1])


def test_workers_that_always_die_end_the_campaign_with_a_line(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("gnc.montecarlo.engines.PATIENCE", 2)
    with pytest.raises(InputError, match="workers: died 2 times in a row .* lower the chunk size"):
        fly(tmp_path / "run", AlwaysKillsItsWorker(), engine=LocalProcesses(1), chunk_size=10)


def walking(out: Path, trials: int) -> list[str]:
    return [sys.executable, "-m", "tests.gnc.montecarlo.driver", str(out), str(trials), "0.1"]


def flying(mission: Path) -> Callable[[Path, int], list[str]]:
    def command(out: Path, trials: int) -> list[str]:
        fresh = [str(mission), "--trials", str(trials), "--out", str(out)]
        how = ["--resume", str(out)] if (out / "manifest.json").exists() else fresh
        return [sys.executable, "-m", "gnc.scenarios", "monte-carlo", *how, "--workers", "2", "--chunk", "5"]

    return command


def killed_and_resumed(
    out: Path, repository: Path, kills: int, trials: int, seed: int, worker_too: bool, command=walking
) -> int:
    """Kill the driver so often at random times, then let it finish; returns how many kills met it alive.

    Its workers have to end with it, each time; if asked, one of them is killed before.
    """
    chance, met = random.Random(seed), 0
    for _ in range(kills):
        driver = subprocess.Popen(command(out, trials), cwd=repository, stderr=subprocess.DEVNULL)
        if worker_too:
            wait_for_chunk(out, driver, chance)
            os.kill(chance.choice(workers_of(driver.pid)), signal.SIGKILL)
        wait_for_chunk(out, driver, chance)
        met += driver.poll() is None
        workers = workers_of(driver.pid)
        driver.kill()
        driver.wait()
        assert workers and ended(workers)
    assert subprocess.run(command(out, trials), cwd=repository).returncode in (0, 1)  # 1: a requirement failed
    return met


def wait_for_chunk(out: Path, driver: subprocess.Popen, chance: random.Random) -> None:
    """Wait until the driver has finished one more chunk, so that every session gets on, and a random time after."""
    before = len(chunk_files(out))
    while driver.poll() is None and len(list(out.glob("trials-*.nc"))) <= before:
        time.sleep(0.005)
    time.sleep(chance.uniform(0.0, 0.1))


def test_a_driver_killed_twice_ends_with_the_results_of_an_undisturbed_one(tmp_path: Path, repository: Path) -> None:
    assert killed_and_resumed(tmp_path / "killed", repository, kills=2, trials=60, seed=1, worker_too=False) == 2
    fly(tmp_path / "calm", Walk(total=60, lost=(3, 30)), trials=60, chunk_size=5)
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "calm")
    assert chunk_files(tmp_path / "killed") == chunk_files(tmp_path / "calm")


@pytest.mark.slow
def test_a_driver_and_a_worker_killed_ten_times_end_with_the_results_of_an_undisturbed_run(
    tmp_path: Path, repository
) -> None:
    assert killed_and_resumed(tmp_path / "killed", repository, kills=10, trials=400, seed=2, worker_too=True) == 10
    fly(tmp_path / "calm", Walk(total=400, lost=(3, 30)), trials=400, chunk_size=5)
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "calm")
    assert chunk_files(tmp_path / "killed") == chunk_files(tmp_path / "calm")


MISSION = """
base = "pointing"
[run]
duration_s = 1200
[software.sat.modes.damp]
guidance = { kind = "pointing", at = "nadir" }
law = { kind = "pd", frequency_rad_s = 0.05 }
to = ["wheels"]
[[software.sat.transitions]]
from = "damp"
to = "nadir"
when = "rate_deg_s < 1 or mode_time_s > 40"
for_s = 5
[faults.wheel]
part = "sat.wheels"
which = [1]
kind = "dead"
from_s = 60
[faults.field]
part = "sat.magnetometer"
kind = "bias"
size = [1e-6]
from_s = 30
to_s = 90
[dispersions.when]
kind = "uniform"
key = "faults.wheel.from_s"
lo = 20.0
hi = 100.0
"""


@pytest.mark.slow
def test_a_mission_with_modes_and_faults_killed_twenty_times_ends_with_the_bytes_of_a_calm_one(
    tmp_path: Path, repository: Path
) -> None:
    (tmp_path / "mine.toml").write_text(MISSION)
    command, options = flying(tmp_path / "mine.toml"), {"kills": 10, "trials": 150}
    assert killed_and_resumed(tmp_path / "a", repository, seed=3, worker_too=False, command=command, **options) == 10
    assert killed_and_resumed(tmp_path / "b", repository, seed=4, worker_too=True, command=command, **options) == 10
    assert killed_and_resumed(tmp_path / "calm", repository, 0, 150, 5, False, command) == 0
    for killed in ("a", "b"):
        assert chunk_files(tmp_path / killed) == chunk_files(tmp_path / "calm")
        assert outcome(tmp_path / killed) == outcome(tmp_path / "calm")


def ended(pids: list[int]) -> bool:
    """Tell whether processes end within a time that is far more than they need."""
    deadline = time.monotonic() + 60.0
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(alive, pids))


def workers_of(pid: int) -> list[int]:
    """Worker processes, without the one that tracks resources for them."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
