"""Trials in groups."""

from typing import Any

import numpy as np

from gnc.integrators.free_drift import by_group


def recorder(seen):
    """Return what to run: it notes the group and the shapes it is given, and marks the results with the group."""

    def run(group, v, s):
        seen.append((group, v.shape, np.shape(s)))
        return v * s[..., None] + group, np.asarray(s) * 1.0

    return run


def test_every_trial_meets_its_own_group():
    groups, v, s = np.array([2.0, 0.0, 2.0]), np.arange(9.0).reshape(3, 3), np.array([1.0, 10.0, 100.0])
    seen: list[Any] = []
    a, b = by_group(groups, recorder(seen), (v, s), (1, 0))
    np.testing.assert_array_equal(a, v * s[:, None] + groups[:, None])
    np.testing.assert_array_equal(b, s)
    assert seen == [(0, (1, 3), (1,)), (2, (2, 3), (2,))]


def test_arguments_broadcast_over_leading_axes():
    groups, v, s = np.array([[0.0], [1.0]]), np.ones(3), np.array([1.0, 2.0, 3.0])
    a, b = by_group(groups, recorder([]), (v, s), (1, 0))
    np.testing.assert_array_equal(a, np.ones(3) * s[:, None] + groups[..., None] * np.ones((2, 3, 3)))
    np.testing.assert_array_equal(b, [s, s])


def test_one_group_is_run_on_the_arguments_as_they_are():
    for groups in (np.float64(1.0), np.ones(4), np.ones((2, 2))):
        seen: list[Any] = []
        by_group(groups, recorder(seen), (np.ones(3), np.float64(2.0)), (1, 0))
        assert seen == [(1, (3,), ())]


def test_no_trials_at_all_are_one_group():
    a, b = by_group(np.ones(0), recorder([]), (np.ones((0, 3)), np.ones(0)), (1, 0))
    assert a.shape == (0, 3)
    assert b.shape == (0,)
