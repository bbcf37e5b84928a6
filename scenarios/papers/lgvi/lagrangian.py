"""LGVI eq. (22), the Lagrangian side: the same motion as eq. (23) without any momentum."""

from __future__ import annotations

import numpy as np

from gnc import quaternion
from gnc.checks import at_most
from gnc.integrators import potential
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.papers.lgvi.three_balls import FIELD, MASS, PARAMETERS, H, J, start

STEPS = (100, 1000, 10_000)
SOURCE = "LGVI eqs. (19), (22) against eq. (23): one discrete Lagrangian, eq. (16)"


@case("lgvi/eq22", title="Three balls in orbit by the Lagrangian side (eq. 22) and by the Hamiltonian side (eq. 23)")
def eq22(seed: int) -> Result:
    """Fly both up to 100 s and compare poses; what differs is round-off, which the motion carries on."""
    method, x = potential.integrator(FIELD), start()
    state = x.q_IB, J @ x.w_B, x.r_I, MASS * x.v_I
    parameters = J, np.zeros(3), MASS, *PARAMETERS, H
    phi, d_I = method.increment_start(*state, *parameters)
    turned, moved = [], []
    for n in STEPS:
        q_H, _, r_H, _ = method.step.repeat(n, *state, *parameters)
        q_L, _, r_L, _ = method.increment_step.repeat(n, state[0], phi, state[2], d_I, *parameters)
        turned.append(float(quaternion.angle_between(q_H, q_L)))
        moved.append(float(np.linalg.norm(r_H - r_L)))
    return Result(
        {"steps": STEPS, "attitude_difference_rad": turned, "place_difference_m": moved},
        [
            at_most("attitude, 1000 steps [rad]", turned[1], 1e-12, SOURCE),
            at_most("place, 1000 steps [m]", moved[1], 1e-12, SOURCE),
            at_most("attitude, 10 000 steps [rad]", turned[2], 1e-9, SOURCE),
        ],
    )
