"""A demand shared among several actuators: together they make it once, and what nobody can make is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from gnc.controllers.allocation import shares
from gnc.errors import InputError
from gnc.models.actuators.magnetorquers import MagnetorquersPart
from gnc.models.actuators.plumes import ThrustersPart
from gnc.models.actuators.reaction_wheels import ReactionWheelsPart

PITCH = ReactionWheelsPart(axes=[[0, 1, 0]]).belief()
PLANE = ReactionWheelsPart(axes=[[1, 0, 0], [0, 1, 0]]).belief()
PYRAMID = ReactionWheelsPart().belief()
TORQUERS = MagnetorquersPart(dipole_limit_Am2=1e6).belief()
THRUSTERS = ThrustersPart().belief()
ABOARD = {"pitch": PITCH, "plane": PLANE, "wheels": PYRAMID, "torquers": TORQUERS, "thrusters": THRUSTERS}
RNG = np.random.default_rng(5)
TAU, FIELD = 0.1 * RNG.normal(size=(30, 3)), 4e-5 * RNG.normal(size=(30, 3))
ESTIMATE = SimpleNamespace(B_B=FIELD)


def made(to, demand=TAU, kind="torque"):
    """The wrench of each of the actuators."""
    found = {}
    for name, share in shares(ABOARD, to, kind).items():
        u = share(demand, ESTIMATE, None)
        if name == "torquers":
            found[name] = np.cross(u, FIELD)
        elif name == "thrusters":
            found[name] = u @ THRUSTERS.thrusters.wrenches_B
        else:
            found[name] = u @ ABOARD[name].wheels.axes_B
    return found


def test_wheels_make_their_axes_and_torquers_what_they_can_of_the_rest():
    b = FIELD / np.linalg.norm(FIELD, axis=-1, keepdims=True)
    rest = TAU * [1.0, 0.0, 1.0]
    found = made(["pitch", "torquers"])
    np.testing.assert_allclose(found["pitch"], TAU - rest, atol=1e-15)
    np.testing.assert_allclose(found["torquers"], rest - b * (b * rest).sum(-1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("to", [["torquers", "wheels"], ["plane", "thrusters"], ["torquers", "pitch", "thrusters"]])
def test_together_they_make_a_torque_once(to):
    np.testing.assert_allclose(sum(one[:, :3] for one in made(to).values()), TAU, atol=1e-9)


def test_thrusters_push_where_wheels_turn_and_make_all_of_a_wrench_where_those_leave_some():
    wrench = np.c_[TAU, 0.5 * RNG.normal(size=(30, 3))]
    pushed = made(["wheels", "thrusters"], wrench, "wrench")["thrusters"]
    np.testing.assert_allclose(pushed[:, 3:], wrench[:, 3:], atol=1e-9)
    both = made(["pitch", "thrusters"], wrench, "wrench")
    total = np.pad(both["pitch"], ((0, 0), (0, 3))) + both["thrusters"]
    np.testing.assert_allclose(total, wrench, atol=1e-9)


@pytest.mark.parametrize("to", [["wheels", "torquers"], ["thrusters", "wheels"], ["wheels", "thrusters"]])
def test_an_actuator_that_is_left_nothing_to_do_is_refused(to):
    with pytest.raises(InputError, match=f"before {to[1]!r} make all of a torque"):
        shares(ABOARD, to, "torque")


def test_wheels_that_leave_some_torque_to_nobody_are_refused_unless_a_law_of_ones_own_asks_for_less():
    with pytest.raises(InputError, match="the axes of these wheels leave some torque to nobody"):
        shares(ABOARD, ["plane"], "torque")
    shares(ABOARD, ["plane"], "torque", partial=True)
    shares(ABOARD, ["plane", "torquers"], "torque")
