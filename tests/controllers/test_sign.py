import numpy as np
import pytest

from gnc.controllers import sign


def test_the_first_sign_is_the_shorter_way():
    assert np.array_equal(sign.hysteresis(sign.start((3,)), [0.01, -0.01, 0.0], 0.2), [1.0, -1.0, 1.0])


@pytest.mark.parametrize("before", [1.0, -1.0])
def test_it_flips_only_beyond_delta(before):
    q0 = before * np.array([1.0, 0.1, -0.1999, -0.2, -0.2001, -1.0])
    assert np.array_equal(sign.hysteresis(before, q0, 0.2), before * np.array([1, 1, 1, 1, -1, -1]))


def test_a_lost_trial_keeps_its_sign():
    assert sign.hysteresis(-1.0, np.nan, 0.2) == -1.0
