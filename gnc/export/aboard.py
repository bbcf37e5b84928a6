"""Flight code aboard a loop: compiled C, or a processor over a wire, in place of navigation and control in Python.

The truth and the sensors stay those of the loop. At a tick at which something is new, or has arrived late, the software
is told measurements, telemetry and surroundings, and answers with command, belief and innovations (`Carrier`).

Processor in the loop: flight software behind a pipe or TCP, in any language, by frames that may get lost.

    frame      magic "GNC1", kind, sequence, trial, tick, arrived, bytes of payload (little-endian), payload, CRC-32
    ABOUT      -> sizes of start, inputs, outputs, a number (doubles), hash and version (64 bytes each)
    BEGIN      a trial from parameters, belief, command, memory (doubles) -> nothing
    STEP       inputs (doubles) -> command, belief, memory, innovations (doubles); `arrived` is an error if not 0

An answer has kind, sequence and trial of its question. A question without an answer in time is asked again with the
same sequence: who has answered it already repeats that answer and does nothing. After ATTEMPTS the last answer holds,
as actuators would hold the last command; answers that come later are left out. All of it is counted. Software that is
not exported may tell an empty hash, ignore BEGIN, and answer a step with the first numbers of the command alone.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import select
import shlex
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gnc import __version__
from gnc.errors import InputError
from gnc.export.component import Component
from gnc.export.kernel_files import FLAGS
from gnc.export.software import Field
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
        for one, tree in [*new, *([(s.reported, report)] if report is not None else [])]:
            self._write(given, one.fields, one.flat(tree, trials))
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
        for name, one in s.innovations.items():
            if name in arrived and one.packing is not None:
                found[name] = one.tree(innovations[:, at : at + one.size], one.packing._tree)
            at += one.size
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


MAGIC, HEAD = b"GNC1", struct.Struct("<4sIIIqII")
ABOUT, BEGIN, STEP = 1, 2, 3
ATTEMPTS, PATIENCE = 3, 20  # of a question; steps in a row without an answer until the software is given up


@dataclass
class Processor:
    """Software of some trials behind a wire, `pipe:COMMAND` or `tcp:HOST:PORT`."""

    place: str
    component: Component
    timeout_s: float = 1.0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("asked", "lost", "late", "held"), 0))
    _sequence: int = 0
    _in_a_row: int = 0
    _heard: bytes = b""
    _process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        """Connect, and see who is there."""
        kind, _, rest = self.place.partition(":")
        try:
            if kind == "pipe":
                self._process = subprocess.Popen(shlex.split(rest), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self._out, self._in = self._process.stdin.fileno(), self._process.stdout.fileno()  # type: ignore[union-attr]
            else:
                host, _, port = rest.rpartition(":")
                self._socket = socket.create_connection((host, int(port)), 10.0)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._out = self._in = self._socket.fileno()
        except (OSError, ValueError) as error:
            raise InputError(f"--flight-code {self.place}: {error}; give pipe:COMMAND or tcp:HOST:PORT") from None
        about = self._answer(ABOUT, 0, 0, 0, b"")
        if about is None or len(about[1]) < 160:
            raise InputError(f"--flight-code {self.place}: nobody answers there as docs/flight_code.md asks")
        sizes, texts = [round(x) for x in struct.unpack("<4d", about[1][:32])], about[1][32:160]
        self.own = not texts[:64].strip(b"\0")
        if not self.own:
            digest, version = (texts[i : i + 64].rstrip(b"\0").decode("ascii", "replace") for i in (0, 64))
            check_identity(self.component, digest, version, sizes)
        self.counts["asked"] = 0

    def begin(self, start: np.ndarray) -> None:
        """Begin all trials."""
        for trial, row in enumerate(start):
            if self._answer(BEGIN, trial, 0, 0, row.tobytes()) is None:
                raise InputError(f"--flight-code {self.place}: trial {trial} does not begin")
        sizes = [self.component.size(key) for key in ("parameters", "belief", "command", "memory", "innovations")]
        _, belief, command, rest = np.split(start, np.cumsum(sizes[:3]), axis=1)
        unknown = [np.full_like(belief, np.nan), rest, np.full((len(start), sizes[4]), np.nan)]
        self._last = np.concatenate([command, *unknown], axis=1)

    def step(self, tick: int, arrived: int, given: np.ndarray) -> np.ndarray:
        """Take a step of all trials."""
        for trial, row in enumerate(given):
            answer = self._answer(STEP, trial, tick, arrived, row.tobytes())
            self._in_a_row = 0 if answer is not None else self._in_a_row + 1
            if answer is None:
                self.counts["held"] += 1
                if self._in_a_row == PATIENCE:
                    raise InputError(f"--flight-code {self.place}: does not answer any more, at tick {tick}")
                continue
            error, payload = answer
            if error:
                raise InputError(f"flight code: at tick {tick}: {ERRORS[error] if error < len(ERRORS) else error}")
            numbers = np.frombuffer(payload[: 8 * (len(payload) // 8)])[: self._last.shape[1]]
            self._last[trial, : len(numbers)] = numbers
        return self._last.copy()

    def close(self) -> None:
        """Hang up."""
        if self._process is not None:
            self._process.stdin.close()  # type: ignore[union-attr]
            self._process.wait(10.0)
        else:
            self._socket.close()

    def _answer(self, kind: int, trial: int, tick: int, arrived: int, payload: bytes) -> tuple[int, bytes] | None:
        self._sequence = (self._sequence + 1) % 2**32
        head = HEAD.pack(MAGIC, kind, self._sequence, trial, tick, arrived, len(payload))
        frame = head + payload + struct.pack("<I", zlib.crc32(head + payload))
        self.counts["asked"] += 1
        for _ in range(ATTEMPTS):
            try:
                left = frame
                while left:
                    left = left[os.write(self._out, left) :]
            except OSError:
                return None
            until = time.monotonic() + self.timeout_s * (10.0 if kind == ABOUT else 1.0)
            while (found := self._frame(until)) is not None:
                (_, its_kind, sequence, its_trial, _, error, _), body = found
                if (its_kind, sequence, its_trial) == (kind, self._sequence, trial):
                    return error, body
                self.counts["late"] += 1
            self.counts["lost"] += 1
        return None

    def _frame(self, until: float) -> tuple[tuple[int, ...], bytes] | None:
        """Return the next whole frame; None if there is none in time. What is damaged is skipped."""
        while True:
            start = self._heard.find(MAGIC)
            self._heard = self._heard[start if start >= 0 else max(0, len(self._heard) - 3) :]
            if start >= 0 and len(self._heard) >= HEAD.size:
                head = HEAD.unpack(self._heard[: HEAD.size])
                end = HEAD.size + head[-1]
                if len(self._heard) >= end + 4:
                    whole, (check,) = self._heard[:end], struct.unpack("<I", self._heard[end : end + 4])
                    good = zlib.crc32(whole) == check
                    self._heard = self._heard[end + 4 if good else 4 :]
                    if good:
                        return head, whole[HEAD.size :]
                    continue
            wait = until - time.monotonic()
            if wait <= 0.0 or not select.select([self._in], [], [], wait)[0]:
                return None
            more = os.read(self._in, 1 << 16)
            if not more:
                return None
            self._heard += more
