"""Thrusters as a mission has them: layout, valves, and what real ones add to ideal ones.

Thrust rises and falls behind the valves, axes and strengths are off, propellant comes to an end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gnc import quaternion
from gnc.batch import maximum, sized, where
from gnc.config import Edges, NonNegative, Positive, Vector3
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.history import Signal
from gnc.linalg import array
from gnc.models.actuators.effector import ActuatorPart
from gnc.models.actuators.thrusters import Modulation, PulsedThrusters, Thrusters, ThrusterSet

Array = Any
GRAVITY = 9.80665  # of the specific impulse [m/s^2]
LEFT = Signal("kg", "propellant left")


class LaggedThrusters(ThrusterSet):
    """Thrusters whose thrust follows their valves as g' = (on - g)/tau, tau that of rise or of fall.

    Over a step the valve is open for a fraction, which counts as held; the mean of g over it is exact, so that impulse
    does not depend on the truth step. State: that of the valves, then g of each thruster.
    """

    def __init__(self, valves: ThrusterSet, rise_s: Array, fall_s: Array) -> None:
        super().__init__(valves.thrusters)
        self._valves, self._times = valves, (rise_s, fall_s)

    def paced(self, control_s: float) -> LaggedThrusters:
        """Return the thrusters for commands that come every so many seconds."""
        return LaggedThrusters(self._valves.paced(control_s), *self._times)  # type: ignore[arg-type]

    def start(self, trials: int) -> Array:
        """Return the valves' state, and no thrust."""
        return np.concatenate([self._valves.start(trials), np.zeros((trials, self.size))], axis=-1)

    def act(self, command: Array, state: Array, h: Array) -> tuple[Array, Array]:
        """Return the mean wrench over h, and the state after it."""
        n, own = self.size, self.thrusters
        before, level = state[..., :-n], state[..., -n:]
        _, after = self._valves.act(command, before, h)
        left = (np.exp(-h / np.maximum(tau, 1e-12)) for tau in self._times)
        valves, lags = (before[..., :n], after[..., :n], level), (*self._times, *left)
        wrench_B, spent, level = _lag(n)(*valves, own.wrenches_B, own.thrust, *lags, h)
        return wrench_B, np.concatenate([spent, after[..., n:], level], axis=-1)

    def made_of(self, command: Array, state: Array, h: float) -> Array:
        """Return what the valves have made, whatever the lag."""
        return self._valves.made_of(command, state[..., : -self.size], h)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return fractions, and the impulse."""
        return self._valves.observe(command, state[..., : -self.size])


@sized(lambda n: f"({n}),({n}),({n}),({n},6),({n}),(),(),(),(),()->(6),({n}),({n})")
def _lag(before, after, level, wrenches_B, thrust, rise_s, fall_s, rise, fall, h):
    """Return the mean wrench, the impulse spent, and the thrust of each by the end of h.

    `rise` and `fall` are what is left after h of a difference between valve and thrust.
    """
    on = (after - before) / (thrust * h)  # by what ideal ones would have spent
    mean, end = [], []
    for u, g in zip(on, level, strict=True):
        rises = u > g
        tau, left = where(rises, rise_s, fall_s), where(rises, rise, fall)
        mean.append(u + (g - u) * (tau / h) * (1.0 - left))
        end.append(u + (g - u) * left)
    return wrenches_B.T @ array(mean), before + thrust * array(mean) * h, array(end)


class FedThrusters(ThrusterSet):
    """Thrusters on a tank: in the step in which it runs dry they make the share that is left, then nothing."""

    def __init__(self, inner: ThrusterSet, propellant_kg: Array) -> None:
        super().__init__(inner.thrusters)
        self._inner, self._kg = inner, propellant_kg
        self.signals = {**inner.signals, "propellant_kg": LEFT}  # type: ignore[misc]

    def paced(self, control_s: float) -> FedThrusters:
        """Return the thrusters for commands that come every so many seconds."""
        return FedThrusters(self._inner.paced(control_s), self._kg)  # type: ignore[arg-type]

    def start(self, trials: int) -> Array:
        """Return the state of the thrusters, which begins with the impulse of each."""
        return self._inner.start(trials)

    def act(self, command: Array, state: Array, h: Array) -> tuple[Array, Array]:
        """Return the mean wrench over h, and the state after it."""
        n = self.size
        wrench_B, after = self._inner.act(command, state, h)
        wrench_B, impulse = _share(n)(wrench_B, state[..., :n], after[..., :n], self.thrusters.flow_kg_Ns, self._kg)
        return wrench_B, np.concatenate([impulse, after[..., n:]], axis=-1)

    def made_of(self, command: Array, state: Array, h: float) -> Array:
        """Return what the valves have made, as flight software reckons it."""
        return self._inner.made_of(command, state, h)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return what the thrusters tell, and the propellant left."""
        left = self._kg - self.used_kg(0.0 * state, state)
        return {**self._inner.observe(command, state), "propellant_kg": np.maximum(left, 0.0)}


@sized(lambda n: f"(6),({n}),({n}),(),()->(6),({n})")
def _share(wrench_B, before, after, flow_kg_Ns, kg):
    """Return wrench and impulses of a step as far as the propellant lasts."""
    spent, left = after - before, kg - flow_kg_Ns * sum(before[1:], before[0])
    used = flow_kg_Ns * sum(spent[1:], spent[0])
    part = where(used > left, maximum(left, 0.0) / where(used > 0.0, used, 1.0), 1.0)
    return part * wrench_B, before + part * spent


class _Valves(ThrusterSet):
    """Thrusters with valves that do not yet know the control interval."""

    def __init__(self, thrusters: Thrusters, modulation: Modulation) -> None:
        super().__init__(thrusters)
        self._modulation = modulation

    def paced(self, control_s: float) -> PulsedThrusters:
        """Return the thrusters with one pulse per control interval."""
        return PulsedThrusters(self.thrusters, control_s, self._modulation)


def _pairs(size_m: Array, lever_m: float) -> tuple[Array, Array]:
    """Return 12 thrusters, a pair towards either side of each axis, each with a lever about the next axis but one."""
    places, directions = [], []
    for axis in range(3):
        for push in (1.0, -1.0):
            for side in (1.0, -1.0):
                place, direction = np.zeros(3), np.zeros(3)
                place[axis], direction[axis] = -0.5 * push * size_m[axis], push
                place[(axis + 1) % 3] = side * lever_m
                places.append(place)
                directions.append(direction)
    return np.array(places), np.array(directions)


class ThrustersPart(ActuatorPart):
    """Thrusters that are on or off: any layout, or twelve in pairs along the axes of a box."""

    kind: Literal["thrusters"] = "thrusters"
    positions_m: tuple[Vector3, ...] = ()
    """Of each thruster from the body's origin, body axes; none: two towards either side of each axis of `size_m`."""
    directions: tuple[Vector3, ...] = ()
    """Of the force of each on the body, unit vectors."""
    thrust_N: Positive = 10.0
    """Of each thruster."""
    size_m: Edges = (0.8, 0.8, 0.8)
    """Edges of the box on which the pairs sit."""
    lever_m: Positive = 0.1
    """Of each thruster of a pair about the body's origin."""
    minimum_on_s: NonNegative = 0.0
    """The shortest pulse that a valve can make, one per control interval."""
    too_small: Literal["waits", "is dropped"] = "waits"
    """What becomes of a pulse that is shorter: it waits until there is enough for one, or is dropped."""
    modulation: Literal["pulse-width", "schmitt", "pseudo-rate"] = "pulse-width"
    """How wanted fractions become pulses: of any length, or whole control intervals by a trigger with hysteresis."""
    trigger_on: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Fraction above which the trigger opens the valve."""
    trigger_off: Annotated[float, Field(ge=0, lt=1)] = 0.25
    """Fraction below which it closes the valve."""
    lag_s: Positive = 5.0
    """Of what was made, which pseudo-rate modulation takes off from what is wanted."""
    rise_s: NonNegative = 0.0
    """Time constant with which thrust rises once a valve opens; flight software knows it."""
    fall_s: NonNegative = 0.0
    """Time constant with which thrust falls once it closes."""
    misalignment_deg: NonNegative = 0.0
    """By how much each thruster is turned away about each axis, one sigma over the trials."""
    thrust_error_percent: Annotated[float, Field(ge=0, le=50)] = 0.0
    """By how much each makes more or less thrust, one sigma over the trials."""
    specific_impulse_s: Positive | None = None
    """By which propellant leaves a craft that moves, whose mass and centre change; none: it does not."""
    propellant_kg: Positive | None = None
    """How much there is at the start; once it is used up there is no thrust. Flight software does not notice."""
    tank_m: Vector3 = (0.0, 0.0, 0.0)
    """Where that propellant is, from the body's origin."""
    shaping: ClassVar[frozenset[str]] = frozenset(
        {"positions_m", "directions", "size_m", "lever_m", "trigger_on", "trigger_off", "lag_s"}
    )

    @model_validator(mode="after")
    def _with_hysteresis(self) -> Self:
        if self.trigger_off >= self.trigger_on:
            raise InputError(f"trigger_off = {self.trigger_off:g} is not below trigger_on = {self.trigger_on:g}")
        return self

    def ideal(self) -> ThrusterSet:
        """Return the thrusters by layout and valves alone."""
        if len(self.positions_m) != len(self.directions):
            counts = f"{len(self.positions_m)} positions and {len(self.directions)} directions"
            raise InputError(f"positions_m, directions: {counts}; give one of each for every thruster")
        places, directions = np.array(self.positions_m), np.array(self.directions)
        if not len(places):
            places, directions = _pairs(self.size_m, self.lever_m)
        thrust, least = self.thrust_N, self.minimum_on_s
        each = lambda x: x if np.ndim(x) == 0 else np.repeat(np.asarray(x)[:, None], len(places), axis=1)  # noqa: E731
        set_ = Thrusters(positions_B=places, directions_B=directions, thrust=each(thrust), minimum_on_s=each(least))
        if self.modulation == "pulse-width" and not np.any(set_.minimum_on_s > 0.0):
            return ThrusterSet(set_)
        trigger = self.trigger_on, self.trigger_off, self.lag_s
        return _Valves(set_, Modulation(self.modulation, self.too_small == "waits", *trigger))

    def belief(self) -> ThrusterSet:
        """Return the thrusters as flight software knows them."""
        return self._lagged(self.ideal())

    def truth(self, name: str, draws: Draws) -> ThrusterSet:
        """Return the thrusters of each trial."""
        jets = self.ideal()
        if np.any(self.misalignment_deg) or np.any(self.thrust_error_percent):
            jets.thrusters = self._off(jets.thrusters, name, draws)
        if self.specific_impulse_s is not None:
            flow = 1.0 / (GRAVITY * np.asarray(self.specific_impulse_s))
            jets.thrusters = dataclasses.replace(jets.thrusters, tank_B=np.array(self.tank_m), flow_kg_Ns=flow)
        jets = self._lagged(jets)
        if self.propellant_kg is None:
            return jets
        if self.specific_impulse_s is None:
            raise InputError("propellant_kg: is used up by specific_impulse_s; give that too")
        return FedThrusters(jets, np.asarray(self.propellant_kg, float))

    def _off(self, thrusters: Thrusters, name: str, draws: Draws) -> Thrusters:
        n = len(draws.trials)
        turn = draws.vector(f"{name} misalignment", np.radians(self.misalignment_deg), 3 * thrusters.count)
        gain_error = draws.vector(f"{name} thrust", 0.01 * np.asarray(self.thrust_error_percent), thrusters.count)
        turned = quaternion.rotate(quaternion.exp(turn.reshape(n, -1, 3)), thrusters.directions_B)
        return dataclasses.replace(thrusters, directions_B=turned, thrust=thrusters.thrust * (1.0 + gain_error))

    def _lagged(self, thrusters: ThrusterSet) -> ThrusterSet:
        if not np.any(self.rise_s) and not np.any(self.fall_s):
            return thrusters
        return LaggedThrusters(thrusters, np.asarray(self.rise_s, float), np.asarray(self.fall_s, float))
