"""From sections of a scenario file to the parts of a loop: truth, sensors as they are and as believed, filter, law."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from gnc.controllers.attitude import AttitudeController
from gnc.controllers.pointing import Pointing
from gnc.controllers.regulator import AttitudeRegulator
from gnc.draws import Draws, column
from gnc.estimators.extra_states import ExtraState
from gnc.estimators.extra_states import ResidualDipole as DipoleState
from gnc.estimators.inertia_states import Inertia as InertiaState
from gnc.estimators.mekf import Mekf
from gnc.estimators.standard_mekf import StandardMekf
from gnc.loop import Instrument
from gnc.models.actuators import ReactionWheels, pyramid_axes
from gnc.models.environment import Drag, EnvironmentTable, KeplerOrbit, box
from gnc.models.environment.constants import EARTH_RADIUS
from gnc.models.environment.sky import Sky
from gnc.models.rigid_body import RigidBody
from gnc.models.sensors import FineSunSensor, Magnetometer, StarTracker
from gnc.models.states import AttitudeState
from gnc.scenarios.attitude import sections
from gnc.scenarios.attitude.satellite import External

Array = Any

DISPERSIBLE = (  # fields that may hold one value per trial, as patterns; of others each value is flown by itself
    "vehicle.J_kgm2",
    "vehicle.J_error_percent",
    "vehicle.dipole_Am2",
    "wheels.torque_limit_Nm",
    "wheels.momentum_limit_Nms",
    "wheels.start_Nms",
    "wheels.viscous_per_s",
    "wheels.coulomb_Nm",
    "sensors.*.sigma_deg",
    "sensors.*.filter_sigma_deg",
    "sensors.*.sigma_nT",
    "sensors.*.bias_nT",
    "sensors.*.misalignment_deg",
    "start.attitude_deg",
    "start.rate_deg_s",
)


def sky(orbit: sections.Orbit, h: float, duration_s: float) -> Sky:
    """Tabulate the environment of a flight."""
    path = KeplerOrbit(
        a=EARTH_RADIUS + 1e3 * orbit.altitude_km,
        inclination=np.radians(orbit.inclination_deg),
        raan=np.radians(orbit.raan_deg),
        mean_anomaly=np.radians(orbit.argument_deg),
        epoch=orbit.epoch,
    )
    return Sky.along(EnvironmentTable.along(path, duration_s + h), h, duration_s)


def wheels(section: sections.Wheels) -> ReactionWheels:
    """Return the wheels."""
    axes_B = pyramid_axes(section.elevation_deg)
    each = lambda x: column(x) * np.ones(len(axes_B))  # noqa: E731
    return ReactionWheels(
        axes_B=axes_B,
        torque_limit=each(section.torque_limit_Nm),
        momentum_limit=each(section.momentum_limit_Nms),
        viscous=each(section.viscous_per_s),
        coulomb=each(section.coulomb_Nm),
    )


def external(vehicle: sections.Vehicle, dipole_B: Array) -> External:
    """Return what turns the satellite of each trial."""
    drag = Drag(box(vehicle.size_m, vehicle.pressure_centre_m)) if vehicle.drag else None
    return External(dipole_B, vehicle.gravity_gradient, drag)


@dataclasses.dataclass(frozen=True)
class Pair:
    """A sensor as it is, dispersed over the trials, and as the filter believes it to be."""

    true: Any
    believed: Any
    section: sections.SensorSection


def sensor(name: str, section: sections.AnySensor, draws: Draws) -> Pair:
    """Return a sensor twice; the bias and misalignment of each trial are drawn from its name."""
    common: dict[str, Any] = {"rate_hz": section.rate_hz, "q_BS": section.q_BS}
    if isinstance(section, sections.OwnSensor):
        own = section.component.build()
        return Pair(own, own, section)
    if isinstance(section, sections.StarTrackerSection):
        cross, roll = section.sigma_cross_arcsec, section.sigma_roll_arcsec
        tracker = StarTracker(**common, sigma_arcsec=(cross, cross, roll))
        return Pair(tracker, tracker, section)
    off = {"misalignment": draws.vector(f"{name} misalignment", np.radians(section.misalignment_deg))}
    off["sigma_deg"] = section.sigma_deg
    believed_deg = section.sigma_deg if section.filter_sigma_deg is None else section.filter_sigma_deg
    if isinstance(section, sections.SunSensorSection):
        believed: Any = FineSunSensor(**common, sigma_deg=believed_deg, half_cone_deg=section.half_cone_deg)
    else:
        believed = Magnetometer(**common, sigma_deg=believed_deg, sigma_T=1e-9 * np.asarray(section.sigma_nT))
        off["bias"] = draws.vector(f"{name} bias", 1e-9 * np.asarray(section.bias_nT))
    return Pair(dataclasses.replace(believed, **off), believed, section)


def instruments(pairs: Mapping[str, Pair], sky: Sky, draws: Draws) -> list[Instrument]:
    """Put the true sensors into the loop."""

    def instrument(name: str, pair: Pair) -> Instrument:
        measure = lambda x, t, noise: pair.true.measure(x, sky.at(t), noise)  # noqa: E731
        noise = draws.stream(name, pair.true.noise_size)
        return Instrument(name, 1.0 / pair.section.rate_hz, measure, noise, pair.section.latency_s)

    return [instrument(name, pair) for name, pair in pairs.items()]


def mekf(section: sections.AnyFilter, J: Array, pairs: Mapping[str, Pair]) -> Any:
    """Return the filter."""
    if isinstance(section, sections.OwnFilter):
        return section.component.build(J=J)
    noise: dict[str, Any] = {"torque_psd": section.torque_psd_Nm2s, "gate_probability": section.gate_probability}
    if isinstance(section, sections.StandardMekfSection):
        return StandardMekf(J, linearisation=section.linearisation, **noise)
    extras: list[ExtraState] = []
    if section.dipole_sigma_Am2 > 0.0:
        extras.append(DipoleState(walk=section.dipole_walk))
    if section.inertia_sigma_percent > 0.0:
        extras.append(InertiaState(form="ratios"))
    return Mekf(J, method=section.method, substeps=section.substeps, extras=tuple(extras), **noise)


def prior(section: sections.AnyFilter, J: Array) -> Array | None:
    """Return the covariance of the filter's extra states before the flight."""
    if not isinstance(section, sections.MekfSection):
        return None
    sigmas = [section.dipole_sigma_Am2] * (3 if section.dipole_sigma_Am2 > 0.0 else 0)
    if section.inertia_sigma_percent > 0.0:
        mean = np.trace(J, axis1=-2, axis2=-1) / 3.0
        sigmas += [0.01 * section.inertia_sigma_percent * mean] * InertiaState(form="ratios").size
    return diagonal(sigmas)


def compilable(*parts: tuple[Any, Any]) -> bool:
    """Tell whether a loop of parts (section, part) may be compiled: ours may, and a user's own if it says so."""
    return all(section.kind != "own" or getattr(part, "compilable", False) for section, part in parts)


def diagonal(sigmas: list[Any]) -> Array:
    """Return the covariance (..., n, n) of independent errors, each sigma a number or one per trial."""
    stacked = np.stack(np.broadcast_arrays(*sigmas), axis=-1) if sigmas else np.zeros(0)
    return np.square(stacked)[..., None] * np.eye(stacked.shape[-1])


def law(section: sections.AnyController, J: Array) -> Any:
    """Return the control law."""
    if isinstance(section, sections.OwnController):
        return section.component.build(J=J)
    if isinstance(section, sections.LqrSection):
        return _regulator(section, J)
    frequency = section.frequency_rad_s or min(0.1, 0.3 * section.rate_hz)
    return AttitudeController.tuned(J, frequency, section.damping)


def _regulator(section: sections.LqrSection, J: Array) -> AttitudeRegulator:
    """Return the law of an LQR; every trial has its own design where J is dispersed."""
    if section.K is not None:
        return AttitudeRegulator(K=np.array(section.K), J=J)
    from gnc.controllers.lqr import lqr  # here: python-control takes a second to load

    angle, rate = np.radians(section.attitude_deg), np.radians(section.rate_deg_s)
    Q, R = np.repeat([angle**-2, rate**-2], 3), np.full(3, section.torque_Nm**-2)
    rest = AttitudeState(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
    gains = [lqr(RigidBody(one), rest, np.zeros(3), 1.0 / section.rate_hz, Q, R).K for one in J.reshape(-1, 3, 3)]
    return AttitudeRegulator(K=np.reshape(gains, (*J.shape[:-2], 3, 6)), J=J)


def guide(section: sections.PointingGuidance, sky: Sky) -> Any:
    """Return the reference as a function of time."""
    pointing = Pointing(axis_B=section.axis_B, at=section.at, roll_axis_B=section.roll_axis_B, roll=section.roll)
    return lambda t: pointing.reference(sky.at(t))
