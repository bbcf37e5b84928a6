"""LGVI section 5: three balls on an equilateral triangle in orbit around a centre of attraction, over 1000 s.

The paper draws conservation (Figs. 3, 4); the attitude error stands beside it. The integrator in question is of second
order and takes h = 0.01 s; the same composed to fourth order, and RK4, are its company.

The truth is the fourth-order integrator at a quarter of the step, itself held against DOP853 at 1e-13 over the first
50 s (which would take a quarter of a minute for all of them). Eq. (22), the Lagrangian side, is the same motion as
eq. (23) without any momentum.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnc import quaternion
from gnc.batch import batched
from gnc.checks import Check, at_least, at_most, close
from gnc.integrators import fields, potential
from gnc.linalg import array, cross, solve3
from gnc.models.flight import Flight, fly
from gnc.models.potential_body import PotentialBody, PotentialState
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.plots import Axes, Figure, attitude_errors_over_time, errors_over_time, legend_below

Array = NDArray[Any]

MASS, RADIUS = 3.0, 0.1  # of three balls of unit mass; of each [kg, m]
CORNERS = np.radians([90.0, 210.0, 330.0])
ARMS = np.stack([np.cos(CORNERS), np.sin(CORNERS), np.zeros(3)], axis=-1) / np.sqrt(3.0)  # a triangle of side 1 m
SPREAD = ARMS.T @ ARMS + 3 * RADIUS**2 / 5 * np.eye(3)
J = np.trace(SPREAD) * np.eye(3) - SPREAD
FIELD, PARAMETERS = fields.point_masses(3), (1.0, np.ones(3), ARMS)
H, STEPS, EVERY = 0.01, 100_000, 10
WATCHED = 501  # kept states, of the first 50 s, that DOP853 stands behind


def body(order: int) -> PotentialBody:
    """The three balls."""
    return PotentialBody(MASS, J, FIELD, PARAMETERS, order)


def start(p_I: tuple[float, float, float] = (0.0, 1.0, 0.0)) -> PotentialState:
    """The paper's start; its w0 = (1, 2, 3) is twice the angular momentum.

    Erratum: the printed p0 = (1, 0, 0) is radial and falls into the centre; (0, 1, 0) is the orbit of Fig. 2
    (test_erratum_section_5_the_printed_momentum_falls_into_the_centre).
    """
    w_B = np.linalg.solve(J, 0.5 * np.array([1.0, 2.0, 3.0]))
    return PotentialState(np.array([1.0, 0, 0, 0]), w_B, np.array([8.0, 0, 0]), np.array(p_I) / MASS)


# The runs that all figures share


@batched("(4),(3),(3),(3),(3,3),(),()->(4),(3),(3),(3)")
def rk4_step(q_IB, w_B, r_I, v_I, J, mass, h):
    """Take a classical step of fourth order."""

    def rate(y):
        q, w = y[:4], y[4:7]
        torque_B, force_I = FIELD.wrench(quaternion.normalize(q), y[7:10], *map(array, PARAMETERS))
        return np.concatenate(
            [quaternion.derivative(q, w), solve3(J, cross(J @ w, w) + torque_B), y[10:], force_I * (1.0 / mass)]
        )

    y = np.concatenate([q_IB, w_B, r_I, v_I])
    k1 = rate(y)
    k2 = rate(y + (0.5 * h) * k1)
    k3 = rate(y + (0.5 * h) * k2)
    k4 = rate(y + h * k3)
    y = y + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)
    return y[:4], y[4:7], y[7:10], y[10:]


@functools.cache
def flights() -> dict[str, Flight]:
    """The orbit by the three methods, at the same step."""
    rk4 = fly(start(), lambda x, _, n: PotentialState(*rk4_step.repeat(n, *x, J, MASS, H)), STEPS, EVERY, H, 0.0)
    return {
        "LGVI, 2nd order": body(2).fly(start(), STEPS, H, EVERY),
        "LGVI, 4th order": body(4).fly(start(), STEPS, H, EVERY),
        "RK4": rk4,
    }


@functools.cache
def dop853() -> Array:
    """The attitudes of the first 50 s by DOP853, force and torque summed ball by ball."""
    from scipy.integrate import solve_ivp  # takes a moment to load

    def rate(_: float, y: Array) -> Array:
        q, w, r, v = y[:4], y[4:7], y[7:10], y[10:]
        R = quaternion.to_matrix(q / np.sqrt(q @ q))
        to_balls = R.T @ r + ARMS
        pulls = -to_balls / np.sum(to_balls**2, axis=1, keepdims=True) ** 1.5
        torque = [
            ARMS[:, 1] @ pulls[:, 2],
            -(ARMS[:, 0] @ pulls[:, 2]),
            ARMS[:, 0] @ pulls[:, 1] - ARMS[:, 1] @ pulls[:, 0],
        ]
        p = np.diag(J) * w
        turn = [p[1] * w[2] - p[2] * w[1], p[2] * w[0] - p[0] * w[2], p[0] * w[1] - p[1] * w[0]]
        return np.concatenate(
            [quaternion.derivative(q, w), np.add(turn, torque) / np.diag(J), v, R @ pulls.sum(0) / MASS]
        )

    t = H * EVERY * np.arange(WATCHED)
    y = solve_ivp(rate, (0.0, t[-1]), np.concatenate(start()), "DOP853", t_eval=t, rtol=1e-13, atol=1e-14).y
    return quaternion.normalize(y[:4].T)


class Attitude(NamedTuple):
    """Attitude errors."""

    degrees: dict[str, Array]  # of each method, over the whole flight
    truth_deg: float  # largest difference between truth and DOP853


@functools.cache
def attitude() -> Attitude:
    """How far the attitude of each method is from the truth."""
    truth = body(4).fly(start(), 4 * STEPS, H / 4, 4 * EVERY).x.q_IB
    against_dop853 = np.degrees(quaternion.angle_between(truth[:WATCHED], dop853()))
    errors = {
        name: np.degrees(quaternion.angle_between(quaternion.normalize(flight.x.q_IB), truth))
        for name, flight in flights().items()
    }
    return Attitude(errors, float(against_dop853.max()))


def attitude_metrics() -> dict[str, float]:
    """The numbers that stand beside every conservation figure: largest errors within 100 and 1000 s."""
    methods = zip(("lgvi2", "lgvi4", "rk4"), attitude().degrees.values(), strict=True)
    return {
        f"attitude_deg_{t}s_{name}": float(error[: round(t / (H * EVERY)) + 1].max())
        for name, error in methods
        for t in (100, 1000)
    }


def attitude_checks() -> list[Check]:
    """Second order is 16 deg wrong by the end, in spite of all that it conserves."""
    numbers = attitude_metrics()
    return [
        at_most("truth against DOP853 over 50 s [deg]", attitude().truth_deg, 1e-6),
        at_least("attitude error of 2nd order within 1000 s [deg]", numbers["attitude_deg_1000s_lgvi2"], 10.0),
        at_most("attitude error of 4th order within 1000 s [deg]", numbers["attitude_deg_1000s_lgvi4"], 1e-3),
    ]


def draw_attitude(axes: Axes, t: Array) -> None:
    """The panel beside conservation."""
    attitude_errors_over_time(axes, t, attitude().degrees, "4th order at h/4, checked by DOP853")


# Figure 2: the orbit


@case("lgvi/fig2", title="Three balls in orbit: path of the centre of mass, and the turning body")
def fig2(seed: int) -> Result:
    """Fly 1000 s; the distance stays between the two apsides that the paper draws."""
    t, x = flights()["LGVI, 2nd order"]
    r = np.linalg.norm(x.r_I, axis=-1)
    period = orbital_period(t, r)
    return Result(
        {
            "r_min_m": r.min(),
            "r_max_m": r.max(),
            "period_s": period,
            "E0_J": body(2).energy(start()),
            **attitude_metrics(),
        },
        [
            close("smallest distance [m]", r.min(), 6.383, tol=5e-4),
            close("largest distance [m]", r.max(), 8.0, tol=5e-4),
            close("energy at the start [J]", float(body(2).energy(start())), 2.123540, tol=5e-7),
            *attitude_checks(),
        ],
        lambda figure: draw_orbit(figure, t, x, period),
    )


def orbital_period(t: Array, r: Array) -> float:
    """The time from the start, at apoapsis, to the next apoapsis."""
    away = (r[1:-1] > r[:-2]) & (r[1:-1] >= r[2:]) & (r[1:-1] > 7.9)
    return float(t[1:-1][away][0])


def draw_orbit(figure: Figure, t: Array, x: PotentialState, period: float) -> None:
    """Centre of mass over 1000 s, triangles over one orbit, and the attitude error."""
    panels = figure.subplot_mosaic("AB;CC", height_ratios=(2.2, 1.0))
    path, turning = panels["A"], panels["B"]
    path.plot(x.r_I[:, 0], x.r_I[:, 1], lw=0.5, color="C0")
    path.set_title("Centre of mass, 0 to 1000 s", fontsize=10)
    one = np.flatnonzero(t <= period)[::30]
    colours = figure_colours(len(one))
    for k, colour in zip(one, colours, strict=True):
        balls = x.r_I[k] + quaternion.rotate(x.q_IB[k], ARMS)
        turning.fill(balls[:, 0], balls[:, 1], facecolor=(*colour[:3], 0.3), edgecolor=colour, lw=0.7)
    turning.plot(x.r_I[: one[-1], 0], x.r_I[: one[-1], 1], color="0.6", lw=0.6, zorder=0)
    turning.set_title(f"The body every 3 s of one orbit ({period:.0f} s, dark to light)", fontsize=10)
    for axes in (path, turning):
        axes.plot(0.0, 0.0, "k+", ms=8)
        axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
        axes.grid(alpha=0.3)
    draw_attitude(panels["C"], t)
    legend_below(figure, panels["C"], 3)


def figure_colours(n: int) -> list[tuple[float, ...]]:
    """Colours from dark to light."""
    from matplotlib import colormaps

    return [tuple(c) for c in colormaps["viridis"](np.linspace(0.0, 0.95, n))]


# Figure 3: energy and unit norm


@case("lgvi/fig3", title="Three balls in orbit: errors of energy and of the quaternion's norm")
def fig3(seed: int) -> Result:
    """Energy swings and does not drift; the norm stays at round-off without normalising."""
    t = flights()["RK4"].t
    energy = {name: body(2).energy(flight.x) for name, flight in flights().items()}
    change = {name: E - E[0] for name, E in energy.items()}
    norm = {name: np.linalg.norm(flight.x.q_IB, axis=-1) - 1.0 for name, flight in flights().items()}
    second, fourth, rk4 = (np.abs(e).max() for e in change.values())
    halves = np.split(np.abs(change["LGVI, 2nd order"][1:]), 2)
    unit, _, unit_rk4 = (np.abs(e).max() for e in norm.values())
    metrics = {
        "E0_J": energy["RK4"][0],
        "dE_J_lgvi2": second,
        "dE_J_lgvi4": fourth,
        "dE_J_rk4": rk4,
        "unit_lgvi2": unit,
    }
    return Result(
        {**metrics, "unit_rk4": unit_rk4, **attitude_metrics()},
        [
            close("energy at the start [J]", energy["RK4"][0], 2.123540, tol=5e-7),
            close("energy, largest change [J]", second, 6.3e-7, tol=0.1e-7),
            close("the same in the second half, over the first", halves[1].max() / halves[0].max(), 1.0, tol=0.05),
            at_most("unit norm, largest error", unit, 1e-13),
            *attitude_checks(),
        ],
        lambda figure: draw_invariants(figure, t, change, norm),
    )


def draw_invariants(figure: Figure, t: Array, change: dict[str, Array], norm: dict[str, Array]) -> None:
    """Energy, norm, and the attitude error."""
    panels = figure.subplot_mosaic("AB;CC")
    errors_over_time(panels["A"], t, change)
    panels["A"].set_ylabel("$|E - E_0|$ [J]")
    panels["A"].set_title("Energy", fontsize=10)
    errors_over_time(panels["B"], t, norm)
    panels["B"].set_ylabel(r"$|\,|q| - 1\,|$ [-]")
    panels["B"].set_title("Unit norm of the quaternion", fontsize=10)
    draw_attitude(panels["C"], t)
    legend_below(figure, panels["C"], 3)


# Figure 4: angular momentum


@case("lgvi/fig4", title="Three balls in orbit: error of the total angular momentum")
def fig4(seed: int) -> Result:
    """Orbit and spin together keep their angular momentum to round-off."""
    t = flights()["RK4"].t
    momentum = {
        name: body(2).momentum(flight.x._replace(q_IB=quaternion.normalize(flight.x.q_IB)))
        for name, flight in flights().items()
    }
    change = {name: np.linalg.norm(L - L[0], axis=-1) for name, L in momentum.items()}
    second, fourth, rk4 = (e.max() for e in change.values())
    size = float(np.linalg.norm(momentum["RK4"][0]))
    return Result(
        {"L0": size, "dL_lgvi2": second, "dL_lgvi4": fourth, "dL_rk4": rk4, **attitude_metrics()},
        [
            at_most(
                "angular momentum, largest change [kg m^2/s]", second, 1e-11
            ),  # 1e-12 of it: what is left is round-off
            *attitude_checks(),
        ],
        lambda figure: draw_momentum(figure, t, change),
    )


def draw_momentum(figure: Figure, t: Array, change: dict[str, Array]) -> None:
    """Momentum, and the attitude error."""
    above, below = figure.subplots(2, 1, sharex=True)
    errors_over_time(above, t, change)
    above.set(xlabel="", ylabel="total angular momentum error\n" + r"$|L - L_0|$ [kg m$^2$/s]")
    draw_attitude(below, t)
    legend_below(figure, below, 3)


COMPARED = (100, 1000, 10_000)
SOURCE = "LGVI eqs. (19), (22) against eq. (23): one discrete Lagrangian, eq. (16)"


@case("lgvi/eq22", title="Three balls in orbit by the Lagrangian side (eq. 22) and by the Hamiltonian side (eq. 23)")
def eq22(seed: int) -> Result:
    """Fly both up to 100 s and compare poses; what differs is round-off, which the motion carries on."""
    method, x = potential.integrator(FIELD), start()
    state = x.q_IB, J @ x.w_B, x.r_I, MASS * x.v_I
    parameters = J, np.zeros(3), MASS, *PARAMETERS, H
    phi, d_I = method.increment_start(*state, *parameters)
    turned, moved = [], []
    for n in COMPARED:
        q_H, _, r_H, _ = method.step.repeat(n, *state, *parameters)
        q_L, _, r_L, _ = method.increment_step.repeat(n, state[0], phi, state[2], d_I, *parameters)
        turned.append(float(quaternion.angle_between(q_H, q_L)))
        moved.append(float(np.linalg.norm(r_H - r_L)))
    return Result(
        {"steps": COMPARED, "attitude_difference_rad": turned, "place_difference_m": moved},
        [
            at_most("attitude, 1000 steps [rad]", turned[1], 1e-12, SOURCE),
            at_most("place, 1000 steps [m]", moved[1], 1e-12, SOURCE),
            at_most("attitude, 10 000 steps [rad]", turned[2], 1e-9, SOURCE),
        ],
    )
