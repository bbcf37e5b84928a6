"""Who flew a campaign is known down to each source file, on every worker; the old code accepted all of these."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gnc.errors import DefectError, InputError, PartError
from gnc.montecarlo import campaign, engines, identity
from gnc.montecarlo.engines import InProcess, LocalProcesses, Parcel, Reply, answer
from tests.gnc.montecarlo.flights import CONFIGURATION, Walk


class Lawful(Walk):
    """A walk with a user's part in a file."""

    def __init__(self, *sources):
        super().__init__(total=8)
        object.__setattr__(self, "sources", sources)


def fly(out, flight, **options):
    return campaign.run(flight, CONFIGURATION, 1, 8, out, **({"chunk_size": 4} | options))


@pytest.fixture
def law(tmp_path, monkeypatch):
    """A law that imports a helper, which imports from a package beside it; seen by no process yet."""
    folder = tmp_path / "mine"
    (folder / "tables").mkdir(parents=True)
    (folder / "law.py").write_text("import numpy as np\ndef command():\n    from helper import gain\n")
    (folder / "helper.py").write_text("from tables import steep\ngain = 2.0\n")
    (folder / "tables" / "__init__.py").write_text("")
    (folder / "tables" / "steep.py").write_text("from . import flat\n")
    (folder / "tables" / "flat.py").write_text("x = 1\n")
    monkeypatch.setattr(identity, "_loaded", dict(identity._loaded))
    return folder / "law.py"


def test_the_files_that_a_law_imports_belong_to_the_software(law) -> None:
    own = identity.software(Lawful(law)).keys() - identity.software(object()).keys()
    tables = {"tables/__init__.py", "tables/steep.py", "tables/flat.py"}
    assert own == {"law.py", "helper.py", *tables, "test_identity.py", "flights.py"}


@pytest.mark.parametrize("name", ["law.py", "helper.py", "tables/flat.py"])
def test_an_edit_between_two_sessions_is_refused_by_its_file(law, name, tmp_path, monkeypatch) -> None:
    fly(tmp_path / "run", Lawful(law))
    with (law.parent / name).open("a") as file:
        file.write("# another\n")
    monkeypatch.setattr(identity, "_loaded", {})  # as in another process
    with pytest.raises(InputError, match=f"holds another campaign: software.{name} is .* there and .* here"):
        fly(tmp_path / "run", Lawful(law), resume=True)


def test_an_edit_of_the_framework_between_two_sessions_is_refused_by_its_file(tmp_path, monkeypatch) -> None:
    fly(tmp_path / "run", Walk(total=8))
    edited, files = tmp_path / "loop.py", identity._framework()
    edited.write_text("dipole = 100.0\n")
    monkeypatch.setattr(identity, "_framework", lambda: files | {"gnc/loop.py": edited})
    with pytest.raises(InputError, match="holds another campaign: software.gnc/loop.py is"):
        fly(tmp_path / "run", Walk(total=8), resume=True)


def test_an_import_edited_after_this_process_loaded_it_is_refused(law) -> None:
    identity.software(Lawful(law))
    (law.parent / "helper.py").write_text("gain = 3.0\n")
    with pytest.raises(InputError, match=r"helper.py: has changed since this process loaded it"):
        identity.software(Lawful(law))


class EditsItsLaw(Lawful):
    """Changes its own file in flight, when trial 4 comes."""

    def fly(self, trials):
        if 4 in trials:
            path = Path(self.sources[0])
            path.write_text(path.read_text() + "# edited in flight\n")
        return super().fly(trials)


def test_a_chunk_during_which_a_file_was_edited_is_not_kept(law, tmp_path) -> None:
    with pytest.raises(InputError, match=r"a worker on \S+ has other software: law.py is .* there and .* here"):
        fly(tmp_path / "run", EditsItsLaw(law))
    assert [path.name[:26] for path in (tmp_path / "run").glob("trials-*")] == ["trials-000000000-000000003"]


def test_a_worker_with_other_code_is_refused_with_the_difference(tmp_path) -> None:
    known = identity.software(Walk())
    with pytest.raises(InputError, match=r'gnc/loop.py is "0" there and "\w{16}" here; give it the same'):
        answer(Parcel(Walk(), known | {"gnc/loop.py": "0"}, 0), range(4))


@pytest.mark.parametrize("reply", [lambda results: Reply(results, "other"), lambda results: results])
def test_a_reply_that_does_not_state_the_drivers_software_is_not_kept(reply, tmp_path) -> None:
    class Foreign(InProcess):
        def fly(self, sent, chunks):
            return ((chunk, reply(sent.flight.fly(np.array(chunk)))) for chunk in chunks)

    with pytest.raises(InputError, match="workers: one does not fly with the software of this process"):
        fly(tmp_path / "run", Walk(total=8), engine=Foreign())
    assert not list((tmp_path / "run").glob("trials-*"))


class Drawing(Walk):
    """Draws numbers of its own."""

    def fly(self, trials):
        return super().fly(trials) | {"final": np.random.default_rng().normal(size=len(trials))}


@pytest.mark.parametrize("engine", [InProcess(), LocalProcesses(2)])
def test_a_flight_that_cannot_be_repeated_is_refused(engine, tmp_path) -> None:
    with pytest.raises(PartError, match="Drawing.fly: not repeatable: final of trial 3 differs when it is flown again"):
        fly(tmp_path / "run", Drawing(total=8), engine=engine)
    others = 0 if isinstance(engine, InProcess) else 1  # the other worker may have finished its chunk by then
    assert len(list((tmp_path / "run").glob("trials-*"))) <= others and not (tmp_path / "run" / "metrics.json").exists()


class Crowded(Walk):
    """Ends where its place among others says, as with numbers drawn from a seed of its own."""

    def fly(self, trials):
        found = super().fly(trials)
        return found | {"final": found["final"] + np.arange(len(trials))}


@pytest.mark.parametrize(("total", "size", "trial"), [(8, 4, 3), (100, None, 99)])
def test_a_flight_whose_trials_depend_on_those_beside_them_is_refused(tmp_path, total, size, trial) -> None:
    with pytest.raises(PartError, match=f"not repeatable: final of trial {trial} differs when it is flown alone"):
        campaign.run(Crowded(total=total), CONFIGURATION, 1, total, tmp_path / "run", chunk_size=size)
    assert not (tmp_path / "run").exists()


def test_a_flight_of_ours_that_cannot_be_repeated_is_a_defect(monkeypatch) -> None:
    monkeypatch.setattr(Drawing, "__module__", "gnc.somewhere")
    with pytest.raises(DefectError, match="not repeatable"):
        engines.check_repeatable(Drawing(), 0, {})


@pytest.mark.slow
def test_a_dask_worker_with_an_edited_framework_is_refused(repository, tmp_path) -> None:
    distributed = pytest.importorskip("distributed")
    from gnc.montecarlo.engines import Dask

    for room in ("gnc", "tests"):
        shutil.copytree(repository / room, tmp_path / "other" / room, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "other" / "gnc" / "noise.py").open("a") as file:
        file.write("\n# edited\n")
    with distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=60) as cluster:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-dashboard"]
        environment = os.environ | {"PYTHONPATH": str(tmp_path / "other")}
        worker = subprocess.Popen(command, cwd=tmp_path / "other", env=environment, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60.0
            while not cluster.scheduler.workers and time.monotonic() < deadline:
                time.sleep(0.1)
            with pytest.raises(InputError, match='has other software: gnc/noise.py is "'):
                fly(tmp_path / "run", Walk(total=8), engine=Dask(address=cluster.scheduler_address))
        finally:
            worker.terminate()
            worker.wait()
    assert not list((tmp_path / "run").glob("trials-*"))
