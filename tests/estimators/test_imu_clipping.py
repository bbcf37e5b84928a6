"""Sensors at the end of their range: where they are, and nowhere else; peaks filled in, with an honest doubt."""

import numpy as np
import pytest

from gnc.estimators.imu_clipping import bridge, limits, mend

RATE = 200.0
T = np.arange(12_000) / RATE


def random_rates(seed, size=4.0):
    """Rates of three axes, sums of eight sines between 0.2 and 2 Hz."""
    rng = np.random.default_rng(seed)
    waves = np.sin(2 * np.pi * T[:, None, None] * rng.uniform(0.2, 2.0, (3, 8)) + rng.uniform(0, 6, (3, 8)))
    return size * waves.mean(axis=2) * np.sqrt(8), rng


@pytest.mark.parametrize("least", [1.5, 3.0])
def test_limits_are_found_on_both_sides_whatever_the_bias(least):
    w, rng = random_rates(501)
    bias = np.array([0.1, -0.05, 0.0])
    z = np.clip(w + 2e-3 * rng.standard_normal(w.shape), -least - 0.5, least + 0.5) + bias
    np.testing.assert_allclose(limits(z, "gyro"), bias + (least + 0.5) * np.array([[-1.0], [1.0]]), rtol=1e-6)


def test_no_limit_is_seen_where_there_is_none():
    w, rng = random_rates(502)
    noisy = w + 2e-3 * rng.standard_normal(w.shape)
    table = np.clip(4.0 * T - 8.0, 0.0, 6.0)[:, None] * np.ones(3)  # of a rate table, without noise: straight elsewhere
    rest = np.round(1e3 * rng.standard_normal(w.shape)) * 1e-6  # repeats itself, and is slow
    for z in (w, noisy, np.repeat(noisy, 4, axis=0), np.round(noisy, 2), table, rest, np.zeros((0, 3))):
        assert not np.isfinite(limits(z, "gyro")).any()


def test_the_hidden_turn_is_found_to_a_tenth_and_its_doubt_is_honest():
    """At 60 % of the largest rate; of about 300 runs the errors over the doubt have a mean square in 0.2 to 1.5."""
    hidden, errors, scaled = [], [], []
    for seed in range(510, 516):
        w, rng = random_rates(seed)
        z = w + 2e-3 * rng.standard_normal(w.shape)
        z = np.clip(z, *(0.6 * np.abs(w).max() * np.array([-1.0, 1.0])))
        clipped, doubt = z.copy(), np.zeros_like(z)
        mend(T, z, limits(z, "gyro"), doubt)
        for axis in range(3):
            rows = np.flatnonzero(doubt[:, axis])
            for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
                error = (z[run, axis] - w[run, axis]).sum() / RATE
                hidden.append((clipped[run, axis] - w[run, axis]).sum() / RATE)
                errors.append(error)
                scaled.append(error**2 / doubt[run, axis].sum())
    assert np.sqrt(np.mean(np.square(errors))) < 0.15 * np.sqrt(np.mean(np.square(hidden)))
    assert 0.2 < np.median(scaled) / 0.4549 < 1.5  # of chi-square of 1
    assert len(errors) > 100


def test_a_run_at_the_begin_of_a_log_is_no_error():
    z = np.clip(5.0 * np.cos(2.0 * T)[:, None] * np.ones(3), -3.0, 3.0)
    number, longest_s = mend(T, z, np.array([[-3.0] * 3, [3.0] * 3]))
    assert number > 1000 and longest_s > 0.5
    assert np.isfinite(z).all() and np.abs(z).max() > 4.0


def test_the_turn_within_a_gap_is_found_to_a_seventh_of_a_straight_line_and_its_doubt_is_honest():
    """Gaps of 0.1 and 0.2 s, 100 each; errors over the doubt have a mean square in 0.05 to 1.5."""
    for missing in (20, 40):
        errors, straight, scaled = [], [], []
        for seed in range(520, 525):
            w, rng = random_rates(seed)
            rows = np.concatenate([T[:, None], w + 2e-3 * rng.standard_normal(w.shape), np.zeros_like(w)], axis=1)
            begins = np.arange(100, 11_000, 545)
            kept = ~np.isin(np.arange(len(T)), begins[:, None] + np.arange(1, missing))
            after = np.searchsorted(T[kept], T[begins])
            added, doubt = bridge(rows[kept], after, 1.0 / RATE)
            np.testing.assert_allclose(added[:, 0], T[~kept], atol=1e-9)
            of = np.repeat(np.arange(len(begins)), missing - 1)
            for gap in range(len(begins)):
                turn = w[~kept][of == gap].sum(axis=0) / RATE
                error = added[of == gap, 1:4].sum(axis=0) / RATE - turn
                line = 0.5 * (w[begins[gap]] + w[begins[gap] + missing]) * (missing - 1) / RATE - turn
                errors.append(error)
                straight.append(line)
                scaled.append(error**2 / doubt[of == gap].sum(axis=0))
        assert np.sqrt(np.mean(np.square(errors))) < np.sqrt(np.mean(np.square(straight))) / 7.0
        assert 0.05 < np.mean(scaled) < 1.5
