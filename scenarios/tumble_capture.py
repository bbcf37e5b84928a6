"""A fast tumble filtered at 0.1 Hz, then captured with wheels; other filters fly the same trials beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.config import NonNegative, Positive, Section
from gnc.controllers.reference import AttitudeReference
from gnc.controllers.wheel_allocation import WheelAllocation
from gnc.draws import Draws
from gnc.history import Signal
from gnc.loop import Controller, Loop, Moment
from gnc.scenarios.attitude import build, capture_verdict, free, sections, signals
from gnc.scenarios.attitude.capture_verdict import ERRORS, label
from gnc.scenarios.attitude.control import WheelControl
from gnc.scenarios.attitude.fleet import Fleet, one
from gnc.scenarios.attitude.free_signals import CAPTURE_SIGNALS, MotionObserver
from gnc.scenarios.attitude.navigation import MekfNavigation
from gnc.scenarios.attitude.satellite import Command, Satellite
from gnc.scenarios.scenario import Prepared, Scenario, ScenarioConfig

Array = Any
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
    inertia. With the least, which does not (NEES 33), filters whose steps are accurate err least, and others fail."""


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


def prepare(config: TumbleCaptureConfig, seed: int, trials: np.ndarray) -> Prepared:
    """Build the loop of some trials: the filter's, and those of all comparators beside it."""
    draws, n, J = Draws(seed, trials), len(trials), np.array(config.body.J_kgm2)
    space: Any = free.FreeSpace()
    wheels, known, first = build.wheels(config.wheels), free.sensors(config.sensors), free.first_state(config.start, n)
    body = Satellite(draws.inertia("inertia", J, config.body.J_error_percent), space, None, wheels)
    others = variants(config)
    lead = (1 + len(others), n)
    spun = np.broadcast_to(draws.vector("wheels", config.wheels.start_Nms, wheels.count), (*lead, wheels.count))
    truth = body.start(np.broadcast_to(first.q_IB, (*lead, 4)), np.broadcast_to(first.w_B, (*lead, 3)), spun)
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


SCENARIO = Scenario(
    "tumble-capture",
    TumbleCaptureConfig,
    prepare,
    capture_verdict.judge,
    capture_verdict.draw,
    free.scene,
    judged=frozenset({"pointing_error_deg", "knowledge_error_deg", "nees", "wheel_Nms", "momentum_gap", *ERRORS}),
    dispersible=(*free.DISPERSIBLE, "wheels.torque_limit_Nm", "wheels.momentum_limit_Nms", "wheels.start_Nms"),
)
