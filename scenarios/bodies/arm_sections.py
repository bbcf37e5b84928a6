"""Sections of a scenario file that describe a servicer with an arm, its sensors and its flight software."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gnc.config import Inertia, NonNegative, Positive, Section, Vector3

Percent = Annotated[float, Field(ge=0, le=50)]


class Base(Section):
    """The servicer without its arm; its origin is its centre of mass."""

    mass_kg: Positive = 400.0
    J_kgm2: Inertia = ((220.0, 4.0, -3.0), (4.0, 210.0, 2.0), (-3.0, 2.0, 170.0))
    size_m: Vector3 = (1.6, 1.6, 2.0)


class Arm(Section):
    """Turret, upper arm and forearm; joints turn about the vertical, then twice about the horizontal."""

    root_m: Vector3 = (0.5, 0.0, 1.0)
    """Where it stands on the base."""
    lengths_m: Vector3 = (0.3, 1.5, 1.5)
    masses_kg: Vector3 = (8.0, 10.0, 8.0)
    payload_kg: Positive = 20.0
    """At the tip, a cube."""
    payload_size_m: Positive = 0.4


class Move(Section):
    """From rest to rest, by a polynomial of fifth order in each joint."""

    start_s: NonNegative = 60.0
    time_s: Positive = 60.0
    from_deg: Vector3 = (-40.0, 60.0, -100.0)
    to_deg: Vector3 = (50.0, 30.0, -50.0)


class Errors(Section):
    """What the truth of each trial is off by, one sigma; flight software knows the nominal values."""

    mass_percent: Percent = 3.0
    """Masses of base, links and payload, and inertia of the base."""
    actuator_percent: Percent = 2.0
    """Gain of thrusters and joint motors, each axis."""


class Tracker(Section):
    """A star tracker on the base."""

    rate_hz: Positive = 2.0
    sigma_arcsec: Positive = 30.0
    """Of each axis."""


class Beacon(Section):
    """A beacon of the client, at the inertial origin, by which the position of the base is measured."""

    rate_hz: Positive = 2.0
    sigma_m: Positive = 0.01
    """Of each component."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.05
    """Probability that there is no measurement."""


class Filter(Section):
    """The dual-quaternion EKF on DQVI, of base and arm as one rigid body with the arm half way."""

    method: Literal["vi2", "vi4", "rk4", "exact"] = "vi4"
    knows_arm: bool = True
    """Whether it is told the reaction of the planned motion."""
    torque_psd_Nm2s: NonNegative = 3e-3
    """Power spectral density of the torque it does not know [N^2 m^2 s]."""
    force_psd_N2s: NonNegative = 1e-3
    """Power spectral density of the force it does not know."""


class Control(Section):
    """Dual-quaternion tracking of the base's pose by thrusters with limits, and servos in the joints."""

    rate_hz: Positive = 10.0
    feedforward: bool = True
    """Whether the reaction of the planned motion is fed forward."""
    frequency_rad_s: Positive = 0.2
    damping: Annotated[float, Field(gt=0, lt=1)] = 0.8
    force_limit_N: Positive = 20.0
    """Of each axis."""
    torque_limit_Nm: Positive = 10.0
    """Of each axis."""
    joint_stiffness_Nm_rad: Vector3 = (60.0, 60.0, 30.0)
    joint_damping_Nms_rad: Vector3 = (140.0, 140.0, 60.0)


class Start(Section):
    """How a trial begins against the pose to hold, one sigma of each axis; the filter knows these."""

    position_m: NonNegative = 0.02
    attitude_deg: NonNegative = 0.2
    velocity_m_s: NonNegative = 0.002
    rate_deg_s: NonNegative = 0.02
    joint_deg: NonNegative = 0.2
