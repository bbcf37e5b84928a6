"""Where a spacecraft flies: orbit, magnetic field, Sun and shadow, tabulated once, and what they do to it.

    orbit = KeplerOrbit(a=6878e3, inclination=sun_synchronous_inclination(6878e3), epoch="2025-03-20T09:01:00")
    table = EnvironmentTable.along(orbit, duration_s=5600.0)
    env = table.at(t)                                   # t a number, or one per trial
    tau_B = GravityGradient(J).torque(q_IB, env) + Drag(box((0.2, 0.2, 0.3))).torque(q_IB, env)

Inertial axes I are those of the GCRS everywhere. Nothing here uses the network.
"""

from gnc.models.environment.disturbances import (
    Atmosphere,
    Disturbance,
    Drag,
    GravityGradient,
    Plates,
    ResidualDipole,
    SolarPressure,
    box,
)
from gnc.models.environment.epoch import Epoch
from gnc.models.environment.magnetic_field import Dipole, Igrf, MagneticField
from gnc.models.environment.orbit import KeplerOrbit, Orbit, OrbitState, TleOrbit, sun_synchronous_inclination
from gnc.models.environment.sun import shadow_cone, sun_position
from gnc.models.environment.table import Environment, EnvironmentTable, TableError

__all__ = [
    "Atmosphere",
    "Dipole",
    "Disturbance",
    "Drag",
    "Environment",
    "EnvironmentTable",
    "Epoch",
    "GravityGradient",
    "Igrf",
    "KeplerOrbit",
    "MagneticField",
    "Orbit",
    "OrbitState",
    "Plates",
    "ResidualDipole",
    "SolarPressure",
    "TableError",
    "TleOrbit",
    "box",
    "shadow_cone",
    "sun_position",
    "sun_synchronous_inclination",
]
