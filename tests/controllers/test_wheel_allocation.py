import numpy as np
import pytest
from scipy.optimize import linprog

from gnc.controllers.wheel_allocation import WheelAllocation
from gnc.errors import InputError
from gnc.models.actuators import ReactionWheels, pyramid_axes


def unit(rows):
    a = np.array(rows, float)
    return a / np.linalg.norm(a, axis=-1, keepdims=True)


HEXAGON = [[0.8 * np.cos(a), 0.8 * np.sin(a), 0.6] for a in np.arange(6) * np.pi / 3]
ARRAYS = {
    "three": (np.eye(3), 1.0),
    "pyramid": (pyramid_axes(), 1.0),
    "steep pyramid of unequal wheels": (pyramid_axes(60.0), [1.0, 2.0, 0.5, 1.0]),
    "three and a skew one": (unit([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]), 1.0),
    "five": (unit(np.random.default_rng(1).normal(size=(5, 3))), 1.0),
    "hexagon": (unit(HEXAGON), 1.0),
    "three in a plane": (unit([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]]), 1.0),
    "parallel": (np.repeat(np.eye(3), 2, axis=0), 1.0),
}


def least_maximum(axes, weights, tau):
    """Return the optimum by scipy: minimise t with |u_k| <= t weight_k and sum u_k a_k = tau."""
    n = len(axes)
    bound = np.broadcast_to(weights, n)[:, None]
    both = np.block([[np.eye(n), -bound], [-np.eye(n), -bound]])
    torque = np.c_[axes.T, np.zeros(3)]
    return linprog([*np.zeros(n), 1.0], both, np.zeros(2 * n), torque, tau, [(None, None)] * (n + 1)).fun


@pytest.mark.parametrize("name", ARRAYS)
def test_the_hardest_driven_wheel_is_driven_as_little_as_scipy_s_linear_programme_allows(name):
    axes, weights = ARRAYS[name]
    tau = np.random.default_rng(2).normal(size=(60, 3))
    u = WheelAllocation(axes_B=axes, weights=weights).command(tau)
    assert u @ axes == pytest.approx(tau, abs=1e-13)
    best = [least_maximum(axes, weights, t) for t in tau]
    assert np.abs(u / weights).max(axis=-1) == pytest.approx(best, rel=1e-9)


def test_the_pyramid_needs_0_02165_where_the_pseudo_inverse_needs_0_02598():
    tau, axes = np.array([0.01, 0.02, 0.03]), pyramid_axes()
    u, shortest = WheelAllocation(axes_B=axes).command(tau), np.linalg.pinv(axes.T) @ tau
    assert np.abs(shortest).max() == pytest.approx(0.02598, abs=5e-6)
    assert np.abs(u).max() == pytest.approx(0.02165, abs=5e-6)
    assert axes.T @ (u - shortest) == pytest.approx(np.zeros(3), abs=1e-16)


def test_axes_of_the_body_and_zero_are_served():
    allocation = WheelAllocation(axes_B=pyramid_axes())
    tau = np.vstack([np.zeros(3), np.eye(3), -np.eye(3)])
    u = allocation.command(tau)
    assert u @ pyramid_axes() == pytest.approx(tau, abs=1e-15)
    assert not u[0].any()
    assert np.abs(u[1:]).max() == pytest.approx(np.sqrt(3.0) / 4.0)


def test_saturated_wheels_then_give_more_torque_than_by_the_pseudo_inverse():
    tau, axes = 10.0 * np.array([0.01, 0.02, 0.03]), pyramid_axes()
    wheels, rest = ReactionWheels(axes_B=axes, torque_limit=0.005), np.zeros(4)
    commands = WheelAllocation(axes_B=axes).command(tau), np.linalg.pinv(axes.T) @ tau
    ours, theirs = (np.linalg.norm(wheels.apply(u, rest, 1.0)[0]) for u in commands)
    assert ours / theirs == pytest.approx(0.02598 / 0.02165, rel=1e-3)


def test_a_batch_equals_single_trials_bit_for_bit():
    allocation = WheelAllocation(axes_B=unit(HEXAGON))
    tau = np.random.default_rng(3).normal(size=(4, 9, 3))
    u = allocation.command(tau)
    assert u.shape == (4, 9, 6)
    assert all(np.array_equal(u[i, j], allocation.command(tau[i, j])) for i in range(4) for j in range(9))


@pytest.mark.parametrize("axes", [[[0, 2, 0]], [[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0], [1, 1, 0]]])
def test_wheels_that_do_not_span_all_directions_make_what_they_can_and_tell_the_rest(axes):
    axes, tau = unit(axes), np.random.default_rng(4).normal(size=(20, 3))
    allocation = WheelAllocation(axes_B=axes, weights=np.arange(1.0, len(axes) + 1.0))
    made = allocation.command(tau) @ axes
    closest = np.array([axes.T @ np.linalg.lstsq(axes.T, one, rcond=None)[0] for one in tau])
    np.testing.assert_allclose(made, closest, atol=1e-12)
    np.testing.assert_allclose(made + tau @ allocation.rest.T, tau, atol=1e-12)


def test_axes_that_differ_from_trial_to_trial_are_refused():
    with pytest.raises(InputError, match="^axes_B: expected axes"):
        WheelAllocation(axes_B=np.stack([np.eye(3)] * 2))
