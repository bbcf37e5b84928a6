import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import dual_quaternion, quaternion
from gnc.errors import InputError
from gnc.models.pose_body import PoseBody, PoseState

J = np.array([[22.0, 0.2, 0.5], [0.2, 20.0, 0.4], [0.5, 0.4, 23.0]])
BODY = PoseBody.of(100.0, [0.1, 0.2, -0.3], J)
START = PoseState(
    dual_quaternion.from_pose(np.array([0.5, 0.5, -0.5, 0.5]), np.array([1.0, 2.0, 3.0])),
    np.array([0.3, -0.2, 0.25, 0.4, 0.5, -0.6]),
)


def wrench(x, t):
    """Drag on the twist, a spring to the origin, and a torque that swings: body axes, about the reference point."""
    q, r = dual_quaternion.to_pose(x.dq_IB)
    force = quaternion.inverse_rotate(q, -20.0 * r) - 8.0 * x.chi_B[..., 3:]
    torque = np.broadcast_to(np.stack([np.sin(t), 0.0 * t, 0.5 + 0.0 * t], -1), force.shape) - 3.0 * x.chi_B[..., :3]
    return np.concatenate([torque, force], -1)


def reference(x, load, duration):
    """Newton and Euler about the moving reference point, by DOP853: written without anything of the model."""
    M = BODY.M

    def rate(t, y):
        q, r, chi = y[:4], y[4:7], y[7:]
        w, v = chi[:3], chi[3:]
        state = PoseState(np.concatenate([q, 0.5 * hamilton(np.array([0.0, *r]), q)]), chi)
        mu = M @ chi
        turn = np.concatenate([np.cross(w, mu[:3]) + np.cross(v, mu[3:]), np.cross(w, mu[3:])])
        chidot = np.linalg.solve(M, load(state, t) - turn)
        R = rotation(q)
        return np.concatenate([0.5 * hamilton(q, np.array([0.0, *w])), R @ v, chidot])

    def hamilton(a, b):
        return np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])

    def rotation(q):
        s, v = q[0], q[1:]
        return np.eye(3) * (s * s - v @ v) + 2 * np.outer(v, v) + 2 * s * np.cross(np.eye(3), v)

    q, r = dual_quaternion.to_pose(x.dq_IB)
    end = solve_ivp(rate, (0, duration), np.concatenate([q, r, x.chi_B]), "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return end


def error(x, end):
    q, r = dual_quaternion.to_pose(x.dq_IB)
    return np.sqrt(
        quaternion.angle_between(q, end[:4] / np.linalg.norm(end[:4])) ** 2
        + np.sum((r - end[4:7]) ** 2)
        + np.sum((x.chi_B - end[7:]) ** 2)
    )


@pytest.mark.parametrize(("order", "counts"), [(2, (20, 40, 80)), (4, (10, 20, 40))])
def test_a_users_wrench_of_pose_twist_and_time_keeps_the_order(order, counts):
    body, end = PoseBody(BODY.M, order=order), reference(START, wrench, 2.0)
    errors = [error(PoseState(*(a[-1] for a in body.fly(START, n, 2.0 / n, wrench_B=wrench).x)), end) for n in counts]
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(-order, abs=0.05)


@pytest.mark.parametrize("order", [2, 4])
def test_a_free_flight_keeps_energy_momentum_and_a_straight_centre_of_mass(order):
    body = PoseBody(BODY.M, order=order)
    t, x = body.fly(START, 2000, 0.05, every=200)
    np.testing.assert_allclose(body.energy(x), body.energy(START), rtol=2e-13)
    np.testing.assert_allclose(
        body.momentum(x), np.broadcast_to(body.momentum(START), (11, 6)), rtol=0, atol=1e-10
    )  # |r| |p| is 1e4
    velocity = body.momentum(START)[3:] / 100.0
    straight = body.centre_of_mass(START) + t[:, None] * velocity
    np.testing.assert_allclose(body.centre_of_mass(x), straight, rtol=0, atol=1e-11)


def test_linearize_is_the_derivative_of_step():
    load = np.array([0.3, -0.2, 0.1, 5.0, -4.0, 3.0])
    for order in (2, 4):
        body = PoseBody(BODY.M, order=order)
        F, G = body.linearize(START, load, 0.4)
        end = body.step(START, load, 0.4)

        def moved(d, u):
            start = PoseState(dual_quaternion.mul(START.dq_IB, dual_quaternion.exp(d[:6])), START.chi_B + d[6:])
            x = body.step(start, load + u, 0.4)  # noqa: B023
            back = dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(end.dq_IB), x.dq_IB))  # noqa: B023
            return np.concatenate([back, x.chi_B - end.chi_B])  # noqa: B023

        e = 1e-5
        d, u = np.eye(12) * e, np.eye(6) * e
        F_numeric = np.stack([(moved(k, 0) - moved(-k, 0)) / (2 * e) for k in d], -1)
        G_numeric = np.stack([(moved(0 * d[0], k) - moved(0 * d[0], -k)) / (2 * e) for k in u], -1)
        np.testing.assert_allclose(F, F_numeric, atol=1e-8)
        np.testing.assert_allclose(G, G_numeric, atol=1e-8)


LOAD = np.array([0.3, -0.2, 0.1, 5.0, -4.0, 3.0])


@pytest.mark.parametrize("load", [np.zeros(6), LOAD], ids=["free", "loaded"])
@pytest.mark.parametrize("substeps", [True, False])
def test_a_flight_ends_where_single_steps_end(substeps, load):
    body, x = PoseBody(BODY.M, substeps=substeps), START
    for _ in range(30):
        x = body.step(x, load, 0.1)
    end = body.fly(START, 30, 0.1, every=30, wrench_B=load).x
    np.testing.assert_array_equal(end.dq_IB[-1], x.dq_IB)
    np.testing.assert_array_equal(end.chi_B[-1], x.chi_B)


def test_a_flight_that_spins_up_takes_more_substeps_on_the_way():
    body, torque = PoseBody.of(100.0, [0.0, 0.0, 0.1], np.diag([22.0, 20.0, 23.0])), 1.0
    rest = PoseState(np.eye(8)[0], np.zeros(6))
    end = body.fly(rest, 200, 0.5, every=200, wrench_B=np.array([0.0, 0.0, torque, 0.0, 0.0, 0.0])).x
    np.testing.assert_allclose(end.chi_B[-1, :3], [0.0, 0.0, torque * 100.0 / 23.0], rtol=1e-12)  # 2.2 rad per step


def test_trials_with_different_substeps_under_a_users_wrench_are_the_same_alone_and_together():
    rates = np.array([0.1, 3.0, 0.5, 9.0])
    chi = rates[:, None] * np.array([0.6, 0.0, 0.8, 0.1, 0.2, 0.3])
    together = BODY.step(PoseState(np.tile(START.dq_IB, (4, 1)), chi), wrench, 0.5, 1.0)
    for k in range(4):
        alone = BODY.step(PoseState(START.dq_IB, chi[k]), wrench, 0.5, 1.0)
        np.testing.assert_array_equal(together.dq_IB[k], alone.dq_IB)
        np.testing.assert_array_equal(together.chi_B[k], alone.chi_B)


def test_without_substeps_a_step_too_long_loses_only_its_own_trial():
    body = PoseBody(BODY.M, order=2, substeps=False)
    chi = np.array([[0.3, 0, 0, 0, 0, 0], [5.0, 0, 0, 0, 0, 0]])
    x = body.step(PoseState(np.tile(START.dq_IB, (2, 1)), chi), np.zeros(6), 1.0)
    assert np.isfinite(x.chi_B[0]).all() and np.isnan(x.chi_B[1]).all()


def test_bad_bodies_are_refused_by_name():
    with pytest.raises(InputError, match="mass: -1 is not positive"):
        PoseBody.of(-1.0, [0, 0, 0], J)
    with pytest.raises(InputError, match="J_com: triangle inequality violated: 5 > 1 \\+ 2"):
        PoseBody.of(1.0, [0, 0, 0], np.diag([1.0, 2, 5]))
    with pytest.raises(InputError, match="order: 3 is not one of 2, 4"):
        PoseBody(BODY.M, order=3)
    with pytest.raises(InputError, match="every: expected a whole number > 0 that divides steps = 10, got 3"):
        BODY.fly(START, 10, 0.1, every=3)
