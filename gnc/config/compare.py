"""Whether two configurations are the same, and where they differ."""

from __future__ import annotations

import hashlib
from typing import Any

from gnc.config.base import Section
from gnc.config.toml_text import Key, key_text, value_text


def digest(model: Section) -> str:
    """A SHA-256 of everything that is configured, defaults included; the order of keys does not matter."""
    lines = sorted(f"{key} = {value}\n" for key, value in _flat(model, ()).items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def difference(a: Section, b: Section) -> list[str]:
    """The keys in which two configurations differ, each with both values: `sensors.star.rate_hz: 1.0 != 2.0`."""
    left, right = _flat(a, ()), _flat(b, ())
    keys = dict.fromkeys([*left, *right])
    return [f"{k}: {_shown(left.get(k))} != {_shown(right.get(k))}" for k in keys if left.get(k) != right.get(k)]


def flat(model: Section) -> dict[str, str]:
    """Everything that is configured, as TOML text by dotted key."""
    return _flat(model, ())


def _flat(value: Any, key: Key) -> dict[str, str]:
    """Every value as TOML text under its dotted key; an empty table counts as a value."""
    if isinstance(value, Section):
        content = {name: item for name, item in value.identity().items() if item is not None}
    elif isinstance(value, tuple) and any(isinstance(entry, Section | dict) for entry in value):
        content = dict(enumerate(value))  # type: ignore[arg-type]
    else:
        content = value
    if not isinstance(content, dict) or not content:
        return {key_text(key): value_text(content)}
    return {k: text for name, item in content.items() for k, text in _flat(item, (*key, name)).items()}


def _shown(text: str | None) -> str:
    return "absent" if text is None else text if len(text) <= 60 else f"{text[:57]}..."
