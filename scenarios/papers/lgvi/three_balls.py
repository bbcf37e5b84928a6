"""LGVI section 5: three balls on an equilateral triangle in orbit around a centre of attraction, over 1000 s.

The paper draws conservation (Figs. 3, 4); the attitude error stands beside it. The integrator in question is of second
order and takes h = 0.01 s; the same composed to fourth order, and RK4, are its company.

The truth is the fourth-order integrator at a quarter of the step, itself held against DOP853 at 1e-13 over the first
50 s (which would take a quarter of a minute for all of them).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnc import quaternion
from gnc.batch import batched
from gnc.integrators import fields
from gnc.linalg import array, cross, solve3
from gnc.models.flight import Flight, fly
from gnc.models.potential_body import PotentialBody, PotentialState

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
