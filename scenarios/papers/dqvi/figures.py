"""Figures of the flights before parting: projections, error levels. One row for each set of data."""

from typing import Any

import numpy as np

from gnc.scenarios.papers.dqvi import flights
from gnc.scenarios.papers.dqvi.data import DATA, TITLES, Array, Setting
from gnc.scenarios.papers.dqvi.flights import METHODS
from gnc.scenarios.plots import Axes, Figure

COLOURS = {"dqvi": "C0", "dqvi4": "C2", "quat_rk4": "C1", "euler_rk4": "C3"}
STYLES: dict[str, dict[str, Any]] = {  # the two RK4 have the same energy: one must be seen through the other
    method: {"color": colour, "lw": 2.2 if method == "euler_rk4" else 0.7, "zorder": 1 if method == "euler_rk4" else 2}
    for method, colour in COLOURS.items()
}
SHOWN = ("dqvi", "quat_rk4", "euler_rk4")  # the three panels of the paper
LABELS = {
    "energy": "energy error, relative [-]",
    "angular": "angular momentum error, relative [-]",
    "com_m": "centre-of-mass departure [m]",
    "phase_rad": "attitude (phase) error [rad]",
}
LEAST = 1e-17  # what a logarithmic axis shows of an exact zero


def draw_projections(figure: Figure, setting: Setting) -> None:
    """The three methods' paths with the exact ring, and how far each is from where it may be."""
    figure.set_size_inches(15, 7.6)
    panels = figure.subplots(2, 4, width_ratios=[1, 1, 1, 1.15])
    for k, data in enumerate(DATA):
        for panel, method in zip(panels[k], SHOWN, strict=False):
            _path(panel, method, setting, k)
        panels[k, 0].set_ylabel(f"{TITLES[data]}\n\n[m]")
        _departures(panels[k, 3], setting, k)
    figure.suptitle(f"Separation point seen along the angular momentum, {_described(setting)}")
    _legend(figure, panels[0, 0], panels[0, 3])


def _path(panel: Axes, method: str, setting: Setting, k: int) -> None:
    path = flights.projection(method, setting)[:, k]
    style: dict[str, Any] = (
        {"lw": 0.25} if setting.seconds <= 240 else {"ls": "none", "marker": ".", "ms": 2.0, "mew": 0}
    )
    panel.plot(*path.T, color=COLOURS[method], **style)
    turn = np.linspace(0.0, 2 * np.pi, 361)
    for radius in flights.rings(setting)[k]:
        panel.plot(radius * np.cos(turn), radius * np.sin(turn), "k--", lw=0.9, label="exact ring")
    panel.plot(*flights.exact_end(setting)[k], "k+", ms=13, mew=2, label="exact end")
    panel.plot(*path[-1], "o", color="w", mec="k", ms=6, label="computed end")
    phase = flights.errors(method, setting).phase_rad[-1, k]
    panel.set(aspect="equal", xlabel="[m]", title=f"{METHODS[method]}: phase error {phase:.2g} rad")


def _departures(panel: Axes, setting: Setting, k: int) -> None:
    for method, label in METHODS.items():
        values = np.maximum(np.maximum.accumulate(flights.departure(method, setting)[1:, k]), LEAST)
        panel.semilogy(setting.t[1:] / _unit(setting)[0], values, label=label, **STYLES[method])
    panel.set(xlabel=_unit(setting)[1], ylabel="largest so far [m]", title="departure from sphere and ring")
    panel.minorticks_off()


def draw_levels(figure: Figure, setting: Setting) -> None:
    """Energy, angular momentum, centre of mass and attitude of the four methods over time."""
    figure.set_size_inches(15, 7.6)
    panels = figure.subplots(2, 4, sharex=True)
    _levels(panels, setting)
    figure.suptitle(f"Error levels, {_described(setting)}")
    _legend(figure, panels[0, 0])


def _levels(panels: "np.ndarray", setting: Setting) -> None:
    """Fill two rows of four panels."""
    time, unit = _unit(setting)
    for method, label in METHODS.items():
        errors = flights.errors(method, setting)
        for k, row in enumerate(panels):
            for panel, quantity in zip(row, flights.QUANTITIES, strict=True):
                values = np.maximum(getattr(errors, quantity)[1:, k], LEAST)
                panel.semilogy(setting.t[1:] / time, values, label=label, **STYLES[method])
    for row, data in zip(panels, DATA, strict=True):
        for panel, quantity in zip(row, flights.QUANTITIES, strict=True):
            panel.set(ylabel=LABELS[quantity], title=TITLES[data])
            panel.minorticks_off()
    for panel in panels[-1]:
        panel.set_xlabel(unit)


def draw_long(figure: Figure, setting: Setting, counted: dict[int, Array]) -> None:
    """The same of 3 hours, and the energy errors of different numbers of iterations."""
    figure.set_size_inches(17, 7.6)
    panels = figure.subplots(2, 5, sharex=True)
    _levels(panels[:, :4], setting)
    for k, data in enumerate(DATA):
        for n, energy in counted.items():
            t_h = np.linspace(0.0, flights.COUNTED_S / 3600, len(energy))
            shown = np.maximum(np.abs(energy[1:, k]), LEAST)
            panels[k, 4].semilogy(t_h[1:], shown, color=f"C{n + 3}", lw=0.9, label=f"{n} iteration{'s' * (n > 1)}")
        panels[k, 4].set(ylabel=LABELS["energy"], title=f"{data}: DQVI at {flights.COUNTED_FPS} fps")
        panels[k, 4].legend(loc="center right", bbox_to_anchor=(1.0, 0.74), fontsize="small")
    panels[1, 4].set_xlabel("time [h]")
    figure.suptitle(f"Error levels, {_described(setting)}")
    _legend(figure, panels[0, 0])


def _unit(setting: Setting) -> tuple[float, str]:
    return (1.0, "time [s]") if setting.seconds <= 240 else (3600.0, "time [h]")


def _described(setting: Setting) -> str:
    if setting.seconds <= 240:
        return f"{setting.name}, {setting.seconds // 60} min"
    fourth = f"order 4 at {setting.order4_fps} fps, which solves the equation as often"
    return f"{setting.name}, {setting.seconds // 3600} h ({fourth})"


def _legend(figure: Figure, *panels: Axes) -> None:
    """One legend for all that is in the panels, each label once, with lines one can see."""
    handles: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    drawn = figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    for handle in drawn.get_lines():
        handle.set_linewidth(max(handle.get_linewidth(), 1.5))
