"""Release of cargo under pose control: the carrier recoils, and filter and controller go on without the cargo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gnc import dual_quaternion
from gnc.checks import at_least, at_most
from gnc.config import Positive, Section, Vector3
from gnc.controllers.pose import PoseTracking
from gnc.controllers.reference import PoseReference
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.events import Event
from gnc.history import Signal
from gnc.loop import Controller, Instrument, Loop, Moment
from gnc.models.sensors import RelativePose
from gnc.scenarios.attitude.signals import innovation_signals, observe_innovation
from gnc.scenarios.bodies import books, carrier_figures, score
from gnc.scenarios.bodies import carrier_build as build
from gnc.scenarios.bodies import carrier_sections as sections
from gnc.scenarios.bodies.carrier import Carrier
from gnc.scenarios.bodies.navigation import start_belief
from gnc.scenarios.bodies.signals import POSE_SIGNALS, pose_values
from gnc.scenarios.scenario import Prepared, Scenario, ScenarioConfig, Verdict

if TYPE_CHECKING:
    from xarray import Dataset

Array = Any


class Criteria(Section):
    """What every trial must reach."""

    back_s: Positive = 60.0
    """So long after the release the carrier must be back, and stay:"""
    position_m: Positive = 0.05
    attitude_deg: Positive = 1.0
    clearance_m: float = 0.015
    """Least clearance at any time after the release; it begins at 0.02 m."""
    away_m: Positive = 5.0
    """Least clearance at the end."""
    tip_off_deg_s: Positive = 5.0
    """Largest rate of the cargo."""
    nees: Positive = 1.5
    """Upper bound of the mean NEES over its dimension; the model is not perfect, so there is no exact band."""


class SeparationConfig(ScenarioConfig):
    """A carrier holds its pose before a station, lets its cargo go by a spring, and is back in place within a minute.

    The spring pushes beside the carrier's centre of mass, so that it turns and recoils. Filter and controller know the
    nominal masses before and after, and the nominal push; the truth of each trial has others.
    """

    scenario: Literal["separation"] = "separation"
    duration_s: Positive = 240.0
    record_s: Positive = 1.0
    hold_m: Vector3 = (0.0, 0.0, 8.0)
    """The pose to hold: this far from the station, axes aligned."""
    carrier: sections.Body = sections.Body(
        mass_kg=200.0, centre_m=(0, 0, 0), J_kgm2=((58, 2, -1), (2, 55, 1.5), (-1, 1.5, 48)), size_m=(1.2, 1.2, 1.4)
    )
    cargo: sections.Body = sections.Body(
        mass_kg=50.0,
        centre_m=(0.10, -0.05, 1.02),
        J_kgm2=((4.2, 0, 0), (0, 4.2, 0), (0, 0, 5.3)),
        size_m=(0.8, 0.8, 0.6),
    )
    release: sections.Release = sections.Release()
    errors: sections.Errors = sections.Errors()
    camera: sections.Camera = sections.Camera()
    filter: sections.Filter = sections.Filter()
    controller: sections.Control = sections.Control()
    start: sections.Start = sections.Start()
    criteria: Criteria = Criteria()


SIGNALS = POSE_SIGNALS | {
    "cargo_q": Signal("1", "attitude of the cargo, scalar first"),
    "cargo_r_m": Signal("m", "centre of the cargo's box, inertial axes"),
    "cargo_rate_deg_s": Signal("deg/s", "rate of the cargo, its axes"),
    "clearance_m": Signal("m", "height of the cargo's lowest corner over the carrier's face"),
    "closest_m": Signal("m", "least clearance since the release, at any step of the truth"),
    "parting_momentum": Signal("1", "relative error of momentum at the release"),
    "parting_energy": Signal("1", "relative error of energy at the release"),
    "spent_Ns": Signal("N s", "impulse of the forces commanded so far"),
}
JUDGED = frozenset(
    {
        "position_error_m",
        "attitude_error_deg",
        "cargo_rate_deg_s",
        "closest_m",
        "clearance_m",
        "spent_Ns",
        "knowledge_error_m",
        "knowledge_error_deg",
        "nees",
        "parting_momentum",
        "parting_energy",
        "momentum_gap",
    }
)


def prepare(config: SeparationConfig, seed: int, trials: np.ndarray) -> Prepared:
    """Build the loop of some trials."""
    _on_the_clock(config)
    draws, n, c = Draws(seed, trials), len(trials), config.controller
    plant = build.truth(config, draws)
    M_cargo, M = build.inertia6(config.cargo), build.inertia6(config.carrier)
    hold = dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), np.array(config.hold_m))
    s = config.start
    sigmas = np.repeat([np.radians(s.attitude_deg), s.position_m, np.radians(s.rate_deg_s), s.velocity_m_s], 3)
    off = sigmas * draws.normal("start", 12)
    truth = plant.start(dual_quaternion.mul(hold, dual_quaternion.exp(off[:, :6])), off[:, 6:])
    camera = config.camera
    sensor = RelativePose(
        **{"rate_hz": camera.rate_hz, "sigma_m": camera.sigma_m, "sigma_fraction": camera.sigma_fraction},
        **{"sigma_near_deg": camera.sigma_deg, "sigma_far_deg": camera.sigma_deg, "dropout": camera.dropout},
    )
    navigation = build.navigation(config, sensor, M, M_cargo)
    before, after = (PoseTracking.tuned(M, c.frequency_rad_s, c.damping) for M in (M + M_cargo, M))
    limit = np.repeat([c.torque_limit_Nm, c.force_limit_N], 3)
    control = build.HoldControl(before, after, config.release.time_s, PoseReference(hold), limit)
    instrument = Instrument(
        "camera", 1.0 / camera.rate_hz, lambda x, t, noise: sensor.measure(x, None, noise), draws.stream("camera", 8)
    )
    loop = Loop(
        h=config.truth_step_s,
        duration_s=config.duration_s,
        plant=plant,
        instruments=[instrument],
        navigation=navigation,
        controller=Controller(control, 1.0 / c.rate_hz, np.zeros((n, 6))),
        events=[Event("release", plant.due, plant.release)],
        record_s=config.record_s,
    )
    belief = start_belief(navigation.before.dqekf, hold, sigmas, n)
    return Prepared(
        loop,
        truth,
        belief,
        before.start((n,)),
        SIGNALS,
        lambda moment: _observe(moment, plant, hold, np.array(config.cargo.centre_m)),
        innovation_signals(["camera"]),
        observe_innovation,
    )


def _on_the_clock(config: SeparationConfig) -> None:
    """Refuse a release between two commands, or after the end."""
    at, rate = config.release.time_s, config.controller.rate_hz
    if abs(at * rate - round(at * rate)) > 1e-6 or at >= config.duration_s:
        end = f"before the end at {config.duration_s:g} s"
        raise InputError(
            f"release.time_s: {at:g} s; give a whole number of control intervals of {1.0 / rate:g} s {end}"
        )


def _observe(moment: Moment, plant: Carrier, hold: Array, centre_B: Array) -> dict[str, Any]:
    """Return the values of all signals."""
    x = moment.truth
    return {
        **pose_values(x.dq_IB, x.chi_B, moment.belief, hold, moment.command),
        "momentum_gap": books.gap(x.books, plant.momentum(x, moment.t)),
        "cargo_q": x.cargo.dq_IB[..., :4],
        "cargo_r_m": dual_quaternion.transform_point(x.cargo.dq_IB, centre_B),
        "cargo_rate_deg_s": np.degrees(x.cargo.chi_B[..., :3]),
        "clearance_m": plant.clearance(x, x.cargo),
        "closest_m": x.closest_m,
        "parting_momentum": x.parting[..., 0],
        "parting_energy": x.parting[..., 1],
        "spent_Ns": x.spent[..., 1],
    }


def judge(config: SeparationConfig, flight: Dataset) -> Verdict:
    """Score the carrier's pose after its time to come back, the clearance and the cargo's rate."""
    c, t, release = config.criteria, flight["time"].values, config.release.time_s
    back, held = t >= release + c.back_s, (t >= 0.5 * release) & (t < release)
    position, attitude = score.size(flight, "position_error_m"), score.size(flight, "attitude_error_deg")
    lost = score.without_numbers(flight, position + attitude)
    kept = ~np.isin(flight["trial"].values, list(lost))
    tip_off = score.max_per_trial(score.size(flight, "cargo_rate_deg_s")[:, t >= release])
    closest, away = flight["closest_m"].values[:, -1], flight["clearance_m"].values[:, -1]
    per_trial = {
        "back_s": score.back_within(t, release, (position <= c.position_m) & (attitude <= c.attitude_deg)),
        "position_max_m": score.max_per_trial(position[:, back]),
        "attitude_max_deg": score.max_per_trial(attitude[:, back]),
        "recoil_max_m": score.max_per_trial(position[:, t >= release]),
        "recoil_max_deg": score.max_per_trial(attitude[:, t >= release]),
        "closest_m": closest,
        "away_m": away,
        "tip_off_deg_s": tip_off,
        "spent_Ns": flight["spent_Ns"].values[:, -1],
    }
    worst = {name: score.largest(values[kept]) for name, values in per_trial.items()}
    metrics = {"lost": len(lost), **{f"worst_{k}": v for k, v in worst.items() if k not in ("closest_m", "away_m")}}
    metrics |= {"least_closest_m": -score.largest(-closest[kept]), "least_away_m": -score.largest(-away[kept])}
    metrics |= {"held_rms_m": score.rms(position[kept][:, held]), "held_rms_deg": score.rms(attitude[kept][:, held])}
    metrics |= {"knowledge_rms_m": score.rms(score.size(flight, "knowledge_error_m")[kept][:, back])}
    metrics |= {"knowledge_rms_deg": score.rms(score.size(flight, "knowledge_error_deg")[kept][:, back])}
    metrics["nees"] = score.mean(flight["nees"].values[kept][:, t >= 0.5 * release])
    metrics |= {name: score.largest(flight[name].values[kept, -1]) for name in ("parting_momentum", "parting_energy")}
    metrics["momentum_gap"] = score.largest(flight["momentum_gap"].values[kept])
    checks = [
        at_most("lost trials", len(lost), 0),
        at_most(f"position {c.back_s:g} s after the release, worst [m]", worst["position_max_m"], c.position_m),
        at_most(f"attitude {c.back_s:g} s after the release, worst [deg]", worst["attitude_max_deg"], c.attitude_deg),
        at_least("clearance to the cargo, least [m]", metrics["least_closest_m"], c.clearance_m),
        at_least("clearance at the end, least [m]", metrics["least_away_m"], c.away_m),
        at_most("tip-off rate of the cargo, worst [deg/s]", worst["tip_off_deg_s"], c.tip_off_deg_s),
        at_most("NEES over 12", metrics["nees"], c.nees),
        at_most("momentum at the release", metrics["parting_momentum"], 1e-12),
        at_most("energy at the release", metrics["parting_energy"], 1e-12),
        at_most("momentum bookkeeping", metrics["momentum_gap"], 1e-9),
    ]
    return Verdict(per_trial, metrics, checks, lost)


SCENARIO = Scenario("separation", SeparationConfig, prepare, judge, carrier_figures.draw, carrier_figures.scene, JUDGED)
