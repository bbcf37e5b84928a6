"""A body in free space that sees two fixed directions: the problem of QVI section IX, and what builds on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.config import Inertia, Positive, Section, Vector3
from gnc.draws import Draws
from gnc.estimators.initialise import attitude_covariance, triad
from gnc.loop import Instrument
from gnc.models.sensors import VectorSensor
from gnc.models.states import AttitudeState
from gnc.scenarios.attitude.satellite import Command
from gnc.scenarios.attitude.sections import Percent

if TYPE_CHECKING:
    from xarray import Dataset

    from gnc.scenarios.report.page import Scene

Array = Any
NAMES = ("direction_1", "direction_2")
DISPERSIBLE = ("body.J_error_percent", "start.rate_sigma_deg_s")  # fields that may hold one value per trial


class FreeBody(Section):
    """A body without any torque from outside."""

    J_kgm2: Inertia = ((1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 3.0))
    """Inertia of body and wheels about the centre of mass, body axes, as flight software believes it to be."""
    J_error_percent: Percent = 0.0
    """By how much the true moments and axes are off, one sigma."""
    size_m: Vector3 = (1.5, 1.1, 0.7)
    """Edges of the box in pictures."""


class TumbleStart(Section):
    """How a trial begins: at the inertial axes; the filter starts from TRIAD and a rate that is off."""

    rate_deg_s: Vector3 = (4.0, -5.0, 6.0)
    """True rate, body axes."""
    rate_sigma_deg_s: Positive = 0.5
    """Error of the filter's first rate about each axis, one sigma, which it knows."""


class Directions(Section):
    """Two sensors, each of a direction that is fixed in inertial space."""

    rate_hz: Positive = 0.1
    sigma_deg: Positive = 1.0
    """Noise of each component, as an angle."""
    first_I: Vector3 = (1.0, 0.0, 0.0)
    """The direction that the first one sees, a unit vector."""
    second_I: Vector3 = (0.0, 1.0, 0.0)
    """The direction that the second one sees, a unit vector."""


class FreeSpace:
    """An environment without anything, in place of a `Sky`."""

    def at(self, t: float) -> None:
        """Return what there is."""


@dataclass(frozen=True, eq=False)
class Coast:
    """No control: the same command, always."""

    idle: Command

    def command(self, belief: Any, report: Any, t: float, memory: Any) -> tuple[Command, Any]:
        """Return the command."""
        return self.idle, memory


def sensors(section: Directions) -> dict[str, VectorSensor]:
    """Return the sensors, which are as the filter believes them to be."""
    seen = zip(NAMES, (section.first_I, section.second_I), strict=True)
    return {name: VectorSensor(rate_hz=section.rate_hz, r_I=r, sigma_deg=section.sigma_deg) for name, r in seen}


def instruments(known: Mapping[str, VectorSensor], draws: Draws) -> list[Instrument]:
    """Put them into the loop; what they see at time zero is in the filter's start."""

    def instrument(name: str, sensor: VectorSensor) -> Instrument:
        measure = lambda x, t, noise: sensor.measure(x, None, noise)  # noqa: E731
        period = 1.0 / sensor.rate_hz
        return Instrument(name, period, measure, draws.stream(name, sensor.noise_size), first_s=period)

    return [instrument(name, sensor) for name, sensor in known.items()]


def first_state(start: TumbleStart, trials: int) -> AttitudeState:
    """Return the true attitude and rate at time zero."""
    q_IB = np.broadcast_to(np.array([1.0, 0.0, 0.0, 0.0]), (trials, 4))
    return AttitudeState(q_IB, np.broadcast_to(np.radians(start.rate_deg_s), (trials, 3)))


def first_estimate(
    start: TumbleStart, known: Mapping[str, VectorSensor], truth: AttitudeState, draws: Draws
) -> tuple[AttitudeState, Array]:
    """Return the filter's start and its covariance over (a, dw): TRIAD, and a rate that is off."""
    one, two = (known[name] for name in NAMES)
    seen = [known[name].measure(truth, None, draws.normal(f"first {name}", 3)).z for name in NAMES]
    q_IB, C = triad(*seen, one.r_I, two.r_I, np.radians(one.sigma_deg), np.radians(two.sigma_deg))
    sigma = np.radians(start.rate_sigma_deg_s)
    return AttitudeState(q_IB, truth.w_B + draws.vector("first rate", sigma)), attitude_covariance(C, sigma)


def prior_covariance(start: TumbleStart, section: Directions) -> Array:
    """Return the covariance of the filter's start, over (a, dw), without the noise of its own measurements."""
    r_I = np.array([section.first_I, section.second_I])  # as the body sees them too, at the inertial axes
    sigma = np.radians(section.sigma_deg)
    return attitude_covariance(triad(*r_I, *r_I, sigma, sigma)[1], np.radians(start.rate_sigma_deg_s))


def scene(config: Any, flight: Dataset, trial: int) -> Scene:
    """Return the body as it turns, with the two directions that it sees."""
    from gnc.scenarios.report.page import Arrow, Body, Scene

    one = flight.isel(trial=trial)
    t, q = one["time"].values, one["q_IB"].values
    body = Body("body", np.zeros((len(t), 3)), q, np.array(config.body.size_m))
    seen = zip(NAMES, (config.sensors.first_I, config.sensors.second_I), strict=True)
    arrows = tuple(Arrow(name.replace("_", " "), "body", np.tile(r, (len(t), 1))) for name, r in seen)
    return Scene(t, (body,), arrows, caption="Attitude against inertial space; arrows to the two measured directions")
