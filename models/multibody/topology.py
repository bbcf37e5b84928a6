"""What is not a rooted tree is refused at the door, in one line that names the culprit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.errors import InputError
from gnc.typing import Array

if TYPE_CHECKING:
    from gnc.models.multibody.parts import Joint
    from gnc.models.multibody.tree import Tree

ROUNDING = 1e-13


def validate(tree: Tree) -> None:
    """Check names, ends of joints, that there is one root and no cycle, and mass where it is needed."""
    _unique("body", tree.body_names)
    _unique("joint", [joint.name for joint in tree.joints])
    _unique("frame", [frame.name for frame in tree.frames])
    _ends(tree)
    _connected(tree)
    _massive(tree)


def _unique(what: str, names: Sequence[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{what} {name}: the name is used {count} times; names must differ")


def _ends(tree: Tree) -> None:
    """Refuse joints and frames on bodies that are not there."""
    names = tree.body_names
    if not names:
        raise InputError("bodies: none; a tree has at least its base")
    for joint in tree.joints:
        for end in (joint.parent, joint.child):
            if end not in names:
                raise InputError(f"joint {joint.name}: there is no body {end!r}")
        if joint.parent == joint.child:
            raise InputError(f"joint {joint.name}: body {joint.child!r} is joined to itself")
    for frame in tree.frames:
        if frame.body not in names:
            raise InputError(f"frame {frame.name}: there is no body {frame.body!r}")


def _connected(tree: Tree) -> None:
    """Refuse what is not one rooted tree."""
    names = tree.body_names
    children = Counter(joint.child for joint in tree.joints)
    for child, count in children.items():
        if count > 1:
            hung = ", ".join(joint.name for joint in tree.joints if joint.child == child)
            raise InputError(f"body {child}: hangs on {count} joints ({hung}), which closes a loop; a tree has one")
    loop = [name for name in names if _climbs_forever(tree, name)]
    if loop:
        raise InputError(f"bodies {', '.join(loop)}: the joints between them close a cycle; a tree has none")
    _one_root(tree, [name for name in names if name not in children])


def _climbs_forever(tree: Tree, name: str) -> bool:
    """Tell whether the way from a body towards the root never ends."""
    inboard = {joint.child: joint.parent for joint in tree.joints}
    for _ in tree.bodies:
        if name not in inboard:
            return False
        name = inboard[name]
    return True


def _one_root(tree: Tree, roots: Sequence[str]) -> None:
    """Tell an orphan, which no joint touches, from a second root with bodies of its own."""
    touched = {end for joint in tree.joints for end in (joint.parent, joint.child)}
    orphans = [name for name in roots if name not in touched] if len(tree.bodies) > 1 else []
    if orphans:
        raise InputError(f"body {orphans[0]}: an orphan, no joint leads to it; join it or leave it out")
    if len(roots) > 1:
        raise InputError(f"bodies {', '.join(roots)}: {len(roots)} roots; a tree has one, join the others to it")


def _massive(tree: Tree) -> None:
    for body, ends in zip(tree.bodies, tree.terminations, strict=True):
        if np.any(body.mass <= 0.0) and (ends or body is tree.bodies[tree.root]):
            what = "a massless leaf; the end of a branch" if ends else "a massless root; the base"
            raise InputError(f"body {body.name}: {what} needs mass and inertia")
    base = tree.bodies[tree.root]
    if not np.all(np.trace(np.asarray(base.J_com), axis1=-2, axis2=-1) > 0.0):
        raise InputError(f"body {base.name}: a base without inertia; only bodies on joints may be point masses")
    for joint in tree.joints:
        child = tree.bodies[tree.body_names.index(joint.child)]
        if tree.terminations[tree.body_names.index(joint.child)]:
            _movable(joint, spatial.inertia(child.mass, child.r_g, child.J_com))


def _movable(joint: Joint, M: Array) -> None:
    """Refuse a joint that turns a point mass about itself: any torque would turn it infinitely fast."""
    M = spatial.transform_inertia(dual_quaternion.conj(joint.dq_CJ), M)
    free = list(joint.type.free)
    felt = np.linalg.eigvalsh(M[..., free, :][..., free])
    if np.any(felt[..., 0] <= ROUNDING * felt[..., -1]):
        raise InputError(f"joint {joint.name}: turns the point mass {joint.child!r} about itself; give it inertia")
