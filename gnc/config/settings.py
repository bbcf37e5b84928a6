"""Settings such as `sensors.magnetometer.rate_hz=0.2`, laid over a configuration."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from gnc.config.base import Model, validate
from gnc.config.schema import Option, of_kind, within
from gnc.config.toml_text import entries
from gnc.errors import InputError

SOURCE = "--set"


def override(model: Model, settings: Sequence[str]) -> Model:
    """The configuration with `key=value` settings in place.

    A value is TOML, or a bare word; without one, the key goes back to its default. Entries of lists go by their name
    or number. A new `kind` keeps of the table the keys that both kinds have; it is set before the other keys.
    """
    data = _plain(model)
    pairs = [_split(setting) for setting in settings]
    for path, value in sorted(pairs, key=lambda pair: pair[0][-1] != "kind"):
        _assign(data, [Option(type(model))], path, value)
    return validate(data, type(model), SOURCE)


def _split(setting: str) -> tuple[list[str], Any]:
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise InputError(f"{SOURCE} {setting}: not key=value; give the dotted key, an equals sign and a value")
    try:
        here: Any = tomllib.loads(f"{key} = 0")  # TOML knows about quotes in dotted keys
    except ValueError:
        raise InputError(f"{SOURCE} {setting}: {key.strip()} is not a dotted key; write a.b.c=value") from None
    path = []
    while isinstance(here, dict):
        name, here = next(iter(here.items()))
        path.append(name)
    return path, _value(text.strip())


def _value(text: str) -> Any:
    """TOML, else the text itself; None where there is none."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text or None
    return table["value"] if len(table) == 1 else text


def _assign(data: Any, candidates: list[Option], path: list[str], value: Any) -> None:
    """Set what the path leads to, starting tables on the way that are not there yet."""
    for i, part in enumerate(path[:-1]):
        entry = _entry(data, part, path[: i + 1])
        candidates = within(_narrowed(candidates, data), entry)
        if isinstance(data, dict):
            data.setdefault(part, {})
        data = data[entry]
    last = _entry(data, path[-1], path)
    if isinstance(data, list) and value is None:
        raise InputError(f"{SOURCE} {'.'.join(path)}: an entry of a list has no default; give a value")
    if isinstance(data, dict):
        _forget(data, candidates, last, value)
    data[last] = value
    if value is None:
        del data[last]


def _entry(data: Any, part: str, path: list[str]) -> Any:
    """The key or index of a part of the path in a table or list."""
    if isinstance(data, dict):
        return part
    if not isinstance(data, list):
        raise InputError(f"{SOURCE} {'.'.join(path)}: {'.'.join(path[:-1])} is neither table nor list; shorten the key")
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in data]
    if part in names:
        return names.index(part)
    if part.isdecimal() and int(part) < len(data):
        return int(part)
    known = [str(name or number) for number, name in enumerate(names)]
    raise InputError(f"{SOURCE} {'.'.join(path)}: no entry {part} in the list; it has {', '.join(known) or 'none'}")


def _forget(table: dict[str, Any], candidates: list[Option], key: str, value: Any) -> None:
    """Drop what no longer holds once the key has the new value."""
    if key == "kind" and value != table.get("kind") and (new := of_kind(candidates, value)):
        for name in table.keys() - new[0].type.model_fields.keys():
            del table[name]
    if key == "source":
        table.pop("sha256", None)  # it was that of the other file


def _narrowed(candidates: list[Option], data: Any) -> list[Option]:
    kind = data.get("kind") if isinstance(data, dict) else None
    return of_kind(candidates, kind) or candidates


def _plain(value: Any) -> Any:
    if isinstance(value, dict | BaseModel):
        return {key: _plain(item) for key, item in entries(value)}
    return list(map(_plain, value)) if isinstance(value, tuple) else value
