"""Flying a tree: fixed steps of RK4 on minimal velocities, and SciPy's adaptive solvers.

The state is base pose, base twist, joint coordinates and joint velocities: what the joints forbid cannot drift, unlike
the redundant dual velocities of DQMB eq. (43). Unit quaternions are normalised after every step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion
from gnc.models.flight import Flight, each, fly
from gnc.models.multibody.articulated import accelerations
from gnc.models.multibody.parts import TreeState
from gnc.models.multibody.tree import Tree

Array = Any


class Load(NamedTuple):
    """What acts on a tree, as `articulated.accelerations` takes it."""

    effort: Array = 0.0  # (..., D)
    wrench: Array = 0.0  # (..., B, 6)
    rate_dot: Array = 0.0  # (..., D) of the prescribed joints


Loading = Callable[[float, TreeState], Load]


def free(t: float, x: TreeState) -> Load:
    """Load nothing."""
    return Load()


def derivative(tree: Tree, x: TreeState, load: Load, prescribed: Collection[str] = ()) -> TreeState:
    """Return the time derivative of a state. Source: DQMB eqs. (45), (47), (50)."""
    a = accelerations(tree, x, load.effort, load.wrench, prescribed, load.rate_dot)
    pieces = [
        joint.type.derivative(x.gamma[..., tree.gamma_slice(joint.name)], x.rate[..., tree.rate_slice(joint.name)])
        for joint in tree.joints
    ]
    gamma_dot = np.concatenate(pieces, -1) if pieces else np.zeros_like(x.gamma)
    return TreeState(dual_quaternion.derivative(x.dq_IB, x.twist_B), a.twist_dot, gamma_dot, a.rate_dot)


def normalize(tree: Tree, x: TreeState) -> TreeState:
    """Return the state with its base pose and its spherical joints unit again."""
    pieces = [joint.type.normalize(x.gamma[..., tree.gamma_slice(joint.name)]) for joint in tree.joints]
    gamma = np.concatenate(pieces, -1) if pieces else x.gamma
    return x._replace(dq_IB=dual_quaternion.normalize(x.dq_IB), gamma=gamma)


def step(
    tree: Tree, x: TreeState, h: float, load: Loading = free, t: float = 0.0, prescribed: Collection[str] = ()
) -> TreeState:
    """Take one step of the classical Runge-Kutta method of order 4, all trials at once."""

    def rate(s: float, y: TreeState) -> TreeState:
        return derivative(tree, y, load(s, y), prescribed)

    k1 = rate(t, x)
    k2 = rate(t + 0.5 * h, _moved(x, k1, 0.5 * h))
    k3 = rate(t + 0.5 * h, _moved(x, k2, 0.5 * h))
    k4 = rate(t + h, _moved(x, k3, h))
    mean = TreeState(*((a + 2.0 * (b + c) + d) / 6.0 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)))
    return normalize(tree, _moved(x, mean, h))


def _moved(x: TreeState, slope: TreeState, h: float) -> TreeState:
    return TreeState(*(a + h * b for a, b in zip(x, slope, strict=True)))


def fly_steps(
    tree: Tree,
    x: TreeState,
    steps: int,
    h: float,
    load: Loading = free,
    every: int = 1,
    t0: float = 0.0,
    prescribed: Collection[str] = (),
) -> Flight:
    """Fly with fixed steps and keep every so many; trials are on leading axes."""
    return fly(x, each(lambda y, t: step(tree, y, h, load, t, prescribed), h, t0), steps, every, h, t0)


def solve(
    tree: Tree,
    x: TreeState,
    times: Sequence[float],
    load: Loading = free,
    switches: Sequence[float] = (),
    prescribed: Collection[str] = (),
    method: str = "DOP853",
    rtol: float = 1e-13,
    atol: float = 1e-14,
) -> Flight:
    """Fly one trial with SciPy's adaptive solver, restarted at the times where the load jumps."""
    from scipy.integrate import solve_ivp  # takes a moment to load

    t = np.asarray(times, float)
    stops = [s for s in sorted(switches) if t[0] < s < t[-1]]
    sizes = np.cumsum([np.size(a) for a in x])[:-1]

    def rate(s: float, y: Array) -> Array:
        state = TreeState(*np.split(y, sizes))
        return np.concatenate(derivative(tree, state, load(s, state), prescribed))

    y, kept = np.concatenate(x), [np.concatenate(x)]
    for start, end in zip([t[0], *stops], [*stops, t[-1]], strict=True):
        times_here = t[(t > start) & (t <= end)]
        run = solve_ivp(
            _inside(rate, start, end), (start, end), y, method, t_eval=np.union1d(times_here, end), rtol=rtol, atol=atol
        )
        if not run.success:
            raise RuntimeError(f"{method} gave up at {run.t[-1]:g} s: {run.message}")
        kept += list(run.y.T[: len(times_here)])
        y = np.concatenate(normalize(tree, TreeState(*np.split(run.y[:, -1], sizes))))
    states = (np.stack(rows) for rows in zip(*(np.split(row, sizes) for row in kept), strict=True))
    return Flight(t, normalize(tree, TreeState(*states)))


def _inside(rate: Any, start: float, end: float) -> Any:
    """Keep the solver from asking for the load exactly at a jump, where it belongs to the other side."""
    return lambda s, y: rate(min(max(s, np.nextafter(start, end)), np.nextafter(end, start)), y)
