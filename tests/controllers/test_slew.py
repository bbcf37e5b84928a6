import numpy as np
import pytest

from gnc import quaternion
from gnc.controllers import slew
from gnc.controllers.attitude import AttitudeController
from gnc.controllers.reference import AttitudeReference
from gnc.controllers.slew import Slew
from gnc.errors import InputError
from gnc.models.rigid_body import RigidBody
from gnc.models.states import AttitudeState

RATE, ACCELERATION = np.radians(1.0), np.radians(0.1)
SLEW = Slew(rate_limit=RATE, acceleration_limit=ACCELERATION)
N = 30


def random_ends(seed=1, n=N):
    """Return pairs of attitudes: most anywhere, some close to each other."""
    rng = np.random.default_rng(seed)
    q_from = quaternion.normalize(rng.normal(size=(n, 4)))
    near = quaternion.mul(q_from, quaternion.exp(0.01 * rng.normal(size=(n, 3))))
    return q_from, np.where(np.arange(n)[:, None] % 3 == 0, near, quaternion.normalize(rng.normal(size=(n, 4))))


def at(plan, target, t):
    return SLEW.reference(plan, target, np.asarray(t))


def test_every_turn_starts_and_arrives_exactly_at_rest():
    q_from, q_to = random_ends()
    plan, target = SLEW.plan(q_from, q_to, 5.0), AttitudeReference(q_to)
    for t in (0.0, 5.0):
        first = at(plan, target, t)
        assert quaternion.angle_between(first.q_IR, q_from).max() < 1e-14
        assert not first.w_R.any() and not first.wdot_R.any()
    for t in (plan.t_end, plan.t_end + 100.0):
        last = at(plan, target, t)
        assert np.array_equal(last.q_IR, q_to)
        assert not last.w_R.any() and not last.wdot_R.any()


def test_limits_are_kept_and_met():
    q_from, q_to = random_ends()
    plan = SLEW.plan(q_from, q_to)
    t = np.linspace(0.0, 1.0, 2001)[:, None] * plan.t_end
    r = at(plan, AttitudeReference(q_to), t)
    rate, push = np.linalg.norm(r.w_R, axis=-1).max(axis=0), np.linalg.norm(r.wdot_R, axis=-1).max(axis=0)
    assert rate.max() <= RATE * (1.0 + 1e-12) and push.max() <= ACCELERATION * (1.0 + 1e-12)
    assert push == pytest.approx(np.full(N, ACCELERATION), rel=1e-4)  # as fast as the limits allow
    coasts = plan.coast_s > 0.0
    assert coasts.any() and not coasts.all()
    assert rate[coasts] == pytest.approx(RATE, rel=1e-12)


def test_the_turn_is_about_one_axis_and_the_short_way():
    q_from, q_to = random_ends()
    plan = SLEW.plan(q_from, q_to)
    assert plan.angle == pytest.approx(quaternion.angle_between(q_from, q_to), abs=1e-14)
    middle = at(plan, AttitudeReference(q_to), 0.5 * plan.t_end)
    assert quaternion.angle_between(middle.q_IR, quaternion.slerp(q_from, q_to, 0.5)).max() < 1e-14
    assert np.array_equal(SLEW.plan(q_from, -q_to).angle, plan.angle)


@pytest.mark.parametrize("moving", [False, True])
def test_rate_and_acceleration_are_the_derivatives_of_the_attitude(moving):
    q_from, q_to = random_ends()
    w_I, d, plan = np.array([0.002, -0.001, 0.003]) * moving, 1e-3, SLEW.plan(q_from, q_to)

    def target(t):
        """Turn about a fixed axis, so that the rate is the same in all axes but the target's own."""
        q_IT = quaternion.mul(quaternion.exp(w_I * t[..., None]), q_to)
        return AttitudeReference(q_IT, quaternion.inverse_rotate(q_IT, w_I), np.zeros(3))

    for part in (0.05, 0.2, 0.5, 0.77, 0.99):
        t = part * plan.t_end
        r, (before, after) = at(plan, target(t), t), (at(plan, target(t + s), t + s) for s in (-d, d))
        w = quaternion.log(quaternion.mul(quaternion.conj(before.q_IR), after.q_IR)) / (2.0 * d)
        assert r.w_R == pytest.approx(w, abs=1e-8)
        assert r.wdot_R == pytest.approx((after.w_R - before.w_R) / (2.0 * d), abs=1e-8)


def test_no_turn_and_half_a_turn_are_finite():
    q = quaternion.normalize(np.array([0.3, -0.4, 0.5, 0.1]))
    still = SLEW.reference(SLEW.plan(q, q), AttitudeReference(q), np.array([0.0, 1.0]))
    assert np.array_equal(still.q_IR[1], q) and not still.w_R.any()
    flip = quaternion.mul(q, np.array([0.0, 0.0, 1.0, 0.0]))
    plan = SLEW.plan(q, flip)
    assert plan.angle == pytest.approx(np.pi)
    assert np.array_equal(at(plan, AttitudeReference(flip), plan.t_end).q_IR, flip)


def test_the_closed_loop_follows_the_turn_with_no_more_than_the_lag_of_the_held_command():
    J, h = np.diag([0.22, 0.19, 0.13]), 0.05
    q_from, q_to = (q[:10] for q in random_ends())
    plan, law, body = SLEW.plan(q_from, q_to), AttitudeController.tuned(J, 0.3), RigidBody(J)
    x, memory, worst = AttitudeState(q_from, np.zeros((10, 3))), law.start((10,)), 0.0
    for k in range(int(plan.t_end.max() / h) + 1200):
        r = at(plan, AttitudeReference(q_to), k * h)
        worst = max(worst, quaternion.angle_between(x.q_IB, r.q_IR).max())
        tau, memory = law.command(x, r, memory)
        x = body.step(x, tau, h)
    assert worst < ACCELERATION * h / 0.3  # a command h/2 late: a rate error of a h/2, against the loop's 0.3 rad/s
    assert quaternion.angle_between(x.q_IB, q_to).max() < 1e-8


def test_a_batch_equals_single_trials_bit_for_bit():
    q_from, q_to = random_ends()
    plan = SLEW.plan(q_from, q_to)
    r = at(plan, AttitudeReference(q_to), 20.0)
    for k in range(N):
        one = SLEW.plan(q_from[k], q_to[k])
        single = at(one, AttitudeReference(q_to[k]), 20.0)
        assert all(np.array_equal(a[k], b) for a, b in zip(r, single, strict=True))


def test_limits_that_are_not_positive_are_refused():
    with pytest.raises(InputError, match="^rate_limit:"):
        Slew(rate_limit=0.0, acceleration_limit=1.0)


def test_the_fastest_turn_is_full_acceleration_coast_and_full_brake():
    """Bang, coast, bang takes angle/w + w/a, or 2 sqrt(angle/a) where the limit of the rate is not met."""
    fast = Slew(rate_limit=RATE, acceleration_limit=ACCELERATION, smooth=False)
    q_from, q_to = random_ends()
    plan, target = fast.plan(q_from, q_to), AttitudeReference(q_to)
    angle = quaternion.angle_between(q_from, q_to)
    short = 2.0 * np.sqrt(angle / ACCELERATION)
    best = np.where(angle < RATE**2 / ACCELERATION, short, angle / RATE + RATE / ACCELERATION)
    assert plan.t_end == pytest.approx(best, rel=1e-12) and (plan.t_end < SLEW.plan(q_from, q_to).t_end).all()
    t = np.linspace(1e-6, 1.0 - 1e-6, 501)[:, None] * plan.t_end
    r = fast.reference(plan, target, t)
    push = np.linalg.norm(r.wdot_R, axis=-1)
    assert np.linalg.norm(r.w_R, axis=-1).max() <= RATE * (1.0 + 1e-12)
    assert ((push < 1e-12) | (np.abs(push / ACCELERATION - 1.0) < 1e-9)).all()
    assert np.array_equal(fast.reference(plan, target, plan.t_end).q_IR, q_to)


def test_a_turn_around_the_sun_keeps_its_distance_and_goes_straight_where_it_may():
    rng, n, axis, cosine = np.random.default_rng(5), 400, np.array([0.6, 0.0, 0.8]), np.cos(np.radians(40.0))
    q_from, q_to = (quaternion.normalize(rng.normal(size=(n, 4))) for _ in range(2))
    sun_I = rng.normal(size=(n, 3))
    sun_I /= np.linalg.norm(sun_I, axis=-1, keepdims=True)
    straight = slew.single(q_from, q_to)
    turns, angle = slew.around(q_from, q_to, axis, cosine, quaternion.inverse_rotate(q_to, sun_I), *straight)
    plan = slew.timed(turns, angle, (RATE, ACCELERATION), 1.0, 0.0)
    target = AttitudeReference(q_to)
    t = np.linspace(0.0, 1.0, 801)[:, None] * plan.t_end
    r, direct = slew.follow(plan, target, t), SLEW.reference(SLEW.plan(q_from, q_to), target, t)

    def nearest(q_IR):
        """Return the smallest angle to the Sun over all times, as a cosine."""
        return np.max(np.sum(quaternion.rotate(q_IR, axis) * sun_I, axis=-1), axis=0)

    ends = np.maximum(nearest(r.q_IR[:1]), nearest(r.q_IR[-1:]))
    allowed = ends < cosine  # both ends are outside of the cone
    crossing = nearest(direct.q_IR) > cosine
    assert (allowed & crossing).sum() > 20 and (allowed & ~crossing).sum() > 20
    assert (nearest(r.q_IR)[allowed] <= np.maximum(ends, nearest(direct.q_IR) * ~crossing)[allowed] + 1e-12).all()
    assert quaternion.angle_between(r.q_IR[0], q_from).max() < 1e-7 and np.array_equal(r.q_IR[-1], q_to)
    assert np.array_equal(turns[~crossing & allowed], straight[0][~crossing & allowed])
    assert np.linalg.norm(r.w_R, axis=-1).max() <= RATE * (1.0 + 1e-12)
    d = 1e-3
    before, after = (slew.follow(plan, target, t[300] + s) for s in (-d, d))
    w = quaternion.log(quaternion.mul(quaternion.conj(before.q_IR), after.q_IR)) / (2.0 * d)
    assert r.w_R[300] == pytest.approx(w, abs=1e-8)
    assert r.wdot_R[300] == pytest.approx((after.w_R - before.w_R) / (2.0 * d), abs=1e-8)
