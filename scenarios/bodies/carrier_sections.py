"""Sections of a scenario file that describe a carrier, its cargo, and the flight software that holds its pose."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gnc.config import Inertia, NonNegative, Positive, Section, Vector3

Percent = Annotated[float, Field(ge=0, le=50)]


class Body(Section):
    """A box; flight software believes in it, the truth of each trial deviates by the errors of `errors`."""

    mass_kg: Positive
    centre_m: Vector3
    """Centre of mass, and of the box, from the carrier's origin, carrier axes."""
    J_kgm2: Inertia
    """About the centre of mass."""
    size_m: Vector3


class Release(Section):
    """How the cargo goes: along z of the carrier, at once, by a spring at the middle of its lower face."""

    time_s: Positive = 120.0
    """A whole number of control intervals."""
    energy_J: Positive = 1.8
    """Of the spring; all of it becomes motion."""
    face_m: float = 0.70
    """Where the carrier ends: the clearance is the height of the cargo's lowest corner over z = face_m."""


class Errors(Section):
    """What the truth of each trial is off by, one sigma; flight software knows the nominal values."""

    mass_percent: Percent = 2.0
    J_percent: Percent = 2.0
    centre_mm: NonNegative = 4.0
    """Centre of mass of the cargo, each axis."""
    spring_percent: Percent = 5.0
    """Energy of the spring."""
    spring_mm: NonNegative = 4.0
    """Where it acts, each axis."""
    spring_deg: NonNegative = 0.3
    """Direction of its push, about each axis."""
    actuator_percent: Percent = 2.0
    """Gain of the actuators, each axis."""


class Camera(Section):
    """A camera at the inertial origin, a station say, that measures the pose of the carrier."""

    rate_hz: Positive = 1.0
    sigma_m: Positive = 0.01
    """Of each component, or `sigma_fraction` of the range if that is more."""
    sigma_fraction: NonNegative = 0.001
    """Of the range."""
    sigma_deg: Positive = 0.5
    """Of the attitude about each axis."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.05
    """Probability that there is no measurement."""


class Filter(Section):
    """The dual-quaternion EKF on DQVI."""

    method: Literal["vi2", "vi4", "rk4", "exact"] = "vi4"
    torque_psd_Nm2s: NonNegative = 1e-5
    """Power spectral density of the torque it does not know [N^2 m^2 s]."""
    force_psd_N2s: NonNegative = 1e-4
    """Power spectral density of the force it does not know."""
    knows_release: bool = True
    """False: after the release it goes on with the cargo's mass and without the push, for comparison."""


class Control(Section):
    """Dual-quaternion tracking of the pose, by actuators with limits."""

    rate_hz: Positive = 10.0
    frequency_rad_s: Positive = 0.12
    damping: Annotated[float, Field(gt=0, lt=1)] = 0.8
    force_limit_N: Positive = 20.0
    """Of each axis."""
    torque_limit_Nm: Positive = 2.0
    """Of each axis."""


class Start(Section):
    """How a trial begins against the pose to hold, one sigma of each axis; the filter knows these."""

    position_m: NonNegative = 0.1
    attitude_deg: NonNegative = 2.0
    velocity_m_s: NonNegative = 0.005
    rate_deg_s: NonNegative = 0.1
