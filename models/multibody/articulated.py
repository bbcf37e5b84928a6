"""Accelerations and all joint wrenches of a tree in O(B), from the leaves to the root and back.

The walk over the links is one function. For a small tree it is traced into one kernel, for a larger one it becomes an
assembly of the kernels of its links. The wrench of a joint acts on its child, at the joint, in distal joint axes, and
is what the parent transmits altogether: reaction and actuation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion
from gnc.batch.layout import Core
from gnc.errors import InputError
from gnc.models.multibody import recursion, springs
from gnc.models.multibody.assembled import assembled
from gnc.models.multibody.joints import KINDS
from gnc.models.multibody.parts import TreeState
from gnc.models.multibody.tree import Link, Tree

Array = Any

TRACED = 8  # bodies up to which a tree becomes one kernel: larger ones would compile for seconds

_NOTHING = np.zeros((6, 6)), np.zeros(6)  # what hangs on a leaf


class Accelerations(NamedTuple):
    """What moves a tree, and what holds it together."""

    twist_dot: Array  # (..., 6) of the base: the derivative of its twist's components
    rate_dot: Array  # (..., D) of the joints
    wrench: Array  # (..., J, 6) [torque, force] on the child at the joint, distal axes
    effort: Array  # (..., D) its free components: the actuation, or what holds a prescribed joint


def accelerations(
    tree: Tree,
    x: TreeState,
    effort: Array = 0.0,
    wrench: Array = 0.0,
    prescribed: Collection[str] = (),
    rate_dot: Array = 0.0,
) -> Accelerations:
    """Return the accelerations of a tree and every joint wrench.

    `effort` (..., D) drives the joints, `wrench` (..., B, 6) acts on the bodies at their origins in their axes
    (`Tree.wrenches` assembles it). Joints named in `prescribed` follow `rate_dot` (..., D) instead of their effort, and
    are locked where rate and rate_dot are zero; the effort returned holds them. Source: DQMB eqs. (50) to (60).

    Erratum: DQMB eqs. (65) to (76) remove the acceleration of the distal body from the unknowns as if it were known,
    which is wrong on a free base (test_erratum_dqmb_eqs_65_to_76_lose_the_inertia_of_the_distal_body).
    """
    drive = _given("effort", effort, (tree.freedoms,))
    if tree.elastic:
        drive = drive + springs.passive(tree, x)
    held = tuple([tree.joint(name) for name in prescribed])
    if held:
        mask = np.concatenate([np.full(len(j.type.free), i in held) for i, j in enumerate(tree.joints)])
        drive = np.where(mask, _given("rate_dot", rate_dot, (tree.freedoms,)), drive)
    walk = whole_tree(tree.links, held)
    return Accelerations(*walk(tree.offsets, tree.inertias, *x[1:], drive, _at_links(tree, wrench)))


def _given(name: str, value: Array, core: tuple[int, ...]) -> Array:
    """Return an array with the last axes asked for; one number counts for all."""
    if type(value) is float:
        return _everywhere(value, core)
    a = np.asarray(value, float)
    if a.ndim and a.shape[-len(core) :] != core:
        raise InputError(f"{name}: expected {('...', *core)}, got {a.shape}".replace("'...'", "..."))
    return a if a.ndim else np.broadcast_to(a, core)


@functools.lru_cache(64)
def _everywhere(value: float, core: tuple[int, ...]) -> Array:
    """Return a number in all places; kept, since asking NumPy takes longer than a small tree."""
    array = np.full(core, value)
    array.flags.writeable = False
    return array


def _at_links(tree: Tree, wrench: Array) -> Array:
    """Move body wrenches to the link frames, in the order of the links."""
    loads = _given("wrench", wrench, (len(tree.bodies), 6))
    if type(wrench) is float and wrench == 0.0:
        return loads
    order = list(tree.link_bodies)
    return dual_quaternion.transform_wrench(tree.body_to_link[..., order, :], loads[..., order, :])


def _walk(links: tuple[Link, ...], prescribed: tuple[bool, ...], *arrays: Array) -> tuple[Array, ...]:
    """Walk out, in and out again, on arrays of trials or inside a kernel."""
    offsets, inertias, twist_B, gamma, rate, drive, wrench = arrays
    inertia, load = ([a[..., i, :] for i in range(len(links) + 1)] for a in (inertias, wrench))
    force_B = recursion.base_force(twist_B, inertia[0], load[0])
    known = _outward(links, offsets, gamma, rate, twist_B, inertia, load)
    drives = [drive[..., slice(*link.rate)] for link in links]
    hanging = _inward(links, prescribed, inertia, known, drives)
    moving = [recursion.base_acceleration(inertia[0], hanging[0][0], force_B, hanging[0][1])]
    rate_dots, wrenches = [None] * len(links), [None] * len(links)
    for i, link in enumerate(links):
        forward = recursion.forward(link.kind, prescribed[i])
        I_hanging, p_hanging = hanging[i + 1]
        dq, bias, force = known[i]
        a, rate_dots[link.joint], wrenches[link.joint] = forward(
            inertia[i + 1], I_hanging, force, p_hanging, bias, dq, drives[i], moving[link.parent]
        )
        moving.append(a)
    return moving[0], *_collected(links, moving[0], rate_dots, wrenches)


def _outward(links: Any, offsets: Any, gamma: Any, rate: Any, twist_B: Any, inertia: Any, load: Any) -> list[Any]:
    """Return pose in the parent, bias acceleration and bias force of every link."""
    twists, known = [twist_B], []
    for i, link in enumerate(links):
        coordinates, velocities = gamma[..., slice(*link.gamma)], rate[..., slice(*link.rate)]
        dq, twist, bias, force = recursion.outward(link.kind)(
            offsets[..., i, :], coordinates, velocities, twists[link.parent], inertia[i + 1], load[i + 1]
        )
        twists.append(twist)
        known.append((dq, bias, force))
    return known


def _inward(links: Any, prescribed: Any, inertia: Any, known: Any, drives: Any) -> list[Any]:
    """Return articulated inertia and bias force of all that hangs on every link, the base first."""
    hanging: list[Any] = [_NOTHING] * (len(links) + 1)
    for i, link in reversed(list(enumerate(links))):
        inward = recursion.inward(link.kind, prescribed[i])
        I_hanging, p_hanging = hanging[i + 1]
        dq, bias, force = known[i]
        I_more, p_more = inward(inertia[i + 1], I_hanging, force, p_hanging, bias, dq, drives[i])
        I_others, p_others = hanging[link.parent]
        first = hanging[link.parent] is _NOTHING
        hanging[link.parent] = (I_more, p_more) if first else (I_others + I_more, p_others + p_more)
    return hanging


def _collected(links: Any, twist_dot: Any, rate_dots: Any, wrenches: Any) -> tuple[Array, Array, Array]:
    """Return accelerations, wrenches and efforts of the joints in the order of the tree."""
    if not links:
        lead = twist_dot.shape[:-1]
        return np.zeros((*lead, 0)), np.zeros((*lead, 0, 6)), np.zeros((*lead, 0))
    free = {link.joint: list(KINDS[link.kind].free) for link in links}
    efforts = [w[..., free[j]] for j, w in enumerate(wrenches)]
    return np.concatenate(rate_dots, -1), np.stack(wrenches, -2), np.concatenate(efforts, -1)


@functools.cache
def whole_tree(links: tuple[Link, ...], held: tuple[int, ...]) -> Callable[..., Any]:
    """Return the walk over a tree in which some joints are prescribed."""
    prescribed = tuple(link.joint in held for link in links)
    J, B = len(links), len(links) + 1
    G, D = max((link.gamma[1] for link in links), default=0), max((link.rate[1] for link in links), default=0)
    ins: tuple[Core, ...] = ((J, 8), (B, 10), (6,), (G,), (D,), (D,), (B, 6))

    def walk(offsets, inertias, twist_B, gamma, rate, drive, wrench):
        return _walk(links, prescribed, offsets, inertias, twist_B, gamma, rate, drive, wrench)

    return assembled(walk, B, ins, ((6,), (D,), (J, 6), (D,)), inlined=TRACED)
