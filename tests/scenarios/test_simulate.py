"""`gnc simulate`: a scenario's measurements as a log, of which replay makes the estimates of the scenario's filter."""

import dataclasses
import json

import numpy as np
import pytest
import xarray

from gnc.scenarios import cli, dispersed, run

POINTING = ["duration_s=300", "orbit.argument_deg=106", "filter.ungated_s=60"]  # into the Earth's shadow
DELAYED = [  # rates and delays that differ, a star tracker, mountings, an estimated inertia, a faster controller
    "duration_s=60",
    "sensors.magnetometer.rate_hz=0.5",
    "sensors.magnetometer.latency_s=0.4",
    "sensors.magnetometer.sigma_nT=50",
    "sensors.magnetometer.q_BS=[0.5, 0.5, -0.5, 0.5]",
    "sensors.sun_sensor.rate_hz=2.0",
    "sensors.sun_sensor.q_BS=[0.6, 0.0, 0.8, 0.0]",
    "sensors.star.kind=star-tracker",
    "sensors.star.rate_hz=0.1",
    "sensors.star.latency_s=1.2",
    "filter.inertia_sigma_percent=2.0",
    "filter.dipole_walk=1e-9",
    "filter.ungated_s=20",
    "controller.rate_hz=5",
]

DISPERSED = [
    "duration_s=30",
    "dispersions.J={key = 'vehicle.J_kgm2', kind = 'inertia', sigma_percent = 3.0}",
    "dispersions.noise={key = 'sensors.magnetometer.sigma_deg', kind = 'uniform', lo = 0.5, hi = 2.0}",
]


def arguments(settings):
    return [word for setting in settings for word in ("--set", setting)]


class Noting:
    """A navigation whose beliefs are kept, by the time of the last correction."""

    def __init__(self, navigation):
        self.navigation, self.beliefs = navigation, {}

    def predict(self, *given):
        return self.navigation.predict(*given)

    def update(self, belief, name, measurement, t):
        self.beliefs[t], innovation = self.navigation.update(belief, name, measurement, t)
        return self.beliefs[t], innovation


def flown(name, settings, seed, trial):
    """The scenario's own filter, and its beliefs of a flight that nobody takes down."""
    scenario, config = run.resolve(name, settings)
    group = dispersed.groups(config, scenario.dispersible, seed, np.array([trial]))[0]
    prepared = scenario.build(group.config, seed, group.trials)
    noting = Noting(prepared.loop.navigation)
    loop = dataclasses.replace(prepared.loop, navigation=noting, compiled=False)  # what notes is more than a program
    loop.fly(prepared.truth, prepared.belief, prepared.memory)
    return prepared.loop.navigation, noting.beliefs


def simulated(name, settings, seed, trial, log):
    """The estimates that replay makes of a simulated log, and its metrics."""
    words = ["simulate", name, *arguments(settings), "--seed", str(seed), "--trial", str(trial), "--log", str(log)]
    assert cli.main(words) == 0
    out = log.parent / "out"
    assert cli.main(["replay", str(log), "--config", str(log.with_suffix(".toml")), "--out", str(out)]) == 0
    with xarray.open_dataset(out / "estimates.nc", engine="scipy") as found:
        return found.load(), json.loads((out / "metrics.json").read_text())


@pytest.mark.parametrize(
    "name, settings, suffix",
    [
        ("pointing", POINTING, ".csv"),
        ("pointing", DELAYED, ".parquet"),
        ("pointing", DISPERSED, ".npz"),
        ("attitude-only", [], ".h5"),
    ],
    ids=["pointing", "pointing, delayed", "pointing, dispersed", "attitude-only"],
)
def test_replay_of_a_simulated_log_gives_the_estimates_of_the_scenarios_filter_bit_for_bit(
    name, settings, suffix, tmp_path
):
    navigation, beliefs = flown(name, settings, 5, 3)
    found, told = simulated(name, settings, 5, 3, tmp_path / f"flight{suffix}")
    states, covariances = zip(
        *((navigation.mekf.state(b), navigation.mekf.covariance(b)) for b in beliefs.values()), strict=True
    )
    assert np.array_equal(found["time"].values, list(beliefs))
    assert np.array_equal(found["q_IB"].values, [x.q_IB[0] for x in states])
    assert np.array_equal(found["w_B"].values, [x.w_B[0] for x in states])
    assert np.array_equal(found["C"].values, [C[0] for C in covariances])
    assert told["truth"]["scored"] == len(beliefs)
    assert told["warnings"] == []
    if settings is POINTING:
        assert 0 < told["data"]["sun_sensor"]["flagged"] < len(beliefs)


@pytest.mark.parametrize(
    "name, settings",
    [
        ("rendezvous", ["duration_s=120", "camera.outlier=0.5", "filter.ungated_updates=10"]),
        (
            "rendezvous",
            ["duration_s=60", "camera.period_s=1", "camera.latency_s=0.5", "filter.inertia_sigma_percent=5"],
        ),
        pytest.param("docking", [], marks=pytest.mark.slow),
    ],
    ids=["beginning anew", "late, with inertia", "docking"],
)
def test_replay_gives_the_pose_and_twist_of_a_chasers_filter_bit_for_bit(name, settings, tmp_path):
    navigation, beliefs = flown(name, settings, 5, 4)
    found, told = simulated(name, settings, 5, 4, tmp_path / "flight.csv")
    last = [b.last for b in beliefs.values()]
    assert np.array_equal(found["time"].values, list(beliefs))
    assert np.array_equal(found["dq_IB"].values, [b.dq_IB[0] for b in last])
    assert np.array_equal(found["w_B"].values, [b.chi_B[0, :3] for b in last])
    assert np.array_equal(found["v_B"].values, [b.chi_B[0, 3:] for b in last])
    assert np.array_equal(found["C"].values, [b.C[0] for b in last])
    assert told["truth"]["rms_m"] is not None
    if "camera.outlier=0.5" in settings:  # it did begin anew, with the covariance known before the flight
        assert any(np.array_equal(b.C[0], navigation.prior.C) for b in last[1:])


def test_the_log_has_the_truth_of_the_flight(tmp_path):
    """The scenario's history, recorded in another run, knows the error of the same estimates."""
    settings = ["duration_s=40", "record_s=10"]
    found, _ = simulated("pointing", settings, 1, 2, tmp_path / "flight.csv")
    out = tmp_path / "run"
    cli.main(["run", "pointing", *arguments(settings), "--seed", "1", "--trial", "2", "--out", str(out)])
    with xarray.open_dataset(out / "history.nc", engine="scipy") as history:
        q_IB = history["q_IB"].sel(time=[10.0, 20.0, 30.0]).values[0]
    assert np.array_equal(found["truth_q_IB"].values[[10, 20, 30]], q_IB)


def test_a_measurement_that_is_not_valid_is_flagged_in_the_log(tmp_path):
    _, told = simulated("pointing", [*POINTING, "orbit.argument_deg=120", "duration_s=20"], 0, 0, tmp_path / "f.npz")
    assert told["data"]["sun_sensor"]["flagged"] == 21
    assert "sun_sensor" not in told["sensors"]


def test_json_tells_the_files_and_the_rows(tmp_path, capsys):
    log = tmp_path / "flight.csv"
    assert cli.main(["simulate", "attitude-only", "--log", str(log), "--set", "duration_s=50", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["log"] == str(log) and told["config"] == str(tmp_path / "flight.toml")
    assert told["rows"] == len(log.read_text().splitlines()) - 1 == 6


@pytest.mark.parametrize(
    "words, said",
    [
        (["touchdown", "--log", "f.csv"], "touchdown cannot be simulated to a log; pointing"),
        (["pointing", "--log", "f.xlsx"], ".xlsx is not known; give .csv"),
        (["pointing", "--log", "f.csv", "--set", "filter.kind=standard-mekf"], "replay has no StandardMekf"),
        (["pointing", "--log", "f.csv", "--set", "duration_s=0.1"], "too short"),
        (
            ["pointing", "--log", "f.csv", "--set", "duration_s=5", "--set", "sensors.torque.kind=star-tracker"],
            "sensors.torque: the log has other columns of this name; rename the sensor",
        ),
        (["scenario.toml", "--log", "scenario.csv"], "would replace scenario.toml"),
    ],
)
def test_what_cannot_be_simulated_is_one_line_and_leaves_nothing(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_text('scenario = "pointing"\n')
    assert cli.main(["simulate", *words]) == 2
    assert said in (told := capsys.readouterr().err) and told.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.toml"]
