"""What every kind of load gives a craft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from gnc.batch import batched
from gnc.config import Edges, Vector3
from gnc.draws import Draws
from gnc.models.environment.disturbances import Disturbance
from gnc.models.environment.plates import Plates, box
from gnc.parts import Part
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
    """Return [torque, force]."""
    return np.concatenate([torque, force])
