"""The filter in the loop, its comparator, and the thrusters' limits."""

import numpy as np
import pytest

from gnc import dual_quaternion
from gnc.config import override
from gnc.controllers.thruster_allocation import ThrusterAllocation
from gnc.draws import Draws
from gnc.estimators import pose_motion
from gnc.models.pose_body import PoseBody, PoseState
from gnc.scenarios.proximity import body, build, midpoint
from gnc.scenarios.proximity.navigation import Seen
from gnc.scenarios.proximity.sections import Chaser, Target
from gnc.scenarios.proximity.truth import Report
from gnc.scenarios.rendezvous import RendezvousConfig


def believed(method="vi4"):
    config, draws = override(RendezvousConfig(), [f'filter.method="{method}"']), Draws(0, np.arange(5))
    target = build.target(config.target, draws)
    return *build.navigation(config, target, draws), target


@pytest.mark.parametrize("method", ["vi4", "vi2", "exact", "rk4", "midpoint"])
def test_the_mean_that_control_sees_is_that_of_one_prediction_from_the_last_measurement(method):
    navigation, belief, _ = believed(method)
    moved = belief
    for k in range(30):
        moved = navigation.predict(moved, None, None, 0.1 * k, 0.1)
    once = navigation.dqekf.predict(belief.last, None, moved.age)
    assert moved.last is belief.last and moved.age == pytest.approx(3.0)
    assert np.array_equal(moved.now.dq_IB, once.dq_IB) and np.array_equal(moved.now.chi_B, once.chi_B)


def test_a_filter_that_refuses_measurement_after_measurement_begins_anew_with_the_momentum_it_knew():
    """A sure belief, 10 deg/s wrong about each axis, is refused five times; its own recovery would keep that rate."""
    navigation, first, target = believed()
    wrong = first.last._replace(chi_B=first.last.chi_B + np.radians(10.0), C=1e-3 * first.last.C)
    belief, chaser = navigation.start(wrong), Report(np.eye(8)[0], np.zeros(6), np.zeros(5))
    for k in range(5):
        for _ in range(30):
            target = body.step(target, np.zeros(6), 0.1)
        belief = navigation.predict(belief, None, None, 3.0 * k, 3.0)
        seen = navigation.sensor.measure(target, None, np.tile([0.0] * 6 + [5.0, 5.0], (5, 1)))
        belief, made = navigation.update(belief, "camera", Seen(seen, chaser), 100.0)
    assert not made.used.any() and (belief.last.recoveries == 1).all()
    np.testing.assert_allclose(belief.last.dq_IB, target.dq_IB, atol=1e-12)
    np.testing.assert_allclose(momentum(belief.last), momentum(first.last), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(belief.last.C, first.last.C, rtol=1e-12)


def momentum(belief):
    """Return [angular momentum about the centre of mass, linear momentum], inertial axes, by PoseBody."""
    plant, x = PoseBody(build.target_inertia(Target())), PoseState(belief.dq_IB, belief.chi_B)
    whole = plant.momentum(x)
    return whole - np.pad(np.cross(plant.centre_of_mass(x), whole[:, 3:]), ((0, 0), (0, 3)))


def test_the_midpoint_comparator_is_of_second_order():
    """Towards the exact drift: halving the step leaves an eighth of the error of one step, of mean and F alike."""
    navigation, belief, _ = believed("midpoint")
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
