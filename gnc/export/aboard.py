"""Flight code aboard a loop: compiled C, or a processor over a wire, in place of navigation and control in Python.

The truth and the sensors stay those of the loop. At a tick at which something is new, or has arrived late, the software
is told measurements, telemetry and surroundings, and answers with command, belief and innovations (`Carrier`).
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gnc import __version__
from gnc.errors import InputError
from gnc.export.component import Component
from gnc.export.kernel_files import FLAGS
from gnc.export.structs import Field
from gnc.trees import Tree

ERRORS = ("done", "no prediction over this interval", "no variant for this time", "time goes back", "too much waits")


class Carrier(Protocol):
    """What runs the software of some trials."""

    def begin(self, start: np.ndarray) -> None:
        """Begin all trials (trials, numbers) from parameters, belief, command and memory."""

    def step(self, tick: int, arrived: int, given: np.ndarray) -> np.ndarray:
        """Take a step of all trials; return command, belief, memory and innovations (trials, numbers)."""


class Aboard:
    """Flight code as a loop calls it."""

    def __init__(self, component: Component, start: tuple[Tree, ...], parameters: np.ndarray, carrier: Carrier) -> None:
        """Fly trials that begin with belief, command and memory, and have their own parameters (trials, numbers)."""
        self.component, self._start, self._parameters, self._carrier = component, start, parameters, carrier
        self._columns, at = dict[str, slice](), 0
        for one in component.structs["inputs"][1]:
            self._columns[one.name] = slice(at, at + math.prod(one.core))
            at += math.prod(one.core)
        self._width = at

    def start(self) -> None:
        """Begin all trials."""
        s, trials = self.component.software, len(self._parameters)
        structs = zip((s.belief, s.command, s.memory), self._start, strict=True)
        parts = [self._parameters, *(one.flat(tree, trials) for one, tree in structs)]
        self._carrier.begin(np.ascontiguousarray(np.concatenate([*map(_padded, parts)], axis=1)))
        self._tick, self._made = -1, np.zeros(0)

    def told_of(self) -> str:
        """Return who flies, and how often answers were lost."""
        counts = getattr(self._carrier, "counts", {})
        return ", ".join([f"{self.component.name} {self.component.hash}", *(f"{n} {key}" for key, n in counts.items())])

    def step(
        self, t: float, names: tuple[str, ...], commanding: bool, report: Tree, measurements: tuple[Tree, ...],
        arrived: tuple[str, ...],
    ) -> tuple[Tree, Tree, tuple[Tree, ...]]:  # fmt: skip
        """Tell what is new; return belief, command, and innovations of the measurements that have arrived.

        A tick that cannot be recorded as it was tried is flown again: what was told once is answered again.
        """
        told = self.told(t, names, commanding, report, measurements)
        if told[0] != self._tick:
            self._tick, self._made = told[0], self._carrier.step(*told)
        return self._answer(self._made, arrived)

    def told(
        self, t: float, names: tuple[str, ...], commanding: bool, report: Tree, measurements: tuple[Tree, ...]
    ) -> tuple[int, int, np.ndarray]:
        """Return tick, what arrives, and the inputs (trials, numbers) of a step."""
        s, trials = self.component.software, len(self._parameters)
        given = np.zeros((trials, self._width))
        new = [(s.measured[name], tree) for name, tree in zip(names, measurements, strict=True)]
        for struct, tree in [*new, *([(s.reported, report)] if report is not None else [])]:
            self._write(given, struct.fields, struct.flat(tree, trials))
        tick = round(t / s.loop.h)
        for name, source in s.sources.values():
            self._write(given, s.row(name, source), row_of(source, tick))
        mask = sum(self.component.arrivals[name] for name in names) + bool(commanding)
        return tick, mask, given

    def _write(self, given: np.ndarray, fields: list[Field], numbers: np.ndarray) -> None:
        at = 0
        for one in fields:
            n = math.prod(one.core)
            if one.name in self._columns:
                given[:, self._columns[one.name]] = numbers[:, at : at + n]
            at += n

    def _answer(self, made: np.ndarray, arrived: tuple[str, ...]) -> tuple[Tree, Tree, tuple[Tree, ...]]:
        s, component = self.component.software, self.component
        sizes = [component.size(key) for key in ("command", "belief", "memory")]
        command, belief, _, innovations = np.split(made, np.cumsum(sizes), axis=1)
        found, at = {}, 0
        for name, struct in s.innovations.items():
            if name in arrived and struct.packing is not None:
                found[name] = struct.tree(innovations[:, at : at + struct.size], struct.packing._tree)
            at += struct.size
        told = s.belief.tree(belief, self._start[0]), s.command.tree(command, self._start[1])
        return *told, tuple(found.get(name) for name in arrived)


def row_of(source: Any, tick: int) -> np.ndarray:
    """Return the surroundings of a tick; after the end of the flight they are those of the end."""
    i = min(round(source.time.at(tick) / source.every_s), len(source.table[0]) - 1)
    return np.concatenate([np.ravel(part[i]) for part in source.table])[None]


def _padded(numbers: np.ndarray) -> np.ndarray:
    """Return numbers as C has them: no struct is empty."""
    return numbers if numbers.shape[1] else np.zeros((len(numbers), 1))


class Library:
    """Compiled flight code in this process."""

    def __init__(self, folder: Path, component: Component) -> None:
        self._library = ctypes.CDLL(str(built(folder, component.name)))
        sizes, texts = (ctypes.c_int32 * 5)(), [ctypes.create_string_buffer(64) for _ in range(2)]
        self._library.wire_about(sizes, *texts)
        check_identity(component, texts[0].value.decode(), texts[1].value.decode(), list(sizes[1:]))
        self._size, self._inputs, self._outputs = sizes[0], sizes[2], sizes[3]

    def begin(self, start: np.ndarray) -> None:
        """Begin all trials."""
        self._craft = np.zeros((len(start), self._size), np.uint8)
        for craft, row in zip(self._craft, start, strict=True):
            self._library.wire_begin(craft.ctypes.data_as(ctypes.c_void_p), row.ctypes.data_as(ctypes.c_void_p))

    def put(self, made: np.ndarray) -> None:
        """Put command, belief and memory (trials, numbers), as steps return them, in the place of the trials' own."""
        for craft, row in zip(self._craft, made, strict=True):
            self._library.wire_put(craft.ctypes.data_as(ctypes.c_void_p), row.ctypes.data_as(ctypes.c_void_p))

    def step(self, tick: int, arrived: int, given: np.ndarray) -> np.ndarray:
        """Take a step of all trials."""
        made = np.empty((len(given), self._outputs))
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (self._craft, given, made)]
        when = ctypes.c_int64(tick), ctypes.c_uint32(arrived)
        error = self._library.wire_step_all(len(given), *pointers[:2], *when, pointers[2])
        if error:
            raise InputError(f"flight code: at tick {tick}: {ERRORS[error]}")
        return made


class Beside:
    """Compiled flight code that flies, and another arithmetic of it beside, which begins every step where it is."""

    def __init__(self, flown: Library, other: Library, numbers: int) -> None:
        """Compare the first numbers of every step: command, belief and memory."""
        self.flown, self.other, self.numbers = flown, other, numbers
        self.misses: dict[int, np.ndarray] = {}  # tick -> what the other's step gave beyond that flown

    def begin(self, start: np.ndarray) -> None:
        """Begin all trials."""
        self.flown.begin(start)
        self.other.begin(start)
        self._made: np.ndarray | None = None

    def step(self, tick: int, arrived: int, given: np.ndarray) -> np.ndarray:
        """Take a step of all trials."""
        if self._made is not None:
            self.other.put(self._made)
        self._made = made = self.flown.step(tick, arrived, given)
        miss = self.other.step(tick, arrived, given)[:, : self.numbers] - made[:, : self.numbers]
        self.misses[tick] = np.nan_to_num(miss)
        return made


def check_identity(component: Component, digest: str, version: str, sizes: list[int]) -> None:
    """Refuse flight code of another version or configuration, or with another layout of its numbers."""
    if version != __version__:
        raise InputError(f"--flight-code: written by gnc {version}, and this is {__version__}; export it again")
    if digest != component.hash:
        what = f"its configuration has the hash {digest}, that of this mission {component.hash}"
        raise InputError(f"--flight-code: {what}; export it again")
    start = sum(component.size(key) for key in ("parameters", "belief", "command", "memory"))
    outputs = sum(component.size(key) for key in ("command", "belief", "memory", "innovations"))
    expected = [start, component.size("inputs"), outputs, 4 if component.single else 8]
    if sizes != expected:
        names = "start, inputs, outputs, bytes of a number"
        raise InputError(f"--flight-code: wrong ABI: {names} are {sizes}, expected {expected}; build it again")


def built(folder: Path, name: str) -> Path:
    """Compile the shared library, once for its sources, compiler and flags (CC, CFLAGS)."""
    compiler = os.environ.get("CC", "cc")
    if shutil.which(shlex.split(compiler)[0]) is None:
        raise InputError(f"--flight-code: there is no C compiler {compiler!r}; install gcc, or name one by CC")
    sources = [folder / f"{name}.c", folder / f"{name}_wire.c"]
    command = [
        *shlex.split(compiler),
        *FLAGS.split(),
        *shlex.split(os.environ.get("CFLAGS", "-O2")),
        "-shared",
        "-fPIC",
    ]
    try:
        texts = [path.read_bytes() for path in (*sources, folder / f"{name}.h", folder / f"{name}_wire.h")]
    except OSError as error:
        raise InputError(f"--flight-code {folder}: {error.strerror}: {error.filename}; export it again") from None
    key = hashlib.sha256(b"\0".join([*texts, " ".join(command).encode()])).hexdigest()[:16]
    target = Path(tempfile.gettempdir(), f"gnc-flight-code-{os.getuid()}", f"{name}-{key}.so")
    target.parent.mkdir(mode=0o700, exist_ok=True)
    if target.parent.stat().st_uid != os.getuid():
        raise InputError(f"{target.parent}: belongs to somebody else; remove it")
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=target.parent) as place:
            made = Path(place, "library.so")
            run = subprocess.run([*command, *map(str, sources), "-lm", "-o", str(made)], capture_output=True, text=True)
            if run.returncode:
                lines = run.stderr.strip().splitlines() or ["the compiler failed"]
                raise InputError(f"--flight-code: {lines[0]}")
            made.replace(target)
    return target
