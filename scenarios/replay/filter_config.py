"""The section [filter]: which filter, and what it assumes of the body."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from gnc.config.base import Section
from gnc.config.schema import Inertia, NonNegative, Positive, Vector3

Row6: TypeAlias = tuple[float, float, float, float, float, float]
Interval: TypeAlias = Literal["after", "before", "mean"]
Probability = Annotated[float, Field(gt=0, le=1)]

ZERO = (0.0, 0.0, 0.0)


class FilterSection(Section):
    """What all filters have; None is the filter's own default."""

    gate_probability: Probability = 0.999
    patience_s: Positive = Field(default=10.0, description="no sensor agreed for so long: the covariance grows")
    growth: Annotated[float, Field(ge=1)] = Field(default=3.0, description="of the standard deviations then")
    patience: Positive | None = Field(
        default=None, description="the filter's own recovery instead, after so many seconds (gyro-mekf: refusals)"
    )
    inflation: Positive | None = Field(default=None, description="of the filter's own recovery")
    ungated_s: NonNegative = Field(default=0.0, description="all measurements are let in for so long at the start")


class GyroMekfFilter(FilterSection):
    """Attitude and gyro bias, driven by the gyro."""

    kind: Literal["gyro-mekf"]
    interval: Interval = Field(default="after", description="a sample counts after its stamp, before, or mean of both")
    coast_sigma: NonNegative = Field(default=0.01, description="[rad/s] of the last rate while the gyro is silent")


class MekfFilter(FilterSection):
    """Attitude and rate by the dynamics of a body of known inertia."""

    kind: Literal["mekf"]
    J: Inertia
    method: str = "auto"
    substeps: bool = Field(default=True, description="false: one step of the method, however far it turns")
    torque_psd: NonNegative | Vector3 = Field(description="of the unknown torque [N^2 m^2 s]")
    slewing: Vector3 | None = Field(
        default=None,
        description="variance of the momentum by an inertia that is off, per square of the rate [kg^2 m^4]",
    )
    dipole_sigma_Am2: NonNegative = Field(
        default=0.0, description="of the residual dipole at the start; 0: the filter estimates none"
    )
    dipole_walk: NonNegative = Field(default=0.0, description="PSD by which the dipole wanders [A^2 m^4/s]")
    inertia_sigma_kgm2: NonNegative = Field(
        default=0.0, description="of the deviation of J at the start, its trace kept; 0: the filter estimates none"
    )


class DqekfFilter(FilterSection):
    """Pose and twist by the dynamics of a body of known inertia."""

    kind: Literal["dqekf"]
    mass: Positive
    J_com: Inertia
    r_g: Vector3 = Field(default=ZERO, description="centre of mass from the reference point [m]")
    method: str = "auto"
    substeps: bool = Field(default=True, description="false: one step of the method, however far it turns")
    wrench_psd: NonNegative | Row6 = Field(description="of the unknown wrench [N^2 m^2 s, N^2 s]")
    inertia_sigma_kgm2: NonNegative = Field(
        default=0.0, description="of the deviation of J_com at the start, its trace kept; 0: the filter estimates none"
    )
    inertia_walk: NonNegative = Field(default=0.0, description="PSD by which it wanders [kg^2 m^4/s]")
    restart_beyond: tuple[Positive, Positive] | None = Field(
        default=None,
        description="[rad/s, m/s] off the start's momentum, at which refused measurements make a free body begin anew",
    )


class KinematicFilter(FilterSection):
    """Pose and twist of a body of which nothing is known, by a model of its motion, or driven by a gyro."""

    kind: Literal["dqekf-kinematic"]
    acceleration_psd: NonNegative | Row6 | None = Field(
        default=None, description="of white acceleration [rad^2/s^3, m^2/s^3]; none: model and density from the data"
    )
    motion: Literal["auto", "white", "damped", "singer"] = Field(
        default="auto", description="model whose density the data tell: white acceleration, or with a time of its own"
    )


class ImuFilterSection(Section):
    """Attitude from gyro, accelerometer and magnetometer (without one: heading by the gyro alone)."""

    kind: Literal["imu"]
    reach_m: Positive = Field(default=0.3, description="how far the body moves about its place")
    stroke_s: Positive = Field(default=1.0, description="how long such a motion takes")
    gate_probability: ClassVar[float] = 1.0  # nothing is refused: a contradiction is a magnet


class InsFilterSection(FilterSection):
    """Attitude, velocity and position, driven by gyro and accelerometer."""

    kind: Literal["ins"]
    error_state: Literal["group-affine", "dual-quaternion"] = "group-affine"
    interval: Interval = Field(default="before", description="a sample counts before its stamp, after, or mean of both")
    gravity_m_s2: Vector3 = (0.0, 0.0, -9.80665)
    sigma_gravity_m_s2: NonNegative = Field(default=0.0, description="of each axis; above 0 gravity is estimated")
    sigma_acc_bias_m_s2: NonNegative = 0.2
    rest_sigma_m_s: NonNegative = Field(
        default=0.0, description="above 0: a body whose samples rest has zero velocity, to so much"
    )


AnyFilter: TypeAlias = Annotated[
    ImuFilterSection | InsFilterSection | GyroMekfFilter | MekfFilter | DqekfFilter | KinematicFilter,
    Field(discriminator="kind"),
]
