"""Navigation driven by a gyro, and navigation that knows everything, in closed loop."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.estimators.consistency import mean_band
from gnc.scenarios.missions.mission import Mission

TRACKER = {"kind": "star-tracker", "rate_hz": 0.5}


def mission(aboard, navigation, **software):
    changes = {
        "run": {"duration_s": 300.0},
        "craft": {"sat": {"sensors": aboard}},
        "software": {"sat": {"navigation": navigation, **software}},
    }
    found = Mission.like("pointing", changes)
    return found.model_copy(update={"requirements": {name: found.requirements[name] for name in ("lost", "books")}})


@pytest.mark.parametrize(
    ("gyro_hz", "tracker_hz", "command_hz"),
    [(5.0, 0.5, 1.0), (0.5, 1.0, 2.0)],  # the second: trackers measure and commands are given between two samples
)
def test_a_gyro_drives_an_honest_filter_whatever_the_other_rates(gyro_hz, tracker_hz, command_hz):
    # NEES of 3 numbers over 40 independent trials at three times, each out of its band with probability 1e-3.
    sensors = {"tracker": {**TRACKER, "rate_hz": tracker_hz}, "gyro": {"kind": "gyro", "rate_hz": gyro_hz}}
    start = {"attitude_sigma_deg": 20.0}
    flight = mission(sensors, {"kind": "gyro-mekf", "start": start}, rate_hz=command_hz).fly(40, 41)
    signals, verdict = flight.signals, flight.verdict
    assert verdict.ok and signals.attrs["uncompiled"] == ""
    nees = signals["sat.nees"].sel(time=[150, 220, 300]).mean("trial").values
    assert mean_band(3, 40, 0.999).holds(nees).all(), nees
    assert np.linalg.norm(signals["sat.knowledge_error_deg"].values[:, -1], axis=-1).max() < 0.05
    assert verdict.measurements["sat.gyro"] == (40 * (round(300 * gyro_hz) + 1), 0, 0)


WANDERING = {"kind": "gyro", "rate_hz": 2.0, "rate_random_walk_deg_s_rth": 0.1, "bias_deg_s": 0.0}


def test_a_bias_that_wanders_is_followed_by_the_filter_that_knows_it_and_fools_one_that_does_not():
    # NEES as above; the walk makes 0.029 deg/s in 300 s, of which a constant bias knows nothing.
    sensors, start = {"tracker": TRACKER, "gyro": WANDERING}, {"attitude_sigma_deg": 1.0}
    knows = mission(sensors, {"kind": "gyro-mekf", "start": start})
    does_not = mission(
        sensors, {"kind": "gyro-mekf", "start": start}, sensors={"gyro": {"rate_random_walk_deg_s_rth": 0.0}}
    )
    flights = [one.fly(40, 44).signals for one in (knows, does_not)]
    assert flights[0].attrs["uncompiled"] == ""
    nees = [signals["sat.nees"].sel(time=[150, 220, 300]).mean("trial").values for signals in flights]
    assert mean_band(3, 40, 0.999).holds(nees[0]).all(), nees
    assert nees[1].min() > 10.0
    alone = knows.fly([7], 44).signals["sat.knowledge_error_deg"].values
    assert np.array_equal(alone[0], flights[0]["sat.knowledge_error_deg"].values[7])


def test_the_true_bias_is_a_random_walk_also_under_faults():
    # Known rates: readings of a body at rest are bias and noise; Var(walk after T) = rrw^2 T, 2000 axes, +-5 sigma.
    rest = {"start": {"about": "inertial"}, "loads": {}, "sensors": {"gyro": {**WANDERING, "rate_hz": 0.5}}}
    found = {}
    for name, fault in {"sound": {}, "loud": {"kind": "noise", "part": "sat.gyro", "factor": 3.0}}.items():
        one = Mission.model_validate(
            {
                "run": {"duration_s": 600.0, "record_s": 600.0},
                "craft": {"sat": {"kind": "rigid", **rest}},
                "software": {"sat": {"navigation": {"kind": "gyro-mekf"}, "sensors": {"gyro": {"bias_deg_s": 0.1}}}},
                "faults": {"one": fault} if fault else {},
            }
        )
        found[name] = one.fly(667, 45).signals["sat.rate_error_deg_s"].values[:, -1]
    for name, error in found.items():  # the filter has no tracker: its rate error is bias and noise of the gyro
        arw = 0.1 / 60.0 * np.sqrt(0.5) * (3.0 if name == "loud" else 1.0)
        expected = (0.1 / 60.0) ** 2 * 600.0 + arw**2
        assert abs(np.mean(error**2) / expected - 1.0) < 5.0 * np.sqrt(2.0 / error.size), name


def test_the_order_of_sensors_in_the_file_does_not_matter():
    gyro = {"kind": "gyro", "rate_hz": 5.0}
    flights = [
        mission(sensors, {"kind": "gyro-mekf"}).fly(2, 42).signals["sat.knowledge_error_deg"].values
        for sensors in ({"gyro": gyro, "tracker": TRACKER}, {"tracker": TRACKER, "gyro": gyro})
    ]
    assert np.array_equal(*flights)


@pytest.mark.parametrize(
    ("sensors", "navigation", "words"),
    [
        ({}, {}, "there are none"),
        ({"a": {"kind": "gyro"}, "b": {"kind": "gyro"}}, {}, "there are a, b"),
        ({"a": {"kind": "gyro"}}, {"gyro": "c"}, "gyro = 'c'.*there are a"),
    ],
)
def test_a_gyro_that_is_not_there_or_not_told_apart_is_refused(sensors, navigation, words):
    with pytest.raises(InputError, match=f"software.sat.navigation: .*{words}"):
        mission(sensors, {"kind": "gyro-mekf", **navigation}).fly(1, 0)


def test_perfect_knowledge_points_better_than_a_filter_and_says_that_it_is_perfect():
    perfect = mission({}, {"kind": "known"})
    assert perfect.software["sat"].navigation.perfect
    known, filtered = perfect.fly(4, 43), mission({}, {"kind": "mekf"}).fly(4, 43)
    last = [
        np.linalg.norm(flight.signals["sat.pointing_error_deg"].values[:, -1], axis=-1) for flight in (known, filtered)
    ]
    assert known.verdict.ok and last[0].max() < 0.05 and last[0].max() < 0.2 * last[1].max()
    assert "sat.knowledge_error_deg" not in known.signals
