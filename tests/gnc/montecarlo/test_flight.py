"""One trial that fails never takes another with it."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.montecarlo.flight import fly, join
from tests.gnc.montecarlo.flights import STEPS, Walk


def test_only_the_trials_that_raise_are_lost_and_the_others_keep_their_bits() -> None:
    calm = fly(Walk(), np.arange(20))
    hurt = fly(Walk(raising=(0, 7, 19)), np.arange(20))
    assert np.flatnonzero(hurt["lost"] != "").tolist() == [0, 7, 19]
    assert hurt["lost"][7] == "RuntimeError: trial 7 cannot fly"
    others = hurt["lost"] == ""
    assert calm.keys() == hurt.keys()
    assert all((calm[name][others] == hurt[name][others]).all() for name in calm)
    assert np.isnan(hurt["error"][7]).all() and np.isnan(hurt["final"][7]) and not hurt["success"][7]


def test_a_chunk_in_which_every_trial_raises_has_only_reasons() -> None:
    results = fly(Walk(raising=tuple(range(5))), np.arange(5))
    assert results.keys() == {"lost"}
    assert results["lost"].tolist() == [f"RuntimeError: trial {k} cannot fly" for k in range(5)]


class Returning:
    def __init__(self, **results):
        self.results = results

    def fly(self, trials):
        return {name: values[: len(trials)] for name, values in self.results.items()}


def test_an_input_error_is_its_own_reason() -> None:
    class Wrong:
        def fly(self, trials):
            raise InputError("mass: -1 is not positive")

    assert fly(Wrong(), np.arange(1))["lost"].tolist() == ["mass: -1 is not positive"]


def test_a_flight_that_says_nothing_of_losses_lost_none() -> None:
    assert fly(Returning(x=np.ones(3)), np.arange(3))["lost"].tolist() == ["", "", ""]


def test_a_lost_trial_is_no_success() -> None:
    results = fly(Returning(success=np.array([True, True]), lost=np.array(["", "diverged"])), np.arange(2))
    assert results["success"].tolist() == [True, False]


def test_whole_numbers_become_floating_point_so_that_a_lost_trial_can_be_nan() -> None:
    assert fly(Walk(), np.arange(3))["steps"].tolist() == [STEPS] * 3
    assert fly(Walk(), np.arange(3))["steps"].dtype == np.float64


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ({"x": np.ones(0)}, "x: the flight returned shape (0,) for 1 trials"),
        ({"x": np.array(["a"])}, "x: the flight returned <U1; expected numbers, and text for lost only"),
        ({"x": np.array([1j])}, "x: the flight returned complex128; expected numbers, and text for lost only"),
        ({"lost": np.array([0])}, "lost: the flight returned int64; expected numbers, and text for lost only"),
    ],
)
def test_results_that_cannot_be_kept_are_the_reason(results, reason: str) -> None:
    assert fly(Returning(**results), np.arange(1))["lost"].tolist() == [reason]


def test_histories_of_unequal_length_are_refused() -> None:
    parts = [{"x": np.ones((1, n)), "lost": np.array([""])} for n in (3, 4)]
    with pytest.raises(InputError, match=r"x: trials return shapes \[\(3,\), \(4,\)\]"):
        join(parts)
