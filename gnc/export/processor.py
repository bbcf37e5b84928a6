"""Processor in the loop: flight software behind a pipe or TCP, in any language, by frames that may get lost.

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

import os
import select
import shlex
import socket
import struct
import subprocess
import time
import zlib
from dataclasses import dataclass, field

import numpy as np

from gnc.errors import InputError
from gnc.export.aboard import ERRORS, check_identity
from gnc.export.component import Component

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
