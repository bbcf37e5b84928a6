"""Clearance of boxes, against the distance by a quadratic program; keep-out zones by hand."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from gnc import dual_quaternion, quaternion
from gnc.models.happenings.clearance import gap, intrusion


def pose(rng, spread):
    return dual_quaternion.from_pose(quaternion.normalize(rng.normal(size=4)), spread * rng.normal(size=3))


def distance(dq_A, half_A, centre_A, dq_B, half_B, centre_B):
    """Return the least distance of two points, each in its box: bounded least squares."""
    R_A, R_B = (quaternion.to_matrix(dq[:4]) for dq in (dq_A, dq_B))
    between = dual_quaternion.transform_point(dq_B, centre_B) - dual_quaternion.transform_point(dq_A, centre_A)
    bounds = np.concatenate([half_A, half_B])
    found = lsq_linear(np.hstack([R_A, -R_B]), between, (-bounds, bounds), tol=1e-14)
    return np.sqrt(2.0 * found.cost)


def test_boxes_touch_where_they_do_and_are_never_said_to_be_farther_apart_than_they_are():
    rng = np.random.default_rng(2)
    touching = 0
    for _ in range(200):
        boxes = [(pose(rng, 0.7), rng.uniform(0.1, 0.8, 3), 0.2 * rng.normal(size=3)) for _ in range(2)]
        found, true = gap(*boxes[0], *boxes[1]), distance(*boxes[0], *boxes[1])
        assert (found > 0.0) == (true > 1e-6)
        assert found <= true + 1e-6
        touching += true < 1e-6
    assert 40 < touching < 160


@pytest.mark.parametrize("x", [1.3, 1.0, 0.7])
def test_faces_that_look_at_each_other_are_apart_by_what_is_between_them(x):
    here, there = (dual_quaternion.from_pose(np.eye(4)[0], np.array([r, 0.1, 0.0])) for r in (0.0, x))
    half, none = np.array([0.5, 0.4, 0.3]), np.zeros(3)
    assert gap(here, half, none, there, half, none) == pytest.approx(x - 1.0, abs=1e-12)


def test_the_zone_is_entered_unless_through_the_corridor():
    """Zone of 3 m about the target's centre, 1 m behind its port; cone of 45 deg, 0.1 m wide at the port."""
    one, centre = np.eye(8)[0], np.array([-1.0, 0.0, 0.0])
    zone = 3.0, 1.0, 0.1
    for place, deep in (
        ([5.0, 0, 0], 0.0),
        ([1.0, 0.5, 0], 0.0),
        ([0.2, 1.0, 0], 3.0 - np.hypot(1.2, 1.0)),
        ([-2, 0, 0], 2.0),
    ):
        dq = dual_quaternion.from_pose(np.eye(4)[0], np.array(place, float))
        assert intrusion(np.array(place, float), centre, dq, one, one, one, *zone) == pytest.approx(deep, abs=1e-12)
