"""A CubeSat stops its tumble by B-dot, finds its attitude, and points with wheels that the torquers unload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.controllers.bdot import Bdot, MomentumUnloading
from gnc.controllers.wheel_allocation import WheelAllocation
from gnc.errors import InputError
from gnc.events import Event
from gnc.history import Signal
from gnc.loop import Controller, Loop, Moment
from gnc.models.actuators import Magnetorquers
from gnc.models.environment import GravityGradient
from gnc.models.environment.constants import EARTH_MU, EARTH_RADIUS
from gnc.models.states import AttitudeState
from gnc.scenarios.attitude import build, figures, score, sections, signals
from gnc.scenarios.attitude.control import WheelControl
from gnc.scenarios.attitude.detumbling import MAGNETOMETER, SUN, Acquisition, DetumbleControl
from gnc.scenarios.attitude.navigation import MekfNavigation
from gnc.scenarios.attitude.satellite import Command, Satellite
from gnc.scenarios.config import NonNegative, Positive, Section, Vector3
from gnc.scenarios.draws import Draws, column
from gnc.scenarios.papers.case import at_most
from gnc.scenarios.plots import COLOURS
from gnc.scenarios.scenario import Prepared, Scenario, ScenarioConfig, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

Array = Any
KNOWN = ("knowledge_error_deg", "sigma_deg", "rate_error_deg_s", "nees")  # mean something once the filter has begun
SIGNALS = signals.SIGNALS | {
    "dipole_Am2": Signal("A m^2", "dipole of the torquers, body axes"),
    "wheels_B_Nms": Signal("N m s", "momentum of all wheels together, body axes"),
    "pointing_since_s": Signal("s", "when the filter began and the wheels took over; NaN: not yet"),
}


class Torquers(Section):
    """Magnetic torquers along the body axes, off while the magnetometer reads."""

    dipole_limit_Am2: Positive = 1.0
    """Of each axis."""
    bdot_gain_Nms: Positive | None = None
    """By default 2 n (1 + sin i) J_min: Avanzini and Giulietti 2012."""
    unloading_per_s: NonNegative = 1e-3
    """Fraction of the wheels' momentum beyond `bias_Nms` that is taken away per second once it points; 0: none."""
    bias_Nms: Vector3 = (0.0, 0.02, 0.0)
    """Momentum that the wheels keep, body axes. It stiffens the body, whose attitude is then known better where the
    magnetometer is alone: with none, p99.7 of pointing is 1.2 deg in sunlight and 3.2 deg in eclipse."""


class Handover(Section):
    """When a trial stops B-dot and starts to point."""

    quiet_deg_s: Positive = 0.5
    """The field turns slower than this ..."""
    quiet_s: Positive = 120.0
    """... for so long, and the Sun is in sight."""
    rate_sigma_deg_s: Positive = 1.0
    """What the filter knows of its first rate, about each axis."""


class Release(Section):
    """How a trial begins: at any attitude, in a tumble."""

    rate_deg_s: Positive = 5.0
    """Rate about each axis, one sigma."""


class Criteria(Section):
    """What a flight must reach, over all trials together."""

    slow_deg_s: Positive = 0.5
    """The tumble counts as stopped when the rate falls below this for the first time ..."""
    slow_by_s: Positive = 5700.0
    """... which all trials reach by then: an orbit."""
    settle_s: NonNegative = 900.0
    """Pointing errors count from so long after the handover on."""
    sun_p997_deg: Positive = 0.9
    """99.7th percentile of the pointing error in sunlight."""
    eclipse_p997_deg: Positive = 1.8
    """99.7th percentile of the pointing error in the Earth's shadow."""
    lost_deg: Positive = 15.0
    """A trial whose pointing error exceeds this after settling counts as lost."""


class DetumbleConfig(ScenarioConfig):
    """A 12U CubeSat is released at 5 deg/s per axis, stops by B-dot, finds its attitude and points at the Earth.

    Each trial changes over in its own time: when the field has turned slowly for a while and the Sun is in sight, TRIAD
    starts the filter, wheels take over, and the torquers hold their momentum at a bias. Satellite, orbit and sensors
    are those of `pointing`; the filter estimates the dipole, and the inertia, as the first turn is a large one.
    """

    scenario: Literal["detumble"] = "detumble"
    duration_s: Positive = 11400.0
    truth_step_s: Positive = 0.5
    orbit: sections.Orbit = sections.Orbit()
    vehicle: sections.Vehicle = sections.Vehicle()
    wheels: sections.Wheels = sections.Wheels()
    torquers: Torquers = Torquers()
    sensors: dict[str, sections.AnySensor] = {
        MAGNETOMETER: sections.MagnetometerSection(),
        SUN: sections.SunSensorSection(),
    }
    filter: sections.AnyFilter = sections.MekfSection(inertia_sigma_percent=2.0, gate_probability=1.0)
    guidance: sections.PointingGuidance = sections.PointingGuidance()
    controller: sections.AnyController = sections.PdSection(frequency_rad_s=0.05)
    start: Release = Release()
    handover: Handover = Handover()
    criteria: Criteria = Criteria()


def prepare(config: DetumbleConfig, seed: int, trials: np.ndarray) -> Prepared:
    """Build the loop of some trials."""
    _check(config)
    draws, n, h, J = Draws(seed, trials), len(trials), config.truth_step_s, np.array(config.vehicle.J_kgm2)
    sky, wheels = build.sky(config.orbit, h, config.duration_s), build.wheels(config.wheels)
    guide, period = build.guide(config.guidance, sky), 1.0 / config.controller.rate_hz
    torquers = Magnetorquers(dipole_limit=config.torquers.dipole_limit_Am2)
    J_true = draws.inertia("inertia", J, config.vehicle.J_error_percent)
    dipole_B = column(config.vehicle.dipole_Am2) * draws.direction("dipole")
    satellite = Satellite(J_true, sky, build.external(config.vehicle, dipole_B), wheels, torquers)
    truth = satellite.start(
        quaternion.normalize(draws.normal("attitude", 4)),
        draws.vector("rate", np.radians(config.start.rate_deg_s)),
        draws.vector("wheels", config.wheels.start_Nms, wheels.count),
    )
    pairs = {name: build.sensor(name, section, draws) for name, section in config.sensors.items()}
    mekf = build.mekf(config.filter, J, pairs)
    believed, more = {name: pair.believed for name, pair in pairs.items()}, build.prior(config.filter, J)
    gravity, hand = GravityGradient(J) if config.vehicle.gravity_gradient else None, config.handover
    limits = np.radians(hand.quiet_deg_s), hand.quiet_s, np.radians(hand.rate_sigma_deg_s)
    navigation = Acquisition(MekfNavigation(mekf, believed, sky, gravity, torquers=True), more, period, *limits)
    pointing = WheelControl(build.law(config.controller, J), guide, mekf.state, WheelAllocation(axes_B=wheels.axes_B))
    bias_B = np.array(config.torquers.bias_Nms)
    control = DetumbleControl(_bdot(config, J), pointing, _unloading(config), bias_B, torquers, period)
    limit = np.radians(config.criteria.slow_deg_s)
    loop = Loop(
        h=h,
        duration_s=config.duration_s,
        plant=satellite,
        instruments=build.instruments(pairs, sky, draws),
        navigation=navigation,
        controller=Controller(control, period, Command(np.zeros((n, wheels.count)), np.zeros((n, 3)))),
        events=[Event("slow", lambda x, t: _square(x.w_B) < limit**2)],
        record_s=config.record_s,
    )
    upright = AttitudeState(np.broadcast_to([1.0, 0.0, 0.0, 0.0], (n, 4)), np.zeros((n, 3)))
    C, extra = build.diagonal([1.0] * 6), {} if more is None else {"C_extras": more}
    return Prepared(
        loop,
        truth,
        navigation.start(mekf.start(upright, C, rho_B=satellite.report(truth).rho_B, **extra)),
        control.start((n,)),
        SIGNALS,
        Observer(signals.Observer(truth, sky, guide, mekf.state)),
        signals.innovation_signals(pairs),
        signals.observe_innovation,
    )


@batched("(3)->()")
def _square(v):
    return v @ v


def _check(config: DetumbleConfig) -> None:
    """Refuse what B-dot and TRIAD cannot work with."""
    for name, kind in ((MAGNETOMETER, sections.MagnetometerSection), (SUN, sections.SunSensorSection)):
        if not isinstance(config.sensors.get(name), kind):
            raise InputError(f"sensors: {', '.join(config.sensors)}; detumble needs one called {name}, of its kind")
    rate = config.sensors[MAGNETOMETER].rate_hz
    if rate != config.controller.rate_hz:
        raise InputError(f"controller.rate_hz: {config.controller.rate_hz:g}; B-dot needs the magnetometer's, {rate:g}")


def _bdot(config: DetumbleConfig, J: Array) -> Bdot:
    if config.torquers.bdot_gain_Nms is not None:
        return Bdot(gain=config.torquers.bdot_gain_Nms)
    rate = np.sqrt(EARTH_MU / (EARTH_RADIUS + 1e3 * config.orbit.altitude_km) ** 3)
    return Bdot.tuned(J, rate, np.radians(config.orbit.inclination_deg))


def _unloading(config: DetumbleConfig) -> MomentumUnloading | None:
    gain = config.torquers.unloading_per_s
    return MomentumUnloading(gain=gain) if gain > 0.0 else None


@dataclass(frozen=True)
class Observer:
    """Turns a moment into signals; those of the filter are NaN before it has begun."""

    pointing: signals.Observer

    def __call__(self, moment: Moment) -> Mapping[str, Any]:
        """Return the values of all signals."""
        since = moment.belief.since
        values = dict(self.pointing(moment._replace(belief=moment.belief.attitude)))
        for name in KNOWN:
            if name in values:
                unknown = np.isnan(since).reshape(since.shape + (1,) * (values[name].ndim - since.ndim))
                values[name] = np.where(unknown, np.nan, values[name])
        more = {"dipole_Am2": moment.command.dipole_B, "wheels_B_Nms": moment.report.rho_B}
        return values | more | {"pointing_since_s": since}


def judge(config: DetumbleConfig, flight: Dataset) -> Verdict:
    """Score how long the tumble lasts, and the pointing error from some time after the handover on."""
    c, t = config.criteria, flight["time"].values
    since, slow = flight["pointing_since_s"].values[:, -1], flight["t_slow"].values
    settled, dark = t >= since[:, None] + c.settle_s, flight["shadow"].values > 0.5
    pointing, knowledge = score.size(flight, "pointing_error_deg"), score.size(flight, "knowledge_error_deg")
    lost = _lost(flight, pointing, settled, since, c)
    kept = ~np.isin(flight["trial"].values, list(lost))[:, None]
    metrics = {"lost": len(lost), "slow_median_s": float(np.median(slow)), "slow_max_s": float(np.max(slow))}
    metrics |= {"handover_median_s": float(np.median(since)), "handover_max_s": float(np.max(since))}
    checks = [at_most("lost trials", len(lost), 0), at_most("slow by [s]", metrics["slow_max_s"], c.slow_by_s)]
    for name, when, bound in (("sun", ~dark, c.sun_p997_deg), ("eclipse", dark, c.eclipse_p997_deg)):
        counted = settled & kept & when
        metrics |= score.summary(name, pointing[counted]) | score.summary(f"{name}_knowledge", knowledge[counted])
        if counted.any():
            checks.append(at_most(f"pointing p99.7 in {name} [deg]", metrics[f"{name}_p997_deg"], bound))
    excess = np.linalg.norm(flight["wheels_B_Nms"].values - np.array(config.torquers.bias_Nms), axis=-1)
    metrics |= {"excess_start_Nms": score.rms(excess[:, 0]), "excess_end_Nms": score.rms(excess[:, -1])}
    metrics["wheel_max_Nms"] = float(np.nanmax(np.abs(flight["wheel_Nms"].values)))
    metrics["momentum_gap"] = float(np.nanmax(flight["momentum_gap"].values))
    checks.append(at_most("momentum bookkeeping", metrics["momentum_gap"], 1e-9))
    if "nees" in flight:
        metrics["nees"] = score.mean(flight["nees"].values[settled & kept])
    counted = [errors[when] for errors, when in zip(pointing, settled, strict=True)]
    per_trial = {
        "slow_s": slow,
        "handover_s": since,
        "pointing_rms_deg": np.array([score.rms(errors) for errors in counted]),
        "pointing_max_deg": np.array([errors.max() if len(errors) else np.nan for errors in counted]),
        "excess_end_Nms": excess[:, -1],
    }
    return Verdict(per_trial, metrics, checks, lost)


def _lost(flight: Dataset, pointing: Array, settled: Array, since: Array, c: Criteria) -> dict[int, str]:
    """Return the trials without numbers, that never began to point, or that point nowhere, with the reason."""
    lost = {}
    for i, trial in enumerate(flight["trial"].values.tolist()):
        worst = pointing[i][settled[i]].max(initial=0.0)
        if not np.isfinite(pointing[i]).all():
            lost[trial] = f"NaN from {flight['time'].values[int(np.argmin(np.isfinite(pointing[i])))]:g} s on"
        elif np.isnan(since[i]):
            lost[trial] = "never slow enough to point"
        elif worst > c.lost_deg:
            lost[trial] = f"pointing error of {worst:.3g} deg, beyond {c.lost_deg:g} deg"
    return lost


def draw(config: DetumbleConfig, flight: Dataset) -> Mapping[str, Any]:
    """Return the figures by name; those of pointing begin with the first trial that does."""
    begun = np.isfinite(flight["pointing_since_s"].values).any(axis=0)
    found = dict(figures.draw(config, flight.isel(time=begun))) if begun.any() else {}
    return found | {"tumble": partial(_tumble, config=config, flight=flight)}


def _tumble(figure: Figure, config: DetumbleConfig, flight: Dataset) -> None:
    """Draw rate, share of trials that point, and dipole."""
    t, panels = flight["time"].values, figure.subplots(3, 1, sharex=True)
    rate, dipole = score.size(flight, "w_B_deg_s"), score.size(flight, "dipole_Am2")
    for axes, values, unit in ((panels[0], rate, "rate [deg/s]"), (panels[2], dipole, "dipole [A m²]")):
        for level, colour in zip((50.0, 99.7), COLOURS, strict=False):
            label = "median of trials" if level == 50.0 else f"{level:g}th percentile"
            axes.plot(t, np.nanpercentile(values, level, axis=0), color=colour, lw=1.2, label=label)
        axes.set_ylabel(unit)
    panels[0].set_yscale("log")
    panels[0].axhline(config.criteria.slow_deg_s, color="k", lw=0.8, ls=":", label="counts as stopped")
    panels[0].legend(fontsize=8, loc="upper right")
    pointing = np.isfinite(flight["pointing_since_s"].values).mean(axis=0)
    panels[1].plot(t, 100.0 * pointing, color=COLOURS[2], lw=1.2)
    panels[1].set_ylabel("point with wheels [%]")
    for axes in panels:
        figures.shade_eclipse(axes, flight)
        axes.grid(alpha=0.3)
    panels[0].set_title(f"From the tumble to pointing, {len(rate)} trials")
    panels[-1].set_xlabel("time [s]")


SCENARIO = Scenario(
    "detumble",
    DetumbleConfig,
    prepare,
    judge,
    draw,
    figures.scene,
    judged=signals.JUDGED | {"pointing_since_s", "wheels_B_Nms"},
    dispersible=build.DISPERSIBLE,
)
