"""What a campaign is: enough to fly it again, and to tell it from another."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from typing import Any

from gnc import __version__
from gnc.errors import InputError

FORMAT = 1  # of the directory; another number is another layout


@dataclass(frozen=True)
class Manifest:
    """The configuration of a campaign and the software that flies it."""

    configuration: dict[str, Any]  # as JSON has it
    configuration_hash: str
    seed: int
    trials: int
    chunk_size: int
    versions: dict[str, str]
    format: int = FORMAT

    @classmethod
    def of(cls, configuration: Mapping[str, Any], seed: int, trials: int, chunk_size: int) -> Manifest:
        """The manifest of a campaign flown by this software."""
        plain = json.loads(json.dumps(configuration))
        return cls(plain, _hash(plain), seed, trials, chunk_size, _versions())

    def text(self) -> str:
        """The manifest as JSON."""
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"

    @classmethod
    def parse(cls, text: str) -> Manifest:
        """The manifest of such a text; InputError if it is none."""
        try:
            found = json.loads(text)
            manifest = cls(**found)
        except (ValueError, TypeError):
            raise InputError("manifest.json is not that of a campaign") from None
        if manifest.configuration_hash != _hash(manifest.configuration):
            raise InputError("manifest.json is damaged: its configuration does not have the hash it states")
        return manifest

    def difference(self, other: Manifest) -> str:
        """The first key that differs, as `key is A there and B here`; empty if none does."""
        return _difference(self.configuration, other.configuration) or _difference(self._rest(), other._rest())

    def _rest(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if not f.name.startswith("configuration")}


def _difference(there: dict[str, Any], here: dict[str, Any]) -> str:
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


def _hash(configuration: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("numpy", "scipy")}
    return {"gnc": __version__, "python": platform.python_version(), **packages}
