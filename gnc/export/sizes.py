"""What flight code takes on each target: operations, code and stack, as the compilers at hand make it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from gnc.export.kernel_files import FLAGS

if TYPE_CHECKING:
    from gnc.export.component import Component

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
