"""DQMB section 3.4: the torque that holds a joint to a prescribed motion, by the right equations and by the printed.

The satellite of section 4 floats with a tumbling base while its second joint swings out and back. Eqs. (65) to (76)
take the acceleration of the distal body for known. It is known relative to the proximal body only, whose own is an
unknown, so the part of the distal body's inertia that moves with the base is lost.
"""

import functools
from typing import NamedTuple

import numpy as np

from gnc.checks import at_least, at_most
from gnc.models.multibody import TreeState, accelerations, examples, integrate, kinematics, saddle
from gnc.models.multibody.integrate import Load
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.papers.dqmb.runs import march, states
from gnc.scenarios.plots import COLOURS, Figure, legend_below
from gnc.typing import Array

TREE = examples.four_body_satellite()
JOINT = "joint 2"
PERIOD_S, SWING_RAD = 20.0, 1.5
SPIN = np.array([0.03, -0.02, 0.05, 0.0, 0.0, 0.0])  # twist of the base at the start


def swing(t: float) -> Array:
    """Return the prescribed accelerations of the joints [rad/s^2]: a swing out and back, at rest at both ends."""
    w = 2.0 * np.pi / PERIOD_S
    return TREE.efforts({JOINT: 0.5 * SWING_RAD * w * w * np.cos(w * t)})


def printed(x: TreeState, rate_dot: Array | None) -> float:
    """Return the holding torque of eqs. (65) to (76).

    Literally the distal acceleration's columns are dropped and nothing replaces them (`rate_dot` None); read with good
    will, what eq. (64) knows of it goes to the right side.
    """
    s, joint = saddle.system(TREE, x), TREE.joints[TREE.joint(JOINT)]
    child, parent = TREE.body(joint.child), TREE.body(joint.parent)
    X_child, X_parent = saddle.joint_maps(TREE, x, JOINT)
    S, mine = joint.type.mapping, TREE.rate_slice(JOINT)
    actuation = np.zeros((len(TREE.bodies), 6, 1))
    actuation[child], actuation[parent] = -X_child.T @ S, X_parent.T @ S
    act = np.concatenate([actuation.reshape(-1, 1), np.zeros((len(s.B2), 1))])
    matrix, right = np.hstack([s.matrix, act]), np.concatenate([s.B1, s.B2])
    gone = slice(6 * child, 6 * child + 6)
    if rate_dot is not None:
        carried, moved = X_parent @ s.twists[parent], S @ x.rate[mine]
        bias = np.concatenate(
            [np.cross(carried[:3], moved[:3]), np.cross(carried[:3], moved[3:]) + np.cross(carried[3:], moved[:3])]
        )
        right = right - matrix[:, gone] @ np.linalg.solve(X_child, S @ rate_dot[mine] + bias)
    project = S.T @ np.linalg.inv(X_child).T  # eq. (75)
    rows = [np.vstack([a[: gone.start], project @ a[gone], a[gone.stop :]]) for a in (matrix, right[:, None])]
    return float(np.linalg.solve(np.delete(rows[0], np.arange(6 * child, 6 * child + 6), axis=1), rows[1])[-1, 0])


class Torques(NamedTuple):
    """The torque of the joint along the swing, (n,) each."""

    t: Array
    recursion: Array
    saddle: Array
    printed: Array
    literal: Array
    missed: Array  # acceleration that the free joint gets from the recursion's torque, minus the prescribed
    momentum: Array  # change of the momentum, relative


@functools.cache
def torques() -> Torques:
    """Fly the swing, and ask all equations for the torque on the way."""
    x0 = TREE.state(twist_B=SPIN)

    def rate(t: float, y: Array) -> Array:
        return np.concatenate(integrate.derivative(TREE, states(y, x0), Load(rate_dot=swing(t)), [JOINT]))

    times, rows = march(rate, np.concatenate(x0), PERIOD_S, list(np.arange(0.5, PERIOD_S, 0.5)))
    flown = integrate.normalize(TREE, states(rows, x0))
    momentum = kinematics.momentum(TREE, flown)
    change = np.linalg.norm(momentum - momentum[0], axis=-1) / np.linalg.norm(momentum[0])
    columns = np.array([_at(t, TreeState(*(a[i] for a in flown))) for i, t in enumerate(times)])
    recursion, dense, with_64, literal, missed = columns.T
    return Torques(times, recursion, dense, with_64, literal, missed, change)


def _at(t: float, x: TreeState) -> tuple[float, ...]:
    mine, wanted = TREE.rate_slice(JOINT), swing(t)
    held = accelerations(TREE, x, prescribed=[JOINT], rate_dot=wanted)
    dense = saddle.accelerations(TREE, x, prescribed=[JOINT], rate_dot=wanted)
    free = accelerations(TREE, x, TREE.efforts({JOINT: held.effort[mine]}))
    missed = (free.rate_dot - wanted)[mine]
    return held.effort[mine][0], dense.effort[mine][0], printed(x, wanted), printed(x, None), missed[0]


@case("dqmb/holding", title="The torque that holds a joint to its motion: the right equations and the printed ones")
def holding(seed: int) -> Result:
    """The recursion and the saddle system agree; the printed equations are wrong by more than the torque itself."""
    run = torques()
    scale = float(np.abs(run.recursion).max())
    wrong, literal = (float(np.abs(a - run.recursion).max()) / scale for a in (run.printed, run.literal))
    return Result(
        {
            "torque_max_Nm": scale,
            "torque_start_Nm": float(run.recursion[0]),
            "printed_start_Nm": float(run.printed[0]),
            "literal_start_Nm": float(run.literal[0]),
            "printed_error_relative": wrong,
            "literal_error_relative": literal,
        },
        [
            at_most("recursion and saddle system, difference, relative", _far(run.saddle, run.recursion, scale), 1e-12),
            at_most("acceleration missed by the free joint [rad/s^2]", np.abs(run.missed).max(), 1e-14),
            at_most("momentum while the joint swings, relative change", run.momentum.max(), 1e-12),
            at_least("eqs. (65) to (76) with eq. (64), error, relative", wrong, 0.1),
            at_least("eqs. (65) to (76) to the letter, error, relative", literal, 0.1),
        ],
        draw,
    )


def _far(a: Array, b: Array, scale: float) -> float:
    return float(np.abs(a - b).max()) / scale


def draw(figure: Figure) -> None:
    """The torques, and what is wrong with the printed."""
    run = torques()
    upper, lower = figure.subplots(2, 1, sharex=True)
    lines = {
        "articulated recursion (right)": (run.recursion, "-"),
        "saddle system with holding rows (right)": (run.saddle, "--"),
        "printed eqs. (65)-(76), with eq. (64)": (run.printed, "-"),
        "printed eqs. (65)-(76), to the letter": (run.literal, "-"),
    }
    for (label, (values, style)), colour in zip(lines.items(), COLOURS, strict=False):
        upper.plot(run.t, values, style, color=colour, label=label)
        if label.startswith("printed"):
            lower.plot(run.t, values - run.recursion, color=colour)
    upper.set_ylabel("torque of joint 2 [N m]")
    upper.set_title("Joint 2 swings out to 1.5 rad and back, the base floats and tumbles", fontsize=10)
    lower.set_ylabel("printed - right [N m]")
    lower.set_xlabel("time [s]")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    legend_below(figure, upper, 2)
