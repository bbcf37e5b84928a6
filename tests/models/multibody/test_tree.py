"""The description of a tree: the paper's matrices, assembling by name, and what is refused."""

import pickle

import numpy as np
import pytest

from gnc import dual_quaternion
from gnc.errors import InputError
from gnc.models.multibody.parts import Body, Frame, Joint
from gnc.models.multibody.tree import Tree
from tests.models.multibody import samples

J = np.eye(3)


def bodies(n):
    return [Body(f"b{i}", 1.0, J) for i in range(1, n + 1)]


def joint(name, parent, child, kind="R"):
    return Joint(name, kind, parent, child)


def test_incidence_and_terminations_are_those_of_example_1():
    tree = Tree(bodies(5), [joint(f"J{i}", f"b{i}", f"b{i + 1}") for i in range(1, 5)])
    wanted = [[-1, 1, 0, 0, 0], [0, -1, 1, 0, 0], [0, 0, -1, 1, 0], [0, 0, 0, -1, 1]]
    np.testing.assert_array_equal(tree.incidence, wanted)
    np.testing.assert_array_equal(tree.terminations, [0, 0, 0, 0, 1])


def test_the_order_of_bodies_and_joints_is_free_and_links_run_from_the_root_outwards():
    tree = Tree(
        bodies(5), [joint("e", "b2", "b1"), joint("d", "b3", "b2"), joint("c", "b3", "b4"), joint("a", "b4", "b5")]
    )
    assert tree.body_names[tree.root] == "b3"
    np.testing.assert_array_equal(tree.terminations, [1, 0, 0, 0, 1])
    place = {body: i for i, body in enumerate(tree.link_bodies)}
    assert all(place[link.body] > link.parent for link in tree.links)
    for link in tree.links:
        assert tree.joints[link.joint].parent == tree.body_names[tree.link_bodies[link.parent]]
        assert tree.joints[link.joint].child == tree.body_names[link.body]


def test_coordinates_and_velocities_follow_the_joints():
    tree = samples.tree(1, "SRCUP", [0, 0, 1, 1, 2])
    assert (tree.coordinates, tree.freedoms) == (4 + 1 + 2 + 3 + 1, 3 + 1 + 2 + 3 + 1)
    assert tree.gamma_slice("j3") == slice(5, 7) and tree.rate_slice("j3") == slice(4, 6)
    np.testing.assert_array_equal(tree.state().gamma, [1] + [0] * 10)
    np.testing.assert_array_equal(tree.efforts({"j3": [1.0, 2.0], "j2": 5.0}), [0, 0, 0, 5, 1, 2, 0, 0, 0, 0])
    assert tree.efforts({"j2": np.ones((7, 1))}).shape == (7, 10)


def test_a_wrench_at_a_frame_is_moved_to_its_body():
    dq = dual_quaternion.from_pose(np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)]), np.array([2.0, 0, 0]))  # z by 90 deg
    tree = Tree(bodies(2), [joint("j", "b1", "b2")], [Frame("tip", "b2", dq)])
    wrench = tree.wrenches({"tip": np.array([0, 0, 0, 1.0, 0, 0]), "b2": np.array([0, 0, 0.5, 0, 0, 0])})
    np.testing.assert_allclose(wrench, [[0] * 6, [0, 0, 2.5, 0, 1, 0]], atol=1e-15)  # force along y, 2 m out on x


def test_a_tree_travels_to_worker_processes():
    tree = samples.tree(2, "RS")
    assert tree.links == pickle.loads(pickle.dumps(tree)).links


GOOD = bodies(3)
CASES = {
    "bodies b1, b2, b3: the joints between them close a cycle": (
        GOOD,
        [joint("x", "b1", "b2"), joint("y", "b2", "b3"), joint("z", "b3", "b1")],
    ),
    "bodies b2, b3: the joints between them close a cycle": (GOOD, [joint("x", "b2", "b3"), joint("y", "b3", "b2")]),
    "body b3: an orphan, no joint leads to it": (GOOD, [joint("x", "b1", "b2")]),
    "bodies b1, b3: 2 roots": (bodies(4), [joint("x", "b1", "b2"), joint("y", "b3", "b4")]),
    "body b3: hangs on 2 joints \\(y, z\\), which closes a loop": (
        GOOD,
        [joint("x", "b1", "b2"), joint("y", "b2", "b3"), joint("z", "b1", "b3")],
    ),
    "joint x: there is no body 'b9'": (GOOD, [joint("x", "b1", "b9")]),
    "joint x: body 'b1' is joined to itself": (GOOD, [joint("x", "b1", "b1")]),
    "body b1: the name is used 2 times": ([*GOOD, GOOD[0]], []),
    "joint x: the name is used 2 times": (GOOD, [joint("x", "b1", "b2"), joint("x", "b2", "b3")]),
    "body b2: a massless leaf; the end of a branch needs mass": (
        [GOOD[0], Body("b2", 0.0)],
        [joint("x", "b1", "b2")],
    ),
    "body b0: a massless root; the base needs mass": ([Body("b0", 0.0), GOOD[0]], [joint("x", "b0", "b1")]),
    "bodies: none": ([], []),
}


@pytest.mark.parametrize("message", CASES)
def test_what_is_not_a_tree_is_refused_in_one_line(message):
    with pytest.raises(InputError, match=message) as refused:
        Tree(*CASES[message])
    assert "\n" not in str(refused.value)


def test_bad_parts_are_refused_by_name():
    with pytest.raises(InputError, match="joint x: kind: 'H' is not one of 'R', 'P', 'S', 'C', 'U'"):
        joint("x", "b1", "b2", "H")
    with pytest.raises(InputError, match="body panel: J_com: triangle inequality violated"):
        Body("panel", 1.0, np.diag([1.0, 1.0, 3.0]))
    with pytest.raises(InputError, match="body panel: mass: -1 is negative"):
        Body("panel", -1.0, J)
    with pytest.raises(InputError, match="body panel: J_com: a body without mass has no inertia"):
        Body("panel", 0.0, J)
    with pytest.raises(InputError, match="joint x: dq_PJ: norm 2 is not 1"):
        Joint("x", "R", "a", "b", [2.0, 0, 0, 0, 0, 0, 0, 0])
    with pytest.raises(InputError, match="joint x: dq_CJ: the dual part is not orthogonal"):
        Joint("x", "R", "a", "b", dq_CJ=[1.0, 0, 0, 0, 0.5, 0, 0, 0])
    with pytest.raises(InputError, match="frame tip: there is no body 'c'"):
        Tree(GOOD[:1], [], [Frame("tip", "c")])
    with pytest.raises(InputError, match="body: 'hand' is not in the tree; there are b1"):
        Tree(GOOD[:1], []).wrenches({"hand": np.zeros(6)})
