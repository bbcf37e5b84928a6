"""Files that are either whole or absent: written beside their place, then moved into it; their errors in one line."""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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


def read_regular(path: Path, most_bytes: int, what: str = "a file") -> bytes:
    """The content of a regular file of limited size: a FIFO does not block, a device does not fill the memory."""
    try:
        if os.path.isdir(path):
            raise InputError(f"{path}: is a directory; give {what}")
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise InputError(f"{path}: is not a regular file; give {what}")
            if state.st_size > most_bytes:
                raise InputError(f"{path}: {state.st_size} bytes are too many; {what} has at most {most_bytes}")
            return file.read(most_bytes + 1)
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}; give {what} that can be read") from None


def read_text(path: Path, most_bytes: int, what: str) -> str:
    """The text of a regular file of limited size, in UTF-8 with or without a byte order mark."""
    content = read_regular(path, most_bytes, what)
    if b"\0" in content:
        raise InputError(f"{path}: is binary; give {what}, which is text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: line {line} is not UTF-8; save the file as UTF-8") from None


def read_json(path: Path, most_bytes: int, what: str) -> Any:
    """The content of a JSON file of limited size and depth."""
    try:
        return json.loads(read_text(path, most_bytes, what))
    except RecursionError:
        raise InputError(f"{path}: is nested too deeply; give {what}") from None
    except ValueError as error:
        raise error if isinstance(error, InputError) else InputError(f"{path}: is damaged ({error})") from None


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
def new_folder(folder: Path) -> Iterator[None]:
    """Leave no empty folder behind where the block ends with an error and made one."""
    new_folders = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for place in new_folders:
                place.rmdir()
        raise


@contextmanager
def explained(place: Path) -> Iterator[None]:
    """Turn an error of the file system into one line with a remedy."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{place}: {_remedy(error)}") from error


def error_line(error: OSError) -> str:
    """An error of the file system as one line with a remedy."""
    return f"{error.filename}: {_remedy(error)}" if error.filename is not None else _remedy(error)


def _remedy(error: OSError) -> str:
    return REMEDIES.get(error.errno or 0) or error.strerror or str(error) or type(error).__name__
