"""Object code on disk, by what the kernel computes.

The key is a hash of the whole program, so an edit in any helper is noticed and a comment is not. A file begins with a
checksum of key and code: what a crash or a full disk left behind, or what was copied to another key, is compiled again.
Object code is run as it is, so nothing is taken from a folder or file that somebody else owns or may write to, nor from
anything but a regular file. Where nothing can be written or trusted, kernels are compiled in memory.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CHECKSUM = hashlib.sha256().digest_size
LARGEST = 2**28  # bytes of object code
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def folder() -> Path:
    """Return where object code is kept: GNC_CACHE_DIR, or gnc in the user's cache folder."""
    chosen = os.environ.get("GNC_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gnc"


def load(key: str) -> bytes | None:
    """Return the object code of a key, or None if the cache has no file for the key that can be trusted."""
    try:
        with _opened(folder(), os.O_DIRECTORY) as home, _opened(_name(key), os.O_NOFOLLOW, home) as file:
            state = os.fstat(file)
            if not (_ours(os.fstat(home)) and _ours(state) and stat.S_ISREG(state.st_mode)):
                return None
            with open(file, "rb", closefd=False) as opened:
                content = opened.read(LARGEST)
    except (OSError, RuntimeError):  # RuntimeError: no home folder
        return None
    checksum, code = content[:_CHECKSUM], content[_CHECKSUM:]
    return code if checksum == _sum(key, code) else None


def save(key: str, code: bytes) -> None:
    """Keep object code, if possible; other processes see all of it or nothing."""
    try:
        home = folder()
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _ours(home.stat()):
            return
        handle, temporary = tempfile.mkstemp(dir=home)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_sum(key, code) + code)
            os.replace(temporary, home / _name(key))
        except OSError:
            os.unlink(temporary)
    except (OSError, RuntimeError):
        return


def _name(key: str) -> str:
    return f"{key}.o"


def _sum(key: str, code: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + code).digest()


def _ours(state: os.stat_result) -> bool:
    """Tell whether a file or folder is this user's, and no other user may write to it."""
    if not hasattr(os, "getuid"):
        return True
    return state.st_uid == os.getuid() and not state.st_mode & OTHERS_WRITE


@contextmanager
def _opened(path: str | Path, flags: int, home: int | None = None) -> Iterator[int]:
    """A descriptor to read from, which does not wait for the writer of a FIFO."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags, dir_fd=home)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
