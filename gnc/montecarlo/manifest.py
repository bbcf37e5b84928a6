"""What a campaign is: enough to fly it again, and to tell it from another."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from gnc.errors import InputError
from gnc.montecarlo.identity import Software

FORMAT = 2  # of the directory; another number is another layout


@dataclass(frozen=True)
class Manifest:
    """The configuration of a campaign and the software that flies it."""

    configuration: dict[str, Any]  # as JSON has it
    seed: int
    trials: int
    chunk_size: int
    software: Software
    format: int = FORMAT

    @classmethod
    def of(
        cls, configuration: Mapping[str, Any], seed: int, trials: int, chunk_size: int, software: Software
    ) -> Manifest:
        """The manifest of a campaign flown by this software."""
        return cls(json.loads(json.dumps(configuration)), seed, trials, chunk_size, software)

    @functools.cached_property
    def sha256(self) -> str:
        """The hash of all of it, which each chunk carries too."""
        return digest(asdict(self))

    def text(self) -> str:
        """The manifest as JSON, with its hash."""
        return json.dumps(asdict(self) | {"sha256": self.sha256}, indent=2, sort_keys=True) + "\n"

    @classmethod
    def parse(cls, text: str) -> Manifest:
        """The manifest of such a text; InputError if it is none."""
        try:
            content = json.loads(text)
            stated, layout = content.pop("sha256"), content["format"]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InputError("manifest.json is not that of a campaign") from None
        if stated != digest(content):
            raise InputError("manifest.json is damaged: it does not have the hash it states")
        if layout != FORMAT:
            raise InputError(f"manifest.json has layout {layout}; this version of gnc has {FORMAT}")
        return cls(**content)

    def difference(self, other: Manifest) -> str:
        """The first key that differs, as `key is A there and B here`; empty if none does."""
        return difference(self.configuration, other.configuration) or difference(self._rest(), other._rest())

    def _rest(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "configuration"}


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The first key that differs, as `key is A there and B here`; empty if none does."""
    a, b = dict(_flat("", there)), dict(_flat("", here))
    for key in sorted(a.keys() | b.keys()):
        if a.get(key) != b.get(key):
            return f"{key} is {a.get(key, 'absent')} there and {b.get(key, 'absent')} here"
    return ""


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else key, inner)
    else:
        yield prefix, json.dumps(value)


def digest(value: Any) -> str:
    """The hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
