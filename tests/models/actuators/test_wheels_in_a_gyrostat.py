import numpy as np

from gnc import quaternion
from gnc.models.actuators import ReactionWheels, pyramid_axes
from gnc.models.rigid_body import Gyrostat, GyrostatState

ROUGH = ReactionWheels(
    axes_B=pyramid_axes(), torque_limit=5e-3, momentum_limit=50e-3, viscous=[0.01, 0.02, 0.03, 0.0], coulomb=1e-4
)


def test_a_gyrostat_driven_by_the_wheels_keeps_its_total_momentum_to_round_off() -> None:
    body = Gyrostat(np.diag([0.22, 0.19, 0.13]))
    state = np.array([0.01, -0.02, 0.03, 0.0])
    q_IB, w_B = np.array([0.5, 0.5, -0.5, 0.5]), np.array([0.02, -0.03, 0.05])
    x = GyrostatState(q_IB, w_B, ROUGH.momentum_B(state))
    before = quaternion.rotate(x.q_IB, body.J @ x.w_B + x.rho_B)
    rng = np.random.default_rng(3)
    for _ in range(100):
        tau_B, state = ROUGH.apply(4e-3 * rng.standard_normal(4), state, 1.0)
        x = body.step(x, np.zeros(3), 1.0, rho_rate_B=-tau_B)
        np.testing.assert_allclose(x.rho_B, ROUGH.momentum_B(state), rtol=0, atol=1e-13)
    np.testing.assert_allclose(quaternion.rotate(x.q_IB, body.J @ x.w_B + x.rho_B), before, rtol=0, atol=1e-14)
    assert np.linalg.norm(x.w_B - w_B) > 0.01
