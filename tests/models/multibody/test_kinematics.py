"""Where the bodies are and what they carry, against Pinocchio, finite differences and the laws of mechanics."""

import numpy as np
import pinocchio as pin
import pytest

from gnc import dual_quaternion
from gnc.models.multibody import kinematics
from gnc.models.multibody.articulated import accelerations
from gnc.models.multibody.integrate import Load, derivative, normalize
from gnc.models.multibody.parts import TreeState
from tests.models.multibody import samples
from tests.models.multibody.pinocchio_tree import SWAP, Oracle, se3

TREES = [("RSC", [0, 1, 2]), ("RPSCURPSCU", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])]


@pytest.fixture(params=TREES, ids=lambda p: p[0])
def tree(request):
    return samples.tree(21, *request.param)


def later(tree, x, load, e):
    """The state after a short time, by a Taylor step of the first order."""
    return normalize(tree, TreeState(*(a + e * b for a, b in zip(x, derivative(tree, x, load), strict=True))))


def test_poses_centre_of_mass_momentum_and_energy_are_pinocchios(tree):
    oracle, x = Oracle(tree), samples.state(1, tree)
    model, data, q, v = oracle.model, oracle.data, oracle.q(x), oracle.v(x.twist_B, x.rate)
    pin.forwardKinematics(model, data, q, v)
    for i in range(len(tree.bodies)):
        wanted = data.oMi[oracle.ids[i]] * oracle.poses[i]
        found = dual_quaternion.to_matrix(kinematics.bodies(tree, x).dq_IB[i])
        np.testing.assert_allclose(found, wanted.homogeneous, atol=1e-12)
    np.testing.assert_allclose(kinematics.centre_of_mass(tree, x), pin.centerOfMass(model, data, q), atol=1e-12)
    assert kinematics.kinetic_energy(tree, x) == pytest.approx(pin.computeKineticEnergy(model, data, q, v), rel=1e-12)
    h = pin.computeCentroidalMomentum(model, data, q, v)
    com, (L, p) = kinematics.centre_of_mass(tree, x), np.split(kinematics.momentum(tree, x), 2)
    np.testing.assert_allclose(p, h.linear, atol=1e-11)
    np.testing.assert_allclose(L - np.cross(com, p), h.angular, atol=1e-10)


def test_the_jacobian_of_a_frame_is_pinocchios(tree):
    oracle, x = Oracle(tree), samples.state(2, tree)
    frame = tree.frame("tip")
    body = tree.body(frame.body)
    place = oracle.poses[body] * se3(frame.dq_BF)
    model, data = oracle.model, oracle.data
    number = model.addFrame(pin.Frame("tip", oracle.ids[body], 0, place, pin.FrameType.OP_FRAME))
    data = model.createData()
    wanted = pin.computeFrameJacobian(model, data, oracle.q(x), number, pin.ReferenceFrame.LOCAL)[SWAP]
    found = kinematics.jacobian(tree, x, "tip")
    for column in range(6 + tree.freedoms):
        unit = np.eye(6 + tree.freedoms)[column]
        np.testing.assert_allclose(found @ unit, wanted @ oracle.v(unit[:6], unit[6:]), atol=1e-12)


def test_twists_are_the_derivatives_of_poses(tree):
    x, e = samples.state(3, tree), 1e-6
    ahead, back = (kinematics.frame_pose(tree, later(tree, x, Load(), s), "tip") for s in (e, -e))
    dq = kinematics.frame_pose(tree, x, "tip")
    twist = 2.0 * dual_quaternion.vector_part(dual_quaternion.mul(dual_quaternion.conj(dq), (ahead - back) / (2 * e)))
    np.testing.assert_allclose(kinematics.frame_twist(tree, x, "tip"), twist, atol=2e-8 * np.max(np.abs(twist)))
    np.testing.assert_allclose(
        kinematics.jacobian(tree, x, "tip") @ np.concatenate([x.twist_B, x.rate]),
        kinematics.frame_twist(tree, x, "tip"),
        atol=1e-12 * np.max(np.abs(twist)),
    )


def test_joint_efforts_change_no_momentum_and_work_at_their_power(tree):
    x, e = samples.state(4, tree), 1e-5
    effort, _ = samples.loads(5, tree)
    ahead, back = (later(tree, x, Load(effort), s) for s in (e, -e))
    h = kinematics.momentum(tree, x)
    slope = (kinematics.momentum(tree, ahead) - kinematics.momentum(tree, back)) / (2 * e)
    np.testing.assert_allclose(slope, 0.0, atol=1e-7 * np.max(np.abs(h)))
    power = (kinematics.kinetic_energy(tree, ahead) - kinematics.kinetic_energy(tree, back)) / (2 * e)
    assert power == pytest.approx(effort @ x.rate, abs=1e-7 * kinematics.kinetic_energy(tree, x))


def test_wrenches_at_frames_work_at_the_power_of_their_twists(tree):
    x, e = samples.state(6, tree), 1e-5
    rng = np.random.default_rng(7)
    loads = {"tip": rng.normal(size=6), "side": rng.normal(size=6)}
    ahead, back = (later(tree, x, Load(wrench=tree.wrenches(loads)), s) for s in (e, -e))
    power = (kinematics.kinetic_energy(tree, ahead) - kinematics.kinetic_energy(tree, back)) / (2 * e)
    wanted = sum(wrench @ kinematics.frame_twist(tree, x, name) for name, wrench in loads.items())
    assert power == pytest.approx(wanted, abs=1e-7 * kinematics.kinetic_energy(tree, x))


def test_the_momentum_matrix_gives_the_momentum_in_base_axes(tree):
    x = samples.state(8, tree)
    h_B = kinematics.momentum_matrix(tree, x) @ np.concatenate([x.twist_B, x.rate])
    h_I = dual_quaternion.transform_wrench(x.dq_IB, h_B)
    np.testing.assert_allclose(h_I, kinematics.momentum(tree, x), rtol=1e-11, atol=1e-11)


def test_the_generalized_jacobian_moves_the_tip_of_a_base_without_momentum(tree):
    x = samples.state(9, tree)
    H = kinematics.momentum_matrix(tree, x)
    x = x._replace(twist_B=-np.linalg.solve(H[:, :6], H[:, 6:] @ x.rate))
    np.testing.assert_allclose(kinematics.momentum(tree, x), 0.0, atol=1e-10)
    tip = kinematics.frame_twist(tree, x, "tip")
    np.testing.assert_allclose(kinematics.generalized_jacobian(tree, x, "tip") @ x.rate, tip, atol=1e-11)


def test_an_arm_driven_from_rest_starts_along_its_generalized_jacobian(tree):
    x = samples.state(10, tree)
    x = x._replace(twist_B=np.zeros(6), rate=np.zeros(tree.freedoms))
    a = accelerations(tree, x, samples.loads(11, tree)[0])
    tip = kinematics.jacobian(tree, x, "tip") @ np.concatenate([a.twist_dot, a.rate_dot])
    wanted = kinematics.generalized_jacobian(tree, x, "tip") @ a.rate_dot
    np.testing.assert_allclose(tip, wanted, atol=1e-11 * np.max(np.abs(a.rate_dot)))


def test_all_readings_are_the_same_for_one_state_and_for_many(tree):
    x = samples.state(12, tree, (3, 2))
    one = TreeState(*(a[1, 0] for a in x))
    for reading in (
        kinematics.centre_of_mass,
        kinematics.momentum,
        kinematics.kinetic_energy,
        kinematics.momentum_matrix,
    ):
        np.testing.assert_allclose(reading(tree, x)[1, 0], reading(tree, one), rtol=1e-13, atol=1e-12)
    for reading in (
        kinematics.frame_pose,
        kinematics.frame_twist,
        kinematics.jacobian,
        kinematics.generalized_jacobian,
    ):
        np.testing.assert_allclose(reading(tree, x, "tip")[1, 0], reading(tree, one, "tip"), rtol=1e-12, atol=1e-11)
