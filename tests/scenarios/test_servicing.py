"""The scenario servicing: an arm on a base that is held."""

import numpy as np
import pytest

from gnc import dual_quaternion
from gnc.config import dump, parse
from gnc.models.multibody import TreeState, accelerations, kinematics
from gnc.scenarios.bodies import arm
from gnc.scenarios.servicing import SCENARIO, ServicingConfig
from tests.scenarios.flights import configured, failed, flown, judged, judged_from_what_it_names, same_bits

SHORT = ("move.start_s=30.0", "duration_s=105.0", "criteria.final_s=10.0")
BRIEF = ("move.start_s=1.0", "move.time_s=10.0", "duration_s=6.0")
CONFIG = ServicingConfig()
HOLD = dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), np.array([0.5, -0.2, 6.0]))


@pytest.fixture(scope="module")
def planned():
    nominal = arm.tree(CONFIG.base, CONFIG.arm)
    return nominal, arm.plan(nominal, HOLD, CONFIG.move, 0.1, 130.0)


@pytest.mark.parametrize("seed", [31, 32])
def test_base_and_tip_stay_within_their_bounds(seed):
    verdict = judged("servicing", seed, 8, *SHORT)
    assert failed(verdict) == [] and verdict.lost == {}
    assert verdict.per_trial["tip_max_m"].shape == (8,)


def test_without_feed_forward_the_base_turns_ten_times_as_far_and_fails():
    verdict = judged("servicing", 31, 4, *SHORT, "controller.feedforward=false")
    assert "pointing of the base p99.7 [deg]" in failed(verdict)
    assert verdict.metrics["pointing_p997_deg"] > 1.0


def test_a_trial_alone_has_the_bits_it_has_in_a_batch():
    _, many = flown("servicing", 7, 5, *BRIEF)
    _, one = flown("servicing", 7, [3], *BRIEF)
    assert same_bits(many, one, 3)


@pytest.mark.parametrize("t", [61.0, 75.0, 90.0, 111.3])
def test_the_planned_efforts_and_wrench_move_the_arm_and_hold_the_base(planned, t):
    """By forward dynamics, and by finite differences of the planned rates."""
    nominal, plan = planned
    row, before, after = plan.at(t), plan.at(t - 0.05), plan.at(t + 0.05)
    x = TreeState(HOLD, np.zeros(6), row.gamma, row.rate)
    a = accelerations(nominal, x, row.effort, nominal.wrenches({"base": row.wrench_B}))
    assert np.abs(a.twist_dot).max() < 1e-12
    assert np.allclose(a.rate_dot, (after.rate - before.rate) / 0.1, atol=1e-6)
    assert np.allclose(row.rate, (after.gamma - before.gamma) / 0.1, atol=1e-6)


@pytest.mark.parametrize("t", [70.0, 100.0])
def test_the_wrench_that_holds_the_base_is_what_the_momentum_of_the_arm_gains(planned, t):
    nominal, plan = planned

    def momentum(at):
        row = plan.at(at)
        return kinematics.momentum(nominal, TreeState(HOLD, np.zeros(6), row.gamma, row.rate))

    gained = (momentum(t + 0.05) - momentum(t - 0.05)) / 0.1
    wanted = dual_quaternion.transform_wrench(HOLD, plan.at(t).wrench_B)
    assert np.allclose(gained, wanted, atol=1e-4 * np.abs(wanted).max())


def test_the_move_begins_and_ends_at_rest_where_it_should(planned):
    _, plan = planned
    for t, wanted in ((0.0, CONFIG.move.from_deg), (60.0, CONFIG.move.from_deg), (120.0, CONFIG.move.to_deg)):
        assert np.allclose(np.degrees(plan.at(t).gamma), wanted) and np.allclose(plan.at(t).rate, 0.0)
        assert np.allclose(plan.at(t).wrench_B, 0.0, atol=1e-12)


def test_books_see_an_impulse_that_was_not_entered(monkeypatch):
    monkeypatch.setattr("gnc.scenarios.bodies.books.entered", lambda books, *rest: books)
    assert "momentum bookkeeping" in failed(judged("servicing", 7, 2, *BRIEF))


def test_the_signals_it_names_are_enough_to_judge():
    assert judged_from_what_it_names("servicing", 7, 2, *BRIEF).checks


def test_the_configuration_survives_toml():
    config = configured("servicing", "arm.payload_kg=35.0")
    assert parse(dump(config), ServicingConfig) == config


def test_figures_and_scene_can_be_drawn():
    from matplotlib.figure import Figure

    config, flight = flown("servicing", 1, 2, *BRIEF)
    for draw in SCENARIO.figures(config, flight).values():
        figure = Figure()
        draw(figure)
        assert figure.axes
    assert len(SCENARIO.scene(config, flight, 0).bodies) == 4
