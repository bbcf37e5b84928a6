"""The truth of the attitude scenarios: one kernel or many, its books, and DOP853 as the judge."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.draws import Draws
from gnc.models.actuators import Magnetorquers
from gnc.scenarios.attitude import build, sections
from gnc.scenarios.attitude.satellite import Command, Satellite

H = 0.1
SKY = build.sky(sections.Orbit(), H, 60.0)
VEHICLE = sections.Vehicle(pressure_centre_m=(0.02, -0.01, 0.03))


def satellite(n, torquers=None, sky=SKY):
    draws = Draws(3, np.arange(n))
    J = draws.inertia("J", np.array(VEHICLE.J_kgm2), 10.0)
    external = build.external(VEHICLE, 0.5 * draws.direction("dipole"))
    body = Satellite(J, sky, external, build.wheels(sections.Wheels()), torquers)
    q = draws.near("q", np.array([1.0, 0.0, 0.0, 0.0]), 60.0)
    return body, body.start(q, draws.vector("w", 0.05), draws.vector("wheels", 0.008, 4))


def command(n):
    draws = Draws(4, np.arange(n))
    return Command(draws.vector("torque", 2e-3, 4), draws.vector("dipole", 0.1))


def fly(body, x, given, steps, h=H):
    for k in range(steps):
        x = body.step(x, given, k * h, h)
    return x


@pytest.mark.parametrize("torquers", [None, Magnetorquers(dipole_limit=0.2)])
def test_one_kernel_does_what_the_parts_do(torquers):
    body, x = satellite(5, torquers)
    given = command(5)
    m_B = np.zeros(3) if torquers is None else torquers.dipole_B(given.dipole_B)
    for k in range(20):
        parts = body._step_by_step(x, given, m_B, k * H, H)
        x = body.step(x, given, k * H, H)
        for name, a, b in zip(x._fields, x, parts, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-18, err_msg=name)


def test_the_books_close_with_every_torque_at_work():
    body, start = satellite(4, Magnetorquers(dipole_limit=0.2))
    end = fly(body, start, command(4), 500)
    momentum = lambda x: quaternion.rotate(x.q_IB, x.P_B)  # noqa: E731
    gap = momentum(end) - momentum(start) - end.impulse_I
    assert np.abs(end.impulse_I).max() > 1e-4
    assert np.abs(gap).max() < 1e-14


def test_the_motion_converges_to_that_of_dop853_with_second_order():
    body, x = satellite(1, Magnetorquers(dipole_limit=10.0), build.sky(sections.Orbit(), 0.002, 20.0))
    given, duration = command(1), 20.0
    given = given._replace(wheels=0.2 * given.wheels)  # so that no wheel reaches its limit
    J, axes, u = body.J[0], body.wheels.axes_B, given.wheels[0]

    def rate(t, y):
        q, P, rho = y[:4] / np.linalg.norm(y[:4]), y[4:7], y[7:11]
        w = np.linalg.solve(J, P - axes.T @ rho)
        B_B = quaternion.inverse_rotate(q, body.sky.at(t).B_I)
        tau = body.disturbance(q[None], t)[0] + np.cross(given.dipole_B[0], B_B)
        q_dot = 0.5 * quaternion.mul(q, np.array([0.0, *w]))
        return np.concatenate([q_dot, tau - np.cross(w, P), -u])

    y0 = np.concatenate([x.q_IB[0], x.P_B[0], x.wheels[0]])
    y = solve_ivp(rate, (0.0, duration), y0, method="DOP853", rtol=1e-11, atol=1e-14, max_step=H).y[:, -1]
    steps, errors = np.array([0.4, 0.2, 0.1]), []
    for h in steps:
        end = fly(body, x, given, round(duration / h), h)
        errors.append(np.linalg.norm(quaternion.log(quaternion.mul(quaternion.conj(y[:4]), end.q_IB[0]))))
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(order - 2.0) < 0.05 and errors[-1] < 1e-5


def test_a_trial_that_turns_too_fast_for_one_step_takes_substeps_and_harms_no_other():
    body, x = satellite(3)
    fast = x._replace(P_B=x.P_B * np.array([[1.0], [200.0], [1.0]]), w_B=x.w_B * np.array([[1.0], [200.0], [1.0]]))
    together, slow = fly(body, fast, command(3), 10), fly(body, x, command(3), 10)
    assert np.isfinite(together.q_IB).all()
    for name, a, b in zip(together._fields, together, slow, strict=True):
        assert np.array_equal(a[[0, 2]], b[[0, 2]]), name
    np.testing.assert_allclose(np.linalg.norm(together.q_IB, axis=-1), 1.0, rtol=1e-13)


def test_a_lost_trial_stays_lost_and_harms_no_other():
    body, x = satellite(3)
    holed = x._replace(P_B=np.where([[False], [True], [False]], np.nan, x.P_B))
    together, whole = fly(body, holed, command(3), 5), fly(body, x, command(3), 5)
    assert np.isnan(together.P_B[1]).all()
    assert np.array_equal(together.q_IB[[0, 2]], whole.q_IB[[0, 2]])
