"""The variational tree: second order, momentum and joints to round-off, no energy trend, reactions, O(B)."""

import numpy as np
import pytest

from gnc import dual_quaternion, spatial
from gnc.errors import InputError
from gnc.integrators import dqvi
from gnc.models.multibody import Body, Joint, Load, Tree, TreeState, accelerations, examples, integrate, kinematics
from gnc.models.multibody import variational_solver as solver
from gnc.models.multibody.joints import KINDS
from gnc.models.multibody.variational import VariationalTree, reactions
from tests.models.multibody import samples

MIXED = "RSCUP", [0, 1, 1, 0, 4]
TREES = {**{kind: (kind, [0]) for kind in KINDS}, "all": MIXED}


def flying(name, seed=31, lead=()):
    """A tree and a state that turns by about a third of a radian per second."""
    tree = samples.tree(seed, *TREES[name])
    x = samples.state(1, tree, lead)
    return tree, x._replace(twist_B=0.3 * x.twist_B, rate=0.3 * x.rate)


def last(x):
    return type(x)(*(a[-1] for a in x))


def distance(x, y):
    """How far two minimal states are apart, all numbers together."""
    return np.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(x, y, strict=True)))


def order(steps, errors):
    return -np.polyfit(np.log(steps), np.log(errors), 1)[0]


def driven(t, x):
    """Efforts that depend on time and rates, and a wrench on the last body."""
    phase = t + np.arange(x.rate.shape[-1])
    wrench = np.zeros((6, 6))
    wrench[5] = np.cos(t) * np.arange(6.0)
    return Load(2.0 * np.sin(phase) - 0.5 * x.rate, wrench)


# Accuracy


@pytest.mark.jit
@pytest.mark.parametrize("name", TREES)
def test_every_kind_of_joint_flies_with_order_2(name):
    tree, x = flying(name)
    method, end = VariationalTree(tree), last(integrate.solve(tree, x, [0.0, 1.0]).x)
    steps = (20, 40, 80)
    flights = [method.read(last(method.fly_steps(x, n, 1.0 / n, every=n).x)) for n in steps]
    assert order(steps, [distance(y, end) for y in flights]) == pytest.approx(2.0, abs=0.05)


@pytest.mark.jit
def test_order_2_remains_with_loads_that_depend_on_time_and_rates():
    tree, x = flying("all")
    method, end = VariationalTree(tree), last(integrate.solve(tree, x, [0.0, 1.0], driven).x)
    steps = (40, 80, 160)
    flights = [method.read(last(method.fly_steps(x, n, 1.0 / n, driven, every=n).x)) for n in steps]
    assert order(steps, [distance(y, end) for y in flights]) == pytest.approx(2.0, abs=0.05)


@pytest.mark.jit
def test_torques_that_jump_at_nodes_leave_order_2():
    """The paper's satellite up to 12 s, over four jumps, against the solver that is restarted at them."""
    tree = examples.four_body_satellite()
    x, method = tree.state(), VariationalTree(tree)
    load = lambda t, y: Load(examples.arm_torques(t))  # noqa: E731
    end = last(integrate.solve(tree, x, [0.0, 12.0], load, examples.SWITCHES_S).x)
    steps = (60, 120, 240)
    flights = [method.read(last(method.fly_steps(x, n, 12.0 / n, load, every=n).x)) for n in steps]
    assert order(steps, [distance(y, end) for y in flights]) == pytest.approx(2.0, abs=0.05)


@pytest.mark.jit
@pytest.mark.parametrize("load", [None, driven])
def test_reactions_approach_those_of_the_recursion_with_order_2(load):
    tree, x = flying("all")
    method, given = VariationalTree(tree), load or integrate.free
    middle = last(integrate.solve(tree, x, [0.0, 0.5], given).x)
    at = given(0.5, middle)
    exact = accelerations(tree, middle, at.effort, at.wrench)
    actuation = [joint.type.mapping @ exact.effort[tree.rate_slice(joint.name)] for joint in tree.joints]
    steps, errors = (40, 80, 160), []
    for n in steps:
        found = reactions(method.fly_steps(x, n, 1.0 / n, load).x)[n // 2]
        errors.append(np.abs(found - (exact.wrench - actuation)).max())
    assert order(steps, errors) == pytest.approx(2.0, abs=0.05)
    assert errors[-1] < 1e-3 * np.abs(exact.wrench).max()


# Structure


@pytest.mark.jit
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("h", [0.02, 0.1])
def test_momentum_is_kept_to_1e_11_and_joints_to_1e_12(name, h):
    tree, x = flying(name)
    method = VariationalTree(tree)
    flight = method.fly_steps(x, 300, h, every=10)
    y = method.read(flight.x)
    momentum = kinematics.momentum(tree, y)
    assert np.abs(momentum - momentum[0]).max() < 1e-11
    assert method.report(flight.x).opening.max() < 1e-12
    drift = kinematics.centre_of_mass(tree, y) - flight.t[:, None] * momentum[0, 3:] / kinematics.mass(tree)
    assert np.abs(drift - drift[0]).max() < 1e-11


@pytest.mark.jit
def test_body_twists_are_compatible_with_the_joints():
    tree, x = flying("all")
    method = VariationalTree(tree)
    y = last(method.fly_steps(x, 20, 0.05, every=20).x)
    again = method.start(method.read(y))  # from base and joints alone
    np.testing.assert_allclose(again.twist_C, y.twist_C, atol=1e-13)
    np.testing.assert_allclose(again.dq_IC * np.sign(again.dq_IC[:, :1] * y.dq_IC[:, :1]), y.dq_IC, atol=1e-13)


@pytest.mark.jit
def test_a_step_back_undoes_a_step():
    tree, x = flying("all")
    method = VariationalTree(tree)
    y = method.start(x)
    back = method.step(method.step(y, 0.1), -0.1)
    np.testing.assert_allclose(back.dq_IC, y.dq_IC, atol=1e-12)
    np.testing.assert_allclose(back.twist_C, y.twist_C, atol=1e-12)
    np.testing.assert_allclose(back.gamma, y.gamma, atol=1e-12)


def canonical(tree, y, tangents):
    """The canonical two-form of all bodies on pairs of tangents [xi, dp]: dp1.xi2 - dp2.xi1 - p.[xi1, xi2]."""
    M = np.stack([spatial.inertia(b.mass, np.zeros(3), b.J_com) for b in tree.bodies])
    p = (M @ y.twist_C[..., None])[..., 0]
    form = np.empty((len(tangents),) * 2)
    for i, (xi_1, twist_1) in enumerate(tangents):
        for j, (xi_2, twist_2) in enumerate(tangents):
            dp_1, dp_2 = ((M @ a[..., None])[..., 0] for a in (twist_1, twist_2))
            turn = np.cross(xi_1[:, :3], xi_2[:, :3])
            move = np.cross(xi_1[:, :3], xi_2[:, 3:]) + np.cross(xi_1[:, 3:], xi_2[:, :3])
            form[i, j] = np.sum(dp_1 * xi_2 - dp_2 * xi_1 - p * np.concatenate([turn, move], -1))
    return form


@pytest.mark.jit
@pytest.mark.parametrize("name", KINDS)
def test_a_step_keeps_the_symplectic_form(name):
    """By central differences in all directions of the minimal state of a base and one joint."""
    tree, x = flying(name)
    method, e = VariationalTree(tree), 1e-5
    d = tree.freedoms

    def shifted(delta):
        gamma = x.gamma + delta[6 : 6 + d] if name != "S" else _turned(x.gamma, delta[6:9])
        dq = dual_quaternion.mul(x.dq_IB, dual_quaternion.exp(delta[:6]))
        return TreeState(dq, x.twist_B + delta[6 + d : 12 + d], gamma, x.rate + delta[12 + d :])

    nodes = [method.start(x), method.step(method.start(x), 0.2)]
    tangents = [[], []]
    for direction in np.eye(12 + 2 * d):
        ends = [method.start(shifted(sign * e * direction)) for sign in (1.0, -1.0)]
        for k, pair in enumerate((ends, [method.step(y, 0.2) for y in ends])):
            back = dual_quaternion.conj(nodes[k].dq_IC)
            plus, minus = (dual_quaternion.log(dual_quaternion.mul(back, y.dq_IC)) for y in pair)
            tangents[k].append(((plus - minus) / (2 * e), (pair[0].twist_C - pair[1].twist_C) / (2 * e)))
    before, after = (canonical(tree, y, t) for y, t in zip(nodes, tangents, strict=True))
    np.testing.assert_allclose(after, before, atol=1e-8 * np.abs(before).max())


def _turned(q, a):
    return dual_quaternion.mul(np.concatenate([q, np.zeros(4)]), dual_quaternion.exp(np.array([*a, 0, 0, 0])))[:4]


def energy_run(h, steps, every):
    """The tumbling satellite of the paper."""
    tree = examples.four_body_satellite()
    x = tree.state(twist_B=np.array([0.1, -0.3, 0.2, 0, 0, 0]))._replace(rate=np.array([0.2, -0.3, 0.4]))
    method = VariationalTree(tree)
    y = method.read(method.fly_steps(x, steps, h, every=every).x)
    return tree, x, kinematics.kinetic_energy(tree, y) / kinematics.kinetic_energy(tree, x) - 1.0


@pytest.mark.jit
def test_the_energy_error_shrinks_with_the_square_of_the_step():
    errors = [np.abs(energy_run(0.1 / k, 100 * k, every=k)[2]).max() for k in (1, 2, 4)]  # read at the same times
    assert order((1, 2, 4), errors) == pytest.approx(2.0, abs=0.05)


SPRINGS = np.array([20.0, 12.0, 2.0])  # N m/rad


def sprung(t, x):
    return Load(-SPRINGS * x.gamma)


def energy_means(tree, states):
    """The relative energy error of a satellite with springs in its joints: means over eighths, and its size."""
    energy = kinematics.kinetic_energy(tree, states) + 0.5 * np.sum(SPRINGS * states.gamma**2, -1)
    error = energy / energy[0] - 1.0
    return error[1:].reshape(8, -1).mean(axis=1), np.abs(error).max()


@pytest.mark.jit
@pytest.mark.parametrize("steps", [1600, pytest.param(8000, marks=pytest.mark.slow)])
def test_the_energy_has_no_trend_where_rk4_has_one(steps):
    """A spinning arm that swings a little in its springs, which is regular motion: h = 0.2 s, 320 s and 1600 s."""
    tree = examples.four_body_satellite()
    x = tree.state(twist_B=np.array([0.01, -0.03, 0.02, 0, 0, 0]))
    x = x._replace(gamma=np.array([0.03, -0.02, 0.04]), rate=np.array([0.02, -0.03, 0.04]))
    method = VariationalTree(tree)
    means, size = energy_means(tree, method.read(method.fly_steps(x, steps, 0.2, sprung, every=2).x))
    assert np.ptp(means) < 0.04 * size
    drift, _ = energy_means(tree, integrate.fly_steps(tree, x, steps, 0.2, sprung, every=2).x)
    assert np.all(np.diff(drift) < 0.0) and drift[-1] / drift[3] == pytest.approx(15.0 / 7.0, rel=0.1)
    print("energy: size", size, "means", means, "RK4", drift)


# The solver


def dense_solution(links, A, s, start, end, bias, drive, resistance):
    """The same system assembled whole, with the wrenches of the joints as unknowns."""
    B, J, D = len(links) + 1, len(links), len(drive)
    size = 6 * B + D + 6 * J
    matrix, right = np.zeros((size, size)), np.concatenate([s.ravel(), bias.ravel(), drive])
    for b in range(B):
        matrix[6 * b : 6 * b + 6, 6 * b : 6 * b + 6] = A[b]
    for i, link in enumerate(links):
        child, parent = (slice(6 * b, 6 * b + 6) for b in (i + 1, link.parent))
        f, mine = slice(6 * B + D + 6 * i, 6 * B + D + 6 * i + 6), slice(6 * B + link.rate[0], 6 * B + link.rate[1])
        matrix[child, f], matrix[parent, f] = -np.eye(6), start.X[i].T
        row, S = slice(6 * B + 6 * i, 6 * B + 6 * i + 6), end.axes[:, slice(*link.rate)]
        matrix[row, child], matrix[row, parent], matrix[row, mine] = np.eye(6), -end.X[i], -S
        row = slice(6 * B + 6 * J + link.rate[0], 6 * B + 6 * J + link.rate[1])
        matrix[row, f], matrix[row, mine] = S.T, np.diag(resistance[slice(*link.rate)])
    found = np.linalg.solve(matrix, right)
    return found[: 6 * B].reshape(B, 6), found[6 * B : 6 * B + D], found[6 * B + D :].reshape(J, 6)


@pytest.mark.jit
def test_elimination_from_the_leaves_equals_the_dense_solution():
    tree = samples.tree(41, "RPSCURSP", [0, 1, 1, 0, 4, 4, 2, 7])
    parts, rng = VariationalTree(tree).bodies, np.random.default_rng(6)
    end = parts.node(parts.start(samples.state(1, tree)).dq_IC)
    A = parts.inertias + 0.01 * rng.normal(size=parts.inertias.shape)
    s, bias = rng.normal(size=(9, 6)), 0.1 * rng.normal(size=(8, 6))
    drive, resistance = rng.normal(size=tree.freedoms), rng.uniform(0.0, 1.0, tree.freedoms)
    start = end._replace(X=end.X + 0.01 * rng.normal(size=end.X.shape))
    found = solver.solve_tree(tree.links, (False,) * 8, A, s, start, end, bias, drive, resistance)
    xi, y, f = dense_solution(tree.links, A, s, start, end, bias, drive, resistance)
    np.testing.assert_allclose(found.xi, xi, atol=1e-10)
    np.testing.assert_allclose(found.y, y, atol=1e-10)
    np.testing.assert_allclose(found.on_children, f, atol=1e-10)
    balance = np.einsum("bij,bj->bi", A, found.xi) - s
    np.testing.assert_allclose(found.on_bodies, balance, atol=1e-10)


# Use


@pytest.mark.jit
def test_a_lone_body_flies_as_dqvi_does():
    rng = np.random.default_rng(8)
    body = samples.body(rng, "b0")
    tree = Tree([body], [])
    x = tree.state(samples.pose(rng), 0.5 * rng.normal(size=6))
    M, h = spatial.inertia(body.mass, body.r_g, body.J_com), 0.1
    dq, chi = x.dq_IB, x.twist_B
    for _ in range(5):
        dq, chi = dqvi.step(dq, chi, np.zeros(6), M, body.mass, h)
    method = VariationalTree(tree)
    y = method.read(last(method.fly_steps(x, 5, h).x))
    np.testing.assert_allclose(y.dq_IB, dq, atol=1e-13)
    np.testing.assert_allclose(y.twist_B, chi, atol=1e-13)


@pytest.mark.jit
def test_a_trial_flies_the_same_alone_and_in_a_batch():
    tree, x = flying("all", lead=(5,))
    method = VariationalTree(tree)
    batch = last(method.fly_steps(x, 4, 0.05, driven).x)
    alone = last(method.fly_steps(TreeState(*(a[3] for a in x)), 4, 0.05, driven).x)
    for a, b in zip(batch, alone, strict=True):
        np.testing.assert_array_equal(a[3], b)


@pytest.mark.jit
def test_a_step_too_long_marks_only_its_own_trial():
    tree, x = flying("all", lead=(3,))
    twist = np.array(x.twist_B)
    twist[1, :3] *= 200.0
    method = VariationalTree(tree)
    y = method.step(method.start(x._replace(twist_B=twist)), 0.05)
    assert np.isnan(y.dq_IC[1]).all() and np.isnan(y.twist_C[1]).all()
    assert np.isfinite(y.dq_IC[[0, 2]]).all() and np.isfinite(y.after[[0, 2]]).all()


@pytest.mark.jit
def test_angles_count_turns():
    """Two discs on one axis: each keeps its rate, so the angle grows for ever."""
    disc = np.diag([1.0, 1.0, 2.0])
    tree = Tree([Body("b0", 1.0, disc), Body("b1", 2.0, disc)], [Joint("j1", "R", "b0", "b1")])
    x = tree.state(twist_B=np.array([0, 0, -0.5, 0, 0, 0]))._replace(rate=np.array([2.0]))
    method = VariationalTree(tree)
    y = method.read(last(method.fly_steps(x, 200, 0.1, every=200).x))
    assert y.gamma[0] == pytest.approx(40.0, rel=1e-2) and y.rate[0] == pytest.approx(2.0, abs=1e-12)


@pytest.mark.jit
def test_reading_returns_the_state_one_started_from():
    tree, x = flying("all", lead=(4,))
    method = VariationalTree(tree)
    y = method.read(method.start(x))
    for a, b in zip(y, x, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)


def test_a_massless_body_between_two_joints_is_no_body():
    """A cylindrical joint, and the same as a turn and a slide with nothing between them, fly alike."""
    whole = samples.tree(7, "C")
    split, x = samples.split_cylinder(whole), samples.state(3, whole)
    ends = []
    for tree in (whole, split):
        method = VariationalTree(tree)
        ends.append(method.read(last(method.fly_steps(x, 50, 0.01, every=50).x)))
    for a, b in zip(*ends, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


def test_a_prescribed_joint_is_refused_not_ignored():
    tree, x = flying("R")
    method = VariationalTree(tree)
    with pytest.raises(InputError, match="rate_dot is for prescribed joints"):
        method.fly_steps(x, 1, 0.1, lambda t, y: Load(rate_dot=np.ones(1)))
