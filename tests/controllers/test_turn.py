"""A turn by the clock, and what shaping does to a flexible mode."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.controllers.guidance.turn import TurnPart

HALF = np.sqrt(0.5)


def plan(**fields):
    return TurnPart(q_to=(HALF, 0.0, 0.0, HALF), start_s=2.0, time_s=12.0, **fields).build(None)


@pytest.mark.parametrize("modes_hz", [(), (0.1,), (0.1, 0.17)])
def test_rate_and_acceleration_are_the_derivatives_of_the_attitude(modes_hz):
    turn, h = plan(modes_hz=modes_hz), 1e-4
    for t in (0.0, 3.0, 8.0, 13.0, 17.0, 40.0):
        before, now, after = (turn.at(t + d) for d in (-h, 0.0, h))
        w = quaternion.log(quaternion.mul(quaternion.conj(before.q_IR), after.q_IR)) / (2 * h)
        np.testing.assert_allclose(now.w_R, w, atol=1e-7)
        np.testing.assert_allclose(now.wdot_R, (after.w_R - before.w_R) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(turn.at(100.0).q_IR, [HALF, 0.0, 0.0, HALF], atol=1e-15)


@pytest.mark.parametrize("frequency", [0.1, 0.17])
def test_a_shaped_turn_leaves_its_modes_at_rest(frequency):
    """An oscillator on the base, x" + w^2 x = -theta": what swings after the turn is the spectrum of its command."""
    w = 2 * np.pi * frequency
    left = []
    for modes_hz in ((), (0.1, 0.17)):
        turn = plan(modes_hz=modes_hz)

        def rate(t, y, turn=turn):
            return [y[1], -(w**2) * y[0] - turn.at(t).wdot_R[2]]

        end = solve_ivp(rate, (0.0, 40.0), [0.0, 0.0], "DOP853", rtol=1e-9, atol=1e-12, max_step=0.1).y[:, -1]
        left.append(np.hypot(end[0], end[1] / w))
    assert left[0] > 1e-3 and left[1] < 1e-7
