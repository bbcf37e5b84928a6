"""Values, keys and whole configurations as TOML text that reads back to the same."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gnc.config.schema import Option, bounds, choices, description_of, fields_of, kinds, within

WIDTH = 120

Key = tuple[str | int, ...]


def value_text(value: Any) -> str:
    """One value, as it stands after the equals sign."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON escapes as TOML does, except that TOML wants DEL escaped too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, dict | BaseModel):
        return f"{{{', '.join(f'{key_text((key,))} = {value_text(item)}' for key, item in entries(value))}}}"
    return repr(value)


def entries(table: Any) -> list[tuple[str, Any]]:
    """The keys and values of a table that have a value."""
    pairs = table.items() if isinstance(table, dict) else table.__dict__.items()
    return [(key, value) for key, value in pairs if value is not None]


def key_text(key: Key) -> str:
    """A dotted key, with quotes where TOML needs them."""
    return ".".join(str(part) if re.fullmatch(r"[A-Za-z0-9_-]+", str(part)) else value_text(part) for part in key)


def brief(value: Any, limit: int = 60) -> str:
    """A value as it is quoted in an error."""
    if isinstance(value, dict | BaseModel):
        return "a table"
    text = " ".join(value_text(value).split())
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def dump(model: BaseModel) -> str:
    """The whole configuration with every default, each field's description beside it; reads back to an equal model."""
    return "\n".join(_comment(model.__doc__) + _table(model, (), [Option(type(model))])).strip() + "\n"


def _table(table: Any, key: Key, candidates: list[Option]) -> list[str]:
    """The lines of a table: its own values first, as TOML demands, then the tables in it."""
    own, inner = [], []
    fields: dict[str, FieldInfo] = fields_of(type(table)) if isinstance(table, BaseModel) else {}
    for name, value in [(name, getattr(table, name)) for name in fields] or table.items():
        inside = within([Option(type(table))] if fields else candidates, name)
        description = description_of(fields[name]) if fields else ""
        if _is_table(value):
            inner += ["", *_comment(description), f"[{key_text((*key, name))}]", *_table(value, (*key, name), inside)]
        elif isinstance(value, tuple) and value and all(map(_is_table, value)):
            for number, entry in enumerate(value):
                lines = _table(entry, (*key, name), within(inside, number))
                inner += ["", *_comment(description), f"[[{key_text((*key, name))}]]", *lines]
        else:
            words = kinds(candidates) if name == "kind" else choices(inside)
            own += _line(key_text((name,)), value, _about(description, words, inside))
    return own + inner


def _line(key: str, value: Any, about: str) -> list[str]:
    """`key = value  # description`; the comment goes above where the line would be long."""
    if value is None:
        return [f"# {key} =  # {about}" if about else f"# {key} ="]
    line = f"{key} = {value_text(value)}"
    if len(line) > WIDTH and isinstance(value, tuple):
        line = "\n".join([f"{key} = [", *(f"    {value_text(row)}," for row in value), "]"])
    elif len(line) + len(about) + 4 <= WIDTH:
        return [f"{line}  # {about}" if about else line]
    return [*_comment(about), line]


def _about(description: str, words: list[str], inside: list[Option]) -> str:
    """Description, choices and bounds of a field."""
    limits = [limit for option in inside for limit in bounds(option)]
    parts = [description, " or ".join(map(value_text, words)) if len(words) > 1 else "", *limits]
    return " ".join(", ".join(part for part in parts if part).split())


def _comment(text: str | None) -> list[str]:
    lines = (text or "").strip().splitlines()
    return [f"# {' '.join(line.split())}".rstrip() for line in lines]


def _is_table(value: Any) -> bool:
    return isinstance(value, dict | BaseModel)
