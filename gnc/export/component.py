"""Recorded flight software as one component of C: structs, parts, and the step that calls them.

Its hash is that of everything but the numbers in which trials differ: another configuration, another hash.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gnc import __version__
from gnc.export.c_code import MOST_REPEATS, CUnit, literal
from gnc.export.kernel_files import source_file, template
from gnc.export.software import Field, Function, Software, Variant, time_text
from gnc.instant import TimeTest
from gnc.state_slots import most_waiting

NONE = Field("none", (1,), "there is nothing")  # C has no empty structs
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@dataclass(frozen=True, eq=False)
class Component:
    """The C of software."""

    software: Software
    name: str
    title: str = "a loop"
    single: bool = False
    most_repeats: int = MOST_REPEATS
    actuators: tuple[str, ...] = ()  # names of `effectors_0`, `effectors_1`, ...

    @functools.cached_property
    def unit(self) -> CUnit:
        """The functions of the parts, with all kernels they call."""
        unit = CUnit(self.name, self.single, self.most_repeats)
        for function in self.software.functions:
            unit.functions.append(self._function(unit, function))
        return unit

    @functools.cached_property
    def arrivals(self) -> dict[str, int]:
        """Bits of what may arrive, by the names of instruments."""
        return {name: 2 << i for i, name in enumerate(self.software.measured)}

    @functools.cached_property
    def structs(self) -> dict[str, tuple[str, list[Field]]]:
        """What each struct is, and its fields."""
        s = self.software
        innovations = [one for struct in s.innovations.values() for one in struct.fields]
        found = {
            "parameters": ("Numbers that the software was designed with.", list(s.parameters.values())),
            "inputs": ("What is told at a tick: measurements, telemetry of actuators, surroundings.", s.inputs),
            "belief": ("What is believed.", s.belief.fields),
            "command": ("What is commanded.", s.command.fields),
            "memory": ("What guidance and law remember.", s.memory.fields),
            "innovations": ("What the last measurement of each sensor was worth.", innovations),
        }
        told = {f"effectors_{i}": f": {name}" for i, name in enumerate(self.actuators)}
        named = lambda one: one._replace(about=one.about + told.get(one.name.removeprefix("report_"), ""))  # noqa: E731
        return {key: (about, [*map(named, fields)] or [NONE]) for key, (about, fields) in found.items()}

    @functools.cached_property
    def hash(self) -> str:
        """The hash of the configuration."""
        shared = {n: rows.tolist() for n, rows in self.software.values.items() if len(rows) == 1}
        told = [self._text(""), self._header("", ""), json.dumps(shared)]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]

    def files(self) -> dict[str, str]:
        """Return header, source, and their wire."""
        name = self.name
        tables = "\n".join([self._parameters(), "", self._init()])
        return {
            f"{name}.h": self._header(self.hash, self.title),
            f"{name}.c": self._text(tables),
            f"{name}_wire.h": template("wire.h", NAME=name),
            f"{name}_wire.c": template("wire.c", NAME=name),
        }

    def size(self, struct: str) -> int:
        """Return how many numbers a struct has."""
        return sum(math.prod(one.core) for one in self.structs[struct][1])

    def _text(self, tables: str) -> str:
        calls = {
            kind: [f for f in self.software.functions if f.name.startswith(kind)] for kind in ("predict", "update")
        }
        predicts = [
            f"    case {f.name.split('_')[1]}:\n        return NAME_{f.name}(parameters, from, to, belief);"
            for f in calls["predict"]
        ]
        updates = []
        for f, (instrument, bit) in zip(calls["update"], self.arrivals.items(), strict=True):
            given = "parameters, &mark->inputs, mark->tick, &state->belief, &state->innovations"
            updates.append(f"    if (error == NAME_DONE && (mark->arrived & {bit}u) != 0) {{ /* {instrument} */")
            updates.append(f"        error = NAME_{f.name}({given});\n    }}")
        if not updates:
            updates.append("    (void)parameters;")
        step = template("step.c", PREDICT="\n".join(predicts), UPDATE="\n".join(updates), NAME=self.name)
        text = source_file(self.name, self.unit).replace("TICK_S", f"{self.name}_TICK_S")
        return "\n".join([text, tables, step])

    def _header(self, digest: str, title: str) -> str:
        loop, name = self.software.loop, self.name
        marks = 2 + most_waiting(loop)[0] if loop.delay else 2
        arrivals = [f"#define {name}_COMMAND 1u /* a command is due */"]
        for instrument, bit in self.arrivals.items():
            short = re.sub(r"\W", "_", instrument.split(".")[-1]).upper()
            arrivals.append(f"#define {name}_{short} {bit}u /* {instrument} */")
        structs = "\n".join(self._struct(key, *one) for key, one in self.structs.items())
        texts = {"TITLE": title, "VERSION": __version__, "HASH": digest, "TICK": literal(loop.h)}
        texts |= {"DELAY": str(loop.delay), "MARKS": str(marks), "ARRIVALS": "\n".join(arrivals)}
        return template("component.h", **texts, REAL=self.unit.real, STRUCTS=structs, NAME=name)

    def _struct(self, key: str, about: str, fields: Sequence[Field]) -> str:
        lines = [f"/* {about} */", "typedef struct {"]
        for one in fields:
            shape = f"[{math.prod(one.core)}]" if one.core else ""
            lines.append(f"    {self.name}_real_t {one.name}{shape};{f' /* {one.about} */' if one.about else ''}")
        return "\n".join([*lines, f"}} {self.name}_{key}_t;\n"])

    # The functions of parts

    def _function(self, unit: CUnit, function: Function) -> str:
        name, kind = self.name, function.name.split("_")[0]
        struct = "memory" if kind == "command" else "belief"
        arguments = [f"const {name}_parameters_t *parameters"]
        if kind == "predict":
            arguments += [f"const {name}_mark_t *from", f"const {name}_mark_t *to", f"{name}_belief_t *belief"]
        elif kind == "update":
            arguments += [f"const {name}_inputs_t *inputs", "int64_t tick", f"{name}_belief_t *belief"]
            arguments += [f"{name}_innovations_t *innovations"]
        else:
            arguments += [f"const {name}_belief_t *belief", f"const {name}_inputs_t *inputs", "int64_t tick"]
            arguments += [f"{name}_memory_t *memory", f"{name}_command_t *command"]
        body = "\n".join(self._variants(unit, function))
        unused = [one.split("*")[-1].split(" ")[-1] for one in arguments]
        lines = [f"    (void){one};" for one in unused if one != struct and not re.search(rf"\b{one}\b", body)]
        if kind == "predict" and re.search(r"\btick\b", body):
            lines.append("    const int64_t tick = from->tick;")
        lines += [f"    {name}_{struct}_t next = *{struct};", body, f"    *{struct} = next;"]
        head = f"static int32_t {name}_{function.name}({', '.join(arguments)})"
        return "\n".join([head, "{", *lines, f"    return {name}_DONE;", "}\n"])

    def _variants(self, unit: CUnit, function: Function) -> Iterator[str]:
        single = len(function.variants) == 1 and not function.variants[0].clock.guards
        for i, one in enumerate(function.variants):
            if not single:
                tests = {_condition(guard): None for guard in one.clock.guards}
                yield f"    {'} else ' if i else ''}if ({' && '.join(tests) or 'true'}) {{"
            yield from self._statements(unit, function, one)
        if not single:
            yield f"    }} else {{\n        return {self.name}_NO_VARIANT;\n    }}"

    def _statements(self, unit: CUnit, function: Function, one: Variant) -> list[str]:
        """Write a variant; numbers that stay are not copied."""
        tape = one.recorder.tape
        cast = "(float)" if self.single else ""
        places = [one.places.get(slot, "0") for slot in range(tape.inputs)]
        places = [f"({cast}{place})" if place.startswith("((double)") and cast else place for place in places]
        kept = [f"{place.partition('->')[2]}" for place in places]
        changed = []
        for index, target in zip(one.results, one.targets, strict=True):
            entry = tape.entries[index]
            stays = entry.op == "input" and f"next.{kept[entry.operands[0]]}" == target
            if not stays:
                changed.append((index, target))
        results, targets = [i for i, _ in changed], [t for _, t in changed]
        return unit.statements(f"{self.name}_{function.name}", tape, places, results, targets)

    # Tables

    def _values(self, fields: Sequence[Field], numbers: np.ndarray) -> str:
        parts, at = [], 0
        for one in fields:
            n = math.prod(one.core)
            values = ", ".join(literal(float(x), self.unit.end) for x in numbers[at : at + n])
            parts.append(f"{{{values}}}" if one.core else values)
            at += n
        return f"{{{', '.join(parts)}}}"

    def _parameters(self) -> str:
        fields, numbers = self.structs["parameters"][1], self.software.parameters_for(1)[0]
        values = self._values(fields, numbers if len(numbers) else np.zeros(1))
        return f"const {self.name}_parameters_t {self.name}_parameters = {values};"

    def _init(self) -> str:
        s, first = self.software, []
        for key, struct, tree in zip(
            ("belief", "command", "memory"), (s.belief, s.command, s.memory), s.start, strict=True
        ):
            numbers = struct.flat(tree, s.trials)[0]
            first.append(self._values(self.structs[key][1], numbers if len(numbers) else np.zeros(1)))
        belief, command, memory = first
        state = f".belief = {belief}, .command = {command}, .memory = {memory}, .used = 1"
        return "\n".join(
            [
                f"void {self.name}_init({self.name}_state_t *state)",
                "{",
                f"    static const {self.name}_state_t start = {{{state}, .marks = {{{{.command = {command}}}}}}};",
                "    *state = start;",
                "}\n",
            ]
        )


def _condition(guard: TimeTest) -> str:
    """Return C for a comparison that came out as it did."""
    text = f"{time_text(guard.time)} {_SIGNS[guard.compare.__name__]} {literal(float(guard.bound))}"
    return text if guard.outcome else f"!({text})"
