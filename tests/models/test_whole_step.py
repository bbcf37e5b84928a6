"""A step of one trial taken whole in one kernel: the bits of the long way, and which way is taken."""

import numpy as np
import pytest

from gnc.integrators import METHODS
from gnc.integrators.table import AttitudeMethod
from gnc.models.rigid_body import Gyrostat, GyrostatState, RigidBody, Turning
from tests.models.turning import START, TAU, J, dispersed

METHODS_OF_ATTITUDE = [m for m in METHODS.values() if isinstance(m, AttitudeMethod)]


def bits(x):
    return [np.asarray(a).tobytes() for a in x]


@pytest.mark.jit
@pytest.mark.parametrize("method", METHODS_OF_ATTITUDE, ids=lambda m: m.name)
def test_one_trial_has_the_bits_it_has_beside_another(method):
    x, _ = dispersed(np.random.default_rng(1), 2)
    cases = [(RigidBody(J, method.name), x, ())]
    if method.wheels:
        cases.append((Gyrostat(J, method.name), GyrostatState(*x, 0.1 * x.w_B), (np.array([0.3, 0.2, -0.4]),)))
    for body, states, rate in cases:
        for h in (0.02, 3.0, -0.02):
            both = body.step(states, TAU, h, *rate)
            alone = body.step(type(states)(*(a[1] for a in states)), TAU, h, *rate)
            assert bits(alone) == bits(a[1] for a in both)


def test_only_a_step_that_needs_substeps_goes_the_long_way(monkeypatch):
    taken = []
    monkeypatch.setattr(Turning, "step", lambda self, y, tau_B, h, t=0.0: taken.append(h) or y)
    for h in (0.1, 3.0, 0.2):
        RigidBody(J, "vi2").step(START, TAU, h)
    assert taken == [3.0]


def test_one_state_in_a_batch_of_torques_is_as_many_trials():
    x = RigidBody(J, "vi2").step(START, np.array([TAU, 3.0 * TAU]), 0.1)
    for k, factor in enumerate((1.0, 3.0)):
        assert bits(a[k] for a in x) == bits(RigidBody(J, "vi2").step(START, factor * TAU, 0.1))
