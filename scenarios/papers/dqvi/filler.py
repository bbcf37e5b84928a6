"""Why the dual-scalar slot of the inertia must hold the mass: the whole turns while its centre of mass moves.

It has to fly straight at constant energy. With the slot empty, as DQVI prints it, the discrete kinetic energy lacks the
motion along the axis of rotation; while the centre of mass rests, as in all flights of the paper, that does not show.
"""

from typing import NamedTuple

import numpy as np

from gnc import quaternion
from gnc.checks import at_most, close
from gnc.scenarios.papers.case import Metric, Result, case
from gnc.scenarios.papers.dqvi.data import BOTH, DATA, R_G, TITLES, UNPHYSICAL, Array, Setting, both, start
from gnc.scenarios.papers.dqvi.flights import angle, reference
from gnc.scenarios.plots import Figure

W_B, VELOCITY, SECONDS = (1.0, 1.0, 1.0), (2.0, -1.0, 0.5), 60  # [rad/s, m/s, s]
FORMS = {"printed": 0.0, "filled": None}  # the filler of PoseBody
MINUTE = Setting(W_B, fps=10, seconds=SECONDS, keep=600)  # how it turns, which does not depend on how it moves
RATES_FPS = (10, 20, 40, 80)  # the first is the paper's


class Straight(NamedTuple):
    """How far a flight is from straight and from constant energy; axes: times, data."""

    t: Array
    departure_m: Array
    energy: Array
    phase_rad: Array  # attitude error at the end


def fly(form: str, fps: int, velocity: tuple[float, float, float] = VELOCITY) -> Straight:
    """Fly with one of FORMS."""
    body = both(filler=FORMS[form])
    flight = body.fly(start(W_B, velocity), SECONDS * fps, 1.0 / fps)
    line = R_G + flight.t[:, None, None] * np.asarray(velocity)
    energy = body.energy(flight.x)
    departure = np.linalg.norm(body.centre_of_mass(flight.x) - line, axis=-1)
    turned = quaternion.to_matrix(flight.x.dq_IB[-1, :, :4])
    return Straight(flight.t, departure, np.abs(energy / energy[0] - 1.0), angle(turned, reference(MINUTE)[-1]))


@case("dqvi/filler", title=f"A turning body whose centre of mass moves needs the filler: {BOTH}")
def filler(seed: int) -> Result:
    """Fly 60 s at 10 fps and finer, with both forms; once with the centre of mass at rest, where both are the same."""
    moving = {form: [fly(form, fps) for fps in RATES_FPS] for form in FORMS}
    resting = [fly(form, RATES_FPS[0], (0.0, 0.0, 0.0)) for form in FORMS]
    metrics: dict[str, Metric] = {"unphysical": UNPHYSICAL}
    checks = []
    for k, data in enumerate(DATA):
        for form, flights in moving.items():
            metrics[f"{data}_{form}_departure_m"] = [float(each.departure_m[:, k].max()) for each in flights]
            metrics[f"{data}_{form}_phase_rad"] = [float(each.phase_rad[k]) for each in flights]
            metrics[f"{data}_{form}_energy"] = [float(each.energy[:, k].max()) for each in flights]
        filled, printed = moving["filled"][0], [each.departure_m[:, k].max() for each in moving["printed"]]
        order = -np.polyfit(np.log(RATES_FPS), np.log(printed), 1)[0]
        checks += [
            at_most(f"{data}: filled, departure at 10 fps [m]", filled.departure_m[:, k].max(), 3e-12),
            at_most(f"{data}: filled, energy at 10 fps, relative", filled.energy[:, k].max(), 2e-14),
            close(f"{data}: printed, order in which the departure falls", order, 2.0, tol=0.1),
            at_most(
                f"{data}: at rest, departure in either form [m]", max(x.departure_m[:, k].max() for x in resting), 3e-12
            ),
        ]
    printed_first = moving["printed"][0]
    checks += [
        close("paper: printed, departure at 10 fps [m]", printed_first.departure_m[:, 0].max(), 0.311, tol=5e-4),
        close("paper: printed, energy at 10 fps, relative", printed_first.energy[:, 0].max(), 8.9e-4, tol=5e-6),
    ]
    return Result(metrics, checks, lambda figure: draw(figure, moving))


def draw(figure: Figure, moving: dict[str, list[Straight]]) -> None:
    """Departure and energy over time at the first rate, and the departure over the rate."""
    figure.set_size_inches(14, 5)
    departure, energy, order = figure.subplots(1, 3)
    for form, style in (("printed", "-"), ("filled", "--")):
        for k, data in enumerate(DATA):
            flights, label = moving[form], f"{TITLES[data]}, {form}"
            look = {"color": f"C{k}", "ls": style, "lw": 1.2, "label": label}
            departure.semilogy(flights[0].t[1:], np.maximum(flights[0].departure_m[1:, k], 1e-17), **look)
            energy.semilogy(flights[0].t[1:], np.maximum(flights[0].energy[1:, k], 1e-17), **look)
            order.loglog(RATES_FPS, [each.departure_m[:, k].max() for each in flights], marker="o", **look)
    guide = moving["printed"][0].departure_m[:, 0].max() * (np.array(RATES_FPS) / RATES_FPS[0]) ** -2.0
    order.loglog(RATES_FPS, 2.0 * guide, "k:", lw=0.9, label="second order")
    order.set_xticks(RATES_FPS, [str(fps) for fps in RATES_FPS])
    order.minorticks_off()
    departure.set(xlabel="time [s]", ylabel="departure from the straight line [m]", title=f"{RATES_FPS[0]} fps")
    energy.set(xlabel="time [s]", ylabel="energy error, relative [-]", title=f"{RATES_FPS[0]} fps")
    order.set(xlabel="frames per second", ylabel="largest departure [m]", title=f"within {SECONDS} s")
    speed = np.linalg.norm(VELOCITY)
    figure.suptitle(f"Centre of mass of a turning body at {speed:.2g} m/s: it should fly straight")
    figure.legend(*order.get_legend_handles_labels(), loc="outside lower center", ncols=5)
