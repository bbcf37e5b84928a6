"""Lost means physics: no exception loses a trial."""

import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gnc.errors import DefectError, InputError, PartError
from gnc.montecarlo import flight
from gnc.montecarlo.flight import fly, join
from tests.gnc.montecarlo.flights import STEPS, Walk


class Faulty(Walk):
    """Raises what it is given, in one trial."""

    def __init__(self, error, trial):
        super().__init__()
        object.__setattr__(self, "faulty", (error, trial))

    def fly(self, trials):
        error, trial = self.faulty
        if trial in trials:
            raise error
        return super().fly(trials)


@pytest.mark.parametrize(
    "error",
    [RuntimeError("no good\nsecond line"), SystemExit(0), OSError(5, "no disk"), MemoryError(), GeneratorExit()],
)
def test_an_exception_loses_no_trial_but_ends_the_flight_as_the_error_of_its_part(error) -> None:
    with pytest.raises(PartError) as caught:
        fly(Faulty(error, 7), np.arange(20))
    found = pickle.loads(pickle.dumps(caught.value))
    assert (found.part, found.method) == ("test_flight.py:Faulty", "fly")
    assert found.message.startswith(type(error).__name__) and "\n" not in str(found) and "raise error" in found.trace
    assert found.place == ("trials 0 to 19" if isinstance(error, MemoryError | OSError) else "trial 7")


def test_ctrl_c_stays_what_it_is() -> None:
    with pytest.raises(KeyboardInterrupt):
        fly(Faulty(KeyboardInterrupt(), 7), np.arange(20))


def test_ctrl_c_raised_by_a_part_of_a_worker_is_that_parts_error() -> None:
    """In a thread, and in a worker process, Ctrl-C never raises by itself."""
    with ThreadPoolExecutor(1) as pool, pytest.raises(PartError, match="KeyboardInterrupt"):
        pool.submit(fly, Faulty(KeyboardInterrupt(), 7), np.arange(20)).result()


def test_an_error_with_no_frame_of_a_users_is_a_defect_of_ours_and_tells_the_line(monkeypatch) -> None:
    monkeypatch.setattr(flight, "_tidy", flight.join)  # which does not take these arguments' values
    with pytest.raises(DefectError, match=r"at gnc.montecarlo.flight:\d+ \(trial 0\)"):
        fly(Returning(lost=np.array(["a"])), np.arange(1))


class Returning:
    def __init__(self, **results):
        self.results = results

    def fly(self, trials):
        return {name: values[: len(trials)] for name, values in self.results.items()}


def test_an_input_error_tells_the_trial() -> None:
    with pytest.raises(InputError, match="^trial 7: mass: -1 is not positive$"):
        fly(Faulty(InputError("mass: -1 is not positive"), 7), np.arange(20))


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
        ({"x": np.ones(0)}, "x has shape (0,) for 1 trials"),
        ({"x": np.array(["a"])}, "x is <U1; expected numbers, and text for lost only"),
        ({"x": np.array([1j])}, "x is complex128; expected numbers, and text for lost only"),
        ({"lost": np.array([0])}, "lost is int64; expected numbers, and text for lost only"),
    ],
)
def test_results_that_cannot_be_kept_are_refused(results, reason: str) -> None:
    with pytest.raises(PartError, match=re.escape(f"Returning.fly: returned what cannot be kept: {reason}")):
        fly(Returning(**results), np.arange(1))


def test_histories_of_unequal_length_are_refused() -> None:
    parts = [{"x": np.ones((1, n)), "lost": np.array([""])} for n in (3, 4)]
    with pytest.raises(InputError, match=r"x: trials return shapes \[\(3,\), \(4,\)\]"):
        join(parts)
