"""The catalogue of parts: kinds with their fields, the JSON Schema of a mission's file, and the file of `gnc new`."""

import difflib
from collections.abc import Iterator
from typing import Any

from gnc.config import Section
from gnc.config.schema import bounds, description_of, field_options, fields_of, noun
from gnc.config.toml_text import value_text
from gnc.errors import InputError
from gnc.parts import PACKAGES, Part, kinds
from gnc.scenarios.missions.mission import Mission

SCHEMA = "https://json-schema.org/draft/2020-12/schema"
INHERITED = {
    "base": {"type": "string", "description": "A built-in mission or a file; the rest is inherited, deep."},
    "remove": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Dotted keys of the base that are left out, such as craft.sat.sensors.sun_sensor.",
    },
}


def part(slot: str, kind: str) -> type[Part]:
    """Return the section of a kind."""
    sections = of_slot(slot)
    if kind not in sections:
        raise InputError(f"{slot} {kind!r}: there is no such kind; there are {', '.join(sections)}")
    return sections[kind]


def of_slot(slot: str) -> dict[str, type[Part]]:
    """Return the kinds of a slot."""
    if slot not in PACKAGES:
        raise InputError(f"{slot!r} is no slot; there are {', '.join(PACKAGES)}")
    return kinds(slot)


def about(section: type[Part]) -> str:
    """Return what a kind is, in a sentence."""
    return (section.__doc__ or "").strip().splitlines()[0]


def fields(section: type[Part]) -> Iterator[tuple[str, str, str, str]]:
    """Give each field of a kind: name, default, what may stand there, what it is."""
    for name, field in fields_of(section).items():
        if name == "kind":
            continue
        options = field_options(field)
        default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
        limits = " ".join(limit for option in options for limit in bounds(option))
        kind = noun(options)
        yield name, default, kind if limits in kind else f"{kind} {limits}", description_of(field)


def explain(key: str, mission: Mission) -> list[tuple[str, str, str, str, str]]:
    """Return where a key stands, its value there, default, what may stand there, what it is.

    A dotted key is followed through the mission; a bare one is looked for in every section and part.
    """
    places: list[tuple[str, Any, Any]] = [("mission", Mission, mission), ("run", type(mission.run), mission.run)]
    places += [(f"{slot} {kind}", section, None) for slot in PACKAGES for kind, section in kinds(slot).items()]
    *above, last = key.split(".")
    if above:
        section = _section(mission, above)
        places = [(".".join(above), type(section), section)]
    rows = []
    for where, kind, here in places:
        value = "" if here is None or not hasattr(here, last) else _default(getattr(here, last))
        rows += [(where, value, *row[1:]) for row in fields(kind) if row[0] == last]
    if not rows:
        names = {row[0] for _, kind, _ in places for row in fields(kind)}
        near = difflib.get_close_matches(last, names, 1)
        raise InputError(f"{key}: there is no such key" + (f"; did you mean {near[0]}?" if near else ""))
    return rows


def _section(mission: Mission, keys: list[str]) -> Any:
    """Return the table of a mission to which keys lead."""
    here: Any = mission
    for i, key in enumerate(keys):
        inside = here if isinstance(here, dict) else {name: getattr(here, name) for name in type(here).model_fields}
        if not isinstance(inside.get(key), Section | dict):
            raise InputError(f"{'.'.join(keys[: i + 1])}: not in {mission.name}; there are {', '.join(inside)}")
        here = inside[key]
    if isinstance(here, dict):
        raise InputError(f"{'.'.join(keys)}: holds tables by name: {', '.join(here) or 'none'}; give one of their keys")
    return here


def _default(value: Any) -> str:
    if value is None:
        return ""
    text = value_text(value) if not hasattr(value, "__dict__") or isinstance(value, tuple) else "table"
    return text if len(text) <= 40 else f"{text[:37]}..."


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a mission's file; what a base may give is not required."""
    document = _lenient(Mission.model_json_schema())
    document["properties"] |= INHERITED
    return {"$schema": SCHEMA, **document}


def _lenient(node: Any) -> Any:
    """Return a schema without `required`, except that a part of one's own must name its class."""
    if isinstance(node, list):
        return [_lenient(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    table = {key: _lenient(value) for key, value in node.items() if key != "required" or not isinstance(value, list)}
    if node.get("required") == ["kind"] and ":" in str(node.get("properties", {}).get("kind", {}).get("pattern", "")):
        table["required"] = ["kind"]
    table.pop("discriminator", None)
    if "oneOf" in table:  # without what is required, several kinds may take a table that says little
        table["anyOf"] = table.pop("oneOf")
    return table


NEW = """#:schema mission.schema.json
# A mission of your own: what is not said here is inherited from the base. `gnc show {base}` prints all of it,
# `gnc parts` what else there is, `gnc run {name}.toml` flies it.
base = "{base}"
title = "{title}"

[run]
trials = 20
duration_s = {duration_s}
{rest}"""


def new(name: str, base: str) -> str:
    """Return a commented file to begin with."""
    from gnc.scenarios.missions.load import read

    mission = read(base)
    lines: list[str] = []
    for craft, section in mission.craft.items():
        lines += [
            "",
            f"[craft.{craft}]  # the truth; flight software believes the same unless [software.{craft}] differs",
        ]
        lines += [f"# {line}" for line in _numbers(section)]
        for key, sensor in section.sensors.items():
            lines += ["", f"# [craft.{craft}.sensors.{key}]", *[f"# {line}" for line in _numbers(sensor)]]
    for craft, software in mission.software.items():
        for key, mode in software.modes.items():
            place = f"software.{craft}.modes.{key}"
            lines += ["", f'# [{place}.law]  # or a law of your own: in [{place}] law = "my_law.py:MyLaw"']
            lines += [f"# {line}" for line in (f"kind = {value_text(mode.law.kind_name())}", *_numbers(mode.law))]
    for key, requirement in list(mission.requirements.items())[:8]:
        if (bound := getattr(requirement, "at_most", None)) is not None:
            lines += ["", f"# [requirements.{key}]", f"# at_most = {bound}"]
    text = "\n".join(lines) + "\n"
    return NEW.format(name=name, base=base, title=f"{name}, after {base}", duration_s=mission.run.duration_s, rest=text)


def _numbers(section: Section) -> list[str]:
    """Return the fields of a section that are numbers or lists of numbers, as lines of TOML."""
    lines = []
    for name, field in fields_of(type(section)).items():
        value = getattr(section, name)
        if isinstance(value, float | tuple) and not isinstance(value, bool) and value is not None:
            lines.append(f"{name} = {value_text(value)}  # {description_of(field)}".removesuffix("  # "))
    return lines
