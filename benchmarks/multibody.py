"""Accelerations of chains of bodies beside Pinocchio's articulated-body algorithm, and how the cost grows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

from benchmarks.timing import Row, interleaved
from gnc.models.multibody.articulated import accelerations
from gnc.models.multibody.integrate import Load
from gnc.models.multibody.parts import TreeState
from gnc.models.multibody.variational import VariationalTree
from tests.models.multibody import samples
from tests.models.multibody.pinocchio_tree import Oracle

MANY = 1000
SIZES = (4, 16, 64, 128)
STIFFNESS, DAMPING = 0.5, 0.2  # of the law in joints [N m, N m s]
PICTURE = Path(__file__).with_name("multibody.png")


def costs(bodies: int) -> tuple[float, float, float]:
    """Return the time for one state [s]: ours in a batch of 1000 and alone, Pinocchio's; all called from Python."""
    tree = samples.tree(1, "R" * (bodies - 1), list(range(bodies - 1)))
    x, effort = samples.state(1, tree, (MANY,)), samples.loads(2, tree, (MANY,))[0]
    oracle, one = Oracle(tree), TreeState(*(a[0] for a in x))
    q, v, tau = oracle.q(one), oracle.v(one.twist_B, one.rate), oracle.v(np.zeros(6), effort[0])
    best = interleaved(
        {
            "one": lambda: accelerations(tree, one, effort[0]),
            "gnc": lambda: accelerations(tree, x, effort),
            "pinocchio": lambda: pin.aba(oracle.model, oracle.data, q, v, tau),
        }
    )
    return best["gnc"] / MANY, best["one"], best["pinocchio"]


def variational_cost(bodies: int, trials: int = 64) -> float:
    """Return the time of one step of the variational tree for one trial [s]."""
    tree = samples.tree(1, "R" * (bodies - 1), list(range(bodies - 1)))
    method = VariationalTree(tree)
    x = samples.state(1, tree, (trials,))
    y = method.start(x._replace(twist_B=0.3 * x.twist_B, rate=0.3 * x.rate))
    return interleaved({"step": lambda: method.step(y, 0.01)})["step"] / trials


def closed_loop_costs(bodies: int = 12, h: float = 0.01) -> tuple[float, float]:
    """Return the time of a step of one trial [s] with springs and dampers as the law of all joints, held over the step.

    Ours is the variational tree in a batch of 1000; the peer takes an RK4 step by Pinocchio's accelerations.
    """
    tree = samples.tree(1, "R" * (bodies - 1), list(range(bodies - 1)))
    method, x = VariationalTree(tree), samples.state(1, tree, (MANY,))
    y = method.start(x._replace(twist_B=0.3 * x.twist_B, rate=0.3 * x.rate))
    oracle, one, none = Oracle(tree), TreeState(*(a[0] for a in x)), np.zeros((MANY, bodies, 6))
    q, v = oracle.q(one), 0.3 * oracle.v(one.twist_B, one.rate)

    def ours() -> None:
        now = method.read(y)
        given = Load(-STIFFNESS * now.gamma - DAMPING * now.rate, none)
        method.step(y, h, lambda t, at: given)

    def theirs() -> None:
        tau = np.concatenate([np.zeros(6), -STIFFNESS * q[7:] - DAMPING * v[6:]])
        rates, slopes = [v], [pin.aba(oracle.model, oracle.data, q, v, tau)]
        for part in (0.5 * h, 0.5 * h, h):
            at = pin.integrate(oracle.model, q, part * rates[-1])
            rates.append(v + part * slopes[-1])
            slopes.append(pin.aba(oracle.model, oracle.data, at, rates[-1], tau))
        weights = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
        pin.integrate(oracle.model, q, h * (weights @ rates))
        v + h * (weights @ slopes)

    best = interleaved({"gnc": ours, "pinocchio": theirs})
    return best["gnc"] / MANY, best["pinocchio"]


def draw(ours: np.ndarray, theirs: np.ndarray, growth: float) -> None:
    """Draw cost over the number of bodies."""
    figure = Figure(figsize=(6.5, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.loglog(SIZES, 1e6 * ours, "o-", label=f"gnc, batch of {MANY}: grows as B^{growth:.2f} from 16 on")
    axes.loglog(SIZES, 1e6 * theirs, "s--", label="Pinocchio ABA, called from Python")
    axes.set(xlabel="bodies B", ylabel="time per state [us]", title="Accelerations of a chain with revolute joints")
    axes.grid(which="both", alpha=0.3)
    axes.legend()
    figure.savefig(PICTURE, dpi=120)


def rows() -> Iterator[Row]:
    """Measure all sizes and draw benchmarks/multibody.png."""
    ours, _, theirs = np.transpose([costs(B) for B in SIZES])
    _, alone, peer = costs(8)
    yield Row("accelerations, B = 8, one tree", "gnc", alone * 1e6, "us", "Pinocchio ABA", peer / alone, ">= 0.7x")
    growth = float(np.polyfit(np.log(SIZES[1:]), np.log(ours[1:]), 1)[0])
    for B, a, b in zip(SIZES, ours, theirs, strict=True):
        yield Row(f"accelerations, B = {B}, N = {MANY}", "gnc", a * 1e6, "us", "Pinocchio ABA", b / a, ">= 0.33x")
    yield Row("growth exponent, B = 16 to 128", "gnc", growth, "", target="1 is linear")
    sizes = (4, 16, 64)
    steps = [variational_cost(B) for B in sizes]
    for B, seconds in zip(sizes, steps, strict=True):
        yield Row(f"variational tree, one step, B = {B}, N = 64", "gnc", seconds * 1e6, "us")
    slope = float(np.polyfit(np.log(sizes), np.log(steps), 1)[0])
    yield Row("growth exponent of the variational tree", "gnc", slope, "", target="1 is linear")
    step, peer = closed_loop_costs()
    case = f"variational tree with a law in its joints, one step, B = 12, N = {MANY}"
    yield Row(case, "gnc", step * 1e6, "us", "Pinocchio ABA, RK4", peer / step)
    draw(ours, theirs, growth)
