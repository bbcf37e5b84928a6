"""A campaign on disk: a directory with a manifest and one NetCDF file per finished chunk of trials.

A chunk file is written whole or not at all, and carries its SHA-256 in its name, so that damage shows. NetCDF-3: read
by xarray and everything else, no pickles, and the same bytes for the same results.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import xarray as xr

from gnc.errors import InputError
from gnc.files import explained, replacing
from gnc.montecarlo.flight import Results
from gnc.montecarlo.manifest import Manifest

NAME = re.compile(r"trials-(\d+)-(\d+)-([0-9a-f]{64})\.nc")
LARGEST_VARIABLE = 2**32 - 4  # bytes, of NetCDF-3 with 64-bit offsets


class Store:
    """The chunks of a campaign; made by `opened`."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.paths: dict[range, Path] = {}  # of the finished chunks
        self.damaged: list[range] = []  # found on opening, to be flown again

    def chunks(self) -> list[range]:
        """All chunks of the campaign, in order."""
        trials, size = self.manifest.trials, self.manifest.chunk_size
        return [range(start, min(start + size, trials)) for start in range(0, trials, size)]

    def write(self, chunk: range, results: Results) -> None:
        """Keep the results of a chunk for good."""
        data = _encode(chunk, results)
        path = self.folder / f"trials-{chunk.start:09d}-{chunk.stop - 1:09d}-{hashlib.sha256(data).hexdigest()}.nc"
        write_durably(path, data)
        self.paths[chunk] = path

    def read(self, chunk: range, names: list[str] | None = None) -> Results:
        """Results of a chunk, all or some; names that it does not have are left out."""
        with self.open(chunk) as data:
            return {str(name): data[name].values for name in data.data_vars if names is None or name in names}

    @contextmanager
    def open(self, chunk: range) -> Iterator[xr.Dataset]:
        """A finished chunk as a dataset whose arrays are read when asked for."""
        with xr.open_dataset(self.paths[chunk], engine="scipy") as data:
            yield data

    def keep_only(self, chunks: list[range]) -> None:
        """Remove other chunks: those flown ahead of an early stop."""
        with explained(self.folder):
            for chunk in self.paths.keys() - set(chunks):
                self.paths.pop(chunk).unlink()

    def _take_stock(self) -> None:
        """Find the finished chunks; remove damaged ones and what a killed driver left half written."""
        for debris in self.folder.glob(".*.tmp*"):
            debris.unlink()
        expected = set(self.chunks())
        for path in sorted(self.folder.glob("trials-*.nc")):
            match = NAME.fullmatch(path.name)
            chunk = range(int(match[1]), int(match[2]) + 1) if match else None
            if match and chunk in expected and match[3] == _checksum(path):
                self.paths[chunk] = path
            else:
                path.unlink()
                self.damaged += [chunk] if chunk else []


def prepare(folder: Path) -> None:
    """Make sure that a directory exists and is empty, but for what a driver killed at the very start left."""
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(path.name != "lock" and path.name[0] != "." for path in folder.iterdir()):
            raise InputError(f"{folder}: not empty; resume the campaign in it, or choose another directory")


@contextmanager
def created(folder: Path, manifest: Manifest) -> Iterator[Store]:
    """A new campaign in a directory that `prepare` found fit; locked while in use."""
    with _locked(folder):
        write_durably(folder / "manifest.json", manifest.text().encode())
        yield Store(folder, manifest)


@contextmanager
def resumed(folder: Path, manifest: Manifest) -> Iterator[Store]:
    """The campaign in a directory, if it is the same as `manifest`; locked while in use."""
    difference = read_manifest(folder).difference(manifest)
    if difference:
        raise InputError(f"{folder}: holds another campaign: {difference}; resume it as it was, or use a new directory")
    with _locked(folder):
        store = Store(folder, manifest)
        with explained(folder):
            store._take_stock()
        yield store


def read_manifest(folder: Path) -> Manifest:
    """What the campaign in a directory is."""
    path = folder / "manifest.json"
    if not path.is_file():
        raise InputError(f"{folder}: holds no campaign (no manifest.json)")
    with explained(folder):
        text = path.read_text(errors="replace")
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


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other drivers out; the lock ends with this process, even if that is killed."""
    with explained(folder):
        lock = (folder / "lock").open("a")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder}: another process is flying this campaign; wait for it, or end it") from None
        yield


def _encode(chunk: range, results: Results) -> bytes:
    variables = {}
    for name in sorted(results):
        values = results[name]
        if values.nbytes > LARGEST_VARIABLE:
            raise InputError(f"chunk_size: {name!r} of {len(chunk)} trials takes more than 4 GiB; use smaller chunks")
        variables[name] = (("trial", *(f"{name}_{axis}" for axis in range(1, values.ndim))), values)
    data = xr.Dataset(variables, coords={"trial": np.arange(chunk.start, chunk.stop, dtype=np.int32)})
    return bytes(data.to_netcdf(engine="scipy"))


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
