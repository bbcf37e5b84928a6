"""What moves a belief: the exact drift or the Taylor series, each trial by itself."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.estimators.mekf import Mekf
from gnc.estimators.process_model import ByName
from gnc.models.states import AttitudeState
from tests.estimators.tumble import NONE, W_0, J, attitude_error

RHO, RISE, TAU = np.array([0.02, -0.01, 0.03]), np.array([0.03, 0.02, -0.02]), np.array([1e-3, 2e-3, -1e-3])


def flown(h, tau, rho, rise):
    """Attitude and momentum after h by DOP853, the wheels' momentum rising evenly."""

    def rate(t, y):
        w = np.linalg.solve(J, y[4:] - rho - rise * t / h)
        turn = np.concatenate([[-y[1:4] @ w], y[0] * w + np.cross(y[1:4], w)])
        return np.concatenate([0.5 * turn, np.cross(y[4:], w) + tau])

    y = solve_ivp(rate, (0.0, h), np.concatenate([[1.0, 0, 0, 0], J @ W_0 + rho]), "DOP853", rtol=1e-13, atol=1e-15).y
    return np.split(y[:, -1], [4])


CASES = {
    "free": (NONE, NONE, NONE),
    "torque": (TAU, NONE, NONE),
    "wheels": (NONE, RHO, NONE),
    "all, running up": (TAU, RHO, RISE),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sigma", [1e-2, 1e-7], ids=["0.6 deg", "0.02 arc seconds"])
def test_the_truncation_error_is_far_below_what_is_believed(case, sigma) -> None:
    (tau, rho, rise), h = CASES[case], 10.0
    mekf = Mekf(J)
    belief = mekf.start(AttitudeState([1.0, 0, 0, 0], W_0), sigma**2 * np.diag([1.0] * 3 + [1e-4] * 3), rho)
    after = mekf.predict(belief, tau, h, rho + rise)
    q, P = flown(h, tau, rho, rise)
    round_off = 3e-12  # of DOP853
    assert np.abs(attitude_error(after.q_IB, q / np.linalg.norm(q))).max() < 1e-4 * sigma + round_off
    assert np.abs(after.P_B - P).max() < 1e-6 * sigma + round_off


def test_it_takes_few_substeps_where_little_is_known_and_says_what_it_takes() -> None:
    mekf, h = Mekf(J), 10.0
    x, C = AttitudeState(np.tile([1.0, 0, 0, 0], (3, 1)), W_0), np.diag([1e-4] * 3 + [1e-8] * 3)
    scales = np.array([1.0, 1.0, 1e-10])[:, None, None]
    belief = mekf.start(x, scales * C, np.array([NONE, RHO, RHO]))
    plan = mekf.process.plan(belief.P_B, belief.C, NONE, J, belief.rho_B, belief.rho_B, h)
    np.testing.assert_array_equal(plan.exact > 0, [True, False, False])
    assert not plan.gentle.any()
    near = mekf.process.plan(belief.P_B, belief.C, NONE, J, belief.rho_B, belief.rho_B, 0.1)
    np.testing.assert_array_equal(near.gentle, [0.0, 1.0, 0.0])  # nothing is small beside a covariance of 1e-10
    np.testing.assert_array_equal(near.taylor, [0.0, 0.0, 1.0])
    assert plan.taylor[0] == 0 and 1 < plan.taylor[1] < plan.taylor[2] < 8 * plan.taylor[1]
    assert "exact drift" in repr(mekf) and "variational" not in repr(mekf)
    assert isinstance(Mekf(J, "vi4").process, ByName)


def test_no_trial_depends_on_its_neighbours() -> None:
    mekf = Mekf(J)
    x = AttitudeState(np.tile([1.0, 0, 0, 0], (3, 1)), W_0)
    belief, tau = mekf.start(x, 1e-4 * np.eye(6), np.array([NONE, RHO, NONE])), np.array([NONE, NONE, TAU])
    together = mekf.predict(belief, tau, 5.0)
    for trial in range(3):
        alone = mekf.predict(type(belief)(*[part[trial] for part in belief]), tau[trial], 5.0)
        for a, b in zip(alone, together, strict=True):
            np.testing.assert_array_equal(a, b[trial])


def test_a_transition_is_undone_by_its_way_back() -> None:
    mekf, C = Mekf(J), 1e-4 * np.eye(6)
    for tau, rho, rise in CASES.values():
        q_0, P_0 = np.array([0.5, 0.5, 0.5, 0.5]), J @ W_0 + rho
        q, P, F = mekf.process.transition(q_0, P_0, C, tau, J, rho, rho + rise, 8.0)
        q, P, F_back = mekf.process.transition(q, P, C, tau, J, rho + rise, rho, -8.0)
        assert quaternion.angle_between(q, q_0) < 1e-9
        np.testing.assert_allclose(P, P_0, atol=1e-9)
        np.testing.assert_allclose(F_back @ F, np.eye(6), atol=2e-7)
