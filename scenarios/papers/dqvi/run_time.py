"""DQVI section V.A.4: what a step costs beside the comparators, by operations and by the clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gnc.batch import Kernel
from gnc.checks import at_least, within
from gnc.integrators import dqvi_increment
from gnc.integrators.dqvi_equation import with_newton
from gnc.integrators.pose_runge_kutta import euler_step, quaternion_step
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.papers.dqvi.data import start, whole

STEPS, REPEATS = 20_000, 5
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
    return 1e6 * best / STEPS


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
    spent = {name: microseconds(partial(kernel.repeat, STEPS, *inputs)) for name, (kernel, inputs) in kernels.items()}
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
