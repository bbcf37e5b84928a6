"""The recursion against Pinocchio, and its own promises."""

import numpy as np
import pytest

from gnc.batch import JIT_OFF
from gnc.models.multibody import articulated, assembled
from gnc.models.multibody.articulated import accelerations
from gnc.models.multibody.parts import TreeState
from tests.models.multibody import samples
from tests.models.multibody.pinocchio_tree import Oracle

CHAIN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
TREES = {
    "one R": ("R", None),
    "one P": ("P", None),
    "one S": ("S", None),
    "one C": ("C", None),
    "one U": ("U", None),
    "chain RPS": ("RPS", CHAIN[:3]),
    "chain CUSRP": ("CUSRP", CHAIN[:5]),
    "R chain": ("RRRRRRRR", CHAIN[:8]),
    "P chain": ("PPPPPPPP", CHAIN[:8]),
    "S chain": ("SSSSSSSS", CHAIN[:8]),
    "C chain": ("CCCCCCCC", CHAIN[:8]),
    "U chain": ("UUUUUUUU", CHAIN[:8]),
    "two arms": ("RSCRUPRSCP", [0, 1, 2, 3, 4, 0, 6, 7, 8, 9]),
    "branching": ("RPSCURPSCU", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
    "random": ("URSCPRRSUPCRSR", None),
}


def relative(a, b):
    return np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(b)))


@pytest.mark.parametrize("name", TREES)
def test_accelerations_and_joint_wrenches_are_those_of_pinocchio(name):
    tree = samples.tree(3, *TREES[name])
    oracle = Oracle(tree)
    for seed in range(2 if JIT_OFF else 5):
        x, (effort, wrench) = samples.state(seed, tree), samples.loads(seed + 50, tree)
        found = accelerations(tree, x, effort, wrench)
        twist_dot, rate_dot = oracle.aba(x, effort, wrench)
        assert relative(found.twist_dot, twist_dot) < 1e-11
        assert relative(found.rate_dot, rate_dot) < 1e-11
        on_base, efforts, wrenches = oracle.rnea(x, found.twist_dot, found.rate_dot, wrench)
        scale = np.max(np.abs(wrenches)) + 1.0
        assert np.max(np.abs(on_base)) < 1e-11 * scale  # nobody holds the base
        assert np.max(np.abs(efforts - effort)) < 1e-11 * scale
        assert relative(found.wrench, wrenches) < 1e-11
        np.testing.assert_allclose(found.effort, effort, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize(
    ("kinds", "parents", "prescribed"),
    [
        ("R", None, ["j1"]),
        ("RRR", CHAIN[:3], ["j2"]),
        ("SCUPR", [0, 1, 2, 0, 4], ["j1", "j4"]),
        ("RPSCURPSCU", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], ["j1", "j3", "j4", "j5", "j7"]),
        ("RRRRRRRR", CHAIN[:8], [f"j{i}" for i in range(1, 9)]),
    ],
)
def test_prescribed_joints_are_pinocchios_hybrid_dynamics_with_their_holding_efforts(kinds, parents, prescribed):
    tree = samples.tree(4, kinds, parents)
    oracle = Oracle(tree)
    for seed in range(4):
        x, (effort, wrench) = samples.state(seed, tree), samples.loads(seed + 50, tree)
        wanted = np.random.default_rng(seed).normal(size=tree.freedoms)
        found = accelerations(tree, x, effort, wrench, prescribed, wanted)
        twist_dot, rate_dot, efforts = oracle.hybrid(x, effort, wrench, prescribed, wanted)
        assert relative(found.twist_dot, twist_dot) < 1e-10
        assert relative(found.rate_dot, rate_dot) < 1e-10
        assert relative(found.effort, efforts) < 1e-10
        for name in prescribed:
            np.testing.assert_array_equal(found.rate_dot[tree.rate_slice(name)], wanted[tree.rate_slice(name)])


def test_a_locked_joint_moves_as_if_the_bodies_were_one():
    tree = samples.tree(5, "SR", [0, 1])
    x, (effort, wrench) = samples.state(1, tree), samples.loads(2, tree)
    rate = x.rate.copy()
    rate[tree.rate_slice("j2")] = 0.0
    found = accelerations(tree, x._replace(rate=rate), effort, wrench, ["j2"])
    one, gamma = samples.welded(tree, x)
    load = np.stack([wrench[0], samples.moved(tree, x, wrench)])
    same = accelerations(one, x._replace(gamma=gamma, rate=rate[:3]), effort[:3], load)
    assert relative(found.twist_dot, same.twist_dot) < 1e-12
    assert relative(found.rate_dot[:3], same.rate_dot) < 1e-12
    assert relative(found.wrench[0], same.wrench[0]) < 1e-12


def test_a_tree_traced_as_one_kernel_assembled_of_kernels_and_walked_body_by_body_agree(monkeypatch):
    tree = samples.tree(6, "RSCUP", [0, 1, 1, 0, 4])
    x, (effort, wrench) = samples.state(1, tree, (7,)), samples.loads(2, tree, (7,))

    def found():
        articulated.whole_tree.cache_clear()
        return accelerations(tree, x, effort, wrench, ["j3"], 0.3)

    traced = found()
    monkeypatch.setattr(articulated, "TRACED", 0)
    of_kernels = found()
    monkeypatch.setattr(assembled, "MOST_BODIES", 0)
    for a, b, c in zip(traced, of_kernels, found(), strict=True):
        np.testing.assert_allclose(a, c, rtol=0, atol=1e-13 * np.max(np.abs(b)))
        np.testing.assert_array_equal(b, c)
    monkeypatch.undo()
    articulated.whole_tree.cache_clear()


@pytest.mark.jit
@pytest.mark.parametrize("kinds", ["RSC", "RPSCURPS"])
def test_a_trial_has_the_same_bits_alone_and_in_a_batch(kinds):
    tree = samples.tree(7, kinds)
    lead = (2, 27)
    x, (effort, wrench) = samples.state(1, tree, lead), samples.loads(2, tree, lead)
    batch = accelerations(tree, x, effort, wrench)
    for trial in [(0, 0), (1, 5), (1, 26)]:
        alone = accelerations(tree, TreeState(*(a[trial] for a in x)), effort[trial], wrench[trial])
        for a, b in zip(batch, alone, strict=True):
            np.testing.assert_array_equal(a[trial], b)


def test_a_lost_trial_stays_alone():
    tree = samples.tree(8, "RPSCURPS")
    x, (effort, wrench) = samples.state(1, tree, (4,)), samples.loads(2, tree, (4,))
    good = accelerations(tree, x, effort, wrench)
    x.rate[2, 0] = np.nan
    lost = accelerations(tree, x, effort, wrench)
    assert np.isnan(lost.twist_dot[2]).all()
    for i in (0, 1, 3):
        np.testing.assert_array_equal(lost.rate_dot[i], good.rate_dot[i])


def test_bodies_dispersed_over_trials_move_each_as_its_own_tree():
    trees = [samples.tree(9, "RS", [0, 1]), samples.tree(10, "RS", [0, 1])]
    both = samples.together(trees)
    x, (effort, wrench) = samples.state(1, both, (2,)), samples.loads(2, both, (2,))
    found = accelerations(both, x, effort, wrench)
    for i, tree in enumerate(trees):
        alone = accelerations(tree, TreeState(*(a[i] for a in x)), effort[i], wrench[i])
        np.testing.assert_allclose(found.rate_dot[i], alone.rate_dot, rtol=1e-13, atol=1e-13)


def test_a_massless_body_between_two_joints_only_joins_them():
    """R then P about one axis without mass between is a C joint."""
    c = samples.tree(11, "C")
    two = samples.split_cylinder(c)
    x = samples.state(1, c)
    effort, wrench = samples.loads(2, c)
    found = accelerations(two, x, effort, np.stack([wrench[0], np.zeros(6), wrench[1]]))
    same = accelerations(c, x, effort, wrench)
    assert relative(found.twist_dot, same.twist_dot) < 1e-12
    assert relative(found.rate_dot, same.rate_dot) < 1e-12
    assert relative(found.wrench[1], same.wrench[0]) < 1e-12


def test_a_single_body_is_a_rigid_body():
    tree = samples.tree(12, "")
    x, wrench = samples.state(1, samples.tree(12, "R")), np.arange(6.0)[None]
    x = x._replace(gamma=np.zeros(0), rate=np.zeros(0))
    body = tree.bodies[0]
    w, v = x.twist_B[:3], x.twist_B[3:]
    found = accelerations(tree, x, wrench=wrench)
    w_dot, v_dot = found.twist_dot[:3], found.twist_dot[3:]
    # Newton and Euler about the centre of mass, written without the 6x6 inertia
    acceleration = v_dot + np.cross(w, v) + np.cross(w_dot, body.r_g) + np.cross(w, np.cross(w, body.r_g))
    np.testing.assert_allclose(body.mass * acceleration, wrench[0, 3:], atol=1e-12)
    torque = wrench[0, :3] - np.cross(body.r_g, wrench[0, 3:])
    np.testing.assert_allclose(body.J_com @ w_dot + np.cross(w, body.J_com @ w), torque, atol=1e-12)
    assert found.wrench.shape == (0, 6)


def test_a_joint_that_is_not_there_is_refused_by_name():
    tree = samples.tree(1, "R")
    with pytest.raises(ValueError, match="joint: 'elbow' is not in the tree; there are j1"):
        accelerations(tree, samples.state(1, tree), prescribed=["elbow"])


def test_arguments_of_the_wrong_shape_are_refused_by_name():
    tree = samples.tree(1, "RS")
    x = samples.state(1, tree)
    with pytest.raises(ValueError, match=r"effort: expected \(..., 4\), got \(3,\)"):
        accelerations(tree, x, np.zeros(3))
    with pytest.raises(ValueError, match=r"wrench: expected \(..., 3, 6\), got \(6,\)"):
        accelerations(tree, x, wrench=np.zeros(6))


def test_many_loads_on_one_state_give_many_accelerations():
    tree = samples.tree(2, "RS")
    x, (effort, wrench) = samples.state(1, tree), samples.loads(2, tree, (3,))
    assert accelerations(tree, x, wrench=0.0 * wrench).wrench.shape == (3, 2, 6)
    found = accelerations(tree, x, effort, wrench)
    np.testing.assert_array_equal(found.wrench[1], accelerations(tree, x, effort[1], wrench[1]).wrench)
