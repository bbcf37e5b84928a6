"""Valves: impulses do not depend on the truth step, and their mean is what is wanted."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.models.actuators.plumes import ThrustersPart

CONTROL_S = 1.0
COMMANDS = np.random.default_rng(4).uniform(-0.2, 1.2, size=(40, 3, 12)) * np.linspace(0.01, 1.0, 12)


def impulses(h, **fields):
    """Return the impulse of each thruster (3 trials, 12), and all wrenches times h, after 40 intervals."""
    one = ThrustersPart(thrust_N=2.0, **fields).belief().paced(CONTROL_S)
    state, total = one.start(3), 0.0
    for command in COMMANDS:
        for _ in range(round(CONTROL_S / h)):
            wrench, state = one.act(command, state, h)
            total = total + h * wrench
    return state[:, :12], total


WAYS = [
    {"minimum_on_s": 0.03},
    {"minimum_on_s": 0.3, "too_small": "is dropped"},
    {"modulation": "schmitt"},
    {"modulation": "pseudo-rate", "lag_s": 3.0},
]


@pytest.mark.parametrize("way", WAYS)
def test_impulses_do_not_depend_on_the_truth_step(way):
    expected, wrench = impulses(1.0, **way)
    assert expected.min(axis=0).max() > 0.0
    for h in (0.5, 0.1, 0.05, 0.02, 0.01):
        spent, total = impulses(h, **way)
        assert spent == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert total == pytest.approx(wrench, rel=1e-12, abs=1e-12)


def test_what_is_too_small_waits_and_nothing_is_lost():
    wanted = 2.0 * CONTROL_S * np.clip(COMMANDS, 0.0, 1.0).sum(axis=0)
    spent, _ = impulses(0.1, minimum_on_s=0.2)
    assert (np.abs(spent - wanted) <= 2.0 * 0.2 + 1e-12).all()  # at most one pulse waits
    dropped, _ = impulses(0.1, minimum_on_s=0.2, too_small="is dropped")
    assert (dropped[:, 0] == 0.0).all() and (spent[:, 0] > 0.0).any()


def test_a_schmitt_trigger_has_hysteresis_and_pseudo_rate_has_the_right_mean():
    one = ThrustersPart(modulation="schmitt", trigger_on=0.5, trigger_off=0.3).belief().paced(1.0)
    state, opened = one.start(1), []
    for level in (0.4, 0.6, 0.4, 0.2, 0.4):
        state = one.act(np.full((1, 12), level), state, 1.0)[1]
        opened.append(one.observe(None, state)["on"][0, 0])
    assert opened == [0.0, 1.0, 1.0, 0.0, 0.0]
    pulsed = ThrustersPart(modulation="pseudo-rate", trigger_on=0.1, trigger_off=0.05, thrust_N=1.0).belief().paced(1.0)
    state = pulsed.start(1)
    for _ in range(2000):
        state = pulsed.act(np.full((1, 12), 0.4), state, 1.0)[1]
    assert state[0, 0] / 2000.0 == pytest.approx(0.4, abs=0.1)  # within the threshold
    with pytest.raises((InputError, ValueError), match="is not below"):
        ThrustersPart(trigger_on=0.2, trigger_off=0.2)
