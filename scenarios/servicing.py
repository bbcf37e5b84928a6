"""Servicing: an arm moves a part while filter and pose control hold the base against its reaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc import dual_quaternion
from gnc.checks import at_most
from gnc.config import Positive, Section, Vector3
from gnc.controllers.pose import PoseTracking
from gnc.controllers.reference import PoseReference
from gnc.draws import Draws
from gnc.estimators.dqekf import DqEkf
from gnc.history import Signal
from gnc.loop import Controller, Instrument, Loop, Moment
from gnc.models.multibody import TreeState, kinematics
from gnc.models.sensors import RelativePosition, StarTracker
from gnc.scenarios.attitude.signals import innovation_signals, observe_innovation
from gnc.scenarios.bodies import arm, arm_figures, score
from gnc.scenarios.bodies import arm_sections as sections
from gnc.scenarios.bodies.navigation import Dark, PoseNavigation, start_belief
from gnc.scenarios.bodies.servicer import Command, Servicer, ServicerControl
from gnc.scenarios.bodies.signals import POSE_SIGNALS, pose_values
from gnc.scenarios.scenario import Prepared, Scenario, ScenarioConfig, Verdict

if TYPE_CHECKING:
    from xarray import Dataset

Array = Any


class Criteria(Section):
    """What all trials together must reach, from the start of the move on."""

    pointing_p997_deg: Positive = 0.2
    """99.7th percentile of the base's attitude error."""
    position_p997_m: Positive = 0.03
    """99.7th percentile of the base's position error."""
    tip_p997_m: Positive = 0.04
    """99.7th percentile of the tip's error against the plan, which is fixed in inertial space."""
    final_s: Positive = 20.0
    """So long after the move the tip counts as placed:"""
    tip_final_m: Positive = 0.02
    """RMS of the tip's error from then on."""
    nees: Positive = 1.5
    """Upper bound of the mean NEES over its dimension; the model is not perfect, so there is no exact band."""


class ServicingConfig(ScenarioConfig):
    """A servicer swings 20 kg at the end of its arm through 90 deg; pose control holds the base against the reaction.

    The truth is a tree of four bodies by the variational integrator. Flight software believes in nominal masses: a
    filter of one rigid body, its arm half way, that is told the reaction of the planned motion; pose control that
    feeds this reaction forward; servos in the joints. `controller.feedforward = false` leaves the reaction to feedback
    alone: p99.7 of the pointing is then 2.0 deg instead of 0.17. With `filter.knows_arm = false` the filter is lost.
    """

    scenario: Literal["servicing"] = "servicing"
    trials: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    """How many are flown."""
    duration_s: Positive = 180.0
    record_s: Positive = 1.0
    hold_m: Vector3 = (0.0, 0.0, 6.0)
    """The base's pose to hold: this far from the client's beacon, axes aligned."""
    base: sections.Base = sections.Base()
    arm: sections.Arm = sections.Arm()
    move: sections.Move = sections.Move()
    errors: sections.Errors = sections.Errors()
    star_tracker: sections.Tracker = sections.Tracker()
    beacon: sections.Beacon = sections.Beacon()
    filter: sections.Filter = sections.Filter()
    controller: sections.Control = sections.Control()
    start: sections.Start = sections.Start()
    criteria: Criteria = Criteria()


SIGNALS = POSE_SIGNALS | {
    "tip_error_m": Signal("m", "tip of the arm against the plan, inertial axes"),
    "tip_I_m": Signal("m", "tip of the arm, inertial axes"),
    "joint_deg": Signal("deg", "joint angles", ("joint", arm.JOINTS)),
    "joint_error_deg": Signal("deg", "joint angles against the plan", ("joint", arm.JOINTS)),
    "joint_torque_Nm": Signal("N m", "commanded torque of the joints", ("joint", arm.JOINTS)),
    "reaction_N": Signal("N", "force of the base on the arm at its root, turret axes"),
    "reaction_Nm": Signal("N m", "torque of the base on the arm at its root, turret axes, without that of the motor"),
    **{f"{name}_q": Signal("1", f"attitude of the {name}, scalar first") for name in arm.LINKS},
    **{f"{name}_r_m": Signal("m", f"mass centre of the {name}, inertial axes") for name in arm.LINKS},
}
JUDGED = frozenset(
    {
        "attitude_error_deg",
        "position_error_m",
        "tip_error_m",
        "knowledge_error_deg",
        "knowledge_error_m",
        "joint_error_deg",
        "reaction_Nm",
        "nees",
        "momentum_gap",
    }
)


def _sensors(config: ServicingConfig) -> dict[str, Any]:
    tracker, beacon = config.star_tracker, config.beacon
    return {
        "star_tracker": StarTracker(rate_hz=tracker.rate_hz, sigma_arcsec=tracker.sigma_arcsec),
        "beacon": RelativePosition(
            rate_hz=beacon.rate_hz, sigma_m=beacon.sigma_m, sigma_fraction=0.0, dropout=beacon.dropout
        ),
    }


def _instrument(name: str, sensor: Any, draws: Draws) -> Instrument:
    measure = lambda x, t, noise: sensor.measure(x, Dark(), noise)  # noqa: E731
    return Instrument(name, 1.0 / sensor.rate_hz, measure, draws.stream(name, sensor.noise_size))


def prepare(config: ServicingConfig, seed: int, trials: np.ndarray) -> Prepared:
    """Build the loop of some trials."""
    draws, n, c, s = Draws(seed, trials), len(trials), config.controller, config.start
    hold = dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), np.array(config.hold_m))
    nominal = arm.tree(config.base, config.arm)
    plan = arm.plan(nominal, hold, config.move, config.truth_step_s, config.duration_s)
    gain = 1.0 + 0.01 * config.errors.actuator_percent * draws.normal("actuators", 9)
    plant = Servicer(arm.tree(config.base, config.arm, draws, config.errors.mass_percent), gain)
    sigmas = np.repeat([np.radians(s.attitude_deg), s.position_m, np.radians(s.rate_deg_s), s.velocity_m_s], 3)
    off = sigmas * draws.normal("start", 12)
    gamma = np.radians(config.move.from_deg) + np.radians(s.joint_deg) * draws.normal("joints", 3)
    truth = plant.start(dual_quaternion.mul(hold, dual_quaternion.exp(off[:, :6])), off[:, 6:], gamma)
    M, f, sensors = _composite(nominal, plan, config), config.filter, _sensors(config)
    dqekf = DqEkf(M, f.method, np.repeat([f.torque_psd_Nm2s, f.force_psd_N2s], 3))
    reaction = (lambda t: -plan.at(t).wrench_B) if f.knows_arm else None
    law = PoseTracking.tuned(M, c.frequency_rad_s, c.damping)
    limit = np.repeat([c.torque_limit_Nm, c.force_limit_N], 3)
    servo = np.array(c.joint_stiffness_Nm_rad), np.array(c.joint_damping_Nms_rad)
    control = ServicerControl(law, PoseReference(hold), plan, c.feedforward, limit, *servo)
    loop = Loop(
        h=config.truth_step_s,
        duration_s=config.duration_s,
        plant=plant,
        instruments=[_instrument(name, sensor, draws) for name, sensor in sensors.items()],
        navigation=PoseNavigation(dqekf, sensors, Dark(), reaction),
        controller=Controller(control, 1.0 / c.rate_hz, Command(np.zeros((n, 6)), np.zeros((n, 3)))),
        record_s=config.record_s,
    )
    return Prepared(
        loop,
        truth,
        start_belief(dqekf, hold, sigmas, n),
        law.start((n,)),
        SIGNALS,
        lambda moment: _observe(moment, plant, plan, hold),
        innovation_signals(sensors),
        observe_innovation,
    )


def _composite(nominal: Any, plan: arm.Plan, config: ServicingConfig) -> Array:
    """Return the inertia of base and arm as one body, about the base's origin, half way through the move."""
    gamma = plan.at(config.move.start_s + 0.5 * config.move.time_s).gamma
    return kinematics.momentum_matrix(nominal, nominal.state()._replace(gamma=gamma))[:, :6]


def _observe(moment: Moment, plant: Servicer, plan: arm.Plan, hold: Array) -> dict[str, Any]:
    """Return the values of all signals."""
    x, row = moment.truth, plan.at(moment.t)
    state = TreeState(x.dq_IB, x.chi_B, x.gamma, x.rate)
    tip_I = dual_quaternion.to_pose(kinematics.frame_pose(plant.tree, state, arm.TIP))[1]
    q, r = dual_quaternion.to_pose(x.bodies.dq_IC[..., 1:, :])
    return {
        **pose_values(x.dq_IB, x.chi_B, moment.belief, hold, moment.command.wrench_B),
        "momentum_gap": plant.momentum_gap(x),
        "tip_error_m": tip_I - row.tip_I,
        "tip_I_m": tip_I,
        "joint_deg": np.degrees(x.gamma),
        "joint_error_deg": np.degrees(x.gamma - row.gamma),
        "joint_torque_Nm": moment.command.effort,
        "reaction_Nm": x.bodies.before[..., 0, :3],
        "reaction_N": x.bodies.before[..., 0, 3:],
        **{f"{name}_q": q[..., i, :] for i, name in enumerate(arm.LINKS)},
        **{f"{name}_r_m": r[..., i, :] for i, name in enumerate(arm.LINKS)},
    }


def judge(config: ServicingConfig, flight: Dataset) -> Verdict:
    """Score base and tip from the start of the move on, and the tip where it has to be placed."""
    c, t, move = config.criteria, flight["time"].values, config.move
    moved, placed = t >= move.start_s, t >= move.start_s + move.time_s + c.final_s
    names = {"pointing": "attitude_error_deg", "position": "position_error_m", "tip": "tip_error_m"}
    errors = {name: score.size(flight, signal) for name, signal in names.items()}
    lost = score.without_numbers(flight, sum(errors.values()))
    kept = ~np.isin(flight["trial"].values, list(lost))
    metrics: dict[str, float] = {"lost": len(lost)}
    per_trial = {}
    for name, error in errors.items():
        unit = "deg" if name == "pointing" else "m"
        metrics[f"{name}_rms_{unit}"] = score.rms(error[kept][:, moved])
        metrics[f"{name}_p997_{unit}"] = score.percentile(error[kept][:, moved])
        metrics[f"{name}_final_rms_{unit}"] = score.rms(error[kept][:, placed])
        per_trial[f"{name}_max_{unit}"] = score.max_per_trial(error[:, moved])
        per_trial[f"{name}_final_rms_{unit}"] = score.rms_per_trial(error[:, placed])
    metrics["knowledge_rms_deg"] = score.rms(score.size(flight, "knowledge_error_deg")[kept][:, moved])
    metrics["knowledge_rms_m"] = score.rms(score.size(flight, "knowledge_error_m")[kept][:, moved])
    metrics["joint_max_deg"] = score.largest(np.abs(flight["joint_error_deg"].values[kept][:, moved]))
    metrics["reaction_max_Nm"] = score.largest(score.size(flight, "reaction_Nm")[kept][:, moved])
    metrics["nees"] = score.mean(flight["nees"].values[kept][:, moved])
    metrics["momentum_gap"] = score.largest(flight["momentum_gap"].values[kept])
    checks = [
        at_most("lost trials", len(lost), 0),
        at_most("pointing of the base p99.7 [deg]", metrics["pointing_p997_deg"], c.pointing_p997_deg),
        at_most("position of the base p99.7 [m]", metrics["position_p997_m"], c.position_p997_m),
        at_most("tip of the arm p99.7 [m]", metrics["tip_p997_m"], c.tip_p997_m),
        at_most("tip where it is placed, RMS [m]", metrics["tip_final_rms_m"], c.tip_final_m),
        at_most("NEES over 12", metrics["nees"], c.nees),
        at_most("momentum bookkeeping", metrics["momentum_gap"], 1e-9),
    ]
    return Verdict(per_trial, metrics, checks, lost)


SCENARIO = Scenario("servicing", ServicingConfig, prepare, judge, arm_figures.draw, arm_figures.scene, JUDGED)
