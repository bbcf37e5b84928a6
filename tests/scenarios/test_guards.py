"""Guards of modes by themselves: how long they must hold, hysteresis, who wins; and what they refuse."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.expression import parse
from gnc.scenarios.missions import modes
from gnc.scenarios.missions.mission import Software


def run(values, when, keep="", for_s=0.0, period=1.0):
    """Return the mode after each value of rate_deg_s, of a guard from mode 0 to mode 1."""
    one = modes.guard(((0, 0), 1), parse(when), keep, for_s, {})
    mode, entered, held, longest, found = 0.0, 0.0, 0.0, 0.0, []
    for k, value in enumerate(values):
        holds = one.kernel(np.array([value]))
        numbers = one.source, one.target, one.for_s, period, k * period
        mode, entered, held, longest = modes.step(
            mode, mode, entered, holds, held, longest, *(np.array(x, float) for x in numbers)
        )
        found.append(float(mode))
    return found, float(longest), float(entered)


def test_a_condition_must_hold_without_a_break():
    found, longest, entered = run([0.4, 0.4, 0.9, 0.4, 0.4, 0.4, 0.9], "rate_deg_s < 0.5", for_s=3.0)
    assert found == [0, 0, 0, 0, 0, 1, 1] and longest == 3.0 and entered == 5.0


def test_a_weaker_condition_keeps_the_clock_running_and_never_starts_it():
    values = [0.55, 0.55, 0.4, 0.55, 0.55, 0.7]
    assert run(values, "rate_deg_s < 0.5", "rate_deg_s < 0.6", 3.0)[0] == [0, 0, 0, 0, 1, 1]
    assert run(values, "rate_deg_s < 0.5", "", 3.0)[0] == [0] * 6
    assert run([0.55] * 9, "rate_deg_s < 0.5", "rate_deg_s < 0.6", 3.0)[0] == [0] * 9


def test_numbers_count_as_conditions_and_may_be_negated():
    assert run([0.0, 2.0], "rate_deg_s")[0] == [0, 1]
    assert run([2.0, 0.0], "not rate_deg_s and not (rate_deg_s > 1)")[0] == [0, 1]


def test_what_software_cannot_know_is_refused_with_what_it_can():
    words = modes.words_of(["tracker"], ["wheels"])
    for name in ("sat.pointing_error_deg", "tracker.used", "wheels.nis"):
        with pytest.raises(InputError, match="is not known to software"):
            modes.guard(((0, 0), 1), parse(f"{name} > 1"), "", 0.0, words)
    assert modes.guard(((0, 0), 1), parse("tracker.age_s > 1 and wheels.excluded > 0"), "", 0.0, words).names


def test_a_time_line_becomes_a_condition_on_one_command():
    table = {"navigation": "known", "rate_hz": 2.0, "modes": {"a": {}, "b": {}}}
    (way,) = Software(**table, timeline=[{"at_s": 30.0, "mode": "b"}]).ways
    t = np.arange(0.0, 60.0, 0.5)
    assert t[parse(way.when).value(lambda name: t)].tolist() == [30.0]
    with pytest.raises((InputError, ValueError), match="there is no mode 'c'"):
        Software(**table, timeline=[{"at_s": 30.0, "mode": "c"}])


def test_the_first_mode_is_the_one_that_is_named_or_that_nothing_leads_to():
    ways = [{"from": "b", "to": "a", "when": "t > 1"}, {"from": "c", "to": "a", "when": "t > 2"}]
    table = {"navigation": "known", "modes": {"a": {}, "b": {}, "c": {}}, "transitions": ways}
    assert next(iter(Software(**table).modes)) == "b"
    assert next(iter(Software(**table, timeline=[{"at_s": 1.0, "mode": "b"}]).modes)) == "c"
    assert next(iter(Software(**table, first_mode="a").modes)) == "a"
    with pytest.raises((InputError, ValueError), match="there is no mode 'd'"):
        Software(**table, first_mode="d")
