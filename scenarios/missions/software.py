"""Flight software in the loop: modes with guidance and law, each trial in its own.

At every command, in this order: what is believed is carried to now; the guards of the present mode are looked at
(`modes`); the guidance and law of the mode that each trial is in say what they want; allocation makes commands of it,
without what is left out; unloading takes momentum out of the wheels by torquers or thrusters, while the wheels make up
for them. A mode begins afresh: its guidance and law remember nothing of an earlier time in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import as_numbers, batched, chosen, when, where
from gnc.controllers.allocation import Share, shares
from gnc.controllers.bdot import MomentumUnloading
from gnc.controllers.guidance.base import Plan, View
from gnc.errors import InputError
from gnc.estimators.navigation.attitude import turn_deg
from gnc.history import Signal
from gnc.models.actuators.magnetorquers import TorquerSet, torque
from gnc.models.actuators.thrusters import ThrusterSet
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.models.sensors import Magnetometer
from gnc.models.sensors.interface import attitude
from gnc.scenarios.missions import modes as machine
from gnc.scenarios.missions.mission import Unloading
from gnc.scenarios.missions.modes import Guard
from gnc.scenarios.missions.navigating import Belief, CraftNavigation
from gnc.typing import Array


class Unloader(NamedTuple):
    """What takes momentum out of the wheels."""

    law: MomentumUnloading
    bias_B: Array | None  # that the wheels keep; None: what they have when the mode begins
    torquers: TorquerSet | None  # None: thrusters
    actuator: int  # place among the actuators
    wheels: int
    by: Share | None  # of the thrusters
    share: Share  # of the wheels, which make up for what unloads them

    def kept(self, report: Report) -> Array:
        """Return the momentum that the wheels keep in a mode that begins now: handed over from the mode before."""
        return report.rho_B if self.bias_B is None else self.bias_B + 0.0 * report.rho_B

    def added(
        self, commands: list[Any], estimate: Any, report: Report, out: Mapping[int, Array], kept_B: Array
    ) -> list[Any]:
        """Return the commands with unloading at work: the body must feel nothing."""
        if self.torquers is None:
            wanted_B = -self.law.gain[..., None] * (report.rho_B - kept_B)
            assert self.by is not None
            command, torque_B = self.by(wanted_B, estimate, out.get(self.actuator)), wanted_B
        else:
            command = self.law.command(report.rho_B, estimate.B_B, kept_B)
            command = self.torquers.torquers.dipole_B(command)
            torque_B = torque(command, estimate.B_B)
            if commands[self.actuator] is not None:  # torquers that make a part of the demand too
                command = self.torquers.torquers.dipole_B(commands[self.actuator] + command)
        against = self.share(-torque_B, estimate, out.get(self.wheels))
        commands[self.actuator] = command
        commands[self.wheels] = against if commands[self.wheels] is None else commands[self.wheels] + against
        return commands


def unloader(unload: Unloading | None, known: Known) -> Unloader | None:
    """Return what a mode unloads wheels with."""
    if unload is None:
        return None
    by, places = known.effectors.get(unload.by), {name: i for i, name in enumerate(known.effectors)}
    wheels = [name for name, e in known.effectors.items() if e.internal]
    if not isinstance(by, TorquerSet | ThrusterSet) or not wheels:
        raise InputError(
            f"unload.by = {unload.by!r}: unloading takes magnetorquers or thrusters of that name, and wheels"
        )
    magnetic = isinstance(by, TorquerSet)
    if magnetic and not any(isinstance(sensor, Magnetometer) for sensor in known.sensors.values()):
        raise InputError("unload: needs a magnetometer, which tells what the torquers can do")
    share = shares(known.effectors, wheels[:1], "torque", partial=True)[wheels[0]]
    push = None if magnetic else shares(known.effectors, [unload.by], "torque")[unload.by]
    law = MomentumUnloading(gain=unload.gain_per_s)
    bias = None if unload.bias_Nms == "entry" else np.array(unload.bias_Nms)
    return Unloader(
        law, bias, by if isinstance(by, TorquerSet) else None, places[unload.by], places[wheels[0]], push, share
    )


POINTING = Signal("deg", "true attitude against the reference, rotation vector, body axes", partial=True)
EXCESS = Signal("N m s", "momentum of the wheels beyond what unloading lets them keep, body axes")


class Command(NamedTuple):
    """What flight software asks of its craft, and why."""

    effectors: tuple[Array, ...]  # (trials, size) of each actuator
    mode: Array  # (trials,) its place among the modes
    entered_s: Array  # (trials,) when the mode began
    wanted: Array  # (trials, 4 or 8) the attitude or pose that is asked for; NaN: none
    longest_s: Array  # (trials, guards) the longest time for which each guard has held so far
    kept_B: Array  # (trials, 3) momentum that unloading leaves to the wheels [N m s]; (trials, 0): nothing unloads


class Memory(NamedTuple):
    """What flight software remembers from command to command."""

    mode: Array  # (trials,) its place among the modes
    entered_s: Array  # (trials,) when the mode began
    held_s: Array  # (trials, guards) for how long each guard has been true
    longest_s: Array  # (trials, guards) and the longest of such times
    errors: Array  # (trials, 2) believed attitude and position against what was wanted [deg, m]; (trials, 0): unused
    guidance: tuple[Any, ...]  # of each mode
    laws: tuple[Any, ...]  # of each mode
    kept_B: Array  # (trials, 3) momentum that unloading leaves to the wheels [N m s]; (trials, 0): nothing unloads


@dataclass(frozen=True, eq=False)
class ModeRun:
    """One mode, built, or several that are legs of one guidance; law and guidance go on from leg to leg."""

    name: str  # in the file
    guidance: Any | None
    law: Any
    shares: Mapping[int, Share]  # by the actuator's place
    unload: Unloader | None = None
    plan: Any | None = None  # its guidance in the true environment, by which pointing is judged
    places: range = range(1)  # of the mode, or of its legs, among all
    legs: tuple[str, ...] = ()

    def holds(self, mode: Array) -> Any:
        """Tell in which trials flight software is in this mode."""
        first, last = float(self.places[0]), float(self.places[-1])
        return mode == first if first == last else (mode >= first) & (mode <= last)


@dataclass(frozen=True, eq=False)
class CraftSoftware:
    """The flight software of one craft."""

    navigation: CraftNavigation
    modes: Sequence[ModeRun]
    guards: Sequence[Guard]
    sizes: Mapping[str, int]  # numbers of each actuator's command
    period_s: float
    sky: Any  # as believed, with at(t)

    @property
    def names(self) -> tuple[str, ...]:
        """The modes, legs in place of the modes that have some."""
        return tuple(leg for mode in self.modes for leg in mode.legs or (mode.name,))

    @property
    def signals(self) -> dict[str, Signal]:
        """What is recorded of commands."""
        signals = {"mode": Signal("1", "mode of flight software", labels=self.names)}
        signals["mode_time_s"] = Signal("s", "time since the mode began")
        if self.guards:
            axis = "guard", tuple(f"{k + 1}: {one.text}" for k, one in enumerate(self.guards))
            signals["guard_s"] = Signal("s", "the longest time for which each guard has held so far", axis)
        for mode in self.modes:
            signals |= getattr(mode.guidance, "signals", {})
        signals |= {"pointing_error_deg": POINTING} if self.wanted else {}
        return signals | ({"momentum_excess_Nms": EXCESS} if self._unloads else {})

    def start(self, belief: Belief, report: Report, trials: int) -> Memory:
        """Return the memory before the first command, in the first mode."""
        estimate = self.navigation.estimate(belief, report)
        guidance = tuple(() if m.guidance is None else m.guidance.start(estimate, report) for m in self.modes)
        laws = tuple(_started(m.law, (trials,)) for m in self.modes)
        none, held = np.zeros(trials), np.zeros((trials, len(self.guards)))
        errors = np.full((trials, 2), np.nan) if self._judges_errors else np.zeros((trials, 0))
        unloading = next((mode for mode in self.modes if mode.unload is not None), self.modes[0])
        kept = self._kept(unloading, report, np.zeros((trials, 3 if self._unloads else 0)))
        return Memory(none, none.copy(), held, held.copy(), errors, guidance, laws, kept)

    @property
    def _judges_errors(self) -> bool:
        return any({"error_deg", "error_m"} & set(one.names) for one in self.guards)

    def idle(self, trials: int) -> Command:
        """Return the commands of actuators that do nothing."""
        none = np.zeros(trials)
        held, kept = np.zeros((trials, len(self.guards))), np.zeros((trials, 3 if self._unloads else 0))
        wanted = np.full((trials, self.wanted), np.nan)
        return Command(*self._nothing((trials,)), none, none.copy(), wanted, held, kept)

    def _nothing(self, lead: tuple[int, ...]) -> tuple[tuple[Array, ...]]:
        return (tuple(np.zeros((*lead, size)) for size in self.sizes.values()),)

    def command(self, belief: Belief, report: Report, t: Any, memory: Memory) -> tuple[Command, Memory]:
        """Return the commands of all actuators from t on, and what to remember."""
        estimate, before = self.navigation.estimate(belief, report), memory.mode
        out = self.navigation.excluded(belief, t)
        left_out = {k: out[name] for k, name in enumerate(self.sizes) if name in out}
        if self.guards:
            memory = self._changed(estimate, belief, report, t, memory)
        lead, guidance, laws = np.shape(memory.mode), list(memory.guidance), list(memory.laws)
        kept = memory.kept_B
        outputs: Any = (*self._nothing(lead), np.full((*lead, self.wanted), np.nan))
        for i, mode in enumerate(self.modes):
            inputs = mode, estimate, report, t, guidance[i], laws[i], left_out, memory.mode, kept
            here = mode.holds(memory.mode)
            if self.guards:
                changed = here & (before != memory.mode)
                begun: Any = guidance[i], laws[i], kept
                if len(self.modes) > 1:
                    fresh = changed & ~mode.holds(before) if mode.legs else changed
                    begun = when(fresh, self._begun, (mode, estimate, report, lead, kept), begun)
                if mode.legs:
                    leg, enter = memory.mode - float(mode.places[0]), mode.guidance.enter  # type: ignore[union-attr]
                    begun = when(changed, enter, (begun[0], leg, estimate), begun[0]), *begun[1:]
                *begun, kept = begun
                inputs = mode, estimate, report, t, *begun, left_out, memory.mode, kept
            if len(self.modes) == 1:
                outputs, guidance[i], laws[i] = self._of_mode(*inputs)
                continue
            outputs, guidance[i], laws[i] = when(here, self._of_mode, inputs, (outputs, guidance[i], laws[i]))
        effectors, wanted = outputs
        if self._judges_errors:
            memory = memory._replace(errors=machine.errors(wanted, estimate))
        memory = memory._replace(guidance=tuple(guidance), laws=tuple(laws), kept_B=kept)
        return Command(effectors, memory.mode, memory.entered_s, wanted, memory.longest_s, kept), memory

    def _begun(
        self, mode: ModeRun, estimate: Any, report: Report, lead: tuple[int, ...], kept_B: Array
    ) -> tuple[Any, Any, Array]:
        """Return what guidance and law of a mode remember when it begins, and the momentum left to the wheels."""
        guidance = () if mode.guidance is None else mode.guidance.start(estimate, report)
        return guidance, _started(mode.law, lead), self._kept(mode, report, kept_B)

    def _kept(self, mode: ModeRun, report: Report, before_B: Array) -> Array:
        """Return the momentum left to the wheels from the beginning of a mode on; without unloading as before."""
        return before_B if mode.unload is None else _wide(mode.unload.kept(report), before_B[..., 0])

    def _of_mode(
        self,
        mode: ModeRun,
        estimate: Any,
        report: Report,
        t: Any,
        guidance: Any,
        law: Any,
        out: Mapping[int, Array],
        like: Array,
        kept_B: Array,
    ) -> tuple[Any, Any, Any]:
        """Return what one mode commands and wants, and the memories of its guidance and law."""
        reference = None
        if mode.guidance is not None:
            reference, guidance = mode.guidance.guide(t, estimate, report, guidance)
        demand, law = mode.law.command(estimate, reference, law)
        lead = np.shape(like)
        shared, demand = mode.shares, as_numbers(demand) if mode.shares else demand
        commands = [shared[k](demand, estimate, out.get(k)) if k in shared else None for k in range(len(self.sizes))]
        if mode.unload is not None:
            commands = mode.unload.added(commands, estimate, report, out, kept_B)
        (idle,) = self._nothing(lead)
        effectors = tuple(z if u is None else _wide(u, like) for u, z in zip(commands, idle, strict=True))
        aim = None if reference is None else _aim(mode.guidance, guidance, reference)
        wanted = np.full((*lead, self.wanted), np.nan) if aim is None else _wide(aim, like)
        return (effectors, wanted), guidance, law

    def _changed(self, estimate: Any, belief: Belief, report: Report, t: Any, memory: Memory) -> Memory:
        """Return the memory after the guards of this moment."""
        mode, entered, held, longest = memory.mode, memory.entered_s, [], []
        now = _for_each(t, memory.mode)
        for k, one in enumerate(self.guards):
            values = [self._guarded(name, estimate, belief, report, now, t, memory) for name in one.names]
            holds = one.kernel(np.stack(values or [0.0 * mode], axis=-1))
            before = memory.held_s[..., k], memory.longest_s[..., k]
            numbers = *(np.array(x, float) for x in (one.source, one.target, one.for_s)), self.period_s, now
            mode, entered, clock, most = machine.step(memory.mode, mode, entered, holds, *before, *numbers)
            held.append(clock)
            longest.append(most)
        times = np.stack(held, axis=-1), np.stack(longest, axis=-1)
        return memory._replace(mode=mode, entered_s=entered, held_s=times[0], longest_s=times[1])

    def _guarded(
        self, name: str, estimate: Any, belief: Belief, report: Report, now: Array, t: Any, memory: Memory
    ) -> Array:
        """Return the value (trials,) of a name that a guard uses."""
        if name in ("error_deg", "error_m"):
            return memory.errors[..., 0 if name == "error_deg" else 1]
        if name == "eclipse":
            return _dark(self.sky.at(t).shadow) + 0.0 * now
        part, _, word = name.partition(".")
        for mode in self.modes:
            if word and part == mode.name and word in getattr(mode.guidance, "words", ()):
                return mode.guidance.asked(word, t, estimate) + 0.0 * now  # type: ignore[union-attr]
        if name == "sigma_deg" or word:
            return self.navigation.asked(name, belief, now)
        return machine.value(name, estimate, report, now, memory.entered_s)

    @property
    def _unloads(self) -> bool:
        """Tell whether wheels are unloaded in any mode."""
        return any(mode.unload is not None for mode in self.modes)

    def observe(self, command: Command, truth: Any, report: Report, t: float) -> dict[str, Array]:
        """Return mode, time in it, and how far the craft is from what is asked for."""
        values = {"mode": command.mode, "mode_time_s": t - command.entered_s}
        if self.guards:
            values["guard_s"] = command.longest_s
        if self.wanted:
            values["pointing_error_deg"] = turn_deg(self.reference(command, t)[..., :4], attitude(truth))
        if self._unloads:
            values["momentum_excess_Nms"] = report.rho_B - command.kept_B
        return values

    def watch(self, command: Command, view: View) -> dict[str, Array]:
        """Return what the guidance of each mode tells; NaN while another mode is in charge."""
        values: dict[str, Array] = {}
        for mode in self.modes:
            if getattr(mode.guidance, "signals", {}):
                mine = mode.holds(command.mode)
                for name, value in mode.guidance.observe(view).items():  # type: ignore[union-attr]
                    values[name] = chosen(mine, value, values.get(name, np.nan * value))
        return values

    @property
    def wanted(self) -> int:
        """How many numbers a reference has: 8 of a pose, 4 of an attitude, 0 of none."""
        return max((getattr(mode.guidance, "wanted", 4) for mode in self.modes if mode.guidance is not None), default=0)

    def reference(self, command: Command, t: float) -> Array:
        """Return the attitude or pose that is asked for at t: by a plan that of the moment, else the one held."""
        wanted = command.wanted
        for mode in self.modes:
            if isinstance(mode.plan, Plan):
                now = _wide(mode.plan.at(t)[0], command.mode)
                wanted = now if len(self.modes) == 1 else chosen(mode.holds(command.mode), now, wanted)
        return wanted


def _wide(reference: Array, like: Array) -> Array:
    """Return a reference with the axis of trials, if there is one: where a tick is recorded there is none."""
    lead = np.shape(like)
    return np.broadcast_to(reference, (*lead, *np.shape(reference))) if lead and np.ndim(reference) == 1 else reference


def _aim(guidance: Any, memory: Any, reference: Any) -> Array:
    """Return the attitude or pose that guidance wants in the end, which may be another than it asks for now."""
    return guidance.aim(memory) if hasattr(guidance, "aim") else reference[0]


def _started(law: Any, lead: tuple[int, ...]) -> Any:
    begin = getattr(law, "start", None)
    return () if begin is None else begin(lead)


@batched("(),()->()")
def _for_each(t, mode):
    """Return a time once for every trial."""
    return t + 0.0 * mode


@batched("()->()")
def _dark(shadow):
    """Return 1 where more than half of the Sun is hidden."""
    return where(shadow > 0.5, 1.0, 0.0)


def first_reference(guidance: Any, report: Report | None = None) -> Any:
    """Return what guidance asks for at time zero, by time alone or by what the craft tells."""
    if hasattr(guidance, "at"):
        return guidance.at(0.0)
    return guidance.first(report) if report is not None and hasattr(guidance, "first") else None
