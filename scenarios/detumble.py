"""A CubeSat stops its tumble by B-dot, finds its attitude, and points with wheels that the torquers unload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.config import NonNegative, Positive, Section, Vector3
from gnc.controllers.bdot import Bdot, MomentumUnloading
from gnc.controllers.wheel_allocation import WheelAllocation
from gnc.draws import Draws, column
from gnc.errors import InputError
from gnc.events import Event
from gnc.history import Signal
from gnc.loop import Controller, Loop, Moment
from gnc.models.actuators import Magnetorquers
from gnc.models.environment import GravityGradient
from gnc.models.environment.constants import EARTH_MU, EARTH_RADIUS
from gnc.models.states import AttitudeState
from gnc.scenarios.attitude import build, detumble_verdict, figures, sections, signals
from gnc.scenarios.attitude.control import WheelControl
from gnc.scenarios.attitude.detumbling import MAGNETOMETER, SUN, Acquisition, DetumbleControl
from gnc.scenarios.attitude.navigation import MekfNavigation
from gnc.scenarios.attitude.satellite import Command, Satellite
from gnc.scenarios.scenario import Prepared, Scenario, ScenarioConfig

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
    nees: Positive = 1.5
    """Upper bound of the mean NEES over its dimension; the model is not perfect, so there is no exact band."""
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


SCENARIO = Scenario(
    "detumble",
    DetumbleConfig,
    prepare,
    detumble_verdict.judge,
    detumble_verdict.draw,
    figures.scene,
    judged=signals.JUDGED | {"pointing_since_s", "wheels_B_Nms"},
    dispersible=build.DISPERSIBLE,
)
