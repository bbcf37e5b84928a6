"""Predict and update of a Kalman filter beside FilterPy, and the MEKF as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from filterpy.kalman import ExtendedKalmanFilter

from benchmarks.timing import Row, interleaved
from gnc import noise
from gnc.estimators.kalman import propagate_kernel, update_kernel
from gnc.estimators.mekf import Mekf
from gnc.estimators.sigma_points import SigmaMekf
from gnc.models.sensors import VectorSensor
from gnc.models.states import AttitudeState

MANY = 1000
J = np.diag([1.0, 2.0, 3.0])


def matrices(n: int, m: int, trials: int) -> tuple[np.ndarray, ...]:
    """Draw C, F, Q, H, R and residuals."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(trials, n, n))
    F = np.eye(n) + 0.1 * rng.normal(size=(trials, n, n))
    return (
        A @ A.swapaxes(1, 2) + np.eye(n),
        F,
        np.eye(n),
        rng.normal(size=(m, n)),
        np.eye(m),
        rng.normal(size=(trials, m)),
    )


def filterpy(n: int, m: int) -> Any:
    """Return one cycle of FilterPy's extended filter of the same size, Joseph form as ours, with trivial models."""
    C, F, Q, H, R, y = (a[0] if a.ndim == 3 or len(a) == 1 else a for a in matrices(n, m, 1))
    ekf = ExtendedKalmanFilter(dim_x=n, dim_z=m)
    ekf.F, ekf.Q, ekf.R = F, Q, R
    z = y.reshape(-1, 1)

    def cycle() -> None:
        ekf.x, ekf.P = np.zeros((n, 1)), C
        ekf.predict()
        ekf.update(z, lambda x: H, lambda x: H @ x)

    return cycle


def ours(n: int, m: int, trials: int) -> Any:
    """Return one cycle of our kernels, on arrays as the filters hand them over."""
    C, F, Q, H, R, y = matrices(n, m, trials)
    if trials == 1:
        C, F, y = C[0], F[0], y[0]
    predict, update = propagate_kernel(n), update_kernel(n, m)
    valid, gate = np.ones(()), np.array(np.inf)
    return lambda: update(predict(C, F, Q), H, R, y, valid, gate)


def mekf_cycle(trials: int, vectors: int, mekf: Mekf, joint: bool = False) -> Any:
    """Return predict and vector updates of a filter, or `advance` with all vectors; one trial has no axis."""
    sensors = [VectorSensor(rate_hz=1.0, r_I=r, sigma_deg=1.0) for r in np.eye(3)[:vectors]]
    x = AttitudeState(np.array([1.0, 0, 0, 0]), np.radians([4.0, -5, 6]))
    rate, z = (noise.normal(0, trials, what, 3)[0 if trials == 1 else slice(None)] for what in "wz")
    belief, free = mekf.start(AttitudeState(x.q_IB, x.w_B + 1e-3 * rate), np.eye(6) * 1e-6), np.zeros(3)
    end = mekf.state(mekf.predict(mekf.start(x, np.eye(6)), free, 1.0))
    measured = [s.measure(end, None, z) for s in sensors]

    def cycle() -> None:
        if joint:
            mekf.advance(belief, free, 1.0, list(zip(sensors, measured, strict=True)))
            return
        b = mekf.predict(belief, free, 1.0)
        for sensor, measurement in zip(sensors, measured, strict=True):
            b, _ = mekf.update(b, sensor, measurement)

    return cycle


def rows() -> Iterator[Row]:
    """Measure the cycles."""
    for n, m in ((6, 3), (12, 6)):
        best = interleaved({"peer": filterpy(n, m), "one": ours(n, m, 1), "many": ours(n, m, MANY)})
        case = f"Kalman cycle, {n} states, {m} measurements"
        yield Row(f"{case}, N = 1", "gnc", best["one"] * 1e9, "ns", "FilterPy", best["peer"] / best["one"], ">= 7x")
        each = best["many"] / MANY
        yield Row(f"{case}, N = {MANY}", "gnc", each * 1e9, "ns", "FilterPy", best["peer"] / each, ">= 30x")
    for vectors, words, target in ((1, "one vector", "<= 10 us"), (2, "two vectors", "")):
        best = interleaved(
            {"one": mekf_cycle(1, vectors, Mekf(J, "vi4")), "many": mekf_cycle(MANY, vectors, Mekf(J, "vi4"))}
        )
        case = f"MEKF, vi4, predict and {words}"
        yield Row(f"{case}, N = 1", "gnc", best["one"] * 1e6, "us", target=target)
        yield Row(f"{case}, N = {MANY}", "gnc", best["many"] / MANY * 1e9, "ns")
    kinds = {"exact": Mekf(J, "exact"), "auto": Mekf(J), "conserved": Mekf(J, chart="conserved"), "sigma": SigmaMekf(J)}
    best = interleaved({k: mekf_cycle(MANY, 2, f, joint=k in ("conserved", "sigma")) for k, f in kinds.items()})
    for name, target in (("auto", ""), ("conserved", ">= 0.4x"), ("sigma", ">= 0.166x")):
        case, ratio = f"MEKF, {name}, predict and two vectors, N = {MANY}", best["exact"] / best[name]
        yield Row(case, "gnc", best[name] / MANY * 1e9, "ns", "MEKF, exact", ratio, target)
