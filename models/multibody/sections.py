"""A tree as a mission's file tells it: a base, bodies that hang on joints, places on them; or a URDF file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from pydantic import model_validator

from gnc import dual_quaternion, spatial
from gnc.config import Edges, Inertia, NonNegative, Positive, Quaternion, Section, Vector3
from gnc.draws import Draws, column
from gnc.errors import InputError
from gnc.models.multibody.parts import Body, Frame, Joint
from gnc.models.multibody.tree import Tree

Array = Any
BASE, FIXED = "base", "fixed"
ROUNDING = 1e-13  # of the inertia about the origin, which is what a point mass has left about its centre
ALIGNED = np.array([1.0, 0.0, 0.0, 0.0])
KINDS = {"revolute": "R", "prismatic": "P", "spherical": "S", "cylindrical": "C", "cartesian": "U", "universal": "R"}
ONTO_X, ONTO_Y = (np.array([1.0, *axis]) / np.sqrt(2.0) for axis in ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0)))  # of z
POINT = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


class HungBody(Section):
    """A body and the joint it hangs on; the joint goes by the name of the body."""

    mass_kg: Positive
    J_kgm2: Inertia | Literal["point"] = "point"
    """About its centre of mass, its axes; "point" has none, as a slosh mass on a prismatic, cartesian or universal
    joint."""
    centre_m: Vector3 = (0.0, 0.0, 0.0)
    """Centre of mass from its origin."""
    size_m: Edges = (0.2, 0.2, 0.2)
    """Edges of the box that is drawn about the centre of mass."""
    on: str = BASE
    """The body it hangs on."""
    joint: Literal["revolute", "prismatic", "spherical", "cylindrical", "cartesian", "universal", "fixed"] = "revolute"
    """Revolute and prismatic ones move about and along their z axis; universal ones turn about x, by the joint
    `BODY_cross`, then about y; fixed makes one body of the two."""
    joint_m: Vector3 = (0.0, 0.0, 0.0)
    """The joint from the origin of the body it hangs on."""
    joint_q: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """Axes of the joint: takes its components to those of the body it hangs on."""
    origin_m: Vector3 = (0.0, 0.0, 0.0)
    """The body's origin from the joint, joint axes, while the joint is at zero."""
    stiffness: NonNegative = 0.0
    """Of a spring in the joint, which is at rest at zero [N m/rad, N/m]."""
    damping: NonNegative = 0.0
    """Of a damper in the joint [N m s/rad, N s/m]."""
    limits: tuple[float, float] | None = None
    """Of each of its coordinates, degrees or metres; for neither spherical nor cylindrical joints."""
    stop_stiffness: Positive = 1e3
    """Of the elastic stops at the limits [N m/rad, N/m]."""

    @property
    def J(self) -> Array:
        """The inertia, none of a point mass."""
        return np.asarray(POINT if self.J_kgm2 == "point" else self.J_kgm2)

    @model_validator(mode="after")
    def _can_be_stopped(self) -> Self:
        if self.limits is not None and self.joint in ("spherical", "cylindrical", FIXED):
            raise InputError(f"limits: a {self.joint} joint has none; leave them out")
        if self.limits is not None and not self.limits[0] < self.limits[1]:
            raise InputError(f"limits = {list(self.limits)}: give the lower one first")
        return self


class Spot(Section):
    """A place on a body: a tip, a port."""

    on: str = BASE
    at_m: Vector3 = (0.0, 0.0, 0.0)
    """From the body's origin."""


def shift(place: Any, q: Any = ALIGNED) -> Array:
    """Return the pose of a frame at a place."""
    return dual_quaternion.from_pose(np.asarray(q, float), np.asarray(place, float))


def tree(
    base: Body, bodies: Mapping[str, HungBody], spots: Mapping[str, Spot], scales: Mapping[str, Array] | None = None
) -> Tree:
    """Return the tree; `scales` multiply the mass and inertia of bodies by name, one per trial."""
    scales = scales or {}
    for name, body in bodies.items():
        if body.on not in {BASE, *bodies} or name == BASE:
            raise InputError(f"bodies.{name}.on = {body.on!r}: there is no such body; there are base, {list(bodies)}")
    inertia = {BASE: spatial.inertia(base.mass, base.r_g, base.J_com)}
    for name, body in bodies.items():
        scale = np.asarray(scales.get(name, 1.0))
        J = scale[..., None, None] * body.J
        inertia[name] = spatial.inertia(scale * body.mass_kg, np.array(body.centre_m), J)
    for name in reversed(list(bodies)):
        body = bodies[name]
        if body.joint == FIXED:
            dq = dual_quaternion.mul(shift(body.joint_m, body.joint_q), shift(body.origin_m))
            inertia[body.on] = spatial.combine(inertia[body.on], spatial.transform_inertia(dq, inertia[name]))
    moving = {name: body for name, body in bodies.items() if body.joint != FIXED}
    tree_bodies = [_body(BASE, inertia[BASE])]
    for name, body in moving.items():
        tree_bodies += [Body(f"{name}_cross", 0.0)] if body.joint == "universal" else []
        tree_bodies.append(_body(name, inertia[name]))
    joints = [joint for name, body in moving.items() for joint in _joints(name, body)]
    return Tree(tree_bodies, joints, [Frame(name, spot.on, shift(spot.at_m)) for name, spot in spots.items()])


def _body(name: str, M: Array) -> Body:
    mass, r_g, J = spatial.parts(M)
    point = np.abs(J).max() <= ROUNDING * np.abs(M).max()
    return Body(name, mass, np.zeros_like(J) if point else J, r_g)


def _joints(name: str, body: HungBody) -> list[Joint]:
    """Return the joint of a body; of a universal one two, about x and then about y."""
    at, back, kind = shift(body.joint_m, body.joint_q), shift(-np.array(body.origin_m)), KINDS[body.joint]
    properties = {"stiffness": column(body.stiffness), "damping": column(body.damping)}
    if body.limits is not None:
        scale = np.pi / 180.0 if kind == "R" else 1.0
        properties |= {"limits": tuple(scale * x for x in body.limits), "stop": column(body.stop_stiffness)}
    if body.joint != "universal":
        return [Joint(name, kind, body.on, name, at, back, **properties)]
    cross, (x, y) = f"{name}_cross", (shift((0.0, 0.0, 0.0), q) for q in (ONTO_X, ONTO_Y))
    first = Joint(cross, kind, body.on, cross, dual_quaternion.mul(at, x), x, **properties)
    return [first, Joint(name, kind, cross, name, y, dual_quaternion.mul(back, y), **properties)]


def scaled(nominal: Tree, J_base: Array | None, scales: Mapping[str, Array], spots: Mapping[str, Spot]) -> Tree:
    """Return a tree with another inertia of its base, all multiplied, one factor per trial and body, and more spots."""
    bodies = []
    for i, body in enumerate(nominal.bodies):
        scale, J = np.asarray(scales.get(body.name, 1.0)), body.J_com if i or J_base is None else J_base
        bodies.append(Body(body.name, scale * body.mass, scale[..., None, None] * J, body.r_g))
    frames = [Frame(name, spot.on, shift(spot.at_m)) for name, spot in spots.items()]
    return Tree(bodies, nominal.joints, [*nominal.frames, *frames])


def scales(draws: Draws, names: Any, percent: Any) -> dict[str, Array]:
    """Return the factor of each body's mass and inertia, one per trial."""
    return {name: 1.0 + 0.01 * np.asarray(percent) * draws.normal(f"{name} mass") for name in names}


def coordinates(of: Tree, values: Any, name: str) -> Array:
    """Return joint coordinates (...,G) from degrees of angles and metres of lengths."""
    zero = np.array([x for joint in of.joints for x in joint.type.zero])
    if not len(values):
        return zero
    if len(values) != len(zero):
        kinds = ", ".join(joint.name for joint in of.joints)
        raise InputError(f"{name}: {len(values)} numbers; give {len(zero)}, in the order of the joints {kinds}")
    return np.where(angular(of), np.radians(values), values)


def angular(of: Tree) -> Array:
    """Tell which coordinates are angles."""
    each = {"R": [True], "P": [False], "S": [False] * 4, "C": [True, False], "U": [False] * 3}
    return np.array([x for joint in of.joints for x in each[joint.kind]], bool)
