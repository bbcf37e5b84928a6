"""Pointing of a CubeSat in low Earth orbit, through eclipse, with magnetometer, sun sensor, MEKF, wheels and PD+."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gnc.checks import at_most
from gnc.config import NonNegative, Positive, Section
from gnc.controllers.wheel_allocation import WheelAllocation
from gnc.draws import Draws, column
from gnc.loop import Controller, Loop
from gnc.models.environment import GravityGradient
from gnc.models.states import AttitudeState
from gnc.scenarios.attitude import build, figures, score, sections, signals
from gnc.scenarios.attitude.control import WheelControl
from gnc.scenarios.attitude.navigation import MekfNavigation
from gnc.scenarios.attitude.satellite import Command, Satellite
from gnc.scenarios.scenario import Prepared, Scenario, ScenarioConfig, Verdict

if TYPE_CHECKING:
    from xarray import Dataset


class Criteria(Section):
    """What a flight must reach after `settle_s`, over all trials together."""

    settle_s: NonNegative = 900.0
    """Errors count from here on."""
    sun_p997_deg: Positive = 0.9
    """99.7th percentile of the pointing error in sunlight."""
    eclipse_p997_deg: Positive = 1.8
    """99.7th percentile of the pointing error in the Earth's shadow."""
    lost_deg: Positive = 15.0
    """A trial whose pointing error exceeds this after settling counts as lost."""
    nees: Positive = 1.5
    """Upper bound of the mean NEES over its dimension; the model is not perfect, so there is no exact band."""


class PointingConfig(ScenarioConfig):
    """A 12U CubeSat points at the Earth through eclipse on two coarse sensors; the filter learns its dipole.

    The truth has another inertia, a residual dipole, gravity gradient and drag; flight software knows the nominal
    inertia and the wheels' tachometers. Spec: `p99.7 <= 0.9 deg in sunlight, 1.8 deg in eclipse` at 1 Hz.
    """

    scenario: Literal["pointing"] = "pointing"
    duration_s: Positive = 5600.0
    orbit: sections.Orbit = sections.Orbit()
    vehicle: sections.Vehicle = sections.Vehicle()
    wheels: sections.Wheels = sections.Wheels()
    sensors: dict[str, sections.AnySensor] = {
        "magnetometer": sections.MagnetometerSection(),
        "sun_sensor": sections.SunSensorSection(),
    }
    filter: sections.AnyFilter = sections.MekfSection()
    guidance: sections.PointingGuidance = sections.PointingGuidance()
    controller: sections.AnyController = sections.PdSection()
    start: sections.Start = sections.Start()
    criteria: Criteria = Criteria()


def prepare(config: PointingConfig, seed: int, trials: np.ndarray) -> Prepared:
    """Build the loop of some trials."""
    draws, n, h = Draws(seed, trials), len(trials), config.truth_step_s
    sky = build.sky(config.orbit, h, config.duration_s)
    guide, J = build.guide(config.guidance, sky), np.array(config.vehicle.J_kgm2)
    wheels = build.wheels(config.wheels)
    J_true = draws.inertia("inertia", J, config.vehicle.J_error_percent)
    dipole_B = column(config.vehicle.dipole_Am2) * draws.direction("dipole")
    satellite = Satellite(J_true, sky, build.external(config.vehicle, dipole_B), wheels)
    first = guide(0.0)
    truth = satellite.start(
        draws.near("attitude", first.q_IR, config.start.attitude_deg),
        first.w_R + draws.vector("rate", np.radians(config.start.rate_deg_s)),
        draws.vector("wheels", config.wheels.start_Nms, wheels.count),
    )
    pairs = {name: build.sensor(name, section, draws) for name, section in config.sensors.items()}
    mekf = build.mekf(config.filter, J, pairs)
    navigation = MekfNavigation(
        mekf,
        {name: pair.believed for name, pair in pairs.items()},
        sky,
        GravityGradient(J) if config.vehicle.gravity_gradient else None,
        ungated_s=getattr(config.filter, "ungated_s", 0.0),
    )
    law = build.law(config.controller, J)
    control = WheelControl(law, guide, mekf.state, WheelAllocation(axes_B=wheels.axes_B))
    loop = Loop(
        h=h,
        duration_s=config.duration_s,
        plant=satellite,
        instruments=build.instruments(pairs, sky, draws),
        navigation=navigation,
        controller=Controller(control, 1.0 / config.controller.rate_hz, Command(np.zeros((n, wheels.count)))),
        record_s=config.record_s,
        compiled=build.compilable(
            (config.filter, mekf), (config.controller, law), *((pair.section, pair.true) for pair in pairs.values())
        ),
    )
    return Prepared(
        loop,
        truth,
        _belief(config, mekf, first, satellite.report(truth).rho_B, n),
        law.start((n,)),
        signals.SIGNALS,
        signals.Observer(truth, sky, guide, mekf.state),
        signals.innovation_signals(pairs),
        signals.observe_innovation,
    )


def _belief(config: PointingConfig, mekf: Any, first: Any, rho_B: Any, n: int) -> Any:
    """Return what the filter believes at the start: that it points, as well as the start is known."""
    x = AttitudeState(np.broadcast_to(first.q_IR, (n, 4)), np.broadcast_to(first.w_R, (n, 3)))
    attitude, rate = np.radians(config.start.attitude_deg), np.radians(config.start.rate_deg_s)
    more = build.prior(config.filter, np.array(config.vehicle.J_kgm2))
    extra = {} if more is None else {"C_extras": more}
    return mekf.start(x, build.diagonal([attitude] * 3 + [rate] * 3), rho_B=rho_B, **extra)


def judge(config: PointingConfig, flight: Dataset) -> Verdict:
    """Score the pointing error in sunlight and eclipse, after settling, of the trials that are not lost."""
    c, t = config.criteria, flight["time"].values
    settled, dark = t >= c.settle_s, flight["shadow"].values > 0.5
    pointing, knowledge = score.size(flight, "pointing_error_deg"), score.size(flight, "knowledge_error_deg")
    lost = score.lost_trials(flight, pointing, settled, c.lost_deg, "pointing error")
    kept = ~np.isin(flight["trial"].values, list(lost))
    sun, eclipse = settled & ~dark, settled & dark
    metrics: dict[str, float] = {"lost": len(lost)}
    for name, when in (("sun", sun), ("eclipse", eclipse)):
        metrics |= score.summary(name, pointing[kept][:, when])
        metrics |= score.summary(f"{name}_knowledge", knowledge[kept][:, when])
    metrics["final_deg"] = score.rms(pointing[kept][:, -1])
    metrics["wheel_max_Nms"] = float(np.nanmax(np.abs(flight["wheel_Nms"].values)))
    metrics["momentum_gap"] = float(np.nanmax(flight["momentum_gap"].values))
    checks = [at_most("lost trials", len(lost), 0), at_most("momentum bookkeeping", metrics["momentum_gap"], 1e-9)]
    for name, when, bound in (("sun", sun, c.sun_p997_deg), ("eclipse", eclipse, c.eclipse_p997_deg)):
        if when.any():
            checks.append(at_most(f"pointing p99.7 in {name} [deg]", metrics[f"{name}_p997_deg"], bound))
    if "nees" in flight and settled.any():
        metrics["nees"] = score.mean(flight["nees"].values[kept][:, settled])
        checks.append(at_most("NEES over 6", metrics["nees"], c.nees))
    per_trial = {
        "pointing_rms_deg": score.rms_per_trial(pointing[:, settled]),
        "pointing_max_deg": score.max_per_trial(pointing[:, settled]),
        "knowledge_rms_deg": score.rms_per_trial(knowledge[:, settled]),
        "wheel_max_Nms": np.abs(flight["wheel_Nms"].values).max(axis=(1, 2)),
    }
    bounds = [(sun, c.sun_p997_deg), (eclipse, c.eclipse_p997_deg)]
    met = [score.percentile_per_trial(pointing[:, when]) <= bound for when, bound in bounds if when.any()]
    over_time = {"pointing_error_deg": pointing, "knowledge_error_deg": knowledge}
    if "nees" in flight:
        over_time["nees"] = flight["nees"].values
    return Verdict(per_trial, metrics, checks, lost, kept & np.all(met, axis=0), over_time)


SCENARIO = Scenario(
    "pointing",
    PointingConfig,
    prepare,
    judge,
    figures.draw,
    figures.scene,
    judged=signals.JUDGED,
    dispersible=build.DISPERSIBLE,
)
