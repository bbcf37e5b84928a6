import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from gnc import quaternion
from gnc.estimators import initialise

RNG = np.random.default_rng(5)
TRIALS = 4000


def units(*shape):
    v = RNG.standard_normal((*shape, 3))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def attitudes(n):
    return quaternion.from_scipy(Rotation.random(n, random_state=6))


def world(r_I, sigma, n=TRIALS):
    """Attitudes, and measurements of the vectors with noise in each component."""
    q_IB = attitudes(n)
    b_B = quaternion.inverse_rotate(q_IB[:, None], r_I) + np.asarray(sigma)[:, None] * RNG.standard_normal(
        (n, *r_I.shape)
    )
    return q_IB, b_B


def nees(q_IB, q_true, C):
    a = quaternion.log(quaternion.mul(quaternion.conj(q_IB), q_true))
    return np.einsum("ni,ni->n", a, np.linalg.solve(C, a[..., None])[..., 0])


R_PAIR = np.array([[1.0, 0.0, 0.0], [0.5, np.sqrt(0.75), 0.0]])


def test_triad_and_quest_are_exact_without_noise() -> None:
    q_IB = attitudes(200)
    r_I = units(200, 3)
    b_B = quaternion.inverse_rotate(q_IB[:, None], r_I)
    by_triad, _ = initialise.triad(b_B[:, 0], 3.0 * b_B[:, 1], r_I[:, 0], r_I[:, 1], 0.01, 0.02)
    by_quest, _ = initialise.quest(b_B, r_I, [0.01, 0.02, 0.03])
    for found in (by_triad, by_quest):
        assert np.max(quaternion.angle_between(found, q_IB)) < 1e-11


def test_quest_finds_the_eigenvector_that_numpy_finds() -> None:
    r_I, sigma = units(4), np.array([0.3, 0.1, 0.5, 0.2])
    _, b_B = world(r_I, sigma, 300)
    found, _ = initialise.quest(b_B, r_I, sigma)
    for b, q in zip(b_B / np.linalg.norm(b_B, axis=-1, keepdims=True), found, strict=True):
        expected, _ = Rotation.align_vectors(r_I, b, weights=1 / sigma**2)
        assert quaternion.angle_between(quaternion.from_scipy(expected), q) < 1e-7


@pytest.mark.parametrize("sigma", [(0.005, 0.005), (0.002, 0.01), (0.01, 0.002)])
def test_the_covariance_of_triad_is_what_it_scatters_by(sigma) -> None:
    # NEES of 4000 starts is chi-square with 12000 degrees: two-sided, false alarm 1e-4 each.
    q_true, b_B = world(R_PAIR, sigma)
    q_IB, C = initialise.triad(b_B[:, 0], b_B[:, 1], R_PAIR[0], R_PAIR[1], *sigma)
    low, high = chi2.ppf([5e-5, 1 - 5e-5], 3 * TRIALS)
    assert low < nees(q_IB, q_true, C).sum() < high


@pytest.mark.parametrize("sigma", [(0.005, 0.005), (0.002, 0.01)])
def test_the_covariance_of_quest_is_what_it_scatters_by(sigma) -> None:
    # As above: false alarm 1e-4 each.
    q_true, b_B = world(R_PAIR, sigma)
    q_IB, C = initialise.quest(b_B, R_PAIR, sigma)
    low, high = chi2.ppf([5e-5, 1 - 5e-5], 3 * TRIALS)
    assert low < nees(q_IB, q_true, C).sum() < high


def test_quest_is_no_worse_than_triad_in_any_direction() -> None:
    sigma = (0.004, 0.006)
    _, b_B = world(R_PAIR, sigma, 100)
    C_triad = initialise.triad(b_B[:, 0], b_B[:, 1], R_PAIR[0], R_PAIR[1], *sigma)[1]
    C_quest = initialise.quest(b_B, R_PAIR, sigma)[1]
    difference = np.linalg.eigvalsh(C_triad - C_quest)
    assert (difference > -1e-3 * C_quest.max()).all() and (difference[:, -1] > 0.05 * sigma[0] ** 2).all()


def test_parallel_vectors_mark_only_their_own_trial() -> None:
    r_I = np.array([R_PAIR, [R_PAIR[0], R_PAIR[0]]])
    q_IB, C = initialise.triad(r_I[:, 0], r_I[:, 1], r_I[:, 0], r_I[:, 1], 0.01, 0.01)
    assert np.isfinite(q_IB[0]).all() and np.isfinite(C[0]).all()
    assert np.isnan(q_IB[1]).all() and not np.isfinite(C[1]).all()
