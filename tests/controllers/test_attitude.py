import dataclasses

import numpy as np
import pytest

from gnc import quaternion
from gnc.controllers.attitude import AttitudeController
from gnc.controllers.reference import AttitudeReference
from gnc.errors import InputError
from gnc.models.rigid_body import Gyrostat, GyrostatState, RigidBody
from gnc.models.states import AttitudeState
from tests.models.turning import hamilton, solution, trial

J = np.array([[0.22, 0.004, -0.003], [0.004, 0.19, 0.002], [-0.003, 0.002, 0.13]])
REST = AttitudeReference(np.array([1.0, 0.0, 0.0, 0.0]))
X = np.array([1.0, 0.0, 0.0])
N = 40


def random_states(rng, n=N, rate=0.3):
    return AttitudeState(quaternion.normalize(rng.normal(size=(n, 4))), rate * rng.normal(size=(n, 3)))


def tumbling_reference(x, tau):
    """Return a reference that is itself a body with inertia J that tumbles under a torque."""
    wdot = np.linalg.solve(J, (tau - np.cross(x.w_B, x.w_B @ J))[..., None])[..., 0]
    return AttitudeReference(x.q_IB, x.w_B, wdot)


def lyapunov(law, x, reference, sign):
    """Return w_e Kp^-1 J w_e / 2 + 2 (1 - sign q0), the last without cancellation: |(sign q0, qv) - (1, 0)|^2."""
    q_RB = quaternion.mul(quaternion.conj(reference.q_IR), x.q_IB)
    w_e = x.w_B - quaternion.inverse_rotate(q_RB, reference.w_R)
    gap = q_RB * np.concatenate([sign[..., None], np.ones((*sign.shape, 3))], -1) - [1.0, 0.0, 0.0, 0.0]
    return 0.5 * np.einsum("...i,ij,...j->...", w_e, np.linalg.solve(law.Kp, law.J), w_e) + np.sum(gap * gap, -1)


GAINS = {
    "numbers": AttitudeController(J=J, Kp=0.05, Kd=0.08),
    "matrices": AttitudeController.tuned(J, 0.5, 0.7),
}


@pytest.mark.parametrize("gains", GAINS)
def test_the_lyapunov_function_falls_at_every_step_from_many_starts_on_a_tumbling_reference(gains):
    law, h, rng = GAINS[gains], 0.01, np.random.default_rng(3)
    body, guide = RigidBody(J), RigidBody(J)
    x, r, push = random_states(rng), random_states(rng), 0.02 * rng.normal(size=(N, 3))
    memory, values = law.start((N,)), []
    for _ in range(3000):
        reference = tumbling_reference(r, push)
        tau, memory = law.command(x, reference, memory)
        values.append(lyapunov(law, x, reference, memory.sign))
        x, r = body.step(x, tau, h), guide.step(r, push, h)
    V = np.array(values)
    # V' = -w_e Kp^-1 Kd w_e is zero where w_e is; there a command held for h may lift V by O(h^3), and no more.
    assert np.diff(V, axis=0).max() < h**3 * V[0].max()
    assert (V[300:] < V[:-300]).all()
    assert (V[-1] < 1e-3 * V[0]).all()


@pytest.mark.parametrize("gains", GAINS)
def test_along_the_continuous_closed_loop_v_falls_at_the_stated_rate(gains):
    law, rng = GAINS[gains], np.random.default_rng(4)
    x, h = random_states(rng, 1), 1e-3
    memory = law.command(x, REST, law.start((1,)))[1]
    one, sign = AttitudeState(x.q_IB[0], x.w_B[0]), type(memory)(memory.sign[0])
    load = lambda y, t: law.command(y, REST, sign)[0]  # noqa: E731
    ends = [solution(one, load, s * h, J=J) for s in (-1.0, 1.0)]
    V = [lyapunov(law, x, REST, sign.sign) for x in ends]
    slope = (V[1] - V[0]) / (2.0 * h)
    stated = -one.w_B @ np.linalg.solve(law.Kp, law.Kd @ one.w_B)
    assert slope == pytest.approx(stated, rel=1e-6)


def test_the_error_obeys_a_linear_equation_whatever_the_reference_and_the_wheels_do():
    rng, law = np.random.default_rng(5), GAINS["numbers"]
    x, r = random_states(rng, 1), random_states(rng, 1)
    rho, push = 0.1 * rng.normal(size=3), 0.02 * rng.normal(size=3)
    reference = tumbling_reference(r, push)
    tau, memory = law.command(x, reference, law.start((1,)), rho)
    w, w_r = x.w_B[0], r.w_B[0]
    w_dot = np.linalg.solve(J, tau[0] - np.cross(w, J @ w + rho))
    q_RB = hamilton(r.q_IB[0] * [1, -1, -1, -1], x.q_IB[0])
    R_BR = quaternion.to_scipy(q_RB).as_matrix().T
    w_e = w - R_BR @ w_r
    w_e_dot = w_dot - R_BR @ reference.wdot_R[0] + np.cross(w_e, R_BR @ w_r)
    assert J @ w_e_dot == pytest.approx(-law.Kp @ (memory.sign[0] * q_RB[1:]) - law.Kd @ w_e, abs=1e-14)


def turned(law, degrees, seconds=150.0, h=0.05, rate=0.0):
    """Return how far the body turns in all [deg] until it rests, from an angle about x."""
    body, memory = RigidBody(J), law.start()
    x = AttitudeState(quaternion.from_axis_angle(X, np.radians(degrees)), rate * X)
    total = 0.0
    for _ in range(int(seconds / h)):
        tau, memory = law.command(x, REST, memory)
        before, x = x, body.step(x, tau, h)
        total += np.degrees(quaternion.angle_between(before.q_IB, x.q_IB))
    assert np.degrees(quaternion.angle_between(x.q_IB, REST.q_IR)) < 0.01
    return total


def test_a_start_at_350_deg_turns_10_deg_and_not_350():
    law = AttitudeController.tuned(J, 0.2, 1.0)
    assert turned(law, 350.0) == pytest.approx(10.0, abs=0.02)
    assert turned(law, 10.0) == pytest.approx(10.0, abs=0.02)


def switches(law, noise_rad=0.02, commands=400):
    """Return how often the sign changes while a body rests half a turn away and is measured with noise."""
    rng, memory, count = np.random.default_rng(6), law.start(), 0
    for _ in range(commands):
        error = quaternion.exp(noise_rad * rng.normal(size=3))
        seen = AttitudeState(quaternion.mul(quaternion.from_axis_angle(X, np.pi), error), np.zeros(3))
        _, after = law.command(seen, REST, memory)
        count += int(memory.sign * after.sign < 0)
        memory = after
    return count


def test_noise_at_half_a_turn_never_flips_the_sign_where_a_plain_sign_chatters():
    assert switches(AttitudeController.tuned(J, 0.2)) == 0
    assert switches(AttitudeController.tuned(J, 0.2, delta=0.0)) > 100


def test_a_tumble_through_half_a_turn_flips_once_and_comes_to_rest():
    law = AttitudeController.tuned(J, 0.2, 1.0)
    assert turned(law, 170.0, rate=1.0) < 360.0


@pytest.mark.parametrize("gains", GAINS)
def test_body_and_wheels_keep_their_momentum_under_any_command(gains):
    law, rng = GAINS[gains], np.random.default_rng(7)
    craft, h = Gyrostat(J), 0.1
    start = random_states(rng)
    x = GyrostatState(start.q_IB, start.w_B, 0.05 * rng.normal(size=(N, 3)))
    before, memory = craft.momentum(x), law.start((N,))
    for _ in range(600):
        tau, memory = law.command(x, REST, memory)
        x = craft.step(x, np.zeros(3), h, rho_rate_B=-tau)
    assert np.abs(craft.momentum(x) - before).max() < 1e-13 * np.abs(before).max() * 600**0.5
    assert np.degrees(quaternion.angle_between(x.q_IB, REST.q_IR)).max() < 0.5


def test_the_belief_s_wheels_count_and_can_be_told():
    law, rng = GAINS["numbers"], np.random.default_rng(8)
    x, rho = random_states(rng), rng.normal(size=(N, 3))
    with_wheels = law.command(GyrostatState(x.q_IB, x.w_B, rho), REST, law.start((N,)))[0]
    assert np.array_equal(with_wheels, law.command(x, REST, law.start((N,)), rho)[0])
    without = law.command(x, REST, law.start((N,)))[0]
    assert with_wheels - without == pytest.approx(np.cross(x.w_B, rho), abs=1e-14)


def test_tuned_gains_give_the_frequency_and_damping_of_a_small_error():
    law, x = AttitudeController.tuned(J, 0.3, 0.6), np.zeros(3)
    small = 1e-6
    push = [law.command(AttitudeState(quaternion.exp(small * e), x), REST, law.start())[0] / small for e in np.eye(3)]
    brake = [law.command(AttitudeState(REST.q_IR, small * e), REST, law.start())[0] / small for e in np.eye(3)]
    slopes = np.linalg.solve(J, np.hstack([np.array(push).T, np.array(brake).T]))
    A = np.vstack([np.eye(3, 6, 3), slopes])
    root = complex(-0.6, np.sqrt(1.0 - 0.36)) * 0.3
    poles = np.linalg.eigvals(A)
    assert np.abs(poles.real - root.real).max() < 1e-5
    assert np.abs(np.abs(poles.imag) - root.imag).max() < 1e-5


def test_a_batch_equals_single_trials_bit_for_bit_and_broadcasts():
    law, rng = GAINS["matrices"], np.random.default_rng(9)
    x, r = random_states(rng), tumbling_reference(random_states(rng), 0.0)
    memory = type(law.start())(rng.choice([-1.0, 0.0, 1.0], N))
    tau, after = law.command(x, r, memory)
    for k in range(N):
        tau_k, after_k = law.command(trial(x, k), trial(r, k), trial(memory, k))
        assert np.array_equal(tau[k], tau_k) and after.sign[k] == after_k.sign
    assert law.command(x, REST, law.start())[0].shape == (N, 3)


def test_a_lost_trial_stays_by_itself():
    law, x = GAINS["numbers"], random_states(np.random.default_rng(10))
    x.q_IB[3] = np.nan
    tau, _ = law.command(x, REST, law.start((N,)))
    assert np.isnan(tau[3]).all() and np.isfinite(np.delete(tau, 3, 0)).all()


ASKEW, INDEFINITE = np.triu(np.ones((3, 3))), np.diag([1.0, 1.0, -1.0])


@pytest.mark.parametrize("bad", [{"Kp": 0.0}, {"Kp": -1.0}, {"Kp": ASKEW}, {"Kd": INDEFINITE}, {"delta": 1.0}])
def test_gains_that_cannot_work_are_refused_by_name(bad):
    with pytest.raises(InputError, match=f"^{next(iter(bad))}:"):
        dataclasses.replace(GAINS["numbers"], **bad)
