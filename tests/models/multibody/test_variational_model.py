"""The variational tree as a model: order 4, springs and dampers, prescribed joints, exact derivatives in both forms."""

import dataclasses
import time

import numpy as np
import pytest

from gnc import dual_quaternion, quaternion, spatial
from gnc.controllers.lqr import lqr
from gnc.errors import InputError
from gnc.integrators import dqvi
from gnc.models.multibody import Load, Tree, TreeState, VariationalTree, integrate, variational_jacobian
from tests.models.multibody import samples

KINDS, PARENTS = "RSCUP", [0, 1, 1, 0, 4]


def elastic(stiffness=3.0, damping=0.6):
    """A tree with all five joints, springs and dampers in all of them."""
    tree = samples.tree(31, KINDS, PARENTS)
    joints = [dataclasses.replace(j, stiffness=stiffness, damping=damping) for j in tree.joints]
    return Tree(tree.bodies, joints, tree.frames)


def slow(tree, lead=(), seed=1):
    x = samples.state(seed, tree, lead)
    return x._replace(twist_B=0.3 * x.twist_B, rate=0.3 * x.rate)


def last(x):
    return TreeState(*(a[-1] for a in x))


def error(tree, x, y):
    """The error state that leads from x to y."""
    gamma = []
    for joint in tree.joints:
        a, b = (z.gamma[..., tree.gamma_slice(joint.name)] for z in (x, y))
        turned = joint.kind == "S"
        gamma.append(quaternion.log(quaternion.mul(quaternion.conj(a), b)) if turned else b - a)
    xi = dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(x.dq_IB), y.dq_IB))
    return np.concatenate([xi, *gamma, y.twist_B - x.twist_B, y.rate - x.rate], -1)


def shifted(tree, x, delta):
    """The state that an error state leads to."""
    xi, turns, twist, rate = np.split(delta, np.cumsum([6, tree.freedoms, 6]), -1)
    gamma = []
    for joint in tree.joints:
        a, b = x.gamma[..., tree.gamma_slice(joint.name)], turns[..., tree.rate_slice(joint.name)]
        gamma.append(quaternion.mul(a, quaternion.exp(b)) if joint.kind == "S" else a + b)
    dq = dual_quaternion.mul(x.dq_IB, dual_quaternion.exp(xi))
    return TreeState(dq, x.twist_B + twist, np.concatenate(gamma, -1), x.rate + rate)


def swung(t, x):
    """Accelerations of the prescribed joints, and efforts that depend on time."""
    phase = t + np.arange(x.rate.shape[-1])
    return Load(np.sin(phase), rate_dot=np.cos(2.0 * phase))


@pytest.mark.jit
@pytest.mark.parametrize(("order", "prescribed"), [(2, ("j1", "j3")), (4, ()), (4, ("j2", "j4"))])
def test_springs_dampers_and_prescribed_joints_keep_the_order(order, prescribed):
    tree = elastic()
    x, method = slow(tree), VariationalTree(tree, order, prescribed)
    load = swung if prescribed else None
    given = load or integrate.free
    end = last(integrate.solve(tree, x, [0.0, 1.0], given, prescribed=prescribed).x)
    steps = {2: (40, 80, 160), 4: (20, 40)}[order]
    flights = [method.read(method.fly_steps(x, n, 1.0 / n, load, every=n).x) for n in steps]
    errors = [np.linalg.norm(error(tree, end, last(y))) for y in flights]
    assert np.log(errors[-2] / errors[-1]) / np.log(2.0) == pytest.approx(order, abs=0.05)


@pytest.mark.jit
@pytest.mark.parametrize("order", [2, 4])
def test_momentum_joints_and_symplectic_form_are_kept_to_round_off_with_all_five_joints(order):
    tree = elastic(damping=0.0)
    x, method = slow(tree), VariationalTree(tree, order)
    flight = method.fly_steps(x, 200, 0.05, every=10)
    report = method.report(flight.x)
    assert np.abs(report.momentum - report.momentum[0]).max() < 1e-12 * np.abs(report.momentum).max() * 20
    assert report.opening.max() < 1e-13
    assert np.abs(report.energy / report.energy[0] - 1.0).max() < {2: 2e-2, 4: 5e-5}[order]
    _, F, _ = method.move_jacobian(x, np.zeros(6 + tree.freedoms), 0.2)
    before, after = form(method, x), form(method, method.move(x, np.zeros(6 + tree.freedoms), 0.2))
    np.testing.assert_allclose(F.T @ after @ F, before, atol=1e-12 * np.abs(before).max())


def form(method, x):
    """The canonical two-form of all bodies in the error state: dp1.xi2 - dp2.xi1 - p.[xi1, xi2]."""
    y, n = method.start(x), method.size
    along = variational_jacobian.seeded(method, y, np.eye(n + 6 + method.tree.freedoms, n))
    total = np.zeros((n, n))
    for b, M in enumerate(method.bodies.inertias):
        xi, dp = (variational_jacobian.ungrouped(a[..., b, :, :], n) for a in (along.xi, along.chi))
        dp, p = M @ dp, M @ y.twist_C[b]
        P, Q = (np.cross(v, np.eye(3)) for v in (p[:3], p[3:]))  # a.P b = p.(a x b)
        bracket = np.block([[P, Q], [Q, np.zeros((3, 3))]])
        total += dp.T @ xi - xi.T @ dp - xi.T @ bracket @ xi
    return total


@pytest.mark.jit
def test_a_damper_takes_energy_and_no_momentum():
    tree = elastic(damping=2.0)
    method = VariationalTree(tree)
    report = method.report(method.fly_steps(slow(tree), 400, 0.05, every=20).x)
    assert np.all(np.diff(report.energy) < 0.0) and report.energy[-1] < 0.9 * report.energy[0]
    np.testing.assert_allclose(report.momentum, report.momentum[:1] + np.zeros((21, 1)), atol=1e-11)


@pytest.mark.jit
def test_a_locked_joint_stays_where_it_is_and_its_reaction_holds_it():
    tree = elastic(stiffness=0.0, damping=0.0)
    x = slow(tree)
    x = x._replace(rate=np.concatenate([[0.0], x.rate[1:]]))
    method = VariationalTree(tree, prescribed=["j1"])
    flight = method.fly_steps(x, 50, 0.01)
    np.testing.assert_allclose(flight.x.gamma[:, 0], x.gamma[0], atol=1e-12)
    from gnc.models.multibody import accelerations
    from gnc.models.multibody.variational import reactions

    middle = last(integrate.solve(tree, x, [0.0, 0.25], prescribed=["j1"]).x)
    wrench = accelerations(tree, middle, prescribed=["j1"]).wrench[0]
    np.testing.assert_allclose(reactions(flight.x)[25, 0], wrench, atol=2e-3 * np.abs(wrench).max())


# Derivatives


def differences(method, x, u, h, e=1e-5):
    """F and G by central differences, all directions as trials."""
    n, end = method.size, method.move(x, u, h)
    ends = []
    for sign in (1.0, -1.0):
        delta = sign * e * np.eye(n + u.size)
        ends.append(error(method.tree, end, method.move(shifted(method.tree, x, delta[:, :n]), u + delta[:, n:], h)))
    whole = ((ends[0] - ends[1]) / (2 * e)).T
    return whole[:, :n], whole[:, n:]


@pytest.mark.jit
@pytest.mark.parametrize(("order", "prescribed"), [(2, ()), (4, ("j2", "j5"))])
def test_the_jacobian_meets_finite_differences_to_1e_8(order, prescribed):
    tree = elastic()
    x, method = slow(tree), VariationalTree(tree, order, prescribed)
    u = np.random.default_rng(3).normal(size=6 + tree.freedoms)
    F, G = method.linearize(x, u, 0.1)
    F_differences, G_differences = differences(method, x, u, 0.1)
    np.testing.assert_allclose(F, F_differences, atol=1e-8)
    np.testing.assert_allclose(G, G_differences, atol=1e-8)


@pytest.mark.jit
def test_both_forms_of_the_jacobian_are_congruent_and_propagate_the_same_covariance():
    tree = elastic(damping=0.0)
    x, method, d, h = slow(tree, (3,)), VariationalTree(tree), 6 + tree.freedoms, 0.1
    u = np.zeros(d)
    x_next, F, _ = method.move_jacobian(x, u, h)
    F_next = method.linearize(x_next, u, h)[0]
    nodes = [np.concatenate([np.broadcast_to(np.eye(d, 2 * d), f[..., :d, :].shape), f[..., :d, :]], -2)
             for f in (F, F_next)]  # fmt: skip
    increments = method.increment_jacobian(x, h)
    np.testing.assert_allclose(increments @ nodes[0], nodes[1] @ F, atol=1e-12)
    A = np.random.default_rng(5).normal(size=(2 * d, 2 * d))
    C = np.swapaxes(nodes[0], -1, -2)
    C = nodes[0] @ (A @ A.T) @ C  # of two nodes
    moved = nodes[1] @ F @ (A @ A.T) @ np.swapaxes(nodes[1] @ F, -1, -2)
    np.testing.assert_allclose(increments @ C @ np.swapaxes(increments, -1, -2), moved, rtol=1e-9, atol=1e-9)
    with pytest.raises(InputError, match="without dampers"):
        VariationalTree(elastic()).increment_jacobian(x, h)


@pytest.mark.jit
def test_a_trial_has_the_same_jacobian_alone_and_in_a_batch():
    tree = elastic()
    x, method = slow(tree, (5,)), VariationalTree(tree, 4)
    batch = method.linearize(x, np.zeros(6 + tree.freedoms), 0.1)
    alone = method.linearize(TreeState(*(a[3] for a in x)), np.zeros(6 + tree.freedoms), 0.1)
    for a, b in zip(batch, alone, strict=True):
        np.testing.assert_array_equal(a[3], b)


@pytest.mark.jit
def test_the_jacobian_of_a_lone_body_is_that_of_dqvi():
    rng = np.random.default_rng(8)
    body = samples.body(rng, "b0")
    tree = Tree([body], [])
    x = tree.state(samples.pose(rng), 0.5 * rng.normal(size=6))
    M, h, u = spatial.inertia(body.mass, body.r_g, body.J_com), 0.1, rng.normal(size=6)
    F, G = dqvi.step_jacobian(x.dq_IB, x.twist_B, u, M, body.mass, h)[2:]
    F_tree, G_tree = VariationalTree(tree).linearize(x, u, h)
    np.testing.assert_allclose(F_tree, F, atol=1e-13)
    np.testing.assert_allclose(G_tree, G, atol=1e-13)


def test_lqr_designs_on_a_tree():
    """A base with springy joints at rest: the closed loop settles in the model itself."""
    tree = samples.tree(7, "RR", [0, 1])
    method, x, h = VariationalTree(tree), tree.state(), 0.2
    n, u = method.size, np.zeros(6 + tree.freedoms)
    design = lqr(method, x, u, h, 10.0 * np.ones(n), 0.1 * np.ones(u.size))
    assert np.abs(design.poles).max() < 1.0
    now = shifted(tree, x, 0.05 * np.random.default_rng(2).normal(size=n))
    for _ in range(100):
        now = method.move(now, -design.K @ error(tree, x, now), h)
    assert np.abs(error(tree, x, now)).max() < 0.05 * 0.1


@pytest.mark.slow
@pytest.mark.jit
def test_the_jacobian_of_16_bodies_costs_at_most_8_steps():
    """N = 64, the best of interleaved runs."""
    tree = samples.tree(1, "R" * 15, list(range(15)))
    x, method, u = slow(tree, (64,)), VariationalTree(tree), np.zeros(21)
    y, best = method.start(x), [np.inf, np.inf]
    runs = lambda: method.step(y, 0.01), lambda: method.move_jacobian(x, u, 0.01, inputs=False)
    for _ in range(30):
        for k, run in enumerate(runs):
            begun = time.perf_counter()
            run()
            best[k] = min(best[k], time.perf_counter() - begun)
    print("step [ms]", 1e3 * best[0], "with its Jacobian [ms]", 1e3 * best[1], "ratio", best[1] / best[0])
    assert best[1] <= 8.0 * best[0]


@pytest.mark.jit
def test_the_covariance_that_the_jacobian_moves_is_that_of_many_flights():
    """2000 starts of 1e-4, ten steps: every standard deviation to 5 sigma of its own scatter, 8 %."""
    tree = elastic()
    method, h, d, n = VariationalTree(tree), 0.1, 6 + tree.freedoms, 2000
    x, u = slow(tree), np.zeros(6 + tree.freedoms)
    offsets = 1e-4 * np.random.default_rng(8).normal(size=(n, 2 * d))
    many, C = shifted(tree, x, offsets), 1e-8 * np.eye(2 * d)
    for _ in range(10):
        F = method.linearize(x, u, h)[0]
        x, many, C = method.move(x, u, h), method.move(many, u, h), F @ C @ F.T
    spread = np.std(error(tree, x, many), axis=0)
    np.testing.assert_allclose(spread, np.sqrt(np.diag(C)), rtol=5.0 / np.sqrt(2 * n))
