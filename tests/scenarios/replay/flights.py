"""Simulated flights, each flown by a filter's own loop and written down as columns that replay reads."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray

from gnc import dual_quaternion, noise, quaternion
from gnc.config.base import parse
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.extra_states import ResidualDipole, SensorBias
from gnc.estimators.gyro_mekf import GyroMekf
from gnc.estimators.mekf import Mekf
from gnc.estimators.twist_ekf import TwistEkf
from gnc.models.pose_body import PoseBody, PoseState
from gnc.models.sensors import (
    FineSunSensor,
    Gyro,
    Magnetometer,
    Measurement,
    RelativePose,
    RelativePosition,
    StarTracker,
    VectorSensor,
)
from gnc.models.states import AttitudeState
from gnc.scenarios.logs.log_writer import measured
from gnc.scenarios.replay import account
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.sensors import Observer, SensorSurroundings
from gnc.scenarios.replay.session import Session, connect

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
MOUNTED = np.array([0.5, 0.5, -0.5, 0.5])


class Flight(NamedTuple):
    """Columns of a log, the configuration that reads it, and what the filter's own loop estimated."""

    columns: dict[str, np.ndarray]
    toml: str
    times: np.ndarray
    estimates: dict[str, np.ndarray]


def named(prefix: str, values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{prefix}_{i}": values[:, i] for i in range(values.shape[1])}


def names(prefix: str, n: int) -> str:
    return "[" + ", ".join(f'"{prefix}_{i}"' for i in range(n)) + "]"


def replayed(log: Path, toml: str, folder: Path) -> tuple[Session, dict[str, Any]]:
    """Run a replay and account for it."""
    session = connect(log, parse(toml, Replay), folder)
    session.run()
    return session, account.outcome(session, log)


def estimates(folder: Path) -> xarray.Dataset:
    return xarray.open_dataset(folder / "estimates.nc", engine="scipy")


def tumble(steps: int, h: float) -> tuple[np.ndarray, np.ndarray]:
    """An attitude and its rate, turned step by step."""
    t = h * np.arange(steps)
    w = np.stack([0.3 * np.sin(0.7 * t), 0.2 * np.cos(0.5 * t), np.full(steps, 0.1)], axis=1)
    q = [IDENTITY]
    for k in range(steps - 1):
        q.append(quaternion.normalize(quaternion.mul(q[-1], quaternion.exp(h * w[k]))))
    return np.array(q), w


def gyro_flight(steps: int = 400) -> Flight:
    """Gyro at 10 Hz with drop-outs; a star tracker with drop-outs, a magnetometer in a moving field, a sun sensor."""
    h, rng = 0.1, noise.stream(0, 0, "gyro flight")
    q, w = tumble(steps, h)
    gyro = Gyro(rate_hz=10.0, arw=2e-4, bias_walk=1e-6, q_BS=MOUNTED)
    tracker = StarTracker(rate_hz=1.0, sigma_arcsec=[20.0, 20.0, 130.0], q_BS=MOUNTED)
    magnetometer = Magnetometer(rate_hz=2.0, sigma_T=1e-7)
    sun = FineSunSensor(rate_hz=1.0, sigma_deg=0.5)
    mekf = GyroMekf(gyro=gyro)
    C = np.diag([1e-4] * 3 + [1e-6] * 3)
    belief = mekf.start(q[0], C, (1e-3, 0.0, 0.0))
    lists: dict[str, list[Any]] = {k: [] for k in ("gyro", "st", "mag", "field", "sun", "dir")}
    told = []
    for k in range(steps):
        x = AttitudeState(q[k], w[k])
        field = 4e-5 * np.array([np.cos(0.01 * k), np.sin(0.01 * k), 0.5])
        direction = quaternion.rotate(quaternion.exp(np.array([0.0, 0.0, 1e-3 * k])), np.array([0.6, 0.0, 0.8]))
        env = SensorSurroundings(field, direction)
        readings: dict[str, Any] = {}
        for name, sensor, every in (("st", tracker, 10), ("mag", magnetometer, 5), ("sun", sun, 10)):
            z = sensor.measure(x, env, rng.standard_normal(3))
            if k % every:
                continue
            if name == "st" and k % 70 == 0:
                z = Measurement(np.zeros(4), False)
            belief, _ = mekf.update(belief, sensor, z, env)
            readings[name] = z
        told.append(belief)
        sample = gyro.measure(x, None, rng.standard_normal(3), np.array([2e-3, -1e-3, 5e-4]))
        if k % 53 == 52:
            sample = Measurement(np.zeros(3), False)
        belief = mekf.predict(belief, sample, h)
        lists["gyro"].append(sample)
        lists["st"].append(readings.get("st"))
        lists["mag"].append(readings["mag"].z if "mag" in readings else np.full(3, np.nan))
        lists["field"].append(field if "mag" in readings else np.full(3, np.nan))
        lists["sun"].append(readings["sun"].z if "sun" in readings else np.full(3, np.nan))
        lists["dir"].append(direction if "sun" in readings else np.full(3, np.nan))
    columns = {"t": h * np.arange(steps), **named("truth", q)}
    columns |= measured("gyro", lists["gyro"]) | measured("st", lists["st"])
    for name in ("mag", "field", "sun", "dir"):
        columns |= named(name, np.array(lists[name]))
    toml = f"""
[log]
time = "t"
step_s = {h}
[filter]
kind = "gyro-mekf"
patience = 8
[start]
q_IB = {q[0].tolist()}
bias = [1e-3, 0, 0]
C = {C.tolist()}
[truth]
columns = {names("truth", 4)}
order = "wxyz"
[[sensors]]
name = "gyro"
kind = "gyro"
columns = {names("gyro", 3)}
valid = "gyro_valid"
unit = "rad/s"
arw = 2e-4
bias_walk = 1e-6
q_BS = {MOUNTED.tolist()}
[[sensors]]
name = "tracker"
kind = "attitude"
columns = {names("st", 4)}
valid = "st_valid"
order = "wxyz"
sigma_arcsec = [20, 20, 130]
q_BS = {MOUNTED.tolist()}
[[sensors]]
name = "magnetometer"
kind = "magnetometer"
columns = {names("mag", 3)}
unit = "T"
sigma_T = 1e-7
reference = {names("field", 3)}
[[sensors]]
name = "sun"
kind = "vector"
columns = {names("sun", 3)}
sigma_deg = 0.5
reference = {names("dir", 3)}
"""
    found = {"q_IB": [b.q_IB for b in told], "bias": [b.bias for b in told], "C": [b.C for b in told]}
    return Flight(columns, toml, columns["t"], {k: np.array(v) for k, v in found.items()})


def torque_flight(steps: int = 300, dipole: bool = False) -> Flight:
    """A body with wheels under known torques, two directions and a gyro with a bias; inputs 10 Hz, sensors 2 Hz.

    With a dipole, which the filter estimates, it moves without substeps.
    """
    h, rng, J = 0.1, noise.stream(0, 0, "torque flight"), np.diag([1.0, 2.0, 2.5])
    gyro = Gyro(rate_hz=2.0, arw=1e-4, bias_walk=1e-5)
    ends = [VectorSensor(rate_hz=2.0, r_I=r, sigma_deg=0.2) for r in np.eye(3)[:2]]
    more = (ResidualDipole(walk=1e-8),) if dipole else ()
    extras = (*more, SensorBias(name="gyro", of=gyro, walk=gyro.bias_walk**2))
    mekf = Mekf(J, "vi4", 1e-8, extras, substeps=not dipole)
    sigmas = ([20.0] * 3 if dipole else []) + [np.radians(0.1)] * 3
    C, C_b = np.diag([1e-4] * 3 + [1e-4] * 3), np.diag(np.square(sigmas))
    field = 4e-5 * np.stack([np.cos(0.02 * np.arange(steps)), np.sin(0.02 * np.arange(steps)), np.ones(steps)], axis=1)
    q, w = tumble(steps, h)
    rho = np.stack([0.02 * np.sin(0.1 * np.arange(steps) + i) for i in range(3)], axis=1)
    tau = 1e-3 * rng.standard_normal((steps, 3))
    belief = mekf.start(AttitudeState(q[0], w[0]), C, rho[0], np.zeros(len(C_b)), C_b)
    lists: dict[str, list[Any]] = {"gyro": [], "a": [], "b": []}
    told, times = [], []
    for k in range(steps):
        x, measured = AttitudeState(q[k], w[k]), k % 5 == 0
        for name, sensor in (("gyro", gyro), ("a", ends[0]), ("b", ends[1])):
            z = sensor.measure(x, None, rng.standard_normal(3))
            if measured:
                belief, _ = mekf.update(belief, sensor, z)
            lists[name].append(z.z if measured else np.full(3, np.nan))
        if measured:
            told.append(belief)
            times.append(h * k)
        if k < steps - 1:
            belief = mekf.predict(belief, tau[k], h, rho[k + 1], SensorSurroundings(field[k], field[k]))
    columns = {"t": h * np.arange(steps), **named("tau", tau), **named("rho", rho), **named("field", field)}
    for name, values in lists.items():
        columns |= named(name, np.array(values))
    toml = f"""
[log]
time = "t"
step_s = {h}
[filter]
kind = "mekf"
method = "vi4"
patience = 5
J = {J.tolist()}
torque_psd = 1e-8
{"dipole_sigma_Am2 = 20.0" if dipole else ""}
{"dipole_walk = 1e-8" if dipole else ""}
{"substeps = false" if dipole else ""}
[start]
q_IB = {q[0].tolist()}
w_B = {w[0].tolist()}
C = {C.tolist()}
sigma_bias_deg_s = 0.1
[inputs]
torque = {names("tau", 3)}
wheels = {names("rho", 3)}
{"field = " + names("field", 3) if dipole else ""}
[[sensors]]
name = "a"
kind = "vector"
columns = {names("a", 3)}
sigma_deg = 0.2
reference = [1, 0, 0]
[[sensors]]
name = "b"
kind = "vector"
columns = {names("b", 3)}
sigma_deg = 0.2
reference = [0, 1, 0]
[[sensors]]
name = "gyro"
kind = "gyro"
columns = {names("gyro", 3)}
unit = "rad/s"
rate_hz = 2
arw = 1e-4
bias_walk = 1e-5
"""
    stacked = type(told[0])(*map(np.array, zip(*told, strict=True)))
    found = {
        "q_IB": stacked.q_IB,
        "w_B": mekf.state(stacked).w_B,
        "bias": stacked.extras[:, -3:],
        "C": mekf.covariance(stacked),
    }
    found |= {"dipole": stacked.extras[:, :3]} if dipole else {}
    return Flight(columns, toml, np.array(times), found)


def pose_flight(kinematic: bool, steps: int = 200) -> Flight:
    """A target seen from a moving observer by a camera (dual quaternions) and a range finder at the origin."""
    h, rng = 0.2, noise.stream(0, 0, "pose flight")
    body = PoseBody.of(50.0, np.array([0.1, 0.0, 0.0]), np.diag([5.0, 6.0, 7.0]))
    camera = RelativePose(rate_hz=5.0, sigma_m=0.02, sigma_fraction=0.002, sigma_near_deg=0.5, sigma_far_deg=2.0)
    ranger = RelativePosition(rate_hz=1.0, sigma_m=0.05, sigma_fraction=0.0)
    start = PoseState(dual_quaternion.from_pose(IDENTITY, np.array([0.0, 1.0, 12.0])), np.full(6, 0.02))
    C = np.diag([1e-3] * 3 + [1e-2] * 3 + [1e-4] * 6)
    if kinematic:
        ekf: Any = TwistEkf(walk_psd=1e-5)
        belief = ekf.start(start.dq_IB, C, -start.chi_B)
    else:
        ekf = DqEkf.of(50.0, np.array([0.1, 0.0, 0.0]), np.diag([5.0, 6.0, 7.0]), wrench_psd=1e-6)
        belief = ekf.start(start, C)
    wrench = 0.01 * rng.standard_normal((steps, 6)) * (not kinematic)
    truth, lists, told = start, {"pose": [], "seen": [], "range": []}, []
    for k in range(steps):
        observer = dual_quaternion.from_pose(
            quaternion.exp(np.array([0.0, 1e-3 * k, 0.0])), np.array([0.01 * k, 0.0, 0.0])
        )
        z = camera.measure(truth, Observer(observer), rng.standard_normal(8))
        belief, _ = ekf.update(belief, camera, z, Observer(observer))
        r = ranger.measure(truth, None, rng.standard_normal(5))
        if k % 5 == 0:
            belief, _ = ekf.update(belief, ranger, r)
        told.append(belief)
        lists["pose"].append(z.z)
        lists["seen"].append(observer)
        lists["range"].append(r.z if k % 5 == 0 else np.full(3, np.nan))
        truth = body.step(truth, wrench[k], h)
        belief = ekf.predict(belief, np.zeros(6) if kinematic else wrench[k], h)
    columns = {"t": h * np.arange(steps), **named("wrench", wrench)}
    for name, values in lists.items():
        columns |= named(name, np.array(values))
    psd = 'kind = "dqekf-kinematic"\nacceleration_psd = 1e-5'
    if not kinematic:
        psd = (
            'kind = "dqekf"\nmass = 50\nr_g = [0.1, 0, 0]\nJ_com = [[5, 0, 0], [0, 6, 0], [0, 0, 7]]\nwrench_psd = 1e-6'
        )
    inputs = (
        "" if kinematic else f'[inputs]\ntorque = {names("wrench", 3)}\nforce = ["wrench_3", "wrench_4", "wrench_5"]'
    )
    toml = f"""
[log]
time = "t"
step_s = {h}
[filter]
{psd}
[start]
q_IB = {IDENTITY.tolist()}
r_IB = [0, 1, 12]
w_B = [0.02, 0.02, 0.02]
v_B = [0.02, 0.02, 0.02]
C = {C.tolist()}
{inputs}
[[sensors]]
name = "camera"
kind = "pose"
columns = {names("pose", 8)}
order = "wxyz"
observer = {names("seen", 8)}
sigma_deg = 0.5
sigma_far_deg = 2
sigma_m = 0.02
sigma_fraction = 0.002
[[sensors]]
name = "ranger"
kind = "position"
columns = {names("range", 3)}
sigma_m = 0.05
"""
    stacked = type(told[0])(*map(np.array, zip(*told, strict=True)))
    sign = np.repeat([1.0, -1.0 if kinematic else 1.0], 6)
    found = {"dq_IB": stacked.dq_IB, "C": stacked.C * np.outer(sign, sign)}
    found |= {"w_B": stacked.chi_B[:, :3], "v_B": stacked.chi_B[:, 3:]}
    return Flight(columns, toml, columns["t"], found)
