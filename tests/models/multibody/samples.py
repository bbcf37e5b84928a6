"""Random trees and states, the same for the same seed."""

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.models.multibody.parts import Body, Frame, Joint, TreeState
from gnc.models.multibody.tree import Tree


def pose(rng, lead=()):
    return dual_quaternion.from_pose(quaternion.normalize(rng.normal(size=(*lead, 4))), rng.normal(size=(*lead, 3)))


def body(rng, name):
    """A body of a random cloud of points, so that its inertia is physical."""
    points = rng.normal(size=(6, 3)) * rng.uniform(0.3, 1.0, 3)
    points -= points.mean(axis=0)
    J = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)
    return Body(name, rng.uniform(0.5, 3.0), J, 0.4 * rng.normal(size=3))


def tree(seed, kinds, parents=None):
    """A tree with a joint for each letter of `kinds`; body i + 1 hangs on body parents[i], on any earlier if None."""
    rng = np.random.default_rng(seed)
    parents = parents or [int(rng.integers(i + 1)) for i in range(len(kinds))]
    bodies = [body(rng, f"b{i}") for i in range(len(kinds) + 1)]
    joints = [
        Joint(f"j{i + 1}", kind, f"b{parent}", f"b{i + 1}", pose(rng), pose(rng))
        for i, (kind, parent) in enumerate(zip(kinds, parents, strict=True))
    ]
    return Tree(bodies, joints, [Frame("tip", f"b{len(kinds)}", pose(rng)), Frame("side", "b0", pose(rng))])


def state(seed, tree, lead=()):
    rng = np.random.default_rng(seed)
    gamma = [joint.type.normalize(rng.normal(size=(*lead, len(joint.type.zero)))) for joint in tree.joints]
    return TreeState(
        pose(rng, lead), rng.normal(size=(*lead, 6)), np.concatenate(gamma, -1), rng.normal(size=(*lead, tree.freedoms))
    )


def loads(seed, tree, lead=()):
    """Efforts of the joints and wrenches on the bodies."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*lead, tree.freedoms)), rng.normal(size=(*lead, len(tree.bodies), 6))


def welded(tree, x):
    """The tree of a base, a spherical joint and a body b1 that carries b2 rigidly at joint j2's present angle."""
    dq = _b2_in_b1(tree, x)
    M1, M2 = (spatial.inertia(b.mass, b.r_g, b.J_com) for b in tree.bodies[1:])
    m, r_g, J = spatial.parts(M1 + spatial.transform_inertia(dq, M2))
    return Tree([tree.bodies[0], Body("b1", m, J, r_g)], [tree.joints[0]]), x.gamma[:4]


def moved(tree, x, wrench):
    """The wrenches on b1 and b2 as one on b1."""
    return wrench[1] + dual_quaternion.transform_wrench(_b2_in_b1(tree, x), wrench[2])


def _b2_in_b1(tree, x):
    joint = tree.joints[1]
    turn = joint.type.pose(x.gamma[tree.gamma_slice(joint.name)])
    return dual_quaternion.mul(dual_quaternion.mul(joint.dq_PJ, turn), dual_quaternion.conj(joint.dq_CJ))


def together(trees):
    """One tree whose parameters have a leading axis over the given ones, all of the same shape."""
    bodies = [
        Body(parts[0].name, *(np.stack([getattr(p, k) for p in parts]) for k in ("mass", "J_com", "r_g")))
        for parts in zip(*(tree.bodies for tree in trees), strict=True)
    ]
    joints = [
        Joint(
            p[0].name,
            p[0].kind,
            p[0].parent,
            p[0].child,
            np.stack([j.dq_PJ for j in p]),
            np.stack([j.dq_CJ for j in p]),
        )
        for p in zip(*(tree.joints for tree in trees), strict=True)
    ]
    return Tree(bodies, joints)


def split_cylinder(tree):
    """The tree of one C joint with R, a massless body and P instead."""
    joint = tree.joints[0]
    turn = Joint("turn", "R", "b0", "between", joint.dq_PJ)
    slide = Joint("slide", "P", "between", "b1", dq_CJ=joint.dq_CJ)
    return Tree([tree.bodies[0], Body("between", 0.0), tree.bodies[1]], [turn, slide])


def two_balls():
    """Two balls with one centre and a spherical joint there."""
    return Tree([Body("b0", 2.0, 3.0 * np.eye(3)), Body("b1", 1.0, 2.0 * np.eye(3))], [Joint("j1", "S", "b0", "b1")])
