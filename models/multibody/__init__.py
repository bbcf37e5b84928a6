"""Spacecraft of several bodies: a rooted tree of joints R, P, S, C, U on a free base (DQMB), solved in O(B).

    tree = Tree(bodies, joints, frames)                      # or urdf.load(path), or one of `examples`
    x = tree.state()                                         # TreeState: dq_IB, twist_B, gamma, rate; any leading axes
    a = accelerations(tree, x, effort, wrench)               # twist_dot, rate_dot, every joint wrench, efforts
    a = accelerations(tree, x, prescribed=["elbow"])         # a locked joint and the effort that holds it
    flight = integrate.fly_steps(tree, x, 1000, 0.01, lambda t, x: Load(effort=...))
    kinematics.centre_of_mass(tree, x), kinematics.generalized_jacobian(tree, x, "end effector")

The wrench of a joint is [torque, force] on its child, at the joint, in the axes of its distal frame; wrenches on bodies
and frames are at their origins in their axes. `saddle` is the paper's dense system, the reference of the recursion.
`VariationalTree` is the integrator that keeps momentum and joints to round-off.
"""

from gnc.models.multibody.articulated import Accelerations, accelerations
from gnc.models.multibody.integrate import Load
from gnc.models.multibody.parts import Body, Frame, Joint, TreeState
from gnc.models.multibody.tree import Tree
from gnc.models.multibody.variational import VariationalTree

__all__ = ["Accelerations", "Body", "Frame", "Joint", "Load", "Tree", "TreeState", "VariationalTree", "accelerations"]
