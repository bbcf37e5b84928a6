import numpy as np
import pytest

from gnc.controllers.pose import FilterMemory, VelocityFreePoseTracking
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.models.pose_body import PoseState
from tests.controllers.pose_cases import CENTRED, OFFSET, error, miss, random_states, swinging

GAINS = {"kp": 6.0, "kr": 8.0, "a": 1.0, "gq": 30.0, "gr": 35.0}


def lyapunov(x, reference, z, body, law):
    """V and the V' that is claimed for it, from the definitions."""
    q, r, chi = error(x, reference)
    v, r_R = q[:, 1:], r + 2 * np.cross(q[:, 1:], q[:, :1] * r + np.cross(q[:, 1:], r))
    gap, g = np.concatenate([v, r_R], -1) - z, np.repeat([law.gq, law.gr], 3)
    stored = np.sum(g * gap * gap, -1)
    V = 2 * law.kp * (1 - q[:, 0]) + law.kr * np.sum(r * r, -1) / 2 + stored / 2
    return V + np.einsum("ni,ij,nj->n", chi, body.M, chi) / 2, -law.a * stored


@pytest.mark.parametrize("body", [CENTRED, OFFSET], ids=["centred", "offset"])
def test_the_lyapunov_function_falls_at_the_rate_that_the_law_promises(body):
    law, x = VelocityFreePoseTracking(M=body.M, **GAINS), random_states(200)
    started = law.command(x, swinging(1.0), law.start((200,)), 0.0)[1]
    z = started.z + np.random.default_rng(5).normal(size=(200, 6))
    memory = FilterMemory(started.sign, z, started.e)
    V, slope = lyapunov(x, swinging(1.0), z, body, law)
    wrench = law.command(x, swinging(1.0), memory, 0.0)[0]

    def secant(h):
        moved = body.step(x, wrench, h)
        after = law.command(moved, swinging(1.0 + h), memory, h)[1]
        return (lyapunov(moved, swinging(1.0 + h), after.z, body, law)[0] - V) / h

    found = (8.0 * secant(5e-5) - 6.0 * secant(1e-4) + secant(2e-4)) / 3.0  # errors of h and h^2 drop out
    near = error(x, swinging(1.0))[0][:, 0] > 0.01
    np.testing.assert_allclose(found[near], slope[near], rtol=1e-4)


def test_the_law_reads_no_velocity_of_the_body():
    law, x = VelocityFreePoseTracking(M=OFFSET.M, **GAINS), random_states(5)
    blind = PoseState(x.dq_IB, np.full((5, 6), np.nan))
    (u, kept), (v, also) = (law.command(y, swinging(2.0), law.start((5,)), 0.1) for y in (x, blind))
    np.testing.assert_array_equal(u, v)
    for a, b in zip(kept, also, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("body", [CENTRED, OFFSET], ids=["centred", "offset"])
def test_an_accelerated_reference_is_met_from_anywhere_up_to_the_lag_of_holding_the_command(body):
    law, residuals = VelocityFreePoseTracking(M=body.M, **GAINS), []
    for h in (0.1, 0.05):
        x, memory, steps = random_states(20, seed=4), law.start((20,)), round(200.0 / h)
        for k in range(steps):
            wrench, memory = law.command(x, swinging(k * h), memory, h)
            x = body.step(x, wrench, h)
        angle, distance = miss(x, swinging(steps * h))
        assert np.ptp(angle) < 0.01 and np.ptp(distance) < 1e-3  # all starts have come to the same motion
        residuals.append((angle.mean(), distance.mean()))
    np.testing.assert_allclose(residuals[1], 0.5 * np.array(residuals[0]), rtol=0.1)


def test_the_filter_starts_without_a_kick_and_survives_a_change_of_cover():
    law, x = VelocityFreePoseTracking(M=CENTRED.M, **GAINS), random_states(40)
    at_rest = PoseReference(np.eye(8)[0])
    first = law.command(x, at_rest, law.start((40,)), 0.1)[1]
    np.testing.assert_array_equal(first.z, first.e)
    flipped = FilterMemory(-first.sign, first.z * [-1, -1, -1, 1, 1, 1], first.e * [-1, -1, -1, 1, 1, 1])
    once, again = (law.command(x, at_rest, memory, 0.1) for memory in (first, flipped))
    changed = again[1].sign != flipped.sign  # those beyond the hysteresis come back to the short way
    assert 20 < changed.sum() < 40
    np.testing.assert_allclose(again[0][changed], once[0][changed], atol=1e-13)


def test_bad_gains_are_refused_by_name():
    with pytest.raises(InputError, match="a: 0 is not positive"):
        VelocityFreePoseTracking(M=CENTRED.M, **{**GAINS, "a": 0.0})
