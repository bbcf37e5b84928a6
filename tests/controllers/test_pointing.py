from typing import NamedTuple

import numpy as np
import pytest

from gnc import quaternion
from gnc.controllers.pointing import Direction, Pointing, site, towards
from gnc.errors import InputError
from gnc.models.environment import Environment, KeplerOrbit, sun_position, sun_synchronous_inclination
from gnc.models.environment.constants import EARTH_J2

A = 6878e3
MODES = [
    ("nadir", "velocity"),
    ("nadir", "orbit normal"),
    ("nadir", "sun"),
    ("sun", "orbit normal"),
    ("sun", "nadir"),
    ("velocity", "nadir"),
]
T = np.linspace(30.0, 5500.0, 60)
D = 4.0


class Along(NamedTuple):
    """What surrounds a spacecraft on an orbit, not interpolated, so that it may be differentiated twice."""

    orbit: KeplerOrbit

    def at(self, t):
        r_I, v_I = self.orbit.at(t)
        sun_I = sun_position(self.orbit.epoch, t) - r_I
        sun_I /= np.linalg.norm(sun_I, axis=-1, keepdims=True)
        return Environment(r_I, v_I, np.zeros(3), sun_I, np.zeros(()))


ELEMENTS = {"a": A, "e": 0.02, "inclination": sun_synchronous_inclination(A), "raan": np.radians(22.5)}
ORBITS = {"two bodies": Along(KeplerOrbit(**ELEMENTS, J2=0.0)), "J2": Along(KeplerOrbit(**ELEMENTS))}


def pointing(at, roll):
    return Pointing(axis_B=(0.1, -0.2, 1.0), at=at, roll_axis_B=(1.0, 0.3, 0.0), roll=roll)


def angle(a, b):
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1))


def direction(name, env):
    return {"nadir": -env.r_I, "sun": env.sun_I, "velocity": env.v_I, "orbit normal": np.cross(env.r_I, env.v_I)}[name]


@pytest.mark.parametrize("at, roll", MODES)
def test_the_axis_points_and_the_roll_axis_is_as_near_as_it_can_be(at, roll):
    env, guidance = ORBITS["J2"].at(T), pointing(at, roll)
    q_IR = guidance.reference(env).q_IR
    axis, rolled = quaternion.rotate(q_IR, guidance.axis_B), quaternion.rotate(q_IR, guidance.roll_axis_B)
    assert angle(axis, direction(at, env)).max() < 1e-13
    nearest = angle(rolled, direction(roll, env))
    for turn in (-0.01, 0.01):
        q_other = quaternion.mul(q_IR, quaternion.from_axis_angle(guidance.axis_B, turn))
        assert (angle(quaternion.rotate(q_other, guidance.roll_axis_B), direction(roll, env)) > nearest).all()


def feed_forward_errors(table, at, roll):
    """Return errors of rate and acceleration against Richardson's differences of attitude and rate."""
    guidance = pointing(at, roll)
    r = guidance.reference(table.at(T))

    def differences(d):
        before, after = (guidance.reference(table.at(T + s)) for s in (-d, d))
        w = quaternion.log(quaternion.mul(quaternion.conj(before.q_IR), after.q_IR)) / (2.0 * d)
        return np.stack([w, (after.w_R - before.w_R) / (2.0 * d)])

    exact = (4.0 * differences(D) - differences(2.0 * D)) / 3.0
    return np.abs(np.stack([r.w_R, r.wdot_R]) - exact).max(axis=(1, 2))


@pytest.mark.parametrize("at, roll", MODES)
def test_feed_forward_is_the_derivative_of_the_attitude(at, roll):
    rate, acceleration = feed_forward_errors(ORBITS["two bodies"], at, roll)
    # The true Sun runs up to 4 % off the mean Sun's 2e-7 rad/s, which a roll axis amplifies near the other direction.
    sun = "sun" in (at, roll)
    assert rate < (1e-8 if sun else 1e-14)
    assert acceleration < (1e-10 if sun else 1e-16)


@pytest.mark.parametrize("at, roll", [("nadir", "velocity"), ("nadir", "orbit normal"), ("velocity", "nadir")])
def test_j2_adds_no_more_than_its_share_of_gravity(at, roll):
    rate, acceleration = feed_forward_errors(ORBITS["J2"], at, roll)
    n = ORBITS["J2"].orbit.mean_motion
    assert rate < 3 * EARTH_J2 * n and acceleration < 3 * EARTH_J2 * n**2


def test_a_site_on_the_ground_is_followed():
    table, r_E = ORBITS["two bodies"], np.array([4.0e6, 1.0e6, 4.8e6])
    epoch = KeplerOrbit(a=A).epoch
    guidance = pointing("target", "velocity")
    t, d = np.linspace(1000.0, 1300.0, 7), 1.0

    def reference(t):
        env = table.at(t)
        target = site(epoch, t, r_E)
        return guidance.reference(env, towards(env, target)), target

    (r, target), (before, start), (after, end) = reference(t), reference(t - d), reference(t + d)
    assert (end.r_I - start.r_I) / (2 * d) == pytest.approx(target.v_I, rel=1e-6, abs=1e-3)
    assert (end.v_I - start.v_I) / (2 * d) == pytest.approx(target.a_I, rel=1e-5, abs=1e-6)
    seen = quaternion.rotate(r.q_IR, guidance.axis_B)
    assert angle(seen, target.r_I - table.at(t).r_I).max() < 1e-13
    w = quaternion.log(quaternion.mul(quaternion.conj(before.q_IR), after.q_IR)) / (2.0 * d)
    assert r.w_R == pytest.approx(w, abs=1e-7)
    assert r.wdot_R == pytest.approx((after.w_R - before.w_R) / (2.0 * d), abs=1e-8)


def test_a_direction_of_the_user_s_and_fixed_ones_are_pointed_at():
    env = ORBITS["J2"].at(T)
    star = Direction(np.array([1.0, 2.0, -1.0]))
    r = pointing("target", "sun").reference(env, star)
    assert angle(quaternion.rotate(r.q_IR, np.array([0.1, -0.2, 1.0])), star.d_I).max() < 1e-13
    assert np.abs(r.w_R).max() < 1e-5


def test_a_batch_equals_single_trials_bit_for_bit():
    table, guidance = ORBITS["J2"], pointing("sun", "nadir")
    r = guidance.reference(table.at(T))
    for k in range(0, len(T), 9):
        one = guidance.reference(table.at(T[k]))
        assert all(np.array_equal(a[k], b) for a, b in zip(r, one, strict=True))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"roll_axis_B": (0.0, 0.0, 2.0)}, "^roll_axis_B: expected another direction"),
        ({"axis_B": (0.0, 0.0, 0.0)}, "^roll_axis_B: expected another direction"),
        ({"roll": "nadir"}, "^roll: 'nadir' is where"),
        ({"at": "moon"}, "^at:"),
    ],
)
def test_a_pointing_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        Pointing(**{"axis_B": (0.0, 0.0, 1.0), "roll_axis_B": (1.0, 0.0, 0.0), **change})


def test_a_target_that_is_not_given_is_asked_for():
    with pytest.raises(InputError, match="^target:"):
        pointing("target", "sun").reference(ORBITS["J2"].at(0.0))
