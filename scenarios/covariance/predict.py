"""What linear covariance predicts of requirements: values, probabilities, which number of the file to improve first.

Probabilities are shares of sampled linear trials, judged by the requirements themselves. Derivatives are those of the
requirement's statistic of Gaussian signals, by the scale of one source after another: truth alone changes, flight
software keeps what it believes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.montecarlo.statistics import wilson
from gnc.scenarios.covariance.analysis import Covariance, Window
from gnc.scenarios.covariance.directions import TypicalFlight, prepared
from gnc.scenarios.missions.requirements.statistic import StatisticPart, statistic
from gnc.scenarios.missions.verdict import judge
from gnc.typing import Array

SCALE = 0.05  # by which a source is made larger and smaller
GROUPS = 20  # of trials, by which the error of a percentile is told
DRAWS = 400  # Gaussian numbers at every time
PROPORTIONAL = 3e-3  # by which the effect of a number that is 1 % larger may miss 1 %
PERCENTILE = re.compile(r"p\d")
FIELD = re.compile(r"sigma|error|size|bias|percent|misalign|noise|walk|scale|dipole|momentum|start|spread")


class Prediction(NamedTuple):
    """What is predicted of a requirement."""

    name: str
    value: float  # of all sampled trials together
    error: float  # one sigma of a percentile, by the trials without noise that there are; NaN: not known
    bound: str
    probability: float  # that a trial by itself meets it
    interval: tuple[float, float]  # 95 % of that, by sampling
    budget: dict[str, float]  # per cent of the variance, by source
    derivatives: dict[str, tuple[float, float]]  # number of the file -> (its value, derivative of the statistic)


def predictions(lincov: Covariance, derivatives: bool = True) -> tuple[list[Prediction], list[str]]:
    """Return what is predicted of every requirement, and which requirements cannot be predicted, and why."""
    samples = lincov.sampled()
    numbers = file_numbers(lincov) if derivatives else {}
    told, left = list[Prediction](), list[str]()
    for name, part in lincov.mission.requirements.items():
        if any(n.endswith("_gap") for n in part.names()):
            left.append(f"{name}: the books of the truth balance in flights, not in linear samples of them")
            continue
        alone = lincov.mission.model_copy(update={"requirements": {name: part}})
        try:
            verdict = judge(alone, samples, lincov.flights[0].modes)
        except (InputError, TypeError, KeyError) as error:
            left.append(f"{name}: {error}")
            continue
        good, n = int(verdict.success.sum()), samples.sizes["trial"]
        limits = {"<=": getattr(part, "at_most", None), ">=": getattr(part, "at_least", None)}
        bounds = [f"{sign} {limit:g}" for sign, limit in limits.items() if limit is not None]
        window = lincov.windows.get(name)
        asked = bool(bounds) and getattr(part, "per_trial", True) and name in verdict.per_trial
        value = verdict.metrics.get(name, float("nan"))
        budget, slopes, spread = {}, {}, float("nan")
        if window is not None and isinstance(part, StatisticPart):
            own = lincov.within(window, window.signals[0])
            budget = own.budget(window.signals[0], window.times)
            plain = part.signal in (window.signals[0], window.signals[0].split(".")[-1])
            if plain and PERCENTILE.match(part.statistic):
                mixed = lincov.mixture(window, window.signals[0])
                if len(mixed) >= GROUPS:
                    value, spread = _jackknifed(statistic(part.statistic), np.linalg.norm(mixed, axis=1))
            slopes = _derivatives(own, part, window, numbers, value)
        asked &= bool(np.isfinite(value))
        share, low, high = wilson(good, n) if asked else (np.nan, np.nan, np.nan)
        told.append(Prediction(name, value, spread, " and ".join(bounds), share, (low, high), budget, slopes))
    return told, left


def _jackknifed(of: Callable[[Array], float], values: Array) -> tuple[float, float]:
    """Return a statistic of values, trial by trial, and its standard error by leaving groups of trials out."""
    groups = np.array_split(values, GROUPS)
    left = np.array([of(np.concatenate(groups[:i] + groups[i + 1 :])) for i in range(GROUPS)])
    return of(values), float(np.sqrt((GROUPS - 1.0) * np.square(left - left.mean()).mean()))


def _derivatives(
    lincov: Covariance, part: StatisticPart, window: Window, numbers: Mapping[str, tuple[str, float]], value: float
) -> dict[str, tuple[float, float]]:
    """Return the derivative of a requirement's statistic with respect to each number of the file that is a source."""
    signal, of = window.signals[0], statistic(part.statistic)
    if part.statistic in ("max", "min", "fraction", "final") or not np.isfinite(value):
        return {}
    mean, shares = lincov.mean(signal)[window.times], {k: c[window.times] for k, c in lincov.shares(signal).items()}
    u = np.random.default_rng(25).standard_normal((len(mean), DRAWS, mean.shape[1]))
    total = np.sum(list(shares.values()), axis=0)

    def predicted(name: str, scale: float) -> float:
        changed = np.nan_to_num(total + (scale**2 - 1.0) * shares[name])
        tiny = 1e-12 * np.trace(changed, axis1=1, axis2=2)[:, None, None] + 1e-300
        y = mean[:, None] + u @ np.swapaxes(np.linalg.cholesky(changed + tiny * np.eye(mean.shape[1])), 1, 2)
        return of(np.sqrt(np.square(y).sum(axis=-1)).ravel())

    result = {}
    for path, (source, number) in numbers.items():
        if source in shares and total.any():
            log_slope = np.log(predicted(source, 1.0 + SCALE) / predicted(source, 1.0 - SCALE)) / (2.0 * SCALE)
            result[path] = number, value * float(log_slope) / number
    return result


def file_numbers(lincov: Covariance) -> dict[str, tuple[str, float]]:
    """Return the numbers of the file that scale a source: path -> source and value.

    A number scales a draw if all that depends on the draw grows with the number; it scales the noise of an instrument
    if what the instrument makes of noise does.
    """
    h = lincov.mission.run.truth_step_s
    run = lincov.mission.run.model_copy(update={"duration_s": 2.0 * h, "record_s": h})
    short = lincov.mission.model_copy(update={"run": run})
    try:
        flight = TypicalFlight(short, 0, lincov.seed)
        before = _responses(flight, flight.prepared)
    except InputError:  # periods longer than the short flight never bother; others may not fit
        return {}
    numbers = {}
    for path, value in _fields(lincov.mission):
        try:
            after = _responses(flight, prepared(short, flight.plan, {path: 1.01 * value}))
        except (InputError, TypeError, ValueError):
            continue
        for source, size in before.items():
            if size > 0.0 and abs(after.get(source, 0.0) / size - 1.01) < PROPORTIONAL:
                numbers[path] = source, value
    return numbers


def _fields(mission: Any) -> Iterator[tuple[str, float]]:
    """Give the numbers of craft in the file that may be sizes of errors."""

    def walk(section: Any, path: str) -> Iterator[tuple[str, float]]:
        items = (
            section.items()
            if isinstance(section, Mapping)
            else [(k, getattr(section, k)) for k in getattr(type(section), "model_fields", {})]
        )
        for key, value in items:
            if isinstance(value, Mapping) or hasattr(type(value), "model_fields"):
                yield from walk(value, f"{path}.{key}")
            elif isinstance(value, float) and value > 0.0 and FIELD.search(key):
                yield f"{path}.{key}", value

    for name, craft in mission.craft.items():
        yield from walk(craft, f"craft.{name}")


def _responses(flight: TypicalFlight, built: Any) -> dict[str, float]:
    """Return how large the effect of every source is on the start, on what parts hold, and on measurements."""
    from gnc.trees import has_trials, leaves

    rows, effects = len(flight.plan.moves), dict[str, float]()
    held = [x.reshape(rows, -1) for x in _arrays(built.loop.plant, rows) if has_trials(x, rows)]
    held += [np.asarray(x, float).reshape(rows, -1) for x in leaves((built.truth, built.belief)) if has_trials(x, rows)]
    for instrument in built.loop.instruments:
        size = instrument.noise.size if instrument.noise is not None else 0
        clean = _flat(instrument.measure(built.truth, 0.0, np.zeros((rows, size))), rows)
        held.append(clean)
        for i in range(size):
            noisy = _flat(instrument.measure(built.truth, 0.0, np.tile(1e-3 * np.eye(size)[i], (rows, 1))), rows)
            source, effect = f"{instrument.name} noise", float(np.linalg.norm(np.nan_to_num(noisy - clean)))
            effects[source] = effects.get(source, 0.0) + effect
    slopes = np.hstack([np.nan_to_num(flight.slopes(x)) for x in held])
    return effects | {name: float(np.linalg.norm(slopes[part])) for name, part in flight.plan.parts.items()}


def _flat(measurement: Any, rows: int) -> Array:
    return np.asarray(measurement[0], float).reshape(rows, -1)


def _arrays(thing: Any, rows: int, depth: int = 6) -> Iterator[Array]:
    """Give the arrays of floats that a part holds, inside parts of its own too."""
    if isinstance(thing, np.ndarray):
        if thing.dtype == float:
            yield thing
    elif depth and isinstance(thing, Mapping | tuple | list):
        for one in thing.values() if isinstance(thing, Mapping) else thing:
            yield from _arrays(one, rows, depth - 1)
    elif depth and type(thing).__module__.startswith("gnc") and hasattr(thing, "__dict__"):
        yield from _arrays(list(vars(thing).values()), rows, depth - 1)
