"""A fast tumble filtered at 0.1 Hz, then captured with wheels; other filters fly the same trials beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.controllers.reference import AttitudeReference
from gnc.controllers.wheel_allocation import WheelAllocation
from gnc.history import Signal
from gnc.loop import Controller, Loop, Moment
from gnc.scenarios.attitude import build, figures, free, score, sections, signals
from gnc.scenarios.attitude.control import WheelControl
from gnc.scenarios.attitude.fleet import Fleet, one
from gnc.scenarios.attitude.free_signals import CAPTURE_SIGNALS, MotionObserver
from gnc.scenarios.attitude.navigation import MekfNavigation
from gnc.scenarios.attitude.satellite import Command, Satellite
from gnc.scenarios.config import NonNegative, Positive, Section
from gnc.scenarios.draws import Draws
from gnc.scenarios.papers.case import Check, at_most, within
from gnc.scenarios.plots import COLOURS
from gnc.scenarios.scenario import Prepared, Scenario, ScenarioConfig, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

Array = Any
OURS, STRONG = "mekf-vi4", "mekf-rk4"
FILTERS: dict[str, sections.AnyFilter] = {  # by the names of the studies
    "mekf-vi4": sections.MekfSection(method="vi4", dipole_sigma_Am2=0.0),
    "mekf-rk4": sections.MekfSection(method="rk4", dipole_sigma_Am2=0.0),
    "mekf-rk4-one-step": sections.MekfSection(method="rk4", substeps=False, dipole_sigma_Am2=0.0),
    "mekf-midpoint": sections.StandardMekfSection(linearisation="midpoint"),
    "mekf-euler": sections.StandardMekfSection(linearisation="euler"),
    "mekf-vi2": sections.MekfSection(method="vi2", substeps=False, dipole_sigma_Am2=0.0),
    "mekf-vi2-substeps": sections.MekfSection(method="vi2", dipole_sigma_Am2=0.0),
}
FilterName = Literal[
    "mekf-vi4", "mekf-rk4", "mekf-rk4-one-step", "mekf-midpoint", "mekf-euler", "mekf-vi2", "mekf-vi2-substeps"
]
ERRORS = {
    "filter_pointing_deg": "pointing error of each filter's own loop",
    "filter_knowledge_deg": "attitude error of each filter",
}


class Capture(Section):
    """The manoeuvre: from a free tumble to rest at the inertial axes."""

    start_s: NonNegative = 300.0
    """Until then nothing is commanded, and filters take one interval of the sensors at a time."""


class Comparators(Section):
    """Filters that fly the same trials, each in a closed loop of its own, at each of the process noises.

    Their gate is that of `filter`.
    """

    filters: tuple[FilterName, ...] = ("mekf-vi4", "mekf-rk4", "mekf-rk4-one-step", "mekf-midpoint", "mekf-vi2")
    """mekf-vi4, mekf-rk4 and mekf-vi2-substeps divide their steps; the others take one per sample. None: []."""
    torque_psd_Nm2s: tuple[NonNegative, ...] = (1e-8, 1e-5, 1e-4)
    """Power spectral densities of the torque that they do not know [N^2 m^2 s]. The larger two cover the error of the
    inertia; the least is the best for a filter whose steps are accurate, and shows which are not."""


class Criteria(Section):
    """What a flight must reach after `settle_s`, over all trials together."""

    settle_s: NonNegative = 500.0
    """Final errors count from here on."""
    final_rms_deg: Positive = 2.5
    """RMS of the pointing error. A prototype had 1.3 deg at 1e-5 and 1.8 deg at 1e-4; here they are 1.9 and 2.1."""
    nees: Positive = 1.5
    """Upper bound of the mean NEES over its dimension in the tumble; the model is not perfect: there is no band."""
    lost_deg: Positive = 15.0
    """A trial whose pointing error exceeds this after settling counts as lost."""
    tie: Positive = 0.1
    """By how much the final RMS of RK4 with substeps may differ from that of mekf-vi4, relative."""


class TumbleCaptureConfig(ScenarioConfig):
    """A tumble of 8.8 deg/s is filtered at 0.1 Hz, 88 deg a sample, then captured by wheels; none may be lost.

    The inertia is off by 2 %, so filters need process noise; the same levels serve all of them, without tuning.
    Filters that take one step per sample lose accuracy or trials where the noise does not hide their error. All that
    divide their steps tie, RK4 with its own transition matrix among them: what counts is the accuracy of a step, and
    it is checked that they tie. The wheels are large enough for the momentum of the tumble, 0.37 N m s.
    """

    scenario: Literal["tumble-capture"] = "tumble-capture"
    trials: Annotated[int, Field(ge=1, le=1_000_000)] = 24
    """How many are flown."""
    duration_s: Positive = 600.0
    body: free.FreeBody = free.FreeBody(J_error_percent=2.0)
    start: free.TumbleStart = free.TumbleStart()
    sensors: free.Directions = free.Directions()
    wheels: sections.Wheels = sections.Wheels(torque_limit_Nm=0.2, momentum_limit_Nms=0.6, start_Nms=0.0)
    filter: sections.AnyFilter = sections.MekfSection(torque_psd_Nm2s=1e-5, dipole_sigma_Am2=0.0)
    controller: sections.AnyController = sections.PdSection(rate_hz=10.0)
    capture: Capture = Capture()
    comparators: Comparators = Comparators()
    criteria: Criteria = Criteria()


def variants(config: TumbleCaptureConfig) -> dict[str, Any]:
    """Return the sections of the comparators by label, such as mekf-rk4_q1e-5."""
    c, same = config.comparators, ("gate_probability", "ungated_s")
    gate = {key: getattr(config.filter, key) for key in same if hasattr(config.filter, key)}
    return {
        label(name, psd): FILTERS[name].model_copy(update={**gate, "torque_psd_Nm2s": psd})
        for name in c.filters
        for psd in c.torque_psd_Nm2s
    }


def label(name: str, psd: float) -> str:
    """Return the name of a filter with its process noise."""
    return f"{name}_q{np.format_float_scientific(psd, trim='-', exp_digits=1)}"


def prepare(config: TumbleCaptureConfig, seed: int, trials: np.ndarray) -> Prepared:
    """Build the loop of some trials: the filter's, and those of all comparators beside it."""
    draws, n, J = Draws(seed, trials), len(trials), np.array(config.body.J_kgm2)
    space: Any = free.FreeSpace()
    wheels, known, first = build.wheels(config.wheels), free.sensors(config.sensors), free.first_state(config.start, n)
    body = Satellite(draws.inertia("inertia", J, config.body.J_error_percent), space, None, wheels)
    others = variants(config)
    lead = (1 + len(others), n)
    spun = np.broadcast_to(draws.vector("wheels", config.wheels.start_Nms, wheels.count), (*lead, wheels.count))
    truth = body.start(*(np.broadcast_to(part, (*lead, part.shape[-1])) for part in first), spun)
    estimate, rho_B = free.first_estimate(config.start, known, first, draws), body.report(truth).rho_B[0]
    fleet, belief = [], []
    for section in (config.filter, *others.values()):
        mekf, more = build.mekf(section, J, {}), build.prior(section, J)
        fleet.append(MekfNavigation(mekf, known, space, ungated_s=getattr(section, "ungated_s", 0.0)))
        belief.append(mekf.start(*estimate, rho_B=rho_B, **({} if more is None else {"C_extras": more})))
    navigation, law = Fleet(fleet), build.law(config.controller, J)
    reference = AttitudeReference(np.array([1.0, 0.0, 0.0, 0.0]))
    control = WheelControl(law, lambda t: reference, navigation.state, WheelAllocation(axes_B=wheels.axes_B))
    idle = Command(np.zeros((*lead, wheels.count)))
    loop = Loop(
        h=config.truth_step_s,
        duration_s=config.duration_s,
        plant=body,
        instruments=free.instruments(known, draws),
        navigation=navigation,
        controller=Controller(control, 1.0 / config.controller.rate_hz, idle, first_s=config.capture.start_s),
        record_s=config.record_s,
    )
    parts = ("filter", tuple(others))
    return Prepared(
        loop,
        truth,
        tuple(belief),
        law.start(lead),
        CAPTURE_SIGNALS | {name: Signal("deg", about, parts) for name, about in ERRORS.items()},
        Observer(navigation, MotionObserver(one(truth, 0), fleet[0].mekf.state), reference.q_IR),
        signals.innovation_signals(known),
        signals.observe_innovation,
    )


@dataclass(frozen=True)
class Observer:
    """Turns a moment into signals: all of the first filter's loop, the errors of the others."""

    fleet: Fleet
    motion: MotionObserver
    q_IR: Array

    def __call__(self, moment: Moment) -> Mapping[str, Any]:
        """Return the values of all signals."""
        x, q_IB = moment.truth, self.fleet.state(moment.belief).q_IB
        pointing, knowledge = signals.turn_deg(self.q_IR, x.q_IB), signals.turn_deg(q_IB, x.q_IB)
        size = lambda error: np.sqrt(np.sum(np.square(error[1:]), axis=-1)).T  # noqa: E731
        first = moment._replace(truth=one(x, 0), belief=moment.belief[0])
        values = {
            **self.motion(first),
            "pointing_error_deg": pointing[0],
            "wheel_Nms": x.wheels[0],
            "wheel_torque_Nm": moment.command.wheels[0],
        }
        others = {"filter_pointing_deg": size(pointing), "filter_knowledge_deg": size(knowledge)}
        return values | (others if len(pointing) > 1 else {})


def judge(config: TumbleCaptureConfig, flight: Dataset) -> Verdict:
    """Count the trials that each filter loses, and score the final pointing error of the others."""
    c, t = config.criteria, flight["time"].values
    final = t >= c.settle_s
    pointing, knowledge = score.size(flight, "pointing_error_deg"), score.size(flight, "knowledge_error_deg")
    lost = score.lost_trials(flight, pointing, final, c.lost_deg, "pointing error")
    kept = ~np.isin(flight["trial"].values, list(lost))
    metrics = {"lost": len(lost)} | scored(config, t, pointing, knowledge, kept, "")
    metrics["wheel_max_Nms"] = float(np.nanmax(np.abs(flight["wheel_Nms"].values)))
    metrics["momentum_gap"] = float(np.nanmax(flight["momentum_gap"].values))
    checks = [at_most("lost trials", len(lost), 0), at_most("momentum bookkeeping", metrics["momentum_gap"], 1e-9)]
    if final.any():
        checks.append(at_most("final pointing RMS [deg]", metrics["final_rms_deg"], c.final_rms_deg))
    if "filter_pointing_deg" in flight:
        metrics |= compared(config, flight)
        checks += comparisons(config, metrics)
    tumbling = _tumbling(config, t)
    if "nees" in flight and tumbling.any():
        metrics["nees"] = score.mean(flight["nees"].values[kept][:, tumbling])
        checks.append(at_most("NEES over 6 in the tumble", metrics["nees"], c.nees))
    per_trial = {
        "final_rms_deg": score.rms_per_trial(pointing[:, final]),
        "tumble_rms_deg": score.rms_per_trial(knowledge[:, tumbling]),
        "wheel_max_Nms": np.abs(flight["wheel_Nms"].values).max(axis=(1, 2)),
    }
    return Verdict(per_trial, metrics, checks, lost)


def _tumbling(config: TumbleCaptureConfig, t: Array) -> Array:
    """Tell which times are in the second half of the tumble."""
    return (t >= 0.5 * config.capture.start_s) & (t <= config.capture.start_s)


def scored(
    config: TumbleCaptureConfig, t: Array, pointing: Array, knowledge: Array, kept: Array, suffix: str
) -> dict[str, float]:
    """Return RMS errors of the trials that are kept: of knowledge in the tumble, of both at the end."""
    final = t >= config.criteria.settle_s
    return {
        f"tumble_rms_deg{suffix}": score.rms(knowledge[kept][:, _tumbling(config, t)]),
        f"final_rms_deg{suffix}": score.rms(pointing[kept][:, final]),
        f"final_knowledge_rms_deg{suffix}": score.rms(knowledge[kept][:, final]),
    }


def compared(config: TumbleCaptureConfig, flight: Dataset) -> dict[str, float]:
    """Return what each comparator lost, and the errors of the trials that it kept."""
    t, found = flight["time"].values, {}
    for name in flight["filter"].values.tolist():
        pointing, knowledge = (flight[signal].sel(filter=name).values for signal in ERRORS)
        far = np.nanmax(pointing[:, t >= config.criteria.settle_s], axis=1, initial=0.0) > config.criteria.lost_deg
        kept = np.isfinite(pointing).all(axis=1) & np.isfinite(knowledge).all(axis=1) & ~far
        found |= {f"lost_{name}": int(np.sum(~kept))} | scored(config, t, pointing, knowledge, kept, f"_{name}")
    return found


def comparisons(config: TumbleCaptureConfig, metrics: Mapping[str, float]) -> list[Check]:
    """Check that ours loses none at any process noise, and that RK4 ties once it divides its steps too."""
    c, checks = config.comparators, []
    for psd in c.torque_psd_Nm2s:
        ours, strong = label(OURS, psd), label(STRONG, psd)
        if OURS in c.filters:
            checks.append(at_most(f"lost by {ours}", metrics[f"lost_{ours}"], 0))
        if {OURS, STRONG} <= set(c.filters):
            ratio = metrics[f"final_rms_deg_{strong}"] / metrics[f"final_rms_deg_{ours}"]
            name = f"all that divide their steps tie: final RMS, {strong} over {ours}"
            checks.append(within(name, ratio, 1.0 - config.criteria.tie, 1.0 + config.criteria.tie))
    return checks


def draw(config: TumbleCaptureConfig, flight: Dataset) -> Mapping[str, Any]:
    """Return the figures by name."""
    found = dict(figures.draw(config, flight))
    if "filter_knowledge_deg" in flight:
        found["comparators"] = partial(_comparators, config=config, flight=flight)
    return found


def _comparators(figure: Figure, config: TumbleCaptureConfig, flight: Dataset) -> None:
    """Draw the attitude error of every filter that at most a fifth of the trials exceed, one panel per noise."""
    psds, t, metrics = config.comparators.torque_psd_Nm2s, flight["time"].values, compared(config, flight)
    panels = np.atleast_1d(figure.subplots(len(psds), 1, sharex=True, sharey=True))
    for axes, psd in zip(panels, psds, strict=True):
        for i, name in enumerate(config.comparators.filters):
            error = flight["filter_knowledge_deg"].sel(filter=label(name, psd)).values
            worst = np.percentile(np.where(np.isfinite(error), error, 180.0), 80.0, axis=0)
            lost = f"{name}: {metrics[f'lost_{label(name, psd)}']:g} of {len(error)} lost"
            axes.semilogy(t, worst, color=COLOURS[i % len(COLOURS)], lw=1.5, ls=("-", "--")[name == STRONG], label=lost)
        axes.axvline(config.capture.start_s, color="k", lw=0.8, ls=":")
        axes.set(ylabel=f"attitude error [deg]\nq = {psd:g} N² m² s")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="upper right")
    panels[0].set_title("80th percentile of trials (lost: 180 deg); capture at the dotted line; with substeps all tie")
    panels[-1].set_xlabel("time [s]")


SCENARIO = Scenario(
    "tumble-capture",
    TumbleCaptureConfig,
    prepare,
    judge,
    draw,
    free.scene,
    judged=frozenset({"pointing_error_deg", "knowledge_error_deg", "nees", "wheel_Nms", "momentum_gap", *ERRORS}),
    dispersible=(*free.DISPERSIBLE, "wheels.torque_limit_Nm", "wheels.momentum_limit_Nms", "wheels.start_Nms"),
)
