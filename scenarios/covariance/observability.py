"""What a filter can see along a flight: sigmas of all its states against their prior, and its weakest directions.

The inverse of a filter's covariance is the information that it has; along a typical flight it is that of this mission's
geometry, rates and noises. A direction that keeps its prior sigma has not been seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.estimators.gyro_mekf import GyroMekf
from gnc.scenarios.covariance.analysis import Covariance
from gnc.scenarios.covariance.directions import TypicalFlight
from gnc.scenarios.covariance.propagate import LinearResult
from gnc.scenarios.plots import COLOURS
from gnc.trees import leaves, paths
from gnc.typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEN = 0.5  # of its prior sigma, below which a state counts as observed
ALONG = 0.95  # cosine, from which on a direction is that of the Sun or the field
WEAK = 1.5  # ratio of the largest sigma of the attitude to the next, from which on there is a weak direction
POSE, ATTITUDE, BY_GYRO = ("turn", "place", "rate", "velocity"), ("attitude", "momentum"), ("attitude", "gyro bias")


class Seeing(NamedTuple):
    """What is known of one state of a filter."""

    filter: str
    state: str
    prior: float  # sigma
    end: float  # sigma
    since_s: float  # when sigma fell below half of the prior; NaN: never


class Sight(NamedTuple):
    """What a filter sees along a flight."""

    states: list[Seeing]
    words: list[str]
    sigmas: dict[str, tuple[list[str], Array]]  # filter -> labels, sigma over prior (times, n)


def observe(lincov: Covariance) -> Sight:
    """Tell what the filters of the first typical flight see."""
    result = lincov.flights[0]
    flight = TypicalFlight(lincov.mission, result.trial, lincov.seed)
    belief = flight.prepared.belief
    priors = {n: np.asarray(x)[0] for n, x in zip(paths(belief), leaves(belief), strict=True) if np.ndim(x) == 3}
    sight = Sight([], [], {})
    software = flight.prepared.observer.software
    navigations, crafts = [one.navigation for one in software.values()], list(software)
    for name, C in result.beliefs.items():
        place = int(name.split("_")[0])
        labels = _labels(navigations[place], C.shape[1])
        what = " ".join([crafts[place], *name.removesuffix("_C").split("_")[1:]])
        _states(sight, what, labels, priors[name], C, result.time)
        sight.words.extend(_directions(result, crafts[place], C))
    return sight


def _labels(navigation: Any, size: int) -> list[str]:
    """Return names of the states of a filter."""
    extras: Any = ()
    kinds: tuple[str, ...] = ATTITUDE
    while navigation is not None and not extras:
        extras = getattr(navigation, "extras", ())
        kinds = BY_GYRO if isinstance(navigation, GyroMekf) else kinds
        navigation = getattr(navigation, "inner", None) or getattr(navigation, "filter", None)
    own = [f"{one.name} {'xyz'[i] if one.size == 3 else i}" for one in extras for i in range(one.size)]
    kinds = POSE if size - len(own) >= 12 else kinds
    usual = [f"{kind} {axis}" for kind in kinds for axis in "xyz"]
    rest = size - len(own) - len(usual)
    if rest < 0:
        return [f"state {i}" for i in range(size)]
    return [*usual, *(f"state {len(usual) + i}" for i in range(rest)), *own]


def _states(sight: Sight, name: str, labels: list[str], prior: Array, C: Array, time: Array) -> None:
    """Note the sigmas of all states, and the weakest direction at the end, in units of their priors."""
    first = np.sqrt(np.maximum(np.diagonal(prior), 1e-300))
    sigma = np.sqrt(np.diagonal(C, axis1=1, axis2=2))
    sight.sigmas[name] = labels, sigma / first
    for i, label in enumerate(labels):
        below = sigma[:, i] < SEEN * first[i]
        since = float(time[np.argmax(below)]) if below.any() else float("nan")
        sight.states.append(Seeing(name, label, float(first[i]), float(sigma[-1, i]), since))
    values, vectors = np.linalg.eigh(C[-1] / np.outer(first, first))
    weakest = vectors[:, -1]
    order = np.argsort(-np.abs(weakest))[:3]
    told = " ".join(f"{weakest[i]:+.2f} {labels[i]}" for i in order if abs(weakest[i]) > 0.2)
    sight.words.append(
        f"{name}: its weakest direction keeps {100.0 * np.sqrt(values[-1]):.3g} % of the prior sigma: {told}"
    )


def _directions(result: LinearResult, craft: str, C: Array) -> list[str]:
    """Say when the attitude is worst known about the Sun's or the field's direction."""
    if f"{craft}.q_IB" not in result.around or C.shape[1] < 3:
        return []
    values, vectors = np.linalg.eigh(C[:, :3, :3])
    weak, words = np.sqrt(values[:, 2] / np.maximum(values[:, 1], 1e-300)) > WEAK, []
    for name, what in (("sun_I", "Sun line"), ("B_I_T", "field line")):
        if name not in result.around:
            continue
        line = quaternion.rotate(quaternion.conj(result.around[f"{craft}.q_IB"]), result.around[name])
        line = line / np.maximum(np.linalg.norm(line, axis=-1, keepdims=True), 1e-300)
        about = weak & (np.abs(np.sum(line * vectors[:, :, 2], axis=1)) > ALONG)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], about.astype(int), [0]])))
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            ratio = float(np.sqrt(values[a:b, 2] / values[a:b, 1]).max())
            since, until = result.time[a], result.time[b - 1]
            span = f"during {since:g} .. {until:g} s, up to {ratio:.2g} times"
            words.append(f"{craft}: rotation about the {what} is worst known {span}")
    return words


def draw(figure: Figure, sight: Sight, time: Array) -> None:
    """Draw sigma over prior of every state."""
    panels = np.atleast_1d(figure.subplots(len(sight.sigmas), 1, sharex=True))
    for panel, (name, (labels, ratio)) in zip(panels, sight.sigmas.items(), strict=True):
        for i, label in enumerate(labels):
            style = ("-", "--", ":", "-.")[i // len(COLOURS) % 4]
            panel.semilogy(time, ratio[:, i], style, color=COLOURS[i % len(COLOURS)], lw=0.9, label=label)
        panel.axhline(SEEN, color="k", lw=0.7, ls=":")
        panel.set(title=f"{name}: sigma of each state over its prior", xlabel="time [s]")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=6, ncols=3)
