"""A campaign on disk survives kills, damage and confusion, or says in one line why not."""

import errno
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from gnc.errors import InputError
from gnc.montecarlo import campaign
from gnc.montecarlo.identity import Manifest
from gnc.montecarlo.store import _locked, created, prepare, read_manifest, resumed
from tests.gnc.montecarlo.flights import CONFIGURATION, Walk

TRIALS = 20


def fly(out: Path, configuration=CONFIGURATION, seed=1, trials=TRIALS, **options) -> campaign.Campaign:
    return campaign.run(Walk(total=TRIALS), configuration, seed, trials, out, **({"chunk_size": 5} | options))


def files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    fly(tmp_path / "run")
    return tmp_path / "run"


def chunk_paths(out: Path) -> list[Path]:
    return sorted(out.glob("trials-*.nc"))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGES = {
    "a flipped bit": flip,
    "a truncated file": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "an empty file": lambda path: path.write_bytes(b""),
    "a missing file": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_chunk_is_flown_again(finished: Path, damage) -> None:
    whole = files(finished)
    damage(chunk_paths(finished)[2])
    result = fly(finished, resume=True)
    assert files(finished) == whole
    assert result.timing["flown_trials"] == 5


def test_a_damaged_chunk_is_set_aside_and_told(finished: Path) -> None:
    path = chunk_paths(finished)[2]
    for n in (1, 2):
        flip(path)
        damaged = path.read_bytes()
        remedy = f"set aside in {finished / 'damaged'}, and its trials flown again"
        assert fly(finished, resume=True).damaged == [f"{path.name}: damaged; {remedy}"]
        assert (finished / "damaged" / f"{path.name}.{n}").read_bytes() == damaged


def test_a_chunk_of_another_campaign_is_set_aside_though_its_checksum_is_right(finished: Path, tmp_path: Path) -> None:
    """The old code mixed it in."""
    whole = files(finished)
    campaign.run(Walk(total=TRIALS, seed=2), CONFIGURATION, 2, TRIALS, tmp_path / "other", chunk_size=5)
    foreign = chunk_paths(tmp_path / "other")[1]
    chunk_paths(finished)[1].unlink()
    shutil.copy(foreign, finished)
    result = fly(finished, resume=True)
    assert "of another campaign" in result.damaged[0] and files(finished) == whole


def test_files_of_the_users_stay(finished: Path) -> None:
    """The old code removed each of them."""
    names = ["trials-notes.nc", "trials-1-2.nc", ".thesis.tmp", ".notes.tmp.txt", ".trials-old.1.tmp.nc"]
    for name in names:
        (finished / name).write_text("mine")
    fly(finished, resume=True)
    assert {name: (finished / name).read_text() for name in names} == dict.fromkeys(names, "mine")


def test_a_driver_that_comes_second_does_not_overwrite_the_first(tmp_path: Path) -> None:
    """Both found the directory empty; the old code flew over the results of the other."""
    prepare(tmp_path / "run")
    fly(tmp_path / "run")
    whole = files(tmp_path / "run")
    with pytest.raises(InputError, match="not empty"), created(tmp_path / "run", Manifest.of({}, 2, TRIALS, 5, {})):
        pass
    assert files(tmp_path / "run") == whole


def test_a_campaign_that_ends_before_its_first_chunk_leaves_nothing_that_blocks_the_next(tmp_path: Path) -> None:
    out = tmp_path / "new" / "run"
    with pytest.raises(InputError, match="^trial 0: seed: expected a whole number"):
        campaign.run(Walk(total=TRIALS, seed=None), CONFIGURATION, 1, TRIALS, out, chunk_size=5)
    assert not list(tmp_path.iterdir())
    out.mkdir(parents=True)
    (out / ".mine").write_text("kept")
    with pytest.raises(InputError, match="^trial 0: seed: expected a whole number"):
        campaign.run(Walk(total=TRIALS, seed=None), CONFIGURATION, 1, TRIALS, out, chunk_size=5)
    assert files(out) == {".mine": b"kept"}


def test_resuming_a_finished_campaign_flies_nothing(finished: Path) -> None:
    whole = files(finished)
    assert fly(finished, resume=True, chunk_size=None).timing["flown_trials"] == 0
    assert files(finished) == whole


def test_what_a_killed_driver_left_half_written_is_removed(finished: Path) -> None:
    whole = files(finished)
    for name in (f".{chunk_paths(finished)[0].stem}.123.tmp.nc", ".metrics.123.tmp.json", ".bands.123.tmp.nc"):
        (finished / name).write_bytes(b"half")
    fly(finished, resume=True)
    assert files(finished) == whole


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"configuration": {"walk": {"gain": 3.0, "bias": 0.5}}}, "walk.gain is 2.0 there and 3.0 here"),
        ({"configuration": {"walk": {"gain": 2.0}}}, "walk.bias is 0.5 there and absent here"),
        ({"configuration": CONFIGURATION | {"wind": 1}}, "wind is absent there and 1 here"),
        ({"configuration": CONFIGURATION | {"seed": 9}}, "seed is absent there and 9 here"),
        ({"seed": 2}, "seed is 1 there and 2 here"),
        ({"trials": 21}, "trials is 20 there and 21 here"),
        ({"chunk_size": 6}, "chunk_size is 5 there and 6 here"),
    ],
)
def test_another_campaign_is_refused_with_the_difference_named_and_nothing_touched(
    finished: Path, change, says
) -> None:
    whole = files(finished)
    with pytest.raises(InputError) as caught:
        fly(finished, resume=True, **change)
    assert str(caught.value) == (
        f"{finished}: holds another campaign: {says}; resume it as it was, or use a new directory"
    )
    assert files(finished) == whole


def test_other_software_is_refused(finished: Path) -> None:
    manifest = read_manifest(finished)
    manifest.software["numpy"] = "1.0"
    (finished / "manifest.json").write_text(replace(manifest).text())
    with pytest.raises(InputError, match='software.numpy is "1.0" there and'):
        fly(finished, resume=True)


def test_a_damaged_manifest_is_refused(finished: Path) -> None:
    text = (finished / "manifest.json").read_text()
    for damaged, says in (
        (text.replace('"gain": 2.0', '"gain": 2.5'), "manifest.json is damaged"),
        (text[:-20], "manifest.json is not that of a campaign"),
        ("{}", "manifest.json is not that of a campaign"),
        ("[" * 100_000, "manifest.json is not that of a campaign"),
        (text.replace('"chunk_size": 5', '"chunk_size": 6'), "manifest.json is damaged"),
        (text.replace('"chunk_size": 5', '"chunk_size": -1'), "manifest.json is damaged"),
    ):
        (finished / "manifest.json").write_text(damaged)
        with pytest.raises(InputError, match=says):
            fly(finished, resume=True)


def test_the_manifest_tells_what_was_flown(finished: Path) -> None:
    manifest = read_manifest(finished)
    assert (manifest.configuration, manifest.seed, manifest.trials) == (CONFIGURATION, 1, TRIALS)
    assert manifest.software["numpy"] == np.__version__


def test_a_directory_in_use_for_something_else_is_refused_and_left_alone(finished: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("all of it")
    with pytest.raises(InputError, match="other: not empty; resume the campaign in it, or choose another directory"):
        fly(other)
    with pytest.raises(InputError, match=r"other: holds no campaign \(no manifest.json\)"):
        fly(other, resume=True)
    with pytest.raises(InputError, match="run: not empty"):
        fly(finished)
    with pytest.raises(InputError, match=r"thesis.txt: a file and not a directory"):
        fly(other / "thesis.txt")
    with pytest.raises(InputError, match=r"not a directory"):
        fly(other / "thesis.txt" / "run")
    assert files(other) == {"thesis.txt": b"all of it"}


@pytest.mark.parametrize(
    ("code", "says"),
    [(errno.ENOSPC, "the disk is full; free some space and try again"), (errno.EROFS, "the file system is read-only")],
)
def test_a_disk_that_fails_half_way_gives_one_line_and_can_be_resumed(tmp_path, monkeypatch, code, says) -> None:
    calm, hurt = tmp_path / "calm", tmp_path / "hurt"
    fly(calm)
    syncs, fsync = [], os.fsync

    def failing(descriptor: int) -> None:
        syncs.append(descriptor)
        if len(syncs) == 7:  # each file has two: its own and that of the directory
            raise OSError(code, os.strerror(code))
        fsync(descriptor)

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", failing)
        with pytest.raises(InputError) as caught:
            fly(hurt)
    assert str(caught.value).startswith(f"{hurt}: {says}") and "\n" not in str(caught.value)
    assert len(chunk_paths(hurt)) == 2
    assert fly(hurt, resume=True).timing["flown_trials"] == 10
    assert files(hurt) == files(calm)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the operating system refuse larger files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_the_operating_system_refuses_gives_one_line_and_leaves_no_debris(tmp_path: Path) -> None:
    out = tmp_path / "run"
    fly(out)
    whole = files(out)
    chunk_paths(out)[0].unlink()
    with pytest.raises(InputError) as caught, largest_file(2000):
        fly(out, resume=True)
    assert str(caught.value) == f"{out}: the file is larger than the system allows; choose another place"
    assert files(out).items() < whole.items() and len(files(out)) == len(whole) - 1
    with pytest.raises(InputError), largest_file(2000):
        fly(tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_gives_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="no permission; choose another place"):
        fly(tmp_path / "run")


def test_a_second_driver_is_kept_out_and_the_lock_ends_with_the_first(tmp_path: Path) -> None:
    manifest = Manifest.of(CONFIGURATION, 1, TRIALS, 5, {})
    prepare(tmp_path / "run")
    with (
        created(tmp_path / "run", manifest),
        pytest.raises(InputError, match="another process is flying this campaign"),
        resumed(tmp_path / "run", manifest),
    ):
        pass
    with resumed(tmp_path / "run", manifest) as store:
        assert store.paths == {}


def test_chunk_files_are_labelled_arrays_that_xarray_opens(finished: Path) -> None:
    with xr.open_dataset(chunk_paths(finished)[1]) as data:
        assert data["trial"].values.tolist() == [5, 6, 7, 8, 9]
        expected = Walk(total=TRIALS).fly(np.arange(5, 10))
        for name, values in expected.items():
            assert data[name].dims[0] == "trial"
            assert (data[name].values == values).all()


def test_a_name_carries_the_sum_that_sha256sum_gives(finished: Path) -> None:
    paths = chunk_paths(finished)
    sums = subprocess.run(["sha256sum", *paths], capture_output=True, text=True, check=True).stdout.split("\n")
    assert [path.stem.split("-")[3] for path in paths] == [line.split()[0] for line in sums if line]


def test_without_file_locks_a_campaign_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("gnc.montecarlo.store.fcntl", None)  # as on Windows
    with pytest.raises(InputError, match="need the file locks of Linux or macOS"), _locked(tmp_path):
        pass
