"""Steps taken whole in one kernel: the bits of the long way, and which way is taken."""

import numpy as np
import pytest

from gnc.integrators import METHODS
from gnc.integrators.table import AttitudeMethod
from gnc.models import whole_step
from gnc.models.gyrostat import Gyrostat, GyrostatState
from gnc.models.rigid_body import RigidBody
from gnc.models.states import AttitudeState
from gnc.models.turning import Turning
from tests.models.turning import START, TAU, J, dispersed

ATTITUDE = [name for name, method in METHODS.items() if isinstance(method, AttitudeMethod)]
WHEELED = [name for name in ATTITUDE if METHODS[name].wheels]
SPIN_UP = np.array([0.3, 0.2, -0.4])


def bits(x):
    return [np.asarray(a).tobytes() for a in x]


def both_ways(monkeypatch, step):
    """Return the bits by the kernel, where it can be used, and by the long way."""
    short = bits(step())
    monkeypatch.setattr(whole_step, "FEW", 0)
    return short, bits(step())


@pytest.mark.jit
@pytest.mark.parametrize("substeps", [True, False])
@pytest.mark.parametrize("method", ATTITUDE)
def test_a_rigid_body_has_the_bits_of_the_long_way(monkeypatch, method, substeps):
    x, bodies = dispersed(np.random.default_rng(1), 12)
    body, tau = RigidBody(bodies, method, substeps), 0.1 * x.w_B[::-1]
    short, long = both_ways(monkeypatch, lambda: body.step(x, tau, 0.02))
    assert short == long


@pytest.mark.jit
@pytest.mark.parametrize("substeps", [True, False])
@pytest.mark.parametrize("method", WHEELED)
def test_a_gyrostat_has_the_bits_of_the_long_way(monkeypatch, method, substeps):
    x, bodies = dispersed(np.random.default_rng(2), 12)
    body, tau = Gyrostat(bodies, method, substeps), 0.1 * x.w_B[::-1]
    y = GyrostatState(*x, 0.1 * x.w_B)
    short, long = both_ways(monkeypatch, lambda: body.step(y, tau, 0.02, SPIN_UP))
    assert short == long


@pytest.mark.parametrize("body", [RigidBody(J, "vi2"), Gyrostat(J, "vi2")], ids=["rigid", "gyrostat"])
@pytest.mark.parametrize("h", [0.1, 3.0, -0.1, 1e5], ids=["whole", "substeps", "back", "lost"])
def test_one_trial_of_any_step_length_has_the_bits_of_the_long_way(monkeypatch, body, h):
    x = START if isinstance(body, RigidBody) else GyrostatState(*START, 0.1 * TAU)
    short, long = both_ways(monkeypatch, lambda: body.step(x, TAU, h))
    assert short == long


def test_only_steps_that_need_substeps_go_the_long_way(monkeypatch):
    taken = []
    monkeypatch.setattr(Turning, "step", lambda self, y, tau_B, h, t=0.0: taken.append(h) or y)
    body = RigidBody(J, "vi2")
    for h in (0.1, 3.0, 0.2):
        body.step(START, TAU, h)
    two = AttitudeState(np.tile(START.q_IB, (2, 1)), np.array([[0.0, 0.0, 0.1], [0.0, 0.0, 9.0]]))
    body.step(two, TAU, 0.11)
    assert taken == [3.0, 0.11]


def test_one_state_in_a_batch_of_torques_is_as_many_trials():
    x = RigidBody(J, "vi2").step(START, np.array([TAU, 3.0 * TAU]), 0.1)
    for k, factor in enumerate((1.0, 3.0)):
        assert bits(a[k] for a in x) == bits(RigidBody(J, "vi2").step(START, factor * TAU, 0.1))
