"""The sections [[sensors]]: where the columns of a sensor are, what they mean, and how noisy it is."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from gnc.config.base import Section
from gnc.config.schema import NonNegative, Noun, Positive, Quaternion, Vector3
from gnc.errors import InputError
from gnc.scenarios.logs.clock import TimeUnit


def _of_array(n: int) -> BeforeValidator:
    """Return a validator by which the name of an array stands for those of its columns."""

    def convert(value: Any) -> Any:
        return tuple(f"{value}[{i}]" for i in range(n)) if isinstance(value, str) else value

    return BeforeValidator(convert)


Names3 = Annotated[tuple[str, str, str], _of_array(3), Noun("3 names of columns, or the name of an array")]
Names4 = Annotated[tuple[str, str, str, str], _of_array(4), Noun("4 names of columns, or the name of an array")]
Three: TypeAlias = tuple[str, str, str]
Names8: TypeAlias = tuple[str, str, str, str, str, str, str, str]
Order: TypeAlias = Literal["wxyz", "xyzw"]
Rotation: TypeAlias = Literal["q_IB", "q_BI"]
RateUnit: TypeAlias = Literal["rad/s", "deg/s", "mdps"]
LengthUnit: TypeAlias = Literal["m", "mm"]

ROUNDED = 0.01  # by which the length of a direction may be off that is written with few digits
ALIGNED = (1.0, 0.0, 0.0, 0.0)
ZERO = (0.0, 0.0, 0.0)


class Source(Section):
    """Where a quantity is in the log."""

    table: str = Field(default="", description="group, structure, prefix or file; not needed in a log of one table")
    time: str | None = Field(default=None, description="column of the stamps; by default that of [log]")
    time_unit: TimeUnit | None = None
    rate_hz: Positive | None = Field(
        None, description="of the rows, where there are no stamps; nominal where there are"
    )
    latency_s: float = Field(default=0.0, description="how much later than the measurement it was stamped")
    valid: str | None = Field(default=None, description="column of a flag, 0 where the sensor says it is not valid")


class Sensor(Source):
    """What all sensors have."""

    name: str = Field(description="by default its kind")
    q_BS: Quaternion = Field(default=ALIGNED, description="mounting: takes sensor components to body ones")

    @model_validator(mode="before")
    @classmethod
    def _called(cls, data: Any) -> Any:
        return {"name": data.get("kind"), **data} if isinstance(data, dict) else data


class Aiding(Sensor):
    """What sensors on a body have that `ins` is corrected by."""

    lever_m: Vector3 = Field(default=ZERO, description="ins: where on the body it measures [m], body axes")
    sigma_lever_m: NonNegative = Field(default=0.0, description="ins: above 0 the lever arm is estimated")
    sigma_delay_s: NonNegative = Field(default=0.0, description="ins: above 0 its time offset is estimated")


class AskewSensor(Sensor):
    """What sensors have whose mounting is known to so much, and estimated."""

    misalignment_deg: NonNegative = Field(
        default=0.0, description="one sigma about each axis; above 0 a state of gyro-mekf, mekf and dqekf"
    )


class GyroSensor(Sensor):
    """A rate gyro."""

    kind: Literal["gyro"]
    columns: Names3
    unit: RateUnit
    arw: NonNegative | None = Field(
        default=None, description="angular random walk [rad/sqrt(s)]; imu: by default from the log's own rest"
    )
    bias_walk: NonNegative = Field(default=0.0, description="rate random walk [rad/s/sqrt(s)]")
    range: Positive | None = Field(default=None, description="saturation of an axis, in `unit`")


class AccelerometerSensor(Sensor):
    """An accelerometer: specific force, which is upwards at rest."""

    kind: Literal["accelerometer"]
    columns: Names3
    unit: Literal["m/s^2", "g", "mg"]
    vrw: NonNegative | None = Field(default=None, description="ins: velocity random walk [m/s/sqrt(s)]")
    bias_walk: NonNegative = Field(default=0.0, description="ins: [m/s^2/sqrt(s)]")
    range: Positive | None = Field(default=None, description="saturation of an axis, in `unit`")


class VectorSensor(AskewSensor):
    """A direction: Sun, horizon, gravity, a field whose strength does not matter."""

    kind: Literal["vector"]
    columns: Names3
    sigma_deg: Positive
    reference: Vector3 | Three | Literal["sun"] = Field(description="in inertial axes: 3 numbers, 3 columns, or sun")
    normalize: bool = Field(default=False, description="true where columns or reference are not of unit length")
    range: Positive | None = Field(default=None, description="saturation of a component, in the columns' unit")

    @model_validator(mode="after")
    def _direction(self) -> VectorSensor:
        if isinstance(self.reference, tuple) and not isinstance(self.reference[0], str):
            length = math.hypot(*self.reference)
            if length == 0.0 or (not self.normalize and abs(length - 1.0) > ROUNDED):
                raise InputError(f"reference: has the length {length:.4g}; give a direction of length 1, or normalize")
        return self


class MagnetometerSensor(AskewSensor):
    """A magnetometer with a field of known strength."""

    kind: Literal["magnetometer"]
    columns: Names3
    unit: Literal["T", "uT", "nT", "G", "mG"]
    sigma_T: NonNegative = 0.0
    sigma_deg: NonNegative = Field(default=0.0, description="angle by which the noise of one axis turns the field")
    bias_nT: NonNegative = Field(default=0.0, description="hard iron, one sigma of each axis; above 0 a state, too")
    bias_walk_nT: NonNegative = Field(default=0.0, description="by which it wanders [nT/sqrt(s)]; the same")
    scale_percent: NonNegative = Field(default=0.0, description="of each axis, one sigma; the same")
    soft_iron_percent: NonNegative = Field(default=0.0, description="of a symmetric matrix, one sigma; the same")
    reference: Vector3 | Three | Literal["magnetic-field"] | None = Field(
        default=None, description="in inertial axes [T]: 3 numbers, 3 columns, or magnetic-field; imu needs none"
    )
    range: Positive | None = Field(default=None, description="saturation of an axis, in `unit`")


class AttitudeSensor(AskewSensor):
    """A whole attitude: star tracker, motion capture."""

    kind: Literal["attitude"]
    columns: Names4
    order: Order = Field(description="where the scalar is")
    rotation: Rotation = Field(default="q_IB", description="q_IB takes sensor components to inertial ones")
    sigma_deg: Positive | Vector3 | None = None
    sigma_arcsec: Positive | Vector3 | None = None

    @model_validator(mode="after")
    def _one_sigma(self) -> AttitudeSensor:
        if (self.sigma_deg is None) == (self.sigma_arcsec is None):
            raise InputError("give one of sigma_deg and sigma_arcsec")
        return self


class PoseSensor(Aiding):
    """A whole pose: motion capture, a camera on a target; from a place in the inertial frame, or from an observer."""

    kind: Literal["pose"]
    columns: tuple[str, ...] = Field(description="quaternion and position (7), or a dual quaternion (8)")
    order: Order = Field(description="where the scalar is")
    unit: LengthUnit = "m"
    sigma_deg: Positive
    sigma_m: Positive
    sigma_fraction: NonNegative = Field(default=0.0, description="of the range, if that is more than sigma_m")
    near_m: NonNegative = 5.0
    far_m: Positive = 50.0
    sigma_far_deg: Positive | None = Field(default=None, description="beyond far_m; sigma_deg is up to near_m")
    r_BS: Vector3 = Field(default=ZERO, description="where the sensor is on the observer [m]")
    observer: Names8 | None = Field(
        default=None, description="columns of the observer's pose dq_IB; none: the inertial frame"
    )

    @model_validator(mode="after")
    def _count(self) -> PoseSensor:
        if len(self.columns) not in (7, 8):
            raise InputError(f"columns: {len(self.columns)} names; give 4 of a quaternion and 3 of a position, or 8")
        return self


class PositionSensor(Aiding):
    """A position without attitude, of GNSS for instance."""

    kind: Literal["position"]
    columns: Names3
    frame: Literal["inertial", "geodetic"] = Field(
        default="inertial",
        description="geodetic: latitude, longitude [deg], height; inertial axes are east, north, up at the first",
    )
    unit: LengthUnit = "m"
    sigma_m: Positive
    sigma_fraction: NonNegative = 0.0
    r_BS: Vector3 = ZERO
    observer: Names8 | None = None


class VelocitySensor(Aiding):
    """A velocity, of GNSS in inertial axes, or of wheels or a Doppler log in the body's; for ins."""

    kind: Literal["velocity"]
    columns: Names3
    frame: Literal["inertial", "body"]
    unit: Literal["m/s", "km/h"] = "m/s"
    sigma_m_s: Positive


class RangeSensor(Aiding):
    """A distance to a place that is known; for ins."""

    kind: Literal["range"]
    columns: tuple[str]
    unit: LengthUnit = "m"
    sigma_m: Positive
    reference: Vector3 | Three = Field(description="the place, in inertial axes [m]: 3 numbers, or 3 columns")


AnySensor: TypeAlias = Annotated[
    GyroSensor | AccelerometerSensor | VectorSensor | MagnetometerSensor | AttitudeSensor | PoseSensor | PositionSensor
    | VelocitySensor | RangeSensor,
    Field(discriminator="kind"),
]  # fmt: skip
