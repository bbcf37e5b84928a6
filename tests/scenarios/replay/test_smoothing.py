"""Smoothing of every filter: nearer to the truth than the filter, and as near as it says."""

import numpy as np
import pytest
from scipy.stats import chi2

from gnc import quaternion
from gnc.scenarios.logs.log_writer import write_log
from tests.scenarios.replay.flights import named, names, replayed

RATE, SECONDS, SEEDS = 10.0, 15.0, 8
ARW, SIGMA = 3e-3, np.radians(1.0)
SENSORS = f"""
[[sensors]]
kind = "gyro"
columns = {names("gyro", 3)}
unit = "rad/s"
arw = {ARW}
[[sensors]]
name = "tracker"
kind = "attitude"
columns = {names("st", 4)}
order = "wxyz"
sigma_deg = 1.0
"""
TRUTH = f"""
[truth]
columns = {names("truth", 4)}
order = "wxyz"
"""
POSE = f"""
[[sensors]]
kind = "pose"
columns = {names("pose", 7)}
order = "wxyz"
sigma_deg = 1.0
sigma_m = 0.05
"""
J = np.diag([1.0, 2.0, 2.5])
GYRO_MEKF = 'filter = { kind = "gyro-mekf", gate_probability = 1.0 }\nlog = { time = "t" }\n' + SENSORS + TRUTH
MEKF = (
    f"""
log = {{ time = "t" }}
filter = {{ kind = "mekf", J = {J.tolist()}, torque_psd = 1e-3, gate_probability = 1.0 }}
start = {{ sigma_rate_deg_s = 20.0 }}
"""
    + SENSORS.split("[[sensors]]")[2].join(["[[sensors]]", ""])
    + TRUTH
)
KINEMATIC = (
    """
log = { time = "t" }
filter = { kind = "dqekf-kinematic", acceleration_psd = 1e-2, gate_probability = 1.0 }
start = { sigma_rate_deg_s = 20.0 }
"""
    + POSE
    + TRUTH
    + f"position = {names('place', 3)}\n"
)
WRENCH = KINEMATIC.replace(
    '"dqekf-kinematic", acceleration_psd = 1e-2', f'"dqekf", mass = 1.0, J_com = {J.tolist()}, wrench_psd = 1e-3'
)


def turning(seed):
    """A body of inertia J under white torque and force, seen at 1 Hz, its gyro at 10 Hz."""
    rng, n, h = np.random.default_rng(seed), int(RATE * SECONDS), 1.0 / RATE
    q, w, r, v = np.array([1.0, 0, 0, 0]), 0.3 * rng.standard_normal(3), np.zeros(3), 0.1 * rng.standard_normal(3)
    rows, sub = [], 5
    for _ in range(n):
        rows.append(np.concatenate([q, w, r]))
        begin = q
        for _ in range(sub):
            torque = np.sqrt(1e-3 * sub / h) * rng.standard_normal(3)
            w = w + h / sub * np.linalg.solve(J, torque - np.cross(w, J @ w))
            v = v + h / sub * np.sqrt(1e-3 * sub / h) * rng.standard_normal(3)
            q, r = quaternion.normalize(quaternion.mul(q, quaternion.exp(h / sub * w))), r + h / sub * v
        rows[-1] = np.append(rows[-1], quaternion.log(quaternion.mul(quaternion.conj(begin), q)) / h)
    x = np.array(rows)
    st = quaternion.mul(x[:, :4], quaternion.exp(SIGMA * rng.standard_normal((n, 3))))
    pose = np.concatenate([st, x[:, 7:10] + 0.05 * rng.standard_normal((n, 3))], axis=1)
    st[np.arange(n) % 10 != 0] = pose[np.arange(n) % 10 != 0] = np.nan
    gyro = x[:, 10:] + ARW * np.sqrt(RATE) * rng.standard_normal((n, 3))
    columns = {"t": np.arange(n) * h, **named("gyro", gyro), **named("st", st), **named("pose", pose)}
    return {**columns, **named("truth", x[:, :4]), **named("place", x[:, 7:10])}


def scored(tmp_path, toml, seed, output=""):
    write_log(tmp_path / "log.npz", {"": turning(seed)})
    out = tmp_path / f"out{seed}{len(output)}"
    session, outcome = replayed(tmp_path / "log.npz", f"{output}\n{toml}", out)
    return outcome["truth"]["rms_deg"], *middle(session.results.estimates())


def middle(records):
    """Return NEES of attitude or pose in the middle of a log, and its dimension."""
    e = quaternion.log(quaternion.mul(quaternion.conj(records["q_IB"]), records["truth_q_IB"]).astype(float))
    if "r_IB" in records.dtype.names:
        d = (records["truth_r_IB"] - records["r_IB"]).astype(float)
        e = np.concatenate([e, quaternion.inverse_rotate(records["q_IB"].astype(float), d)], axis=1)
    k, size = len(records) // 2, e.shape[1]
    C = records["C"][k, :size, :size].astype(float)
    return float(e[k] @ np.linalg.solve(C, e[k])), size


@pytest.mark.parametrize("toml", [GYRO_MEKF, MEKF, KINEMATIC, WRENCH], ids=["gyro-mekf", "mekf", "kinematic", "dqekf"])
def test_smoothed_estimates_are_better_and_their_covariance_is_right(toml, tmp_path):
    """NEES in the middle of 8 logs (seeds 0 to 7): sum chi-square, false alarm 1e-4; white acceleration is no body."""
    rms, nees = np.zeros(3), []
    for seed in range(SEEDS):
        outputs = ["", "output = { smooth = true }", "output = { smooth = true, lag_s = 1.0 }"][: 2 + (seed < 3)]
        found = [scored(tmp_path, toml, seed, output) for output in outputs]
        rms += [*(x[0] for x in found), 0.0][:3] if seed < 3 else 0.0
        nees.append(found[1][1])
        size = found[1][2]
    assert rms[1] < 0.9 * rms[0]
    assert 0.98 * rms[1] <= rms[2] < rms[0]
    low, high = chi2.ppf([5e-5, 1.0 - 5e-5], size * SEEDS)
    assert sum(nees) < high
    if "kinematic" not in toml:
        assert low < sum(nees)


def wandering(seed, kind, rate=5.0, n=100, sub=20, tau=1.5):
    """A body that turns and moves by a model of motion: white, damped or lasting acceleration, of density 0.05."""
    rng, h = np.random.default_rng(seed), 1.0 / (rate * sub)
    q, r, v, a, rows = np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(6), np.zeros(6), []
    for k in range(n * sub):
        if k % sub == 0:
            rows.append(np.concatenate([q, r]))
        push = np.sqrt(0.05 / h) * rng.standard_normal(6)
        if kind == "singer":
            a = a + h * (push - a / tau)
            v = v + h * a
        else:
            v = v + h * (push - (v / tau if kind == "damped" else 0.0))
        q, r = quaternion.normalize(quaternion.mul(q, quaternion.exp(h * v[:3]))), r + h * v[3:]
    x = np.array(rows)
    seen = quaternion.mul(x[:, :4], quaternion.exp(SIGMA * rng.standard_normal((n, 3))))
    pose = np.concatenate([seen, x[:, 4:] + 0.05 * rng.standard_normal((n, 3))], axis=1)
    return {"t": np.arange(n) / rate, **named("pose", pose), **named("truth", x[:, :4]), **named("place", x[:, 4:])}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["white", "damped", "singer"])
@pytest.mark.parametrize("smooth", ["false", "true"])
def test_motion_models_whose_density_the_log_tells_are_honest(kind, smooth, tmp_path):
    """NEES of the pose in the middle of 20 logs (seeds 200 to 219): sum chi-square of 120, false alarm 1e-4."""
    toml = KINEMATIC.replace("acceleration_psd = 1e-2", f'motion = "{kind}"') + f"[output]\nsmooth = {smooth}\n"
    nees = []
    for seed in range(200, 220):
        write_log(tmp_path / "log.npz", {"": wandering(seed, kind)})
        nees.append(middle(replayed(tmp_path / "log.npz", toml, tmp_path / f"out{seed}")[0].results.estimates())[0])
    low, high = chi2.ppf([5e-5, 1.0 - 5e-5], 6 * len(nees))
    assert low < sum(nees) < high
