"""A site that opens without a network: no page may load anything from another host."""

from __future__ import annotations

import re
from pathlib import Path

LOADED = re.compile(
    r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^\"'> ]*"
    r"|@import\s+(?:url\()?[\"']?(?:https?:)?//[^\"') ]*|url\([\"']?(?:https?:)?//[^\"') ]*",
    re.I,
)


def loads(text: str) -> list[str]:
    """Return what a page or style sheet loads from other hosts; links for the reader to follow are none of it."""
    return [match.group() for match in LOADED.finditer(text)]


def check(site: Path) -> None:
    """Raise if a file of the site loads from another host."""
    for path in sorted(site.rglob("*")):
        if path.suffix in {".html", ".css"} and (addresses := loads(path.read_text(encoding="utf-8"))):
            raise RuntimeError(f"{path}: loads from another host: {addresses[0]}")
