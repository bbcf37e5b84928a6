"""Object code on disk, by what the kernel computes.

The key is a hash of the whole program, so an edit in any helper is noticed and a comment is not. A file begins with a
checksum of the rest: what a crash or a full disk left behind is compiled again. Where nothing can be written, or the
folder belongs to somebody else, kernels are compiled in memory.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

_CHECKSUM = hashlib.sha256().digest_size


def folder() -> Path:
    """Return where object code is kept: GNC_CACHE_DIR, or gnc in the user's cache folder."""
    chosen = os.environ.get("GNC_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gnc"


def load(key: str) -> bytes | None:
    """Return the object code of a key, or None if there is none that can be trusted."""
    try:
        if not _ours(folder()):
            return None
        content = (folder() / f"{key}.o").read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: no home folder
        return None
    checksum, code = content[:_CHECKSUM], content[_CHECKSUM:]
    return code if checksum == hashlib.sha256(code).digest() else None


def save(key: str, code: bytes) -> None:
    """Keep object code, if possible; other processes see all of it or nothing."""
    try:
        home = folder()
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _ours(home):
            return
        handle, temporary = tempfile.mkstemp(dir=home)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(temporary, home / f"{key}.o")
        except OSError:
            os.unlink(temporary)
    except (OSError, RuntimeError):
        return


def _ours(home: Path) -> bool:
    """Tell whether the folder is this user's: compiled code of others is not run."""
    return not hasattr(os, "getuid") or home.stat().st_uid == os.getuid()
