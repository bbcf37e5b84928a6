import numpy as np
import pytest

from gnc import dual_quaternion, quaternion
from gnc.controllers.pose import PoseTracking
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.models.pose_body import PoseBody, PoseState
from tests.controllers.pose_cases import (
    CENTRED,
    OFFSET,
    error,
    miss,
    published_start,
    random_states,
    spinning,
    swinging,
)

GAINS = {"Kq": 0.25, "Kr": 0.05, "Kw": 15.0, "Kv": 15.0}


def lyapunov(x, reference, body, law, sign=None):
    """V and the V' that is claimed for it, from the definitions."""
    q, r, chi = error(x, reference)
    if sign is not None:  # on the cover that the law has chosen, which may not be the shorter way
        q = sign[:, None] * quaternion.mul(quaternion.conj(reference.dq_IR[..., :4]), x.dq_IB[:, :4])
    e = np.concatenate([q[:, 1:], 0.5 * r], -1)
    Kp, Kd = (np.concatenate(pair) for pair in ((law.Kq, law.Kr), (law.Kw, law.Kv)))
    s = chi + Kp * e
    V = 2 * law.kq * (1 - q[:, 0]) + law.kr * np.sum(r * r, -1) / 4 + np.einsum("ni,ij,nj->n", s, body.M, s) / 2
    k = np.repeat([law.kq, law.kr], 3)
    return V, -np.sum(k * Kp * e * e, -1) - np.sum(Kd * s * s, -1)


def laws(body):
    return [PoseTracking(M=body.M, **GAINS), PoseTracking.tuned(body.M, 0.4)]


def closed_loop(law, memory):
    return lambda x, t: law.command(x, swinging(t), memory)[0]


@pytest.mark.parametrize("body", [CENTRED, OFFSET], ids=["centred", "offset"])
def test_the_lyapunov_function_falls_at_the_rate_that_the_law_promises(body):
    x = random_states(300)
    for law in laws(body):
        _, memory = law.command(x, swinging(1.0), law.start((300,)))
        load, h = closed_loop(law, memory), 1e-3
        ahead, behind = (body.step(x, load, step, 1.0) for step in (h, -h))
        V = [lyapunov(y, swinging(1.0 + dt), body, law)[0] for y, dt in ((ahead, h), (behind, -h))]
        slope = lyapunov(x, swinging(1.0), body, law)[1]
        near = error(x, swinging(1.0))[0][:, 0] > 0.01  # next to half a turn the short way may change within the step
        np.testing.assert_allclose(((V[0] - V[1]) / (2 * h))[near], slope[near], rtol=2e-6)
        assert near.sum() > 290


@pytest.mark.parametrize("body", [CENTRED, OFFSET], ids=["centred", "offset"])
def test_the_lyapunov_function_never_rises_along_closed_loops(body):
    law, x, h = PoseTracking.tuned(body.M, 0.4), random_states(60, seed=1), 0.05
    memory = law.command(x, swinging(0.0), law.start((60,)))[1]
    V = []
    for k in range(301):
        V.append(lyapunov(x, swinging(k * h), body, law, law.command(x, swinging(k * h), memory)[1].sign)[0])
        x = body.step(x, closed_loop(law, memory), h, k * h)
    assert (np.diff(V, axis=0) < 0).all()
    assert (V[-1] < np.exp(-0.32 * 15.0) * V[0]).all()  # half the rate of small errors, 2 damping frequency = 0.64/s


def test_on_the_reference_the_feed_forward_alone_keeps_a_body_with_an_offset_mass_on_it():
    law = PoseTracking(M=OFFSET.M, **GAINS)
    x, h = PoseState(swinging(0.0).dq_IR, swinging(0.0).chi_R), 0.02
    memory = law.start()
    load = lambda x, t: law.command(x, swinging(t), memory)[0]  # noqa: E731
    for k in range(200):
        x = OFFSET.step(x, load, h, k * h)
    # cos of the angle is good to round-off, so the angle itself only to its root: the position tells.
    assert miss(x, swinging(4.0))[1] < 1e-7


def test_the_published_run_in_free_space():
    """Spec: 3.7 deg and 1.41 m at 25 s, 0.05 deg and 0.17 m at 50 s."""
    law, x, h = PoseTracking(M=CENTRED.M, **GAINS), published_start(spinning(0.0)), 0.05
    memory, load, seen = law.start(), np.full(6, 0.005), {}
    for k in range(1001):
        if k in (500, 1000):
            seen[k * h] = miss(x, spinning(k * h))
        wrench, memory = law.command(x, spinning(k * h), memory, load)
        x = CENTRED.step(x, wrench + load, h)
    assert seen[25.0] == (pytest.approx(3.7, abs=0.05), pytest.approx(1.41, abs=0.005))
    assert seen[50.0] == (pytest.approx(0.05, abs=0.005), pytest.approx(0.17, abs=0.005))


def test_tuned_gains_give_the_frequency_and_damping_asked_for():
    body = PoseBody.of(50.0, [0, 0, 0], 4.0 * np.eye(3))
    law = PoseTracking.tuned(body.M, 0.5, 0.6)
    at_rest, e = PoseReference(np.eye(8)[0]), 1e-6
    columns = []
    for d in np.eye(12) * e:
        x = PoseState(dual_quaternion.exp(d[:6]), d[6:])
        wrench = law.command(x, at_rest, law.start())[0]
        columns.append(np.concatenate([d[6:], np.linalg.solve(body.M, wrench)]) / e)
    poles = np.linalg.eigvals(np.array(columns).T)
    np.testing.assert_allclose(poles.real, -0.3, rtol=1e-4)
    np.testing.assert_allclose(np.abs(poles), 0.5, rtol=1e-4)


def test_a_start_at_350_degrees_turns_10_degrees_and_not_back():
    law, h = PoseTracking.tuned(CENTRED.M, 0.3), 0.1
    x = PoseState(
        dual_quaternion.from_pose(quaternion.from_axis_angle(np.array([0, 0, 1.0]), np.radians(350.0)), np.zeros(3)),
        np.zeros(6),
    )
    memory, turned = law.start(), 0.0
    for _ in range(600):
        wrench, memory = law.command(x, PoseReference(np.eye(8)[0]), memory)
        x = CENTRED.step(x, wrench, h)
        turned += np.degrees(np.linalg.norm(x.chi_B[:3])) * h
    assert 10.0 < turned < 10.6  # an overshoot of 1.5 % is damped out
    assert miss(x, PoseReference(np.eye(8)[0]))[0] < 1e-3


def test_bad_gains_are_refused_by_name():
    with pytest.raises(InputError, match="Kw: -1 is not a finite number > 0"):
        PoseTracking(M=CENTRED.M, **{**GAINS, "Kw": -1.0})
    with pytest.raises(InputError, match="damping: 1 is not below 1"):
        PoseTracking.tuned(CENTRED.M, 0.3, 1.0)
