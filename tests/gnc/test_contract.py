"""A user's part is held to its contract at every call: it cannot hang the flight or change what others hold."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from gnc import contract, watchdog
from gnc.contract import guarded
from gnc.errors import PartError
from gnc.estimators.kalman import Innovation


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


class Returns:
    """A part of any slot, each method of which returns what it is given."""

    noise_size = 3
    start = step = command = apply = share = measure = predict = residual = state = update = at = excluded = None

    def __init__(self, method, value):
        setattr(self, method, lambda *_: value)


Z, H, R, Q, W = (
    np.zeros((2, 3)),
    np.zeros((2, 3, 6)),
    np.eye(3),
    np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)),
    np.zeros((2, 3)),
)
MADE = Innovation(Z, np.tile(R, (2, 1, 1)), np.zeros(2), np.ones(2, bool))
EARTH = np.tile([7e6, 0.0, 0.0], (2, 1))
BROKEN = [  # each was taken: a loss of trials, wrong numbers, or a defect
    ("law", "command", (np.full((2, 3), np.inf), ()), "demand: expected finite numbers, received infinite ones"),
    ("sensor", "measure", (Z, "yes"), "valid: expected an array"),
    ("sensor", "measure", (Z, None), "valid: expected an array"),
    ("sensor", "measure", (Z, np.full(2, np.nan)), "valid: expected finite numbers, received NaN"),
    ("sensor", "measure", (Z, np.ones(5)), "valid: expected one for each trial, received shape"),
    ("sensor", "measure", (np.inf * (Z + 1.0), True), "z: expected finite numbers, received infinite ones"),
    ("sensor", "predict", None, r"expected a tuple \(z, H, R\), received a NoneType"),
    ("sensor", "predict", (Z, H), r"expected a tuple \(z, H, R\), received a tuple"),
    ("sensor", "predict", (Z, H[..., :2, :], R), "expected H .* received shapes"),
    ("sensor", "predict", (Z, np.nan * H, R), "H: expected finite numbers, received NaN"),
    ("sensor", "predict", (Z, H, -R), "R: expected a covariance, received one with negative variances"),
    ("sensor", "predict", (Z, H, R + np.eye(3, k=1)), "R: expected a covariance, received a matrix that is not symm"),
    ("sensor", "residual", None, "residual: expected an array"),
    ("sensor", "residual", np.nan * (Z + 1.0), "residual: expected finite numbers, received NaN"),
    ("actuator", "share", None, "command: expected an array"),
    ("actuator", "share", np.nan * (Z + 1.0), "command: expected finite numbers, received NaN"),
    ("navigation", "state", (2.0 * Q, W), "q_IB: expected unit quaternions, received"),
    ("navigation", "state", (Q[:1], W), r"q_IB: expected a row for each trial, received shape \(1, 4\)"),
    ("navigation", "update", (None, MADE), "expected a belief, received None"),
    ("navigation", "update", ((), "x"), "innovation: expected y, S, nis and used, or None"),
    ("navigation", "update", ((), MADE._replace(S=np.eye(2))), "innovation: expected y .* received shapes"),
    ("navigation", "update", ((), MADE._replace(used=np.ones(7))), "innovation: expected y .* received shapes"),
    ("guidance", "at", (np.zeros(4), np.zeros(3), np.zeros(3)), "q_IR: expected unit quaternions, received"),
    ("guidance", "at", (Q[0], np.full(3, np.nan), np.zeros(3)), "w_R: expected finite numbers, received NaN"),
    ("guidance", "at", (Q[0], "x", np.zeros(3)), "w_R: expected an array"),
    ("guidance", "at", (Q[0], np.zeros(3), np.zeros(2)), "wdot_R: expected an array"),
    ("fdir", "excluded", None, "expected a dictionary .* received a NoneType"),
    ("fdir", "excluded", {"sun": np.full(2, np.nan)}, "sun: expected finite numbers, received NaN"),
    ("orbit", "at", None, r"expected \(r_I, v_I\), received a NoneType"),
    ("orbit", "at", (EARTH[0], EARTH[0]), r"expected r_I and v_I of the shape \(2, 3\), received \(3,\) and \(3,\)"),
    ("orbit", "at", (1e-3 * EARTH, EARTH), "r_I: 7000 m is within the Earth; give metres"),
]
TAKEN = {
    ("sensor", "measure"): (Z, True),
    ("sensor", "predict"): (Z, H, R),
    ("navigation", "state"): (Q, W),
    ("navigation", "update"): ((), MADE),
    ("guidance", "at"): (Q[0], np.zeros(3), np.zeros(3)),
    ("fdir", "excluded"): {"sun": np.ones(2)},
    ("orbit", "at"): (EARTH, EARTH),
}


def called(slot, method, value):
    given = np.zeros(2) if slot == "orbit" else Q
    return getattr(guarded(Returns(method, value), slot, "my.py:Part"), method)(given)


@pytest.mark.parametrize(("slot", "method", "value", "says"), BROKEN)
def test_what_a_part_of_any_slot_may_not_return_is_an_error_of_it(slot, method, value, says) -> None:
    with pytest.raises(PartError, match=rf"^my.py:Part.{method}: {says}"):
        called(slot, method, value)
    assert {kind[0] for kind in BROKEN} >= {slot for slot, _ in TAKEN}


def test_what_it_may_return_is_taken() -> None:
    for (slot, method), value in TAKEN.items():
        assert called(slot, method, value) is value


ONCE = """
import os, sys
from gnc.contract import guarded
from gnc.errors import PartError

class Law:
    def command(self, belief, reference, memory):
        if not os.path.exists("forked"):
            open("forked", "w").close()
            os.fork()
        return 0.0 * belief, memory

import numpy as np
try:
    guarded(Law(), "law", "law.py:Law").command(np.zeros((2, 3)), None, ())
except PartError as error:
    print(error, flush=True)
print("flies on", flush=True)
"""


def test_a_part_that_forks_is_told_and_its_twin_does_not_fly_on(tmp_path):
    """One that forked at every command had made 5000 processes after thirteen steps."""
    done = subprocess.run([sys.executable, "-c", ONCE], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    told, *rest = done.stdout.splitlines()
    assert "law.py:Law.command: forks the process" in told and rest == ["flies on"]
