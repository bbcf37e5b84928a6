"""DQVI Remark 3: an inertia that no rigid body has, as a body in water has with its added mass.

An ellipsoid with the added masses of potential flow, heavier across than along, about a point that is not its centre.
Its free motion is Kirchhoff's: M chi' = ad(chi)^T M chi. The fillers of the 8x8 matrix are zero, as printed: there is
no one mass that could stand there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.checks import at_least, at_most, within
from gnc.estimators.cramer_rao import pose_flow
from gnc.integrators import dqvi
from gnc.models.pose_body import PoseState
from gnc.scenarios.papers.case import Result, case

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BODY = spatial.inertia(10.0, np.array([0.02, -0.01, 0.03]), np.diag([0.4, 1.6, 1.7]))
ADDED = np.diag([0.05, 0.8, 0.9, 1.5, 8.0, 9.0])
POINT = np.array([0.3, -0.1, 0.05])  # another reference point [m]
CHI = np.array([0.3, 0.5, -0.4, 0.8, 0.1, -0.2])  # [rad/s, m/s]
SECONDS, STEPS = 10.0, (100, 200, 400)
LONG = 20_000  # steps of 0.1 s
SOURCE = "DQVI Remark 3, eqs. (36) to (42)"


def fly(M: np.ndarray, x: PoseState, steps: int, h: float) -> PoseState:
    """Fly free in the printed form."""
    return PoseState(*dqvi.step.repeat(steps, *x, np.zeros(6), M, 0.0, h))


def momentum(M: np.ndarray, x: PoseState) -> np.ndarray:
    """Return the momentum of body and water about the origin, in inertial axes."""
    return dual_quaternion.transform_wrench(x.dq_IB, spatial.momentum(M, x.chi_B))


def distance(x: PoseState, y: PoseState) -> float:
    """Return how far two poses are apart, radians and metres together."""
    return float(np.linalg.norm(dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(x.dq_IB), y.dq_IB))))


@case("dqvi/added-mass", title="A body with added mass about any point: momentum, order, and the choice of the point")
def added_mass(seed: int) -> Result:
    """Fly 10 s at three step lengths against DOP853, the same about another point, and 2000 s for the energy."""
    M, start = BODY + ADDED, PoseState(np.array([1.0, 0, 0, 0, 0, 0, 0, 0]), CHI)
    exact = pose_flow(M, start, np.array([0.0, SECONDS])).x[-1]
    truth = PoseState(exact[:8], exact[8:])
    errors = [distance(fly(M, start, n, SECONDS / n), truth) for n in STEPS]
    order = float(np.log2(errors[-2] / errors[-1]))
    shift = dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), POINT)
    there = PoseState(dual_quaternion.mul(start.dq_IB, shift), spatial.shift_twist(CHI, POINT))
    moved = fly(spatial.shift_inertia(M, POINT), there, STEPS[0], SECONDS / STEPS[0])
    here = fly(M, start, STEPS[0], SECONDS / STEPS[0])
    other = distance(PoseState(dual_quaternion.mul(here.dq_IB, shift), here.chi_B), moved)
    x, kept = start, [start]
    for _ in range(100):
        x = fly(M, x, LONG // 100, 0.1)
        kept.append(x)
    energy = np.array([spatial.kinetic_energy(M, y.chi_B) for y in kept])
    energy, change = energy / energy[0] - 1.0, max(np.abs(momentum(M, y) - momentum(M, start)).max() for y in kept)
    halves = float(abs(energy[51:].mean() - energy[1:51].mean()) / np.abs(energy).max())
    return Result(
        {
            "pose_error": errors, "order": order, "momentum": float(change), "other_point": other,
            "energy_size": float(np.abs(energy).max()), "energy_trend": halves,
        },
        [
            within("order of the pose error at 10 s", order, 1.95, 2.05, SOURCE),
            at_most("momentum of body and water over 20 000 steps [kg m/s, kg m^2/s]", change, 1e-9, SOURCE),
            at_most("the same motion about another point [rad, m]", other, 1e-11, "DQVI Remark 3: any reference point"),
            at_most("energy: means of both halves of 2000 s against its oscillation", halves, 0.2, "no trend"),
            at_least("energy oscillates: it is not exact as a rigid body's is", np.abs(energy).max(), 1e-6, SOURCE),
        ],
        lambda figure: draw(figure, energy),
    )  # fmt: skip


def draw(figure: Figure, energy: np.ndarray) -> None:
    """Energy over 2000 s."""
    axes = figure.subplots()
    axes.plot(np.linspace(0.0, 0.1 * LONG, len(energy)), energy, "o-", ms=2, lw=0.6)
    axes.set(xlabel="time [s]", ylabel="energy error, relative [-]", title="DQVI with added mass, h = 0.1 s")
