"""Missions of many trials at once: dispersed fields hold one value per trial, where a part can take that.

Fields that shape the loop itself (rates, the orbit, the kind of a filter) cannot differ within a batch. Trials that
differ in such a field fly in groups, one for each of its values. Flight software is built from the nominal mission:
it is told of a dispersed field only where the field is its own.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter, ValidationError

from gnc.config import override
from gnc.config.problems import describe
from gnc.config.toml_text import value_text
from gnc.errors import InputError
from gnc.montecarlo.sampling import draw
from gnc.parts import Part
from gnc.scenarios.missions.mission import Mission
from gnc.typing import Array

MANY = 8  # loops from which on it is told how many there are


class Group(NamedTuple):
    """Trials that fly together."""

    mission: Mission  # dispersed fields of the truth hold arrays (trials, ...)
    nominal: Mission  # what flight software is built from
    trials: np.ndarray
    fields: Mapping[str, Array]  # what was drawn for them


def groups(mission: Mission, seed: int, trials: np.ndarray) -> list[Group]:
    """Draw the dispersions of trials and sort these into groups."""
    trials = np.asarray(trials)
    if not mission.dispersions:
        return [Group(mission, mission, trials, {})]
    nominal = mission.model_dump(exclude={"dispersions"})
    total = max([mission.run.trials, *(trials + 1)])
    fields = draw(mission.dispersions, nominal, seed, trials, total, mission.run.sampling)
    shaping = [key for key in fields if shapes(mission, key.split("."))]
    together: dict[tuple[bytes, ...], list[int]] = {}
    for i in range(len(trials)):
        together.setdefault(tuple(fields[key][i].tobytes() for key in shaping), []).append(i)
    return [_group(mission, shaping, fields, trials, rows) for rows in together.values()]


def shapes(mission: Any, path: list[str]) -> bool:
    """Tell whether a field is one that trials of one batch must share."""
    if path[0] not in ("craft", "faults"):
        return True
    here: Any = mission
    for part in path[:-1]:
        here = here[part] if isinstance(here, Mapping) else getattr(here, part)
    value = here[path[-1]] if isinstance(here, Mapping) else getattr(here, path[-1])
    numeric = not isinstance(value, bool | int | str) or (isinstance(value, int) and not isinstance(value, bool))
    own = isinstance(here, Mapping)
    return own or not numeric or (isinstance(here, Part) and path[-1] in here.shaping)


def _group(mission: Mission, shaping: list[str], fields: Mapping[str, Array], trials: Array, rows: list[int]) -> Group:
    """Validate what shapes the loop, put one value per trial elsewhere."""
    drawn = {key: values[rows] for key, values in fields.items()}
    settings = [f"{key}={value_text(drawn[key][0].tolist())}" for key in shaping]
    shaped = override(mission, settings) if settings else mission
    own = [key for key in shaping if key.startswith("software.")]
    nominal = override(mission, [s for s in settings if s.startswith(tuple(own))]) if own else mission
    changed: Any = shaped
    for key, values in drawn.items():
        if key not in shaping:
            _check(mission, key, values, trials[rows])
            changed = with_field(changed, key.split("."), values)
    return Group(changed, nominal, trials[rows], drawn)


def _check(mission: Any, key: str, values: Array, trials: Array) -> None:
    """Hold the value of every trial to what its field may be."""
    here, path = mission, key.split(".")
    for part in path[:-1]:
        here = here[part] if isinstance(here, Mapping) else getattr(here, part)
    field = type(here).model_fields[path[-1]]
    kind: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    held = TypeAdapter[Any](kind)
    for trial, value in zip(trials.tolist(), values.tolist(), strict=True):
        try:
            held.validate_python(value)
        except ValidationError as error:
            errors = [{**wrong, "loc": (path[-1],)} for wrong in error.errors()]
            line = describe(errors, type(here), {path[-1]: value}, key)  # type: ignore[arg-type]
            raise InputError(f"{line} (drawn for trial {trial})") from None


def with_field(section: Any, path: list[str], values: Array) -> Any:
    """Return a copy with an array in a field; components check the values of every trial, a section cannot."""
    first, *rest = path
    if isinstance(section, Mapping):
        return {**section, first: with_field(section[first], rest, values) if rest else values}
    return section.model_copy(update={first: with_field(getattr(section, first), rest, values) if rest else values})
