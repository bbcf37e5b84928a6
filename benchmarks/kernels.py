"""Steps of the integrators beside NumPy broadcasting, gcc on the same arithmetic, and the limit of the core."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import numpy_reference
from benchmarks.algebra import random_poses
from benchmarks.c_reference import CKernel
from benchmarks.machine import operations_per_ns
from benchmarks.timing import Row, interleaved
from gnc import spatial
from gnc.batch import Kernel
from gnc.integrators import damper, dqvi, pose_runge_kutta, qvi

J = np.array([[22.0, 0.2, 0.5], [0.2, 20.0, 0.4], [0.5, 0.4, 23.0]])
M = spatial.inertia(100.0, np.array([0.1, 0.2, -0.3]), J)
MANY, VERY_MANY = 1000, 100_000


def operations(kernel: Kernel) -> int:
    """Count the arithmetic operations of a kernel for one trial."""
    return sum(entry.op not in ("input", "constant") for entry in kernel.tape[0].entries)


def attitude_arguments(trials: int) -> list[np.ndarray]:
    """Draw states of a tumbling body: q, P, J, rho, h."""
    rng = np.random.default_rng(1)
    return [random_poses(trials, 2)[:, :4], rng.normal(size=(trials, 3)) * 2.0, J, np.zeros(3), np.asarray(0.5)]


def pose_arguments(trials: int) -> list[np.ndarray]:
    """Draw states of a tumbling and moving body: pose, twist, wrench, M, filler, h."""
    rng = np.random.default_rng(3)
    twist = rng.normal(size=(trials, 6)) * 0.1
    return [random_poses(trials, 4), twist, np.zeros(6), M, np.asarray(100.0), np.asarray(0.5)]


def first(args: list[np.ndarray]) -> list[np.ndarray]:
    """Return the first of many trials."""
    return [a[0] if len(a.shape) > 1 and len(a) == MANY else a for a in args]


def against_gcc(name: str, kernel: Kernel, args: list[np.ndarray], target: str = "") -> Iterator[Row]:
    """Measure a kernel for one trial and many, beside gcc and the flop limit."""
    candidates: dict[str, Any] = {"gnc": lambda: kernel(*args)}
    if shutil.which("gcc"):
        candidates["gcc"] = CKernel(kernel, args, MANY, vectorised=True)
    best = interleaved(candidates)
    ns, count = best["gnc"] / MANY * 1e9, operations(kernel)
    limit = count / operations_per_ns()
    if "gcc" in best:
        yield Row(f"{name}, N = {MANY}", "gnc", ns, "ns", "gcc -O3 SIMD", best["gcc"] / best["gnc"], target)
    yield Row(f"{name}: {count} operations", "gnc", ns, "ns", f"limit {limit:.1f} ns", limit / ns)
    single = first(args)
    one = interleaved({"gnc": lambda: kernel(*single)}, seconds=0.2)["gnc"]
    yield Row(f"{name}, N = 1", "gnc", one * 1e9, "ns per call")


def very_many(name: str, kernel: Kernel, args: list[np.ndarray]) -> Row:
    """Measure a kernel on more trials than the caches hold."""
    ns = interleaved({"gnc": lambda: kernel(*args)}, seconds=1.0)["gnc"] / VERY_MANY * 1e9
    return Row(f"{name}, N = {VERY_MANY}", "gnc", ns, "ns")


def attitude_rows() -> Iterator[Row]:
    """Measure the attitude steps."""
    args = attitude_arguments(MANY)
    q, P, _, rho, h = args
    yield from against_gcc("QVI drift", qvi.drift, args, "gcc within 1.5x")
    yield from against_gcc("QVI drift with F", qvi.drift_jacobian, args)
    best = interleaved(
        {"gnc": lambda: qvi.drift(*args), "numpy": lambda: numpy_reference.qvi_drift_numpy(q, P, J, 0.5, 4)}
    )
    ratio = best["numpy"] / best["gnc"]
    yield Row(f"QVI drift, N = {MANY}", "gnc", best["gnc"] / MANY * 1e9, "ns", "NumPy broadcasting", ratio, ">= 45x")
    steps, single = 20_000, first(args)
    fused = interleaved({"gnc": lambda: qvi.drift.repeat(steps, *single)}, seconds=1.0)["gnc"] / steps
    yield Row("QVI drift, one trial, fused", "gnc", fused * 1e9, "ns per step", target="<= 250 ns")
    damped = [q, P, 0.01 * P, np.zeros(3), J, np.asarray(1.0), np.asarray(0.5), rho, h]
    yield from against_gcc("Kane damper step", damper.step, damped)
    yield from against_gcc("Kane damper step with F", damper.step_jacobian, damped)
    wheels = np.random.default_rng(5).normal(size=(MANY, 3))
    yield from against_gcc("gyrostat step, order 2", qvi.step, [q, P, 0.01 * P, J, wheels, h])
    yield from against_gcc("gyrostat step, order 4", qvi.step4, [q, P, 0.01 * P, J, wheels, h])
    yield from against_gcc("gyrostat step with F, order 4", qvi.step4_jacobian, [q, P, 0.01 * P, J, wheels, h])
    very_many_args = attitude_arguments(VERY_MANY)
    q, P, *_ = very_many_args
    yield very_many("QVI drift", qvi.drift, very_many_args)
    yield very_many("QVI drift with F", qvi.drift_jacobian, very_many_args)
    yield very_many("Kane damper step", damper.step, [q, P, 0.01 * P, *damped[3:]])
    yield very_many("gyrostat step, order 4", qvi.step4, [q, P, 0.01 * P, J, 0.1 * P, h])


def pose_rows() -> Iterator[Row]:
    """Measure the pose steps."""
    args = pose_arguments(MANY)
    yield from against_gcc("DQVI step", dqvi.step, args, "<= 200 ns")
    yield from against_gcc("DQVI step with F", dqvi.step_jacobian, args)
    very_many_args = pose_arguments(VERY_MANY)
    yield very_many("DQVI step", dqvi.step, very_many_args)
    yield very_many("DQVI step with F", dqvi.step_jacobian, very_many_args)
    dq, chi, wrench, _, filler, h = args
    best = interleaved(
        {
            "gnc": lambda: dqvi.step(*args),
            "numpy": lambda: numpy_reference.dqvi_step_numpy(dq, chi, M, 100.0, 0.5, 4),
            "rk4": lambda: pose_runge_kutta.step(*args),
        }
    )
    ns = best["gnc"] / MANY * 1e9
    yield Row(f"DQVI step, N = {MANY}", "gnc", ns, "ns", "NumPy broadcasting", best["numpy"] / best["gnc"], ">= 20x")
    yield Row(
        f"DQVI step, N = {MANY}", "gnc", ns, "ns", "RK4 on the pose, batched", best["rk4"] / best["gnc"], ">= 0.33x"
    )


def rows() -> Iterator[Row]:
    """Measure all kernels."""
    yield Row("additions and multiplications, one core, not fused", "core", operations_per_ns(), "per ns")
    yield from attitude_rows()
    yield from pose_rows()
