"""The loop of a chaser and its target, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gnc.controllers.thruster_allocation import ThrusterAllocation
from gnc.draws import Draws, column
from gnc.events import Event
from gnc.history import Signal
from gnc.loop import Controller, Instrument, Loop, Moment
from gnc.scenarios.attitude.signals import innovation_signals, observe_innovation
from gnc.scenarios.proximity import build, sections, signals
from gnc.scenarios.proximity.control import ApproachControl
from gnc.scenarios.proximity.navigation import Camera
from gnc.scenarios.proximity.truth import Command, Pair
from gnc.scenarios.scenario import Prepared


def prepare(
    config: sections.ProximityConfig,
    seed: int,
    trials: np.ndarray,
    control: Callable[[ApproachControl], Any] = lambda approach: approach,
    events: Sequence[Event] = (),
    more: Mapping[str, tuple[Signal, Callable[[Moment], Any]]] | None = None,
) -> Prepared:
    """Build the loop of some trials; `more` are signals beside the usual ones."""
    draws, more = Draws(seed, trials), more or {}
    thrusters = build.thrusters(config.chaser)
    pair = Pair(thrusters, column(config.target.torque_Nm) * draws.direction("torque"))
    target = build.target(config.target, draws)
    truth = pair.start(build.chaser(config, draws, target), target)
    navigation, belief = build.navigation(config, target, draws)
    guidance, period_s = build.guidance(config), 1.0 / config.controller.rate_hz
    law = build.law(config.controller, build.chaser_inertia(config.chaser))
    laws = control(ApproachControl(guidance, law, ThrusterAllocation.of(thrusters), period_s))
    idle = Command(np.zeros((len(trials), thrusters.count)), truth.chaser.dq_IB, np.zeros(len(trials)))
    camera = Camera(build.camera(config.camera))
    noise = draws.stream("camera", camera.sensor.noise_size)
    loop = Loop(
        h=config.truth_step_s,
        duration_s=config.duration_s,
        plant=pair,
        instruments=[Instrument("camera", config.camera.period_s, camera.measure, noise, config.camera.latency_s)],
        navigation=navigation,
        controller=Controller(laws, period_s, idle),
        events=events,
        record_s=config.record_s,
    )
    observer = signals.Observer(truth, navigation, guidance, config.chaser.mass_kg)
    return Prepared(
        loop,
        truth,
        belief,
        laws.start(belief, pair.report(truth)),
        {**signals.SIGNALS, **{name: signal for name, (signal, _) in more.items()}},
        lambda moment: {**observer(moment), **{name: read(moment) for name, (_, read) in more.items()}},
        innovation_signals(["camera"]),
        observe_innovation,
    )
