"""Flat plates, what drag and solar pressure act on. They do not shade each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnc import check
from gnc.batch import batched
from gnc.errors import InputError
from gnc.linalg import cross, skew, zeros

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Plates:
    """Plates that see the outside on the side of their normals; both sides of a panel are two plates."""

    area: Any  # (..., plates) [m^2]
    normal_B: Any  # (..., plates, 3) outward; made unit
    centre_B: Any  # (..., plates, 3) from the centre of mass [m]

    def __post_init__(self) -> None:
        area = check.non_negative("area", self.area)
        if area.ndim < 1 or area.shape[-1] == 0:
            raise InputError(f"area: expected (..., plates), one for each of one or more plates, got {area.shape}")
        count = area.shape[-1]
        normal_B = check.finite("normal_B", self.normal_B, (count, 3))
        length = np.sqrt(normal_B[..., 0] ** 2 + normal_B[..., 1] ** 2 + normal_B[..., 2] ** 2)
        if np.any(length == 0.0):
            raise InputError("normal_B: a plate without direction; give vectors that are not zero")
        object.__setattr__(self, "area", area)
        object.__setattr__(self, "normal_B", normal_B / length[..., None])
        object.__setattr__(self, "centre_B", check.finite("centre_B", self.centre_B, (count, 3)))

    @property
    def count(self) -> int:
        """The number of plates."""
        return self.area.shape[-1]

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        """Areas, normals and centres, as kernels take them."""
        return self.area, self.normal_B, self.centre_B


def box(size: Any, centre_B: Any = (0.0, 0.0, 0.0)) -> Plates:
    """Return the six faces of a box (lengths along the body axes), its centre given from the centre of mass [m]."""
    lengths = check.positive("size", check.finite("size", size))
    if lengths.shape != (3,):
        raise InputError(f"size: expected the three lengths of a box, got {lengths.shape}")
    normals = np.concatenate([np.eye(3), -np.eye(3)])
    area = np.tile(lengths.prod() / lengths, 2)
    return Plates(area, normals, check.vector("centre_B", centre_B, 3) + 0.5 * normals * lengths)


def resultant(forces, centre_B):
    """Return the torque and the force of all plates; for kernels."""
    tau_B, force_B = zeros(3), zeros(3)
    for force, centre in zip(forces, centre_B, strict=True):
        tau_B, force_B = tau_B + cross(centre, force), force_B + force
    return tau_B, force_B


@batched("(3,3),(3)->(3,3)")
def attitude_gradient(slope, u_B):
    """Return T = (d tau / d u_B) [u_B], u fixed in inertial axes."""
    return slope @ skew(u_B)
