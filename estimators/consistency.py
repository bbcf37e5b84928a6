"""Is a filter's covariance honest? Normalised errors and innovations against their chi-square bands.

    NEES = e . C^-1 e     (error, n states)          NIS = y . S^-1 y     (innovation, m measurements)

Of an honest filter they are chi-square with n (m) degrees of freedom, and the mean over N independent trials is 1/N of
a chi-square with N n: that is the exact two-sided band, of which an honest filter stays out with probability
1 - confidence at any one time.

Which values are independent? Those of different trials are. The innovations of one trial are too, if the filter is
optimal: NIS may be averaged over time with N = trials times steps. The errors of one trial are not: they decay slowly
from one step to the next. NEES is therefore averaged over trials only, and the band of N trials, applied to a mean
over trials and time, is too wide rather than too narrow.

Source: Bar-Shalom, Li and Kirubarajan, "Estimation with Applications to Tracking and Navigation", section 5.4.
"""

from typing import Any, NamedTuple

import numpy as np

from gnc.batch import sized
from gnc.linalg import array

Array = Any


class Band(NamedTuple):
    """Where a statistic stays with the confidence asked for."""

    lo: Array
    hi: Array

    def holds(self, value: Array) -> Array:
        """Tell whether values are in the band; NaN is not."""
        return (self.lo <= value) & (value <= self.hi)


class Whiteness(NamedTuple):
    """Autocorrelation of the normalised innovations, zero if they are white."""

    correlation: Array  # (lags,)
    band: Band


@sized(lambda n: f"({n}),({n},{n})->({n})")
def _whiten(e, C, *, n):
    """Return L^-1 e of C = L L^T, row by row."""
    L = [[0.0] * n for _ in range(n)]
    white: list[Any] = [0.0] * n
    for i in range(n):
        for j in range(i):
            L[i][j] = (C[i, j] - sum((L[i][k] * L[j][k] for k in range(j)), 0.0)) / L[j][j]
        L[i][i] = np.sqrt(C[i, i] - sum((L[i][k] * L[i][k] for k in range(i)), 0.0))
        white[i] = (e[i] - sum((L[i][k] * white[k] for k in range(i)), 0.0)) / L[i][i]
    return array(white)


@sized(lambda n: f"({n}),({n},{n})->()")
def _nees(e, C, *, n):
    white = _whiten(n)(e, C)
    return white @ white


def whitened(e: Array, C: Array) -> Array:
    """Return L^-1 e with C = L L^T: of unit covariance if C is that of e. NaN where C is not positive definite."""
    return _whiten(np.shape(e)[-1])(e, C)


def nees(error: Array, C: Array) -> Array:
    """Return e . C^-1 e over any leading axes, for an error state (..., n) and its covariance (..., n, n)."""
    return _nees(np.shape(error)[-1])(error, C)


def mean_band(n: Array, independent: Array, confidence: float = 0.95) -> Band:
    """Return the band of the mean of so many independent chi-square values with n degrees of freedom each.

    lo, hi = quantiles of chi-square with N n degrees of freedom, over N. Source: Bar-Shalom et al., eq. (5.4.2-8).
    """
    from scipy.special import chdtri, gammaincinv  # here: takes as long to load as a short flight

    tail = 0.5 * (1.0 - confidence)
    freedom = np.multiply(independent, n)
    return Band(2.0 * gammaincinv(0.5 * freedom, tail) / independent, chdtri(freedom, tail) / independent)


def whiteness(y: Array, S: Array, lags: int, confidence: float = 0.95) -> Whiteness:
    """Correlate the normalised innovations u = S^-1/2 y of trials (trials, times, m) with those 1 ... `lags` later.

    rho_l = sum u_k . u_{k+l} / (sum u_k . u_k  sum u_{k+l} . u_{k+l})^(1/2) over all trials and times k. If white, it
    is near normal, of variance 1 over the number of products. Each lag has its own band: of 20, one may be outside at
    95 %. Source: Bar-Shalom et al., eq. (5.4.2-10).
    """
    from scipy.special import ndtri

    u = whitened(y, S)
    u = np.where(np.isfinite(u).all(axis=(-1, -2), keepdims=True), u, 0.0)
    pairs = [(u[..., :-lag, :], u[..., lag:, :]) for lag in range(1, lags + 1)]
    rho = np.array([(a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()) for a, b in pairs])
    products = np.array([np.count_nonzero(a) for a, _ in pairs])
    half = -ndtri(0.5 * (1.0 - confidence)) / np.sqrt(products)
    return Whiteness(rho, Band(-half, half))
