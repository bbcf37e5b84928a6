"""What every kind of sensor has in a mission's file; a sensor of the user's own."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import field_validator, model_validator

from gnc import check, dual_quaternion, quaternion
from gnc.config import NonNegative, Positive, Quaternion
from gnc.contract import source_name
from gnc.draws import Draws
from gnc.errors import InputError, PartError
from gnc.models.sensors.interface import has_pose
from gnc.parts import OwnPart, Part

ALIGNED = (1.0, 0.0, 0.0, 0.0)
STEP = 1e-4  # of a difference
SLACK = 0.05  # by how much H may be off, over the largest of its three columns: who leaves small terms out may
TURNS = np.array(
    [[0.0, 0.0, 0.0], [0.1, -0.05, 0.02], [-0.04, 0.03, 0.1]]
)  # from the start [rad], where H is looked at
RATE_HZ = 1.0  # of a sensor that says neither rate nor period


class SensorPart(Part):
    """A sensor as it is; what flight software takes it for differs where [software.NAME.sensors] says so."""

    slot: ClassVar[str] = "sensor"
    shaping: ClassVar[frozenset[str]] = frozenset({"rate_hz", "period_s", "latency_s", "first_s", "q_BS", "outages_s"})
    needs_orbit: ClassVar[bool] = False
    feels: ClassVar[bool] = False  # whether it measures specific force, `felt_B` of the truth
    reads: ClassVar[str] = ""  # the unit of its readings, if they are no angles
    rate_hz: Positive | None = None
    """How often it measures; 1 Hz unless a rate or a period is given."""
    period_s: Positive | None = None
    """Time between measurements, in place of the rate."""
    latency_s: NonNegative = 0.0
    """How late a measurement arrives."""
    first_s: NonNegative = 0.0
    """When it measures first."""
    outages_s: tuple[tuple[NonNegative, NonNegative], ...] = ()
    """Times [from, to] between which it says nothing."""

    @field_validator("rate_hz", "period_s", mode="before")
    @classmethod
    def _fraction(cls, value: Any) -> Any:
        """Read "1/30" as a number."""
        if not isinstance(value, str) or "/" not in value:
            return value
        try:
            return check.number(value)
        except ValueError:
            raise InputError(f"{value!r} is no fraction; give a number, or two of them as 1/30") from None

    @model_validator(mode="after")
    def _one_clock(self) -> Self:
        if self.rate_hz is not None and self.period_s is not None:
            raise InputError("rate_hz and period_s are both given; keep one")
        return self

    @property
    def interval_s(self) -> float:
        """Time between measurements."""
        return self.period_s if self.period_s is not None else 1.0 / (self.rate_hz or RATE_HZ)

    @property
    def rate(self) -> float:
        """Measurements per second."""
        return (self.rate_hz or RATE_HZ) if self.period_s is None else 1.0 / self.period_s

    def truth(self, name: str, draws: Draws) -> Any:
        """Return the sensor of each trial, with the errors that nobody knows."""
        return self.belief()

    def belief(self) -> Any:
        """Return the sensor without those errors."""
        raise NotImplementedError


class MountedSensorPart(SensorPart):
    """A sensor that looks along axes of its own."""

    q_BS: Quaternion = ALIGNED
    """Mounting: takes sensor components to body ones."""


class ThreeAxisPart(MountedSensorPart):
    """A sensor of a vector along three axes of its own, which are not quite what they should be."""

    scale_percent: NonNegative = 0.0
    """Error of the factor of each axis, one sigma over the trials."""
    misalignment_deg: NonNegative = 0.0
    """True misalignment about each axis, one sigma over the trials."""

    def errors(self, name: str, draws: Draws) -> dict[str, Any]:
        """Return scale error and misalignment of each trial."""
        scale = draws.vector(f"{name} scale", 0.01 * np.asarray(self.scale_percent))
        return {"scale": scale, "misalignment": draws.vector(f"{name} misalignment", np.radians(self.misalignment_deg))}


class OwnSensor(OwnPart, MountedSensorPart):
    """A sensor of your own: a class with measure(truth, env, noise), predict(x, env), residual, noise_size.

    One that `sees` another craft is given that craft's state as truth, and the own craft's as env.
    """

    kind: Literal["own"] = "own"
    sees: str = ""
    """The craft it looks at, if not the own one."""

    def truth(self, name: str, draws: Draws) -> Any:
        """Return the sensor; the class is given rate_hz, q_BS, draws and trials if it asks for them."""
        if tuple(self.q_BS) != ALIGNED and not self.asks_for("q_BS"):
            raise InputError(f"q_BS: the constructor of {self.component.source} has no such argument; give it one")
        return self.made(rate_hz=self.rate, q_BS=self.q_BS, draws=draws, trials=len(draws.trials))

    def belief(self) -> Any:
        """Return the sensor as flight software knows it: the same class."""
        return self.made(rate_hz=self.rate, q_BS=self.q_BS, draws=None, trials=1)

    def refuse_slope(self, sensor: Any, x: Any, env: Any) -> None:
        """Refuse an H that is no derivative of predict by the error of x, at the start of a trial and turned from it.

        A column of zeros is left out on purpose; what is off at one attitude alone may be an edge of the field of view.
        """
        size = 2 * len(x[1])  # of the error
        x = type(x)(*(np.tile(part, (len(TURNS), 1)) for part in x))
        x = _moved(x, np.pad(TURNS, ((0, 0), (0, size - 3))))
        z, H, _ = sensor.predict(x, env)
        far = [[sensor.residual(sensor.predict(_moved(x, e), env)[0], z) for e in (d, -d)] for d in STEP * np.eye(size)]
        D = np.stack([(up - down) / (2.0 * STEP) for up, down in far], axis=-1)
        H = np.broadcast_to(H, (*D.shape[:-1], np.shape(H)[-1]))
        for j in np.flatnonzero(np.any(H, axis=(0, 1))[:size]):
            three = slice(j - j % 3, j - j % 3 + 3)
            largest = np.maximum(np.abs(H[..., three]), np.abs(D[..., three])).max(axis=(1, 2))
            off = np.abs(H[..., j] - D[..., j])
            if (off.max(axis=1) > SLACK * largest).all():
                i = int(np.argmax(off[0]))
                wrong = f"H[{i}, {j}] is {H[0, i, j]:.4g} at the start, the slope of predict there {D[0, i, j]:.4g}"
                raise PartError(source_name(self.component.source), "predict", f"{wrong}; errors turn q to q exp(a/2)")


def _moved(x: Any, error: Any) -> Any:
    """Return the state with an error, (a, dw) or (dxi, dchi)."""
    n = 6 if has_pose(x) else 3
    turned = dual_quaternion if has_pose(x) else quaternion
    return type(x)(turned.mul(x[0], turned.exp(error[..., :n] + 0.0 * x[1])), x[1] + error[..., n:])
