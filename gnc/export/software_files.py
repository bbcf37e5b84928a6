"""Recorded flight software as a folder of C, with the vectors of a flight.

    void NAME_init(NAME_state_t *state);
    int  NAME_step(NAME_state_t *state, const NAME_inputs_t *inputs, int tick);

The state after a step has the bits of Python. Parameters are `static const` tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gnc import __version__
from gnc.export.c_code import CUnit, literal
from gnc.export.kernel_files import digest, makefile, operations, source_file, table, test_program, write_files
from gnc.export.software import Software, SoftwareTick, Vector

_SIGNS = {"lt": ("<", ">="), "le": ("<=", ">"), "gt": (">", "<="), "ge": (">=", "<")}  # and their opposites
Fields = dict[str, int]  # of a struct: name and how many doubles


def export_software(software: Software, name: str, folder: Path) -> list[Path]:
    """Write the software of a loop that has been flown, and what tests it; return the files."""
    unit = CUnit(name)
    for tick in software.ticks:
        _step(unit, software, tick, name)
    unit.functions += [_init(software, name), _choice(software, name)]
    files = {
        f"{name}.h": _header(software, unit, name),
        f"{name}.c": source_file(name, unit),
        "test_vectors.h": _vectors(software),
        "main_test.c": _test(software, name),
        "Makefile": makefile(name),
    }
    return write_files(folder, files)


def state_fields(software: Software) -> Fields:
    """Return the fields of the state."""
    packing = software.slots.packing
    sizes = zip(packing.names(), map(math.prod, packing.cores), strict=True)
    return {name: size for name, size in sizes if size}


def input_fields(software: Software) -> Fields:
    """Return the fields of the inputs that any tick uses."""
    used = set()
    for tick in software.ticks:
        tape = tick.recorder.tape
        slots = {tape.entries[i].operands[0] for i in tape.needed(tick.results) if tape.entries[i].op == "input"}
        for name, inputs in tick.inputs.items():
            pairs = zip(software.fields[name], inputs, strict=True)
            used |= {field for field, one in pairs if not slots.isdisjoint(range(one.slot, one.slot + one.size))}
    return {field: size for own in software.fields.values() for field, size in own.items() if field in used}


def _places(fields: Fields, struct: str) -> list[str]:
    return [f"{struct}->{field}[{i}]" for field, size in fields.items() for i in range(size)]


def _step(unit: CUnit, software: Software, tick: SoftwareTick, name: str) -> None:
    """Write the function of one kind of tick, and its parameters."""
    recorder = tick.recorder
    places = dict(enumerate(_places(state_fields(software), "state")))
    for inputs, own in ((tick.inputs[key], software.fields[key]) for key in tick.inputs):
        slots = (one.slot + i for one in inputs for i in range(one.size))
        places |= dict(zip(slots, _places(own, "inputs"), strict=True))
    tables = []
    for number, one in enumerate(one for one in recorder.given if one.memory is not None):
        values = np.ravel(np.asarray(one.memory))[: one.size]
        tables.append(
            f"    static const double p{number}[{one.size}] = {{{', '.join(map(literal, values.tolist()))}}};"
        )
        places |= {one.slot + i: f"p{number}[{i}]" for i in range(one.size)}
    step = f"{name}_tick{tick.number}"
    targets = [place.replace("state->", "next.") for place in _places(state_fields(software), "state")]
    ordered = [places[slot] for slot in range(recorder.tape.inputs)]
    changed = [
        (i, t) for slot, (i, t) in enumerate(zip(tick.results, targets, strict=True)) if not _stays(tick, i, slot)
    ]
    body = unit.statements(step, recorder.tape, ordered, *map(list, zip(*changed, strict=True)))
    text = "\n".join(body)
    tables = [line for line in tables if f"{line.split()[3].partition('[')[0]}[" in text]
    unused = [] if "inputs->" in text else ["    (void)inputs;"]
    head = f"static void {step}({name}_state_t *state, const {name}_inputs_t *inputs)"
    lines = [*tables, f"    {name}_state_t next = *state;", *unused, text, "    *state = next;"]
    unit.functions.append("\n".join([head, "{", *lines, "}\n"]))


def _stays(tick: SoftwareTick, index: int, slot: int) -> bool:
    entry = tick.recorder.tape.entries[index]
    return entry.op == "input" and entry.operands[0] == slot


def _init(software: Software, name: str) -> str:
    lines, at = [], 0
    for field, size in state_fields(software).items():
        for i in range(size):
            lines.append(f"    state->{field}[{i}] = {literal(float(software.vectors[0].before[at]))};")
            at += 1
    return "\n".join([f"void {name}_init({name}_state_t *state)", "{", *lines, "}\n"])


def _choice(software: Software, name: str) -> str:
    cases = [
        f"    case {t.number}:\n        {name}_tick{t.number}(state, inputs);\n        return 0;"
        for t in software.ticks
    ]
    head = f"int {name}_step({name}_state_t *state, const {name}_inputs_t *inputs, int tick)"
    return "\n".join([head, "{", "    switch (tick) {", *cases, "    default:\n        return 1;", "    }", "}\n"])


def _header(software: Software, unit: CUnit, name: str) -> str:
    guard = f"{name.upper()}_H"
    about = {field: software.about.get(key, key) for key, own in software.fields.items() for field in own}
    lines = [f"/* Flight software written by gnc {__version__}; the source has the hash {digest(unit)}.", " *"]
    for tick in software.ticks:
        guards = {
            f"{_SIGNS[guard.compare.__name__][not guard.outcome]} {guard.bound:g} s" for guard in tick.clock.guards
        }
        when = f" Holds at times {', '.join(sorted(guards))}." if guards else ""
        given = ", ".join(tick.inputs) or "nothing"
        lines.append(f" * Tick {tick.number} takes {given}.{when}")
        lines.append(f" *     {operations(unit.counts[f'{name}_tick{tick.number}'])}.")
    lines += [" */", f"#ifndef {guard}", f"#define {guard}\n"]
    lines += [
        *_struct(f"{name}_state_t", state_fields(software), {}),
        *_struct(f"{name}_inputs_t", input_fields(software), about),
    ]
    lines += [f"/* Begin as the flight began. */\nvoid {name}_init({name}_state_t *state);\n"]
    lines += ["/* Do what is due at a kind of tick; returns 1 if there is no such kind. */"]
    lines += [f"int {name}_step({name}_state_t *state, const {name}_inputs_t *inputs, int tick);\n", "#endif\n"]
    return "\n".join(lines)


def _struct(name: str, fields: Fields, about: dict[str, str]) -> Iterator[str]:
    yield "typedef struct {"
    for field, size in (fields or {"none": 1}).items():
        yield f"    double {field}[{size}];{f' /* {about[field]} */' if field in about else ''}"
    yield f"}} {name};\n"


def _vectors(software: Software) -> str:
    rows = []
    for vector in software.vectors:
        rows.append(np.concatenate([vector.before, *_given(software, vector)]))
    given_rows, after = np.array(rows), np.array([vector.after for vector in software.vectors])
    kinds = ", ".join(str(vector.tick) for vector in software.vectors)
    return "\n".join(
        [
            "#include <math.h>\n",
            f"#define VECTORS {len(rows)}",
            f"static const int ticks[VECTORS] = {{{kinds}}};",
            f"static const double given[VECTORS][{given_rows.shape[1]}] = {{\n{table(given_rows)}\n}};",
            f"static const double expected[VECTORS][{after.shape[1]}] = {{\n{table(after)}\n}};\n",
        ]
    )


def _given(software: Software, vector: Vector) -> Iterator[np.ndarray]:
    """Give the numbers of all fields of the inputs; zeros where a tick has none."""
    used = input_fields(software)
    for key, own in software.fields.items():
        numbers = vector.inputs.get(key, np.zeros(sum(own.values())))
        for field, part in zip(own, np.split(numbers, np.cumsum(list(own.values()))[:-1]), strict=True):
            if field in used:
                yield part


def _test(software: Software, name: str) -> str:
    size = sum(state_fields(software).values())
    call = f"""        {name}_state_t state;
        {name}_inputs_t inputs;
        memcpy(&state, &given[i][0], sizeof state);
        memcpy(&inputs, &given[i][{size}], sizeof inputs);
        wrong += {name}_step(&state, &inputs, ticks[i]);
        memcpy(made, &state, sizeof made);"""
    return test_program(name, call, size)
