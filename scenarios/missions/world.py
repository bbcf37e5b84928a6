"""All craft of a mission as the loop's plant, and all flight software as its navigation and control.

The truth is a tuple with the state of each craft; belief, command, report and memory are tuples with those of each
craft that has flight software. Sensors go by the name of their craft and their own: `sat.gyro`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.controllers.guidance.base import View
from gnc.estimators.navigation.chaser import ChaserNavigation
from gnc.history import Signal
from gnc.loop import Moment
from gnc.models.craft.base import Craft
from gnc.models.happenings.base import Happening
from gnc.scenarios.missions.software import CraftSoftware
from gnc.typing import Array


@dataclass(frozen=True, eq=False)
class World:
    """The plant: every craft moves by itself; what couples them are events, once or from then on."""

    craft: Mapping[str, Craft]
    commanded: Sequence[str]  # those that have flight software
    idle: Mapping[str, tuple[Array, ...]]  # commands of those that have none
    happenings: Sequence[Happening] = ()

    def step(self, x: tuple[Any, ...], command: tuple[Any, ...], t: Any, h: Any) -> tuple[Any, ...]:
        """Move all over h."""
        commands = dict(zip(self.commanded, command, strict=True))
        moved = []
        for (name, craft), state in zip(self.craft.items(), x, strict=True):
            effectors = commands[name].effectors if name in commands else self.idle[name]
            moved.append(craft.step(state, effectors, t, h))
        after = tuple(moved)
        for happening in self.happenings:
            after = happening.hold(after)
        return after

    def report(self, x: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what each craft with flight software tells it."""
        states = dict(zip(self.craft, x, strict=True))
        return tuple(self.craft[name].report(states[name]) for name in self.commanded)


@dataclass(frozen=True, eq=False)
class Navigations:
    """The navigation of all craft that have one."""

    software: Mapping[str, CraftSoftware]

    def predict(self, belief: Any, command: Any, report: Any, t: Any, h: Any) -> tuple[Any, ...]:
        """Move every belief over h."""
        each = zip(self.software.values(), belief, command, report, strict=True)
        return tuple(s.navigation.predict(b, u, r, t, h) for s, b, u, r in each)

    def update(self, belief: tuple[Any, ...], name: str, measurement: Any, t: Any) -> tuple[tuple[Any, ...], Any]:
        """Correct the belief of the craft whose sensor it is."""
        owner, _, sensor = name.partition(".")
        i = list(self.software).index(owner)
        corrected, innovation = self.software[owner].navigation.update(belief[i], sensor, measurement, t)
        return (*belief[:i], corrected, *belief[i + 1 :]), innovation


@dataclass(frozen=True, eq=False)
class Controls:
    """The control of all craft that have flight software."""

    software: Mapping[str, CraftSoftware]

    def command(self, belief: Any, report: Any, t: Any, memory: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the commands of each, and what each remembers."""
        each = zip(self.software.values(), belief, report, memory, strict=True)
        answers = [s.command(b, r, t, m) for s, b, r, m in each]
        return tuple(u for u, _ in answers), tuple(m for _, m in answers)


@dataclass(frozen=True, eq=False)
class Observer:
    """Turns a moment into signals of all craft, and of what surrounds them."""

    world: World
    software: Mapping[str, CraftSoftware]
    sky: Any
    seen: Mapping[str, str]  # craft with flight software -> the craft that its navigation is of

    @property
    def signals(self) -> dict[str, Signal]:
        """All signals, under the names of their craft."""
        signals: dict[str, Signal] = {}
        for name, craft in self.world.craft.items():
            signals |= {f"{name}.{key}": _prefixed(name, signal) for key, signal in craft.signals.items()}
        for name, software in self.software.items():
            of_both = {**software.signals, **software.navigation.signals}
            signals |= {f"{name}.{key}": _prefixed(name, signal) for key, signal in of_both.items()}
        for happening in self.world.happenings:
            signals |= {f"{happening.name}.{key}": signal for key, signal in happening.signals.items()}
        return signals | SURROUNDINGS

    def __call__(self, moment: Moment) -> dict[str, Array]:
        """Return the values of all signals of the trials."""
        truth = dict(zip(self.world.craft, moment.truth, strict=True))
        commands = dict(zip(self.software, moment.command, strict=True))
        values: dict[str, Array] = {}
        for name, craft in self.world.craft.items():
            effectors = commands[name].effectors if name in commands else self.world.idle[name]
            values |= {f"{name}.{key}": v for key, v in craft.observe(truth[name], effectors, moment.t).items()}
        states = zip(moment.belief, moment.report, strict=True)
        for (name, software), (belief, report) in zip(self.software.items(), states, strict=True):
            inner = software.navigation.inner
            state = truth if isinstance(inner, ChaserNavigation) else truth[self.seen[name]]
            own_values = software.navigation.observe(belief, state, moment.t)
            own_values |= software.observe(commands[name], truth[name], report, moment.t)
            own = {key.removeprefix(f"{name}."): value for key, value in values.items() if key.startswith(f"{name}.")}
            estimate = software.navigation.estimate(belief, report)
            view = View(name, truth, estimate, commands[name].wanted, own, moment.t)
            own_values |= software.watch(commands[name], view)
            values |= {f"{name}.{key}": v for key, v in own_values.items()}
        for happening in self.world.happenings:
            values |= {f"{happening.name}.{key}": v for key, v in happening.observe(moment.truth).items()}
        return values

    def surroundings(self, t: float) -> dict[str, Array]:
        """Return the values of the signals that all trials share."""
        env = self.sky.at(t)
        return {"sun_I": env.sun_I, "B_I_T": env.B_I, "r_I_m": env.r_I, "shadow": env.shadow}


SURROUNDINGS = {
    "sun_I": Signal("1", "direction of the Sun, inertial axes", shared=True),
    "B_I_T": Signal("T", "magnetic field, inertial axes", shared=True),
    "r_I_m": Signal("m", "position, inertial axes", shared=True),
    "shadow": Signal("1", "hidden fraction of the Sun", shared=True),
}


def _prefixed(name: str, signal: Signal) -> Signal:
    """Return a signal whose companion goes by the name of the craft too."""
    parts = signal.parts
    if parts is not None and not parts[0].startswith(f"{name}."):
        parts = (f"{name}.{parts[0]}", parts[1])
    return signal._replace(sigma=f"{name}.{signal.sigma}" if signal.sigma else "", parts=parts)


def innovation_signals(names: Sequence[str]) -> dict[str, Signal]:
    """Return the signals of the innovations of some sensors."""
    signals = {}
    for name in names:
        signals[f"{name}.innovation"] = Signal("1", f"{name}: innovation over its standard deviation")
        signals[f"{name}.nis"] = Signal(
            "1", f"{name}: normalised innovation squared, over its dimension; NaN: not used"
        )
    return signals


def observe_innovation(name: str, innovation: Any) -> Mapping[str, Any]:
    """Return the values of the innovation signals of one sensor."""
    if innovation is None:
        return {}
    m = innovation.y.shape[-1]
    nan = np.where(innovation.used, 0.0, np.nan)
    sigma = np.sqrt(np.stack([innovation.S[..., i, i] for i in range(m)], axis=-1))
    return {f"{name}.innovation": innovation.y / sigma + nan[..., None], f"{name}.nis": innovation.nis / m + nan}
