"""DQMB Figs. 5 and 6: a base with an arm of three links, driven by the joints for 70 s from rest, nothing else acting.

The paper compares its dual quaternions with a decoupled formulation by momentum and centre of mass alone, and finds an
advantage. With `decoupled` as written here and the same tolerances there is none in what it shows: its velocities are
in inertial axes, where the linear momentum is a sum that every Runge-Kutta method keeps. What it loses is the joints:
their ends part.
"""

import functools

import numpy as np

from gnc.checks import Check, at_least, at_most, close
from gnc.models.multibody import TreeState, examples, saddle
from gnc.scenarios.papers.case import Metric, Result, case
from gnc.scenarios.papers.dqmb.runs import Array, Reading, decoupled, minimal, read_minimal, redundant
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
