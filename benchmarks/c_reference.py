"""The same arithmetic as a kernel, in C: its tape written out and compiled with gcc -O3, trials innermost."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from gnc.batch import Kernel

_C = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "sqrt": "__builtin_sqrt({})",
    "absolute": "__builtin_fabs({})",
    "copysign": "__builtin_copysign({}, {})",
    "floor": "__builtin_floor({})",
    "rint": "__builtin_rint({})",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "equal": "{} == {}",
    "and": "{} & {}",
    "or": "{} | {}",
    "not": "1 - {}",
    "where": "{} ? {} : {}",
}
_CONSTANTS = {"True": "1", "False": "0", "nan": '__builtin_nan("")', "inf": "__builtin_inf()"}
TESTS = {"less", "less_equal", "equal", "and", "or", "not"}


def source(kernel: Kernel) -> str:
    """Write the kernel's tape as a C loop over trials, structure of arrays."""
    tape, results = kernel.tape
    lines = []
    for i, entry in enumerate(tape.entries):
        if entry.op == "input":
            value = f"in[{entry.operands[0]} * n + t]"
        elif entry.op == "constant":
            value = _CONSTANTS.get(entry.constant, entry.constant)
        else:
            value = _C[entry.op].format(*(f"v{k}" for k in entry.operands))
        lines.append(f"const {'long' if entry.op in TESTS else 'double'} v{i} = {value};")
    lines += [f"out[{k} * n + t] = v{i};" for k, i in enumerate(results)]
    body = "\n    ".join(lines)
    return (
        "void loop(const double *restrict in, double *restrict out, long n)\n"
        f"{{\n#pragma GCC ivdep\n  for (long t = 0; t < n; t++) {{\n    {body}\n  }}\n}}\n"
    )


def compiled(kernel: Kernel, vectorised: bool) -> Any | None:
    """Compile the kernel with gcc; None where there is no compiler."""
    if not shutil.which("gcc"):
        return None
    folder = Path(tempfile.mkdtemp(prefix="gnc-bench-"))
    (folder / "kernel.c").write_text(source(kernel))
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC"]
    flags += ["-mprefer-vector-width=512"] if vectorised else ["-fno-tree-vectorize"]
    subprocess.run(["gcc", *flags, "kernel.c", "-o", "kernel.so"], cwd=folder, check=True)
    loop = ctypes.CDLL(str(folder / "kernel.so")).loop
    loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    return loop


class CKernel:
    """A kernel in C on its own copy of the arguments, laid out as C likes it best."""

    def __init__(self, kernel: Kernel, args: list[np.ndarray], trials: int, vectorised: bool):
        """Compile, and lay out the arguments."""
        self.loop = compiled(kernel, vectorised)
        flat = [np.broadcast_to(a, (trials, *core)) for a, core in zip(args, kernel.layout.ins, strict=True)]
        self.ins = np.ascontiguousarray(np.concatenate([a.reshape(trials, -1) for a in flat], axis=1).T)
        self.outs = np.empty((kernel.layout.outputs, trials))
        self.trials = trials

    def __call__(self) -> np.ndarray:
        """Compute all trials."""
        self.loop(self.ins.ctypes.data, self.outs.ctypes.data, self.trials)  # type: ignore[misc]
        return self.outs
