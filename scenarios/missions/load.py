"""From a name, a TOML file or a Python file to a mission."""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from gnc.config import override
from gnc.config.base import loads, text_of, validate
from gnc.config.component import executed
from gnc.errors import InputError
from gnc.scenarios.missions.mission import Mission

BASE, REMOVE = "base", "remove"
DEEPEST = 8  # missions that stand on one another


def builtin() -> dict[str, Path]:
    """Return the files of the built-in missions by name."""
    folder = resources.files("gnc.scenarios.missions") / "builtin"
    paths = [Path(str(entry)) for entry in folder.iterdir() if entry.name.endswith(".toml")]
    return {path.stem: path for path in sorted(paths)}


def titles() -> dict[str, str]:
    """Return what each built-in mission is about."""
    return {name: str(tomllib.loads(path.read_text("utf-8")).get("title", "")) for name, path in builtin().items()}


def read(name: str, settings: Sequence[str] = ()) -> Mission:
    """Return the mission of a name or file, with settings `key=value` on top."""
    mission = _python(Path(name)) if name.endswith(".py") else _toml(name)
    return override(mission, list(settings)) if settings else mission


def _toml(name: str) -> Mission:
    source = Path(name)
    return validate(table_of(name), Mission, name, source.parent if source.exists() else None)


def _python(path: Path) -> Mission:
    """Return the mission that a module has: the one called `mission`, or the only one."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; give a mission by name, or a .toml or .py file")
    module = executed(path)
    missions = {key: value for key, value in vars(module).items() if isinstance(value, Mission)}
    chosen = missions.get("mission") or (next(iter(missions.values())) if len(missions) == 1 else None)
    if chosen is None:
        there = ", ".join(missions) or "none"
        raise InputError(f"{path}: give the module one mission, or call it `mission`; it has {there}")
    own = chosen.name not in {"mission", *builtin()}  # neither the default nor that of the base
    return chosen if own else chosen.model_copy(update={"name": _name(path)})


def table_of(name: str, depth: int = 0) -> dict[str, Any]:
    """Return the complete table of a mission: what its file says, over what its base says."""
    if depth > DEEPEST:
        raise InputError(f"{name}: {BASE} leads round in circles, or deeper than {DEEPEST} missions")
    path = _file(name)
    table = loads(text_of(path), str(path))
    table.setdefault("name", _name(path))
    base, gone = table.pop(BASE, None), table.pop(REMOVE, [])
    if base is None and not gone:
        return table
    if not isinstance(base, str):
        raise InputError(f'{path}: {BASE}: give the name or file of a mission, {BASE} = "pointing" say')
    beside = path.parent / base
    below = table_of(str(beside) if base.endswith(".toml") and beside.is_file() else base, depth + 1)
    below = {**below, "title": f"based on {_name(Path(base))}", "story": ""}  # of its own
    for key in gone if isinstance(gone, list) else [gone]:
        _removed(below, str(key), path)
    return merged(below, table)


def _file(name: str) -> Path:
    there = builtin()
    if name in there:
        return there[name]
    path = Path(name)
    if name.endswith(".toml") or path.exists():
        return path
    near = difflib.get_close_matches(name, there, 1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(there)}, or give a TOML or Python file"
    raise InputError(f"mission: {name!r} is unknown; {hint}")


def _name(path: Path) -> str:
    return "".join(c if c.isalnum() or c in "_.-" else "-" for c in path.stem).lstrip("_.-")[:80] or "mission"


def _removed(table: dict[str, Any], key: str, path: Path) -> None:
    """Take a table or value of the base out."""
    *before, last = key.split(".")
    here: Any = table
    for part in before:
        here = here.get(part) if isinstance(here, dict) else None
    if not isinstance(here, dict) or last not in here:
        raise InputError(f"{path}: {REMOVE}: the base has no {key}; leave it out")
    del here[last]


def merged(below: Any, above: Any) -> Any:
    """Return a table laid over another, deep; a part of another kind keeps nothing of the one it replaces."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    if "kind" in above and above["kind"] != below.get("kind", above["kind"]):
        return dict(above)
    return {**below, **{key: merged(below.get(key), value) for key, value in above.items()}}
