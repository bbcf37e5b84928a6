"""Commands of controllers, look-ups of the environment, sensors and steps of bodies: what one trial-step costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks import allocation
from benchmarks.algebra import random_poses
from benchmarks.timing import Row, interleaved
from gnc import spatial
from gnc.controllers.attitude import AttitudeController
from gnc.controllers.pose import PoseTracking
from gnc.controllers.reference import AttitudeReference, PoseReference
from gnc.models.environment import Environment, EnvironmentTable, Igrf, KeplerOrbit
from gnc.models.pose_body import PoseState
from gnc.models.rigid_body import Gyrostat, GyrostatState, RigidBody
from gnc.models.sensors import FineSunSensor, Magnetometer
from gnc.models.states import AttitudeState

MANY = 1000
J = np.diag([22.0, 20.0, 23.0])


def rows() -> Iterator[Row]:
    """Measure, a thousand trials at a time."""
    poses, rng = random_poses(MANY, 1), np.random.default_rng(2)
    x = AttitudeState(poses[:, :4], 0.1 * rng.normal(size=(MANY, 3)))
    attitude = AttitudeController.tuned(J, 0.1)
    pose = PoseTracking.tuned(spatial.inertia(100.0, np.zeros(3), J), 0.1)
    y, r = PoseState(poses, rng.normal(size=(MANY, 6))), PoseReference(np.eye(8)[0])
    still, first, memory = AttitudeReference(np.eye(4)[0]), attitude.start((MANY,)), pose.start((MANY,))
    orbit = KeplerOrbit(
        a=6.878e6, e=0.001, inclination=1.7, raan=0.4, argument=0.0, mean_anomaly=0.0, epoch="2026-03-20"
    )
    table = EnvironmentTable.along(orbit, 6000.0, Igrf())
    times, env = rng.uniform(0.0, 6000.0, MANY), table.at(100.0)
    magnetometer, sun = Magnetometer(rate_hz=1.0, sigma_deg=1.0), FineSunSensor(rate_hz=1.0, sigma_deg=1.0)
    noise = rng.normal(size=(MANY, 3))
    cases = {
        "attitude PD+": (lambda: attitude.command(x, still, first), "<= 300 ns"),
        "pose tracking": (lambda: pose.command(y, r, memory), "<= 300 ns"),
        "environment look-up, own time": (lambda: table.at(times), "<= 100 ns"),
        "magnetometer, measure": (lambda: magnetometer.measure(x, env, noise), ""),
        "sun sensor, predict": (lambda: sun.predict(x, env), ""),
    }
    best = interleaved({name: call for name, (call, _) in cases.items()}, seconds=0.3)
    for name, (_, target) in cases.items():
        yield Row(f"{name}, N = {MANY}", "gnc", best[name] / MANY * 1e9, "ns", target=target)
    yield from _single_rows(table.at(100.0))
    yield from allocation.rows(lambda: pose.command(y, r, memory)[0])


def _single_rows(env: Environment) -> Iterator[Row]:
    """Measure calls for a single trial, which are mostly those of Python and NumPy."""
    x, tau, noise = AttitudeState(np.eye(4)[0], np.array([0.1, 0.05, -0.02])), np.array([0.01, 0.0, 0.0]), np.zeros(3)
    wheeled = GyrostatState(*x, np.array([0.1, 0.0, 0.2]))
    magnetometer, sun = Magnetometer(rate_hz=1.0, sigma_deg=1.0), FineSunSensor(rate_hz=1.0, sigma_deg=1.0)
    cases: dict[str, Callable[[], object]] = {}
    for method in ("vi2", "vi4"):
        cases[f"rigid body, step {method}"] = partial(RigidBody(J, method).step, x, tau, 0.1)
        cases[f"gyrostat, step {method}"] = partial(Gyrostat(J, method).step, wheeled, tau, 0.1)
    cases["magnetometer, measure"] = partial(magnetometer.measure, x, env, noise)
    cases["sun sensor, measure"] = partial(sun.measure, x, env, noise)
    best = interleaved(cases, seconds=0.3)
    for name, seconds in best.items():
        target = "<= 3 us" if "step" in name else ""
        yield Row(f"{name}, N = 1", "gnc", seconds * 1e6, "us", target=target)
