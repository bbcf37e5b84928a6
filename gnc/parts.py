"""Parts of a mission: each kind is a section of the file, found by the slot it fits.

A part's section stands beside its class, in a module of the package of its slot; a new module there is a new kind, and
nothing else has to be told. Every slot takes a user's own class too:

    law = "pd"                                     a kind with all its defaults
    law = { kind = "pd", frequency_rad_s = 0.05 }
    law = "my_law.py:MyLaw"                        an own class, found beside the file
    law = { kind = "my_law.py:MyLaw", gain = 2.0 } with arguments

In Python the class itself does as well, `{"law": MyLaw}`, if it is written in a file.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Union

from pydantic import Field, TypeAdapter, ValidationInfo
from pydantic_core import PydanticKnownError, SchemaValidator, core_schema

from gnc.config import Component, Section
from gnc.config.component import source_of
from gnc.contract import guarded
from gnc.errors import InputError

OWN = "own"
PACKAGES = {  # slot -> the package whose modules hold its kinds
    "orbit": "gnc.models.orbits",
    "load": "gnc.models.loads",
    "actuator": "gnc.models.actuators",
    "sensor": "gnc.models.sensors",
    "craft": "gnc.models.craft",
    "event": "gnc.models.happenings",
    "fault": "gnc.models.faults",
    "navigation": "gnc.estimators.navigation",
    "fdir": "gnc.estimators.fdir",
    "guidance": "gnc.controllers.guidance",
    "law": "gnc.controllers.laws",
    "requirement": "gnc.scenarios.missions.requirements",
}


class Part(Section):
    """A section that builds a part; subclasses with a `kind` fill the slot they name."""

    slot: ClassVar[str] = ""
    shaping: ClassVar[frozenset[str]] = (
        frozenset()
    )  # fields that trials of one batch must share, numbers though they are

    @classmethod
    def kind_name(cls) -> str:
        """The word by which a file asks for this kind; empty for a base class."""
        field = cls.model_fields.get("kind")
        return str(field.default) if field is not None and isinstance(field.default, str) else ""


class OwnPart(Part):
    """A class of your own and what the slot itself asks of every part."""

    component: Component
    """The class and its arguments."""

    def asks_for(self, name: str) -> bool:
        """Tell whether the constructor has a parameter of this name."""
        return name in self.component.arguments or bool(_asked(self.component, {name: None}))

    def made(self, **offers: Any) -> Any:
        """Build the class with its arguments, and with whatever of `offers` its constructor asks for by name."""
        return guarded(self.component.build(**_asked(self.component, offers)), self.slot, self.component.source)


def _asked(component: Component, offers: Mapping[str, Any]) -> dict[str, Any]:
    """The part of `offers` that the constructor has parameters for; all of it if it takes any keyword."""
    from gnc.config import load_component

    try:
        parameters = inspect.signature(load_component(component.source)).parameters.values()
    except ValueError:  # some classes written in C show none
        return {}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict(offers)
    names = {parameter.name for parameter in parameters} - component.arguments.keys()
    return {name: value for name, value in offers.items() if name in names}


@functools.cache
def kinds(slot: str) -> dict[str, type[Part]]:
    """The kinds of a slot by name, those of the user's own last."""
    package = importlib.import_module(PACKAGES[slot])
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{PACKAGES[slot]}.{module.name}")
    sections = {part.kind_name(): part for part in _descendants(Part) if part.slot == slot and part.kind_name()}
    return dict(sorted(sections.items(), key=lambda item: (item[0] == OWN, item[0])))


def _descendants(cls: type[Part]) -> list[type[Part]]:
    return [descendant for child in cls.__subclasses__() for descendant in (child, *_descendants(child))]


@functools.cache
def _written(slot: str) -> dict[str, str]:
    """The modules of a slot by the kinds that their text declares, so that only those are loaded that are used."""
    package, modules = importlib.import_module(PACKAGES[slot]), dict[str, str]()
    for module in pkgutil.iter_modules(package.__path__, f"{PACKAGES[slot]}."):
        spec: Any = importlib.util.find_spec(module.name)
        text = spec.loader.get_source(module.name) or ""
        modules |= dict.fromkeys(re.findall(r'^    kind: Literal\["([^"]+)"\]', text, re.M), module.name)
    return dict(sorted(modules.items(), key=lambda item: (item[0] == OWN, item[0])))


@functools.cache
def section_of(slot: str, kind: str) -> type[Part] | None:
    """The section of a kind, if the slot has it."""
    if kind in _written(slot):
        module = importlib.import_module(_written(slot)[kind])
        for part in vars(module).values():
            if isinstance(part, type) and issubclass(part, Part) and (part.slot, part.kind_name()) == (slot, kind):
                return part
    return kinds(slot).get(kind)


def slot_type(slot: str, default: str | None = None) -> Any:
    """The type of a field that holds a part of a slot: one of its kinds, told apart by `kind`."""
    return Annotated[Any, Slot(slot, default)]


class Slot:
    """Validates a part by the section of its kind, which is loaded when a file asks for it."""

    def __init__(self, name: str, default: str | None) -> None:
        self.name, self.default = name, default

    def kinds(self) -> list[str]:
        """The words that `kind` may be."""
        return list(_written(self.name))

    def of_kind(self, kind: object) -> type[Part] | None:
        """The section of a kind."""
        return section_of(self.name, kind) if isinstance(kind, str) else None

    def members(self) -> list[type[Part]]:
        """All sections."""
        return list(kinds(self.name).values())

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.with_info_plain_validator_function(self._validated)

    def _validated(self, value: Any, info: ValidationInfo) -> Any:
        value = _spelled(self.name, self.default, value)
        if not isinstance(value, Mapping | Part):
            raise PydanticKnownError("model_attributes_type")
        kind = value.get("kind") if isinstance(value, Mapping) else value.kind_name()
        if kind is None:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "'kind'"})
        if (section := self.of_kind(kind)) is None:
            context = {"discriminator": "'kind'", "tag": str(kind), "expected_tags": ", ".join(map(repr, self.kinds()))}
            raise PydanticKnownError("union_tag_invalid", context)
        return _validator(section).validate_python(value, context=info.context)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """The ways of writing a part: its table, the name of its kind, or a class of one's own."""
        sections: Any = Annotated[Union[tuple(self.members())], Field(discriminator="kind")]  # noqa: UP007
        table = handler(TypeAdapter(sections).core_schema)
        words = {"enum": [name for name in self.kinds() if name != OWN], "description": f"A kind of {self.name}."}
        own = {"type": "string", "pattern": ":", "description": "file.py:Class, a class of your own."}
        named = {"type": "object", "properties": {"kind": own}, "required": ["kind"]}
        return {"anyOf": [table, words, own, named]}


@functools.cache
def _validator(section: type[Part]) -> SchemaValidator:
    """The validator of a section, whose errors name the kind in their place as those of a union do."""
    kind: Any = section.__pydantic_core_schema__
    return SchemaValidator(core_schema.tagged_union_schema({section.kind_name(): kind}, "kind"))


def _spelled(slot: str, default: str | None, value: Any) -> Any:
    """A part as its table, whichever way it was written."""
    if isinstance(value, str | type):
        value = {"kind": value}
    if not isinstance(value, Mapping):
        return value
    kind = value.get("kind")
    if kind is None and default is not None:
        return {"kind": default, **value}
    if isinstance(kind, type):
        value = {**value, "kind": (kind := source_of(kind))}
    if kind == OWN and _is_component(component := value.get("component")):  # an argument may be set beside it
        return _own(slot, value, component, {"kind", "component"})
    return _own(slot, value, {"source": kind}, {"kind"}) if isinstance(kind, str) and ":" in kind else value


def _is_component(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("arguments", {}), Mapping)


def _own(slot: str, table: Mapping[str, Any], component: Mapping[str, Any], spelled: set[str]) -> dict[str, Any]:
    """The table of an own class: what the slot does not know are arguments of the class."""
    own = section_of(slot, OWN)
    if own is None:
        raise InputError(f"a {slot} cannot be a class of your own; give {', '.join(_written(slot))}")
    known = {key: value for key, value in table.items() if key in own.model_fields and key not in spelled}
    arguments = {key: value for key, value in table.items() if key not in own.model_fields}
    return {
        "kind": OWN,
        "component": {**component, "arguments": {**component.get("arguments", {}), **arguments}},
        **known,
    }
