"""What DQVI claims beside its figures: an inertia that no rigid body has (Remark 3), a step's cost (section V.A.4).

Remark 3 is tried on a body in water with its added mass: an ellipsoid with the added masses of potential flow, heavier
across than along, about a point that is not its centre. Its free motion is Kirchhoff's: M chi' = ad(chi)^T M chi. The
fillers of the 8x8 matrix are zero, as printed: there is no one mass that could stand there.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.batch import Kernel
from gnc.checks import at_least, at_most, within
from gnc.estimators.cramer_rao import pose_flow
from gnc.integrators import dqvi, dqvi_increment
from gnc.integrators.dqvi_equation import with_newton
from gnc.integrators.pose_runge_kutta import euler_step, quaternion_step
from gnc.models.pose_body import PoseState
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.papers.dqvi.data import start, whole
from gnc.scenarios.plots import Figure

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


TIMED, REPEATS = 20_000, 5
CLAIM = "DQVI section V.A.4: iter = 3 as fast as EULER-RK4, iter = 4 as QUAT-RK4 and 33 % slower than iter = 3"


def operations(kernel: Kernel) -> int:
    """Count the operations of one step, additions, products, roots and comparisons alike."""
    return sum(entry.op != "input" for entry in kernel.tape[0].entries)


def microseconds(run: Callable[[], Any]) -> float:
    """Return the best time of a step."""
    best = math.inf
    for _ in range(REPEATS):
        begun = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begun)
    return 1e6 * best / TIMED


@case("dqvi/run-time", title="Cost of a DQVI step with 3 and 4 Newton iterations beside RK4")
def run_time(seed: int) -> Result:
    """Count operations, which do not depend on the machine, and show the time for information."""
    M, x, h = whole("consistent").M, start((1.0, 1.0, 1.0)), 1.0 / 60.0
    variational = {n: with_newton(dqvi_increment.step, n, math.inf) for n in (3, 4)}
    increment = 0.5 * h * x.chi_B
    kernels: dict[str, tuple[Kernel, tuple[Any, ...]]] = {
        "dqvi_3": (variational[3], (x.dq_IB, increment, np.zeros(6), M, 0.0, h)),
        "dqvi_4": (variational[4], (x.dq_IB, increment, np.zeros(6), M, 0.0, h)),
        "euler_rk4": (euler_step, (np.zeros(3), np.zeros(3), x.chi_B, np.zeros(6), M, h)),
        "quat_rk4": (quaternion_step, (x.dq_IB[:4], np.zeros(3), x.chi_B, np.zeros(6), M, h)),
    }
    count = {name: operations(kernel) for name, (kernel, _) in kernels.items()}
    spent = {name: microseconds(partial(kernel.repeat, TIMED, *inputs)) for name, (kernel, inputs) in kernels.items()}
    return Result(
        {**{f"operations_{n}": c for n, c in count.items()}, **{f"microseconds_{n}": t for n, t in spent.items()}},
        [
            within("operations, iter = 4 over iter = 3", count["dqvi_4"] / count["dqvi_3"], 1.2, 1.4, CLAIM),
            at_least(
                "operations, iter = 3 over EULER-RK4: not equal", count["dqvi_3"] / count["euler_rk4"], 1.3, CLAIM
            ),
            at_least("operations, iter = 4 over QUAT-RK4: not equal", count["dqvi_4"] / count["quat_rk4"], 2.0, CLAIM),
        ],
    )
