"""Sections of a scenario file that describe a satellite, its sensors and its flight software."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from gnc.config import Component, Inertia, NonNegative, Positive, Quaternion, Section, Vector3

Percent = Annotated[float, Field(ge=0, le=50)]
Row6 = tuple[float, float, float, float, float, float]
ALIGNED = (1.0, 0.0, 0.0, 0.0)


def _named(value: Any) -> Any:
    """Let `controller = "my_law.py:MyLaw"` stand for the whole table."""
    return {"kind": "own", "component": {"source": value}} if isinstance(value, str) else value


Own = BeforeValidator(_named)  # beside a union with a kind "own"


class Orbit(Section):
    """A circular orbit about the Earth; the field is that of IGRF-14, the shadow a cone."""

    altitude_km: Annotated[float, Field(ge=200, le=2000)] = 500.0
    """Above the equator."""
    inclination_deg: Annotated[float, Field(ge=0, le=180)] = 97.4
    raan_deg: float = 22.5
    """Right ascension of the ascending node."""
    argument_deg: float = 0.0
    """Where on the orbit it starts, from the ascending node."""
    epoch: str = "2025-03-20T09:01:00"
    """UTC of the start, ISO 8601; the default is an equinox."""


class Vehicle(Section):
    """A satellite; the truth of each trial deviates from it, flight software believes in it."""

    J_kgm2: Inertia = ((0.22, 0.004, -0.003), (0.004, 0.19, 0.002), (-0.003, 0.002, 0.13))
    """Inertia of body and wheels about the centre of mass, body axes."""
    J_error_percent: Percent = 2.0
    """By how much the true moments and axes are off, one sigma."""
    dipole_Am2: NonNegative = 0.02
    """Size of the residual magnetic dipole, in a random direction."""
    size_m: Vector3 = (0.2, 0.2, 0.3)
    """Edges of the box that air drags on."""
    pressure_centre_m: Vector3 = (0.005, 0.0, 0.01)
    """Centre of the box from the centre of mass: the lever of the drag."""
    gravity_gradient: bool = True
    drag: bool = True


class Wheels(Section):
    """Four reaction wheels in a pyramid about the z axis."""

    torque_limit_Nm: Positive = 5e-3
    momentum_limit_Nms: Positive = 50e-3
    start_Nms: NonNegative = 10e-3
    """Momentum of each at the start, one sigma."""
    elevation_deg: Annotated[float, Field(gt=0, lt=90)] = 35.26438968275465
    viscous_per_s: NonNegative = 0.0
    """Friction torque per momentum."""
    coulomb_Nm: NonNegative = 0.0
    """Dry friction of each wheel."""


class SensorSection(Section):
    """What all sensors have."""

    rate_hz: Positive = 1.0
    latency_s: NonNegative = 0.0
    """How late a measurement arrives."""
    q_BS: Quaternion = ALIGNED
    """Mounting: takes sensor components to body ones."""


class MagnetometerSection(SensorSection):
    """A three-axis magnetometer."""

    kind: Literal["magnetometer"] = "magnetometer"
    sigma_deg: NonNegative = 1.0
    """Noise of each axis, as an angle at the strength of the field."""
    filter_sigma_deg: NonNegative | None = None
    """What the filter takes it for; by default the truth."""
    sigma_nT: NonNegative = 0.0
    """Noise of each axis beside that."""
    bias_nT: NonNegative = 0.0
    """True bias of each axis, one sigma over the trials."""
    misalignment_deg: NonNegative = 0.0
    """True misalignment about each axis, one sigma over the trials."""


class SunSensorSection(SensorSection):
    """A fine sun sensor; sees nothing in the shadow of the Earth."""

    kind: Literal["sun-sensor"] = "sun-sensor"
    sigma_deg: Positive = 1.0
    """Noise of each component."""
    filter_sigma_deg: Positive | None = None
    """What the filter takes it for; by default the truth."""
    misalignment_deg: NonNegative = 0.0
    """True misalignment about each axis, one sigma over the trials."""
    half_cone_deg: Annotated[float, Field(gt=0, le=180)] = 180.0
    """Half the field of view about its z axis; 180 sees all around."""


class StarTrackerSection(SensorSection):
    """A star tracker."""

    kind: Literal["star-tracker"] = "star-tracker"
    sigma_cross_arcsec: Positive = 10.0
    """Noise about the two axes across the boresight, z."""
    sigma_roll_arcsec: Positive = 60.0
    """Noise about the boresight."""


class OwnSensor(SensorSection):
    """A sensor of your own: a class with measure(truth, env, noise), predict(x, env), residual, noise_size."""

    kind: Literal["own"] = "own"
    component: Component
    """The class."""


AnySensor = Annotated[
    MagnetometerSection | SunSensorSection | StarTrackerSection | OwnSensor, Field(discriminator="kind"), Own
]


class MekfSection(Section):
    """A multiplicative EKF on the dynamics."""

    kind: Literal["mekf"] = "mekf"
    method: Literal["vi2", "vi4", "taylor", "rk4"] = "vi4"
    """Integrator that moves the mean and gives the covariance its exact Jacobian."""
    substeps: bool = True
    """False: one step of the method between two events, however far it turns."""
    torque_psd_Nm2s: NonNegative = 1e-13
    """Power spectral density of the torque it does not know [N^2 m^2 s]."""
    dipole_sigma_Am2: NonNegative = 0.02
    """One sigma of the residual dipole before the flight; 0: the filter estimates none."""
    dipole_walk: NonNegative = 0.0
    """Power spectral density by which the dipole wanders [A^2 m^4/s]."""
    inertia_sigma_percent: Percent = 0.0
    """One sigma of the inertia's ratios before the flight; 0: the filter estimates none."""
    gate_probability: Annotated[float, Field(gt=0.5, le=1)] = 0.999
    """With which a good measurement passes; 1 lets all in."""
    ungated_s: NonNegative = 120.0
    """All measurements are let in until then, while the rate is acquired."""


class StandardMekfSection(Section):
    """A MEKF as it is usually written, for comparison: linearised rates, one step between two events."""

    kind: Literal["standard-mekf"] = "standard-mekf"
    linearisation: Literal["euler", "midpoint"] = "midpoint"
    torque_psd_Nm2s: NonNegative = 1e-13
    """Power spectral density of the torque it does not know [N^2 m^2 s]."""
    gate_probability: Annotated[float, Field(gt=0.5, le=1)] = 0.999
    """With which a good measurement passes; 1 lets all in."""
    ungated_s: NonNegative = 120.0
    """All measurements are let in until then, while the rate is acquired."""


class OwnFilter(Section):
    """A filter of your own: a class with start(x, C, rho_B), state, predict and update, as `Mekf` has."""

    kind: Literal["own"] = "own"
    component: Component
    """The class; it is given J and the sensors as the filter knows them."""


AnyFilter = Annotated[MekfSection | StandardMekfSection | OwnFilter, Field(discriminator="kind"), Own]


class PdSection(Section):
    """PD+ attitude tracking with wheels."""

    kind: Literal["pd"] = "pd"
    rate_hz: Positive = 1.0
    """How often a command is given."""
    frequency_rad_s: Positive | None = None
    """Natural frequency of a small error; by default min(0.1, 0.3 rate_hz)."""
    damping: Positive = 0.8


class LqrSection(Section):
    """A discrete LQR on the exact Jacobian of the integrator's step at rest, or with gains of `gnc design lqr`."""

    kind: Literal["lqr"] = "lqr"
    rate_hz: Positive = 1.0
    """How often a command is given."""
    attitude_deg: Positive = 1.0
    """An attitude error that costs as much as the rate and the torque below."""
    rate_deg_s: Positive = 0.05
    """A rate error that costs as much."""
    torque_Nm: Positive = 1e-3
    """A torque that costs as much."""
    K: tuple[Row6, Row6, Row6] | None = None
    """Gains from (a, w - w_R) to the torque, in place of a design [N m/rad, N m s/rad]."""


class OwnController(Section):
    """A law of your own: a class with start(shape) and command(belief, reference, memory) -> (tau_B, memory)."""

    kind: Literal["own"] = "own"
    rate_hz: Positive = 1.0
    """How often a command is given."""
    component: Component
    """The class; it is given J, the inertia that flight software believes in."""


AnyController = Annotated[PdSection | LqrSection | OwnController, Field(discriminator="kind"), Own]


class Start(Section):
    """How a trial begins; the filter begins at the reference with these as its standard deviations."""

    attitude_deg: NonNegative = 20.0
    """Error against the reference about each axis, one sigma."""
    rate_deg_s: NonNegative = 0.2
    """Rate against the reference about each axis, one sigma."""


class PointingGuidance(Section):
    """What to point where."""

    axis_B: Vector3 = (0.0, 0.0, 1.0)
    """Body axis that points."""
    at: Literal["nadir", "sun", "velocity", "orbit normal"] = "nadir"
    roll_axis_B: Vector3 = (0.0, 1.0, 0.0)
    """Body axis that is turned about it."""
    roll: Literal["nadir", "sun", "velocity", "orbit normal"] = "orbit normal"
    """Where to, as near as can be."""
