"""The sample-rate problems of damper, potential and tree: filters near the bound and honest, RK4 beside them."""

import pytest

from gnc.estimators.consistency import mean_band
from gnc.scenarios.study.sample_rate import study
from gnc.scenarios.study.system_problems import FILTERS, PROBLEMS, RATES


def points(name, rates, trials, seed):
    return list(study(PROBLEMS[name](), list(FILTERS[name].values()), rates, trials, seed))


@pytest.mark.jit
def test_the_damped_body_is_estimated_at_the_bound_and_honestly():
    """40 trials, seed 31, band of 99.9 %: an honest filter fails once in a thousand."""
    variational, rk4 = points("damper", [0.2], 40, 31)
    band = mean_band(9, 40, confidence=0.999)
    assert band.holds(variational.nees) and band.holds(rk4.nees)
    assert variational.ratio == pytest.approx(1.0, abs=0.2) and variational.lost == 0


@pytest.mark.slow
@pytest.mark.jit
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_is_in_band_at_three_rates(name):
    """200 trials, seed 32, bands of 99.9 %; nine honest points fail with probability below 0.01."""
    for point in points(name, [float(rate) for rate in RATES[name].split(",")], 200, 32):
        print(name, point.filter, point.rate_hz, point.ratio, point.ratio_m, point.nees)
        if point.filter == "ekf-vi4":
            assert mean_band(PROBLEMS[name]().states, 200, confidence=0.999).holds(point.nees)
            assert point.ratio == pytest.approx(1.0, abs=0.1) and point.lost == 0
