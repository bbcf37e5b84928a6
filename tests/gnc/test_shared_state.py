"""What a user's code does to what all flights of a process share: it is told, and put back."""

import builtins
import os
import sys
import threading

import numpy as np
import pytest
import typer

import gnc.checks
import gnc.contract
import gnc.history
import gnc.shared_state
from gnc.errors import PartError
from gnc.shared_state import undisturbed, watch


class Silent(Exception):
    """An error without words."""

    def __str__(self):
        raise RuntimeError("none")


def dies_in_a_thread():
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()


def raises(error):
    raise error


ACTS = {
    "replaces builtins.len": lambda: setattr(builtins, "len", sum),
    "replaces numpy.cross": lambda: setattr(np, "cross", np.dot),
    "replaces gnc.checks.at_most": lambda: setattr(gnc.checks, "at_most", gnc.checks.at_least),
    "replaces gnc.history.History.record": lambda: setattr(gnc.history.History, "record", print),
    "replaces gnc.contract.ROUND_OFF": lambda: setattr(gnc.contract, "ROUND_OFF", 1.0),
    "numpy.seterr: changes": lambda: np.seterr(all="raise"),
    "sys.setrecursionlimit: changes": lambda: sys.setrecursionlimit(900),
    "os.chdir: changes": lambda: os.chdir("/"),
    "takes out loaded modules, gnc.checks": lambda: sys.modules.pop("gnc.checks"),
    "ZeroDivisionError": dies_in_a_thread,
    "Exit: 0": lambda: raises(typer.Exit(0)),
    "SystemExit: 0": lambda: sys.exit(0),
    "Silent": lambda: raises(Silent()),
}


def state():
    settings = [len, np.cross, gnc.checks.at_most, gnc.history.History.record, gnc.contract.ROUND_OFF, np.geterr()]
    return [*settings, sys.getrecursionlimit(), os.getcwd(), sys.modules["gnc.checks"], threading.excepthook]


@pytest.mark.parametrize("says", ACTS)
def test_what_a_users_code_changes_is_told_and_put_back(says):
    watch()
    before = state()
    with pytest.raises(PartError, match=says), undisturbed():
        ACTS[says]()
    assert state() == before
    with undisturbed():
        pass


def test_a_thread_that_goes_on_after_the_flight_is_told():
    watch()
    done = threading.Event()
    with pytest.raises(PartError, match="leaves a thread running"), undisturbed():
        threading.Thread(target=lambda: done.wait()).start()
    done.set()
    gnc.shared_state.left_running.clear()


def test_an_interrupt_stays_one():
    with pytest.raises(KeyboardInterrupt), undisturbed():
        raise KeyboardInterrupt
