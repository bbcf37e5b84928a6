"""Loads as parts of a mission: what turns or pushes a craft because of where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc.batch import batched
from gnc.config import Edges, NonNegative, Vector3
from gnc.draws import Draws, column
from gnc.models.environment import Drag, GravityGradient, ResidualDipole, SolarPressure
from gnc.models.environment.disturbances import Disturbance, Plates, box
from gnc.parts import OwnPart, Part
from gnc.quaternion import inverse_rotate
from gnc.typing import Array

NONE = np.zeros(3)
ATTITUDES = np.random.default_rng(0).normal(size=(400, 4))  # evenly over all, for means
ATTITUDES /= np.linalg.norm(ATTITUDES, axis=-1, keepdims=True)


class LoadPart(Part):
    """Something that turns or pushes a craft because of where it is."""

    slot: ClassVar[str] = "load"
    needs_orbit: ClassVar[bool] = True

    def truth(self, name: str, J: Any, draws: Draws) -> Disturbance:
        """Return the load on the craft of each trial, whose inertia is J."""
        raise NotImplementedError

    def belief(self, J: Any) -> Disturbance | None:
        """Return the load as flight software knows it; None: it does not."""
        return None

    def unsure(self, J: Any, env: Any) -> Array:
        """Return one sigma (3) of the torque that flight software does not know; none of an own load [N m]."""
        return NONE


class BoxLoadPart(LoadPart):
    """Something that acts on the faces of a box."""

    size_m: Edges = (0.2, 0.2, 0.3)
    """Edges of the box."""
    pressure_centre_m: Vector3 = (0.005, 0.0, 0.01)
    """Centre of the box from the centre of mass: the lever of what acts on it."""

    def plates(self) -> Plates:
        """Return the faces."""
        return box(np.array(self.size_m), np.array(self.pressure_centre_m))

    def unsure(self, J: Any, env: Any) -> Array:
        """Return all of the torque, in sunlight."""
        return over_attitudes(self.truth("", J, Draws(0, np.zeros(1, int))), env._replace(shadow=0.0 * env.shadow))


def over_attitudes(load: Disturbance, env: Any) -> Array:
    """Return the RMS (3) of a torque over all attitudes."""
    return np.sqrt(np.mean(np.square(load.torque(ATTITUDES, env)), axis=0))


def load_wrench(loads: Sequence[Disturbance], q_IB: Array, env: Any) -> Array:
    """Return torque about, and force on, the centre of mass (..., 6) of all loads, body axes."""
    total = np.zeros((*np.shape(q_IB)[:-1], 6))
    for one in loads:
        torque, force = one.torque(q_IB, env), getattr(one, "force", None)
        total = total + _wrench(torque, NONE if force is None else force(q_IB, env))
    return total


@batched("(3),(3)->(6)")
def _wrench(torque, force):
    return np.concatenate([torque, force])


@dataclass(frozen=True, eq=False)
class ConstantTorque:
    """A torque that stays the same in body axes."""

    tau_B: Array  # (..., 3) [N m]

    def torque(self, q_IB: Array, env: Any) -> Array:
        """Return the torque."""
        return self.tau_B

    def force(self, q_IB: Array, env: Any) -> Array:
        """Return no force."""
        return np.zeros(3)


class TorqueLoad(LoadPart):
    """A torque, constant in body axes, that flight software does not know."""

    kind: Literal["torque"] = "torque"
    needs_orbit: ClassVar[bool] = False
    size_Nm: NonNegative = 1e-4
    """Size of a torque in a random direction."""
    fixed_Nm: Vector3 = (0.0, 0.0, 0.0)
    """A torque that all trials have beside it, body axes."""

    def truth(self, name: str, J: Any, draws: Draws) -> ConstantTorque:
        """Return the torque of each trial."""
        return ConstantTorque(column(self.size_Nm) * draws.direction(name) + self.fixed_Nm)

    def unsure(self, J: Any, env: Any) -> Array:
        """Return all of the torque."""
        return np.sqrt(self.size_Nm**2 / 3.0 + np.square(self.fixed_Nm))


class DipoleLoad(LoadPart):
    """A magnetic dipole that stays in the craft; flight software does not know it, but may estimate it."""

    kind: Literal["dipole"] = "dipole"
    size_Am2: NonNegative = 0.02
    """Size of a dipole in a random direction."""
    fixed_Am2: Vector3 = (0.0, 0.0, 0.0)
    """A dipole that all trials have beside it, body axes."""

    def truth(self, name: str, J: Any, draws: Draws) -> ResidualDipole:
        """Return the dipole of each trial."""
        return ResidualDipole(column(self.size_Am2) * draws.direction(name) + self.fixed_Am2)

    def unsure(self, J: Any, env: Any) -> Array:
        """Return |m x B| about each axis for a field from anywhere: its mean square is (m_j^2 + m_k^2) B^2/3."""
        squares = self.size_Am2**2 / 3.0 + np.square(self.fixed_Am2)
        return np.sqrt((squares.sum() - squares) * (env.B_I @ env.B_I) / 3.0)


class GravityGradientLoad(LoadPart):
    """The torque of the Earth's gravity on a body that is not a ball; flight software knows it by its own inertia."""

    kind: Literal["gravity-gradient"] = "gravity-gradient"
    known: bool = True
    """Whether flight software reckons with it."""

    def truth(self, name: str, J: Any, draws: Draws) -> GravityGradient:
        """Return the load by the true inertia."""
        return GravityGradient(J)

    def belief(self, J: Any) -> GravityGradient | None:
        """Return the load by the inertia that flight software believes in."""
        return GravityGradient(J) if self.known else None

    def unsure(self, J: Any, env: Any) -> Array:
        """Return the torque where software does not reckon with it."""
        return NONE if self.known else over_attitudes(GravityGradient(J), env)


class TabulatedDrag(Drag):
    """Drag in surroundings that tell the air's density and velocity themselves."""

    def _flow(self, q_IB: Array, env: Any) -> tuple[Array, Array]:
        strength = (0.5 * self.coefficient * self.density_factor) * env.density
        return inverse_rotate(q_IB, env.air_I), strength


class DragLoad(BoxLoadPart):
    """Free-molecular drag of the air on a box; flight software does not know it."""

    kind: Literal["drag"] = "drag"
    coefficient: NonNegative = 2.2
    density_factor: NonNegative = 1.0
    """On the density of the atmosphere."""

    def truth(self, name: str, J: Any, draws: Draws) -> TabulatedDrag:
        """Return the load."""
        return TabulatedDrag(self.plates(), self.coefficient, self.density_factor)


Fraction = Annotated[float, Field(ge=0, le=1)]


class SolarPressureLoad(BoxLoadPart):
    """Radiation pressure of the Sun on a box; flight software does not know it."""

    kind: Literal["solar-pressure"] = "solar-pressure"
    mirrored: Fraction = 0.3
    """Fraction of the light that is mirrored."""
    scattered: Fraction = 0.2
    """Fraction of the light that is scattered."""

    def truth(self, name: str, J: Any, draws: Draws) -> SolarPressure:
        """Return the load."""
        plates = self.plates()
        shares = (column(x) * np.ones(plates.count) for x in (self.mirrored, self.scattered))
        return SolarPressure(plates, *shares)


class OwnLoad(OwnPart, LoadPart):
    """A load of your own: a class with torque(q_IB, env) -> tau_B [N m], and force(q_IB, env) where the craft moves."""

    kind: Literal["own"] = "own"
    needs_orbit: ClassVar[bool] = False

    def truth(self, name: str, J: Any, draws: Draws) -> Any:
        """Return the load; the class is given J, draws and trials if it asks for them."""
        return self.made(J=J, draws=draws, trials=len(draws.trials))
