"""Panels on springs, slosh masses and stops, against Pinocchio: accelerations, and a long flight."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import dual_quaternion
from gnc.errors import InputError
from gnc.models.multibody import Body, Joint, Tree, TreeState, VariationalTree, sections
from gnc.models.multibody.articulated import accelerations
from gnc.models.multibody.sections import HungBody

pin = pytest.importorskip("pinocchio")
from tests.models.multibody.pinocchio_tree import Oracle  # noqa: E402

SLAB = ((0.9, 0.0, 0.0), (0.0, 3.0, 0.0), (0.0, 0.0, 3.9))
BODIES = {
    "left": HungBody(
        mass_kg=9.0, J_kgm2=SLAB, joint_m=(0.5, 0.0, 0.0), origin_m=(1.0, 0.1, 0.0), stiffness=8.0, damping=0.1
    ),
    "right": HungBody(mass_kg=9.0, J_kgm2=SLAB, joint_m=(-0.5, 0.0, 0.0), origin_m=(-1.0, 0.1, 0.0), stiffness=8.0),
    "tank": HungBody(mass_kg=12.0, joint="cartesian", joint_m=(0.1, 0.2, 0.3), stiffness=3.0, damping=0.5),
    "bob": HungBody(mass_kg=5.0, joint="universal", joint_m=(0.0, 0.0, -0.4), origin_m=(0.0, 0.0, -0.5), stiffness=2.0),
}
BASE = Body("base", 150.0, np.diag([30.0, 25.0, 20.0]), np.array([0.02, -0.01, 0.05]))
SPRING = {"left": (8.0, 0.1), "right": (8.0, 0.0), "tank": (3.0, 0.5), "bob": (2.0, 0.0), "bob_cross": (2.0, 0.0)}


def satellite():
    return sections.tree(BASE, BODIES, {})


def state(tree, seed=4):
    rng = np.random.default_rng(seed)
    return TreeState(
        np.eye(8)[0],
        0.05 * rng.standard_normal(6),
        0.2 * rng.standard_normal(tree.coordinates),
        0.1 * rng.standard_normal(tree.freedoms),
    )


def effort(tree, x):
    """Return what springs and dampers do, written here: stiffness and damping by the names of the joints."""
    found = np.zeros(tree.freedoms)
    for joint in tree.joints:
        k, c = SPRING[joint.name]
        mine = tree.rate_slice(joint.name)
        found[mine] = -k * x.gamma[tree.gamma_slice(joint.name)] - c * x.rate[mine]
    return found


def test_panels_and_slosh_accelerate_as_pinocchio_says():
    tree = satellite()
    assert [joint.name for joint in tree.joints] == ["left", "right", "tank", "bob_cross", "bob"]
    for seed in range(5):
        x, wrench = state(tree, seed), np.zeros((len(tree.bodies), 6))
        wrench[0] = np.random.default_rng(seed).standard_normal(6)
        found = accelerations(tree, x, 0.0, wrench)
        twist_dot, rate_dot = Oracle(tree).aba(x, effort(tree, x), wrench)
        np.testing.assert_allclose(found.twist_dot, twist_dot, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.rate_dot, rate_dot, rtol=1e-10, atol=1e-10)


def flown_by_pinocchio(tree, x, duration_s):
    """Return the state after a while, by DOP853 on Pinocchio's accelerations."""
    oracle, none = Oracle(tree), np.zeros((len(tree.bodies), 6))
    sizes = np.cumsum([a.size for a in x])[:-1]

    def rate(t, y):
        now = TreeState(*np.split(y, sizes))
        twist_dot, rate_dot = oracle.aba(now, effort(tree, now), none)
        return np.concatenate([dual_quaternion.derivative(now.dq_IB, now.twist_B), twist_dot, now.rate, rate_dot])

    run = solve_ivp(rate, (0.0, duration_s), np.concatenate(x), "DOP853", rtol=1e-11, atol=1e-12)
    return TreeState(*np.split(run.y[:, -1], sizes))


def off(tree, x, expected, steps, h):
    method = VariationalTree(tree)
    flight = method.fly_steps(x, steps, h, every=steps)
    end = method.read(flight.x)
    pairs = zip(end[2:], expected[2:], strict=True)
    return max(np.abs(a[-1] - b).max() for a, b in pairs)


@pytest.mark.parametrize("duration_s", [5.0, pytest.param(100.0, marks=pytest.mark.slow)])
def test_a_flight_is_that_of_pinocchio_up_to_truncation(duration_s):
    """The error falls as h^2: to 0.05 of the order between steps of 0.02 and 0.01 s."""
    tree = satellite()
    x, steps = state(tree), round(duration_s / 0.02)
    expected = flown_by_pinocchio(tree, x, duration_s)
    coarse, fine = off(tree, x, expected, steps, 0.02), off(tree, x, expected, 2 * steps, 0.01)
    assert fine < 1e-3
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.05)


def test_a_stop_throws_a_body_back_and_keeps_its_energy():
    """A mass that slides at 0.5 m/s into a stop of 200 N/m at 0.3 m comes back as fast, base and mass together."""
    body = HungBody(mass_kg=2.0, joint="prismatic", limits=(-1.0, 0.3), stop_stiffness=200.0)
    tree = sections.tree(Body("base", 1e6, 1e6 * np.eye(3)), {"slider": body}, {})
    x = TreeState(np.eye(8)[0], np.zeros(6), np.zeros(1), np.array([0.5]))
    method = VariationalTree(tree)
    flight = method.fly_steps(x, 1500, 0.001)
    place, rate = (a[:, 0] for a in method.read(flight.x)[2:])
    assert place.max() == pytest.approx(0.3 + 0.5 * np.sqrt(2.0 / 200.0), rel=1e-4)
    assert rate[-1] == pytest.approx(-0.5, rel=1e-4)
    energy = method.report(flight.x).energy
    assert np.ptp(energy) < 1e-4 * energy[0]


def test_point_masses_that_turn_about_themselves_are_refused():
    with pytest.raises(InputError, match="about itself"):
        sections.tree(BASE, {"dot": HungBody(mass_kg=1.0, joint="revolute")}, {})
    with pytest.raises(InputError, match="base without inertia"):
        Tree([Body("base", 1.0)], [])
    with pytest.raises((InputError, ValueError), match="lower one first"):
        HungBody(mass_kg=1.0, joint="prismatic", limits=(1.0, -1.0))
    with pytest.raises(InputError, match="limits"):
        Joint("j", "S", "a", "b", limits=(-1.0, 1.0), stop=10.0)
