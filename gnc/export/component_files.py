"""A component as a folder: C, the vectors of a flight with their test, how to build and use it, what it takes."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import __version__
from gnc.export.aboard import Aboard, row_of
from gnc.export.c_code import literal
from gnc.export.component import Component
from gnc.export.kernel_files import FLAGS, table, template, write_files
from gnc.export.software import Field
from gnc.flying import Flying
from gnc.flying import State as FlightState
from gnc.trees import Tree

if TYPE_CHECKING:
    from gnc.export.component import Component


MANIFEST, VECTORS = "flight_code.json", 100


def export_component(
    component: Component, truth: Tree, folder: Path, manifest: dict[str, Any], tables: bool = False, sizes: bool = True
) -> list[Path]:
    """Write all files; `tables`: with surroundings, `sizes`: as compilers here make them. Return the files."""
    name, rows = component.name, list(_flown(component, truth))
    files = component.files() | {
        "test_vectors.h": _vectors(component, rows),
        "main_test.c": template("main_test.c", NAME=name),
        "server.c": template("server.c", NAME=name),
        "Makefile": template("Makefile", FLAGS=FLAGS, NAME=name),
        "CMakeLists.txt": template("CMakeLists.txt", NAME=name),
        "INTERFACE.md": _interface(component, len(rows), manifest, tables),
    }
    if tables:
        files |= {f"{name}_surroundings.c": _surroundings(component)}
    about = {"name": name, "version": __version__, "hash": component.hash, "single": component.single}
    about |= {"most_repeats": component.most_repeats, **manifest}
    files[MANIFEST] = json.dumps(about, indent=1) + "\n"
    written = write_files(folder, files)
    return written + write_files(folder, {"SIZES.md": sizes_page(component, folder if sizes else None)})


class _Listening(Flying):
    """A flight that keeps what its software is told."""

    def __init__(self, loop: Any) -> None:
        super().__init__(loop)
        self.heard: dict[str, Tree] = {}

    def part(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Call a part."""
        made = function(*args)
        self.heard[name] = made
        return made


def _flown(component: Component, truth: Tree) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Fly the first trial; give tick, arrivals, inputs and outputs of the steps of its software."""
    s, loop = component.software, component.software.loop
    flying, aboard = _Listening(loop), Aboard(component, s.start, s.parameters_for(s.trials), None)  # type: ignore[arg-type]
    belief, command, memory = s.start
    flying.put(0, FlightState(truth, belief, command, memory))
    worth = {name: np.zeros(one.size) for name, one in s.innovations.items()}

    def keep(name: str, t: float, made: Any) -> None:
        worth[name] = s.innovations[name].flat(made, s.trials)[0]

    for tick in range(int(s.new[:VECTORS][-1]) + 1):
        flying.heard.clear()
        flying.tick(keep)
        names = tuple(one.name for one, schedule in loop.measured if schedule.due(tick))
        if names or loop.commanded.due(tick):
            measured = tuple(flying.heard[f"instrument {name}"] for name in names)
            told = aboard.told(tick * loop.h, names, loop.commanded.due(tick), flying.heard["plant.report"], measured)
            structs = zip((s.command, s.belief, s.memory), (flying.command, flying.belief, flying.memory), strict=True)
            made = [one.flat(tree, s.trials)[0] for one, tree in structs]
            made.append(np.concatenate([np.zeros(0), *worth.values()]))
            yield *told[:2], told[2][0], np.concatenate([x if len(x) else np.zeros(1) for x in made])
        flying.move()


def _vectors(component: Component, rows: Sequence[tuple[int, int, np.ndarray, np.ndarray]]) -> str:
    given, made = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
    return "\n".join(
        [
            "#include <math.h>\n",
            f"#define VECTORS {len(rows)}",
            f"static const int64_t ticks[VECTORS] = {{{', '.join(str(row[0]) for row in rows)}}};",
            f"static const uint32_t arrivals[VECTORS] = {{{', '.join(f'{row[1]}u' for row in rows)}}};",
            f"static const double given[VECTORS][{given.shape[1]}] = {{\n{table(given)}\n}};",
            f"static const double expected[VECTORS][{made.shape[1]}] = {{\n{table(made)}\n}};\n",
        ]
    )


def _interface(component: Component, vectors: int, manifest: dict[str, Any], tables: bool) -> str:
    loop, name = component.software.loop, component.name
    arrivals = [f"| `{name}_COMMAND` | a command is due, usually every {loop.controller.period_s:g} s |"]
    for instrument, schedule in loop.measured:
        short = re.sub(r"\W", "_", instrument.name.split(".")[-1]).upper()
        arrivals.append(f"| `{name}_{short}` | {instrument.name}, usually every {schedule.every * loop.h:g} s |")
    intervals = [f.name.split("_")[1] for f in component.software.functions if f.name.startswith("predict")]
    late = f" Measurements are corrected {loop.delay} ticks later, when late ones have come." if loop.delay else ""
    around = f"exported as tables: `{name}_surroundings.c`" if tables else "inputs: the caller computes them"
    texts = {"TITLE": component.title, "VERSION": __version__, "HASH": component.hash, "TICK": f"{loop.h:g}"}
    texts |= {"CRAFT": str(manifest.get("craft", "")), "REAL": component.unit.real, "SURROUNDINGS": around}
    texts |= {"ARRIVALS": "\n".join(["| | |", "|---|---|", *arrivals]), "INTERVALS": ", ".join(intervals) or "no"}
    texts |= {"LATE": late, "REPEATS": f"{component.most_repeats:,}".replace(",", " "), "VECTORS": str(vectors)}
    texts |= {key.upper(): _rows(component.structs[key][1]) for key in ("inputs", "command")}
    return template("INTERFACE.md", **texts, NAME=name)


def _rows(fields: Sequence[Field]) -> str:
    lines = [f"| `{one.name}` | {math.prod(one.core)} | {one.about} |" for one in fields]
    return "\n".join(["| field | numbers | |", "|---|---|---|", *lines])


def _surroundings(component: Component) -> str:
    """Return C that writes the surroundings of a tick into inputs."""
    s, name, used = component.software, component.name, {one.name for one in component.software.inputs}
    every = int(np.gcd.reduce(s.new)) or 1
    ticks = range(0, int(s.new[-1]) + 1, every)
    columns, lines, at = [], [], 0
    for key, source in s.sources.values():
        rows, first = np.concatenate([row_of(source, k) for k in ticks]), 0
        for one in s.row(key, source):
            n = math.prod(one.core)
            if one.name in used:
                columns.append(rows[:, first : first + n])
                target = f"inputs->{one.name}[i]" if one.core else f"inputs->{one.name}"
                lines.append(f"    for (int32_t i = 0; i < {n}; ++i) {{\n        {target} = row[{at} + i];\n    }}")
                at += n
            first += n
    numbers = np.concatenate([*columns, np.zeros((len(ticks), int(not columns)))], axis=1)
    text = ",\n".join(f"    {{{', '.join(literal(float(x), component.unit.end) for x in row)}}}" for row in numbers)
    head = f"int32_t {name}_surroundings(int64_t tick, {name}_inputs_t *inputs)"
    return "\n".join(
        [
            f'#include "{name}.h"\n\n/* Write the surroundings of a tick; returns 1 outside of the flight. */',
            f"{head};\n",
            f"static const {name}_real_t table[{len(ticks)}][{numbers.shape[1]}] = {{\n{text}\n}};\n",
            f"{head}\n{{\n    if (tick < 0 || tick % {every} != 0 || tick / {every} >= {len(ticks)}) {{",
            f"        return 1;\n    }}\n    const {name}_real_t *const row = table[tick / {every}];",
            *(lines or ["    (void)row;\n    (void)inputs;"]),
            "    return 0;\n}\n",
        ]
    )


TARGETS = {
    "x86-64": ["gcc"],
    "64-bit ARM": ["aarch64-linux-gnu-gcc"],
    "32-bit ARM, Thumb": ["arm-linux-gnueabihf-gcc", "-mthumb"],
}
Sizes = dict[str, tuple[int, int]]  # of functions: bytes of code, and of stack with all that they call


def sizes_page(component: Component, folder: Path | None) -> str:
    """Return the page; without a folder it tells operations only."""
    found: dict[str, Sizes] = {}
    for target, compiler in TARGETS.items():
        if folder is not None and shutil.which(compiler[0]) is not None:
            found[target] = measured(folder / f"{component.name}.c", compiler)
    missing = ", ".join(TARGETS.keys() - found.keys())
    lines = [
        f"# What {component.name} takes",
        "",
        f"Operations of one call, repeated kernels once; bytes at `-Os {FLAGS}`.",
    ]
    lines += ["Stack is that of the deepest calls.", *([f"Not measured here: {missing}."] if missing else []), ""]
    lines += [f"| function | operations | {' | '.join(f'{t}: code | stack' for t in found)}{' |' if found else ''}"]
    lines += ["|---" * (2 + 2 * len(found)) + "|"]
    total = [f"{sum(code for code, _ in one.values())} | {one[f'{component.name}_step'][1]}" for one in found.values()]
    lines.append(f"| **all** | | {' | '.join(total)}{' |' if found else ''}")
    for name, counts in component.unit.counts.items():
        own = [" | ".join(map(str, one[name])) if name in one else "inlined | " for one in found.values()]
        lines.append(f"| `{name}` | {_told(counts)} | {' | '.join(own)}{' |' if found else ''}")
    return "\n".join([*lines, ""])


def _told(counts: Counter[str]) -> str:
    cheap = sum(n for op, n in counts.items() if op not in ("divide", "sqrt"))
    return f"{cheap} + {counts['divide']} divisions + {counts['sqrt']} roots"


def measured(source: Path, compiler: list[str]) -> Sizes:
    """Compile, and read code sizes and the stack of the deepest calls from what the compiler tells."""
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, "component.o")
        files = "-c", str(source.resolve()), "-o", str(made)
        command = [*compiler, *FLAGS.split(), "-Os", "-fcallgraph-info=su", *files]
        subprocess.run(command, check=True, capture_output=True, cwd=place)
        listed = subprocess.run(["nm", "-S", str(made)], check=True, capture_output=True, text=True).stdout
        graph = made.with_suffix(".ci").read_text()
    code = {name: int(size, 16) for size, name in re.findall(r"^\w+ (\w+) [tTrR] ([\w.]+)$", listed, re.M)}
    stack = {
        n.split(":")[-1]: int(size) for n, size in re.findall(r'title: "([^"]+)" label: "[^"]*?\\n(\d+) bytes', graph)
    }
    calls: dict[str, set[str]] = {}
    for caller, callee in re.findall(r'sourcename: "([^"]+)" targetname: "([^"]+)"', graph):
        calls.setdefault(caller.split(":")[-1], set()).add(callee.split(":")[-1])

    def deepest(name: str) -> int:
        return stack.get(name, 0) + max((deepest(one) for one in calls.get(name, ())), default=0)

    return {name: (size, deepest(name) if name in stack else 0) for name, size in code.items()}
