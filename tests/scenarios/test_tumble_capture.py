"""The scenario tumble-capture: filters beside each other."""

import numpy as np
import pytest

from gnc.config import dump, override, parse
from gnc.scenarios import tumble_capture
from gnc.scenarios.scenario import fly

SCENARIO = tumble_capture.SCENARIO
ALONE = "comparators.filters=[]"
SHORT = ("capture.start_s=60.0", "duration_s=160.0", "criteria.settle_s=130.0")


def configured(*settings):
    return override(SCENARIO.Config(), list(settings)) if settings else SCENARIO.Config()


def judged(config, seed, trials):
    return SCENARIO.judge(config, fly(SCENARIO, config, seed, np.arange(trials)))


def failed(verdict):
    return [check.name for check in verdict.checks if not check.ok]


@pytest.mark.parametrize("seed", [21, 22, 23])
@pytest.mark.parametrize("psd", [1e-5, 1e-4])
def test_none_is_lost_at_both_process_noises(seed, psd):
    verdict = judged(configured(ALONE, f"filter.torque_psd_Nm2s={psd}"), seed, 24)
    assert failed(verdict) == [] and verdict.lost == {}


def test_filters_of_one_step_do_worse_and_those_that_divide_their_steps_tie():
    config = configured("comparators.torque_psd_Nm2s=[1e-8]", "capture.start_s=200.0", "duration_s=200.0")
    m = judged(config, 21, 16).metrics
    assert m["lost_mekf-vi4_q1e-8"] == m["lost_mekf-rk4_q1e-8"] == 0
    assert m["tumble_rms_deg_mekf-rk4_q1e-8"] == pytest.approx(m["tumble_rms_deg_mekf-vi4_q1e-8"], rel=1e-3)
    assert m["tumble_rms_deg_mekf-rk4-one-step_q1e-8"] > 2.0 * m["tumble_rms_deg_mekf-vi4_q1e-8"]
    assert not m["tumble_rms_deg_mekf-midpoint_q1e-8"] < 5.0 * m["tumble_rms_deg_mekf-vi4_q1e-8"]  # NaN: all lost
    assert m["lost_mekf-vi2_q1e-8"] == 16


def test_the_comparator_of_the_same_kind_flies_the_same_flight():
    config = configured(*SHORT, "comparators.filters=['mekf-vi4']", "comparators.torque_psd_Nm2s=[1e-5]")
    flight = fly(SCENARIO, config, 21, np.arange(4))
    error = np.sqrt(np.sum(flight["pointing_error_deg"].values ** 2, axis=-1))
    assert np.array_equal(error, flight["filter_pointing_deg"].values[..., 0])


def test_comparators_do_not_touch_the_flight_itself():
    among, alone = (fly(SCENARIO, configured(*SHORT, *more), 21, np.arange(3)) for more in ((), (ALONE,)))
    for name, signal in alone.data_vars.items():
        assert np.array_equal(signal.values, among[name].values, equal_nan=True), name


def test_nothing_is_commanded_before_the_capture_and_momentum_is_kept():
    config = configured(*SHORT, ALONE)
    flight = fly(SCENARIO, config, 21, np.arange(3))
    early = flight["time"].values < 60.0
    assert not flight["wheel_torque_Nm"].values[:, early].any()
    assert np.all(np.abs(flight["wheel_Nms"].values[:, -1]).max(axis=-1) > 0.05)
    assert flight["momentum_gap"].values.max() < 1e-12


def test_wheels_that_are_too_small_lose_every_trial():
    verdict = judged(configured(*SHORT, ALONE, "wheels.momentum_limit_Nms=0.05"), 21, 4)
    assert len(verdict.lost) == 4 and "lost trials" in failed(verdict)
    assert all("pointing error" in reason for reason in verdict.lost.values())


def test_a_trial_alone_has_the_bits_it_has_among_others():
    config = configured(*SHORT, "comparators.torque_psd_Nm2s=[1e-5]")
    several, alone = (fly(SCENARIO, config, 3, np.array(trials)) for trials in ([0, 1, 2, 3, 4], [3]))
    for name, signal in alone.data_vars.items():
        assert np.array_equal(signal.values[0], several[name].sel(trial=3).values, equal_nan=True), name


def test_the_verdict_needs_only_the_signals_it_says_it_needs():
    config = configured(*SHORT, "comparators.torque_psd_Nm2s=[1e-5]")
    flights = [fly(SCENARIO, config, 3, np.arange(2), only=only) for only in (None, SCENARIO.judged)]
    one, two = (SCENARIO.judge(config, flight) for flight in flights)
    assert repr(one.metrics) == repr(two.metrics) and repr(one.checks) == repr(two.checks)  # repr: NaN is not itself


def test_its_file_reads_back_the_same():
    config = configured("comparators.filters=['mekf-rk4', 'mekf-euler']", "filter.kind=standard-mekf")
    assert parse(dump(config), SCENARIO.Config) == config


def test_figures_and_scene_are_made_of_a_short_flight():
    from matplotlib.figure import Figure

    config = configured(*SHORT, "comparators.torque_psd_Nm2s=[1e-5]")
    flight = fly(SCENARIO, config, 3, np.arange(3))
    figures = SCENARIO.figures(config, flight)
    assert {"comparators", "pointing", "wheels", "knowledge", "innovations"} == set(figures)
    for draw in figures.values():
        draw(Figure(layout="constrained"))
    assert len(SCENARIO.scene(config, flight, 1).t) == 17
