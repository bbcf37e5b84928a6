"""The paper's dense system against the recursion, and its printed errors."""

import numpy as np
import pytest

from gnc import dual_quaternion
from gnc.models.multibody import articulated, kinematics, saddle
from gnc.models.multibody.joints import KINDS
from gnc.models.multibody.parts import Body
from gnc.models.multibody.tree import Tree
from tests.models.multibody import samples
from tests.models.multibody.pinocchio_tree import Oracle
from tests.models.multibody.test_articulated import TREES, relative
from tests.models.multibody.test_joints import REMOVED


@pytest.mark.parametrize("name", TREES)
def test_the_saddle_system_equals_the_recursion(name):
    tree = samples.tree(13, *TREES[name])
    for seed in range(3):
        x, (effort, wrench) = samples.state(seed, tree), samples.loads(seed + 50, tree)
        prescribed = [joint.name for joint in tree.joints[:: seed + 2]] if seed else []
        args = effort, wrench, prescribed, np.random.default_rng(seed).normal(size=tree.freedoms)
        for a, b in zip(saddle.accelerations(tree, x, *args), articulated.accelerations(tree, x, *args), strict=True):
            assert relative(a, b) < 1e-10


def test_the_schur_complement_is_symmetric_positive_definite_and_solves_the_whole_system():
    tree = samples.tree(14, *TREES["two arms"])
    x, (effort, wrench) = samples.state(1, tree), samples.loads(2, tree)
    s = saddle.system(tree, x, effort, wrench)
    B, R = len(tree.bodies), sum(len(KINDS[joint.kind].held) for joint in tree.joints)
    assert s.matrix.shape == (6 * B + R, 6 * B + R)
    schur = s.S21 @ np.linalg.solve(s.S11, s.S21.T)
    np.testing.assert_allclose(schur, schur.T, atol=1e-12 * np.max(np.abs(schur)))
    assert np.min(np.linalg.eigvalsh(schur)) > 0.0
    ydot = np.linalg.solve(s.matrix, np.concatenate([s.B1, s.B2]))[: 6 * B].reshape(-1, 6)
    base = tree.bodies[0]
    v_dot = articulated.accelerations(tree, x, effort, wrench).twist_dot  # at the base's origin
    np.testing.assert_allclose(ydot[0, :3], v_dot[:3], atol=1e-9)
    np.testing.assert_allclose(ydot[0, 3:], v_dot[3:] + np.cross(v_dot[:3], base.r_g), atol=1e-9)


def papers_matrix(tree, x):
    """S of DQMB eqs. (51) to (54) as printed, 8B + R: dual quaternions at centres of mass, force first."""
    B, eye = len(tree.bodies), np.eye(8)
    frames = kinematics.bodies(tree, x).dq_IB
    poses = [dual_quaternion.mul(frames[i], saddle._centre(body)) for i, body in enumerate(tree.bodies)]
    S11, S12, S21 = np.zeros((B, 8, B, 8)), [], []
    for i, body in enumerate(tree.bodies):
        M = np.eye(8)
        M[1:4, 1:4], M[5:, 5:] = body.mass * np.eye(3), body.J_com
        S11[i, :, i] = np.hstack([M[:, 4:], M[:, :4]])  # H(M), eq. (26)
    for joint in tree.joints:
        child, parent = tree.body(joint.child), tree.body(joint.parent)
        place = dual_quaternion.mul(frames[child], joint.dq_CJ)
        V = np.delete(eye, np.array(REMOVED[joint.kind]) - 1, axis=0).T
        Lambda = eye[np.array(HELD_TWIST[joint.kind]) - 1]
        column, row = np.zeros((B, 8, V.shape[1])), np.zeros((V.shape[1], B, 8))
        for body, sign in ((child, 1.0), (parent, -1.0)):
            dq = dual_quaternion.mul(dual_quaternion.conj(place), poses[body])  # pose of the body in the joint frame
            back = dual_quaternion.conj(dq)
            column[body] = -sign * dual_quaternion.left_matrix(back) @ dual_quaternion.right_matrix(dq) @ V
            row[:, body] = sign * Lambda @ dual_quaternion.left_matrix(dq) @ dual_quaternion.right_matrix(back)
        S12.append(column.reshape(8 * B, -1))
        S21.append(row.reshape(-1, 8 * B))
    R = sum(c.shape[1] for c in S12)
    return np.block([[S11.reshape(8 * B, 8 * B), np.hstack(S12)], [np.vstack(S21), np.zeros((R, R))]])


# Twist components (paper's 8 numbers, counted from 1) that a joint forbids: Table 4, Lambda.
HELD_TWIST = {"R": (2, 3, 6, 7, 8), "P": (2, 3, 4, 6, 7), "S": (6, 7, 8), "C": (2, 3, 6, 7), "U": (2, 3, 4)}


def test_the_matrix_is_the_papers_without_its_two_trivial_rows_for_each_body():
    tree = samples.tree(20, "RPSCU", [0, 1, 2, 0, 4])
    x = samples.state(1, tree)
    ours = np.linalg.svd(saddle.system(tree, x).matrix, compute_uv=False)
    paper = np.linalg.svd(papers_matrix(tree, x), compute_uv=False)
    with_trivial = np.sort(np.concatenate([ours, np.ones(2 * len(tree.bodies))]))[::-1]
    np.testing.assert_allclose(paper, with_trivial, rtol=1e-10)


def test_erratum_dqmb_eq_44_has_one_joint_too_many():
    tree = samples.tree(15, *TREES["chain CUSRP"])
    s = saddle.system(tree, samples.state(1, tree))
    assert len(s.reactions) == len(tree.joints) == len(tree.bodies) - 1  # printed: W_{B+1/k}, a body that is not there


def test_erratum_dqmb_table_5_pairs_force_with_angle_in_joint_c():
    """Table 3 has (angle, z), Table 5 (f_z, tau_z): only the torque does work on the angle."""
    tree = samples.tree(16, "C")
    x, oracle = samples.state(1, tree), Oracle(tree)
    effort, wrench = np.array([0.7, -2.0]), np.zeros((2, 6))  # tau_z, f_z
    good = articulated.accelerations(tree, x, effort, wrench)
    assert relative(good.rate_dot, oracle.aba(x, effort, wrench)[1]) < 1e-12
    printed = articulated.accelerations(tree, x, effort[::-1], wrench)
    assert relative(printed.rate_dot, good.rate_dot) > 0.1
    power = np.sum(good.wrench[0] * (KINDS["C"].mapping @ x.rate))  # tau_z goes with the angle's rate
    assert power == pytest.approx(effort @ x.rate, rel=1e-12)
    assert power != pytest.approx(effort[::-1] @ x.rate, rel=0.1)


def printed_prescription(tree, x, name, rate_dot=None):
    """The holding effort of DQMB eqs. (65) to (76): the distal acceleration leaves the unknowns as if it were known.

    Literally it is just dropped; with `rate_dot` its part that is known, by eq. (64), goes to the right side.
    """
    s, joint = saddle.system(tree, x), tree.joints[tree.joint(name)]
    child, parent = tree.body(joint.child), tree.body(joint.parent)
    X_child, X_parent = saddle.joint_maps(tree, x, name)
    S, R = joint.type.mapping, len(s.B2)
    act = np.zeros((6 * len(tree.bodies), S.shape[1]))
    act[6 * parent : 6 * parent + 6], act[6 * child : 6 * child + 6] = X_parent.T @ S, -X_child.T @ S
    matrix = np.block([[s.S11, -s.S21.T, act], [s.S21, np.zeros((R, R + S.shape[1]))]])
    right = np.concatenate([s.B1, s.B2])
    gone = np.arange(6 * child, 6 * child + 6)
    if rate_dot is not None:
        carried = X_parent @ saddle._centre_twists(tree, x)[parent]
        moved = S @ x.rate[tree.rate_slice(name)]
        known = np.linalg.solve(X_child, S @ rate_dot + saddle._cross_twist(carried, moved))
        right = right - matrix[:, gone] @ known
    upsilon = np.eye(len(right))
    upsilon = np.vstack([upsilon[: gone[0]], S.T @ np.linalg.inv(X_child).T @ upsilon[gone], upsilon[gone[-1] + 1 :]])
    return np.linalg.solve(upsilon @ np.delete(matrix, gone, axis=1), upsilon @ right)[-S.shape[1] :]


def test_erratum_dqmb_eqs_65_to_76_lose_the_inertia_of_the_distal_body():
    tree = samples.tree(17, "RRR", [0, 1, 2])
    x = samples.state(1, tree)
    for j, name in enumerate(["j1", "j2", "j3"]):
        rate_dot = np.where(np.arange(3) == j, 0.8, 0.0)
        truth = Oracle(tree).hybrid(x, np.zeros(3), np.zeros((4, 6)), [name], rate_dot)[2][j]
        assert saddle.accelerations(tree, x, prescribed=[name], rate_dot=rate_dot).effort[j] == pytest.approx(
            truth, abs=1e-11
        )
        assert abs(printed_prescription(tree, x, name)[0] - truth) > 0.1 * abs(truth)
        assert abs(printed_prescription(tree, x, name, [0.8])[0] - truth) > 0.1 * abs(truth)


def test_erratum_dqmb_eqs_65_to_76_hold_only_where_the_base_cannot_move():
    free = samples.tree(19, "RR", [0, 1])
    base = free.bodies[0]
    fixed = Tree([Body("b0", 1e9, 1e9 * np.eye(3), base.r_g), *free.bodies[1:]], free.joints)
    x = samples.state(1, free)._replace(twist_B=np.zeros(6))
    for tree, agree in ((fixed, True), (free, False)):
        truth = articulated.accelerations(tree, x, prescribed=["j1"], rate_dot=np.array([0.8, 0.0])).effort[0]
        printed = printed_prescription(tree, x, "j1", [0.8])[0]
        assert (abs(printed - truth) < 1e-6 * abs(truth)) == agree


def test_erratum_dqmb_eqs_73_and_75_mean_the_row_of_the_distal_body():
    """Projected onto the actuation (75), the wrench enters with -1 (73) in the row of body i + 1, not in that of i.

    In a chain body i is the proximal body of joint i, so that the printed cases j = i and j = k are one row as well.
    """
    tree = samples.tree(18, "RCS", [0, 1, 2])
    x = samples.state(1, tree)
    for i, joint in enumerate(tree.joints):
        X_child, X_parent = saddle.joint_maps(tree, x, joint.name)
        S = joint.type.mapping
        project = S.T @ np.linalg.inv(X_child).T
        np.testing.assert_allclose(project @ (-X_child.T @ S), -np.eye(S.shape[1]), atol=1e-13)
        assert tree.body(joint.parent) == i  # counted from 0: the paper's body i of its joint i
        assert np.max(np.abs(project @ (X_parent.T @ S) + np.eye(S.shape[1]))) > 0.5
