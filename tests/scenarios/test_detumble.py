"""The scenario detumble: B-dot, handover, pointing."""

import numpy as np
import pytest

from gnc.config import dump, override, parse
from gnc.errors import InputError
from gnc.scenarios import detumble
from gnc.scenarios.scenario import fly

SCENARIO = detumble.SCENARIO
SHORT = (
    "start.rate_deg_s=0.8",
    "duration_s=1600.0",
    "criteria.settle_s=300.0",
)  # in sunlight; eclipse begins at 1850 s


def configured(*settings):
    return override(SCENARIO.Config(), list(settings)) if settings else SCENARIO.Config()


def failed(verdict):
    return [check.name for check in verdict.checks if not check.ok]


@pytest.fixture(scope="module")
def short_flight():
    config = configured(*SHORT)
    return config, fly(SCENARIO, config, 31, np.arange(8))


def test_a_slow_tumble_is_stopped_and_pointed_in_sunlight(short_flight):
    config, flight = short_flight
    verdict = SCENARIO.judge(config, flight)
    assert failed(verdict) == [] and verdict.lost == {}
    assert "pointing p99.7 in sun [deg]" in [check.name for check in verdict.checks]


def test_another_seed_is_stopped_and_pointed_too():
    config = configured(*SHORT)
    assert failed(SCENARIO.judge(config, fly(SCENARIO, config, 32, np.arange(8)))) == []


def test_each_trial_changes_over_in_its_own_time_and_leaves_its_wheels_alone_before(short_flight):
    _, flight = short_flight
    since, t = flight["pointing_since_s"].values[:, -1], flight["time"].values
    assert len(set(since.tolist())) > 1
    before = t < since[:, None]
    moved = flight["wheel_Nms"].values - flight["wheel_Nms"].values[:, :1]
    assert not moved[before].any() and not flight["wheel_torque_Nm"].values[before].any()
    assert np.all(np.abs(moved[:, -1]).max(axis=-1) > 1e-4)
    assert np.isnan(flight["nees"].values[before]).all()


def test_the_impulses_of_torquers_and_disturbances_account_for_the_momentum(short_flight):
    _, flight = short_flight
    assert flight["momentum_gap"].values.max() < 1e-12
    assert np.abs(flight["dipole_Am2"].values).max() == 1.0  # they have worked at their limit


def test_weak_torquers_never_stop_the_tumble_and_every_trial_is_lost():
    config = configured(*SHORT, "torquers.dipole_limit_Am2=1e-4", "start.rate_deg_s=5.0", "duration_s=600.0")
    verdict = SCENARIO.judge(config, fly(SCENARIO, config, 31, np.arange(3)))
    assert set(verdict.lost.values()) == {"never slow enough to point"}
    assert {"lost trials", "slow by [s]"} <= set(failed(verdict))


def test_a_filter_that_trusts_a_wrong_dipole_and_inertia_fails_the_check():
    wrong = ("filter.dipole_sigma_Am2=0.0", "filter.inertia_sigma_percent=0.0", "filter.torque_psd_Nm2s=1e-17")
    config = configured(*SHORT, *wrong, "vehicle.dipole_Am2=0.2", "vehicle.J_error_percent=10.0")
    assert "pointing p99.7 in sun [deg]" in failed(SCENARIO.judge(config, fly(SCENARIO, config, 31, np.arange(4))))


def test_unloading_brings_the_wheels_to_their_bias(short_flight):
    config, unloaded = short_flight
    loaded = fly(SCENARIO, configured(*SHORT, "torquers.unloading_per_s=0.0"), 31, np.arange(8))
    with_torquers, without = (SCENARIO.judge(config, flight).metrics for flight in (unloaded, loaded))
    assert with_torquers["excess_end_Nms"] < 0.8 * without["excess_end_Nms"]
    assert without["excess_start_Nms"] == with_torquers["excess_start_Nms"]


def test_a_trial_alone_has_the_bits_it_has_among_others(short_flight):
    config, several = short_flight
    alone = fly(SCENARIO, config, 31, np.array([3]))
    for name, signal in alone.data_vars.items():
        ours, theirs = (
            (signal, several[name]) if "trial" not in signal.dims else (signal[0], several[name].sel(trial=3))
        )
        assert np.array_equal(ours.values, theirs.values, equal_nan=True), name


@pytest.mark.parametrize(
    ("setting", "words"),
    [("controller.rate_hz=2.0", "magnetometer"), ("sensors.magnetometer.kind=star-tracker", "needs one called")],
)
def test_what_bdot_cannot_use_is_refused_in_one_line(setting, words):
    with pytest.raises(InputError, match=words):
        SCENARIO.build(configured(*SHORT, setting), 0, np.arange(1))


def test_the_verdict_needs_only_the_signals_it_says_it_needs(short_flight):
    config, flight = short_flight
    needed = flight[[name for name in flight.data_vars if name in SCENARIO.judged or name.startswith("t_")]]
    one, two = (SCENARIO.judge(config, kept) for kept in (flight, needed))
    assert repr(one.metrics) == repr(two.metrics) and repr(one.checks) == repr(two.checks)  # repr: NaN is not itself


def test_its_file_reads_back_the_same():
    config = configured("torquers.bdot_gain_Nms=1e-3")
    assert parse(dump(config), SCENARIO.Config) == config


def test_figures_and_scene_are_made_of_a_short_flight(short_flight):
    from matplotlib.figure import Figure

    config, flight = short_flight
    figures = SCENARIO.figures(config, flight)
    assert {"tumble", "pointing", "wheels", "knowledge", "innovations"} == set(figures)
    for draw in figures.values():
        draw(Figure(layout="constrained"))
    assert len(SCENARIO.scene(config, flight, 1).t) == 161


@pytest.mark.slow
def test_the_whole_flight_through_eclipse_meets_its_criteria():
    config = configured()
    assert failed(SCENARIO.judge(config, fly(SCENARIO, config, 33, np.arange(60)))) == []
