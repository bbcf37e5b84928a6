"""The body of seven degrees of freedom with its scaling free: what the perfect constraint holds back."""

from typing import NamedTuple

import numpy as np

from gnc.checks import at_most, within
from gnc.integrators import perfect_constraint
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.plots import Figure

THETA = np.array([[1.0, 0.1, 0.0], [0.1, 2.0, 0.2], [0.0, 0.2, 2.5]])
P0, NU0, OM0 = np.array([1.1, 0.2, -0.3, 0.1]), -0.4, np.array([0.5, -0.4, 0.8])  # it shrinks at first
SECONDS, STEPS = 10.0, (200, 400, 800)
SOURCE = "PC; docs/contact.md: |p|^4 is a parabola in time, p Theta Om p* is constant"


class Run(NamedTuple):
    """One step length."""

    t: np.ndarray
    s: np.ndarray  # |p|^2
    momentum: float  # largest change, relative
    energy: np.ndarray  # relative error


def fly(steps: int) -> Run:
    """Fly free, without scaling force and torque."""
    h, p, nu, Om = SECONDS / steps, P0, NU0, OM0
    states = [(P0, NU0, OM0)]
    for _ in range(steps):
        p, nu, Om = perfect_constraint.scaling_step(p, nu, Om, 0.0, np.zeros(3), THETA, h)
        states.append((p, nu, Om))
    ps, nus, Oms = (np.array(rows) for rows in zip(*states, strict=True))
    momentum = perfect_constraint.scaling_momentum(ps, Oms, THETA)
    energy = perfect_constraint.kinetic_energy(np.zeros(3), nus, Oms, 1.0, THETA)
    change = np.abs(momentum - momentum[0]).max() / np.linalg.norm(momentum[0])
    return Run(h * np.arange(steps + 1), np.sum(ps**2, -1), float(change), energy / energy[0] - 1.0)


def parabola(t: np.ndarray) -> np.ndarray:
    """Return |p|^4 = s0^2 + 2 s0 nu0 t + 4 T/tr(Theta) t^2."""
    s0, T = P0 @ P0, perfect_constraint.kinetic_energy(np.zeros(3), NU0, OM0, 1.0, THETA)
    return s0**2 + 2.0 * s0 * NU0 * t + 4.0 * T / np.trace(THETA) * t**2


@case("pc/scaling", title="Seven degrees of freedom, the scaling free: size, momentum and energy over 10 s")
def scaling(seed: int) -> Result:
    """Compare the size with its closed form, which holds for every inertia."""
    runs = [fly(steps) for steps in STEPS]
    errors = [float(np.abs(run.s**2 - parabola(run.t)).max()) for run in runs]
    energy = [float(np.abs(run.energy).max()) for run in runs]
    order = float(np.log2(errors[-2] / errors[-1]))
    worst = max(run.momentum for run in runs)
    return Result(
        {
            "size_error": errors,
            "order": order,
            "momentum": worst,
            "energy_error": energy,
            "size_end": float(runs[-1].s[-1]),
        },
        [
            within("order of the size's error", order, 1.95, 2.05, SOURCE),
            at_most("spatial angular momentum, relative", worst, 1e-12, SOURCE),
            at_most("energy error at the finest step, relative", energy[-1], energy[0] / 14.0, "of second order"),
        ],
        lambda figure: draw(figure, runs),
    )


def draw(figure: Figure, runs: list[Run]) -> None:
    """Size and energy error."""
    size, energy = figure.subplots(1, 2)
    size.plot(runs[-1].t, parabola(runs[-1].t), "k", lw=0.8, label="closed form")
    size.plot(runs[0].t[::8], runs[0].s[::8] ** 2, "o", ms=3, label=f"h = {SECONDS / STEPS[0]:g} s")
    size.set(xlabel="time [s]", ylabel="$|p|^4$ [-]", title="Size of the free body")
    size.legend()
    for run, steps in zip(runs, STEPS, strict=True):
        energy.plot(run.t, run.energy, lw=0.8, label=f"h = {SECONDS / steps:g} s")
    energy.set(xlabel="time [s]", ylabel="energy error, relative [-]", title="No trend")
    energy.legend()
