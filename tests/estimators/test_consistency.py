import numpy as np
import pytest
from scipy import stats

from gnc.estimators import consistency

RNG = np.random.default_rng(20)


def covariances(*shape, n):
    """Covariances with states of very different units."""
    A = RNG.standard_normal((*shape, n, n)) * np.logspace(-6, 3, n)[:, None]
    return A @ np.swapaxes(A, -1, -2)


def draw(C, size):
    return np.einsum("...ij,...j->...i", np.linalg.cholesky(C), RNG.standard_normal((*size, C.shape[-1])))


@pytest.mark.parametrize("n", [1, 3, 6, 12])
def test_nees_is_the_mahalanobis_distance_for_any_batch(n):
    C = covariances(4, n=n)
    e = draw(C, (5, 4))
    scale = 1.0 / np.sqrt(np.diagonal(C, axis1=-2, axis2=-1))
    correlation = C * scale[..., :, None] * scale[..., None, :]
    expected = np.einsum("...i,...ij,...j->...", e * scale, np.linalg.inv(correlation), e * scale)
    np.testing.assert_allclose(consistency.nees(e, C), expected, rtol=1e-7)
    assert consistency.nees(e[2, 3], C[3]) == consistency.nees(e, C)[2, 3]


def test_nees_of_drawn_errors_is_chi_square():
    """Kolmogorov and Smirnov, false alarm 1e-4."""
    C = covariances(n=6)
    values = consistency.nees(draw(C, (5000,)), C)
    assert stats.kstest(values, stats.chi2(6).cdf).pvalue > 1e-4


def test_a_covariance_that_is_not_positive_gives_nan_in_its_own_trial():
    C = np.stack([np.eye(2), -np.eye(2)])
    np.testing.assert_array_equal(np.isnan(consistency.nees(np.ones((2, 2)), C)), [False, True])


@pytest.mark.parametrize(("n", "trials", "confidence"), [(6, 100, 0.95), (12, 50, 0.99), (1, 1, 0.5)])
def test_the_band_holds_the_mean_of_independent_trials_with_the_confidence_asked_for(n, trials, confidence):
    """Binomial count of 4000 experiments, false alarm 1e-5."""
    means = RNG.chisquare(n, (4000, trials)).mean(axis=1)
    inside = int(consistency.mean_band(n, trials, confidence).holds(means).sum())
    assert stats.binomtest(inside, 4000, confidence).pvalue > 1e-5


def test_both_tails_of_the_band_are_equal():
    lo, hi = consistency.mean_band(6, 100, 0.95)
    assert stats.chi2(600).cdf(100 * lo) == pytest.approx(0.025, rel=1e-12)
    assert stats.chi2(600).sf(100 * hi) == pytest.approx(0.025, rel=1e-12)


def test_an_overconfident_filter_falls_out_of_the_band():
    """Covariance 30 % too small, 100 trials of 6 states: 1.43 times 6 is 10 standard deviations off."""
    C = covariances(n=6)
    values = consistency.nees(draw(C, (100,)), 0.7 * C)
    assert values.mean() > consistency.mean_band(6, 100, 0.999).hi


def correlated(coefficient, trials, times, m):
    """Innovations of a first-order Gauss-Markov process of unit variance."""
    u = RNG.standard_normal((trials, times, m))
    for k in range(1, times):
        u[:, k] = coefficient * u[:, k - 1] + np.sqrt(1 - coefficient**2) * u[:, k]
    return u


def test_white_innovations_leave_their_band_as_often_as_stated():
    """2000 correlations in all (100 sets, 20 lags), 5 % outside: binomial, false alarm 1e-5."""
    S = covariances(n=3)
    outside = 0
    for _ in range(100):
        result = consistency.whiteness(draw(S, (4, 100)), S, 20)
        outside += int((~result.band.holds(result.correlation)).sum())
    assert stats.binomtest(outside, 2000, 0.05).pvalue > 1e-5


def test_correlated_innovations_show_their_coefficient_and_leave_the_band():
    """Standard error of a correlation over 60 000 products is below 0.006: five of them, false alarm 1e-6."""
    u = correlated(0.3, 10, 2000, 3)
    result = consistency.whiteness(u, np.eye(3), 3)
    np.testing.assert_allclose(result.correlation, [0.3, 0.09, 0.027], rtol=0, atol=0.03)
    np.testing.assert_array_equal(result.band.holds(result.correlation)[:2], [False, False])


def test_a_lost_trial_does_not_touch_the_whiteness_of_the_others():
    u = RNG.standard_normal((5, 50, 2))
    without = consistency.whiteness(np.delete(u, 3, axis=0), np.eye(2), 4)
    u[3, 20:] = np.nan
    for got, expected in zip(consistency.whiteness(u, np.eye(2), 4), without, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)
