"""Attitude error after a long tumble against the time spent, for our methods, RK4, SciPy's DOP853 and Basilisk's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.peers import peer
from benchmarks.timing import Row, interleaved
from gnc import quaternion
from gnc.integrators import METHODS, AttitudeMethod, scipy_solvers

J = np.diag([1.0, 2.0, 3.0])
Q0, W0 = np.array([1.0, 0.0, 0.0, 0.0]), np.array([np.pi / 4, -np.pi / 5, np.pi / 6])
DURATION = 1000.0  # [s], some 175 turns
STEPS = {"vi2": (0.4, 0.1, 0.02, 0.005), "exact": (0.5, 2.0, 10.0), "taylor": (0.4, 0.2)}
USUAL_STEPS = (0.8, 0.4, 0.2, 0.1, 0.05, 0.02)
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
BASILISK_STEPS = (0.4, 0.2, 0.1, 0.05, 0.02)
STOPS = 1.0  # [s] how often an adaptive integrator of Basilisk stops, to switch its attitude parameters
PICTURE = Path(__file__).with_name("accuracy.png")
NONE = np.zeros(3)

REFERENCE = 3e-10  # [rad] by which the reference differs from "exact" and from "taylor", which agree to 1e-11

basilisk = peer("benchmarks.basilisk", "accuracy")


def reference() -> np.ndarray:
    """Return the attitude at the end, by DOP853 at its tightest: good to REFERENCE."""
    return scipy_solvers.solve("DOP853", Q0, J @ W0, J, NONE, [0.0, DURATION], rtol=1e-13, atol=1e-14).q_IB[-1]


def of_method(method: AttitudeMethod, h: float, end: np.ndarray) -> tuple[float, float]:
    """Return the time one run takes [s] and its attitude error [rad]."""
    steps = round(DURATION / h)
    run = lambda: method.advance(steps, Q0, J @ W0, NONE, J, NONE, h, divide=False)  # noqa: E731
    return interleaved({"run": run}, seconds=0.2)["run"], angle(run()[0], end)


def of_scipy(tolerance: float, end: np.ndarray) -> tuple[float, float]:
    """Return the time and the error of SciPy's DOP853."""
    start = time.perf_counter()
    q = scipy_solvers.solve("DOP853", Q0, J @ W0, J, NONE, [0.0, DURATION], rtol=tolerance, atol=tolerance).q_IB[-1]
    return time.perf_counter() - start, angle(q, end)


def of_basilisk(integrator: str, h: float, tolerance: float | None, end: np.ndarray) -> tuple[float, float]:
    """Return the time, the better of two, and the error of one of Basilisk's integrators on a bare hub."""
    times = []
    for _ in range(2):
        simulation = basilisk.tumble(integrator, J, W0, h, tolerance)
        start = time.perf_counter()
        simulation.run(DURATION)
        times.append(time.perf_counter() - start)
    return min(times), angle(simulation.q_IB, end)


def angle(q: np.ndarray, end: np.ndarray) -> float:
    """Return the angle between attitudes, of any length."""
    return float(quaternion.angle_between(quaternion.normalize(q), quaternion.normalize(end)))


def curves() -> dict[str, list[tuple[float, float, float]]]:
    """Measure all methods: step or tolerance, time, error."""
    end = reference()
    measured = {}
    for method in METHODS.values():
        if isinstance(method, AttitudeMethod):
            steps = STEPS.get(method.name, USUAL_STEPS)
            measured[method.name] = [(h, *of_method(method, h, end)) for h in steps]
    measured["DOP853"] = [(tolerance, *of_scipy(tolerance, end)) for tolerance in TOLERANCES]
    if basilisk is not None:
        for name in basilisk.FIXED:
            measured[f"Basilisk {name}"] = [(h, *of_basilisk(name, h, None, end)) for h in BASILISK_STEPS]
        for name in basilisk.ADAPTIVE:
            points = [(tolerance, *of_basilisk(name, STOPS, tolerance, end)) for tolerance in TOLERANCES]
            measured[f"Basilisk {name}"] = points
    # A step too long has no solution.
    return {name: [p for p in points if np.isfinite(p[2])] for name, points in measured.items()}


def draw(measured: dict[str, list[tuple[float, float, float]]]) -> None:
    """Draw error over time spent."""
    figure = Figure(figsize=(9.5, 5.5), layout="constrained")
    axes = figure.subplots()
    for name, points in measured.items():
        _, seconds, errors = zip(*sorted(points, key=lambda p: p[1]), strict=True)
        style = "s--" if "Basilisk" in name else "o-"
        axes.loglog(seconds, np.maximum(errors, 1e-16), style, label=name)
    axes.axhline(REFERENCE, color="grey", linestyle=":", label="accuracy of the reference")
    axes.set(xlabel="time spent [s]", ylabel="attitude error [rad]", title=f"One trial, {DURATION:g} s of tumbling")
    axes.grid(which="both", alpha=0.3)
    figure.legend(loc="outside right upper")
    figure.savefig(PICTURE, dpi=120)


def rows() -> Iterator[Row]:
    """Measure, draw benchmarks/accuracy.png, and give the table."""
    measured = curves()
    draw(measured)
    for name, points in measured.items():
        for size, seconds, error in points:
            what = "tolerance" if name == "DOP853" or "RKF" in name else "h"
            yield Row(f"{name}, {what} = {size:g}", name, seconds * 1e3, "ms", f"error {error:.1e} rad")
