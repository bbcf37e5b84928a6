"""A campaign on disk survives kills, damage and confusion, or says in one line why not."""

import errno
import json
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from gnc.errors import InputError
from gnc.montecarlo import campaign
from gnc.montecarlo.manifest import Manifest
from gnc.montecarlo.store import created, prepare, read_manifest, resumed
from tests.gnc.montecarlo.flights import CONFIGURATION, Walk

TRIALS = 20


def fly(out: Path, configuration=CONFIGURATION, seed=1, trials=TRIALS, **options) -> campaign.Campaign:
    return campaign.run(Walk(total=TRIALS), configuration, seed, trials, out, **({"chunk_size": 5} | options))


def files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir()}


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


def test_damage_found_is_reported(finished: Path) -> None:
    flip(chunk_paths(finished)[2])
    assert fly(finished, resume=True).damaged == [range(10, 15)]


def test_resuming_a_finished_campaign_flies_nothing(finished: Path) -> None:
    whole = files(finished)
    assert fly(finished, resume=True, chunk_size=None).timing["flown_trials"] == 0
    assert files(finished) == whole


def test_what_a_killed_driver_left_half_written_is_removed(finished: Path) -> None:
    (finished / ".trials-000000000-000000004-ab.123.tmp.nc").write_bytes(b"half")
    whole = files(finished)
    fly(finished, resume=True)
    assert files(finished).keys() == whole.keys() - {".trials-000000000-000000004-ab.123.tmp.nc"}


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
    manifest = json.loads((finished / "manifest.json").read_text())
    manifest["versions"]["numpy"] = "1.0"
    (finished / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match='versions.numpy is "1.0" there and'):
        fly(finished, resume=True)


def test_a_damaged_manifest_is_refused(finished: Path) -> None:
    text = (finished / "manifest.json").read_text()
    for damaged, says in (
        (text.replace('"gain": 2.0', '"gain": 2.5'), "manifest.json is damaged"),
        (text[:-20], "manifest.json is not that of a campaign"),
        ("{}", "manifest.json is not that of a campaign"),
    ):
        (finished / "manifest.json").write_text(damaged)
        with pytest.raises(InputError, match=says):
            fly(finished, resume=True)


def test_the_manifest_tells_what_was_flown(finished: Path) -> None:
    manifest = read_manifest(finished)
    assert (manifest.configuration, manifest.seed, manifest.trials) == (CONFIGURATION, 1, TRIALS)
    assert manifest.versions["numpy"] == np.__version__


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
    with pytest.raises(InputError) as caught, largest_file(2000):
        fly(out)
    assert str(caught.value) == f"{out}: the file is larger than the system allows; choose another place"
    assert files(out).keys() == {"manifest.json", "lock"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_gives_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="no permission; choose another place"):
        fly(tmp_path / "run")


def test_a_second_driver_is_kept_out_and_the_lock_ends_with_the_first(tmp_path: Path) -> None:
    manifest = Manifest.of(CONFIGURATION, 1, TRIALS, 5)
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
