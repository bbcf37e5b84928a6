"""Sections of a scenario file that describe a chaser, its target, its camera and its flight software."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gnc.config import Inertia, NonNegative, Positive, Section, Vector3
from gnc.scenarios.scenario import ScenarioConfig

Percent = Annotated[float, Field(ge=0, le=50)]
Probability = Annotated[float, Field(ge=0, lt=1)]


class Target(Section):
    """A satellite that tumbles, described in the frame of its docking port; x points out of the port."""

    mass_kg: Positive = 200.0
    J_kgm2: Inertia = ((120.0, 6.0, -4.0), (6.0, 90.0, 5.0), (-4.0, 5.0, 60.0))
    """Inertia about the centre of mass."""
    J_error_percent: Percent = 0.0
    """By how much the true moments and axes are off from what flight software believes, one sigma."""
    centre_m: Vector3 = (-1.0, 0.2, -0.1)
    """Centre of mass from the port."""
    rate_deg_s: NonNegative = 3.0
    """How fast it tumbles, about a random axis."""
    torque_Nm: NonNegative = 1e-4
    """Size of a torque that nobody knows of, constant in body axes, in a random direction."""
    drift_m_s: NonNegative = 0.01
    """Velocity of its centre of mass along each inertial axis, one sigma."""
    size_m: Vector3 = (1.6, 1.2, 1.0)
    """Edges of the box that is drawn."""


class Chaser(Section):
    """The satellite under control; its pose is known, x looks at the target, thrusters work in pairs."""

    mass_kg: Positive = 100.0
    J_kgm2: Inertia = ((22.0, 0.0, 0.0), (0.0, 20.0, 0.0), (0.0, 0.0, 23.0))
    """Inertia about the centre of mass."""
    port_m: NonNegative = 0.0
    """How far its docking port is before its centre of mass, along x."""
    thrust_N: Positive = 10.0
    """Of each of 12 thrusters, two towards either side of each axis: 20 N per axis."""
    lever_m: Positive = 0.1
    """Of each thruster about the centre of mass: 2 N m about each axis."""
    minimum_on_s: NonNegative = 0.0
    """The shortest pulse that a valve can make."""
    size_m: Vector3 = (0.8, 0.8, 0.8)
    """Edges of the box that is drawn."""


class Camera(Section):
    """A sensor of the target's pose, seen from the chaser's centre of mass."""

    period_s: Positive = 3.0
    """Time between measurements."""
    latency_s: NonNegative = 0.0
    """How late a measurement arrives."""
    sigma_m: Positive = 0.01
    """Noise of each component of the position at close range."""
    sigma_fraction: NonNegative = 0.005
    """The same as a fraction of the range, where that is more."""
    near_m: NonNegative = 5.0
    """Up to there the attitude is measured best."""
    far_m: Positive = 50.0
    """From there on it is measured worst."""
    sigma_near_deg: Positive = 0.5
    """Noise of the attitude about each axis, near."""
    sigma_far_deg: Positive = 3.0
    """The same, far."""
    dropout: Probability = 0.05
    """Probability that there is no measurement."""
    outlier: Probability = 0.05
    """Probability that its noise is larger by a factor."""
    outlier_factor: Positive = 20.0
    """The factor."""


class Filter(Section):
    """A dual-quaternion EKF of the target's pose and twist in inertial space."""

    method: Literal["vi4", "vi2", "exact", "rk4", "midpoint"] = "vi4"
    """What moves the mean; `midpoint` has a truncated transition matrix, the others the exact one of their step."""
    substeps: bool = True
    """False: one step of the method between two measurements, however far it turns."""
    torque_psd_Nm2s: NonNegative = 3e-7
    """Power spectral density of the torque it does not know [N^2 m^2 s]."""
    force_psd_N2s: NonNegative = 0.0
    """Power spectral density of the force it does not know [N^2 s]."""
    inertia_sigma_percent: Percent = 0.0
    """One sigma of the ratios of the target's inertia before the flight; 0: the filter does not estimate them."""
    gate_probability: Annotated[float, Field(gt=0.5, le=1)] = 0.999
    """With which a good measurement passes; 1 lets all in."""
    ungated_updates: Annotated[int, Field(ge=0)] = 4
    """So many measurements are let in at the start, whatever they say."""


class Guidance(Section):
    """Way-points along the docking axis; each leg begins when the one before has settled."""

    station_m: Positive = 20.0
    """First distance of the ports' axis from the target's centre of mass."""
    synchronise_m: Positive = 5.0
    """Distance at which the chaser begins to turn with the target."""
    final_m: Positive = 1.0
    """Last distance, from port to port."""
    station_s: Positive = 60.0
    """Station keeping, while the filter settles."""
    closing_s: Positive = 120.0
    """From the station to the distance of synchronisation."""
    synchronise_s: Positive = 120.0
    """Onto the docking axis."""
    approach_s: Positive = 180.0
    """Along it."""
    corridor_deg: Annotated[float, Field(gt=0, lt=89)] = 10.0
    """Half angle of the cone in which the approach has to stay."""
    corridor_m: Positive = 0.1
    """Radius of the cone at the port."""


class PoseControl(Section):
    """Dual-quaternion tracking of the reference, shared among the thrusters at the least impulse."""

    rate_hz: Positive = 10.0
    """How often a command is given."""
    frequency_rad_s: Positive = 0.3
    """Natural frequency of a small error."""
    damping: Annotated[float, Field(gt=0, lt=1)] = 0.8


class Start(Section):
    """How a trial begins."""

    spread_m: NonNegative = 1.0
    """The chaser's position from the station along each axis, one sigma."""
    attitude_deg: NonNegative = 10.0
    """The chaser's attitude from facing the target, about each axis, one sigma."""
    known_m: Positive = 0.2
    """What is known of the target's position before the first measurement, one sigma per axis."""
    known_deg: Positive = 5.0
    """Of its attitude."""
    known_m_s: Positive = 0.02
    """Of its velocity."""
    known_deg_s: Positive = 0.5
    """Of its rate."""


class ProximityConfig(ScenarioConfig):
    """A chaser and its target."""

    trials: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    """How many are flown."""
    record_s: Positive = 1.0
    """How often signals are kept; a whole number of truth steps."""
    target: Target = Target()
    chaser: Chaser = Chaser()
    camera: Camera = Camera()
    filter: Filter = Filter()
    guidance: Guidance = Guidance()
    controller: PoseControl = PoseControl()
    start: Start = Start()
