"""The section, of which every configuration is made, and its way in from TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from gnc.config.problems import describe
from gnc.config.schema import description_of, fields_of, unfit
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
