"""Statistics against SciPy, against NumPy, and against their own promises."""

import math

import numpy as np
import pytest
from scipy import stats

from gnc.estimators.consistency import mean_band
from gnc.montecarlo import statistics


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 10), (5, 10), (10, 10), (997, 1000), (0, 1), (1, 1)])
def test_wilson_is_scipys(k: int, n: int, confidence: float) -> None:
    found = statistics.wilson(k, n, confidence)
    expected = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    assert found.p == k / n
    assert math.isclose(found.lo, expected.low, rel_tol=1e-12, abs_tol=1e-15)
    assert math.isclose(found.hi, expected.high, rel_tol=1e-12)


def test_wilson_of_none_begins_at_zero_and_of_all_ends_at_one() -> None:
    for n in (1, 12, 37, 10000):
        assert (statistics.wilson(0, n).lo, statistics.wilson(n, n).hi) == (0.0, 1.0)


def test_wilson_of_nothing_is_everything() -> None:
    assert statistics.wilson(0, 0)[1:] == (0.0, 1.0)


def test_wilson_covers_as_often_as_it_states() -> None:
    """The exact coverage, summed over the binomial distribution and averaged over p, is the one stated to 0.5 %."""
    for n in (20, 100, 500):
        intervals = [statistics.wilson(k, n) for k in range(n + 1)]
        lo, hi = np.array([i.lo for i in intervals]), np.array([i.hi for i in intervals])
        coverage = [
            stats.binom.pmf(np.flatnonzero((lo <= p) & (p <= hi)), n, p).sum() for p in np.linspace(0.02, 0.98, 193)
        ]
        assert abs(np.mean(coverage) - 0.95) < 0.005


@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (5, 100), (2, 3, 11)])
def test_percentiles_are_numpys_without_nan(shape) -> None:
    x = np.random.default_rng(1).normal(size=shape)
    percents = (0.0, 5.0, 50.0, 99.7, 100.0)
    assert np.allclose(statistics.percentiles(x, percents), np.percentile(x, percents, axis=-1), rtol=1e-14, atol=1e-15)


def test_percentiles_leave_out_nan_row_by_row() -> None:
    x = np.random.default_rng(1).normal(size=(4, 50))
    x[1, ::3], x[2, :49], x[3] = np.nan, np.nan, np.nan
    found = statistics.percentiles(x)
    for row in range(3):
        expected = np.percentile(x[row][np.isfinite(x[row])], statistics.PERCENTS)
        assert np.allclose(found[:, row], expected, rtol=1e-14)
    assert np.isnan(found[:, 3]).all()


def test_a_description_counts_only_what_there_is() -> None:
    found = statistics.described(np.array([1.0, np.nan, 3.0, 8.0]))
    assert (found["count"], found["mean"], found["min"], found["max"], found["p50"]) == (3, 4.0, 1.0, 8.0, 3.0)
    assert found["std"] == pytest.approx(math.sqrt(13.0), rel=1e-15)
    nothing = statistics.described(np.array([np.nan]))
    assert nothing.keys() == found.keys()
    assert nothing.pop("count") == 0 and set(nothing.values()) == {None}


def test_the_worst_trials_come_first_and_nan_never() -> None:
    values = np.array([1.0, 9.0, np.nan, 9.0, np.inf, 5.0])
    assert statistics.largest(values, 3) == [1, 3, 5]
    assert statistics.largest(values, 10) == [1, 3, 5, 0]


def test_a_sensitivity_is_the_rank_correlation_with_its_exact_chance() -> None:
    """rho = 1 - 6 sum d^2 / n(n^2-1), and p of Student's t with n - 2, by hand."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    y = np.exp(x) + rng.normal(size=40)
    d = stats.rankdata(x) - stats.rankdata(y)
    rho = 1.0 - 6.0 * (d**2).sum() / (40 * (40**2 - 1))
    p = 2.0 * stats.t.sf(abs(rho) * math.sqrt(38 / (1.0 - rho**2)), 38)
    (row,) = statistics.sensitivities({"y": y}, {"x": x, "x mirrored": x.copy()})  # one number counts once
    assert (row.metric, row.input) == ("y", "x")
    assert (row.rho, row.p_value, row.p_adjusted) == pytest.approx((rho, p, p), rel=1e-9)


def test_few_trials_tell_no_sensitivity() -> None:
    """Of four trials every twelfth pair is monotonic by chance, 2 of 4! orders; Student's t would say p = 0."""
    rising = np.arange(4.0)
    assert statistics.sensitivities({"y": rising}, {"x": rising}) == []


def test_sensitivities_are_adjusted_for_their_number_and_sorted() -> None:
    """Benjamini and Hochberg by hand: of sorted p, the running minimum from the end of p m / rank."""
    rng = np.random.default_rng(4)
    inputs = {f"x{i}": rng.normal(size=100) for i in range(6)}
    metrics = {"y": inputs["x2"] + 2.0 * rng.normal(size=100), "z": rng.normal(size=100)}
    rows = statistics.sensitivities(metrics, inputs)
    assert len(rows) == 12 and (rows[0].metric, rows[0].input) == ("y", "x2")
    assert [abs(row.rho) for row in rows] == sorted((abs(row.rho) for row in rows), reverse=True)
    p = sorted(row.p_value for row in rows)
    expected = [min(1.0, *(p[j] * 12 / (j + 1) for j in range(i, 12)), 1.0) for i in range(12)]
    assert sorted(row.p_adjusted for row in rows) == pytest.approx(expected, rel=1e-12)


def test_false_discoveries_are_as_rare_as_the_adjustment_promises() -> None:
    """No relation at all, 20 pairs, 100 repetitions: some pair counts at 5 % in at most 5 % of them.

    Binomial: more than 18 of 100 has a chance below 1e-6 if the rate is 5 %.
    """
    rng, alarms = np.random.default_rng(5), 0
    for _ in range(100):
        metrics = {f"y{i}": rng.normal(size=20) for i in range(4)}
        rows = statistics.sensitivities(metrics, {f"x{i}": rng.normal(size=20) for i in range(5)})
        alarms += min(row.p_adjusted for row in rows) < 0.05
    assert stats.binom.sf(18, 100, 0.05) < 1e-6
    assert alarms <= 18


def test_what_does_not_vary_or_is_too_little_has_no_sensitivity() -> None:
    x, y = np.arange(10.0), np.arange(10.0)
    few = np.where(x < 3, x, np.nan)
    assert statistics.sensitivities({"y": y, "few": few}, {"constant": np.ones(10)}) == []
    assert [row.metric for row in statistics.sensitivities({"y": y, "few": few}, {"x": x})] == ["y"]


def test_the_chi_square_band_is_that_of_the_estimators() -> None:
    lo, hi = statistics.chi_square_band(6, np.array([1, 50, 1000]), 0.99)
    band = mean_band(6, np.array([1, 50, 1000]), 0.99)
    assert (lo == band.lo).all() and (hi == band.hi).all()


def test_the_chi_square_band_holds_the_mean_as_often_as_it_states() -> None:
    """20 000 means of 30 values at 95 %; the share inside is within 4.9 of its standard deviations: chance 1e-6."""
    means = np.random.default_rng(6).chisquare(3, size=(20_000, 30)).mean(axis=1)
    lo, hi = statistics.chi_square_band(3, np.array(30), 0.95)
    inside = ((lo <= means) & (means <= hi)).mean()
    assert abs(inside - 0.95) < 4.9 * math.sqrt(0.95 * 0.05 / 20_000)
