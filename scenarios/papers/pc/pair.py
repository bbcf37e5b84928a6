"""Contact between two free bodies: random encounters of two clusters of balls."""

from typing import NamedTuple

import numpy as np

from gnc import noise, quaternion
from gnc.checks import at_least, at_most
from gnc.integrators.contact import Motion
from gnc.models.contact_body import BallBody, ContactPair, PairState
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.plots import Figure

LAWS = ((1.0, 0.0), (0.8, 0.3), (0.5, 0.6), (0.2, 0.0), (0.0, 0.8))  # restitution, friction
TRIALS, STEPS, H = 100, 120, 0.02
CORNERS = np.array([[0.6, 0.0, 0.0], [-0.3, 0.5, 0.0], [-0.3, -0.3, 0.4], [0.0, -0.2, -0.4]])
SOURCE = "PC; spec/contact.md: energy never rises where the tangential restitution equals the normal one"


class Run(NamedTuple):
    """One law of contact; axes: steps, trials."""

    energy: np.ndarray
    rise: float  # largest of a step, relative
    momentum: float  # largest change
    impacts: int
    lost: int


def body(mass: float) -> BallBody:
    """Return four balls that are one body."""
    centres = CORNERS - CORNERS.mean(axis=0)
    Theta = sum(0.25 * mass * (c @ c * np.eye(3) - np.outer(c, c)) for c in centres) + 0.004 * mass * np.eye(3)
    return BallBody(mass, Theta, centres, 0.2)


def start(seed: int, name: str, side: float) -> Motion:
    """Return bodies that fly towards each other, turning."""
    n = noise.normal(seed, TRIALS, name, (13,))
    place, speed = np.array([side, 0.0, 0.0]), np.array([-side, 0.0, 0.0])
    return Motion(quaternion.normalize(n[:, :4]), place + 0.2 * n[:, 4:7], n[:, 7:10], speed + 0.2 * n[:, 10:])


def run(seed: int, law: tuple[float, float]) -> Run:
    """Let pairs meet."""
    pair = ContactPair(body(1.0), body(2.5), *law)
    states = pair.fly(PairState(start(seed, "first", 1.5), start(seed, "second", -1.5)), STEPS, H)
    energy = np.stack([pair.energy(x) for x in states])
    momentum = np.stack([pair.momentum(x) for x in states])
    spins = np.stack([x.first.v_I for x in states])
    return Run(
        energy,
        float(np.nanmax(np.diff(energy, axis=0) / energy[0])),
        float(np.nanmax(np.abs(momentum - momentum[0]))),
        int(np.sum(np.abs(np.diff(spins, axis=0)).max(-1) > 1e-9)),
        int(np.isnan(energy[-1]).sum()),
    )


@case("pc/pair", title="Two bodies that hit each other: energy and momentum of the pair in random impacts")
def pair(seed: int) -> Result:
    """Count impacts, and the largest rise of energy and change of momentum in any step."""
    runs = [run(seed, law) for law in LAWS]
    rise, momentum = max(r.rise for r in runs), max(r.momentum for r in runs)
    impacts, lost = sum(r.impacts for r in runs), sum(r.lost for r in runs)
    return Result(
        {"impacts": impacts, "largest_rise": rise, "momentum_change": momentum, "lost": lost},
        [
            at_least("impacts", impacts, 300, "the number that is asked for"),
            at_most("largest rise of energy in a step, relative", rise, 1e-14, SOURCE),
            at_most("momentum of the pair [kg m/s, kg m^2/s]", momentum, 1e-12, "Newton's third law, at one point"),
            at_most("trials whose impacts did not converge", lost, 0, "contact_pair.SWEEPS"),
        ],
        lambda figure: draw(figure, runs),
    )


def draw(figure: Figure, runs: list[Run]) -> None:
    """Energy of the first pairs."""
    axes = figure.subplots()
    for r, (e, mu) in zip(runs, LAWS, strict=True):
        axes.step(H * np.arange(STEPS + 1), r.energy[:, 0] / r.energy[0, 0], label=f"e = {e:g}, $\\mu$ = {mu:g}")
    axes.set(xlabel="time [s]", ylabel="energy of the pair / start [-]", title="One pair of each law")
    axes.legend()
