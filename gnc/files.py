"""Files that are either whole or absent: written beside their place, then moved into it; their errors in one line."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gnc.errors import InputError

REMEDIES = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EFBIG: "the file is larger than the system allows; choose another place",
    errno.EROFS: "the file system is read-only; choose another directory",
    errno.EACCES: "no permission; choose another place",
    errno.ENOTDIR: "not a directory; choose another place",
    errno.EEXIST: "a file and not a directory; choose another place",
    errno.EISDIR: "a directory and not a file; choose another place",
}


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to, which becomes `path` when the block ends without an error."""
    # The suffix stays last, since writers such as Figure.savefig choose the format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def explained(place: Path) -> Iterator[None]:
    """Turn an error of the file system into one line with a remedy."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{place}: {_remedy(error)}") from error


def told(error: OSError) -> str:
    """An error of the file system as one line with a remedy."""
    return f"{error.filename}: {_remedy(error)}" if error.filename is not None else _remedy(error)


def _remedy(error: OSError) -> str:
    return REMEDIES.get(error.errno or 0) or error.strerror or str(error) or type(error).__name__
