"""The mission detumble: B-dot, search for the attitude, pointing."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.scenarios.missions.load import read
from tests.scenarios.flights import failed, same_bits

SHORT = ("craft.sat.start.rate_sigma_deg_s=0.8", "run.duration_s=1600.0")  # in sunlight; eclipse begins at 1850 s
SUN, SLOW = "pointing p99.7 in sunlight [deg]", "slow by [s]"


def mission(*settings):
    """Return a short form of the mission, which asks less late and nothing of the eclipse."""
    found = read("detumble", [*SHORT, *settings])
    asked = {}
    for name, part in found.requirements.items():
        if "and eclipse" not in getattr(part, "when", ""):
            when = getattr(part, "when", "").replace("mode_time_s >= 900", "mode_time_s >= 300")
            asked[name] = part.model_copy(update={"when": when})
    return found.model_copy(update={"requirements": asked})


@pytest.fixture(scope="module")
def short_flight():
    return mission().fly(8, 31)


def test_a_slow_tumble_is_stopped_and_pointed_in_sunlight(short_flight):
    verdict = short_flight.verdict
    assert failed(verdict) == [] and verdict.lost == {} and verdict.success.all()
    assert SUN in [check.name for check in verdict.checks]


def test_each_trial_changes_over_in_its_own_time_and_leaves_its_wheels_alone_before(short_flight):
    flight = short_flight.signals
    t = flight["time"].values
    since = (t - flight["sat.mode_time_s"].values)[:, -1]
    assert len(set(since.tolist())) > 1
    before = t < since[:, None]
    wheels = flight["sat.wheels.momentum_Nms"].values
    moved = wheels - wheels[:, :1]
    assert not moved[before].any() and not flight["sat.wheels.torque_Nm"].values[before].any()
    assert np.all(np.abs(moved[:, -1]).max(axis=-1) > 1e-4)
    for name in ("nees", "knowledge_error_deg", "rate_error_deg_s", "sigma_deg"):
        assert np.isnan(flight[f"sat.{name}"].values[before]).all(), name
        assert np.isfinite(flight[f"sat.{name}"].values[~before]).all(), name
    assert np.array_equal(flight["sat.search"].values == 2.0, ~before)


def test_measurements_count_once_the_filter_has_begun(short_flight):
    flight = short_flight.signals
    t, used = flight["time"].values, flight["sat.magnetometer.used"].values
    since = (t - flight["sat.mode_time_s"].values)[:, -1]
    assert not used[t < since[:, None]].any()
    assert np.array_equal(used[:, -1], t[-1] - since) and not flight["sat.magnetometer.refused"].values.any()


def test_the_impulses_of_torquers_and_disturbances_account_for_the_momentum(short_flight):
    assert short_flight.signals["sat.momentum_gap"].values.max() < 1e-12
    assert (
        np.abs(short_flight.signals["sat.torquers.dipole_Am2"].values).max() == 1.0
    )  # they have worked at their limit


def test_weak_torquers_never_stop_the_tumble_and_the_reason_tells_which_guard_never_came_true():
    weak = ("craft.sat.actuators.torquers.dipole_limit_Am2=1e-4", "craft.sat.start.rate_sigma_deg_s=5.0")
    verdict = mission(*weak, "run.duration_s=600.0").fly(3, 31).verdict
    assert len(verdict.lost) == 3 and {"lost trials", SLOW} <= set(failed(verdict))
    for reason in verdict.lost.values():
        assert "in mode detumble, as known > 0 was not true" in reason
        assert "magnetometer never was quiet" in reason


def test_a_sun_that_is_never_in_sight_is_told_apart_from_a_tumble_that_never_stops():
    blind = ("craft.sat.sensors.sun_sensor.half_cone_deg=0.01", "craft.sat.start.rate_sigma_deg_s=0.05")
    verdict = mission(*blind, "run.duration_s=200.0").fly(3, 31).verdict
    assert len(verdict.lost) == 3
    assert all("quiet but sun_sensor saw nothing" in reason for reason in verdict.lost.values())


def test_a_filter_that_trusts_a_wrong_dipole_and_inertia_fails_the_check():
    filters = {"dipole_sigma_Am2": 0.0, "inertia_sigma_percent": 0.0, "torque_psd_Nm2s": 1e-17}
    wrong = [f"software.sat.navigation.{key}={value}" for key, value in filters.items()]
    worse = ("craft.sat.loads.dipole.size_Am2=0.2", "craft.sat.J_error_percent=10.0")
    assert SUN in failed(mission(*wrong, *worse).fly(4, 31).verdict)


def test_unloading_brings_the_wheels_to_their_bias(short_flight):
    bias = np.array([0.0, 0.02, 0.0])
    none = (
        "software.sat.modes.nadir.unload=",
        *(f"requirements.excess_{x}_Nms.signal=abs(t)" for x in ("start", "end")),
    )
    loaded = mission(*none).fly(4, 31).signals
    axes = read("detumble").craft["sat"].actuators["wheels"].belief()
    excess = [
        np.linalg.norm(axes.momentum_B(flight["sat.wheels.momentum_Nms"].values) - bias, axis=-1)
        for flight in (short_flight.signals.isel(trial=slice(4)), loaded)
    ]
    rms = [np.sqrt(np.mean(e**2, axis=0)) for e in excess]
    assert rms[0][-1] < 0.8 * rms[1][-1] and rms[0][0] == rms[1][0]
    each = short_flight.verdict.per_trial["excess_end_Nms"][:4]
    assert excess[0][:, -1] == pytest.approx(each, rel=1e-12)


def test_a_trial_alone_has_the_bits_it_has_among_others(short_flight):
    assert same_bits(short_flight.signals, mission().fly([3], 31).signals, 3)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("software.sat.rate_hz=2.0", "b-dot.*magnetometer at the rate of commands"),
        ("craft.sat.sensors.magnetometer.kind=star-tracker", "b-dot.*there is none"),
        ('software.sat.navigation.start.vectors=["sun_sensor", "moon"]', "start.vectors.*moon.*there are magnetometer"),
        ("software.sat.navigation.start.watch=moon", "start.watch = 'moon'"),
    ],
)
def test_what_the_search_and_bdot_cannot_use_is_refused_in_one_line(setting, words):
    with pytest.raises(InputError, match=words):
        mission(setting).fly(1, 0)


def test_the_verdict_needs_only_the_signals_it_says_it_needs_and_another_seed_is_pointed_too():
    one, two = (mission("run.record_s=20.0").fly(4, 32, judged_only=only).verdict for only in (False, True))
    assert repr(one.metrics) == repr(two.metrics) and repr(one.checks) == repr(two.checks)  # repr: NaN is not itself
    assert failed(one) == []


@pytest.mark.slow
def test_the_whole_flight_through_eclipse_meets_its_criteria():
    assert failed(read("detumble").fly(60, 33).verdict) == []
