"""The mission attitude-only: a filter beside the Cramer-Rao bound."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.models.states import AttitudeState
from gnc.scenarios.missions.load import read
from gnc.scenarios.missions.requirements.consistency import bound_deg
from gnc.scenarios.missions.verdict import judge_campaign
from gnc.scenarios.study.attitude import Tumble
from gnc.scenarios.trials import TALLY
from tests.scenarios.flights import failed, flown, judged

NAVIGATION = "software.body.navigation"
START = AttitudeState(np.array([[1.0, 0.0, 0.0, 0.0]]), np.radians([[4.0, -5.0, 6.0]]))


def rate(hz):
    fields = {"rate_hz": hz, "first_s": 1.0 / hz}
    return [f"craft.body.sensors.direction_{k}.{key}={value}" for k in (1, 2) for key, value in fields.items()]


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("rate_hz", [0.1, 1.0])
def test_the_filter_is_at_the_bound_and_honest_at_low_and_high_rates(seed, rate_hz):
    # False alarms: RMS over the bound 1.01 +- 0.02 against 1.08, 3e-4; NEES 1.09 +- 0.04 against 1.21, 2e-3.
    flight = flown("attitude-only", seed, 200, *rate(rate_hz))
    assert flight.signals.attrs["uncompiled"] == ""
    assert failed(flight.verdict) == [] and flight.verdict.success.all()
    assert flight.verdict.metrics["ratio"] > 0.9


def test_the_bound_is_that_of_the_study():
    t = np.arange(0.0, 301.0, 10.0)
    bound = np.sqrt(np.mean(bound_deg(read("attitude-only"), "body", START, t)[15:] ** 2))
    # The study starts from the covariances of its trials, this from that of noiseless ones: 2 % of each other.
    assert bound == pytest.approx(Tumble().simulate(0.1, 200, 0).bound.deg, rel=0.02)


def test_a_sample_lowers_the_bound_and_times_between_samples_do_not_change_it():
    mission = read("attitude-only")
    at, more = (
        bound_deg(mission, "body", START, np.array(t))[:, 0] for t in ([150.0, 160.0], [149.9, 150.0, 155.0, 160.0])
    )
    assert more[0] > 1.05 * more[1]
    assert more[[1, 3]] == pytest.approx(at, rel=1e-9)


def test_a_bound_of_a_craft_with_loads_is_refused_in_one_line():
    pushed = read("attitude-only", ['craft.body.loads={push = {kind = "torque", size_Nm = 1e-3}}'])
    with pytest.raises(InputError, match="known for a free body, without loads"):
        bound_deg(pushed, "body", START, np.array([0.0, 10.0]))


@pytest.mark.parametrize(
    "settings",
    [
        (f"{NAVIGATION}.kind=standard-mekf",),
        (f"{NAVIGATION}.method=rk4", f"{NAVIGATION}.substeps=false"),
        (f"{NAVIGATION}.method=vi2", f"{NAVIGATION}.substeps=false"),
    ],
)
def test_filters_of_one_step_per_sample_fail_the_checks(settings):
    assert failed(judged("attitude-only", 11, 50, *settings)) != []


def test_an_inertia_that_is_off_fails_the_check_and_its_estimation_mends_that():
    off = "craft.body.J_error_percent=5.0"
    each = [judged("attitude-only", 11, 50, off, f"{NAVIGATION}.inertia_sigma_percent={s}") for s in (0.0, 5.0)]
    ignored, estimated = each
    assert ignored.metrics["ratio"] > 1.5 * estimated.metrics["ratio"]
    assert failed(ignored) != []


def test_a_campaign_in_two_parts_is_judged_as_one_flight():
    whole = flown("attitude-only", 3, 6, "run.duration_s=200.0").verdict
    parts = [flown("attitude-only", 3, trials, "run.duration_s=200.0").verdict for trials in ([0, 1], [2, 3, 4, 5])]
    names = {name: name for name in parts[0].per_trial} | {name: f"{TALLY}{name}" for name in parts[0].tally}
    column = lambda name: np.concatenate([{**part.per_trial, **part.tally}[name] for part in parts])  # noqa: E731
    table = {key: column(name) for name, key in names.items()} | {"lost": np.array([""] * 6)}
    found = {check.name: check.value for check in judge_campaign(read("attitude-only"), table)}
    for check in whole.checks:
        assert found[check.name] == pytest.approx(check.value, rel=1e-12), check.name


def test_the_verdict_needs_only_the_signals_it_says_it_needs():
    one, two = (flown("attitude-only", 3, 2, "run.duration_s=60.0", judged_only=only).verdict for only in (False, True))
    assert repr(one.metrics) == repr(two.metrics) and repr(one.checks) == repr(two.checks)  # repr: NaN is not itself
