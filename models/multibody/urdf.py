"""Trees from URDF files, on a free base.

Revolute and continuous joints become R, prismatic ones P; bodies on fixed joints are merged with their parents, and
every link remains as a frame of its own name. A world without mass that carries the robot on a floating joint is left
out. Limits, friction, damping, geometry and colours are not dynamics of the tree and are passed over. Reading is done
by `urdf_parser_py`, which comes with the extra `urdf`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError as XmlError

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.errors import InputError
from gnc.files import read_text
from gnc.models.multibody.parts import IDENTITY, Body, Frame, Joint
from gnc.models.multibody.tree import Tree

Array = Any

LARGEST_FILE = 2**24  # bytes
KINDS = {"revolute": "R", "continuous": "R", "prismatic": "P"}
Z, X = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])


def load(path: str | Path) -> Tree:
    """Read a tree from a URDF file."""
    return parse(read_text(Path(path), LARGEST_FILE, "a URDF file"), str(path))


def parse(text: str, name: str = "URDF") -> Tree:
    """Read a tree from the text of a URDF file; errors begin with the name."""
    robot = _robot(text, name)
    links = {link.name: link for link in robot.links}
    joints = _without_world(robot, links, name)
    for joint in joints:
        _check(joint, links, name)
    owners = {link: _owner(link, joints, name) for link in links}
    bodies = [_body(owner, owners, links, name) for owner in links if owners[owner][0] == owner]
    moving = [_joint(joint, owners) for joint in joints if joint.type != "fixed"]
    frames = [Frame(link, owner, dq) for link, (owner, dq) in owners.items()]
    return Tree(bodies, moving, frames)


def _robot(text: str, name: str) -> Any:
    try:
        from urdf_parser_py.urdf import URDF
        from urdf_parser_py.xml_reflection.core import ParseError
    except ImportError:
        raise InputError("urdf: reading URDF needs urdf_parser_py: pip install urdf_parser_py") from None
    try:
        return URDF.from_xml_string(text)
    except (XmlError, ParseError, ValueError, TypeError) as error:
        raise InputError(f"{name}: {' '.join(str(error).split())}; give a URDF file") from None


def _without_world(robot: Any, links: dict[str, Any], name: str) -> list[Any]:
    """Return the joints; drop a root without mass that only carries the robot on a floating joint."""
    floating = [joint for joint in robot.joints if joint.type == "floating"]
    for joint in floating:
        world = links.get(joint.parent)
        touching = [other for other in robot.joints if joint.parent in (other.parent, other.child)]
        if world is None or world.inertial is not None or len(touching) > 1:
            raise InputError(f"{name}: joint {joint.name}: floating; only a massless world may carry a base on it")
        del links[joint.parent]
    return [joint for joint in robot.joints if joint.type != "floating"]


def _check(joint: Any, links: dict[str, Any], name: str) -> None:
    for end in (joint.parent, joint.child):
        if end not in links:
            raise InputError(f"{name}: joint {joint.name}: there is no link {end!r}")
    if joint.type not in KINDS and joint.type != "fixed":
        known = ", ".join(["fixed", *KINDS])
        raise InputError(f"{name}: joint {joint.name}: type {joint.type!r} is not supported; these are: {known}")
    if joint.mimic is not None:
        raise InputError(f"{name}: joint {joint.name}: mimics {joint.mimic.joint}; closed mechanisms are not trees")


def _owner(link: str, joints: list[Any], name: str) -> tuple[str, Array]:
    """Return the link that carries this one rigidly, and this one's pose in it."""
    fixed = {joint.child: joint for joint in joints if joint.type == "fixed"}
    start, dq = link, np.array(IDENTITY)
    for _ in joints:
        if link not in fixed:
            return link, dq
        dq = dual_quaternion.mul(_pose(fixed[link].origin), dq)
        link = fixed[link].parent
    if link in fixed:
        raise InputError(f"{name}: link {start}: its fixed joints close a cycle; a tree has none")
    return link, dq


def _body(owner: str, owners: dict[str, Any], links: dict[str, Any], name: str) -> Body:
    """Return a link with all that is fixed to it as one body."""
    M = np.zeros((6, 6))
    for link, (carrier, dq) in owners.items():
        inertial = links[link].inertial
        if carrier == owner and inertial is not None:
            M = M + spatial.transform_inertia(dq, _inertia(inertial, f"{name}: link {link}"))
    if M[3, 3] == 0.0:
        return Body(owner, 0.0)
    mass, r_g, J_com = spatial.parts(M)
    return Body(owner, mass, J_com, r_g)


def _inertia(inertial: Any, name: str) -> Array:
    """Return the 6x6 inertia of a link in its frame, checked as a body of its own."""
    body = Body(name, inertial.mass, np.array(inertial.inertia.to_matrix()))
    return spatial.transform_inertia(_pose(inertial.origin), spatial.inertia(body.mass, body.r_g, body.J_com))


def _joint(joint: Any, owners: dict[str, Any]) -> Joint:
    """Return a moving joint, its axis turned to z on both sides."""
    parent, dq_PL = owners[joint.parent]
    axis = X if joint.axis is None else np.asarray(joint.axis, float)
    turn = dual_quaternion.from_pose(quaternion.from_two_vectors(Z, axis), np.zeros(3))
    dq_PJ = dual_quaternion.mul(dual_quaternion.mul(dq_PL, _pose(joint.origin)), turn)
    return Joint(joint.name, KINDS[joint.type], parent, joint.child, dual_quaternion.normalize(dq_PJ), turn)


def _pose(origin: Any) -> Array:
    """Return the pose of an <origin>: xyz, and roll, pitch, yaw about fixed axes."""
    if origin is None:
        return np.array(IDENTITY)
    xyz = np.zeros(3) if origin.xyz is None else np.asarray(origin.xyz, float)
    rpy = np.zeros(3) if origin.rpy is None else np.asarray(origin.rpy, float)
    return dual_quaternion.from_pose(quaternion.from_euler321(rpy[::-1]), xyz)
