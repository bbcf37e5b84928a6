"""What a replay has left in its folder, opened again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from gnc.config.base import parse
from gnc.files import read_json, read_text
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.records import opened

Array = Any

LARGEST_FILE = 2**28  # bytes
METRICS, CONFIG, ESTIMATES = "metrics.json", "config.toml", "estimates.nc"


class Kept(NamedTuple):
    """A replay as it is on disk; records are mapped, not read."""

    text: str  # the configuration
    config: Replay
    outcome: dict[str, Any]
    estimates: Array
    errors: tuple[str, ...]  # names of the rows of C
    innovations: dict[str, Array]  # by sensor


def load(folder: Path) -> Kept:
    """Open the results of a replay."""
    text = read_text(folder / CONFIG, LARGEST_FILE, "results of gnc replay")
    outcome = read_json(folder / METRICS, LARGEST_FILE, "results of gnc replay")
    estimates, attributes = opened(folder / ESTIMATES)
    found = {name: opened(folder / f"innovations_{name}.nc")[0] for name in outcome["sensors"]}
    return Kept(text, parse(text, Replay, CONFIG), outcome, estimates, tuple(attributes["errors"].split()), found)
