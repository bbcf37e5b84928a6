"""A campaign on disk: a directory with a manifest and one NetCDF file per finished chunk of trials.

A chunk file is written whole or not at all, carries its SHA-256 in its name, so that damage shows, and the hash of the
campaign inside, so that a chunk of another one does. NetCDF-3: read by xarray and everything else, no pickles, and the
same bytes for the same results. Nothing is removed but what is ours by its exact name; what is not as it should be is
set aside in the folder `damaged`.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gnc.errors import InputError
from gnc.files import explained, read_regular, replacing
from gnc.labelled import Table, encoded
from gnc.montecarlo.flight import Results
from gnc.montecarlo.identity import Manifest

if TYPE_CHECKING:
    from xarray import Dataset

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

MANIFEST, LOCK, ASIDE = "manifest.json", "lock", "damaged"
NAME = re.compile(r"trials-(\d{9,10})-(\d{9,10})-([0-9a-f]{64})\.nc")
DEBRIS = re.compile(rf"\.(?:{NAME.pattern[:-4]}|manifest|metrics|bands)\.\d+\.tmp\.(?:nc|json)")
LARGEST_MANIFEST = 2**24  # bytes
LARGEST_VARIABLE = 2**32 - 4  # bytes, of NetCDF-3 with 64-bit offsets


class Store:
    """The chunks of a campaign; made by `created` or `resumed`."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.paths: dict[range, Path] = {}  # of the finished chunks
        self.damaged: list[str] = []  # what was set aside on opening, and why; it is flown again

    def chunks(self) -> list[range]:
        """All chunks of the campaign, in order."""
        trials, size = self.manifest.trials, self.manifest.chunk_size
        return [range(start, min(start + size, trials)) for start in range(0, trials, size)]

    def write(self, chunk: range, results: Results) -> None:
        """Keep the results of a chunk for good."""
        data = _encode(chunk, results, self.manifest.sha256)
        path = self.folder / f"trials-{chunk.start:09d}-{chunk.stop - 1:09d}-{hashlib.sha256(data).hexdigest()}.nc"
        write_durably(path, data)
        self.paths[chunk] = path

    def read(self, chunk: range, names: list[str] | None = None) -> Results:
        """Results of a chunk, all or some; names that it does not have are left out."""
        with self.open(chunk) as data:
            return {str(name): data[name].values for name in data.data_vars if names is None or name in names}

    @contextmanager
    def open(self, chunk: range) -> Iterator[Dataset]:
        """A finished chunk as a dataset whose arrays are read when asked for."""
        with _opened(self.paths[chunk]) as data:
            yield data

    def keep_only(self, chunks: list[range]) -> None:
        """Remove other chunks: those flown ahead of an early stop."""
        with explained(self.folder):
            for chunk in self.paths.keys() - set(chunks):
                self.paths.pop(chunk).unlink()

    def _take_stock(self) -> None:
        """Find the finished chunks; set others aside, and remove what a killed driver left half written."""
        expected = set(self.chunks())
        for path in sorted(self.folder.iterdir()):
            if DEBRIS.fullmatch(path.name) and _is_regular(path):
                path.unlink()
            elif match := NAME.fullmatch(path.name):
                chunk = range(int(match[1]), int(match[2]) + 1)
                if reason := self._reason_against(path, match[3], chunk in expected):
                    self._set_aside(path, reason)
                else:
                    self.paths[chunk] = path

    def _reason_against(self, path: Path, checksum: str, expected: bool) -> str:
        """Why a file is not the chunk that its name says; empty if it is."""
        if not _is_regular(path):
            return "not a regular file"
        if _checksum(path) != checksum:
            return "damaged"
        with _opened(path) as data:
            ours = data.attrs.get("campaign") == self.manifest.sha256
        return "" if ours and expected else "of another campaign"

    def _set_aside(self, path: Path, reason: str) -> None:
        home = self.folder / ASIDE
        home.mkdir(exist_ok=True)
        if home.is_symlink():
            raise InputError(f"{home}: is a link; remove it")
        places = (home / f"{path.name}.{n}" for n in itertools.count(1))
        place = next(place for place in places if not os.path.lexists(place))
        path.rename(place)
        self.damaged.append(f"{path.name}: {reason}; set aside in {home}, and its trials flown again")


def prepare(folder: Path) -> None:
    """Refuse a directory that is in use; one with no more than what a driver killed at the very start left is fit."""
    with explained(folder):
        place = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
        if not place.is_dir():
            raise InputError(f"{place}: a file and not a directory; choose another place")
        if not os.access(place, os.W_OK | os.X_OK):
            raise InputError(f"{place}: no permission; choose another place")
        if place == folder and any(path.name != LOCK and path.name[0] != "." for path in folder.iterdir()):
            raise InputError(f"{folder}: not empty; resume the campaign in it, or choose another directory")


@contextmanager
def created(folder: Path, manifest: Manifest) -> Iterator[Store]:
    """A new campaign in a directory that `prepare` found fit; locked while in use.

    If it ends with an error before there is a chunk, nothing of it is left.
    """
    with explained(folder):
        new_folders = [place for place in (folder, *folder.parents) if not place.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        prepare(folder)  # again: another driver may have come first
        store = Store(folder, manifest)
        try:
            write_durably(folder / MANIFEST, manifest.text().encode())
            yield store
        except BaseException:
            if not store.paths:
                _take_back(folder, new_folders)
            raise


def _take_back(folder: Path, new_folders: list[Path]) -> None:
    """Remove what a campaign without chunks has made; not what has been put there by others."""
    for name in (MANIFEST, LOCK):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        for place in new_folders:
            place.rmdir()


@contextmanager
def resumed(folder: Path, manifest: Manifest) -> Iterator[Store]:
    """The campaign in a directory, if it is the same as `manifest`; locked while in use."""
    read_manifest(folder)  # a directory without one gets no lock
    with _locked(folder):
        if difference := read_manifest(folder).difference(manifest):
            remedy = "resume it as it was, or use a new directory"
            raise InputError(f"{folder}: holds another campaign: {difference}; {remedy}")
        store = Store(folder, manifest)
        with explained(folder):
            store._take_stock()
        yield store


def read_manifest(folder: Path) -> Manifest:
    """What the campaign in a directory is."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        raise InputError(f"{folder}: holds no campaign (no {MANIFEST})")
    text = read_regular(path, LARGEST_MANIFEST, f"the {MANIFEST} of a campaign").decode(errors="replace")
    try:
        return Manifest.parse(text)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None


def write_durably(path: Path, data: bytes) -> None:
    """Write a file so that even after a power cut it is there whole, or not at all."""
    with explained(path.parent):
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


_locks: set[int] = set()  # descriptors of the locks that this process holds


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other drivers out; the lock ends with this process, even if that is killed."""
    path = folder / LOCK
    if fcntl is None:
        raise InputError("campaigns need the file locks of Linux or macOS, which Windows has not; use WSL, or gnc run")
    with explained(path):
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        if not _is_regular(path) or not _flocked(lock, path):
            raise InputError(f"{folder}: another process is flying this campaign; wait for it, or end it")
        _locks.add(lock)
        yield
    finally:
        _locks.discard(lock)
        os.close(lock)


def _leave_locks() -> None:
    """Leave the locks to the driver, in a worker that was forked from it: they end with the driver."""
    while _locks:
        os.close(_locks.pop())


os.register_at_fork(after_in_child=_leave_locks)


def _flocked(lock: int, path: Path) -> bool:
    """Whether the lock is ours now; a driver that gave up may have taken the file away meanwhile."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(path.stat(), os.fstat(lock))
    except (BlockingIOError, FileNotFoundError):
        return False


def _opened(path: Path) -> Dataset:
    from xarray import open_dataset

    return open_dataset(path, engine="scipy")


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


def _encode(chunk: range, results: Results, campaign: str) -> bytes:
    variables = {}
    for name in sorted(results):
        values = results[name]
        if values.nbytes > LARGEST_VARIABLE:
            raise InputError(f"chunk_size: {name!r} of {len(chunk)} trials takes more than 4 GiB; use smaller chunks")
        variables[name] = (("trial", *(f"{name}_{axis}" for axis in range(1, values.ndim))), values)
    numbers = {"trial": np.arange(chunk.start, chunk.stop, dtype=np.int32)}
    return encoded(Table(variables, numbers, {"campaign": campaign}))


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
