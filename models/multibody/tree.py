"""A spacecraft as a rooted tree: bodies are the vertices, joints the edges, the base is the root. Source: DQMB 3.1."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.errors import InputError
from gnc.models.multibody import topology
from gnc.models.multibody.parts import IDENTITY, Body, Frame, Joint, TreeState
from gnc.models.parameters import store

Array = Any


class Link(NamedTuple):
    """One joint with its child, as the recursions walk them: parents come before children, the base is link 0."""

    kind: str
    parent: int  # the link inboard of it
    joint: int  # its place among the joints of the tree
    body: int
    gamma: tuple[int, int]  # its part of the coordinates
    rate: tuple[int, int]  # its part of the velocities


@dataclass(frozen=True, eq=False)
class Tree:
    """Bodies and the joints between them; the root is the body that is nobody's child.

    Arrays over bodies and joints follow the order given here. Parameters may have leading axes, one for each trial.
    """

    bodies: Sequence[Body]
    joints: Sequence[Joint]
    frames: Sequence[Frame] = ()

    def __post_init__(self) -> None:
        """Validate once: names, one root, no cycle, and mass at the end of every branch."""
        store(self, bodies=tuple(self.bodies), joints=tuple(self.joints), frames=tuple(self.frames))
        topology.validate(self)

    @functools.cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(body.name for body in self.bodies)

    @functools.cached_property
    def root(self) -> int:
        """Index of the base."""
        children = {joint.child for joint in self.joints}
        return next(i for i, name in enumerate(self.body_names) if name not in children)

    @functools.cached_property
    def links(self) -> tuple[Link, ...]:
        """The joints from the root outwards, depth first; link i + 1 is `links[i]`."""
        starts_gamma = np.cumsum([0, *(len(joint.type.zero) for joint in self.joints)]).tolist()
        starts_rate = np.cumsum([0, *(len(joint.type.free) for joint in self.joints)]).tolist()
        links: list[Link] = []
        waiting = [(self.root, 0)]
        while waiting:
            body, number = waiting.pop()
            if body != self.root:
                j = self._inboard[body]
                ends = tuple(starts_gamma[j : j + 2]), tuple(starts_rate[j : j + 2])
                links.append(Link(self.joints[j].kind, number, j, body, *ends))
                number = len(links)
            outboard = [joint.child for joint in self.joints if joint.parent == self.body_names[body]]
            waiting += [(self.body_names.index(child), number) for child in reversed(outboard)]
        return tuple(links)

    @functools.cached_property
    def _inboard(self) -> dict[int, int]:
        """Body -> the joint it hangs on."""
        return {self.body_names.index(joint.child): j for j, joint in enumerate(self.joints)}

    @property
    def coordinates(self) -> int:
        """Numbers in gamma, G."""
        return sum(len(joint.type.zero) for joint in self.joints)

    @functools.cached_property
    def freedoms(self) -> int:
        """Numbers in rate, D."""
        return sum(len(joint.type.free) for joint in self.joints)

    @functools.cached_property
    def incidence(self) -> Array:
        """C (J, B): 1 where a body is distal to a joint, -1 where it is proximal. Source: DQMB eq. (34)."""
        C = np.zeros((len(self.joints), len(self.bodies)))
        for row, joint in zip(C, self.joints, strict=True):
            row[self.body_names.index(joint.child)] = 1.0
            row[self.body_names.index(joint.parent)] = -1.0
        return C

    @functools.cached_property
    def terminations(self) -> Array:
        """T (B): 1 where a body ends a branch. Source: DQMB eq. (35)."""
        return (~(self.incidence < 0.0).any(axis=0)).astype(float)

    # What the recursions need, in link frames: the base's own, and for a child the distal frame of its joint.

    @functools.cached_property
    def link_bodies(self) -> tuple[int, ...]:
        """Bodies in the order of the links, the base first."""
        return (self.root, *(link.body for link in self.links))

    @functools.cached_property
    def body_to_link(self) -> Array:
        """dq_LB (..., B, 8): the pose of every body frame in its link frame, in the order of the bodies."""
        inboard = [self._inboard.get(i) for i in range(len(self.bodies))]
        return stack([dual_quaternion.conj(IDENTITY if j is None else self.joints[j].dq_CJ) for j in inboard])

    @functools.cached_property
    def offsets(self) -> Array:
        """Pose of every link's proximal joint frame in the link frame of its parent (..., J, 8), by link."""
        names = self.body_names
        poses = []
        for link in self.links:
            joint = self.joints[link.joint]
            dq_LP = self.body_to_link[..., names.index(joint.parent), :]
            poses.append(dual_quaternion.mul(dq_LP, joint.dq_PJ))
        return stack(poses) if poses else np.zeros((0, 8))

    @functools.cached_property
    def inertias(self) -> Array:
        """Inertia of every link in its frame (..., B, 10), by link: m, m r_g, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz."""
        rows = []
        for i in self.link_bodies:
            body = self.bodies[i]
            M_B = spatial.inertia(body.mass, body.r_g, body.J_com)
            M = spatial.transform_inertia(self.body_to_link[..., i, :], M_B)
            mr = np.stack([M[..., 2, 4], M[..., 0, 5], M[..., 1, 3]], -1)
            J = [M[..., a, b] for a, b in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
            rows.append(np.concatenate([M[..., 3, 3][..., None], mr, np.stack(J, -1)], -1))
        return stack(rows)

    # Springs and dampers, in the order of the velocities.

    @functools.cached_property
    def stiffness(self) -> Array:
        """(..., D)."""
        return joined([joint.stiffness for joint in self.joints])

    @functools.cached_property
    def damping(self) -> Array:
        """(..., D)."""
        return joined([joint.damping for joint in self.joints])

    @functools.cached_property
    def elastic(self) -> bool:
        """Whether any joint has a spring, a damper or stops."""
        stops = any(np.any(joint.stop) for joint in self.joints)
        return bool(np.any(self.stiffness) or np.any(self.damping) or stops)

    # Assembling arrays by name.

    def body(self, name: str) -> int:
        """Return the index of a body."""
        return _index("body", name, self.body_names)

    def frame(self, name: str) -> Frame:
        """Return a frame."""
        return self.frames[_index("frame", name, [frame.name for frame in self.frames])]

    def joint(self, name: str) -> int:
        """Return the index of a joint."""
        return _index("joint", name, [joint.name for joint in self.joints])

    def rate_slice(self, name: str) -> slice:
        """Return which velocities, efforts and accelerations are a joint's."""
        first = sum(len(joint.type.free) for joint in self.joints[: self.joint(name)])
        return slice(first, first + len(self.joints[self.joint(name)].type.free))

    def gamma_slice(self, name: str) -> slice:
        """Return which coordinates are a joint's."""
        first = sum(len(joint.type.zero) for joint in self.joints[: self.joint(name)])
        return slice(first, first + len(self.joints[self.joint(name)].type.zero))

    def efforts(self, values: Mapping[str, Array]) -> Array:
        """Assemble (..., D) from joint names; the others are zero."""
        lead = np.broadcast_shapes(*(np.shape(np.atleast_1d(v))[:-1] for v in values.values()))
        total = np.zeros((*lead, self.freedoms))
        for name, value in values.items():
            total[..., self.rate_slice(name)] = value
        return total

    def wrenches(self, values: Mapping[str, Array]) -> Array:
        """Assemble body wrenches (..., B, 6) from wrenches at bodies or frames, each at its origin in its axes.

        The wrench of a frame is moved to its body by the shifting law. Source: DQMB eqs. (19), (55).
        """
        frames = {frame.name: frame for frame in self.frames}
        lead = np.broadcast_shapes(*(np.shape(v)[:-1] for v in values.values()))
        total = np.zeros((*lead, len(self.bodies), 6))
        for name, value in values.items():
            if name in frames:
                i = self.body(frames[name].body)
                total[..., i, :] += dual_quaternion.transform_wrench(frames[name].dq_BF, value)
            else:
                total[..., self.body(name), :] += value
        return total

    def state(self, dq_IB: Array = IDENTITY, twist_B: Array | None = None) -> TreeState:
        """Return the state with all joints at zero and at rest."""
        zero = np.array([x for joint in self.joints for x in joint.type.zero])
        lead = np.shape(dq_IB)[:-1]
        twist = np.zeros((*lead, 6)) if twist_B is None else np.asarray(twist_B, float)
        return TreeState(np.asarray(dq_IB, float), twist, np.tile(zero, (*lead, 1)), np.zeros((*lead, self.freedoms)))


def stack(arrays: Iterable[Array]) -> Array:
    """Stack vectors as rows, their leading axes broadcast; inside a kernel too."""
    rows = [np.asarray(a) for a in arrays]
    lead = np.broadcast_shapes(*(a.shape[:-1] for a in rows))
    return np.stack([np.broadcast_to(a, lead + a.shape[-1:]) for a in rows], -2)


def joined(arrays: Sequence[Array]) -> Array:
    """Put vectors one after the other, their leading axes broadcast."""
    lead = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    return np.concatenate([np.broadcast_to(a, lead + a.shape[-1:]) for a in arrays] or [np.zeros(0)], -1)


def _index(what: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise InputError(f"{what}: {name!r} is not in the tree; there are {', '.join(names) or 'none'}")
    return list(names).index(name)
