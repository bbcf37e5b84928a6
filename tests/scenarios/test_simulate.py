"""`gnc simulate`: a mission's measurements as a log, of which replay makes the estimates of the mission's filter."""

import json
import tomllib

import numpy as np
import pytest
import xarray
from scipy.stats import chi2

from gnc import quaternion
from gnc.scenarios import cli
from gnc.scenarios.missions.build import prepare
from gnc.scenarios.missions.dispersal import groups
from gnc.scenarios.missions.load import read

SENSORS, FILTER = "craft.sat.sensors", "software.sat.navigation"
POINTING = ["run.duration_s=300", "environment.orbit.argument_deg=106", f"{FILTER}.ungated_s=60"]  # into the shadow
DELAYED = [  # rates and delays that differ, a star tracker, mountings, an estimated inertia, a faster controller
    "run.duration_s=60",
    f"{SENSORS}.magnetometer.rate_hz=0.5",
    f"{SENSORS}.magnetometer.latency_s=0.4",
    f"{SENSORS}.magnetometer.sigma_nT=50",
    f"{SENSORS}.magnetometer.q_BS=[0.5, 0.5, -0.5, 0.5]",
    f"{SENSORS}.sun_sensor.rate_hz=2.0",
    f"{SENSORS}.sun_sensor.q_BS=[0.6, 0.0, 0.8, 0.0]",
    f"{SENSORS}.star.kind=star-tracker",
    f"{SENSORS}.star.rate_hz=0.1",
    f"{SENSORS}.star.latency_s=1.2",
    f"{FILTER}.inertia_sigma_percent=2.0",
    f"{FILTER}.dipole_walk=1e-9",
    f"{FILTER}.ungated_s=20",
    "software.sat.rate_hz=5",
]

ASKEW = [
    "run.duration_s=60",
    f"{SENSORS}.sun_sensor.misalignment_deg=1.0",
    f"{SENSORS}.magnetometer.misalignment_deg=1.0",
    f"{SENSORS}.magnetometer.bias_nT=300.0",
    f"{SENSORS}.magnetometer.soft_iron_percent=1.0",
    f"{SENSORS}.gyro={{kind='gyro', rate_hz=2.0, bias_deg_s=0.03}}",
    f"{SENSORS}.star={{kind='star-tracker', rate_hz=0.1, misalignment_arcsec=60.0}}",
    f"{FILTER}.inertia_sigma_percent=2.0",
]

DISPERSED = [
    "run.duration_s=30",
    "dispersions.J={key = 'craft.sat.J_kgm2', kind = 'inertia', sigma_percent = 3.0}",
    "dispersions.noise={key = 'craft.sat.sensors.magnetometer.sigma_deg', kind = 'uniform', lo = 0.5, hi = 2.0}",
]


def arguments(settings):
    return [word for setting in settings for word in ("--set", setting)]


def flown(name, settings, seed, trial):
    """The mission's own filter, and its beliefs by the time of the last correction, of a flight nobody takes down."""
    prepared = prepare(groups(read(name, [*settings, f"run.seed={seed}"]), seed, np.array([trial]))[0], seed)
    navigation, beliefs = next(iter(prepared.observer.software.values())).navigation, {}
    inner, update = navigation.inner, navigation.inner.update

    class Noting:
        """The same filter, whose beliefs are kept."""

        def __getattr__(self, name):
            return getattr(inner, name)

        def update(self, belief, name, measurement, t):
            beliefs[t], innovation = update(belief, name, measurement, t)
            return beliefs[t], innovation

    object.__setattr__(navigation, "inner", Noting())
    object.__setattr__(prepared.loop, "compiled", False)  # what notes is more than a program
    prepared.loop.fly(prepared.truth, prepared.belief, prepared.memory)
    return inner.filter, beliefs


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
        ("pointing", ASKEW, ".npz"),
        ("attitude-only", [], ".h5"),
    ],
    ids=["pointing", "pointing, delayed", "pointing, dispersed", "pointing, askew", "attitude-only"],
)
def test_replay_of_a_simulated_log_gives_the_estimates_of_the_missions_filter_bit_for_bit(
    name, settings, suffix, tmp_path
):
    mekf, beliefs = flown(name, settings, 5, 3)
    found, told = simulated(name, settings, 5, 3, tmp_path / f"flight{suffix}")
    states, covariances = zip(*((mekf.state(b), mekf.covariance(b)) for b in beliefs.values()), strict=True)
    assert np.array_equal(found["time"].values, list(beliefs))
    assert np.array_equal(found["q_IB"].values, [x.q_IB[0] for x in states])
    assert np.array_equal(found["w_B"].values, [x.w_B[0] for x in states])
    assert np.array_equal(found["C"].values, [C[0] for C in covariances])
    assert told["truth"]["scored"] == len(beliefs)
    assert told["warnings"] == []
    if settings is POINTING:
        assert 0 < told["data"]["sun_sensor"]["flagged"] < len(beliefs)


def test_the_log_has_the_truth_of_the_flight(tmp_path):
    """The mission's history, recorded in another run, knows the error of the same estimates."""
    settings = ["run.duration_s=40", "run.record_s=10"]
    found, _ = simulated("pointing", settings, 1, 2, tmp_path / "flight.csv")
    out = tmp_path / "run"
    cli.main(["run", "pointing", *arguments(settings), "--seed", "1", "--trial", "2", "--out", str(out)])
    with xarray.open_dataset(out / "history.nc", engine="scipy") as history:
        q_IB = history["sat.q_IB"].sel(time=[10.0, 20.0, 30.0]).values[0]
    assert np.array_equal(found["truth_q_IB"].values[[10, 20, 30]], q_IB)


def test_a_measurement_that_is_not_valid_is_flagged_in_the_log(tmp_path):
    _, told = simulated(
        "pointing", [*POINTING, "environment.orbit.argument_deg=120", "run.duration_s=20"], 0, 0, tmp_path / "f.npz"
    )
    assert told["data"]["sun_sensor"]["flagged"] == 21
    assert "sun_sensor" not in told["sensors"]


GYRO = """
base = "pointing"
[craft.sat.sensors]
gyro = { kind = "gyro", rate_hz = 2.0, rate_random_walk_deg_s_rth = 0.01 }
horizon = { kind = "horizon-sensor", rate_hz = 0.5 }
coarse = { kind = "coarse-sun-sensor" }
tracker = { kind = "star-tracker", rate_hz = 0.2 }
[software.sat.navigation]
kind = "gyro-mekf"
start = { source = "tracker" }
"""


def test_a_flight_on_a_gyro_is_replayed_in_the_band_of_every_sensor_and_what_replay_has_not_is_told(tmp_path, capsys):
    # Mean NIS of three independent numbers each: 7 sigma of sqrt(2/(3 n)); the truth as good as sigma says.
    file, log, out = tmp_path / "mine.toml", tmp_path / "flight.csv", tmp_path / "replay"
    file.write_text(GYRO)
    given = ["--set", "run.duration_s=600", "--json"]
    assert cli.main(["simulate", str(file), "--log", str(log), *given]) == 0
    assert "no sensors like coarse" in json.loads(capsys.readouterr().out)["note"]
    assert "coarse" not in log.read_text().splitlines()[0]
    assert cli.main(["replay", str(log), "--config", str(log.with_suffix(".toml")), "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"magnetometer", "sun_sensor", "horizon", "tracker"} <= told["sensors"].keys()
    for name, sensor in told["sensors"].items():
        assert abs(sensor["nis"] / sensor["size"] - 1.0) < 7.0 * np.sqrt(2.0 / (3.0 * sensor["used"])), name
    assert told["truth"]["rms_deg"] < 0.05


ERRORS = {"misalignment_deg": 1.0, "bias_nT": 300.0, "scale_percent": 0.4, "soft_iron_percent": 0.3}


def test_sensors_askew_leave_replay_as_honest_as_the_mission(tmp_path):
    """NEES of the last attitude of six trials, which begin by two directions askew: beyond the band once in 10 000."""
    file, nees = tmp_path / "mine.toml", []
    field = ", ".join(f"{key} = {value}" for key, value in ERRORS.items())
    askew = f"sun_sensor = {{ misalignment_deg = 1.0 }}\nmagnetometer = {{ {field} }}"
    gyro = 'gyro = { kind = "gyro", rate_hz = 2.0 }\n'
    file.write_text(f'base = "pointing"\n[craft.sat.sensors]\n{askew}\n{gyro}[{FILTER}]\nkind = "gyro-mekf"\n')
    for trial in range(6):
        found, _ = simulated(str(file), ["run.duration_s=60"], 0, trial, tmp_path / f"{trial}.npz")
        q, q_true, C = (found[name].values[-1] for name in ("q_IB", "truth_q_IB", "C"))
        error = quaternion.log(quaternion.mul(quaternion.conj(q), q_true))
        nees.append(error @ np.linalg.solve(C[:3, :3], error))
    low, high = chi2.ppf([0.5e-4, 1.0 - 0.5e-4], 18)
    assert low < np.sum(nees) < high
    written = {s["name"]: s for s in tomllib.loads((tmp_path / "0.toml").read_text())["sensors"]}
    assert {key: written["magnetometer"][key] for key in ERRORS} == pytest.approx(ERRORS, rel=1e-9)
    assert written["sun_sensor"]["misalignment_deg"] == pytest.approx(1.0, rel=1e-9)


def test_json_tells_the_files_and_the_rows(tmp_path, capsys):
    log = tmp_path / "flight.csv"
    assert cli.main(["simulate", "attitude-only", "--log", str(log), "--set", "run.duration_s=50", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["log"] == str(log) and told["config"] == str(tmp_path / "flight.toml")
    assert told["rows"] == len(log.read_text().splitlines()) - 1 == 6


@pytest.mark.parametrize(
    "words, said",
    [
        (["separation", "--log", "f.csv"], "replay has no"),
        (["pointing", "--log", "f.xlsx"], ".xlsx is no format that is known; give .csv"),
        (["pointing", "--log", "f.csv", "--set", f"{FILTER}.kind=standard-mekf"], "replay has no StandardMekf"),
        (["pointing", "--log", "f.csv", "--set", "run.duration_s=0.1", "--set", "run.record_s=0.1"], "too short"),
        (
            [
                "pointing",
                "--log",
                "f.csv",
                "--set",
                "run.duration_s=10",
                "--set",
                f"{SENSORS}.torque.kind=star-tracker",
            ],
            "sensors.torque: the log has other columns of this name; rename the sensor",
        ),
        (["scenario.toml", "--log", "scenario.csv"], "would replace scenario.toml"),
    ],
)
def test_what_cannot_be_simulated_is_one_line_and_leaves_nothing(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_text('base = "pointing"\n')
    assert cli.main(["simulate", *words]) == 2
    assert said in (told := capsys.readouterr().err) and told.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.toml"]
