"""Valves with a shortest pulse: one per control interval, whatever the truth step; what is too small waits."""

import numpy as np
import pytest

from gnc.controllers.thruster_allocation import ThrusterAllocation
from gnc.models.actuators.plumes import ThrustersPart

INTERVAL = 0.1
RNG = np.random.default_rng(3)
COMMANDS = RNG.uniform(0.0, 0.25, (40, 2, 12)) ** 2  # (intervals, trials, thrusters): most are below 10 ms


def spent(parts_of_interval, **fields):
    """Return the impulse of each thruster after all commands, at a truth step of so many parts of an interval."""
    thrusters = ThrustersPart(minimum_on_s=0.01, **fields).belief().paced(INTERVAL)
    state, h, pushed = thrusters.start(2), INTERVAL / parts_of_interval, 0.0
    for command in COMMANDS:
        for _ in range(parts_of_interval):
            wrench_B, state = thrusters.act(command, state, h)
            pushed = pushed + wrench_B * h
    return state, pushed


@pytest.mark.parametrize("too_small", ["waits", "is dropped"])
def test_impulse_does_not_depend_on_the_truth_step(too_small):
    whole, pushed = spent(1, too_small=too_small)
    for parts in (2, 5, 10):
        state, more = spent(parts, too_small=too_small)
        np.testing.assert_allclose(state[:, :12], whole[:, :12], rtol=1e-12)
        np.testing.assert_allclose(more, pushed, rtol=0, atol=1e-12 * np.abs(whole[:, :12]).max())


def test_what_waits_is_less_than_a_pulse_and_all_else_is_made():
    asked = 10.0 * INTERVAL * COMMANDS.sum(axis=0)  # [N s]
    made = spent(5)[0][:, :12]
    assert (asked - made >= -1e-12).all() and (asked - made < 10.0 * 0.01 + 1e-12).all()
    dropped = spent(5, too_small="is dropped")[0][:, :12]
    by_hand = 10.0 * INTERVAL * np.where(INTERVAL * COMMANDS >= 0.01, COMMANDS, 0.0).sum(axis=0)
    np.testing.assert_allclose(dropped, by_hand, rtol=1e-12)
    assert dropped.sum() < 0.8 * asked.sum()


def test_thrusters_make_20_N_and_2_Nm_about_each_axis_and_no_more():
    allocation = ThrusterAllocation.of(ThrustersPart().belief().thrusters)
    for row, limit in enumerate([2.0] * 3 + [20.0] * 3):
        for sign in (-1.0, 1.0):
            wanted = sign * limit * np.eye(6)[row]
            on, scale = allocation.allocate(wanted)
            assert scale == pytest.approx(1.0)
            np.testing.assert_allclose(on @ allocation.wrenches_B, wanted, atol=1e-9)
            assert allocation.allocate(2.0 * wanted)[1] == pytest.approx(0.5)
