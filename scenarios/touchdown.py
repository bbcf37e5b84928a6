"""Touchdown on a small body: descent under attitude hold, then contact with restitution and friction until rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.checks import at_most
from gnc.config import NonNegative, Positive, Section
from gnc.controllers.attitude import AttitudeController
from gnc.controllers.reference import AttitudeReference
from gnc.draws import Draws
from gnc.estimators import consistency
from gnc.estimators.attitude_belief import inertial_error
from gnc.estimators.mekf import Mekf
from gnc.events import Event
from gnc.history import Signal
from gnc.loop import Controller, Instrument, Loop, Moment
from gnc.models import rates
from gnc.models.sensors import StarTracker
from gnc.models.states import AttitudeState
from gnc.scenarios.attitude.signals import innovation_signals, observe_innovation, turn_deg
from gnc.scenarios.bodies import lander_build as build
from gnc.scenarios.bodies import lander_figures, score
from gnc.scenarios.bodies import lander_sections as sections
from gnc.scenarios.bodies.lander import DescentBelief, DescentControl, DescentNavigation, Lander
from gnc.scenarios.bodies.navigation import CERTAIN, Dark
from gnc.scenarios.scenario import Prepared, Scenario, ScenarioConfig, Verdict

if TYPE_CHECKING:
    from xarray import Dataset


Array = Any


class Criteria(Section):
    """What every trial must reach."""

    attitude_deg: Positive = 0.5
    """Largest attitude error against upright along gravity at the first contact."""
    rest_s: Positive = 100.0
    """At rest by then, for `still_s` without a break."""
    still_s: Positive = 1.0
    tilt_deg: Positive = 5.0
    """Largest tilt at rest against the ground's normal: none has tipped over."""
    travel_m: Positive = 1.5
    """Largest horizontal way from the first contact to rest."""
    energy_rise: NonNegative = 1e-12
    """Largest gain of energy in a step beyond the work of control, over the energy at the start."""
    pull: NonNegative = 1e-12
    """Largest impulse towards the ground, over the momentum of the fall."""
    cone: NonNegative = 1e-4
    """How far the impulse of a step may be outside of its friction cone, over the momentum of the fall.

    Impact and smooth stage keep to the cone to rounding. The hold that follows keeps the friction of the load before
    it, and may lessen that load: a few steps per flight end up to some per cent of their own small load outside.
    """
    nees: Positive = 1.5
    """Upper bound of the mean NEES over its dimension before the contact; the inertia is off, so there is no band."""


class TouchdownConfig(ScenarioConfig):
    """A lander falls on a small body, upright by its attitude control, rebounds, slides, and comes to rest.

    Until a foot touches, a MEKF on a star tracker and PD+ hold it upright along gravity by cold gas; then flight
    software is off, and restitution and friction decide. The ground slopes, so that one foot comes first. Slope, laws
    of contact, inertia, speed and attitude differ from trial to trial. The books of linear momentum close over the
    whole flight, those of angular momentum until the contact: beyond it, the solver tells impulses, not their levers.
    """

    scenario: Literal["touchdown"] = "touchdown"
    duration_s: Positive = 120.0
    truth_step_s: Positive = 0.02
    record_s: Positive = 1.0
    lander: sections.Lander = sections.Lander()
    ground: sections.Ground = sections.Ground()
    descent: sections.Descent = sections.Descent()
    star_tracker: sections.Tracker = sections.Tracker()
    filter: sections.Filter = sections.Filter()
    controller: sections.Control = sections.Control()
    criteria: Criteria = Criteria()


SIGNALS = {
    "q_IB": Signal("1", "true attitude, body to inertial, scalar first"),
    "r_IB_m": Signal("m", "centre of mass, inertial axes; z is normal to the ground"),
    "v_I_m_s": Signal("m/s", "velocity of the centre of mass, inertial axes"),
    "w_B_deg_s": Signal("deg/s", "true rate, body axes"),
    "tilt_deg": Signal("deg", "angle of the body's z axis from the normal of the ground"),
    "attitude_error_deg": Signal("deg", "true attitude against upright along gravity, rotation vector, body axes"),
    "knowledge_error_deg": Signal("deg", "true attitude against the estimate, rotation vector; NaN after the contact"),
    "sigma_deg": Signal("deg", "what the filter believes of its attitude error, one sigma; NaN after the contact"),
    "nees": Signal("1", "normalised error of attitude and momentum, over its 6 dimensions; NaN after the contact"),
    "torque_Nm": Signal("N m", "commanded torque, body axes"),
    "energy_J": Signal("J", "kinetic and potential energy, above that of standing at the origin"),
    "energy_rise_J": Signal("J", "largest gain of energy in a step so far, beyond the work of control"),
    "outside_cone_Ns": Signal("N s", "farthest that an impulse was outside of its friction cone so far"),
    "outside_cone_steps": Signal("1", "steps so far in which an impulse was outside of its friction cone"),
    "pull_Ns": Signal("N s", "largest impulse towards the ground so far"),
    "unsolved": Signal("1", "steps so far whose contacts did not converge"),
    "momentum_gap": Signal("1", "momentum less start and impulses, over all that was handled"),
    "load_N": Signal("N", "force of the ground along its normal, mean of the last step"),
}
JUDGED = frozenset(
    {
        "r_IB_m",
        "v_I_m_s",
        "tilt_deg",
        "attitude_error_deg",
        "energy_J",
        "energy_rise_J",
        "outside_cone_Ns",
        "outside_cone_steps",
        "pull_Ns",
        "unsolved",
        "nees",
        "momentum_gap",
    }
)


def prepare(config: TouchdownConfig, seed: int, trials: np.ndarray) -> Prepared:
    """Build the loop of some trials."""
    draws, n, c, d = Draws(seed, trials), len(trials), config.controller, config.descent
    plant = Lander(build.body(config, draws), 2.0 * config.criteria.still_s)
    truth = plant.start(build.start(config, draws))
    J, q_IR = np.array(config.lander.J_kgm2), build.upright(config, draws)
    sensor = StarTracker(rate_hz=config.star_tracker.rate_hz, sigma_arcsec=config.star_tracker.sigma_arcsec)
    mekf = Mekf(J, torque_psd=config.filter.torque_psd_Nm2s)
    guess = AttitudeState(q_IR, np.zeros((n, 3)))
    sigmas = np.maximum(np.radians(np.repeat([d.attitude_deg, d.rate_deg_s], 3)), CERTAIN)
    belief = DescentBelief(mekf.start(guess, np.diag(sigmas**2)), np.zeros(n, bool))
    law = AttitudeController.tuned(J, c.frequency_rad_s, c.damping)
    control = DescentControl(law, mekf.state, AttitudeReference(q_IR), c.torque_limit_Nm)
    tracker = Instrument(
        "star_tracker",
        1.0 / sensor.rate_hz,
        lambda x, t, noise: sensor.measure(x, Dark(), noise),
        draws.stream("star tracker", sensor.noise_size),
    )
    loop = Loop(
        h=config.truth_step_s,
        duration_s=config.duration_s,
        plant=plant,
        instruments=[tracker],
        navigation=DescentNavigation(mekf, {"star_tracker": sensor}),
        controller=Controller(control, 1.0 / c.rate_hz, np.zeros((n, 3))),
        events=[
            Event("contact", lambda x, t: x.touched),
            Event("rest", lambda x, t: x.still_s >= config.criteria.still_s),
        ],
        record_s=config.record_s,
    )
    return Prepared(
        loop,
        truth,
        belief,
        law.start((n,)),
        SIGNALS,
        lambda moment: _observe(moment, plant, q_IR, config),
        innovation_signals(["star_tracker"]),
        observe_innovation,
    )


def _observe(moment: Moment, plant: Lander, q_IR: Array, config: TouchdownConfig) -> dict[str, Any]:
    """Return the values of all signals."""
    x, belief, ledger = moment.truth, moment.belief.filter, moment.truth.ledger
    flying = np.where(moment.belief.off | x.touched, np.nan, 1.0)
    P_B = rates.to_momentum(x.w_B, plant.body.Theta, np.zeros(3))
    error, C = inertial_error(belief.q_IB, belief.P_B, belief.C, x.q_IB, P_B)
    rest = plant.body.mass * config.ground.gravity_m_s2 * config.lander.foot_height_m
    return {
        **{"q_IB": x.q_IB, "r_IB_m": x.r_IB, "v_I_m_s": x.v_I, "w_B_deg_s": np.degrees(x.w_B)},
        "tilt_deg": _tilt_deg(x.q_IB),
        "attitude_error_deg": turn_deg(q_IR, x.q_IB),
        "knowledge_error_deg": turn_deg(belief.q_IB, x.q_IB) * flying[:, None],
        "sigma_deg": np.degrees(np.sqrt(np.stack([belief.C[:, i, i] for i in range(3)], axis=-1))) * flying[:, None],
        "nees": consistency.nees(error, C) / 6.0 * flying,
        "torque_Nm": moment.command,
        "energy_J": plant.energy(x) - rest,
        "energy_rise_J": ledger.rise,
        "outside_cone_Ns": ledger.outside,
        "outside_cone_steps": ledger.outside_steps,
        "pull_Ns": ledger.pull,
        "unsolved": ledger.unsolved,
        "momentum_gap": plant.gap(x),
        "load_N": x.load_Ns / config.truth_step_s,
    }


@batched("(4)->()")
def _tilt_deg(q_IB):
    """Return the angle of the body's z axis from the inertial one."""
    x, y, z = quaternion.to_matrix(q_IB)[:, 2]
    return np.arctan2(np.sqrt(x * x + y * y), z) * (180.0 / np.pi)


def judge(config: TouchdownConfig, flight: Dataset) -> Verdict:
    """Score the tilt at the contact, the way to rest, and whether the laws of contact were kept."""
    c, t = config.criteria, flight["time"].values
    contact, rest = flight["t_contact"].values, flight["t_rest"].values
    lost = score.without_numbers(flight, score.size(flight, "r_IB_m"))
    for trial, at in zip(flight["trial"].values.tolist(), rest, strict=True):
        if trial not in lost and not at <= config.duration_s:
            lost[trial] = "still moving at the end"
    kept = ~np.isin(flight["trial"].values, list(lost))
    before = t[None, :] < contact[:, None]
    touch = np.maximum(before.sum(axis=1) - 1, 0)  # the last record before the contact
    rows, r = np.arange(len(touch)), flight["r_IB_m"].values
    fall = config.lander.mass_kg * np.sqrt(2.0 * flight["energy_J"].values[:, 0] / config.lander.mass_kg)
    per_trial = {
        "contact_s": contact,
        "rest_s": rest,
        "contact_error_deg": score.size(flight, "attitude_error_deg")[rows, touch],
        "contact_tilt_deg": flight["tilt_deg"].values[rows, touch],
        "contact_speed_m_s": score.size(flight, "v_I_m_s")[rows, touch],
        "rest_tilt_deg": flight["tilt_deg"].values[:, -1],
        "travel_m": np.hypot(*(r[:, -1] - r[rows, touch])[:, :2].T),
        "energy_rise": flight["energy_rise_J"].values[:, -1] / flight["energy_J"].values[:, 0],
        "outside_cone": flight["outside_cone_Ns"].values[:, -1] / fall,
        "outside_cone_steps": flight["outside_cone_steps"].values[:, -1],
        "pull": flight["pull_Ns"].values[:, -1] / fall,
        "unsolved_steps": flight["unsolved"].values[:, -1],
    }
    worst = {
        f"worst_{name}": float(np.max(values[kept])) if kept.any() else np.nan for name, values in per_trial.items()
    }
    nees = flight["nees"].values[kept]
    metrics = {"lost": len(lost), **worst, "nees": score.mean(nees)}
    metrics["momentum_gap"] = score.largest(flight["momentum_gap"].values[kept])
    checks = [
        at_most("lost trials", len(lost), 0),
        at_most("attitude error at the contact, worst [deg]", worst["worst_contact_error_deg"], c.attitude_deg),
        at_most("time of rest, worst [s]", worst["worst_rest_s"], c.rest_s),
        at_most("tilt at rest, worst [deg]", worst["worst_rest_tilt_deg"], c.tilt_deg),
        at_most("way from contact to rest, worst [m]", worst["worst_travel_m"], c.travel_m),
        at_most("energy gained in a step, relative", worst["worst_energy_rise"], c.energy_rise),
        at_most("impulse outside of the friction cone, relative", worst["worst_outside_cone"], c.cone),
        at_most("pull of the ground, relative", worst["worst_pull"], c.pull),
        at_most("NEES over 6 before the contact", metrics["nees"], c.nees),
        at_most("momentum bookkeeping", metrics["momentum_gap"], 1e-9),
    ]
    return Verdict(per_trial, metrics, checks, lost)


SCENARIO = Scenario("touchdown", TouchdownConfig, prepare, judge, lander_figures.draw, lander_figures.scene, JUDGED)
