"""The section, of which every configuration is made: its way in from TOML, settings laid over it, comparison.

A setting is such as `sensors.magnetometer.rate_hz=0.2`.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from gnc.config.problems import describe
from gnc.config.schema import Option, description_of, fields_of, of_kind, unfit, within
from gnc.config.toml_text import Key, entries, key_text, value_text
from gnc.errors import InputError
from gnc.files import read_text
from gnc.notebook import table

LARGEST_FILE = 1_000_000  # bytes; data of this size belong in a file of their own

HINTS = {  # what tomllib complains of, and what is usually behind it
    "Invalid value": 'text needs quotes ("..."), numbers digits on both sides of the point, truth is true or false',
    "Cannot overwrite a value": "the key is given twice; keep one",
    "Cannot declare": "the table is given twice; join the two",
    "Expected '=' after a key": "write key = value",
    "Expected ']' at the end of a table declaration": "write [table] alone on its line",
    "Expected newline or end of document": "one key = value to a line; text needs quotes",
    "Unclosed array": "close the list with ]",
    "Unterminated string": 'close the text with "',
    "Illegal character": 'close the text with " on the same line',
    "Invalid statement": "write key = value or [table]; a key has letters, digits, _ and -, else quotes",
    "Invalid initial character for a key part": "a key has letters, digits, _ and -, else quotes",
}


class Section(BaseModel):
    """A table of a configuration: frozen, strict about types, closed to unknown keys.

    Whole numbers pass for floats; nothing else is converted, and numbers are finite. Lists are tuples here, so that a
    section can be hashed; a field that may be absent has the type `X | None` and the default None, as TOML has no null.
    A field's description is `Field(description=...)` or the docstring below it.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for name, field in cls.model_fields.items():
            if problem := unfit(field):
                raise TypeError(f"{cls.__name__}.{name}: {problem}")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, field in fields_of(cls).items():
            if field.description and name in properties:
                properties[name].setdefault("description", field.description)
        return schema

    @model_validator(mode="before")
    @classmethod
    def _freeze(cls, data: Any) -> Any:
        return _frozen(data)

    def __hash__(self) -> int:
        return hash((type(self), _key(self.__dict__)))

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """The fields that differ from their defaults: as many as a reader needs."""
        fields = type(self).model_fields
        return [
            (k, v) for k, v in super().__repr_args__() if k not in fields or repr(v) != repr(fields[k].get_default())
        ]

    def _repr_html_(self) -> str:
        """Its fields, for notebooks."""
        rows = [(name, getattr(self, name), description_of(field)) for name, field in fields_of(type(self)).items()]
        return table(type(self).__name__.removesuffix("Part"), ("field", "value", "what it is"), rows)

    def identity(self) -> dict[str, Any]:
        """What tells this section from others in `digest` and `difference`."""
        return dict(self.__dict__)


Model = TypeVar("Model", bound=Section)


def read(path: str | Path, model: type[Model]) -> Model:
    """Read a configuration file."""
    return parse(text_of(Path(path)), model, str(path))


def parse(text: str, model: type[Model], source: str = "configuration") -> Model:
    """Read a configuration from TOML; `source` is the file named in errors, and components lie beside it."""
    if not text.strip():
        raise InputError(f"{source}: is empty; give at least one of the keys {', '.join(model.model_fields)}")
    return validate(loads(text, source), model, source, Path(source).parent)


def loads(text: str, source: str) -> dict[str, Any]:
    """Return the plain data of a TOML text, or say in one line where it is wrong."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{source}: is nested too deeply; write tables as [a.b]") from None
    except ValueError as error:
        raise InputError(f"{source}{_syntax(str(error), text)}") from None


def validate(data: dict[str, Any], model: type[Model], source: str, directory: Path | None = None) -> Model:
    """Build the model from plain data, or say in one line what is wrong with them."""
    try:
        return model.model_validate(data, context={"directory": directory or Path()})
    except RecursionError:
        raise InputError(f"{source}: is nested too deeply; give the keys {', '.join(model.model_fields)}") from None
    except ValidationError as error:
        raise InputError(describe(error.errors(include_url=False), model, data, source)) from None


def text_of(path: Path) -> str:
    """The text of a file that may be anything."""
    return read_text(path, LARGEST_FILE, "a TOML file")


def _syntax(message: str, text: str) -> str:
    """A syntax error as `:line:column: what; the line; the usual reason`."""
    hint = next((hint for start, hint in HINTS.items() if message.startswith(start)), "see https://toml.io")
    what = message.split(" (at ")[0]
    if place := re.search(r"\(at line (\d+), column (\d+)\)", message):
        line, column = int(place[1]), int(place[2])
    else:
        lines = text.rstrip("\n").split("\n")
        line, column = len(lines), len(lines[-1]) + 1
    near = " ".join(text.split("\n")[line - 1].split())[:60]
    return f":{line}:{column}: {what[0].lower()}{what[1:]} in `{near}`; {hint}"


def _frozen(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _frozen(value) for key, value in data.items()}
    return tuple(map(_frozen, data)) if isinstance(data, list | tuple) else data


def _key(value: Any) -> Any:
    """A value that can be hashed."""
    if isinstance(value, dict):
        return frozenset((name, _key(item)) for name, item in value.items())
    return tuple(map(_key, value)) if isinstance(value, tuple) else value


SOURCE = "--set"


def override(model: Model, settings: Sequence[str]) -> Model:
    """The configuration with `key=value` settings in place.

    A value is TOML, or a bare word; without one, the key goes back to its default. Entries of lists go by their name
    or number. A new `kind` keeps of the table the keys that both kinds have; it is set before the other keys.
    """
    data = _as_lists(model)
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
        entry = _list_entry(data, part, path[: i + 1])
        candidates = within(_narrowed(candidates, data), entry)
        if isinstance(data, dict):
            data.setdefault(part, {})
        data = data[entry]
    last = _list_entry(data, path[-1], path)
    if isinstance(data, list) and value is None:
        raise InputError(f"{SOURCE} {'.'.join(path)}: an entry of a list has no default; give a value")
    if isinstance(data, dict):
        named = [one for one in _narrowed(candidates, data) if last in getattr(one.type, "model_fields", ())]
        _refuse_reset(data.get(last), within(named, last), ".".join(path), value)
        _forget(data, candidates, last, value)
    data[last] = value
    if value is None:
        del data[last]


def _refuse_reset(old: Any, candidates: list[Option], key: str, value: Any) -> None:
    """Refuse a table without a kind in place of a section if stated fields get lost; a named entry may go whole."""
    if isinstance(old, dict) and isinstance(value, dict) and "kind" not in value:
        sections = [getattr(option.type, "model_fields", {}) for option in _narrowed(candidates, old)]
        stated = {k for fields in sections for k in fields if old.get(k) != _as_lists(fields[k].get_default())}
        if lost := ", ".join(sorted((stated & old.keys()) - value.keys())):
            raise InputError(f"{SOURCE} {key}: the table would reset {lost}; set fields alone, as {key}.KEY=VALUE")


def _list_entry(data: Any, part: str, path: list[str]) -> Any:
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


def _as_lists(value: Any) -> Any:
    if isinstance(value, dict | BaseModel):
        return {key: _as_lists(item) for key, item in entries(value)}
    return list(map(_as_lists, value)) if isinstance(value, tuple) else value


def digest(model: Section) -> str:
    """A SHA-256 of everything that is configured, defaults included; the order of keys does not matter."""
    lines = sorted(f"{key} = {value}\n" for key, value in flat(model).items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def difference(a: Section, b: Section) -> list[str]:
    """The keys in which two configurations differ, each with both values: `sensors.star.rate_hz: 1.0 != 2.0`."""
    left, right = flat(a), flat(b)
    keys = dict.fromkeys([*left, *right])
    return [f"{k}: {_shown(left.get(k))} != {_shown(right.get(k))}" for k in keys if left.get(k) != right.get(k)]


def flat(value: Any, key: Key = ()) -> dict[str, str]:
    """Everything that is configured, as TOML text under its dotted key; an empty table counts as a value."""
    if isinstance(value, Section):
        content = {name: item for name, item in value.identity().items() if item is not None}
    elif isinstance(value, tuple) and any(isinstance(entry, Section | dict) for entry in value):
        content = dict(enumerate(value))  # type: ignore[arg-type]
    else:
        content = value
    if not isinstance(content, dict) or not content:
        return {key_text(key): value_text(content)}
    return {k: text for name, item in content.items() for k, text in flat(item, (*key, name)).items()}


def _shown(text: str | None) -> str:
    return "absent" if text is None else text if len(text) <= 60 else f"{text[:57]}..."
