"""What pydantic finds wrong, as one line: file, key, value, and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from gnc.config.schema import Place, choices, kinds, locate, noun
from gnc.config.toml_text import brief, key_text


def describe(errors: Sequence[ErrorDetails], model: type[BaseModel], data: dict[str, Any], source: str) -> str:
    """The first error, and how many keys besides are wrong; unknown keys first, for they explain the missing ones."""
    ordered = sorted(errors, key=lambda error: error["type"] != "extra_forbidden")
    places = [(error, locate(model, error["loc"])) for error in ordered]
    others = len({place.key for _, place in places}) - 1
    line = _told(*places[0], data)
    more = f"; {others} more key{'s are' if others > 1 else ' is'} wrong" if others else ""
    return " ".join(f"{source}: {line}{more}".split())


def _told(error: ErrorDetails, place: Place, data: dict[str, Any]) -> str:
    key = key_text(named(place.key, data))
    about = f" ({place.description})" if place.description else ""
    setting = f"{key} = {brief(error['input'])}"
    match error["type"]:
        case "extra_forbidden":
            return f"{setting}: unknown key; {_nearest(str(place.key[-1]), place.neighbours)}"
        case "missing":
            return f"{key} is missing; give {noun(place.options)}{about}"
        case "union_tag_not_found":
            return f"{key}.kind is missing; give {_one_of(kinds(place.options))}{about}"
        case "union_tag_invalid":
            table = isinstance(error["input"], dict)  # or the kind's name in place of one
            kind = error["input"]["kind"] if table else error["input"]
            return f"{key}{'.kind' if table else ''} = {brief(kind)}: {_choose(kind, kinds(place.options))}{about}"
        case "literal_error":
            words = choices(place.options)
            return f"{setting}: {_choose(error['input'], words) if words else f'give {noun(place.options)}'}{about}"
        case "finite_number":
            return f"{setting}: give {noun(place.options).replace('a number', 'a finite number')}{about}"
        case "value_error" | "assertion_error":
            where = setting if not isinstance(error["input"], dict | BaseModel) else key
            return f"{where}: {error['ctx']['error']}{about}" if where else str(error["ctx"]["error"])
    return f"{setting}: give {noun(place.options) or error['msg']}{about}"


def named(key: tuple[str | int, ...], data: Any) -> tuple[str | int, ...]:
    """The key with the names of list entries, where they have one, instead of their numbers."""
    parts: list[str | int] = []
    for part in key:
        data = data[part] if _has(data, part) else None
        name = data.get("name") if isinstance(part, int) and isinstance(data, dict) else None
        parts.append(name if isinstance(name, str) and name else part)
    return tuple(parts)


def _has(data: Any, part: str | int) -> bool:
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)


def _choose(word: object, words: list[str]) -> str:
    close = difflib.get_close_matches(str(word), words, 1)
    return f"{f'did you mean {brief(close[0])}? ' if close else ''}give {_one_of(words)}"


def _nearest(word: str, keys: list[str]) -> str:
    close = difflib.get_close_matches(word, keys, 1)
    return f"did you mean {close[0]}?" if close else f"known here: {', '.join(keys)}"


def _one_of(words: list[str]) -> str:
    return " or ".join(brief(word) for word in words)
