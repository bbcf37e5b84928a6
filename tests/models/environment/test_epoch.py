"""Dates against astropy's time scales."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from astropy.time import Time

from gnc.errors import InputError
from gnc.models.environment import Epoch

BERLIN = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    "spelling",
    [
        "2025-03-20T09:01:00",
        "2025-03-20T09:01:00Z",
        "2025-03-20 10:01:00+01:00",
        datetime(2025, 3, 20, 9, 1),
        datetime(2025, 3, 20, 9, 1, tzinfo=UTC),
        datetime(2025, 3, 20, 10, 1, tzinfo=BERLIN),
    ],
)
def test_every_spelling_of_an_instant_is_the_same_epoch(spelling):
    assert Epoch(spelling) == Epoch("2025-03-20T09:01")
    assert Epoch.of(spelling) == Epoch.of(Epoch(spelling))


@pytest.mark.parametrize(
    "utc", ["1972-01-01", "1999-07-04T03:02:01", "2016-12-31T23:00:00", "2017-01-01T00:00:00.25", "2025-06-01T12:00"]
)
def test_terrestrial_time_agrees_with_astropy_to_a_tenth_of_a_microsecond_also_next_to_leap_seconds(utc):
    t = np.array([0.0, 0.125, 3000.0])
    days, fraction = Epoch(utc).tt(t)
    reference = Time(utc, scale="utc").tt
    apart = (days - reference.jd1) + (fraction - reference.jd2)
    np.testing.assert_allclose(apart * 86400.0, t, rtol=0, atol=1e-7)


def test_universal_time_counts_utc_days():
    days, fraction = Epoch("2025-01-01T06:00").ut1(np.array([0.0, 43200.0]))
    np.testing.assert_array_equal(days + fraction, Time("2025-01-01").jd + np.array([0.25, 0.75]))


def test_dates_count_seconds_after_the_epoch():
    assert Epoch("2024-02-28T23:59:59").date(1.5) == datetime(2024, 2, 29, 0, 0, 0, 500000, tzinfo=UTC)
    assert Epoch("2024-03-01").seconds_after(Epoch("2024-02-28")) == 2 * 86400.0


@pytest.mark.parametrize(
    ("utc", "message"),
    [
        ("20 March 2025", "'20 March 2025' is no date; give UTC as ISO 8601"),
        ("2025-02-30", "'2025-02-30' is no date"),
        (2025, "expected text or a datetime, got int"),
        ("1971-12-31T23:59:59", "out of range; give a date from 1972 to 2099"),
        ("2100-01-01", "out of range"),
    ],
)
def test_what_is_no_date_says_so_in_one_line(utc, message):
    with pytest.raises(InputError, match=message) as caught:
        Epoch(utc)
    assert "epoch:" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("t", [np.inf, np.nan, 1e15])
def test_a_time_that_is_no_date_says_so(t):
    with pytest.raises(InputError, match="is no date; give seconds after the epoch"):
        Epoch("2025-01-01").date(t)
