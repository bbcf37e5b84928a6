"""NASA's check case Atmos_02, a brick that tumbles free of torque, against the rates published with it.

Source: NASA Engineering and Safety Center, six-degree-of-freedom check cases, data of simulator 01 as published with
nasa/simupy-flight. Its five simulators differ among each other by up to 5e-3 deg/s.
"""

import numpy as np
import pytest

from gnc.models.rigid_body import RigidBody
from gnc.models.states import AttitudeState

J = np.diag([0.001894220, 0.006211019, 0.007194665])  # [slug ft^2]; without torque only ratios count
START = [9.999999999960824, 19.999999999978947, 29.999999999939774]  # roll, pitch, yaw [deg/s]
PUBLISHED = {  # t [s] -> roll, pitch, yaw [deg/s]
    5: [-16.939485149392073, 9.631939377436426, 33.40662807936806],
    10: [-2.41890222177841, -23.55256951951579, 28.12859263003343],
    20: [-5.422734679890159, 22.715930576502963, 28.608281747225586],
    30: [12.61839077566776, -17.3974747618308, 31.11958888682995],
}


@pytest.mark.parametrize(
    ("method", "h", "largest"), [("taylor10", 0.05, 1e-9), ("exact", 5.0, 1e-9), ("vi4", 0.01, 1e-4)]
)
def test_the_tumbling_brick_turns_as_nasas_simulator_says(method, h, largest):
    body, x = RigidBody(J, method=method), AttitudeState(np.array([1.0, 0, 0, 0]), np.radians(START))
    for k in range(1, round(30 / h) + 1):
        x = body.step(x, np.zeros(3), h)
        if (t := round(k * h, 9)) in PUBLISHED:
            assert np.abs(np.degrees(x.w_B) - PUBLISHED[t]).max() < largest
