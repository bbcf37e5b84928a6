"""Drawing the dispersions of trials from (seed, trial): plain, Latin hypercube or Sobol.

- plain: each dispersion has a stream of its own in each trial (`gnc.noise`); adding a dispersion changes no other, and
  a trial draws the same in a campaign of any length.
- sobol: trial k is point k of one scrambled Sobol sequence, the scrambling drawn from the seed; a trial draws the same
  in a campaign of any length, and powers of two are balanced best.
- latin-hypercube: each number has exactly one trial in each of `total` equal strata, so a trial's draw depends by
  nature on how many trials the campaign has; chunks and workers change nothing.

Numeric fields of a nested configuration go by dotted key: `vehicle.mass_kg`, `sensors[1].sigma_deg`, `vehicle.J[0,1]`.
Indices at the end pick one element of an array; the rest of the key is the field.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnc import noise
from gnc.errors import InputError
from gnc.montecarlo.dispersions import Dispersion, Dispersions
from gnc.typing import Array

Sampling = Literal["plain", "latin-hypercube", "sobol"]
INPUT = "input."  # begins the name of a dispersed number among a flight's results


class _Planned(NamedTuple):
    name: str
    dispersion: Dispersion
    nominal: list[Array]
    dimension: int


def draw(
    dispersions: Dispersions,
    configuration: Mapping[str, Any],
    seed: int,
    trials: Sequence[int] | NDArray[np.integer],
    total: int,
    sampling: Sampling = "plain",
) -> dict[str, Array]:
    """Dispersed fields of the trials, `{field: (number of trials, *shape of the field)}`, as absolute values.

    `configuration` holds the nominal values; `total` is the number of trials of the campaign. Elements (`J[0,1]`) are
    put into the nominal array of their field. With no trials it only checks that the dispersions fit the configuration.
    """
    # In the order of the names, so that the order of the tables in the file does not matter.
    plan = [_planned(name, dispersions[name], configuration) for name in sorted(dispersions)]
    _refuse_overlap(plan)
    numbers = np.asarray(trials, dtype=np.int64)
    fields: dict[str, Array] = {}
    for planned, u in zip(plan, _uniform(plan, seed, numbers, total, sampling), strict=True):
        with _naming(planned.name):
            drawn = planned.dispersion.values(u, planned.nominal)
        for key, values in zip(planned.dispersion.keys, drawn, strict=True):
            _put(fields, place(key), values, configuration)
    return fields


def columns(fields: Mapping[str, Array], beginning: str = INPUT) -> dict[str, Array]:
    """Dispersed fields as columns of one number per trial, named `input.KEY`, for a flight to return beside its own."""
    flat = {}
    for field, values in fields.items():
        for index in np.ndindex(values.shape[1:]):
            element = f"[{','.join(map(str, index))}]" if index else ""
            flat[f"{beginning}{field}{element}"] = values[(slice(None), *index)]
    return flat


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Put the name of the dispersion before the message of an input error."""
    try:
        yield
    except InputError as error:
        raise InputError(f"dispersions.{name}: {error}") from None


def _planned(name: str, dispersion: Dispersion, configuration: Mapping[str, Any]) -> _Planned:
    with _naming(name):
        nominal = [look_up(configuration, key) for key in dispersion.keys]
        return _Planned(name, dispersion, nominal, dispersion.dimension(nominal))


def _refuse_overlap(plan: list[_Planned]) -> None:
    taken: list[tuple[FieldElement, str]] = []
    for planned in plan:
        for this in map(place, planned.dispersion.keys):
            for other, owner in taken:
                shorter = min(len(this.element), len(other.element))
                if this.field == other.field and this.element[:shorter] == other.element[:shorter]:
                    raise InputError(f"dispersions.{planned.name}: {this.field} is dispersed by {owner} too; keep one")
            taken.append((this, planned.name))


def _put(fields: dict[str, Array], at: FieldElement, values: Array, configuration: Mapping[str, Any]) -> None:
    if not at.element:
        fields[at.field] = values
        return
    nominal = look_up(configuration, at.field)
    field = fields.setdefault(at.field, np.repeat(nominal[None], len(values), axis=0))
    everywhere: tuple[slice | int, ...] = (slice(None), *at.element)
    field[everywhere] = values


def _uniform(plan: list[_Planned], seed: int, trials: NDArray[np.int64], total: int, sampling: str) -> list[Array]:
    """Uniform numbers of each dispersion, (trials, dimension)."""
    if sampling == "plain":
        return [noise.uniform(seed, trials, f"dispersion {p.name}", p.dimension) for p in plan]
    ends = np.cumsum([p.dimension for p in plan])
    if sampling == "sobol":
        cube = _sobol(int(ends[-1]) if plan else 0, seed, trials)
    elif sampling == "latin-hypercube":
        if trials.size and trials.max() >= total:
            raise InputError(f"trials: {trials.max()} is not below the {total} trials of this Latin hypercube")
        cube = _latin_hypercube(int(ends[-1]) if plan else 0, seed, total)[trials]
    else:
        raise InputError(f"sampling: {sampling!r} is not one of 'plain', 'latin-hypercube', 'sobol'")
    return [cube[:, end - p.dimension : end] for p, end in zip(plan, ends, strict=True)]


def _sobol(dimension: int, seed: int, trials: NDArray[np.int64]) -> Array:
    """Points of the scrambled sequence, run of consecutive trials by run."""
    cube = np.empty((len(trials), dimension))
    if not dimension:
        return cube
    from scipy.stats import qmc  # here, since workers that draw plainly start sooner without

    breaks = np.flatnonzero(np.diff(trials) != 1) + 1
    for rows in np.split(np.arange(len(trials)), breaks):
        if not rows.size:
            continue
        engine = qmc.Sobol(dimension, scramble=True, bits=32, rng=noise.stream(seed, 0, "sobol scrambling"))
        if trials[rows[0]]:  # SciPy fails on a step of zero
            engine.fast_forward(int(trials[rows[0]]))
        with warnings.catch_warnings():  # a chunk need not be a power of two; the campaign should be
            warnings.simplefilter("ignore", UserWarning)
            cube[rows] = engine.random(len(rows))
    return cube


@functools.lru_cache(maxsize=1)
def _latin_hypercube(dimension: int, seed: int, total: int) -> Array:
    """The whole design, kept for the next chunk: total times dimension numbers in memory."""
    if not dimension:
        return np.empty((total, 0))
    from scipy.stats import qmc

    return qmc.LatinHypercube(dimension, rng=noise.stream(seed, 0, "latin hypercube")).random(total)


SEGMENT = re.compile(r"([^.\[\]]+)(?:\[(\d+(?:,\d+)*)\])?")


class FieldElement(NamedTuple):
    """A field, and the element of it that is meant; an empty one is the whole field."""

    field: str
    element: tuple[int, ...]


def place(key: str) -> FieldElement:
    """Split a key into its field and the index at its end."""
    *_, (_, index) = _segments(key)
    return FieldElement(key[: key.rindex("[")] if index else key, index)


def look_up(configuration: Mapping[str, Any], key: str) -> Array:
    """The number or array of numbers that a key names."""
    value: Any = configuration
    for name, index in _segments(key):
        value = _member(value, name, key)
        for i in index:
            value = _element(value, i, key)
    return _numbers(value, key)


def _segments(key: str) -> list[tuple[str, tuple[int, ...]]]:
    """Names with the indices after them."""
    matches = [SEGMENT.fullmatch(segment) for segment in key.split(".")]
    if not all(matches):
        raise InputError(f"key: {key!r} is not a dotted key such as vehicle.mass_kg or vehicle.J[0,1]")
    return [(match[1], tuple(map(int, match[2].split(","))) if match[2] else ()) for match in matches if match]


def _member(table: Any, name: str, key: str) -> Any:
    if not isinstance(table, Mapping):
        raise InputError(f"{key}: nothing named {name!r} inside a value")
    if name not in table:
        raise InputError(f"{key}: no {name!r} here; there is {', '.join(map(repr, table)) or 'nothing'}")
    return table[name]


def _element(values: Any, i: int, key: str) -> Any:
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        raise InputError(f"{key}: index {i} into something that is not a list")
    if i >= len(values):
        raise InputError(f"{key}: index {i} is too large; there are {len(values)} elements, counted from 0")
    return values[i]


def _numbers(value: Any, key: str) -> Array:
    try:
        values = np.asarray(value)
    except ValueError:
        raise InputError(f"{key}: rows of unequal length; only numbers and arrays of them can be dispersed") from None
    if values.dtype.kind not in "iuf":
        raise InputError(
            f"{key}: {str(value)[:40]!r} is not a number; only numbers and arrays of them can be dispersed"
        )
    return values.astype(np.float64)
