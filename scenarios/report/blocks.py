"""Arrays inside a text page: one gzipped run of bytes, and small references into it."""

import base64
import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnc import check
from gnc.errors import InputError

Array = NDArray[np.float64]

UNIFORM = 1e-9  # of a step: what round-off of k * h leaves, far below anything the eye or a scrubber resolves


class Blocks:
    """Collects arrays; every `add` returns the JSON object by which the viewer finds its numbers again."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._known: dict[bytes, dict[str, Any]] = {}

    def add(self, values: ArrayLike, dtype: str = "<f4") -> dict[str, Any]:
        """Store values as little-endian float32 (seven digits are more than a screen shows) or as `dtype`."""
        with np.errstate(over="ignore"):  # beyond float32 is infinite, which the viewer leaves out
            data = np.ascontiguousarray(values, dtype=dtype)
        if (known := self._known.get(dtype.encode() + data.tobytes())) is not None:  # trials share their bands
            return known
        reference = {"block": dtype[1:], "offset": self._size, "length": data.size}
        self._known[dtype.encode() + data.tobytes()] = reference
        padding = -data.nbytes % 8  # typed arrays of doubles start at multiples of eight
        self._parts.append(data.tobytes() + bytes(padding))
        self._size += data.nbytes + padding
        return reference

    def add_times(self, t: Array) -> dict[str, Any]:
        """Store times in double precision: as t0 + i dt where they are uniform, otherwise one by one."""
        if t.size > 1:
            dt = (t[-1] - t[0]) / (t.size - 1)
            error = np.abs(t - (t[0] + np.arange(t.size) * dt)).max()
            if error <= UNIFORM * dt + 4 * np.spacing(np.abs(t).max()):
                return {"t0": float(t[0]), "dt": float(dt), "n": t.size}
        return self.add(t, "<f8")

    def text(self) -> str:
        """Everything stored, as base64(gzip(bytes)); the same arrays give the same text."""
        return base64.b64encode(gzip.compress(b"".join(self._parts), mtime=0)).decode("ascii")


def encoded(value: Any, blocks: Blocks) -> Any:
    """Return a description as JSON: arrays go into the blocks, names of fields lose frame and unit, None is left out.

    A description that needs more has a method `encoded(blocks)` of its own.
    """
    if hasattr(value, "encoded"):
        return value.encoded(blocks)
    if hasattr(value, "_asdict"):
        return encoded(value._asdict(), blocks)
    if isinstance(value, np.ndarray):
        return blocks.add(value)
    if isinstance(value, Mapping):
        return {key: encoded(one, blocks) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [encoded(one, blocks) for one in value]
    return encoded_fields(value, blocks) if hasattr(value, "__dataclass_fields__") else value


def encoded_fields(value: Any, blocks: Blocks, **instead: Any) -> dict[str, Any]:
    """Return the JSON object of a dataclass; some fields may be given as JSON, `t` is an axis of times."""
    given = {field.name: getattr(value, field.name) for field in fields(value) if field.name not in instead}
    if "t" in given:
        instead["t"] = blocks.add_times(np.asarray(given.pop("t"), np.float64))
    named = {re.sub("_(B|m|deg)$", "", name): encoded(one, blocks) for name, one in given.items() if one is not None}
    return named | instead


def samples(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Real numbers of exactly this shape; NaN marks samples that are missing."""
    array = check.shape(name, values, ())
    if array.shape != shape:
        raise InputError(f"{name}: expected shape {shape}, got {array.shape}")
    return array


def times(name: str, t: ArrayLike, at_least: int) -> Array:
    """Finite times that increase."""
    array = check.finite(name, t)
    if array.ndim != 1 or array.size < at_least:
        raise InputError(f"{name}: expected one axis of at least {at_least} times, got shape {array.shape}")
    falls = np.flatnonzero(np.diff(array) <= 0)
    if falls.size:
        k = int(falls[0])
        raise InputError(f"{name}: {array[k + 1]:g} follows {array[k]:g} at {k + 1}; give times that increase")
    return array
