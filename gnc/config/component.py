"""A user's own class, named in a configuration as `file.py:Class` or `package.module:Class`."""

from __future__ import annotations

import datetime
import hashlib
import importlib
import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from gnc.config.base import Section
from gnc.config.toml_text import value_text
from gnc.errors import PACKAGES, InputError, said
from gnc.montecarlo.identity import EXECUTED
from gnc.shared_state import watch


def _writable(value: Any) -> Any:
    """The value, if TOML can hold it and numbers are finite."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    for entry in inside:
        _writable(entry)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{value} is not finite; give finite numbers")
    if not isinstance(value, bool | int | float | str | datetime.date | datetime.time | tuple | dict):
        raise InputError(f"a {type(value).__name__} cannot be written in TOML; give numbers, text, lists or tables")
    return value


class Component(Section):
    """A class of the user's own and its arguments.

    The hash of its file belongs to the configuration, so that results are not continued with another law: it is taken
    when the configuration is read, and compared when the class is loaded.
    """

    source: str = Field(description="file.py:Class, found beside this file, or package.module:Class")
    sha256: str | None = Field(default=None, description="Hash of the file; without this line any content will do")
    arguments: Annotated[dict[str, Any], AfterValidator(_writable)] = Field(
        default={}, description="Arguments of the class, by name"
    )

    @field_validator("source")
    @classmethod
    def _resolve(cls, source: str, info: ValidationInfo) -> str:
        """The file with its full path, so that worker processes find it from anywhere."""
        where, name = _split(source)
        return source if _is_module(where) else f"{_file(where, _directory(info))}:{name}"

    @field_validator("sha256")
    @classmethod
    def _hash(cls, digest: str | None, info: ValidationInfo) -> str | None:
        return digest or (content_hash(info.data["source"]) if "source" in info.data else None)

    def identity(self) -> dict[str, Any]:
        """As a section, but where the file lies does not matter: its name and content do."""
        return {**self.__dict__, "source": Path(self.source).name}

    def build(self, **own_arguments: Any) -> Any:
        """Load the class and call it with the arguments of the configuration and `own_arguments` of the program."""
        if content_hash(self.source) != self.sha256:
            raise InputError(f"{self.source}: the file has changed since sha256 was taken; take the key sha256 out")
        return construct(load_component(self.source), {**self.arguments, **own_arguments}, self.source)


def own_files(value: Any) -> tuple[str, ...]:
    """The files of all components in a configuration."""
    if isinstance(value, Component):
        where, _ = _split(value.source)
        return (str(_module_file(where) if _is_module(where) else where),)
    inside = value.__dict__ if isinstance(value, Section) else value
    entries = inside.values() if isinstance(inside, Mapping) else inside if isinstance(inside, tuple) else ()
    return tuple(file for entry in entries for file in own_files(entry))


def load_component(source: str, base: str | Path | None = None) -> type:
    """The class that `source` names; a file is looked for in `base`, else in the working directory."""
    where, name = _split(source)
    module = _imported(where) if _is_module(where) else executed(_file(where, Path(base or ".")))
    attribute = getattr(module, name, None)
    if isinstance(attribute, type):
        return attribute
    own = [
        key for key, value in vars(module).items() if isinstance(value, type) and value.__module__ == module.__name__
    ]
    raise InputError(f"{source}: no class {name} in {where}; it has {', '.join(own) or 'no classes'}")


def source_of(component: type) -> str:
    """Return `file.py:Class` of a class, by which other processes find it too."""
    file = getattr(sys.modules.get(component.__module__), "__file__", None)
    if file is None or component.__qualname__ != component.__name__:
        where = "inside a function or class" if file else "in no file"
        raise InputError(f"{component.__qualname__} is written {where}; write it at the top level of a file")
    return f"{Path(file).resolve()}:{component.__name__}"


def construct(component: type, arguments: Mapping[str, Any], source: str) -> Any:
    """An instance, or one line that says what the constructor did not like."""
    try:
        signature = inspect.signature(component)
    except ValueError:  # some classes written in C show none
        signature = None
    try:
        if signature is not None:
            signature.bind(**arguments)
    except TypeError as error:
        raise InputError(f"{source}: {error}; the class takes {signature}") from None
    try:
        return component(**arguments)
    except Exception as error:
        text = ", ".join(f"{key} = {value_text(value)}" for key, value in arguments.items())
        raise InputError(f"{source}: {_said(error)}; given were {text or 'no arguments'}") from error


def content_hash(source: str) -> str:
    """The hash of the file in which a component is written."""
    where, _ = _split(source)
    file = _module_file(where) if _is_module(where) else Path(where)
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{source}: {(error.strerror or str(error)).lower()}; give file.py:Class") from None


def _directory(info: ValidationInfo) -> Path:
    return info.context["directory"] if info.context else Path()


def _split(source: str) -> tuple[str, str]:
    where, colon, name = source.rpartition(":")
    if not (colon and where and name.isidentifier()):
        raise InputError(f"{value_text(source)} names no class; give file.py:Class or package.module:Class")
    return where, name


def _is_module(where: str) -> bool:
    return not where.endswith(".py") and all(part.isidentifier() for part in where.split("."))


def _file(where: str, directory: Path) -> Path:
    path = (directory / Path(where).expanduser()).resolve()
    if not path.is_file():
        raise InputError(f"there is no file {path}; give file.py:Class, found from the directory of the configuration")
    return path


def _module_file(where: str) -> Path:
    try:
        spec = importlib.util.find_spec(where)
    except Exception as error:
        raise InputError(f"{where}: {_said(error)}; give the name of an installed module") from None
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        raise InputError(f"{where}: no such module; install it, or give file.py:Class")
    return Path(spec.origin)


def _imported(where: str) -> ModuleType:
    _module_file(where)
    PACKAGES.add(where.partition(".")[0])
    watch()
    try:
        return importlib.import_module(where)
    except (Exception, SystemExit) as error:
        raise InputError(f"{where}: cannot be imported: {_said(error)}") from error


def executed(path: Path) -> ModuleType:
    """The module of a file, executed once for each content."""
    script = sys.modules["__main__"]
    if Path(getattr(script, "__file__", None) or ".").resolve() == path.resolve():
        return script  # a script whose own classes fly
    content = path.read_bytes()
    # Dataclasses and pickle look the module of a class up by its name.
    name = f"{EXECUTED}{path.stem}_{hashlib.sha256(bytes(path) + content).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    watch()
    try:
        exec(compile(content, str(path), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InputError(f"{path}{_line(error, path)}: cannot be imported: {_said(error)}; correct the file") from error
    return module


def _line(error: BaseException, path: Path) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    return f":{lines[-1]}" if lines else ""


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error.msg}" if isinstance(error, SyntaxError) else said(error, None)
