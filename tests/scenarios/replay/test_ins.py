"""`kind = "ins"`: a vehicle with an IMU, GNSS, a lever arm and a late receiver, replayed from its log."""

import numpy as np
import pytest
from scipy.stats import chi2

from gnc import quaternion
from gnc.config.base import parse
from gnc.errors import InputError
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay.config import Replay
from tests.scenarios.replay.flights import named, names, replayed

RATE, SECONDS = 100.0, 40.0
ARW, VRW, LEVER, DELAY = 1e-3, 1e-2, np.array([0.5, -0.2, 0.3]), 0.06
BIAS = np.array([0.01, -0.02, 0.015, 0.05, -0.08, 0.03])
IMU = f"""
[log]
time = "t"
[filter]
kind = "ins"
[[sensors]]
kind = "gyro"
columns = {names("gyro", 3)}
unit = "rad/s"
arw = {ARW}
[[sensors]]
kind = "accelerometer"
columns = {names("acc", 3)}
unit = "m/s^2"
vrw = {VRW}
[truth]
columns = {names("truth", 4)}
position = {names("place", 3)}
order = "wxyz"
"""
START = "start = { sigma_bias_deg_s = 1.0 }\n"
GNSS = f"""
[[sensors]]
name = "gnss"
kind = "position"
columns = {names("gnss", 3)}
sigma_m = 0.05
lever_m = [0.0, 0.0, 0.0]
sigma_lever_m = 1.0
sigma_delay_s = 0.2
"""
COMPASS = f"""
[[sensors]]
name = "compass"
kind = "vector"
columns = {names("mag", 3)}
reference = [0.0, 0.5, -0.8660254037844386]
sigma_deg = 1.0
"""


def drive(seed=0, still_s=0.0, heading=0.0):
    """A body on a wavy path: smooth position and attitude, IMU samples as means over the interval before."""
    rng, sub = np.random.default_rng(seed), 10
    t = np.arange(int(RATE * SECONDS) * sub + 1) / (RATE * sub)
    s = np.clip(t - still_s, 0.0, None)[:, None]
    ramp = 1.0 - np.exp(-((0.5 * s) ** 3))
    r = ramp * np.concatenate([5.0 * np.sin(0.4 * s), 4.0 * np.sin(0.61 * s + 0.3), 1.0 * np.sin(0.9 * s)], axis=1)
    q = quaternion.from_euler321(
        ramp * np.concatenate([0.9 * np.sin(0.5 * s), 0.3 * np.sin(0.8 * s), 0.3 * np.cos(1.1 * s)], axis=1)
    )
    q = quaternion.mul(quaternion.exp(np.array([0.0, 0.0, heading])), q)
    dt = t[1] - t[0]
    a = np.zeros_like(r)
    a[1:-1] = (r[2:] - 2.0 * r[1:-1] + r[:-2]) / dt**2
    f = quaternion.inverse_rotate(q, a + [0.0, 0.0, 9.80665])
    w = quaternion.log(quaternion.mul(quaternion.conj(q[:-1]), q[1:])) / dt
    n = int(RATE * SECONDS)
    mean = lambda x: x[: n * sub].reshape(n, sub, 3).mean(axis=1)  # noqa: E731
    white = rng.standard_normal((n, 6)) * np.repeat([ARW, VRW], 3) * np.sqrt(RATE)
    imu = np.concatenate([mean(w), mean(0.5 * (f[1:] + f[:-1]))], axis=1) + BIAS + white
    end = np.arange(sub, n * sub + 1, sub)
    late = np.maximum(end - round(DELAY * RATE * sub), 0)
    gnss = r[late] + quaternion.rotate(q[late], LEVER) + 0.05 * rng.standard_normal((n, 3))
    gnss[np.arange(n) % 10 != 0] = np.nan
    field = np.array([0.0, 0.5, -0.8660254037844386])
    mag = quaternion.inverse_rotate(q[end], field) + np.radians(1.0) * rng.standard_normal((n, 3))
    mag[np.arange(n) % 10 != 3] = np.nan
    columns = {"t": t[end], **named("gyro", imu[:, :3]), **named("acc", imu[:, 3:]), **named("gnss", gnss)}
    return columns | named("mag", mag) | named("truth", q[end]) | named("place", r[end])


def test_biases_lever_arm_and_delay_are_found_within_four_sigma_and_smoothing_helps(tmp_path):
    write_log(tmp_path / "log.npz", {"": drive()})
    rms = {}
    for output in ("", "output = { smooth = true }\n"):
        session, outcome = replayed(
            tmp_path / "log.npz", START + output + IMU + GNSS + COMPASS, tmp_path / f"out{len(output)}"
        )
        last = session.results.estimates()[-1]
        assert outcome["lost_s"] is None and not outcome["failures"] and not outcome["recoveries"]
        rms[output] = outcome["truth"]["rms_deg"], outcome["truth"]["rms_m"]
        found = np.concatenate([last["bias"], last["acc_bias"], last["extras"]]).astype(float)
        off = found - np.concatenate([BIAS, LEVER, [DELAY]])
        sigma = np.sqrt(np.diagonal(last["C"])[9:].astype(float))
        assert (np.abs(off) < 4.0 * sigma).all()  # 10 numbers, false alarm 6e-4
        assert sigma[6:9].max() < 0.05 and sigma[9] < 0.01
    assert session.filter.errors[-4:] == ("lever_gnss_x", "lever_gnss_y", "lever_gnss_z", "delay_gnss")
    (filtered, metres), (smoothed, fewer) = rms.values()
    assert smoothed < 0.7 * filtered and fewer < 0.7 * metres
    assert fewer < 0.05 * np.sqrt(3.0)  # of the fixes themselves, which are late too


@pytest.mark.parametrize(("heading", "still_s"), [(0.0, 0.0), (-2.4, 10.0)])
def test_without_a_compass_the_heading_comes_from_the_motion_however_far_off_it_begins(heading, still_s, tmp_path):
    write_log(tmp_path / "log.npz", {"": drive(seed=1, still_s=still_s, heading=heading)})
    _, outcome = replayed(tmp_path / "log.npz", START + "score = { from_s = 25.0 }\n" + IMU + GNSS, tmp_path / "out")
    assert outcome["truth"]["rms_deg"] < 1.5
    assert outcome["truth"]["nees"] < chi2.ppf(0.999, 6)  # correlated over the log: as one draw of six
    assert outcome["sensors"]["gnss"]["nis"] == pytest.approx(3.0, rel=0.2)  # 400 fixes: 4 sigma


def test_poses_ranges_velocities_and_rest_serve_too(tmp_path):
    columns = drive(seed=2, still_s=8.0)
    r, rng = np.stack([columns[f"place_{i}"] for i in range(3)], axis=1), np.random.default_rng(5)
    v = np.gradient(r, 1.0 / RATE, axis=0) + 0.1 * rng.standard_normal(r.shape)
    places = np.array([[20.0, 0.0, 3.0], [-10.0, 15.0, -2.0], [0.0, -12.0, 6.0]])
    due = np.arange(len(r)) % 20 == 0
    toml = (
        "start = { q_IB = [1, 0, 0, 0], r_IB = [0, 0, 0], sigma_attitude_deg = 20, sigma_bias_deg_s = 1.0 }\n"
        + IMU.replace('kind = "ins"', 'kind = "ins"\nrest_sigma_m_s = 0.02\nsigma_gravity_m_s2 = 0.05')
    )
    for i, place in enumerate(places):
        d = np.linalg.norm(r - place, axis=1) + 0.05 * rng.standard_normal(len(r))
        columns[f"d{i}"] = np.where(due, d, np.nan)
        toml += f'[[sensors]]\nname = "d{i}"\nkind = "range"\ncolumns = ["d{i}"]\nsigma_m = 0.05\n'
        toml += f"reference = {place.tolist()}\n"
    columns |= named("v", np.where(due[:, None], 3.6 * v, np.nan))
    toml += f'[[sensors]]\nkind = "velocity"\ncolumns = {names("v", 3)}\nframe = "inertial"\nunit = "km/h"\n'
    toml += "sigma_m_s = 0.1\n"
    write_log(tmp_path / "log.npz", {"": columns})
    session, outcome = replayed(tmp_path / "log.npz", toml, tmp_path / "out")
    assert outcome["sensors"]["rest"]["used"] > 40
    for name in ("d0", "d1", "d2", "velocity"):
        s = outcome["sensors"][name]
        low, high = chi2.ppf([1e-5, 1 - 1e-5], s["size"] * s["used"]) / s["used"]
        assert 0.9 * low < s["nis"] < 1.1 * high
    assert outcome["truth"]["rms_m"] < 0.15
    assert session.filter.errors[15:] == ("gravity_x", "gravity_y", "gravity_z")


@pytest.mark.parametrize("smooth", [False, True])
def test_behind_a_gap_it_is_aligned_anew_and_keeps_what_lasts(tmp_path, smooth):
    """Of 40 s, 3 are lost in motion: flown through, the error is 49 deg and 172 m RMS."""
    log = drive(seed=4)
    write_log(tmp_path / "log.npz", {"": {n: v[(log["t"] < 20.0) | (log["t"] > 23.0)] for n, v in log.items()}})
    toml = START + "output = { smooth = true }\n" * smooth + IMU + GNSS + COMPASS
    session, outcome = replayed(tmp_path / "log.npz", toml, tmp_path / "out")
    assert [w for w in outcome["warnings"] if "gyro: a gap of 3.0" in w and "aligned anew" in w]
    assert outcome["failures"] == []
    e = session.results.estimates()
    late = e[e["t"] > 30.0]
    apart = np.linalg.norm(late["r_IB"] - late["truth_r_IB"], axis=1)
    assert np.sqrt((apart**2).mean()) < 0.2
    assert outcome["sensors"]["gnss"]["rejected"] < 5
    lever = late["extras"][0, :3]
    np.testing.assert_allclose(lever, LEVER, atol=0.2)


def test_a_heading_that_nothing_tells_behind_a_gap_is_a_failure(tmp_path):
    log = drive(seed=4)
    write_log(tmp_path / "log.npz", {"": {n: v[(log["t"] < 20.0) | (log["t"] > 23.0)] for n, v in log.items()}})
    _, outcome = replayed(tmp_path / "log.npz", START + IMU + GNSS, tmp_path / "out")
    assert any("nothing tells the heading behind a gap of 3.0" in failure for failure in outcome["failures"])


def test_it_says_what_it_needs():
    with pytest.raises(InputError, match="0 of the kind accelerometer; ins is driven by exactly one"):
        parse(IMU.split('[[sensors]]\nkind = "accelerometer"')[0] + GNSS, Replay)
    with pytest.raises(InputError, match="none measures a position or velocity"):
        parse(IMU + COMPASS, Replay)
    with pytest.raises(InputError, match="gyro-mekf takes no velocity; those that do: ins"):
        toml = '[[sensors]]\nkind = "velocity"\ncolumns = "v"\nframe = "body"\nsigma_m_s = 0.1\n'
        without = IMU.split('[[sensors]]\nkind = "accelerometer"')[0]
        parse(without.replace('"ins"', '"gyro-mekf"') + toml, Replay)
