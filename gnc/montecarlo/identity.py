"""What a campaign is, and what flies it: versions of libraries, the hash of every file of framework and user.

A user's files are that of the flight's class and its `sources`, with whatever they import that lies beside them or
elsewhere outside of installed packages. Data that a part reads when it flies are not known here.

A process goes on with the code that it has loaded, whatever happens to the file. So the content of each file is
remembered when this process first sees it, and a file that has changed since is refused.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gnc
from gnc.errors import INSTALLED, InputError

LIBRARIES = ("numpy", "scipy", "llvmlite")
SUFFIXES = (".py", ".toml")
EXECUTED = "gnc_user_"  # how names of modules begin that are made of a file's content

Software = dict[str, str]  # name of a library or file -> version or hash

_loaded: dict[Path, str] = {}  # hash of each file when it was first seen


def software(flight: Any) -> Software:
    """What this process flies with; InputError if a file is no longer what was loaded."""
    hashes = framework()
    for root in sorted(_roots(flight)):
        hashes |= {os.path.relpath(path, root.parent): _unchanged(path) for path in sorted(_imports(root))}
        hashes[root.name] = _unchanged(root) if _is_module(root) else _hash(root)
    return hashes


def framework() -> Software:
    """The framework itself, and the libraries that it stands on."""
    return _versions() | {name: _unchanged(path) for name, path in _framework().items()}


@functools.cache
def _versions() -> Software:
    libraries = {name: version(name) for name in LIBRARIES}
    return libraries | {"gnc": gnc.__version__, "python": platform.python_version()}


@functools.cache
def _framework() -> dict[str, Path]:
    """The framework's own files by name."""
    home = Path(gnc.__path__[0])
    folders = ((Path(folder), names) for folder, _, names in os.walk(home, followlinks=True))
    paths = (folder / name for folder, names in folders for name in names if name.endswith(SUFFIXES))
    return {path.relative_to(home.parent).as_posix(): path for path in sorted(paths)}


def _roots(flight: Any) -> set[Path]:
    """The files of the flight's class, if that is a user's, and of users' parts."""
    file = getattr(sys.modules.get(type(flight).__module__), "__file__", None)
    own = [file] if file and not type(flight).__module__.startswith("gnc.") else []
    return {Path(source).resolve() for source in (*own, *getattr(flight, "sources", ()))}


def _is_module(path: Path) -> bool:
    """Whether a file is loaded once and for all; users' parts given as files are executed anew if they change."""
    modules = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    return any(file == str(path) for name, file in modules.items() if not name.startswith(EXECUTED))


def _imports(root: Path) -> set[Path]:
    """The files that a user's file imports, directly or not, installed ones apart."""
    paths, queue = set[Path](), [root]
    while queue:
        new = set(_imported(queue.pop())) - paths - {root}
        paths |= new
        queue += new
    return paths


def _imported(path: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # told when the file is executed
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name, _folders(path))
        elif isinstance(node, ast.ImportFrom):
            folders = [path.parents[node.level - 1]] if node.level else _folders(path)
            for alias in node.names:
                yield from _files(f"{node.module or ''}.{alias.name}".strip("."), folders)


def _folders(path: Path) -> list[Path]:
    """Where the modules that a file imports may lie: beside it, or on Python's path but not installed."""
    return [path.parent, *(Path(entry).resolve() for entry in sys.path if not entry.startswith(INSTALLED))]


def _files(module: str, folders: list[Path]) -> Iterator[Path]:
    """The files of a dotted name and of the packages around it, from the first folder that has them."""
    parts = module.split(".")
    if parts[0] == "gnc":
        return
    places = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    for folder in folders:
        paths = [folder / f"{place}{end}" for place in places for end in (".py", "/__init__.py")]
        if present := [path.resolve() for path in paths if path.is_file()]:
            yield from present
            return


def _unchanged(path: Path) -> str:
    now = _hash(path)
    if _loaded.setdefault(path, now) != now:
        raise InputError(f"{path}: has changed since this process loaded it; begin again with a new process")
    return now


def _hash(path: Path) -> str:
    try:
        state = path.stat()
        return _hash_of(path, state.st_mtime_ns, state.st_size, state.st_ino)
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}; the campaign needs the file") from None


@functools.cache
def _hash_of(path: Path, *_state: int) -> str:
    """The hash of a file, read once for each state that `stat` tells: it is asked for with every chunk."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


for _path in _framework().values():
    _unchanged(_path)


FORMAT = 2  # of the directory; another number is another layout


@dataclass(frozen=True)
class Manifest:
    """The configuration of a campaign and the software that flies it."""

    configuration: dict[str, Any]  # as JSON has it
    seed: int
    trials: int
    chunk_size: int
    software: Software
    format: int = FORMAT

    @classmethod
    def of(
        cls, configuration: Mapping[str, Any], seed: int, trials: int, chunk_size: int, software: Software
    ) -> Manifest:
        """The manifest of a campaign flown by this software."""
        return cls(json.loads(json.dumps(configuration)), seed, trials, chunk_size, software)

    @functools.cached_property
    def sha256(self) -> str:
        """The hash of all of it, which each chunk carries too."""
        return digest(asdict(self))

    def text(self) -> str:
        """The manifest as JSON, with its hash."""
        return json.dumps(asdict(self) | {"sha256": self.sha256}, indent=2, sort_keys=True) + "\n"

    @classmethod
    def parse(cls, text: str) -> Manifest:
        """The manifest of such a text; InputError if it is none."""
        try:
            content = json.loads(text)
            stated, layout = content.pop("sha256"), content["format"]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InputError("manifest.json is not that of a campaign") from None
        if stated != digest(content):
            raise InputError("manifest.json is damaged: it does not have the hash it states")
        if layout != FORMAT:
            raise InputError(f"manifest.json has layout {layout}; this version of gnc has {FORMAT}")
        return cls(**content)

    def difference(self, other: Manifest) -> str:
        """The first key that differs, as `key is A there and B here`; empty if none does."""
        return difference(self.configuration, other.configuration) or difference(self._rest(), other._rest())

    def _rest(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "configuration"}


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The first key that differs, as `key is A there and B here`; empty if none does."""
    a, b = dict(_flat("", there)), dict(_flat("", here))
    for key in sorted(a.keys() | b.keys()):
        if a.get(key) != b.get(key):
            return f"{key} is {a.get(key, 'absent')} there and {b.get(key, 'absent')} here"
    return ""


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else key, inner)
    else:
        yield prefix, json.dumps(value)


def digest(value: Any) -> str:
    """The hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
