import numpy as np
import pytest

from gnc import dual_quaternion, spatial
from gnc.errors import InputError
from gnc.models.pose_body import PoseBody, PoseState, join, split

CARGO = PoseBody.of(20.0, [0.0, 0.0, 1.5], np.diag([3.0, 3.0, 2.0]))
CRAFT = PoseBody.of(100.0, [0.1, -0.2, -0.1], np.diag([22.0, 20.0, 23.0]))
WHOLE = PoseBody(CRAFT.M + CARGO.M)


def random_states(trials, seed):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(trials, 4))
    pose = dual_quaternion.from_pose(q / np.linalg.norm(q, axis=1)[:, None], rng.normal(size=(trials, 3)))
    return PoseState(pose, rng.normal(size=(trials, 6)))


def test_parting_conserves_energy_and_momentum_and_the_joint_centre_of_mass_flies_straight():
    rest, cargo = split(WHOLE, CARGO)
    x = random_states(8, 1)
    np.testing.assert_allclose(rest.M, CRAFT.M, atol=1e-12)
    np.testing.assert_allclose(rest.energy(x) + cargo.energy(x), WHOLE.energy(x), rtol=1e-12)
    np.testing.assert_allclose(rest.momentum(x) + cargo.momentum(x), WHOLE.momentum(x), atol=1e-12)
    a, b = rest.fly(x, 300, 0.01, every=300).x, cargo.fly(x, 300, 0.01, every=300).x
    centre = (100 * rest.centre_of_mass(a) + 20 * cargo.centre_of_mass(b)) / 120
    straight = WHOLE.centre_of_mass(x) + 3.0 * WHOLE.momentum(x)[:, 3:] / 120
    np.testing.assert_allclose(centre[-1], straight, atol=1e-11)


def test_a_part_that_was_never_inside_is_refused_unless_allowed():
    heavy = PoseBody.of(50.0, [0, 0, 0], np.diag([40.0, 40.0, 40.0]))
    with pytest.raises(InputError, match="what remains of M about the mass centre: not positive definite"):
        split(WHOLE, heavy)
    rest, _ = split(WHOLE, heavy, allow_unphysical=True)
    np.testing.assert_array_equal(rest.M, WHOLE.M - heavy.M)


def test_capture_conserves_momentum_and_loses_energy():
    x_1, x_2 = random_states(50, 2), random_states(50, 3)
    body, x = join(CRAFT, x_1, CARGO, x_2)
    before = CRAFT.momentum(x_1) + CARGO.momentum(x_2)
    np.testing.assert_allclose(body.momentum(x), before, rtol=1e-12, atol=1e-11)
    assert np.all(body.energy(x) < CRAFT.energy(x_1) + CARGO.energy(x_2))
    centre = (100 * CRAFT.centre_of_mass(x_1) + 20 * CARGO.centre_of_mass(x_2)) / 120
    np.testing.assert_allclose(body.centre_of_mass(x), centre, atol=1e-12)


def test_capture_after_parting_restores_the_whole():
    rest, cargo = split(WHOLE, CARGO)
    x = random_states(5, 4)
    body, y = join(rest, x, cargo, x)
    np.testing.assert_allclose(body.M, np.broadcast_to(WHOLE.M, body.M.shape), atol=1e-11)
    np.testing.assert_allclose(y.chi_B, x.chi_B, atol=1e-13)


def test_the_captured_bodys_reference_point_does_not_matter():
    x_1, x_2 = random_states(5, 5), random_states(5, 6)
    shift = np.array([0.3, -0.4, 0.5])
    moved = PoseBody(spatial.shift_inertia(CARGO.M, shift))
    dq = dual_quaternion.mul(x_2.dq_IB, dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), shift))
    y_2 = PoseState(dq, spatial.shift_twist(x_2.chi_B, shift))
    np.testing.assert_allclose(join(CRAFT, x_1, moved, y_2)[1].chi_B, join(CRAFT, x_1, CARGO, x_2)[1].chi_B, atol=1e-12)
