"""The experiments of DQMB: every case keeps its checks; what they measure with is right by itself."""

import json

import numpy as np
import pytest

from gnc import dual_quaternion, quaternion
from gnc.models.multibody import TreeState, accelerations, kinematics
from gnc.scenarios import cli, papers
from gnc.scenarios.papers.dqmb import holding, runs, satellite, two_arms
from tests.models.multibody import samples
from tests.models.multibody.pinocchio_tree import Oracle

NAMES = ["dqmb/appendix", "dqmb/fig5", "dqmb/fig6", "dqmb/holding", "dqmb/variational", "dqmb/variational-model"]


def test_the_papers_experiments_are_cases():
    assert [case.name for case in papers.find("dqmb")] == NAMES


@pytest.mark.jit
@pytest.mark.parametrize("name", NAMES)
def test_a_case_keeps_its_checks_and_draws_its_figure(name, capsys, tmp_path):
    code = cli.main(["reproduce", name, "--json", "--out", str(tmp_path)])
    printed = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in printed["checks"] if not check["ok"]] == []
    assert code == 0 and printed["case"] == name
    assert all(np.isfinite(np.asarray(value, dtype=float)).all() for value in printed["metrics"].values())
    assert (tmp_path / f"{name.replace('/', '_')}.png").stat().st_size > 20_000


def random_moment(seed):
    tree = satellite.TREE
    return tree, samples.state(seed, tree), samples.loads(seed + 1, tree)[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_decoupled_formulation_has_the_accelerations_of_the_recursion(seed):
    tree, x, effort = random_moment(seed)
    poses, twists = kinematics.bodies(tree, x)
    q, r = dual_quaternion.to_pose(poses)
    w, v = twists[:, :3], np.stack([quaternion.rotate(a, b) for a, b in zip(q, twists[:, 3:], strict=True)])
    v_dot, w_dot = runs.accelerations(tree, runs.Moving(r, q, v, w), effort)
    twist_dot = accelerations(tree, x, effort).twist_dot
    np.testing.assert_allclose(w_dot[0], twist_dot[:3], atol=1e-11)
    turning = np.cross(x.twist_B[:3], x.twist_B[3:])  # the twist's components are in turning axes
    np.testing.assert_allclose(quaternion.inverse_rotate(q[0], v_dot[0]), twist_dot[3:] + turning, atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_the_printed_dual_velocities_have_the_accelerations_of_the_recursion(seed):
    tree, x, effort = random_moment(seed)
    twists = kinematics.bodies(tree, x).twist_B
    rate, y_dot = runs._accelerations(tree, x.dq_IB, x.gamma, twists, effort)
    np.testing.assert_allclose(rate, x.rate, atol=1e-13)
    np.testing.assert_allclose(y_dot[:6], accelerations(tree, x, effort).twist_dot, atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_the_holding_torque_is_pinocchios_and_the_printed_one_is_not(seed):
    tree, x, _ = random_moment(seed)
    wanted = tree.efforts({holding.JOINT: 0.7})
    truth = Oracle(tree).hybrid(x, np.zeros(3), np.zeros((4, 6)), [holding.JOINT], wanted)[2][1]
    found = holding._at(0.0, x)
    assert accelerations(tree, x, prescribed=[holding.JOINT], rate_dot=wanted).effort[1] == pytest.approx(truth)
    for printed in (holding.printed(x, wanted), holding.printed(x, None)):
        assert abs(printed - truth) > 0.05 * abs(truth)
    assert found[0] == pytest.approx(found[1], rel=1e-10) and abs(found[4]) < 1e-12


def test_a_joint_pulled_apart_shows_as_a_gap():
    tree = satellite.TREE
    poses = np.array(kinematics.bodies(tree, tree.state()).dq_IB)[None]
    assert runs.gap(tree, poses)[0] < 1e-15
    away = dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), np.array([0.0, 0.003, 0.004]))
    poses[0, 3] = dual_quaternion.mul(away, poses[0, 3])
    assert runs.gap(tree, poses)[0] == pytest.approx(0.005)


def test_the_satellite_of_the_appendix_is_labelled_as_the_paper_labels_it():
    """Body 1 is the base, joint i leads to body i + 1, and two branches end."""
    tree = two_arms.satellite()
    assert tree.incidence.shape == (10, 11)
    np.testing.assert_array_equal(np.argmax(tree.incidence, axis=1), np.arange(1, 11))
    np.testing.assert_array_equal(np.argmin(tree.incidence, axis=1), [0, 1, 2, 3, 4, 0, 6, 7, 8, 9])
    np.testing.assert_array_equal(np.flatnonzero(tree.terminations), [5, 10])


def test_at_rest_the_arms_of_the_appendix_mirror_each_other():
    tree = two_arms.satellite()
    left, right = (
        dual_quaternion.to_pose(kinematics.frame_pose(tree, tree.state(), f"{side} tip"))[1]
        for side in ("left", "right")
    )
    np.testing.assert_allclose(left, [0.6 + 3.7, 0.5, 0.0], atol=1e-14)
    np.testing.assert_allclose(right, left * [1, -1, 1], atol=1e-14)


def test_the_boom_slides_along_its_link():
    tree = two_arms.satellite()
    gamma = np.array(tree.state().gamma)
    gamma[tree.gamma_slice("left boom")] = 0.25
    x = TreeState(*tree.state())._replace(gamma=gamma)
    tip = dual_quaternion.to_pose(kinematics.frame_pose(tree, x, "left tip"))[1]
    np.testing.assert_allclose(tip, [0.6 + 3.7 + 0.25, 0.5, 0.0], atol=1e-14)
