"""The truth of a rigid body against DOP853 and the books against PoseBody."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from gnc import dual_quaternion, noise, quaternion
from gnc.models.craft import body
from gnc.models.pose_body import PoseBody, PoseState

CENTRE = np.array([-1.0, 0.2, -0.1])
J = np.array([[120.0, 6, -4], [6, 90, 5], [-4, 5, 60]])
TARGET = PoseBody.of(200.0, CENTRE, J)
WRENCH = np.array([0.3, -0.2, 0.1, 2.0, 1.0, -1.5])


def step(x, wrench_B, h):
    """Move over h under a wrench about the origin, constant in body axes."""
    given = wrench_B, np.zeros(6), np.zeros(3), x.M, h
    P_B, p_I, impulse_I, work, r_1, J = body.leave(*x[:4], x.impulse_I, x.work, *given)
    q_IB, P_B = body.drift(x.q_IB, P_B, J, np.zeros(3), h)
    after = body.arrive(q_IB, P_B, r_1, p_I, impulse_I, work, *given)
    P_B, p_I, impulse_I, work, dq_IB, chi_B = after
    moved = {"q_IB": q_IB, "P_B": P_B, "r_I": r_1, "p_I": p_I, "dq_IB": dq_IB, "chi_B": chi_B}
    return x._replace(**moved, impulse_I=impulse_I, work=work)


def starts(n=4):
    q = quaternion.normalize(noise.normal(1, n, "q", 4))
    dq = dual_quaternion.from_pose(q, noise.normal(1, n, "r", 3))
    return dq, 0.1 * noise.normal(1, n, "chi", 6)


def newton_euler(dq, chi, t, wrench):
    """Fly about the centre of mass by DOP853: position, velocity, attitude as a matrix, rate in body axes."""
    q, r = dual_quaternion.to_pose(dq)
    R = Rotation.from_quat(q, scalar_first=True).as_matrix()
    tau = wrench[:3] - np.cross(CENTRE, wrench[3:])

    def rate(_, y):
        R, w = y[6:15].reshape(3, 3), y[15:]
        spin = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return [*y[3:6], *(R @ wrench[3:] / 200.0), *(R @ spin).ravel(), *np.linalg.solve(J, np.cross(J @ w, w) + tau)]

    first = [*(r + R @ CENTRE), *(R @ (chi[3:] + np.cross(chi[:3], CENTRE))), *R.ravel(), *chi[:3]]
    y = solve_ivp(rate, (0.0, t), first, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    R = y[6:15].reshape(3, 3)
    return y[:3] - R @ CENTRE, R, y[15:]


@pytest.mark.parametrize("k", range(2))
def test_the_flight_under_a_wrench_is_of_second_order_towards_newton_and_euler(k):
    dq, chi = (a[k] for a in starts())
    r, R, w = newton_euler(dq, chi, 4.0, WRENCH)
    errors = []
    for steps in (20, 40, 80):
        x = body.start(dq, chi, TARGET.M)
        for _ in range(steps):
            x = step(x, WRENCH, 4.0 / steps)
        q, place = dual_quaternion.to_pose(x.dq_IB)
        errors.append([np.linalg.norm(place - r), np.abs(quaternion.to_matrix(q) - R).max()])
    order = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(order, 2.0, atol=0.05)


def test_a_free_body_flies_as_dop853_says():
    dq, chi = (a[0] for a in starts())
    r, R, w = newton_euler(dq, chi, 50.0, np.zeros(6))
    x = body.start(dq, chi, TARGET.M)
    for _ in range(500):
        x = step(x, np.zeros(6), 0.1)
    q, place = dual_quaternion.to_pose(x.dq_IB)
    np.testing.assert_allclose(place, r, atol=1e-9)
    np.testing.assert_allclose(quaternion.to_matrix(q), R, atol=1e-10)
    np.testing.assert_allclose(x.chi_B[:3], w, atol=1e-11)


def test_impulse_and_work_are_what_momentum_and_energy_gain():
    dq, chi = starts()
    x = first = body.start(dq, chi, TARGET.M)
    for _ in range(300):
        x = step(x, WRENCH, 0.1)
    before, after = (PoseState(s.dq_IB, s.chi_B) for s in (first, x))
    gained = TARGET.momentum(after) - TARGET.momentum(before)
    np.testing.assert_allclose(x.impulse_I, gained, rtol=0, atol=1e-11 * np.abs(gained).max())
    np.testing.assert_allclose(x.work, TARGET.energy(after) - TARGET.energy(before), rtol=1e-11)
