"""Docking of a chaser with a tumbling target: approach to contact, capture, and control of the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.checks import at_least, at_most
from gnc.config import Positive, Section
from gnc.events import Event
from gnc.scenarios.attitude.score import mean, percentile, size
from gnc.scenarios.proximity import build, figures, flight, score
from gnc.scenarios.proximity.capture import Capture
from gnc.scenarios.proximity.control import ApproachControl
from gnc.scenarios.proximity.sections import Chaser, Guidance, PoseControl, ProximityConfig
from gnc.scenarios.proximity.stack import DockingControl
from gnc.scenarios.proximity.stack_signals import MORE
from gnc.scenarios.scenario import Prepared, Scenario, Verdict

if TYPE_CHECKING:
    from xarray import Dataset

Array = Any


class Latches(Section):
    """When the latches close: all four within these bounds."""

    distance_m: Positive = 0.05
    """Between the ports."""
    angle_deg: Positive = 2.0
    """Between their axes and about them."""
    speed_m_s: Positive = 0.05
    """Of one port against the other."""
    rate_deg_s: Positive = 1.0
    """The same as a rate."""


class StackControl(Section):
    """Control of chaser and target as one body."""

    frequency_rad_s: Positive = 0.1
    """Natural frequency of a small error."""
    slow_deg_s: Positive = 0.1
    """The stack is braked until it turns no faster, then held."""
    slow_m_s: Positive = 0.005
    """The same for the velocity of the chaser's centre of mass."""


class Criteria(Section):
    """What a flight must reach; percentiles are over all trials that were captured, the last 20 s for the stack."""

    momentum_jump: Positive = 1e-12
    """Relative change of linear and angular momentum at capture, the largest of all trials."""
    capture_p997_deg: Positive = 1.0
    """99.7th percentile of the angle of the ports at capture."""
    capture_p997_mm_s: Positive = 20.0
    """99.7th percentile of the velocity of the ports at capture."""
    stack_rate_deg_s: Positive = 0.05
    """Rate of the stack, 99.7th percentile."""
    stack_velocity_mm_s: Positive = 2.0
    """Velocity of the chaser's centre of mass, 99.7th percentile."""
    stack_attitude_deg: Positive = 0.5
    """Attitude of the stack from where it is to be held, 99.7th percentile."""
    stack_position_mm: Positive = 50.0
    """Position of the chaser from where it is to be held, 99.7th percentile."""


class DockingConfig(ProximityConfig):
    """A chaser closes to contact with a tumbling target, is captured, and brings the stack to rest.

    The end of a rendezvous, from 10 m on, with the chaser's port half a metre before its centre of mass. Where the
    ports meet within the envelope of the latches, at its own time in each trial, the bodies become one: momentum stays,
    energy falls. The same law goes on with the mass properties of the stack: it brakes, then holds.
    """

    scenario: Literal["docking"] = "docking"
    duration_s: Positive = 540.0
    chaser: Chaser = Chaser(port_m=0.5)
    guidance: Guidance = Guidance(station_m=10.0, final_m=0.01, station_s=40.0, closing_s=60.0)
    latches: Latches = Latches()
    stack: StackControl = StackControl()
    criteria: Criteria = Criteria()


def prepare(config: DockingConfig, seed: int, trials: np.ndarray) -> Prepared:
    """Build the loop of some trials."""
    latches, dq_TB = config.latches, build.docked_pose(config.chaser)
    angle, rate = np.radians([latches.angle_deg, latches.rate_deg_s])
    capture = Capture(dq_TB, np.array([latches.distance_m, angle, latches.speed_m_s, rate]))
    M_T = spatial.transform_inertia(dual_quaternion.conj(dq_TB), build.target_inertia(config.target))
    M = build.chaser_inertia(config.chaser) + M_T
    section = PoseControl(frequency_rad_s=config.stack.frequency_rad_s, damping=config.controller.damping)
    slow = np.array([np.radians(config.stack.slow_deg_s), config.stack.slow_m_s])

    def control(approach: ApproachControl) -> DockingControl:
        return DockingControl(approach, build.law(section, M), slow)

    return flight.prepare(config, seed, trials, control, [Event("capture", capture.happens, capture.act)], MORE)


def judge(config: DockingConfig, flight: Dataset) -> Verdict:
    """Score capture, and the stack in the last 20 s, of the trials that were captured."""
    c, fuel = config.criteria, flight["delta_v_m_s"].values[:, -1]
    lost = _lost(flight)
    kept = ~np.isin(flight["trial"].values, list(lost))
    metrics: dict[str, float] = {"lost": len(lost), "violations": int(score.violations(flight).sum())}
    metrics |= _capture(flight, kept) | _stack(flight, kept)
    metrics["delta_v_m_s"] = mean(fuel[kept])
    metrics |= score.books(flight)
    checks = [
        at_most("lost trials", len(lost), 0),
        at_most("momentum jump at capture", metrics["momentum_jump"], c.momentum_jump),
        at_least("least energy lost at capture [J]", metrics["least_energy_lost_J"], 0.0),
        at_most("angle at capture p99.7 [deg]", metrics["capture_p997_deg"], c.capture_p997_deg),
        at_most("speed at capture p99.7 [mm/s]", metrics["capture_p997_mm_s"], c.capture_p997_mm_s),
        at_most("rate of the stack p99.7 [deg/s]", metrics["stack_rate_deg_s"], c.stack_rate_deg_s),
        at_most("velocity of the stack p99.7 [mm/s]", metrics["stack_velocity_mm_s"], c.stack_velocity_mm_s),
        at_most("attitude of the stack p99.7 [deg]", metrics["stack_attitude_deg"], c.stack_attitude_deg),
        at_most("position of the stack p99.7 [mm]", metrics["stack_position_mm"], c.stack_position_mm),
        *score.book_checks(metrics),
    ]
    ends = {name: flight[name].values[:, -1] for name in ("misfit_m", "misfit_deg", "momentum_jump", "energy_lost_J")}
    per_trial = {"capture_s": flight["t_capture"].values, **ends, "delta_v_m_s": fuel}
    over_time = {"rate_deg_s": size(flight, "chaser_rate_deg_s"), "hold_error_deg": flight["hold_error_deg"].values}
    return Verdict(per_trial, metrics, checks, lost, over_time=over_time)


def _lost(flight: Dataset) -> dict[int, str]:
    lost = score.not_finite(flight, size(flight, "chaser_rate_deg_s"))
    for trial, when in zip(flight["trial"].values.tolist(), flight["t_capture"].values, strict=True):
        if np.isnan(when):
            lost.setdefault(trial, "not captured")
    return lost


def _capture(flight: Dataset, kept: Array) -> dict[str, float]:
    """Return when and how the ports met."""
    when, end = flight["t_capture"].values[kept], {name: flight[name].values[kept, -1] for name in MORE}
    return {
        "capture_first_s": float(np.min(when, initial=np.inf)),
        "capture_last_s": float(np.max(when, initial=-np.inf)),
        "capture_p997_mm": percentile(1e3 * end["misfit_m"]),
        "capture_p997_deg": percentile(end["misfit_deg"]),
        "capture_p997_mm_s": percentile(1e3 * end["misfit_m_s"]),
        "capture_p997_deg_s": percentile(end["misfit_deg_s"]),
        "momentum_jump": percentile(end["momentum_jump"], 100.0),
        "least_energy_lost_J": percentile(end["energy_lost_J"], 0.0),
        "energy_lost_J": mean(end["energy_lost_J"]),
    }


def _stack(flight: Dataset, kept: Array) -> dict[str, float]:
    """Return how still the stack is at the end, 99.7th percentiles."""
    t = flight["time"].values
    end = np.ix_(kept, t >= t[-1] - 20.0)
    return {
        "stack_rate_deg_s": percentile(size(flight, "chaser_rate_deg_s")[end]),
        "stack_velocity_mm_s": percentile(1e3 * size(flight, "chaser_velocity_m_s")[end]),
        "stack_attitude_deg": percentile(flight["hold_error_deg"].values[end]),
        "stack_position_mm": percentile(1e3 * flight["hold_error_m"].values[end]),
    }


JUDGED = frozenset({*MORE, "phase", "in_corridor", "delta_v_m_s", "momentum_gap", "energy_gap"})
SCENARIO = Scenario(
    "docking",
    DockingConfig,
    prepare,
    judge,
    figures.draw_docking,
    figures.scene,
    judged=JUDGED,
    dispersible=build.DISPERSIBLE,
)
