"""Beyond the paper: its satellite by the variational tree, with long fixed steps.

The joints hold, and momentum and centre of mass rest, to round-off at every step length. What the step length changes
is where the arm is, with its square.
"""

import functools
from typing import NamedTuple

import numpy as np

from gnc.checks import at_most, close, within
from gnc.models.multibody import Load, TreeState, examples, kinematics
from gnc.models.multibody.variational import VariationalTree
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.papers.dqmb.runs import Array, Reading, read
from gnc.scenarios.papers.dqmb.satellite import END_S, ENERGY_70, GAMMA_70, TREE, sizes
from gnc.scenarios.plots import Figure, errors_over_time, legend_below

STEPS_S = (0.5, 0.25, 0.125)  # they divide the times at which the torques jump


class Run(NamedTuple):
    """A flight with one step length."""

    reading: Reading
    gamma: Array  # (n, 3)
    opening: Array  # (n,) the largest number that a joint forbids [rad, m]


def torques(t: float, x: TreeState) -> Load:
    """Return the torques of eq. (78)."""
    return Load(examples.arm_torques(t))


@functools.cache
def run(h: float) -> Run:
    """Fly 70 s from rest."""
    method = VariationalTree(TREE)
    flight = method.fly_steps(TREE.state(), round(END_S / h), h, torques)
    x = method.read(flight.x)
    return Run(read(TREE, flight.t, *kinematics.bodies(TREE, x)), x.gamma, method.report(flight.x).opening)


@case("dqmb/variational", title="The same satellite by the variational tree: h = 0.5, 0.25, 0.125 s over 70 s")
def variational(seed: int) -> Result:
    """Momentum, centre of mass and joints to round-off at every step length; joint angles of second order."""
    runs = {h: run(h) for h in STEPS_S}
    errors = [float(np.abs(r.gamma[-1] - GAMMA_70).max()) for r in runs.values()]
    worst = {k: max(float(sizes(r.reading)[k].max()) for r in runs.values()) for k in ("com_m", "P", "L")}
    opening = max(float(r.opening.max()) for r in runs.values())
    order = float(np.log2(errors[-2] / errors[-1]))
    energies = {h: abs(float(r.reading.energy[-1]) / ENERGY_70 - 1.0) for h, r in runs.items()}
    return Result(
        {
            **worst,
            "joint_opening": opening,
            "order": order,
            **{f"gamma_error_rad_h{h:g}": e for h, e in zip(STEPS_S, errors, strict=True)},
            **{f"energy_error_h{h:g}": e for h, e in energies.items()},
        },
        [
            at_most("linear momentum, every h [kg m/s]", worst["P"], 2e-13),
            at_most("angular momentum, every h [kg m^2/s]", worst["L"], 2e-13),
            at_most("drift of the centre of mass, every h [m]", worst["com_m"], 5e-14),
            at_most("opening of the joints, every h [rad, m]", opening, 3 * 5e-15),
            close("order of the joint angles at 70 s", order, 2.0, tol=0.05),
        ],
        draw,
    )


def draw(figure: Figure) -> None:
    """What is kept, and what is not."""
    panels = figure.subplots(2, 2, sharex=True).ravel()
    titles = (
        "angular momentum [kg m$^2$/s]",
        "centre-of-mass drift [m]",
        "opening of the joints [rad, m]",
        "kinetic energy / final - 1 [-]",
    )
    for h in STEPS_S:
        flown = run(h)
        after = flown.reading.t >= examples.SWITCHES_S[-1]
        changes = sizes(flown.reading)
        curves = (changes["L"], changes["com_m"], flown.opening)
        for axes, values in zip(panels, curves, strict=False):
            errors_over_time(axes, flown.reading.t, {f"h = {h:g} s": values}, floor=1e-17)
        energy = flown.reading.energy[after] / ENERGY_70 - 1.0
        panels[3].plot(flown.reading.t[after], energy, lw=1.0)
    for axes, title in zip(panels, titles, strict=True):
        axes.set_ylabel(title)
        axes.grid(alpha=0.3)
        for line, colour in zip(axes.lines, ("#1f77b4", "#d62728", "#2ca02c"), strict=True):
            line.set_color(colour)
    for axes in panels[:2]:
        axes.set_xlabel("")
    panels[3].set_xlabel("time [s]")
    legend_below(figure, panels[0], 3)


@case("dqmb/variational-model", title="The variational tree: fourth order, prescribed joints, exact Jacobian")
def model(seed: int) -> Result:
    """Fly the paper's satellite to 70 s by order 4, hold a joint, and differentiate a step."""
    errors = []
    for h in (0.5, 0.25):
        method = VariationalTree(TREE, order=4)
        flight = method.fly_steps(TREE.state(), round(END_S / h), h, torques, every=round(END_S / h))
        errors.append(float(np.abs(method.read(flight.x).gamma[-1] - GAMMA_70).max()))
    order = float(np.log2(errors[0] / errors[1]))
    moving = TREE.state(twist_B=np.array([0.1, -0.3, 0.2, 0, 0, 0]))._replace(rate=np.array([0.2, 0.0, 0.4]))
    held = VariationalTree(TREE, prescribed=["joint 2"])
    kept = held.report(locked := held.fly_steps(moving, 400, 0.05, every=20).x)
    turned = float(np.abs(locked.gamma[:, 1]).max())
    momentum = float(np.abs(kept.momentum - kept.momentum[0]).max() / np.linalg.norm(kept.momentum[0]))
    F, gap = _jacobian_gap(VariationalTree(TREE, order=4), moving)
    return Result(
        {"gamma_error_rad": errors, "order": order, "locked_rad": turned, "jacobian_gap": gap, "size": len(F)},
        [
            within("order of the joint angles at 70 s", order, 3.95, 4.05, "spec/multibody.md, reference run to 70 s"),
            at_most("a locked joint over 20 s [rad]", turned, 1e-12, "spec/multibody.md, prescribed joints"),
            at_most("momentum with a locked joint, relative", momentum, 1e-12, "spec/multibody.md, variational tree"),
            at_most("Jacobian against central differences", gap, 1e-8, "docs/integrators.md, exact Jacobians"),
        ],
        lambda figure: draw_jacobian(figure, F),
    )


def draw_jacobian(figure: Figure, F: Array) -> None:
    """Show the sizes of F."""
    axes = figure.subplots()
    sizes_of_F = axes.imshow(np.log10(np.abs(F) + 1e-12), cmap="viridis", vmin=-6.0, vmax=0.0)
    figure.colorbar(sizes_of_F, label="log10 of the entry's size [-]")
    names = ("pose", "joints", "twist", "rates")
    axes.set_xticks([2.5, 7.0, 11.5, 16.0], names)
    axes.set_yticks([2.5, 7.0, 11.5, 16.0], names)
    axes.set(title="Jacobian of a step of fourth order, h = 0.1 s", xlabel="error before", ylabel="error after")


def _jacobian_gap(method: VariationalTree, x: TreeState) -> tuple[Array, float]:
    """Return F of a step and its largest distance from central differences in joint angles and all rates."""
    u, h, e = np.zeros(9), 0.1, 1e-5
    F, _ = method.linearize(x, u, h)
    gap = 0.0
    for k in range(12):  # three angles, the base's twist, three rates
        d = e * np.eye(12)[k]
        ends = [
            method.move(TreeState(x.dq_IB, x.twist_B + s * d[3:9], x.gamma + s * d[:3], x.rate + s * d[9:]), u, h)
            for s in (1.0, -1.0)
        ]
        columns = [np.concatenate([y.gamma, y.twist_B, y.rate]) for y in ends]
        gap = max(gap, float(np.abs((columns[0] - columns[1]) / (2 * e) - F[6:, 6 + k]).max()))
    return F, gap
