"""Each kind of joint: its pose, its mapping matrices, and that one is the derivative of the other."""

import numpy as np
import pytest

from gnc import dual_quaternion, quaternion
from gnc.models.multibody.joints import KINDS

# Table 4 and 5 of the paper, 8 numbers, force first: rows that are removed from the unit matrix.
REMOVED = {"R": (1, 5, 8), "P": (1, 4, 5), "S": (1, 5, 6, 7, 8), "C": (1, 4, 5, 8), "U": (1, 2, 3, 4, 5)}
REMOVED_ACT = {"R": (1, 2, 3, 4, 5, 6, 7), "P": (1, 2, 3, 5, 6, 7, 8), "S": (1, 2, 3, 4, 5), "U": (1, 5, 6, 7, 8)}
OURS = [5, 6, 7, 1, 2, 3]  # the paper's (0, f, 0, tau) -> [torque, force]


def removed(rows):
    return np.delete(np.eye(8), np.array(rows) - 1, axis=0).T[OURS]


def random_gamma(kind, rng):
    return kind.normalize(rng.normal(size=len(kind.zero)))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_velocities_are_the_twist_of_the_distal_frame(kind):
    rng = np.random.default_rng(1)
    for _ in range(5):
        gamma, rate, e = random_gamma(kind, rng), rng.normal(size=len(kind.free)), 1e-6
        dot = kind.derivative(gamma, rate)
        slope = (kind.pose(gamma + e * dot) - kind.pose(gamma - e * dot)) / (2 * e)
        np.testing.assert_allclose(slope, dual_quaternion.derivative(kind.pose(gamma), kind.mapping @ rate), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_poses_are_unit_and_zero_coordinates_are_no_motion(kind):
    dq = kind.pose(random_gamma(kind, np.random.default_rng(2)))
    np.testing.assert_allclose(dual_quaternion.dot(dq, dq), [1.0, 0.0], atol=1e-15)
    np.testing.assert_array_equal(kind.pose(np.array(kind.zero)), [1, 0, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_freedoms_and_reactions_share_the_six_directions(kind):
    whole = np.hstack([kind.mapping, kind.reaction])
    np.testing.assert_array_equal(whole @ whole.T, np.eye(6))


@pytest.mark.parametrize("name", KINDS)
def test_reaction_matrices_span_those_of_table_4(name):
    ours, paper = KINDS[name].reaction, removed(REMOVED[name])
    np.testing.assert_array_equal(ours @ ours.T, paper @ paper.T)


@pytest.mark.parametrize("name", REMOVED_ACT)
def test_mapping_matrices_are_those_of_table_5(name):
    np.testing.assert_array_equal(KINDS[name].mapping, removed(REMOVED_ACT[name]))


def test_coordinates_turn_and_slide_as_named():
    q_z = quaternion.from_axis_angle(np.array([0.0, 0, 1]), 0.7)
    z = np.array([0.0, 0, 0.3])
    one, none = np.array([1.0, 0, 0, 0]), np.zeros(3)
    q = quaternion.from_euler321(np.array([0.3, -0.5, 0.9]))
    wanted = {
        "R": ([0.7], q_z, none),
        "P": ([0.3], one, z),
        "S": (q, q, none),
        "C": ([0.7, 0.3], q_z, z),
        "U": ([1.0, 2.0, 3.0], one, np.array([1.0, 2, 3])),
    }
    for name, (gamma, q_PJ, r_PJ) in wanted.items():
        np.testing.assert_allclose(KINDS[name].pose(np.array(gamma)), dual_quaternion.from_pose(q_PJ, r_PJ), atol=1e-15)


def test_the_quaternion_of_s_moves_the_papers_euler_angles_as_table_6_says():
    """Roll, pitch, yaw are a reading only; their rates are L w with the matrix of Table 6."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        gamma, w, e = random_gamma(KINDS["S"], rng), rng.normal(size=3), 1e-6
        dot = KINDS["S"].derivative(gamma, w)
        rates = (quaternion.to_euler321(gamma + e * dot) - quaternion.to_euler321(gamma - e * dot)) / (2 * e)
        _, theta, phi = quaternion.to_euler321(gamma)
        L = np.array(
            [
                [1.0, np.tan(theta) * np.sin(phi), np.cos(phi) * np.tan(theta)],
                [0.0, np.cos(phi), -np.sin(phi)],
                [0.0, np.sin(phi) / np.cos(theta), np.cos(phi) / np.cos(theta)],
            ]
        )
        np.testing.assert_allclose(rates[::-1], L @ w, rtol=1e-7, atol=1e-8)
