"""A user's part is held to its contract at every call: it cannot hang the flight or change what others hold."""

import threading
import time

import numpy as np
import pytest

from gnc import contract, watchdog
from gnc.contract import guarded
from gnc.errors import PartError


class Law:
    def __init__(self, act):
        self.act = act

    def command(self, belief, memory):
        self.act(belief)
        return np.zeros((1, 3)), memory


def test_a_law_that_never_answers_ends_with_a_line_that_names_it(monkeypatch) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_S", 0.2)
    monkeypatch.setattr(contract, "LIMIT_S", 0.2)
    watchdog._watcher.cache_clear()

    def loop(_):
        while True:
            time.sleep(0.001)

    begun = time.monotonic()
    with pytest.raises(PartError, match=r"my\.py:Law\.command: no answer within 0\.2 s"):
        guarded(Law(loop), "law", "my.py:Law").command(np.ones(3), ())
    assert time.monotonic() - begun < 10.0 and threading.get_ident() not in watchdog._under_way


def test_a_law_that_overwrites_the_belief_changes_its_own_copy() -> None:
    belief = np.ones((2, 3))

    def overwrite(given):
        given[:] = np.pi

    guarded(Law(overwrite), "law", "my.py:Law").command(belief, ())
    assert np.all(belief == 1.0)
