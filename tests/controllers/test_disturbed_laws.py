"""PID and sliding mode against torques that nobody told them, on a body that is stepped by DOP853."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.controllers.attitude import AttitudeController, AttitudePid, SlidingMode
from gnc.controllers.reference import AttitudeReference
from gnc.models.states import AttitudeState

J = np.diag([0.2, 0.3, 0.25])
PERIOD, TORQUE = 0.5, np.array([2e-4, -1e-4, 3e-4])
PD = AttitudeController.tuned(J, 0.1)
PID = AttitudePid(pd=PD, Ki=PD.Kp / 50.0, limit=1e-2, period_s=PERIOD)
SLIDING = SlidingMode(J=J, slope=0.1, reach=2e-3, layer=1e-3)
REST = AttitudeReference(np.array([1.0, 0.0, 0.0, 0.0]))


def flown(law, duration_s, limit=np.inf, torque_B=TORQUE, turn=(0.3, -0.2, 0.1)):
    """Return angles from the reference [rad] and commands, with the command held and clipped."""
    x, memory, angles, commands = np.array([*quaternion.exp(np.array(turn)), 0.0, 0.0, 0.0]), law.start(), [], []
    for _ in range(round(duration_s / PERIOD)):
        u, memory = law.command(AttitudeState(x[:4], x[4:]), REST, memory)
        u = np.clip(u, -limit, limit)

        def slope(t, y, u=u):
            w = y[4:]
            return [
                *(0.5 * quaternion.mul(y[:4], np.array([0.0, *w]))),
                *np.linalg.solve(J, u + torque_B - np.cross(w, J @ w)),
            ]

        x = solve_ivp(slope, (0.0, PERIOD), x, "DOP853", rtol=1e-9, atol=1e-12).y[:, -1]
        x[:4] /= np.linalg.norm(x[:4])
        angles.append(np.linalg.norm(quaternion.log(x[:4])))
        commands.append(u)
    return np.array(angles), np.array(commands)


def test_a_constant_torque_leaves_an_error_to_pd_and_none_to_pid():
    expected = np.linalg.norm(np.linalg.solve(0.01 * J, TORQUE))  # Kp/2 = w^2 J
    assert flown(PD, 150.0)[0][-1] == pytest.approx(expected, rel=0.02)
    angles, commands = flown(PID, 600.0)
    assert angles[-1] < 1e-4 * expected and commands[-1] == pytest.approx(-TORQUE, rel=1e-3)


def test_an_integral_does_not_wind_up_while_the_torque_is_at_its_limit():
    """With half the torque that is asked for, the one that winds up overshoots by far more."""
    limit, turn = 4e-4, (0.0, 0.0, 2.0)
    laws = [AttitudePid(pd=PD, Ki=PD.Kp / 50.0, limit=most, period_s=PERIOD) for most in (limit, np.inf)]
    kept, wound = (flown(law, 250.0, limit, np.zeros(3), turn)[0] for law in laws)
    assert kept[-60:].max() < 0.25 * wound[-60:].max()


def test_sliding_mode_rejects_a_torque_below_its_reach_to_within_its_layer():
    angles, _ = flown(SLIDING, 200.0)
    assert np.abs(np.linalg.solve(J, TORQUE)).max() < 2e-3  # it may
    assert angles[-100:].max() <= 2.0 * np.sqrt(3.0) * 1e-3 / 0.1  # |e| <= layer/slope of each axis, e half the angle
    assert flown(PD, 150.0)[0][-1] > angles[-1]
