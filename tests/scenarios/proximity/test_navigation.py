"""The filter in the loop, its comparator, and the thrusters' limits."""

import numpy as np
import pytest

from gnc import dual_quaternion, noise
from gnc.controllers.thruster_allocation import ThrusterAllocation
from gnc.estimators import pose_motion
from gnc.models.pose_body import PoseState
from gnc.scenarios.config import override
from gnc.scenarios.proximity import build, midpoint
from gnc.scenarios.proximity.sections import Chaser
from gnc.scenarios.rendezvous import RendezvousConfig


def believed(method):
    config = override(RendezvousConfig(), [f'filter.method="{method}"'])
    navigation = build.navigation(config)
    w = np.radians(3.0) * noise.normal(0, 5, "w", 3)
    dq = dual_quaternion.exp(noise.normal(0, 5, "dq", 6))
    x = PoseState(dq, np.concatenate([w, 0.1 * noise.normal(0, 5, "v", 3)], axis=-1))
    return navigation, navigation.start(navigation.dqekf.start(x, 1e-4 * np.eye(12)))


@pytest.mark.parametrize("method", ["vi4", "vi2", "exact", "rk4", "midpoint"])
def test_the_mean_that_control_sees_is_that_of_one_prediction_from_the_last_measurement(method):
    navigation, belief = believed(method)
    moved = belief
    for k in range(30):
        moved = navigation.predict(moved, None, None, 0.1 * k, 0.1)
    once = navigation.dqekf.predict(belief.last, None, moved.age)
    assert moved.last is belief.last and moved.age == pytest.approx(3.0)
    assert np.array_equal(moved.now.dq_IB, once.dq_IB) and np.array_equal(moved.now.chi_B, once.chi_B)


def test_the_midpoint_comparator_is_of_second_order():
    """Towards the exact drift: halving the step leaves an eighth of the error of one step, of mean and F alike."""
    navigation, belief = believed("midpoint")
    x, M = navigation.dqekf.state(belief.last), navigation.dqekf.M
    errors = []
    for h in (0.8, 0.4, 0.2):
        dq, chi, F, _ = pose_motion.move("exact", *x, None, M, h)
        moved = midpoint.move(*x, M, h)
        away = dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(dq), moved[0]))
        errors.append([np.abs(away).max(), np.abs(chi - moved[1]).max(), np.abs(F - moved[2]).max()])
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 3.0, atol=0.1)


def test_thrusters_make_20_N_and_2_Nm_about_each_axis_and_no_more():
    allocation = ThrusterAllocation.of(build.thrusters(Chaser()))
    for row, limit in enumerate([2.0] * 3 + [20.0] * 3):
        for sign in (-1.0, 1.0):
            wanted = sign * limit * np.eye(6)[row]
            on, scale = allocation.allocate(wanted)
            assert scale == pytest.approx(1.0)
            np.testing.assert_allclose(on @ allocation.wrenches_B, wanted, atol=1e-9)
            assert allocation.allocate(2.0 * wanted)[1] == pytest.approx(0.5)
