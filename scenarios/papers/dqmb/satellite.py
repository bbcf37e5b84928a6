"""DQMB Figs. 5 and 6: a base with an arm of three links, driven by the joints for 70 s from rest, nothing else acting.

The paper compares its dual quaternions with a decoupled formulation by momentum and centre of mass alone, and finds an
advantage. With `decoupled` as written here and the same tolerances there is none in what it shows: its velocities are
in inertial axes, where the linear momentum is a sum that every Runge-Kutta method keeps. What it loses is the joints:
their ends part.

Beyond the paper: its satellite by the variational tree, with long fixed steps.

The joints hold, and momentum and centre of mass rest, to round-off at every step length. What the step length changes
is where the arm is, with its square.
"""

import functools
from typing import NamedTuple

import numpy as np

from gnc.checks import Check, at_least, at_most, close, within
from gnc.models.multibody import Load, TreeState, examples, kinematics, saddle
from gnc.models.multibody.variational import VariationalTree
from gnc.scenarios.papers.case import Metric, Result, case
from gnc.scenarios.papers.dqmb.runs import Array, Reading, decoupled, minimal, read, read_minimal, redundant
from gnc.scenarios.plots import COLOURS, Figure, errors_over_time, legend_below

TREE = examples.four_body_satellite()
END_S = 70.0
# The run of the specification, made with other code
GAMMA_22 = (0.72412541, 0.44169408, -0.87923073)
GAMMA_70 = (3.88716756, -0.25470561, 2.33776515)
ENERGY_70 = 0.04646862953404
LABELS = {
    "minimal": "dual quaternions, minimal state",
    "redundant": "dual quaternions, as printed",
    "decoupled": "decoupled Newton-Euler",
}


@functools.cache
def flight() -> tuple[Array, TreeState]:
    """The run of minimal states."""
    return minimal(TREE, examples.arm_torques, END_S, examples.SWITCHES_S)


@functools.cache
def reading(name: str) -> Reading:
    """The run of a formulation."""
    if name == "minimal":
        return read_minimal(TREE, *flight())
    run = {"redundant": redundant, "decoupled": decoupled}[name]
    return run(TREE, examples.arm_torques, END_S, examples.SWITCHES_S)


def sizes(run: Reading) -> dict[str, Array]:
    """What should be zero: drift of the centre of mass, linear and angular momentum, joints that part."""
    return {
        "com_m": np.linalg.norm(run.centre - run.centre[0], axis=-1),
        "P": np.linalg.norm(run.momentum[:, 3:], axis=-1),
        "L": np.linalg.norm(run.momentum[:, :3], axis=-1),
        "gap_m": run.gap,
    }


def conditions() -> Array:
    """The condition number of S at every step of the solver."""
    t, x = flight()
    states = (TreeState(*(a[i] for a in x)) for i in range(len(t)))
    return np.array([np.linalg.cond(saddle.system(TREE, state).matrix) for state in states])


@case("dqmb/fig5", title="Satellite with a three-link arm, 70 s: centre of mass, kinetic energy, condition number")
def fig5(seed: int) -> Result:
    """The centre of mass rests to round-off, the energy ends where the reference run ends."""
    t, x = flight()
    run, condition = reading("minimal"), conditions()
    zero = {name: float(values.max()) for name, values in sizes(run).items()}
    gamma_22, gamma_70 = x.gamma[np.searchsorted(t, 22.0)], x.gamma[-1]
    metrics: dict[str, Metric] = {
        **zero,
        "gamma_22_rad": [float(a) for a in gamma_22],
        "gamma_70_rad": [float(a) for a in gamma_70],
        "energy_70_J": float(run.energy[-1]),
        "condition_min": float(condition.min()),
        "condition_max": float(condition.max()),
        "steps": len(t) - 1,
    }
    return Result(
        metrics,
        [
            at_most("joint angles at 22 s, from the reference [rad]", np.abs(gamma_22 - GAMMA_22).max(), 1e-8),
            at_most("joint angles at 70 s, from the reference [rad]", np.abs(gamma_70 - GAMMA_70).max(), 1e-8),
            close("kinetic energy at 70 s [J]", run.energy[-1], ENERGY_70, tol=1e-14),
            *_round_off(zero),
            close("largest condition number of S", condition.max(), 892.0, tol=0.5),
            close("least condition number of S, at the solver's steps", condition.min(), 759.0, rel=0.005),
        ],
        lambda figure: draw_fig5(figure, run, condition),
    )


def _round_off(zero: dict[str, float]) -> list[Check]:
    """Return checks at the reference's level: its run differs in steps, so in round-off; three times is the same."""
    return [
        at_most("drift of the centre of mass [m]", zero["com_m"], 3 * 5.1e-14),
        at_most("linear momentum [kg m/s]", zero["P"], 3 * 1.5e-14),
        at_most("angular momentum [kg m^2/s]", zero["L"], 3 * 8.0e-14),
    ]


@case("dqmb/fig6", title="Dual quaternions beside decoupled Newton-Euler: centre of mass, momenta, joints, 70 s")
def fig6(seed: int) -> Result:
    """All formulations agree, and all conserve to round-off; the decoupled one alone lets its joints part."""
    all_sizes = {name: sizes(reading(name)) for name in LABELS}
    largest = {name: {k: float(v.max()) for k, v in values.items()} for name, values in all_sizes.items()}
    energies = {name: float(reading(name).energy[-1]) for name in LABELS}
    metrics = {f"{k}_{name}": v for name, values in largest.items() for k, v in values.items()}
    checks = [close(f"kinetic energy at 70 s, {n} [J]", e, ENERGY_70, tol=1e-14) for n, e in energies.items()]
    for name, values in largest.items():
        checks += [Check(f"{name}: {c.name}", c.value, c.bound, c.ok, c.relation) for c in _round_off(values)]
    parted = largest["decoupled"]["gap_m"] / max(largest[n]["gap_m"] for n in ("minimal", "redundant"))
    return Result(
        {**metrics, **{f"energy_70_J_{name}": e for name, e in energies.items()}},
        [*checks, at_least("parting of joints, decoupled beside dual quaternions", parted, 10.0)],
        lambda figure: draw_fig6(figure, all_sizes),
    )


# The figures


def draw_fig5(figure: Figure, run: Reading, condition: Array) -> None:
    """The paper's three panels, one above the other, with the torques' intervals shaded."""
    panels = figure.subplots(3, 1, sharex=True)
    drift = sizes(run)["com_m"]
    lines = ((drift, "centre-of-mass\ndrift [m]"), (run.energy, "kinetic\nenergy [J]"), (condition, "cond(S) [-]"))
    for axes, (values, label), colour in zip(panels, lines, COLOURS, strict=False):
        axes.plot(run.t, values, color=colour, lw=1.2, marker=".", ms=3)
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        for i in range(3):
            start, end = examples.SWITCHES_S[2 * i : 2 * i + 2]
            axes.axvspan(start, end, color="k", alpha=0.08, lw=0)
            if axes is panels[0]:
                axes.text(
                    (start + end) / 2,
                    0.97,
                    f"joint {i + 1}",
                    transform=axes.get_xaxis_transform(),
                    ha="center",
                    va="top",
                    fontsize=8,
                )
    panels[0].set_title("Four-body satellite; grey: the joint torques of eq. (78)", fontsize=10)
    panels[-1].set_xlabel("time [s]")


def draw_fig6(figure: Figure, all_sizes: dict[str, dict[str, Array]]) -> None:
    """The paper's three panels and the joints."""
    panels = figure.subplots(2, 2, sharex=True).ravel()
    titles = {
        "com_m": "centre-of-mass drift [m]",
        "P": "linear momentum [kg m/s]",
        "L": "angular momentum [kg m$^2$/s]",
        "gap_m": "largest parting of a joint [m]",
    }
    for axes, (key, title) in zip(panels, titles.items(), strict=True):
        for name, colour in zip(LABELS, COLOURS, strict=False):
            errors_over_time(axes, reading(name).t, {LABELS[name]: all_sizes[name][key]}, floor=1e-17)
            axes.lines[-1].set_color(colour)
        axes.set_ylabel(title)
    for axes in panels[:2]:
        axes.set_xlabel("")
    legend_below(figure, panels[0], 3)


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
        draw_variational,
    )


def draw_variational(figure: Figure) -> None:
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
