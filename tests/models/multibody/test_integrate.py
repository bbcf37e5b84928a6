"""Flights of trees: the spec's reference run, conservation laws, the order of fixed steps."""

import numpy as np
import pytest

from gnc import quaternion
from gnc.models.multibody import examples, integrate, kinematics, saddle
from gnc.models.multibody.integrate import Load
from gnc.models.multibody.parts import TreeState
from tests.models.multibody import samples

SATELLITE = examples.four_body_satellite()


def torques(t, x):
    return Load(examples.arm_torques(t))


def last(x):
    return TreeState(*(a[-1] for a in x))


@pytest.fixture(scope="module")
def reference():
    times = np.linspace(0.0, 70.0, 36)
    return integrate.solve(SATELLITE, SATELLITE.state(), times, torques, examples.SWITCHES_S)


@pytest.mark.jit
def test_the_papers_satellite_ends_where_the_reference_run_ends(reference):
    t, x = reference
    assert t[11] == 22.0
    np.testing.assert_allclose(x.gamma[11], [0.72412541, 0.44169408, -0.87923073], atol=1e-8)
    np.testing.assert_allclose(x.gamma[-1], [3.88716756, -0.25470561, 2.33776515], atol=1e-8)
    assert kinematics.kinetic_energy(SATELLITE, last(x)) == pytest.approx(0.04646862953404, abs=1e-13)


@pytest.mark.jit
def test_over_70_s_the_centre_of_mass_rests_and_no_momentum_appears():
    """Restarted at every reading: between its steps SciPy interpolates, with errors of 1e-12."""
    times = np.arange(0.0, 71.0)
    x = integrate.solve(SATELLITE, SATELLITE.state(), times, torques, times[1:-1]).x
    start = kinematics.centre_of_mass(SATELLITE, SATELLITE.state())
    assert np.max(np.linalg.norm(kinematics.centre_of_mass(SATELLITE, x) - start, axis=-1)) < 3e-13
    momentum = kinematics.momentum(SATELLITE, x)
    assert np.max(np.linalg.norm(momentum[:, 3:], axis=-1)) < 3e-13
    assert np.max(np.linalg.norm(momentum[:, :3], axis=-1)) < 5e-13


@pytest.mark.jit
def test_the_condition_number_of_the_saddle_matrix_is_the_specs(reference):
    states = [TreeState(*(a[i] for a in reference.x)) for i in range(36)]
    conditions = [np.linalg.cond(saddle.system(SATELLITE, x).matrix) for x in states]
    assert max(conditions) == pytest.approx(892.0, abs=0.5)
    assert min(conditions) == pytest.approx(759.0, rel=5e-3)  # how low depends on where one looks


def smooth(t, x):
    """A load that depends on time, pose and rates, with all that a tree takes."""
    phase = t + np.arange(x.rate.shape[-1])
    wrench = np.zeros((*x.rate.shape[:-1], 6, 6))
    wrench[..., 5, :] = np.cos(t) * np.arange(6.0)
    return Load(2.0 * np.sin(phase) - 0.5 * x.rate, wrench, 0.4 * np.cos(phase))


@pytest.mark.jit
@pytest.mark.parametrize("prescribed", [(), ("j2", "j4")])
def test_fixed_steps_have_order_4_with_all_kinds_of_joints(prescribed):
    tree = samples.tree(31, "RSCUP", [0, 1, 1, 0, 4])
    x = samples.state(1, tree)
    x = TreeState(x.dq_IB, 0.3 * x.twist_B, x.gamma, 0.3 * x.rate)
    end = last(integrate.solve(tree, x, [0.0, 1.0], smooth, prescribed=prescribed).x)
    counts, errors = (40, 80, 160), []
    for n in counts:
        y = last(integrate.fly_steps(tree, x, n, 1.0 / n, smooth, every=n, prescribed=prescribed).x)
        errors.append(np.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(y, end, strict=True))))
    assert np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(-4.0, abs=0.05)


@pytest.mark.jit
def test_unit_coordinates_stay_unit_and_energy_stays_over_fixed_steps():
    tree = samples.tree(32, "SRS", [0, 1, 1])
    x = samples.state(2, tree)
    y = last(integrate.fly_steps(tree, x, 400, 0.01, every=400).x)
    assert np.linalg.norm(y.dq_IB[:4]) == pytest.approx(1.0, abs=4e-16)
    assert y.dq_IB[:4] @ y.dq_IB[4:] == pytest.approx(0.0, abs=1e-14)
    assert np.linalg.norm(y.gamma[tree.gamma_slice("j3")]) == pytest.approx(1.0, abs=4e-16)
    energy = kinematics.kinetic_energy(tree, x)
    assert kinematics.kinetic_energy(tree, y) == pytest.approx(energy, rel=1e-5)


@pytest.mark.jit
def test_a_prescribed_joint_follows_its_acceleration():
    tree = samples.tree(33, "RS", [0, 1])
    x = tree.state(twist_B=np.array([0.1, 0.2, -0.1, 0, 0, 0]))

    def turning(t, y):
        return Load(rate_dot=tree.efforts({"j1": 0.3 * np.cos(t)}))

    y = last(integrate.solve(tree, x, [0.0, 2.0], turning, prescribed=["j1"]).x)
    assert y.gamma[0] == pytest.approx(0.3 * (1.0 - np.cos(2.0)), abs=1e-13)
    assert y.rate[0] == pytest.approx(0.3 * np.sin(2.0), abs=1e-13)


@pytest.mark.jit
def test_a_spherical_joint_between_balls_turns_them_independently():
    """Two balls joined at their centres: each keeps its own rate, so the joint's quaternion is known in closed form."""
    tree = samples.two_balls()
    w_1, w_2 = np.array([0.3, -0.2, 0.5]), np.array([-0.4, 0.6, 0.1])
    x = tree.state(twist_B=np.array([*w_1, 0, 0, 0]))._replace(rate=w_2 - w_1)
    y = last(integrate.solve(tree, x, [0.0, 3.0]).x)
    q_1, q_2 = quaternion.exp(3.0 * w_1), quaternion.exp(3.0 * w_2)
    np.testing.assert_allclose(y.dq_IB[:4], q_1, atol=1e-12)
    np.testing.assert_allclose(y.gamma, quaternion.mul(quaternion.conj(q_1), q_2), atol=1e-12)


@pytest.mark.jit
def test_a_trial_flies_the_same_alone_and_in_a_batch():
    tree = samples.tree(34, "RSC", [0, 1, 1])
    x = samples.state(3, tree, (5,))
    batch = integrate.fly_steps(tree, x, 10, 0.02, every=5).x
    alone = integrate.fly_steps(tree, TreeState(*(a[3] for a in x)), 10, 0.02, every=5).x
    for a, b in zip(batch, alone, strict=True):
        np.testing.assert_array_equal(a[:, 3], b)


@pytest.mark.jit
def test_readings_at_times_do_not_depend_on_which_times_are_read(reference):
    once = integrate.solve(SATELLITE, SATELLITE.state(), [0.0, 70.0], torques, examples.SWITCHES_S).x
    np.testing.assert_array_equal(once.gamma[-1], reference.x.gamma[-1])


def test_one_step_runs_on_plain_python_too():
    """Against SciPy's solver with loose tolerances: cheap enough for the run without compiled kernels."""
    x = SATELLITE.state()
    held = Load(np.array([0.5, -0.2, 0.1]))
    found = integrate.step(SATELLITE, x, 0.1, lambda t, y: held)
    wanted = integrate.solve(SATELLITE, x, [0.0, 0.1], lambda t, y: held, method="RK45", rtol=1e-6, atol=1e-9).x
    for a, b in zip(found, last(wanted), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)
