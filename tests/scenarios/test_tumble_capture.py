"""The mission tumble-capture: filters beside each other."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.scenarios.missions.flight import fly
from gnc.scenarios.missions.load import read
from gnc.scenarios.missions.mission import quiet_until
from tests.scenarios.flights import failed

SHORT = (
    "software.body.transitions.0.when=t >= 60",
    "run.duration_s=160.0",
    "requirements.lost.when=t >= 130 and pointing_error_deg > 15",
    "requirements.final_rms_deg.when=t >= 130",
    "requirements.final_knowledge_rms_deg.when=t >= 130",
    "requirements.nees.when=t >= 30 and t <= 60",
    "requirements.filters.columns.final_rms_deg.when=t >= 130",
)


def mission(*settings, contestants=(), variants=("q1e-5",)):
    """Return the mission with some of the contestants, or none."""
    found = read("tumble-capture", settings)
    filters, others = found.requirements["filters"], dict(found.requirements)
    del others["filters"]
    if contestants:
        some = {"contestants": {name: filters.contestants[name] for name in contestants}}
        some["variants"] = {name: filters.variants[name] for name in variants}
        if "mekf-rk4" not in contestants:
            some["tie"] = ""
        others["filters"] = filters.model_copy(update=some)
    return found.model_copy(update={"requirements": others})


@pytest.mark.parametrize("seed", [21, 22, 23])
@pytest.mark.parametrize("psd", [1e-5, 1e-4])
def test_none_is_lost_at_both_process_noises(seed, psd):
    flight = mission(f"software.body.navigation.torque_psd_Nm2s={psd}").fly(24, seed)
    assert flight.signals.attrs["uncompiled"] == ""
    assert failed(flight.verdict) == [] and flight.verdict.lost == {}


@pytest.mark.parametrize("trials", range(1, 14))
def test_any_number_of_trials_is_compiled_even_one_that_is_the_length_of_a_vector(trials):
    flight = mission("run.duration_s=2.0").fly(trials, 31)
    assert flight.signals.attrs["uncompiled"] == ""


def test_filters_of_one_step_do_worse_and_those_that_divide_their_steps_tie():
    settings = [
        "software.body.transitions.0.when=t >= 200",
        "run.duration_s=200.0",
        "requirements.filters.columns.tumble_rms_deg.when=t >= 100",
    ]
    names = ("mekf-vi4", "mekf-rk4", "mekf-rk4-one-step", "mekf-midpoint", "mekf-vi2")
    verdict = mission(*settings, contestants=names, variants=("q1e-8",)).fly(16, 21).verdict
    m = verdict.metrics
    assert m["lost_mekf-vi4_q1e-8"] == m["lost_mekf-rk4_q1e-8"] == 0
    assert m["tumble_rms_deg_mekf-rk4_q1e-8"] == pytest.approx(m["tumble_rms_deg_mekf-vi4_q1e-8"], rel=1e-3)
    assert m["tumble_rms_deg_mekf-rk4-one-step_q1e-8"] > 2.0 * m["tumble_rms_deg_mekf-vi4_q1e-8"]
    assert not m["tumble_rms_deg_mekf-midpoint_q1e-8"] < 5.0 * m["tumble_rms_deg_mekf-vi4_q1e-8"]  # NaN: all lost
    assert m["lost_mekf-vi2_q1e-8"] == 16
    assert list(verdict.comparison.rows) == [f"{name}_q1e-8" for name in names]


@pytest.fixture(scope="module")
def short_flight():
    return mission(*SHORT).fly(3, 21)


def test_contestants_do_not_touch_the_flight_and_one_with_its_settings_flies_the_same(short_flight):
    compared = mission(*SHORT, contestants=("mekf-vi4", "mekf-rk4")).fly(3, 21)
    for name, signal in short_flight.signals.data_vars.items():
        assert np.array_equal(signal.values, compared.signals[name].values, equal_nan=True), name
    same = mission(*SHORT, "software.body.navigation.method=vi4").fly(3, 21)
    error = np.sqrt(np.sum(same.signals["body.pointing_error_deg"].values ** 2, axis=-1))
    histories = compared.verdict.comparison.histories
    assert np.array_equal(histories["mekf-vi4_q1e-5"]["final_rms_deg"], error, equal_nan=True)
    assert not np.array_equal(histories["mekf-rk4_q1e-5"]["final_rms_deg"], error, equal_nan=True)
    assert "lost by mekf-vi4_q1e-5" in [check.name for check in compared.verdict.checks]
    assert failed(compared.verdict) == []


def test_nothing_is_commanded_before_the_capture_and_momentum_is_kept(short_flight):
    flight = short_flight.signals
    early = flight["time"].values < 60.0
    assert not flight["body.wheels.torque_Nm"].values[:, early].any()
    assert np.all(np.abs(flight["body.wheels.momentum_Nms"].values[:, -1]).max(axis=-1) > 0.05)
    assert flight["body.momentum_gap"].values.max() < 1e-12
    assert np.array_equal(flight["body.mode_time_s"].values[0, [5, 6, 16]], [50.0, 0.0, 100.0])


def test_wheels_that_are_too_small_lose_every_trial():
    verdict = mission(*SHORT, "craft.body.actuators.wheels.momentum_limit_Nms=0.05").fly(4, 21).verdict
    assert len(verdict.lost) == 4 and "lost trials" in failed(verdict)
    assert all("pointing error" in reason for reason in verdict.lost.values())


def test_the_verdict_needs_only_the_signals_it_says_it_needs():
    few = mission(*SHORT, contestants=("mekf-vi4", "mekf-midpoint"))
    one, two = (fly(few, 2, 3, judged_only=only).verdict for only in (False, True))
    assert repr(one.metrics) == repr(two.metrics) and repr(one.checks) == repr(two.checks)  # repr: NaN is not itself


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ((), 300.0),
        (("software.body.transitions.0.when=t > 300",), 300.1),
        (("software.body.transitions.0.when=t > 900",), np.inf),
        (("software.body.transitions.0.when=rate_deg_s > 3",), 0.0),
        (("software.body.transitions.0.for_s=5",), 0.0),
        (("software.body.modes.drift.law=pd", "software.body.modes.drift.guidance=inertial"), 0.0),
    ],
)
def test_software_is_quiet_as_long_as_its_first_mode_asks_for_nothing_and_ends_by_the_clock(settings, first):
    assert quiet_until(read("tumble-capture", settings).software["body"], 600.0, 0.1) == pytest.approx(first)


def test_commands_that_are_faster_than_the_truth_are_refused_before_anything_is_counted():
    with pytest.raises(InputError, match="1e-12 s is not a whole number of truth steps"):
        read("tumble-capture", ["software.body.rate_hz=1e12"]).fly(1, 0)
