"""A configuration such as a scenario has, with every kind of field."""

import datetime
from typing import Annotated, Literal

from pydantic import Field, model_validator

from gnc.config import Component, Inertia, Matrix3, Positive, Quaternion, Section, Vector3
from gnc.errors import InputError


class Spacecraft(Section):
    """The body that flies."""

    mass_kg: Positive = Field(description="Mass [kg]")
    J: Inertia = Field(description="Inertia about the mass centre, body axes [kg m^2]")
    dipole_A_m2: Vector3 = Field(default=(0.0, 0.0, 0.0), description="Residual dipole [A m^2]")


class Magnetometer(Section):
    kind: Literal["magnetometer"] = "magnetometer"
    rate_hz: Positive = Field(description="Rate of samples [Hz]")
    sigma_deg: float = Field(default=1.0, ge=0, le=30, description="Noise per axis [deg]")


class StarTracker(Section):
    kind: Literal["star-tracker"] = "star-tracker"
    rate_hz: Positive = Field(description="Rate of samples [Hz]")
    q_BS: Quaternion = Field(default=(1.0, 0.0, 0.0, 0.0), description="Mounting")


Sensor = Annotated[Magnetometer | StarTracker, Field(discriminator="kind")]


class Pd(Section):
    kind: Literal["pd"] = "pd"
    bandwidth_rad_s: float = Field(default=0.1, gt=0, lt=10, description="Natural frequency [rad/s]")
    damping: Positive = 0.8
    """Damping ratio."""


class Lqr(Section):
    kind: Literal["lqr"] = "lqr"
    weights: Matrix3 = Field(
        default=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), description="Weights of the attitude"
    )


class Custom(Section):
    kind: Literal["custom"] = "custom"
    law: Component = Field(description="The law")


class Filter(Section):
    name: Literal["mekf-vi2", "mekf-vi4", "usque"] = Field(default="mekf-vi4", description="Filter")
    substeps: int = Field(default=1, ge=1, le=1000, description="Steps of the model per sample")
    gate: float | Literal["off"] = Field(default=0.999, description="Probability of the gate")


class Dispersion(Section):
    name: str = Field(min_length=1, description="What is dispersed")
    sigma: Positive = Field(description="Standard deviation, relative")


class Mission(Section):
    """A pointing mission.

    For tests.
    """

    title: str = Field(default="pointing", description="Title of the report")
    duration_s: Positive = Field(description="Length of the flight [s]")
    start: datetime.datetime | None = Field(default=None, description="Epoch, UTC")
    day: datetime.date = Field(default=datetime.date(2025, 3, 20), description="Day of launch")
    eclipse: bool = Field(default=True, description="Whether the Earth takes the Sun away")
    rates_hz: tuple[Positive, ...] = Field(default=(1.0, 0.1), description="Rates to study [Hz]")
    steps: tuple[tuple[int, int], ...] = Field(default=(), description="Pairs of numbers")
    labels: dict[str, str] = Field(default={}, description="Anything, by name")
    spacecraft: Spacecraft = Field(description="The spacecraft")
    sensors: dict[str, Sensor] = Field(default={}, description="The sensors, by name")
    controller: Annotated[Pd | Lqr | Custom, Field(discriminator="kind")] = Field(default=Pd(), description="The law")
    filter: Filter = Field(default=Filter(), description="The filter")
    backup: Filter | None = Field(default=None, description="The filter in safe mode")
    dispersions: tuple[Dispersion, ...] = Field(default=(), description="What varies from trial to trial")

    @model_validator(mode="after")
    def _samples(self) -> "Mission":
        slow = [name for name, sensor in self.sensors.items() if sensor.rate_hz * self.duration_s < 1]
        if slow:
            raise InputError(f"{slow[0]} takes no sample in {self.duration_s:g} s; raise its rate_hz or duration_s")
        return self


MISSION = """\
title = "pointing"
duration_s = 5600
start = 2025-03-20T09:01:00Z
[spacecraft]
mass_kg = 12.0
J = [[0.22, 0.004, -0.003], [0.004, 0.19, 0.002], [-0.003, 0.002, 0.13]]
[sensors.magnetometer]
kind = "magnetometer"
rate_hz = 0.2
[sensors.star]
kind = "star-tracker"
rate_hz = 1
[controller]
kind = "pd"
[[dispersions]]
name = "inertia"
sigma = 0.02
[[dispersions]]
name = "dipole"
sigma = 0.5
"""
