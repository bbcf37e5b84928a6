"""The truth of a craft that turns: its books, DOP853 as the judge, and trials that do not touch each other."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.config.base import validate
from gnc.draws import Draws
from gnc.models.craft.base import Site
from gnc.models.craft.rigid import RigidPart
from gnc.models.orbits.base import Circular

H = 0.1
SKY = Circular().sky(H, 60.0)
TABLE = {
    "J_error_percent": 10.0,
    "loads": {
        "gravity": {"kind": "gravity-gradient"},
        "dipole": {"kind": "dipole", "size_Am2": 0.5},
        "drag": {"kind": "drag", "pressure_centre_m": [0.02, -0.01, 0.03]},
    },
    "actuators": {
        "wheels": {"kind": "reaction-wheels", "start_Nms": 0.008},
        "torquers": {"kind": "magnetorquers", "dipole_limit_Am2": 0.2},
    },
    "start": {"about": "inertial", "attitude_sigma_deg": 60.0, "rate_sigma_deg_s": 3.0},
}


def craft(n, sky=SKY, **changes):
    part = validate({**TABLE, **changes}, RigidPart, "craft")
    body = part.truth(Site("sat", Draws(3, np.arange(n)), sky, None))
    return body, body.start()


def command(n):
    draws = Draws(4, np.arange(n))
    return draws.vector("torque", 2e-3, 4), draws.vector("dipole", 0.1)


def fly(body, x, given, steps, h=H):
    for k in range(steps):
        x = body.step(x, given, k * h, h)
    return x


def test_the_books_close_with_every_torque_at_work():
    body, start = craft(4)
    end = fly(body, start, command(4), 500)
    momentum = lambda x: quaternion.rotate(x.q_IB, x.P_B)  # noqa: E731
    assert np.abs(end.impulse_I).max() > 1e-4
    assert np.abs(momentum(end) - momentum(start) - end.impulse_I).max() < 1e-14
    assert body.observe(end, command(4), 50.0)["momentum_gap"].max() < 1e-13


def test_the_motion_converges_to_that_of_dop853_with_second_order():
    sky, duration = Circular().sky(0.002, 20.0), 20.0
    torquers = {"kind": "magnetorquers", "dipole_limit_Am2": 10.0}
    body, x = craft(1, sky, actuators={**TABLE["actuators"], "torquers": torquers})
    wheels, dipole = command(1)
    given = 0.2 * wheels, dipole  # so that no wheel reaches its limit
    J, axes, u = body.J[0], body.effectors[0].wheels.axes_B, given[0][0]

    def rate(t, y):
        q, P, rho = y[:4] / np.linalg.norm(y[:4]), y[4:7], y[7:11]
        w = np.linalg.solve(J, P - axes.T @ rho)
        B_B = quaternion.inverse_rotate(q, sky.at(t).B_I)
        loads = sum(np.broadcast_to(load.torque(q[None], sky.at(t)), (1, 3))[0] for load in body.loads)
        q_dot = 0.5 * quaternion.mul(q, np.array([0.0, *w]))
        return np.concatenate([q_dot, loads + np.cross(dipole[0], B_B) - np.cross(w, P), -u])

    y0 = np.concatenate([x.q_IB[0], x.P_B[0], x.effectors[0][0]])
    y = solve_ivp(rate, (0.0, duration), y0, method="DOP853", rtol=1e-9, atol=1e-12, max_step=1.0).y[:, -1]
    steps, errors = np.array([0.4, 0.2, 0.1]), []
    for h in steps:
        end = fly(body, x, given, round(duration / h), h)
        errors.append(np.linalg.norm(quaternion.log(quaternion.mul(quaternion.conj(y[:4]), end.q_IB[0]))))
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(order - 2.0) < 0.05 and errors[-1] < 1e-5


def leaves(x):
    return [*x[:-1], *x.effectors]


def test_a_trial_that_turns_too_fast_for_one_step_takes_substeps_and_harms_no_other():
    body, x = craft(3)
    fast = x._replace(P_B=x.P_B * np.array([[1.0], [200.0], [1.0]]), w_B=x.w_B * np.array([[1.0], [200.0], [1.0]]))
    together, slow = fly(body, fast, command(3), 10), fly(body, x, command(3), 10)
    assert np.isfinite(together.q_IB).all()
    for a, b in zip(leaves(together), leaves(slow), strict=True):
        assert np.array_equal(a[[0, 2]], b[[0, 2]])
    np.testing.assert_allclose(np.linalg.norm(together.q_IB, axis=-1), 1.0, rtol=1e-13)


def test_a_lost_trial_stays_lost_and_harms_no_other():
    body, x = craft(3)
    holed = x._replace(P_B=np.where([[False], [True], [False]], np.nan, x.P_B))
    together, whole = fly(body, holed, command(3), 5), fly(body, x, command(3), 5)
    assert np.isnan(together.P_B[1]).all()
    assert np.array_equal(together.q_IB[[0, 2]], whole.q_IB[[0, 2]])


@pytest.mark.parametrize(("about", "same"), [("inertial", np.array([1.0, 0.0, 0.0, 0.0])), ("anywhere", None)])
def test_a_start_is_where_it_is_said_to_be(about, same):
    _, x = craft(200, start={"about": about, "rate_deg_s": [1.0, 0.0, 0.0]})
    np.testing.assert_allclose(np.degrees(x.w_B), np.tile([1.0, 0.0, 0.0], (200, 1)), rtol=1e-12, atol=1e-14)
    if same is None:  # the mean of 200 unit quaternions on the sphere is 0.07 long: beyond 0.25 with probability 1e-7
        assert np.linalg.norm(x.q_IB.mean(axis=0)) < 0.25
    else:
        assert np.array_equal(x.q_IB, np.tile(same, (200, 1)))
