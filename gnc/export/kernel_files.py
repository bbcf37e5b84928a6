"""A kernel as a folder of C: header, source, test vectors, a program that runs them, and a Makefile."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from gnc import __version__
from gnc.batch.kernel import Kernel
from gnc.batch.layout import starts
from gnc.export.c_code import CUnit, literal
from gnc.files import replacing

VECTORS = 100
FLAGS = "-std=c99 -ffp-contract=off -Wall -Wextra -Wconversion -Wpedantic -Wshadow -Wdouble-promotion"


def export_kernel(kernel: Kernel, name: str, folder: Path, vectors: Sequence[np.ndarray] | None = None) -> list[Path]:
    """Write a kernel as the C function `name`, and what tests it; return the files.

    `vectors` are arguments (vectors, ...) for the test, standard normal numbers by default. The expected results are
    those of the kernel here, and the test compares every bit.
    """
    unit = CUnit(name)
    inner = unit.kernel(kernel)
    unit.functions.append(_public(kernel, name, inner))
    given = vectors if vectors is not None else _random(kernel)
    files = {
        f"{name}.h": _header(kernel, name, unit, inner),
        f"{name}.c": source_file(name, unit),
        "test_vectors.h": _vectors(kernel, given),
        "main_test.c": _test(kernel, name),
        "Makefile": template("kernel.mk", FLAGS=FLAGS, NAME=name),
    }
    return write_files(folder, files)


def template(file: str, **texts: str) -> str:
    """Return a template with its texts in place of @NAMES@, and what is exported in place of NAME."""
    text = resources.files("gnc.export").joinpath("templates", file).read_text()
    for key, value in texts.items():
        text = text.replace(key if key == "NAME" else f"@{key}@", value)
    return text


def write_files(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write files into a folder, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        with replacing(folder / file) as temporary:
            Path(temporary).write_text(text)
    return [folder / file for file in files]


def source_file(name: str, unit: CUnit) -> str:
    """Return the C file of a unit."""
    text = "\n".join(unit.functions)
    helpers = [one for one in template("helpers.c").split("\n\n") if re.search(rf"\b{_function(one)}\(", text)]
    includes = ["<math.h>", "<stdbool.h>", "<stdint.h>"]
    return "\n".join(
        [f'#include "{name}.h"\n', *(f"#include {file}" for file in includes), "", *helpers, "", text]
    ).replace("REAL", unit.real)


def _function(text: str) -> str:
    """Return the name of a function of C."""
    return text.partition("(")[0].split()[-1]


def _arguments(kernel: Kernel) -> Iterator[str]:
    for argument, core in zip(kernel.layout.names, kernel.layout.ins, strict=True):
        yield f"const double {argument}[{math.prod(core)}]"
    for i, core in enumerate(kernel.layout.outs):
        yield f"double result{i}[{math.prod(core)}]"


def _public(kernel: Kernel, name: str, inner: str) -> str:
    given = [*kernel.layout.names, *(f"result{i}" for i in range(len(kernel.layout.outs)))]
    return f"void {name}({', '.join(_arguments(kernel))})\n{{\n    {inner}({', '.join(given)});\n}}\n"


def _header(kernel: Kernel, name: str, unit: CUnit, inner: str) -> str:
    about = " ".join((kernel.__doc__ or "").split("\n\n")[0].split())
    shapes = [f"{n} {core}" for n, core in zip(kernel.layout.names, kernel.layout.ins, strict=True)]
    outs = [f"result{i} {core}" for i, core in enumerate(kernel.layout.outs)]
    guard = f"{name.upper()}_H"
    lines = [
        f"/* {kernel.__name__}: {about}".replace("*/", "* /"),
        f" * Arguments: {', '.join(shapes)}; results: {', '.join(outs)}. Matrices row by row.",
        f" * Operations: {operations(unit.counts[inner])}.",
        f" * Written by gnc {__version__}; the source has the hash {digest(unit)}. */",
    ]
    return "\n".join(
        [
            *lines,
            f"#ifndef {guard}",
            f"#define {guard}\n",
            f"void {name}({', '.join(_arguments(kernel))});\n",
            "#endif\n",
        ]
    )


def operations(counts: Mapping[str, int]) -> str:
    """Tell how often every operation is carried out, of repeated kernels once."""
    return ", ".join(f"{n} {op}" for op, n in sorted(counts.items(), key=lambda item: -item[1])) or "none"


def digest(unit: CUnit) -> str:
    """Return a hash of all functions."""
    return hashlib.sha256("\n".join(unit.functions).encode()).hexdigest()[:16]


def _random(kernel: Kernel) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(VECTORS, *core)) for core in kernel.layout.ins]


def _vectors(kernel: Kernel, given: Sequence[np.ndarray]) -> str:
    results = kernel(*given)
    columns = [*given, *(results if isinstance(results, tuple) else (results,))]
    rows = np.concatenate([np.reshape(x, (len(given[0]), -1)) for x in columns], axis=1)
    ins = kernel.layout.inputs
    return "\n".join(
        [
            "#include <math.h>\n",
            f"#define VECTORS {len(rows)}",
            f"static const double given[VECTORS][{ins}] = {{\n{table(rows[:, :ins])}\n}};",
            f"static const double expected[VECTORS][{kernel.layout.outputs}] = {{\n{table(rows[:, ins:])}\n}};\n",
        ]
    )


def table(rows: np.ndarray) -> str:
    """Return rows of numbers as the inside of a C array."""
    return ",\n".join(f"    {{{', '.join(literal(float(x)) for x in row)}}}" for row in rows)


def _test(kernel: Kernel, name: str) -> str:
    given = [*(f"&given[i][{at}]" for at in starts(kernel.layout.ins))]
    given += [f"&made[{at}]" for at in starts(kernel.layout.outs)]
    return template("kernel_test.c", OUTPUTS=str(kernel.layout.outputs), GIVEN=", ".join(given), NAME=name)
