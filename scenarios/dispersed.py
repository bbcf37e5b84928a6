"""Configurations of many trials at once: dispersed fields hold one value per trial, where a scenario can take that.

Fields that shape the loop itself (rates, the orbit, the kind of a filter) cannot differ within a batch. Trials that
differ in such a field fly in groups, one for each of its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from gnc.config import override
from gnc.config.toml_text import value_text
from gnc.montecarlo.sampling import draw

Array = Any


class Group(NamedTuple):
    """Trials that fly together."""

    config: Any  # dispersed fields hold arrays (trials, ...)
    trials: np.ndarray
    fields: Mapping[str, Array]  # what was drawn for them


def groups(config: Any, dispersible: Sequence[str], seed: int, trials: np.ndarray) -> list[Group]:
    """Draw the dispersions of trials and sort these into groups."""
    trials = np.asarray(trials)
    if not config.dispersions:
        return [Group(config, trials, {})]
    nominal = config.model_dump(exclude={"dispersions"})
    fields = draw(config.dispersions, nominal, seed, trials, max([config.trials, *(trials + 1)]), config.sampling)
    shaping = [key for key in fields if not any(fnmatchcase(key, pattern) for pattern in dispersible)]
    together: dict[tuple[bytes, ...], list[int]] = {}
    for i in range(len(trials)):
        together.setdefault(tuple(fields[key][i].tobytes() for key in shaping), []).append(i)
    return [_group(config, shaping, fields, trials, rows) for rows in together.values()]


def _group(config: Any, shaping: list[str], fields: Mapping[str, Array], trials: Array, rows: list[int]) -> Group:
    """Validate what shapes the loop, put one value per trial elsewhere."""
    drawn = {key: values[rows] for key, values in fields.items()}
    settings = [f"{key}={value_text(drawn[key][0].tolist())}" for key in shaping]
    changed = override(config, settings) if settings else config
    for key, values in drawn.items():
        if key not in shaping:
            changed = _with(changed, key.split("."), values)
    return Group(changed, trials[rows], drawn)


def _with(section: Any, path: list[str], values: Array) -> Any:
    """Return a copy with an array in a field; components check the values of every trial, a section cannot."""
    first, *rest = path
    if isinstance(section, Mapping):
        return {**section, first: _with(section[first], rest, values) if rest else values}
    return section.model_copy(update={first: _with(getattr(section, first), rest, values) if rest else values})
