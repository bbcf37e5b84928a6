"""Potentials to test with, and an independent one."""

import numpy as np
import pytest

from gnc.integrators import fields
from tests.gnc.integrators.gyrostat import J

MASS = 3.0
R_I = np.array([2.0, -1.0, 1.5])
ARMS = np.array([[0.5, 0.1, -0.3], [-0.4, 0.6, 0.2], [-0.2, -0.5, 0.4]])
WEIGHTS = np.array([1.2, 0.7, 1.1])
DOWN = np.array([0.1, -0.2, -1.0])
FIELDS = {
    "point masses": (fields.point_masses(3), (5.0, WEIGHTS, ARMS)),
    "gravity gradient": (fields.gravity_gradient, (5.0, MASS, J)),
    "heavy top": (fields.heavy_top, (MASS, DOWN, np.array([0.1, 0.05, 0.4]))),
    "uniform gravity": (fields.uniform_gravity, (MASS, DOWN)),
}
EACH_FIELD = pytest.mark.parametrize("name", FIELDS)


def pulled(R, r):
    """Return the wrench of three masses around a centre, in inertial axes first: Newton's law, one mass at a time."""
    arms = ARMS @ R.T
    forces = [-5.0 * m * (r + b) / np.linalg.norm(r + b) ** 3 for m, b in zip(WEIGHTS, arms, strict=True)]
    return R.T @ sum(np.cross(b, f) for b, f in zip(arms, forces, strict=True)), sum(forces)
