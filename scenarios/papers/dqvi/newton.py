"""How many Newton iterations a step needs: the paper's algorithm with counts of its own. Source: DQVI section V.A.4."""

import math

import numpy as np

from gnc import spatial
from gnc.integrators import dqvi_increment
from gnc.integrators.dqvi_equation import with_newton
from gnc.scenarios.papers.dqvi.data import Array, both, start

FPS, SECONDS, KEEP = 10, 10_800, 100
PRINTED, NONE = 0.0, np.zeros(6)  # filler, wrench


def energy(iterations: int) -> Array:
    """Return the relative energy error over 3 hours, results taken as they come; axes: kept times, data."""
    M, (dq_IB, chi_B), h = both().M, start((1.0, 1.0, 1.0)), 1.0 / FPS
    first, step = (with_newton(k, iterations, math.inf) for k in (dqvi_increment.start, dqvi_increment.step))
    x_B = first(chi_B, NONE, M, PRINTED, h)
    kept = [x_B]
    for _ in range(SECONDS * FPS // KEEP):
        dq_IB, x_B = step.repeat(KEEP, dq_IB, x_B, NONE, M, PRINTED, h)
        kept.append(x_B)
    energies = spatial.kinetic_energy(M, dqvi_increment.twist(np.stack(kept), NONE, M, PRINTED, h))
    return energies / spatial.kinetic_energy(M, chi_B) - 1.0
