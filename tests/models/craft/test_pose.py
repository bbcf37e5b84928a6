"""A craft that turns and moves: wheels and thrusters at work, its port, and momentum that nobody booked."""

import numpy as np
import pytest

from gnc import dual_quaternion, quaternion
from gnc.config.base import validate
from gnc.draws import Draws
from gnc.models.craft.base import Site
from gnc.models.craft.body import momentum, momentum_gap
from gnc.models.craft.pose import PosePart
from gnc.models.environment.table import FreeSpace
from gnc.models.known import docked

WHEELS = {"kind": "reaction-wheels", "torque_limit_Nm": 0.5, "momentum_limit_Nms": 20.0, "start_Nms": 1.0}
LOADS = {"torque": {"kind": "torque", "size_Nm": 0.01}}


def craft(trials=3, **fields):
    part = validate({"kind": "pose", **fields}, PosePart, "craft")
    return part.truth(Site("x", Draws(0, np.arange(trials)), FreeSpace(), None, 0.1))


def flown(plant, command, steps=200, h=0.1, spoil=lambda x: x):
    x = plant.start()
    for k in range(steps):
        x = spoil(plant.step(x, command, k * h, h))
    return x, plant.observe(x, command, steps * h)


def test_wheels_and_thrusters_together_keep_the_books_of_momentum():
    plant = craft(actuators={"wheels": WHEELS, "thrusters": {"kind": "thrusters"}}, loads=LOADS, centre_m=(0.1, 0, 0.2))
    command = np.tile([0.3, -0.2, 0.1, 0.2], (3, 1)), np.tile([0.1, 0.0, 0.4] + [0.0] * 9, (3, 1))
    x, told = flown(plant, command)
    assert told["momentum_gap"].max() < 1e-13
    turned = np.abs(x.effectors[0] - plant.start().effectors[0]).max()
    assert turned > 1.0 and np.abs(x.r_I - plant.start().r_I).min() > 0.1
    assert "energy_gap" not in told  # the wheels' motors do work that nobody books


def test_wheels_turn_the_body_against_them():
    """With nothing from outside, R (J w + rho) is constant: the body's share is what the wheels took, by hand."""
    plant = craft(actuators={"wheels": WHEELS})
    x, _ = flown(plant, (np.tile([0.2, 0.1, -0.1, 0.0], (3, 1)),))
    R = quaternion.to_matrix(x.dq_IB[:, :4])
    rho = plant.effects.rho_B(x.effectors, x.chi_B)
    whole = np.einsum("nij,nj->ni", R, x.chi_B[:, :3] * [22.0, 20.0, 23.0] + rho)
    first = plant.effects.rho_B(plant.start().effectors, x.chi_B)
    np.testing.assert_allclose(whole, first, atol=1e-12)


def test_momentum_that_nobody_booked_opens_the_books():
    plant = craft(actuators={"thrusters": {"kind": "thrusters"}}, start={"velocity_m_s": (0.1, 0.0, 0.0)})
    command = (np.full((3, 12), 0.2),)
    leaking = flown(plant, command, spoil=lambda x: x._replace(p_I=x.p_I + [1e-6, 0.0, 0.0]))[1]
    assert flown(plant, command)[1]["momentum_gap"].max() < 1e-12 < 1e-9 < leaking["momentum_gap"].min()


def test_momentum_of_all_trials_is_angular_about_the_inertial_origin_then_linear():
    x = craft(start={"place_m": (0.0, 2.0, 0.0), "velocity_m_s": (1.0, 0.0, 0.0)}).start()
    np.testing.assert_allclose(
        momentum(x.q_IB, x.P_B, x.r_I, x.p_I), np.tile([0, 0, -200, 100, 0, 0], (3, 1)), atol=1e-12
    )
    assert momentum_gap(np.zeros(6), np.zeros(6), np.zeros(6)) == 0.0


@pytest.mark.parametrize("turned", [False, True])
def test_docked_ports_are_in_one_place_and_face_each_other(turned):
    q = quaternion.normalize(np.array([0.3, 0.4, -0.5, 0.7])) if turned else np.array([1.0, 0.0, 0.0, 0.0])
    target = PosePart(port_m=(0.1, 0.2, 0.3), port_q=tuple(q)).belief()
    chaser = PosePart(port_m=(0.5, 0.0, 0.0)).belief()
    dq_TB, axis_T = docked(target, chaser)
    port_T = dual_quaternion.mul(dq_TB, chaser.port)
    q_TP, r_TP = dual_quaternion.to_pose(port_T)
    np.testing.assert_allclose(r_TP, [0.1, 0.2, 0.3], atol=1e-15)
    np.testing.assert_allclose(quaternion.rotate(q_TP, np.array([1.0, 0.0, 0.0])), -axis_T, atol=1e-15)


def test_what_stands_out_before_the_port_is_measured_along_its_axis():
    assert PosePart(port_m=(0.0, 0.0, 0.0), size_m=(0.8, 2.0, 2.0)).belief().beyond_m == pytest.approx(0.4)
    assert PosePart(port_m=(0.5, 0.0, 0.0)).belief().beyond_m == 0.0
    assert PosePart(size_m=(1.6, 1.2, 1.0), box_m=(-0.8, 0.0, 0.0)).belief().beyond_m == pytest.approx(0.0, abs=1e-15)
