"""The scenario attitude-only: a filter beside the Cramer-Rao bound."""

import numpy as np
import pytest

from gnc.config import dump, override, parse
from gnc.scenarios import attitude_only
from gnc.scenarios.scenario import fly
from gnc.scenarios.study.attitude import Tumble

SCENARIO = attitude_only.SCENARIO


def configured(*settings):
    return override(SCENARIO.Config(), list(settings)) if settings else SCENARIO.Config()


def judged(config, seed, trials):
    return SCENARIO.judge(config, fly(SCENARIO, config, seed, np.arange(trials)))


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("rate_hz", [0.1, 1.0])
def test_the_filter_is_at_the_bound_and_honest_at_low_and_high_rates(seed, rate_hz):
    # False alarms: RMS over the bound 1.01 +- 0.02 against 1.08, 3e-4; NEES 1.09 +- 0.04 against 1.21, 2e-3.
    verdict = judged(configured(f"sensors.rate_hz={rate_hz}"), seed, 200)
    assert [check.name for check in verdict.checks if not check.ok] == []
    assert verdict.metrics["ratio"] > 0.9


def test_the_bound_is_that_of_the_study():
    config = configured()
    t = np.arange(0.0, 301.0, 10.0)
    bound = np.sqrt(np.mean(attitude_only.bound_deg(config, t)[15:] ** 2))
    # The study starts from the covariances of its trials, this from that of noiseless ones: 2 % of each other.
    assert bound == pytest.approx(Tumble().simulate(0.1, 200, 0).bound.deg, rel=0.02)


def test_a_sample_lowers_the_bound_and_times_between_samples_do_not_change_it():
    at, more = (
        attitude_only.bound_deg(configured(), np.array(t)) for t in ([150.0, 160.0], [149.9, 150.0, 155.0, 160.0])
    )
    assert more[0] > 1.05 * more[1]
    assert more[[1, 3]] == pytest.approx(at, rel=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        ("filter.kind=standard-mekf",),
        ("filter.method=rk4", "filter.substeps=false"),
        ("filter.method=vi2", "filter.substeps=false"),
    ],
)
def test_filters_of_one_step_per_sample_fail_the_checks(settings):
    verdict = judged(configured(*settings), 11, 50)
    assert not all(check.ok for check in verdict.checks)


def test_an_inertia_that_is_off_fails_the_check_and_its_estimation_mends_that():
    off = ("body.J_error_percent=5.0",)
    ignored, estimated = (judged(configured(*off, f"filter.inertia_sigma_percent={s}"), 11, 50) for s in (0.0, 5.0))
    assert ignored.metrics["ratio"] > 1.5 * estimated.metrics["ratio"]
    assert not all(check.ok for check in ignored.checks)


def test_a_trial_alone_has_the_bits_it_has_among_others():
    config = configured("duration_s=60.0")
    several, alone = (fly(SCENARIO, config, 3, np.array(trials)) for trials in ([0, 1, 2, 3, 4], [3]))
    for name, signal in alone.data_vars.items():
        assert np.array_equal(signal.values[0], several[name].sel(trial=3).values, equal_nan=True), name


def test_the_verdict_needs_only_the_signals_it_says_it_needs():
    config = configured("duration_s=60.0")
    flights = [fly(SCENARIO, config, 3, np.arange(2), only=only) for only in (None, SCENARIO.judged)]
    one, two = (SCENARIO.judge(config, flight) for flight in flights)
    assert repr(one.metrics) == repr(two.metrics) and repr(one.checks) == repr(two.checks)  # repr: NaN is not itself


def test_its_file_reads_back_the_same():
    config = configured("sensors.rate_hz=0.2")
    assert parse(dump(config), SCENARIO.Config) == config


def test_figures_and_scene_are_made_of_a_short_flight():
    from matplotlib.figure import Figure

    config = configured("duration_s=60.0")
    flight = fly(SCENARIO, config, 3, np.arange(3))
    figures = SCENARIO.figures(config, flight)
    assert {"bound", "knowledge", "innovations"} == set(figures)
    for draw in figures.values():
        draw(Figure(layout="constrained"))
    assert len(SCENARIO.scene(config, flight, 1).t) == 7
