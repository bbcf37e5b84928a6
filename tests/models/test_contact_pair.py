"""Two bodies that hit each other: known impacts, trials by themselves; `pc/pair` counts energy and momentum."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.integrators.contact import Motion
from gnc.models.contact_body import BallBody, ContactPair, PairState
from gnc.scenarios.papers.pc import pair as case

UNIT = np.array([[1.0, 0.0, 0.0, 0.0]])
BALL = BallBody(2.0, 0.1 * np.eye(3), [[0.0, 0.0, 0.0]], 0.5)


def ball(x, v, w=(0.0, 0.0, 0.0)):
    return Motion(UNIT, np.array([[x, 0.0, 0.0]]), np.array([w]), np.array([v]))


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_equal_balls_that_meet_head_on_part_with_the_restitution_asked_for(e):
    x = PairState(ball(-0.45, (1.0, 0.0, 0.0)), ball(0.45, (-1.0, 0.0, 0.0)))
    after = ContactPair(BALL, BALL, restitution=e).hit(x)
    np.testing.assert_allclose(after.first.v_I, [[-e, 0.0, 0.0]], atol=1e-13)
    np.testing.assert_allclose(after.second.v_I, [[e, 0.0, 0.0]], atol=1e-13)


def test_a_ball_that_slides_over_another_takes_friction_within_its_cone():
    x = PairState(ball(-0.5, (1.0, 5.0, 0.0)), ball(0.5, (0.0, 0.0, 0.0)))
    after = ContactPair(BALL, BALL, restitution=0.0, friction=0.1).hit(x)
    push, drag = 2.0 * (x.first.v_I - after.first.v_I)[0, :2]
    assert push > 0.0 and drag == pytest.approx(0.1 * push, rel=1e-12)
    assert after.first.w_B[0, 2] != 0.0


@pytest.mark.jit
def test_a_trial_hits_the_same_alone_and_in_a_batch():
    pair = ContactPair(case.body(1.0), case.body(2.5), 0.5, 0.3)
    x = PairState(case.start(3, "first", 1.5), case.start(3, "second", -1.5))
    alone = PairState(*(Motion(*(a[7:8] for a in y)) for y in x))
    for _ in range(40):
        x, alone = pair.step(x, 0.02), pair.step(alone, 0.02)
    for batch, one in zip(x, alone, strict=True):
        for a, b in zip(batch, one, strict=True):
            np.testing.assert_array_equal(a[7:8], b)


def test_what_is_no_body_is_refused():
    with pytest.raises(InputError, match="radius"):
        BallBody(1.0, np.eye(3), [[0.0, 0.0, 0.0]], 0.0)
    with pytest.raises(InputError, match="restitution"):
        ContactPair(BALL, BALL, restitution=1.5)
