"""Where a spacecraft flies: orbit, magnetic field, Sun and shadow, tabulated once, and what they do to it.

    orbit = KeplerOrbit(a=6878e3, inclination=sun_synchronous_inclination(6878e3), epoch="2025-03-20T09:01:00")
    table = EnvironmentTable.along(orbit, duration_s=5600.0)
    env = table.at(t)                                   # t a number, or one per trial
    tau_B = Disturbances([GravityGradient(J), Drag(box((0.2, 0.2, 0.3)))]).torque(q_IB, env)

Inertial axes I are those of the GCRS everywhere. Nothing here uses the network.
"""

from gnc.models.environment.atmosphere import Atmosphere
from gnc.models.environment.disturbances import Disturbance, Disturbances, GravityGradient, ResidualDipole
from gnc.models.environment.drag import Drag
from gnc.models.environment.eclipse import Crossings, crossings
from gnc.models.environment.epoch import Epoch
from gnc.models.environment.magnetic_field import Dipole, Igrf, MagneticField
from gnc.models.environment.orbit import KeplerOrbit, Orbit, OrbitState, sun_synchronous_inclination
from gnc.models.environment.plates import Plates, box
from gnc.models.environment.relative import ClohessyWiltshire, RelativeState, TwoBody
from gnc.models.environment.solar_pressure import SolarPressure
from gnc.models.environment.sun import shadow_cone, shadow_cylinder, sun_position
from gnc.models.environment.table import Environment, EnvironmentTable, TableError
from gnc.models.environment.tle import TleOrbit

__all__ = [
    "Atmosphere",
    "ClohessyWiltshire",
    "Crossings",
    "Dipole",
    "Disturbance",
    "Disturbances",
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
    "RelativeState",
    "ResidualDipole",
    "SolarPressure",
    "TableError",
    "TleOrbit",
    "TwoBody",
    "box",
    "crossings",
    "shadow_cone",
    "shadow_cylinder",
    "sun_position",
    "sun_synchronous_inclination",
]
