"""Satellites of the paper, ready to fly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.models.multibody.parts import Body, Frame, Joint
from gnc.models.multibody.tree import Tree

Array = Any

SWITCHES_S = (2.0, 5.0, 10.0, 12.0, 20.0, 22.0)  # when the torques of eq. (78) start and end


def _at(x: float, y: float, z: float, about_x: float = 0.0) -> Array:
    """Return the pose of a frame at a point, turned about x."""
    q = quaternion.from_axis_angle(np.array([1.0, 0.0, 0.0]), about_x)
    return dual_quaternion.from_pose(q, np.array([x, y, z]))


def four_body_satellite() -> Tree:
    """Return a base with an arm of three links on revolute joints, and its end-effector frame.

    The first joint turns about the arm's root axis; the frame of the second is turned by +90 deg about x from body 2,
    so that its axis is -y of body 2; the third is parallel to it. Source: DQMB section 4, which leaves the orientation
    of frames to a thesis; these are the ones of the project's reference run.
    """
    bodies = (
        Body("base", 10.0, np.diag([50.0, 50.0, 50.0])),
        Body("link 2", 5.0, np.diag([2.0, 2.0, 1.0])),
        Body("link 3", 5.0, np.diag([1.0, 2.0, 2.0])),
        Body("link 4", 5.0, np.diag([1.0, 2.0, 2.0])),
    )
    joints = (
        Joint("joint 1", "R", "base", "link 2", _at(0.0, 0.0, 2.0), _at(0.0, 0.0, -1.5)),
        Joint("joint 2", "R", "link 2", "link 3", _at(0.0, 0.0, 1.5, math.pi / 2), _at(-1.5, 0.0, 0.0)),
        Joint("joint 3", "R", "link 3", "link 4", _at(1.5, 0.0, 0.0), _at(-1.5, 0.0, 0.0)),
    )
    return Tree(bodies, joints, (Frame("end effector", "link 4", _at(1.5, 0.0, 0.0)),))


def arm_torques(t: float) -> Array:
    """Return the joint torques [N m] of the paper's run, each in its own interval. Source: DQMB eq. (78)."""
    torques = np.zeros(3)
    for i in range(3):
        start, end = SWITCHES_S[2 * i], SWITCHES_S[2 * i + 1]
        if start < t < end:
            torques[i] = 0.5 * math.sin(t - start)
    return torques
