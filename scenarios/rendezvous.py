"""Rendezvous of a chaser with a tumbling target on a slow camera: DQ-EKF on DQVI, pose tracking, thrusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from gnc.checks import at_most
from gnc.config import Positive, Section
from gnc.scenarios.attitude.score import max_per_trial, mean, percentile, rms, size
from gnc.scenarios.proximity import build, figures, score, signals
from gnc.scenarios.proximity.flight import prepare
from gnc.scenarios.proximity.sections import ProximityConfig
from gnc.scenarios.scenario import Scenario, Verdict

if TYPE_CHECKING:
    from xarray import Dataset


class Criteria(Section):
    """What the chaser must reach while it holds before the port, over all trials that are not lost."""

    position_rms_mm: Positive = 10.0
    """Of the chaser's port from the wanted place in the target's frame."""
    position_p997_mm: Positive = 30.0
    """99.7th percentile of the same."""
    attitude_rms_deg: Positive = 0.3
    """Of the chaser's attitude against the target from the wanted one."""
    attitude_p997_deg: Positive = 0.75
    """99.7th percentile of the same."""
    violations: Annotated[int, Field(ge=0)] = 1
    """How many trials may leave the corridor."""
    lost_m: Positive = 0.5
    """A trial that is farther off while holding counts as lost."""
    lost_deg: Positive = 10.0
    """The same for the attitude."""
    nees: Positive = 1.5
    """Upper bound of the mean NEES over its dimension; the torque on the target is no white noise."""


class RendezvousConfig(ProximityConfig):
    """A chaser comes to 1 m of the port of a target that tumbles at 3 deg/s, on a pose every 3 s.

    From a station at 20 m it comes to 5 m, turns onto the docking axis, approaches in 180 s and holds. The filter
    estimates the target's pose and twist in inertial space, by one step of DQVI from measurement to measurement; the
    control runs at 10 Hz on what it predicts. The camera drops 5 % of the measurements and 5 % are outliers.
    Spec: RMS 1 cm and 0.3 deg, p99.7 3 cm and 0.75 deg while holding, none of 50 lost, at most one leaves the corridor.
    """

    scenario: Literal["rendezvous"] = "rendezvous"
    duration_s: Positive = 620.0
    criteria: Criteria = Criteria()


def judge(config: RendezvousConfig, flight: Dataset) -> Verdict:
    """Score the chaser's pose against the target while it holds, of the trials that are not lost."""
    c, hold = config.criteria, score.holding(flight)
    lost = score.lost_trials(flight, c.lost_m, c.lost_deg)
    kept = ~np.isin(flight["trial"].values, list(lost))
    counted, violated = hold & kept[:, None], score.violations(flight)
    metrics: dict[str, float] = {"lost": len(lost), "violations": int(violated.sum())}
    metrics |= score.summary("hold", flight, score.ERRORS, counted)
    metrics |= score.summary("knowledge", flight, score.KNOWLEDGE, counted)
    metrics["nees"] = mean(flight["nees"].values[counted])
    fuel = flight["delta_v_m_s"].values[:, -1]
    metrics["delta_v_m_s"], metrics["delta_v_p997_m_s"] = mean(fuel[kept]), percentile(fuel[kept])
    metrics |= score.books(flight)
    checks = [
        at_most("lost trials", len(lost), 0),
        at_most("trials outside the corridor", metrics["violations"], c.violations),
        at_most("position RMS [mm]", metrics["hold_position_rms_mm"], c.position_rms_mm),
        at_most("position p99.7 [mm]", metrics["hold_position_p997_mm"], c.position_p997_mm),
        at_most("attitude RMS [deg]", metrics["hold_attitude_rms_deg"], c.attitude_rms_deg),
        at_most("attitude p99.7 [deg]", metrics["hold_attitude_p997_deg"], c.attitude_p997_deg),
        at_most("NEES over 12", metrics["nees"], c.nees),
        *score.book_checks(metrics),
    ]
    position, attitude = 1e3 * size(flight, "position_error_m"), size(flight, "attitude_error_deg")
    per_trial = {
        "position_rms_mm": score.over_time(position, hold, rms),
        "position_max_mm": score.over_time(position, hold, np.max),
        "attitude_rms_deg": score.over_time(attitude, hold, rms),
        "attitude_max_deg": score.over_time(attitude, hold, np.max),
        "delta_v_m_s": fuel,
        "recoveries": max_per_trial(flight["recoveries"].values),
        "outside_corridor": violated.astype(float),
    }
    met = [
        score.over_time(position, hold, percentile) <= c.position_p997_mm,
        score.over_time(attitude, hold, percentile) <= c.attitude_p997_deg,
    ]
    over_time = {"position_error_mm": position, "attitude_error_deg": attitude, "pose_nees": flight["nees"].values}
    return Verdict(per_trial, metrics, checks, lost, kept & ~violated & np.all(met, axis=0), over_time)


SCENARIO = Scenario(
    "rendezvous",
    RendezvousConfig,
    prepare,
    judge,
    figures.draw,
    figures.scene,
    judged=signals.JUDGED,
    dispersible=build.DISPERSIBLE,
)
