"""Braking and holding: what is told while a body has no place yet where it is held."""

from types import SimpleNamespace

import numpy as np

from gnc import dual_quaternion
from gnc.controllers.guidance.hold import HoldPart


def test_a_body_that_still_moves_has_no_error_of_holding_and_a_slow_one_that_of_its_pose():
    guidance = HoldPart(slow_deg_s=0.1, slow_m_s=0.005).build(None)
    held = dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), np.zeros(3))
    half = np.radians(3.0) / 2.0
    there = dual_quaternion.from_pose(np.array([np.cos(half), 0, np.sin(half), 0]), np.array([0.3, 0.0, 0.4]))
    twists = np.array([[0, 0, 0, 0.004, 0, 0], [0, 0, 0, 0.006, 0, 0], [0.01, 0, 0, 0, 0, 0]], float)  # rad/s, m/s
    truth = SimpleNamespace(dq_IB=np.tile(there, (3, 1)), chi_B=twists)
    told = guidance.observe(SimpleNamespace(wanted=np.tile(held, (3, 1)), truth={"a": truth}, craft="a"))
    np.testing.assert_allclose(told["hold_error_m"], [0.5, np.nan, np.nan], rtol=1e-12)
    np.testing.assert_allclose(told["hold_error_deg"], [3.0, np.nan, np.nan], rtol=1e-12)
