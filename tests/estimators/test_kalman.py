import mpmath
import numpy as np
import pytest
from filterpy.kalman import KalmanFilter
from scipy.stats import chi2

from gnc.estimators.kalman import gate, propagate_kernel, update_kernel

RNG = np.random.default_rng(12)
SIZES = [(1, 1), (6, 3), (9, 2), (15, 3)]


def problem(n, m, *lead):
    A, B = RNG.standard_normal((*lead, n, n)), RNG.standard_normal((*lead, m, m))
    C, R = A @ np.swapaxes(A, -1, -2), B @ np.swapaxes(B, -1, -2) + 0.1 * np.eye(m)
    return C, RNG.standard_normal((*lead, m, n)), R, RNG.standard_normal((*lead, m))


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_an_update_is_filterpys(n, m) -> None:
    C, H, R, y = problem(n, m)
    oracle = KalmanFilter(n, m)
    oracle.P, oracle.H, oracle.R = C.copy(), H, R
    oracle.update(y[:, None])
    d, C_new, S, nis, used = update_kernel(n, m)(C, H, R, y, 1.0, np.inf)
    assert used == 1.0
    np.testing.assert_allclose(d, oracle.x[:, 0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(C_new, oracle.P, rtol=1e-9, atol=1e-10 * np.abs(C).max())
    np.testing.assert_allclose(S, oracle.S, rtol=1e-12)
    np.testing.assert_allclose(nis, oracle.mahalanobis**2, rtol=1e-9)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_a_prediction_is_filterpys(n, m) -> None:
    C, Q, F = problem(n, m)[0], problem(n, m)[0], RNG.standard_normal((n, n))
    oracle = KalmanFilter(n, m)
    oracle.P, oracle.F, oracle.Q = C.copy(), F, Q
    oracle.predict()
    predicted = propagate_kernel(n)(C, F, Q)
    np.testing.assert_allclose(predicted, oracle.P, rtol=1e-12, atol=1e-12 * np.abs(oracle.P).max())
    np.testing.assert_array_equal(predicted, predicted.T)


def test_an_update_that_does_not_count_changes_nothing_and_the_batch_has_the_bits_of_the_single() -> None:
    C, H, R, y = problem(6, 3, 4)
    y[1] *= 1e3  # beyond the gate
    y[3] = np.nan
    valid = np.array([1.0, 1.0, 0.0, 1.0])
    results = update_kernel(6, 3)(C, H, R, y, valid, gate(0.999, 3) + 1e3 * np.array([1.0, 0.0, 1.0, 1.0]))
    assert results[4].tolist() == [1.0, 0.0, 0.0, 0.0]
    np.testing.assert_array_equal(results[0][1:], 0.0)
    np.testing.assert_array_equal(results[1][1:], 0.5 * (C + np.swapaxes(C, -1, -2))[1:])
    single = update_kernel(6, 3)(C[0], H[0], R[0], y[0], 1.0, gate(0.999, 3) + 1e3)
    for alone, together in zip(single, results, strict=True):
        np.testing.assert_array_equal(alone, together[0])


def test_the_covariance_stays_positive_where_the_short_form_does_not() -> None:
    # A measurement 1e8 times as good as what was known: (1 - K H) C loses its sign to round-off.
    C, H, R = np.eye(3) * 1e8, np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 1e-7]]), np.eye(2) * 1e-8
    K = C @ H.T @ np.linalg.inv(H @ C @ H.T + R)
    C_new = update_kernel(3, 2)(C, H, R, np.zeros(2), 1.0, np.inf)[1]
    np.testing.assert_array_equal(C_new, C_new.T)
    round_off = 4 * np.finfo(float).eps * np.abs(C_new).max()  # of eigvalsh itself
    assert np.linalg.eigvalsh(C_new).min() > -round_off
    short = (np.eye(3) - K @ H) @ C
    assert np.linalg.eigvalsh(0.5 * (short + short.T)).min() < -100 * round_off


def exact_covariance(C, H, R):
    """C - C H^T (H C H^T + R)^-1 H C with 60 digits."""
    with mpmath.workdps(60):
        C, H, R = (mpmath.matrix(A.tolist()) for A in (C, H, R))
        return C - C * H.T * (H * C * H.T + R) ** -1 * H * C


def relative_error(C_new, exact):
    """The size of L^-1 (C_new - exact) L^-T, exact = L L^T: the largest error of any variance, relative to it."""
    with mpmath.workdps(60):
        L = mpmath.cholesky(exact) ** -1
        return float(mpmath.norm(L * (mpmath.matrix(C_new.tolist()) - exact) * L.T))


def test_the_covariance_of_a_hard_problem() -> None:
    """Scales 1e8 apart, measurements up to 1e16 times as good as what was known: how it rounds beside other forms.

    Joseph's form as it is written takes more operations, and rounds ten times better. Our form with one half of the
    elements, mirrored, rounds 25 times worse than ours, and the short form makes nonsense.
    """
    rng, errors, n, m = np.random.default_rng(0), [], 6, 3
    for _ in range(60):
        A, scale = rng.normal(size=(n, n)), 10 ** rng.uniform(-4, 4, n)
        C, H, R = A @ A.T * np.outer(scale, scale), rng.normal(size=(m, n)), np.diag(10 ** rng.uniform(-8, 0, m))
        made, exact = update_kernel(n, m)(C, H, R, np.zeros(m), 1.0, np.inf)[1], exact_covariance(C, H, R)
        K = np.linalg.solve(H @ C @ H.T + R, H @ C).T
        written = (np.eye(n) - K @ H) @ C @ (np.eye(n) - K @ H).T + K @ R @ K.T
        W = C - K @ (H @ C)
        half = np.triu(W + (K @ R - W @ H.T) @ K.T)
        forms = made, written, half + np.triu(half, 1).T, W
        errors.append([relative_error(form, exact) for form in forms])
    typical = np.exp(np.mean(np.log(errors), axis=0))
    assert typical[0] < 1e-8  # of a variance, relative to it
    assert typical[0] < 20.0 * typical[1] and typical[0] < 0.1 * typical[2] and typical[0] < 1e-4 * typical[3]


@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_the_gate_lets_the_share_of_good_measurements_in_that_was_asked_for(m) -> None:
    np.testing.assert_allclose(chi2.cdf(gate(0.999, m), m), 0.999, rtol=1e-12)
    assert gate(1.0, m) == np.inf
