"""What `gnc replay` is told: the log, sensors, filter, start, truth, and what to write."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

from pydantic import Field, model_validator

from gnc.config.base import Section
from gnc.config.schema import NonNegative, Positive, Quaternion, Vector3
from gnc.errors import InputError
from gnc.scenarios.logs.clock import TimeUnit
from gnc.scenarios.replay.filter_config import AnyFilter
from gnc.scenarios.replay.sensor_config import (
    ALIGNED,
    ZERO,
    AnySensor,
    LengthUnit,
    Names3,
    Names4,
    Order,
    RateUnit,
    Rotation,
    Source,
)

Row8: TypeAlias = tuple[float, float, float, float, float, float, float, float]

LOOKS, PLACES, MOTION = ("vector", "magnetometer", "attitude"), ("pose", "position"), ("velocity", "range")
SENSORS: dict[
    str, tuple[tuple[str, ...], tuple[str, ...]]
] = {  # one each of some kinds drives a filter; others it takes
    "imu": (("gyro", "accelerometer"), ("magnetometer",)),
    "ins": (("gyro", "accelerometer"), (*LOOKS, *PLACES, *MOTION)),
    "gyro-mekf": (("gyro",), LOOKS),
    "mekf": ((), ("gyro", *LOOKS)),
    "dqekf": ((), ("gyro", *LOOKS, *PLACES)),
    "dqekf-kinematic": ((), ("gyro", *LOOKS, *PLACES)),
}
ERRORS = ("misalignment_deg", "scale_percent", "soft_iron_percent", "bias_nT", "bias_walk_nT")  # that are states
ESTIMATING = ("gyro-mekf", "mekf", "dqekf")
NUMBERS = (  # of a kind of sensors, that some filters need
    ("gyro", "arw", tuple(SENSORS)[1:], "the angular random walk [rad/sqrt(s)]"),
    ("gyro", "rate_hz", ("mekf", "dqekf"), "the noise of a sample is arw sqrt(rate_hz)"),
    ("accelerometer", "vrw", ("ins",), "the velocity random walk [m/s/sqrt(s)]"),
    ("magnetometer", "reference", tuple(SENSORS)[1:], "3 numbers, 3 columns, or magnetic-field"),
)


class Log(Section):
    """What holds for the whole log."""

    time: str | None = Field(default=None, description="column of the stamps, unless a sensor names its own")
    time_unit: TimeUnit = "s"
    rate_hz: Positive | None = Field(default=None, description="of the rows of all tables, where there are no stamps")
    reorder_s: NonNegative = Field(default=0.5, description="stamps may be out of order by so much")
    gap_steps: Positive = Field(default=5.0, description="a step longer than so many usual ones is a gap")
    step_s: Positive | None = Field(
        default=None, description="nominal step: steps near a multiple of it are that multiple"
    )
    step_tolerance: NonNegative = Field(default=1e-6, description="how near, as a fraction of step_s")


class Inputs(Source):
    """Known inputs of the dynamics: held from their stamp to the next."""

    torque: Names3 | None = Field(default=None, description="columns [N m], body axes")
    force: Names3 | None = Field(default=None, description="columns [N], body axes")
    wheels: Names3 | None = Field(default=None, description="columns of the wheels' momentum [N m s], body axes")
    field: Names3 | None = Field(default=None, description="columns [T], inertial axes; acts on the filter's dipole")

    @model_validator(mode="after")
    def _some(self) -> Inputs:
        if not (self.torque or self.force or self.wheels or self.field):
            raise InputError("none of torque, force, wheels and field has columns; name some, or leave it out")
        return self


class Truth(Source):
    """A better instrument, to score against."""

    columns: Names4
    order: Order
    rotation: Rotation = "q_IB"
    position: Names3 | None = None
    unit: LengthUnit = "m"
    rate: Names3 | None = None
    rate_unit: RateUnit = "rad/s"
    align: bool | Literal["body", "world", "both", "heading"] = Field(
        default=False,
        description="estimate the constant offset of the truth's frame: of its body (true), its world ...",
    )

    @property
    def aligned(self) -> str | None:
        """Which frame's offset is estimated."""
        return ("body" if self.align else None) if isinstance(self.align, bool) else self.align


class Score(Section):
    """Which times count."""

    from_s: float | None = Field(default=None, description="time of the log")
    to_s: float | None = None
    min_rate_deg_s: NonNegative = Field(default=0.0, description="only while the truth turns at least so fast")
    mask: str | None = Field(default=None, description="column beside the truth: only where it is not 0")


class Rest(Section):
    """An interval in which the body rested, for the noise of its sensors."""

    from_s: float
    to_s: float


class Orbit(Section):
    """Where the spacecraft was, for models of Sun and field: a TLE, or elements at the epoch."""

    epoch: str = Field(description="UTC at time 0 of the log; dates in the log count by themselves")
    tle: tuple[str, str] | None = Field(default=None, description="its two lines")
    a_m: Positive | None = None
    e: NonNegative = 0.0
    inclination_deg: float = 0.0
    raan_deg: float = 0.0
    argument_deg: float = 0.0
    mean_anomaly_deg: float = 0.0

    @model_validator(mode="after")
    def _one(self) -> Orbit:
        if (self.tle is None) == (self.a_m is None):
            raise InputError("give one of tle and a_m with the other elements")
        return self


class Start(Section):
    """Where the filter begins; without an attitude, at the first that the sensors give."""

    t: float | None = Field(default=None, description="rows before it are not used; none: the first stamp")
    q_IB: Quaternion | None = None
    r_IB: Vector3 | None = None
    w_B: Vector3 = Field(default=ZERO, description="[rad/s]")
    v_B: Vector3 = Field(default=ZERO, description="[m/s]")
    bias: Vector3 = Field(default=ZERO, description="of the gyro [rad/s]")
    sigma_attitude_deg: Positive = 5.0
    sigma_rate_deg_s: NonNegative = 10.0
    sigma_bias_deg_s: NonNegative = Field(default=0.1, description="0: the bias of the gyro is not estimated")
    sigma_position_m: Positive = 1.0
    sigma_velocity_m_s: NonNegative = 1.0
    dq_IB: Row8 | None = Field(default=None, description="the pose with the bits of a filter, instead of q_IB and r_IB")
    P_B: Vector3 | None = Field(
        default=None, description="mekf: total momentum J w + wheels [N m s], instead of w_B, with the bits of a filter"
    )
    C: tuple[tuple[float, ...], ...] | None = Field(
        default=None,
        description="covariance, instead of the sigmas: of attitude and rate, or beside P_B of (a, P, extra states)",
    )

    @model_validator(mode="after")
    def _whole(self) -> Start:
        if self.P_B is not None and (self.C is None or self.q_IB is None):
            raise InputError("P_B: needs q_IB and C, over attitude, momentum and the extra states; give them, or w_B")
        return self


class Output(Section):
    """What is written."""

    covariance: Literal["full", "sigma"] = "full"
    csv: bool | None = Field(default=None, description="the same as text; by default where there are few records")
    formats: tuple[Literal["tum", "aem", "oem", "mcap"], ...] = Field(
        default=(), description="estimates.tum ... too, which other viewers open"
    )
    smooth: bool = Field(default=False, description="estimates use what follows too")
    lag_s: Positive | None = Field(default=None, description="smooth: at least so much of what follows; none: all")


class Replay(Section):
    """The whole configuration."""

    log: Log = Log()
    filter: AnyFilter
    sensors: tuple[AnySensor, ...]
    inputs: Inputs | None = None
    truth: Truth | None = None
    start: Start = Start()
    score: Score = Score()
    rest: Rest | None = None
    orbit: Orbit | None = None
    output: Output = Output()

    @property
    def interval(self) -> str:
        """Which interval a sample of the driver counts for."""
        return getattr(self.filter, "interval", "after")

    @model_validator(mode="after")
    def _fits(self) -> Replay:
        names, kind = [sensor.name for sensor in self.sensors], self.filter.kind
        if len(set(names)) < len(names):
            raise InputError(f"sensors: two have the same name, of {', '.join(names)}; give each its own")
        for name in names:
            if not re.fullmatch(r"[\w-]+", name):
                raise InputError(f"sensors: the name {name!r} is part of a file's; use letters, digits, _ and -")
        for s in self.sensors:
            self._takes(s)
        given: list[str] = [s.kind for s in self.sensors]
        for one in SENSORS[kind][0]:
            if given.count(one) != 1:
                raise InputError(f"sensors: {given.count(one)} of the kind {one}; {kind} is driven by exactly one")
        if kind == "imu" and given.count("magnetometer") > 1:
            raise InputError("sensors: two magnetometers; imu takes one")
        if kind == "ins" and not {*PLACES, *MOTION} & {*given}:
            raise InputError("sensors: none measures a position or velocity; ins drifts without, imu does not")
        if kind not in ("imu", "ins") and not {*LOOKS, "pose"} & {*given}:
            raise InputError("sensors: none measures an attitude; give a vector, attitude or pose sensor")
        fieldless = self.inputs is None or self.inputs.field is None
        if getattr(self.filter, "dipole_sigma_Am2", 0.0) > 0.0 and fieldless:
            raise InputError("filter.dipole_sigma_Am2: the field acts on a dipole; give its columns as inputs.field")
        if self.start.P_B is not None and kind != "mekf":
            raise InputError(f"start.P_B: {kind} has no momentum; give start.w_B")
        return self

    def _takes(self, s: Any) -> None:
        """Refuse a sensor that the filter does not take, or that lacks a number it needs."""
        kind = self.filter.kind
        if s.kind not in (takes := {name: (*one, *more) for name, (one, more) in SENSORS.items()})[kind]:
            others = ", ".join(name for name, kinds in takes.items() if s.kind in kinds)
            raise InputError(f"sensors.{s.name}: {kind} takes no {s.kind}; those that do: {others}")
        for of, key, filters, what in NUMBERS:
            if s.kind == of and kind in filters and getattr(s, key) is None:
                raise InputError(f"sensors.{s.name}.{key} is missing; give it: {what}")
        if s.kind == "magnetometer" and kind != "imu" and not s.sigma_T and not s.sigma_deg:
            raise InputError(f"sensors.{s.name}: sigma_T and sigma_deg are both zero; give one of them")
        for key in ERRORS:
            if getattr(s, key, 0.0) > 0.0 and kind not in ESTIMATING:
                others = ", ".join(ESTIMATING)
                raise InputError(f"sensors.{s.name}.{key}: {kind} does not estimate it; those that do: {others}")
        seen = getattr(s, "observer", None) is not None
        if kind == "ins" and seen:
            raise InputError(f"sensors.{s.name}.observer: ins knows no observer; leave it out")
        chases = getattr(self.filter, "restart_beyond", None) is not None
        if chases and (s.kind != "pose" or not seen or s.r_BS != ZERO or s.q_BS != ALIGNED):
            raise InputError(f"filter.restart_beyond: {s.name!r} is no pose in an observer's frame; leave it out")
