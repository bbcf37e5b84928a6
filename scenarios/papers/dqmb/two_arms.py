"""DQMB appendix: a spacecraft with two arms, each of five links on three types of joints.

The paper shows it as a drawing to explain its labels, without masses, sizes or a run; the drawing is not in our text of
it. Here each arm has a spherical shoulder, an elbow, a boom that slides, and two wrist joints; sizes are those of a
servicer of 300 kg. Motors swing all joints, and from 4 s to 7 s one hand pushes against something.
"""

import functools
from typing import NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.checks import at_most, within
from gnc.models.multibody import Body, Frame, Joint, Load, Tree, TreeState, accelerations, integrate, kinematics, saddle
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.papers.dqmb.runs import Array, march, states
from gnc.scenarios.plots import COLOURS, Figure, errors_over_time

KINDS = "SRPRR"  # from the shoulder to the hand
NAMES = ("shoulder", "elbow", "boom", "wrist", "hand")
SIDES = {"left": 1.0, "right": -1.0}
END_S, PUSH_S = 10.0, (4.0, 7.0)
STIFFNESS = np.tile([0.5, 6.0, 6.0, 5.0, 8.0, 0.8, 0.2], 2)  # of the motors [N m/rad, N/m]
DAMPING = np.tile([0.4, 4.0, 4.0, 3.0, 5.0, 0.6, 0.15], 2)  # [N m s/rad, N s/m]
PUSH = np.array([0.0, 0.0, 0.05, -3.0, 0.2, 0.0])  # on the left hand: [torque, force] in its axes [N m, N]


def _pose(r: tuple[float, float, float], about_x: float = 0.0) -> Array:
    q = quaternion.from_axis_angle(np.array([1.0, 0.0, 0.0]), about_x)
    return dual_quaternion.from_pose(q, np.array(r))


def _rod(name: str, mass: float, length: float) -> Body:
    """A link along x."""
    thin, long = mass * 0.1**2 / 2.0, mass * (length**2 + 3 * 0.1**2) / 12.0
    return Body(name, mass, np.diag([thin, long, long]))


@functools.cache
def satellite() -> Tree:
    """Return the satellite: body 1 is the base, 2 to 6 the left arm, 7 to 11 the right."""
    bodies, joints, frames = [Body("base", 200.0, np.diag([40.0, 60.0, 50.0]))], [], []
    for side, sign in SIDES.items():
        parent, mount = "base", _pose((0.6, 0.5 * sign, 0.0))
        for name, kind, mass, length in zip(NAMES, KINDS, (15, 12, 10, 8, 5), (1.2, 1.0, 0.8, 0.4, 0.3), strict=True):
            body = f"{side} {name} link"
            bodies.append(_rod(body, mass, length))
            # The axis z of a joint: the elbow's across the link, the boom's along it, the wrist's both ways.
            q = _axes(name)
            joints.append(
                Joint(
                    f"{side} {name}",
                    kind,
                    parent,
                    body,
                    dual_quaternion.mul(mount, q),
                    dual_quaternion.mul(_pose((-length / 2, 0.0, 0.0)), q),
                )
            )
            parent, mount = body, _pose((length / 2, 0.0, 0.0))
        frames.append(Frame(f"{side} tip", parent, mount))
    return Tree(bodies, joints, frames)


def _axes(name: str) -> Array:
    """Return the turn of a joint's frame from its link, whose length is x."""
    turn = {"boom": [0.0, np.pi / 2, 0.0], "wrist": [np.pi / 2, 0.0, 0.0]}.get(name, [0.0, 0.0, 0.0])
    return dual_quaternion.from_pose(quaternion.exp(np.array(turn)), np.zeros(3))


def load(t: float, x: TreeState) -> Load:
    """Return motors that follow slow commands like springs with dampers, and the push on the left hand."""
    tree = satellite()
    command = 0.4 * np.sin(0.6 * t + np.arange(tree.freedoms))
    on = PUSH_S[0] < t < PUSH_S[1]
    effort = STIFFNESS * (command - _angles(tree, x)) - DAMPING * x.rate
    return Load(effort, tree.wrenches({"left tip": PUSH if on else np.zeros(6)}))


def _angles(tree: Tree, x: TreeState) -> Array:
    """Return a number for each freedom (..., D): angles and slides, and rotation vectors of the shoulders."""
    pieces = []
    for joint in tree.joints:
        gamma = x.gamma[..., tree.gamma_slice(joint.name)]
        pieces.append(quaternion.log(gamma) if joint.kind == "S" else gamma)
    return np.concatenate(pieces, -1)


class Run(NamedTuple):
    """The flight at the solver's steps."""

    t: Array
    x: TreeState
    work: Array  # (n,) done by joints and push [J]
    impulse: Array  # (n, 6) of the push [angular about the origin, linear], inertial


@functools.cache
def flight() -> Run:
    """Fly from rest, with the work and the impulse of all loads integrated along."""
    tree = satellite()
    x0 = tree.state()

    def rate(t: float, y: Array) -> Array:
        x = states(y[:-7], x0)
        loads = load(t, x)
        push = PUSH if np.any(loads.wrench) else np.zeros(6)
        power = loads.effort @ x.rate + push @ kinematics.frame_twist(tree, x, "left tip")
        impulse = dual_quaternion.transform_wrench(kinematics.frame_pose(tree, x, "left tip"), push)
        return np.concatenate([*integrate.derivative(tree, x, loads), [power], impulse])

    t, rows = march(rate, np.concatenate([*x0, np.zeros(7)]), END_S, PUSH_S)
    return Run(t, integrate.normalize(tree, states(rows[:, :-7], x0)), rows[:, -7], rows[:, -6:])


class Balance(NamedTuple):
    """What is left when all that acts is accounted for."""

    energy: Array
    momentum: Array
    reactions: Array  # recursion against saddle system, relative


@functools.cache
def balance() -> Balance:
    """Judge the flight."""
    tree, run = satellite(), flight()
    energy = kinematics.kinetic_energy(tree, run.x) - run.work
    momentum = np.linalg.norm(kinematics.momentum(tree, run.x) - run.impulse, axis=-1)
    reactions = np.array([_compare(tree, x, load(t, x)) for t, x in _moments()])
    return Balance(np.abs(energy), momentum, reactions)


def _moments() -> list[tuple[float, TreeState]]:
    """Return the times and states of the flight one by one."""
    run = flight()
    return [(float(t), TreeState(*(a[i] for a in run.x))) for i, t in enumerate(run.t)]


def _compare(tree: Tree, x: TreeState, loads: Load) -> float:
    """Return how far the dense system's wrenches are from the recursion's, relative."""
    fast, dense = (f(tree, x, loads.effort, loads.wrench) for f in (accelerations, saddle.accelerations))
    return float(np.abs(fast.wrench - dense.wrench).max() / np.abs(dense.wrench).max())


@case("dqmb/appendix", title="Two arms of five links, three types of joints: driven, pushed, and accounted for")
def appendix(seed: int) -> Result:
    """The incidence matrix and the sizes of the system are the paper's; work and impulse account for all motion."""
    tree, run, left = satellite(), flight(), balance()
    B, R = len(tree.bodies), sum(len(joint.type.held) for joint in tree.joints)
    energy = kinematics.kinetic_energy(tree, run.x)
    return Result(
        {
            "bodies": B,
            "joints": len(tree.joints),
            "reactions": R,
            "unknowns_of_the_paper": 8 * B + R,
            "branch_ends": [float(i + 1) for i in np.flatnonzero(tree.terminations)],
            "energy_end_J": float(energy[-1]),
            "condition_start": float(np.linalg.cond(saddle.system(tree, tree.state()).matrix)),
            "steps": len(run.t) - 1,
        },
        [
            within("rows of the incidence matrix that are not one -> one", _odd_rows(tree), 0, 0),
            at_most("kinetic energy less work, relative", left.energy.max() / energy.max(), 1e-12),
            at_most("momentum less impulse [kg m/s, kg m^2/s]", left.momentum.max(), 1e-12),
            at_most("wrenches, recursion against saddle system, relative", left.reactions.max(), 1e-12),
        ],
        draw,
    )


def _odd_rows(tree: Tree) -> int:
    """Return how many joints do not lead from one body to another."""
    return int(np.sum((tree.incidence == 1.0).sum(axis=1) + (tree.incidence == -1.0).sum(axis=1) != 2))


def draw(figure: Figure) -> None:
    """Motion, reactions, balances."""
    tree, run, left = satellite(), flight(), balance()
    motion, reaction, balances = figure.subplots(3, 1, sharex=True)
    wrench = np.stack([accelerations(tree, x, *load(t, x)[:2]).wrench for t, x in _moments()])
    for name, colour in zip(NAMES, COLOURS, strict=False):
        for side, style in (("left", "-"), ("right", "--")):
            joint = f"{side} {name}"
            values = run.x.gamma[:, tree.gamma_slice(joint)]
            angle = np.linalg.norm(quaternion.log(values), axis=-1) if name == "shoulder" else values[:, 0]
            motion.plot(run.t, angle, style, color=colour, lw=1, label=joint)
            force = np.linalg.norm(wrench[:, tree.joint(joint), 3:], axis=-1)
            reaction.plot(run.t, force, style, color=colour, lw=1)
    motion.set_ylabel("joint [rad], boom [m]")
    motion.set_title("Two arms S R P R R; grey: the left hand pushes", fontsize=10)
    reaction.set_ylabel("force in joint [N]")
    errors_over_time(
        balances,
        run.t,
        {
            "kinetic energy - work [J]": left.energy,
            "momentum - impulse [kg m/s, kg m$^2$/s]": left.momentum,
            "recursion - saddle, wrenches, relative": left.reactions,
        },
    )
    balances.set_ylabel("what is left")
    balances.set_ylim(1e-18, 1e-10)
    balances.legend(fontsize=7, ncols=3, loc="lower right")
    for axes in (motion, reaction, balances):
        axes.axvspan(*PUSH_S, color="k", alpha=0.08, lw=0)
        axes.grid(alpha=0.3)
    figure.legend(*motion.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
