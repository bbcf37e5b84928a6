"""What a field may hold, read off its annotation: for errors, comments and dotted keys; vectors and matrices."""

from __future__ import annotations

import ast
import datetime
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    runtime_checkable,
)

import numpy as np
from pydantic import BaseModel, BeforeValidator, Field
from pydantic.fields import FieldInfo

from gnc import check
from gnc.errors import InputError

NOUNS = {
    float: "a number", int: "a whole number", bool: "true or false", str: "text in quotes",
    datetime.datetime: "a date and time such as 2025-03-20T09:00:00Z", datetime.date: "a date such as 2025-03-20",
}  # fmt: skip
BOUNDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "min_length": "length >=", "max_length": "length <="}


class Noun(str):
    """Beside a type in `Annotated`: what to call its values in errors."""


@runtime_checkable
class Choice(Protocol):
    """Beside a type in `Annotated`: sections told apart by `kind`, each loaded when it is asked for."""

    def kinds(self) -> list[str]:
        """Return the values that `kind` may have."""

    def of_kind(self, kind: object) -> type[BaseModel] | None:
        """Return the section of a kind."""

    def members(self) -> Sequence[type[BaseModel]]:
        """Return all sections."""


class Option(NamedTuple):
    """One of the types that a field may have, with the metadata that constrain it."""

    type: Any
    metadata: tuple[Any, ...] = ()


class Place(NamedTuple):
    """Where a dotted key leads."""

    key: tuple[str | int, ...]
    options: list[Option]  # what may stand there
    neighbours: list[str]  # the keys of the same table
    description: str


def options(annotation: Any, metadata: tuple[Any, ...] = ()) -> list[Option]:
    """The types of an annotation: unions taken apart, `Annotated` opened, None left out."""
    if get_origin(annotation) is Annotated:
        bare, *notes = get_args(annotation)
        opened = [item for note in notes for item in (note.metadata if isinstance(note, FieldInfo) else [note])]
        return options(bare, (*metadata, *opened))
    if get_origin(annotation) in (Union, types.UnionType):
        return [option for member in get_args(annotation) for option in options(member, metadata)]
    choice = [item for item in metadata if isinstance(item, Choice)]
    return [] if annotation is type(None) else [Option(choice[0] if choice else annotation, metadata)]


def field_options(field: FieldInfo) -> list[Option]:
    """The types of a field."""
    return options(field.annotation, tuple(field.metadata))


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a section with their descriptions: docstrings below them, which are read when first asked for."""
    fields = model.model_fields
    for cls in model.__mro__:
        for name, text in _docstrings(cls.__module__).get(cls.__qualname__, {}).items():
            if name in fields and fields[name].description is None:
                fields[name].description = text
    return fields


@functools.cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """The docstrings below the fields of every class of a module that is a section; empty where there is no source."""
    if module.partition(".")[0] in ("pydantic", "builtins", "typing"):
        return {}
    try:
        return dict(_documented(ast.parse(inspect.getsource(sys.modules[module])), ""))
    except (KeyError, OSError, TypeError):
        return {}


def _documented(node: ast.AST, path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Give the qualified name of each class inside a node, and what stands below its fields."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            texts = {}
            for field, below in zip(child.body, child.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                    match field.target, below.value:
                        case ast.Name(id=name), ast.Constant(value=str(text)):
                            texts[name] = inspect.cleandoc(text)
            yield path + child.name, texts
            yield from _documented(child, f"{path}{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            yield from _documented(child, f"{path}{child.name}.<locals>.")


def description_of(field: FieldInfo) -> str:
    """The description of a field in one line, as comments of TOML need it, without a full stop, since more follows."""
    return " ".join((field.description or "").split()).removesuffix(".")


def is_section(option: Option) -> bool:
    """Whether the values are tables with fields."""
    return isinstance(option.type, type) and issubclass(option.type, BaseModel)


def kinds(candidates: list[Option]) -> list[str]:
    """The values that `kind` may have in a table of these types."""
    words: list[str] = []
    for option in candidates:
        if isinstance(option.type, Choice):
            words += option.type.kinds()
        elif is_section(option) and (field := option.type.model_fields.get("kind")):
            words += map(str, get_args(field.annotation))
    return words


def of_kind(candidates: list[Option], kind: object) -> list[Option]:
    """The tables of one kind."""
    sections = [
        Option(option.type.of_kind(kind)) if isinstance(option.type, Choice) else option for option in candidates
    ]
    return [option for option in sections if is_section(option) and kind in kinds([option])]


def locate(model: type[BaseModel], location: tuple[str | int, ...]) -> Place:
    """Follow a location as pydantic gives it, in which the branch taken in a union stands between the keys."""
    here, neighbours, description, branch_named = [Option(model)], list[str](), "", False
    key: tuple[str | int, ...] = ()
    for part in location:
        if not branch_named and (len(here) > 1 or part in kinds(here)):
            here, branch_named = of_kind(here, part) or here, True
            continue
        if part == "[key]":  # the name itself is wrong, not what it holds
            continue
        key, branch_named = (*key, part), False
        here = [Option(one) for o in here for one in (o.type.members() if isinstance(o.type, Choice) else [o.type])]
        fields = {name: field for o in here if is_section(o) for name, field in fields_of(o.type).items()}
        neighbours = list(fields)
        description = description_of(fields[str(part)]) if part in fields else description
        here = within(here, part)
    return Place(key, here, neighbours, description)


def within(candidates: list[Option], part: str | int) -> list[Option]:
    """The types of one entry of tables or lists of these types."""
    return [option for parent in candidates for option in _inside(parent, part)]


def _inside(parent: Option, part: str | int) -> list[Option]:
    if is_section(parent):
        field = parent.type.model_fields.get(part)
        return field_options(field) if field else []
    origin, arguments = get_origin(parent.type), get_args(parent.type)
    if origin is dict:
        return options(arguments[1])
    if origin is tuple and isinstance(part, int):
        several = arguments[-1] is Ellipsis
        return options(arguments[0] if several else arguments[min(part, len(arguments) - 1)])
    return []


def noun(candidates: list[Option]) -> str:
    """What the values are called, with their bounds: `a number > 0`."""
    if names := kinds(candidates):
        return f"a table with kind = {' or '.join(map(_quoted, names))}"
    return " or ".join(dict.fromkeys(_noun(option) for option in candidates))


def _noun(option: Option) -> str:
    named = [item for item in option.metadata if isinstance(item, Noun)]
    origin, arguments = get_origin(option.type), get_args(option.type)
    if named:
        name = str(named[-1])
    elif origin is Literal:
        name = ("one of " if len(arguments) > 1 else "") + ", ".join(map(_quoted, arguments))
    elif origin is tuple:
        name = _tuple_noun(arguments)
    elif origin is list:
        name = "a list of"
    elif origin is dict or is_section(option) or isinstance(option.type, Choice):
        name = "a table"
    else:
        name = NOUNS.get(option.type, "another value")
    return " ".join([name, *bounds(option)])


def _tuple_noun(arguments: tuple[Any, ...]) -> str:
    first = noun(options(arguments[0])) if arguments else "nothing"
    return f"a list, each entry {first}" if arguments[-1:] == (...,) else f"a list of {len(arguments)}, first {first}"


def choices(candidates: list[Option]) -> list[str]:
    """The words among which a field chooses."""
    return [str(word) for option in candidates if get_origin(option.type) is Literal for word in get_args(option.type)]


def bounds(option: Option) -> list[str]:
    """The limits on a value: `> 0`, `<= 1`."""
    limits = [(sign, getattr(item, name, None)) for item in option.metadata for name, sign in BOUNDS.items()]
    texts = [f"{sign} {limit}" for sign, limit in limits if limit is not None]
    patterns = [item.pattern for item in option.metadata if getattr(item, "pattern", None)]
    return [" and ".join(texts)] * bool(texts) + [f"matching {pattern}" for pattern in patterns]


def unfit(field: FieldInfo) -> str | None:
    """Why a field cannot be written as TOML and read back the same, if it cannot."""
    members = _members(field.annotation)
    if type(None) in members and field.get_default() is not None:
        return "a field that may be None needs the default None, since TOML has no null"
    inner = [kind for member in members for kind in _inner(member)]
    if type(None) in inner:
        return "None cannot stand inside a list or table, since TOML has no null"
    if any(kind in (list, set) or get_origin(kind) in (list, set) for kind in [*members, *inner]):
        return "use tuple[X, ...] for lists, since a section is frozen"
    return None


def _members(annotation: Any) -> list[Any]:
    """The types of an annotation, None among them."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [member for argument in get_args(annotation) for member in _members(argument)]
    return [annotation]


def _inner(kind: Any) -> list[Any]:
    """The types of what a list or table of this type holds, at any depth."""
    if get_origin(kind) is Literal:
        return []
    held = [member for argument in get_args(kind) for member in _members(argument)]
    return held + [deeper for member in held for deeper in _inner(member)]


def _quoted(word: object) -> str:
    return f'"{word}"' if isinstance(word, str) else str(word)


Row3: TypeAlias = tuple[float, float, float]
Check: TypeAlias = Callable[[str, Any], Any]


def _checked(shape: tuple[int, ...], noun: Noun, test: Check | None = None) -> BeforeValidator:
    """A validator that turns nested lists or an array of this shape into tuples of floats."""

    def convert(value: Any) -> Any:
        array = _numbers(value, shape, noun)
        if test is not None:
            try:
                array = test("", array)
            except InputError as error:
                raise InputError(str(error).removeprefix(": ")) from None
        return _tuples(array.tolist())

    return BeforeValidator(convert)


def _numbers(value: Any, shape: tuple[int, ...], noun: Noun) -> Any:
    if not _plain(value.tolist() if isinstance(value, np.ndarray) else value):
        raise InputError(f"give {noun}, all of them finite numbers")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (ValueError, OverflowError):
        raise InputError(f"give {noun}; the rows have unequal lengths or a number is too large") from None
    if array.shape != shape:
        raise InputError(f"give {noun}, not {' x '.join(map(str, array.shape)) or 'one number'}")
    if not np.isfinite(array).all():
        raise InputError(f"give {noun}, all of them finite numbers")
    return array


def _plain(value: Any) -> bool:
    """Whether there are only numbers in the nested lists; a truth value or text is not one."""
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


_VECTOR3, _MATRIX3, _EDGES = Noun("3 numbers"), Noun("3 rows of 3 numbers"), Noun("3 numbers > 0")
_GAINS = Noun("3 rows of 6 numbers")
_QUATERNION = Noun("4 numbers of unit norm, scalar first")
_INERTIA = Noun("3 rows of 3 numbers, an inertia matrix")


def _positive(_name: str, array: Any) -> Any:
    if not (array > 0.0).all():
        raise InputError(f"give {_EDGES}")
    return array


Vector3 = Annotated[Row3, _checked((3,), _VECTOR3), _VECTOR3]
Edges = Annotated[Row3, _checked((3,), _EDGES, _positive), _EDGES]  # of a box
Matrix3 = Annotated[tuple[Row3, Row3, Row3], _checked((3, 3), _MATRIX3), _MATRIX3]
Quaternion = Annotated[
    tuple[float, float, float, float], _checked((4,), _QUATERNION, check.unit_quaternion), _QUATERNION
]
Gains = Annotated[tuple[tuple[float, ...], ...], _checked((3, 6), _GAINS), _GAINS]  # from a state of six to a torque
Inertia = Annotated[tuple[Row3, Row3, Row3], _checked((3, 3), _INERTIA, check.inertia), _INERTIA]

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Percent = Annotated[float, Field(ge=0, le=50)]  # of an error, one sigma
