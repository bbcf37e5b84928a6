"""Sections of a scenario file that describe a lander, the ground of a small body, and the descent."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gnc.config import Inertia, NonNegative, Positive, Section, Vector3

Percent = Annotated[float, Field(ge=0, le=50)]


class Lander(Section):
    """A box on three feet; the feet and the upper corners of the box may touch the ground."""

    mass_kg: Positive = 100.0
    J_kgm2: Inertia = ((14.0, 0.3, -0.2), (0.3, 13.0, 0.1), (-0.2, 0.1, 11.0))
    """About the centre of mass, which is the centre of the box."""
    J_error_percent: Percent = 3.0
    """By how much the true moments and axes are off, one sigma."""
    size_m: Vector3 = (0.8, 0.8, 0.6)
    foot_radius_m: Positive = 0.9
    """Of the circle on which the three feet stand; with 0.7, and 0.45 of height, one lander in a hundred tips over."""
    foot_height_m: Positive = 0.4
    """Of the centre of mass over the feet."""


class Ground(Section):
    """A plane; laws of contact and slope differ from trial to trial, by one sigma each."""

    gravity_m_s2: Positive = 5e-3
    """About that of Phobos."""
    slope_deg: NonNegative = 3.0
    """Of gravity against the normal, about each horizontal axis."""
    restitution: Annotated[float, Field(ge=0, le=1)] = 0.3
    """Of normals and tangents alike, which is what keeps energy from growing; kept within 0 and 0.8."""
    restitution_sigma: NonNegative = 0.05
    """Over the trials."""
    friction: NonNegative = 0.5
    """Coulomb's coefficient; kept at 0.2 or more."""
    friction_sigma: NonNegative = 0.1
    """Over the trials."""


class Descent(Section):
    """How a trial begins, over the place where it would stand; one sigma of each axis."""

    height_m: Positive = 2.0
    """Of the feet over the ground, if it begins upright."""
    sink_m_s: NonNegative = 0.05
    """Vertical speed, downwards."""
    sink_sigma_m_s: NonNegative = 0.01
    drift_m_s: NonNegative = 0.02
    """Horizontal speed."""
    attitude_deg: NonNegative = 3.0
    rate_deg_s: NonNegative = 0.3


class Tracker(Section):
    """A star tracker."""

    rate_hz: Positive = 1.0
    sigma_arcsec: Positive = 60.0
    """Of each axis."""


class Filter(Section):
    """A multiplicative EKF on the dynamics, by the variational integrator."""

    torque_psd_Nm2s: NonNegative = 1e-5
    """Power spectral density of the torque it does not know [N^2 m^2 s]."""


class Control(Section):
    """PD+ that keeps the lander upright by cold gas until a foot touches, then off."""

    rate_hz: Positive = 5.0
    frequency_rad_s: Positive = 0.5
    damping: Positive = 0.8
    torque_limit_Nm: Positive = 1.0
    """Of each axis."""
