"""Allocation without members that are left out: what remains makes the demand, or as much of it as it can."""

import numpy as np
import pytest

from gnc.controllers.thruster_allocation import ThrusterAllocation
from gnc.controllers.wheel_allocation import WheelAllocation
from gnc.models.actuators.plumes import ThrustersPart
from gnc.models.actuators.reaction_wheels import pyramid_axes

RNG = np.random.default_rng(8)


def test_three_wheels_make_the_torque_of_four_and_none_left_out_changes_nothing():
    axes, tau = pyramid_axes(), RNG.normal(size=(20, 3))
    allocation = WheelAllocation(axes_B=axes)
    out = np.zeros((20, 4))
    assert np.array_equal(allocation.command(tau, out), allocation.command(tau))
    out[np.arange(10), RNG.integers(4, size=10)] = 1.0
    u = allocation.command(tau, out)
    assert u @ axes == pytest.approx(tau, abs=1e-7) and not u[out > 0.0].any()
    assert np.array_equal(u[10:], allocation.command(tau[10:]))  # trials without a failure keep their bits


def test_two_wheels_make_what_lies_in_their_plane():
    axes, out = pyramid_axes(), np.array([1.0, 1.0, 0.0, 0.0])
    tau = 0.3 * axes[2] - 0.7 * axes[3]
    assert WheelAllocation(axes_B=axes).command(tau, out) == pytest.approx([0.0, 0.0, 0.3, -0.7], abs=1e-6)


def test_thrusters_without_one_still_make_a_torque_that_they_can():
    thrusters = ThrustersPart().belief().thrusters
    allocation = ThrusterAllocation.of(thrusters, rows=(0, 1, 2))
    tau, out = 0.2 * RNG.normal(size=(6, 3)), np.zeros((6, 12))
    out[:3, 4] = 1.0
    u = allocation.command(tau, out)
    assert u @ thrusters.wrenches_B[:, :3] == pytest.approx(tau, abs=1e-9) and not u[:3, 4].any()
    assert np.array_equal(u[3:], allocation.command(tau[3:]))
