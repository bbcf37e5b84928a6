"""Noise from rest, and hints from innovations, on logs whose noise is known."""

import numpy as np
import pytest

from gnc import dual_quaternion, quaternion
from gnc.scenarios.logs.log_writer import write_log
from tests.scenarios.replay import flights
from tests.scenarios.replay.flights import names

ROWS, RATE = 3000, 25.0


def resting(arw=3e-4, sigma_deg=0.2, tracker_every=1):
    """A body at rest for half the time, then slowly turning: gyro with a bias, tracker, magnetometer."""
    rng = np.random.default_rng(0)
    w = np.where(np.arange(ROWS)[:, None] < ROWS // 2, 0.0, np.array([0.02, -0.01, 0.03]))
    q = [np.array([1.0, 0.0, 0.0, 0.0])]
    for k in range(ROWS - 1):
        q.append(quaternion.mul(q[-1], quaternion.exp(w[k] / RATE)))
    gyro = w + [1e-3, 0.0, -2e-3] + arw * np.sqrt(RATE) * rng.standard_normal((ROWS, 3))
    st = quaternion.mul(np.array(q), quaternion.exp(np.radians(sigma_deg) * rng.standard_normal((ROWS, 3))))
    st[np.arange(ROWS) % tracker_every != 0] = np.nan
    mag = quaternion.inverse_rotate(np.array(q), np.array([3e-5, 0.0, 2e-5])) + 2e-7 * rng.standard_normal((ROWS, 3))
    return {"t": np.arange(ROWS) / RATE, **flights.named("gyro", gyro), **flights.named("st", st),
            **flights.named("mag", 1e9 * mag)}  # fmt: skip


def toml(arw=3e-4, sigma_deg=0.2, sigma_T=2e-7):
    return f"""
[log]
time = "t"
[filter]
kind = "gyro-mekf"
[rest]
from_s = 5
to_s = 55
[[sensors]]
name = "gyro"
kind = "gyro"
columns = {names("gyro", 3)}
unit = "rad/s"
arw = {arw}
bias_walk = 1e-7
[[sensors]]
name = "tracker"
kind = "attitude"
columns = {names("st", 4)}
order = "wxyz"
sigma_deg = {sigma_deg}
[[sensors]]
name = "magnetometer"
kind = "magnetometer"
columns = {names("mag", 3)}
unit = "nT"
sigma_T = {sigma_T}
reference = [3e-5, 0, 2e-5]
"""


def hints(columns, text, tmp_path):
    write_log(tmp_path / "log.npz", {"": columns})
    return flights.replayed(tmp_path / "log.npz", text, tmp_path / "out")[1]


def test_noise_at_rest_is_that_which_was_put_in(tmp_path):
    """1250 differences of 3 numbers: the level scatters by 1.4 %, and 6 % is beyond chance (1e-4)."""
    rest = hints(resting(), toml(), tmp_path)["rest"]
    assert rest["gyro"]["levels"]["arw"][0] == pytest.approx(3e-4, rel=0.06)
    assert rest["tracker"]["levels"]["sigma_deg"][0] == pytest.approx(0.2, rel=0.06)
    assert rest["magnetometer"]["levels"]["sigma_T"][0] == pytest.approx(2e-7, rel=0.06)
    # The mean of 1250 samples of 1.5e-3 rad/s: 4.2e-5, four of them 1.7e-4.
    np.testing.assert_allclose(rest["gyro"]["bias_rad_s"], [1e-3, 0.0, -2e-3], rtol=0, atol=1.7e-4)


def test_a_well_tuned_filter_gets_no_hint(tmp_path):
    assert hints(resting(), toml(), tmp_path)["hints"] == []


@pytest.mark.parametrize("factor, word", [(0.4, "small"), (3.0, "large")])
def test_the_sensor_whose_noise_is_misstated_is_named_and_no_other(factor, word, tmp_path):
    said = hints(resting(), toml(sigma_deg=0.2 * factor), tmp_path)["hints"]
    assert any(h.startswith("tracker: innovations") and f"stated too {word}" in h for h in said)
    assert any(h.startswith("tracker: at rest sigma_deg") and f"too {word}" in h for h in said)
    assert not any(h.startswith("magnetometer") or h.startswith("gyro") for h in said)


def test_a_gyro_that_is_noisier_than_stated_is_blamed_for_correlated_innovations(tmp_path):
    columns = resting(arw=3e-3, sigma_deg=0.01, tracker_every=5)
    said = hints(columns, toml(arw=1e-4, sigma_deg=0.01), tmp_path)["hints"]
    assert any("gyro's arw or bias_walk is too small" in h for h in said)
    assert any(h.startswith("gyro: at rest arw") and "too small" in h for h in said)


def test_noise_of_a_pose_at_rest_is_split_into_angle_and_length(tmp_path):
    rng = np.random.default_rng(1)
    twist = np.concatenate([np.radians(0.3) * rng.standard_normal((2000, 3)), 0.02 * rng.standard_normal((2000, 3))], 1)
    pose = dual_quaternion.mul(
        dual_quaternion.from_pose(flights.MOUNTED, np.array([1.0, 2.0, 3.0])), dual_quaternion.exp(twist)
    )
    q, r = dual_quaternion.to_pose(pose)
    columns = {"t": np.arange(2000) / RATE, **flights.named("q", q), **flights.named("r", 1e3 * r)}
    text = f"""
[log]
time = "t"
[filter]
kind = "dqekf-kinematic"
acceleration_psd = 1e-6
[rest]
from_s = 0
to_s = 40
[[sensors]]
name = "mocap"
kind = "pose"
columns = {names("q", 4)[:-1]}, {names("r", 3)[1:]}
unit = "mm"
order = "wxyz"
sigma_deg = 0.3
sigma_m = 0.02
"""
    outcome = hints(columns, text, tmp_path)
    levels = outcome["rest"]["mocap"]["levels"]
    assert levels["sigma_deg"][0] == pytest.approx(0.3, rel=0.05)
    assert levels["sigma_m"][0] == pytest.approx(0.02, rel=0.05)
    assert outcome["hints"] == []
