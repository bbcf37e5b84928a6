"""Figure 13: the cargo is let go, 3 s together, 3 s apart, 60 frames per second. Source: DQVI section V.B."""

from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.checks import Check, at_least, at_most, close
from gnc.models.pose_body import PoseBody, PoseState, split
from gnc.scenarios.papers.case import Metric, Result, case
from gnc.scenarios.papers.dqvi.data import BOTH, CARGO_MASS, DATA, MASS, TITLES, UNPHYSICAL, Array, cargo, start, whole
from gnc.scenarios.papers.dqvi.flights import angle
from gnc.scenarios.plots import Figure

FPS, SECONDS = 60, 3  # before parting, and after


class Parting(NamedTuple):
    """A flight with a parting in the middle; where they are one body, spacecraft and cargo have the same state."""

    craft: PoseBody
    part: PoseBody
    t: Array
    x_craft: PoseState
    x_cargo: PoseState
    energy: Array  # of both [J]
    momentum: Array  # of both, [angular about the inertial origin, linear]
    com: Array  # of both [m]


def part(data: str, **options: Any) -> Parting:
    """Fly, let go, fly on: the twist of the separation point is the same for all three bodies."""
    body = whole(data, **options)
    together = body.fly(start((1.0, 1.0, 1.0)), FPS * SECONDS, 1.0 / FPS)
    craft, load = split(body, cargo(**options), allow_unphysical=body.allow_unphysical)
    last = PoseState(*(a[-1] for a in together.x))
    after = [each.fly(last, FPS * SECONDS, 1.0 / FPS, t0=SECONDS) for each in (craft, load)]
    x_craft, x_cargo = (PoseState(*map(np.concatenate, zip(together.x, a.x, strict=True))) for a in after)
    energy = np.concatenate([body.energy(together.x), craft.energy(after[0].x) + load.energy(after[1].x)])
    momentum = np.concatenate([body.momentum(together.x), craft.momentum(after[0].x) + load.momentum(after[1].x)])
    com = ((MASS - CARGO_MASS) * craft.centre_of_mass(x_craft) + CARGO_MASS * load.centre_of_mass(x_cargo)) / MASS
    return Parting(craft, load, np.concatenate([together.t, after[0].t]), x_craft, x_cargo, energy, momentum, com)


class Changes(NamedTuple):
    """How far a parting is from conserving, over time."""

    energy: Array  # relative to the energy
    angular: Array  # relative to the angular momentum
    linear: Array  # relative to the momentum that the two bodies exchange
    com_m: Array


def changes(parting: Parting) -> Changes:
    """Measure against the start."""
    L, P = parting.momentum[:, :3], parting.momentum[:, 3:]
    exchanged = np.linalg.norm(parting.part.momentum(PoseState(*(a[-1] for a in parting.x_cargo)))[3:])
    return Changes(
        np.abs(parting.energy / parting.energy[0] - 1.0),
        np.linalg.norm(L - L[0], axis=1) / np.linalg.norm(L[0]),
        np.linalg.norm(P - P[0], axis=1) / exchanged,
        np.linalg.norm(parting.com - parting.com[0], axis=1),
    )


def phase_errors(data: str, parting: Parting) -> dict[str, float]:
    """Return the attitude errors at the end [rad], against the fourth order, which is right to 1e-7 rad."""
    finer = part(data, order=4)
    pairs = {"craft": (parting.x_craft, finer.x_craft), "cargo": (parting.x_cargo, finer.x_cargo)}
    return {body: float(angle(*(quaternion.to_matrix(x.dq_IB[-1, :4]) for x in pair))) for body, pair in pairs.items()}


def craft_alone(parting: Parting) -> tuple[Array, float]:
    """Return principal moments [kg m^2] and energy [J] of the spacecraft without its cargo."""
    last = PoseState(*(a[-1] for a in parting.x_craft))
    return np.linalg.eigvalsh(spatial.parts(parting.craft.M)[2]), float(parting.craft.energy(last))


@case("dqvi/fig13", title=f"Separation of the cargo, 3 s + 3 s: {BOTH}")
def fig13(seed: int) -> Result:
    """Let the cargo go: energy, momenta and the joint centre of mass, with the filler and as printed."""
    filled, printed = ({data: part(data, filler=form) for data in DATA} for form in (None, 0.0))
    metrics: dict[str, Metric] = {"unphysical": UNPHYSICAL}
    checks = []
    for data in DATA:
        own_changes, as_printed = changes(filled[data]), changes(printed[data])
        metrics |= {f"{data}_{name}": float(x.max()) for name, x in own_changes._asdict().items()}
        metrics |= {f"{data}_printed_form_{name}": float(x.max()) for name, x in as_printed._asdict().items()}
        moments, energy = craft_alone(filled[data])
        metrics |= {f"{data}_craft_moments_kg_m2": moments.tolist(), f"{data}_craft_energy_J": energy}
        metrics |= {f"{data}_{body}_phase_rad": error for body, error in phase_errors(data, filled[data]).items()}
        checks += _conserved(data, own_changes, filled[data])
        checks += _momenta(f"{data}, printed form", as_printed)
    moments, energy = craft_alone(filled["paper"])
    checks += [
        close("paper: smallest moment of the spacecraft alone, not definite [kg m^2]", moments[0], -1818.0, tol=0.5),
        close("paper: energy of the spacecraft alone, negative [J]", energy, -368.0, tol=0.5),
        close("paper: printed form, joint centre of mass [m]", changes(printed["paper"]).com_m.max(), 2.1e-4, rel=0.03),
        at_least(
            "consistent: smallest moment of the spacecraft alone [kg m^2]", craft_alone(filled["consistent"])[0][0], 0.0
        ),
    ]
    return Result(metrics, checks, lambda figure: draw(figure, filled, printed))


def _conserved(data: str, own_changes: Changes, parting: Parting) -> list[Check]:
    """Everything, at the moment of parting and over the whole flight."""
    at = FPS * SECONDS  # kept twice: as the last of one body and as the first of two
    jump = abs(parting.energy[at + 1] / parting.energy[at] - 1.0)
    return [
        at_most(f"{data}: energy jumps at parting by, relative", jump, 1e-11),
        at_most(f"{data}: energy, relative change", own_changes.energy.max(), 1e-11),
        at_most(f"{data}: joint centre of mass moves by [m]", own_changes.com_m.max(), 1e-13),
        *_momenta(data, own_changes),
    ]


def _momenta(what: str, own_changes: Changes) -> list[Check]:
    """They stay in either form."""
    return [
        at_most(f"{what}: angular momentum, relative change", own_changes.angular.max(), 1e-11),
        at_most(f"{what}: linear momentum, relative change", own_changes.linear.max(), 1e-11),
    ]


def draw(figure: Figure, partings: dict[str, Parting], printed: dict[str, Parting]) -> None:
    """The vectors from the separation point to the two centres of mass, as in the paper, and what is conserved."""
    figure.set_size_inches(15, 8.4)
    upper, lower = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.5, 1.0])[:, 0]
    for k, data in enumerate(DATA):
        _vectors(upper, k, data, partings[data])
    panels = lower.subplots(1, 4, sharex=True)
    labels = ("energy, relative [-]", "angular momentum, relative [-]", "linear momentum, relative [-]", "distance [m]")
    titles = ("change of energy", "of angular momentum", "of linear momentum", "of the joint centre of mass")
    for data, colour in zip(DATA, ("C0", "C1"), strict=True):
        for flights, style, form in ((partings, "-", "DQVI"), (printed, ":", "DQVI as printed")):
            for panel, values in zip(panels, changes(flights[data]), strict=True):
                panel.semilogy(
                    flights[data].t, np.maximum(values, 1e-17), style, color=colour, lw=1.2, label=f"{data}, {form}"
                )
    for panel, label, title in zip(panels, labels, titles, strict=True):
        panel.axvline(SECONDS, color="k", lw=0.6)
        panel.set(xlabel="time [s]", ylabel=label, title=title)
    lower.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


def _vectors(figure: Figure, k: int, data: str, parting: Parting) -> None:
    space = figure.add_subplot(1, 2, k + 1, projection="3d")
    for body, x, colour in ((parting.craft, parting.x_craft, "0.6"), (parting.part, parting.x_cargo, "k")):
        _, point = dual_quaternion.to_pose(x.dq_IB)
        centre = body.centre_of_mass(x)
        for j in range(0, len(parting.t), 6):
            space.plot(*np.stack([point[j], centre[j]]).T, color=colour, lw=0.8)
        name = "spacecraft" if colour == "0.6" else "cargo"
        space.plot(*centre.T, color=colour, lw=2.0, label=f"centre of mass of the {name}")
    space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", aspect="equal", title=TITLES[data])
    space.legend(loc="upper left", fontsize="small")
