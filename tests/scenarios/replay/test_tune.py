"""`gnc tune`: the noises of simulated logs are found again."""

import contextlib
import io
import json

import numpy as np
import pytest
import xarray

from gnc import quaternion
from gnc.config.base import parse, read
from gnc.errors import InputError
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay import stepper
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.likelihood import likelihoods
from gnc.scenarios.replay.tune import Tuning, tunable
from gnc.scenarios.replay.tune_command import tune
from tests.scenarios.replay.flights import named, names, replayed

ARW, SIGMA_DEG = 0.01, 0.5
TOML = f"""
[log]
time = "t"
[filter]
kind = "gyro-mekf"
[[sensors]]
kind = "gyro"
columns = {names("gyro", 3)}
unit = "rad/s"
arw = 0.003
bias_walk = 1e-9
[[sensors]]
name = "tracker"
kind = "attitude"
columns = {names("st", 4)}
order = "wxyz"
sigma_deg = 1.0
"""


START = "[start]\nq_IB = [1.0, 0.0, 0.0, 0.0]\n"  # candidates alone would begin with their own covariance
OVER = ["sensors.gyro.arw", "sensors.tracker.sigma_deg"]


def columns(seed, rows=1500, rate=10.0):
    """A gyro and a star tracker whose noises both show in the innovations."""
    rng, t = np.random.default_rng(seed), np.arange(rows) / rate
    w = np.sin(np.outer(t, [0.3, 0.4, 0.5]))
    q = [np.array([1.0, 0.0, 0.0, 0.0])]
    for row in w[:-1]:
        q.append(quaternion.mul(q[-1], quaternion.exp(row / rate)))
    gyro = w + ARW * np.sqrt(rate) * rng.standard_normal((rows, 3))
    st = quaternion.mul(np.array(q), quaternion.exp(np.radians(SIGMA_DEG) * rng.standard_normal((rows, 3))))
    return {"t": t, **named("gyro", gyro), **named("st", st)}


def test_noises_are_found_and_a_parameter_without_effect_is_called_undetermined(tmp_path):
    """600 rows tell both noises to 3 %: 15 % is beyond four sigma, false alarm 1e-4. The walk is too small to show."""
    write_log(tmp_path / "log.npz", {"": columns(0, rows=600)})
    (tmp_path / "x.toml").write_text(TOML)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        tune(tmp_path / "log.npz", tmp_path / "x.toml", out=tmp_path / "out", as_json=True)
    told = json.loads(printed.getvalue())
    found = told["parameters"]
    assert found["sensors.gyro.arw"]["after"] == pytest.approx(ARW, rel=0.15)
    assert found["sensors.tracker.sigma_deg"]["after"] == pytest.approx(SIGMA_DEG, rel=0.15)
    assert "does not determine" in found["sensors.gyro.bias_walk"]["said"]
    assert found["sensors.gyro.bias_walk"]["after"] == 1e-9
    assert told["held_back_gain"] > 0.0
    assert told["sensors"]["tracker"]["after"]["nis"] == pytest.approx(3.0, rel=0.1)
    assert abs(told["sensors"]["tracker"]["after"]["lag_1"]) < 0.1
    assert read(tmp_path / "out" / "tuned.toml", Replay).sensors[0].arw == found["sensors.gyro.arw"]["after"]
    assert (tmp_path / "out" / "tune.png").exists()


def test_candidates_in_a_batch_have_the_likelihood_they_have_alone(tmp_path, monkeypatch):
    write_log(tmp_path / "log.npz", {"": columns(1, rows=200)})
    tuning = Tuning(tmp_path / "log.npz", parse(TOML + START, Replay), OVER)
    points = np.array([[0.0, 0.0], [0.5, -0.3], [1.2, -0.7]])
    together = tuning.stretches(points)
    alone = np.concatenate([tuning.stretches(p[None]) for p in points], axis=1)
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    t, terms = likelihoods(tmp_path / "log.npz", [tuning.at(p) for p in points])
    assert terms.shape == (len(t), 3)
    monkeypatch.setattr(stepper, "FEWEST", 1)
    np.testing.assert_array_equal(tuning.stretches(points), together)  # compiled


def test_candidates_estimate_how_a_sensor_is_askew_as_replay_does(tmp_path):
    """The likelihood is that of the innovations which replay records, of a tracker that is 2 deg off."""
    log = columns(1, rows=200)
    st = np.stack([log[f"st_{i}"] for i in range(4)], axis=1)
    log |= named("st", quaternion.mul(st, quaternion.exp(np.radians([2.0, 0.0, 0.0]))))
    write_log(tmp_path / "log.npz", {"": log})
    toml = TOML.replace("sigma_deg = 1.0", "sigma_deg = 0.5\nmisalignment_deg = 2.0") + START
    replayed(tmp_path / "log.npz", toml, tmp_path / "out")
    with xarray.open_dataset(tmp_path / "out" / "innovations_tracker.nc", engine="scipy") as found:
        expected = -0.5 * (found["nis"].values + np.linalg.slogdet(found["S"].values)[1])
    _, terms = likelihoods(tmp_path / "log.npz", [parse(toml, Replay)] * 2)
    np.testing.assert_allclose(terms, np.stack([expected] * 2, axis=1), rtol=1e-9)


def test_it_says_what_can_be_tuned(tmp_path):
    config = parse(TOML, Replay)
    assert list(tunable(config)) == ["sensors.gyro.arw", "sensors.gyro.bias_walk", "sensors.tracker.sigma_deg"]
    with pytest.raises(InputError, match="--over sensors.gyro.range: not a noise"):
        Tuning(tmp_path, config, ["sensors.gyro.range"])


@pytest.mark.slow
def test_noises_of_twenty_logs_are_found_within_fifteen_percent(tmp_path):
    """Seeds 100 to 119; every estimate is within 15 %, at a standard deviation of about 2 %."""
    for seed in range(100, 120):
        write_log(tmp_path / f"{seed}.npz", {"": columns(seed)})
        tuning = Tuning(tmp_path / f"{seed}.npz", parse(TOML, Replay), OVER)
        found = np.array([0.003, 1.0]) * np.exp(tuning.fit().x)
        np.testing.assert_allclose(found, [ARW, SIGMA_DEG], rtol=0.15, err_msg=str(seed))
