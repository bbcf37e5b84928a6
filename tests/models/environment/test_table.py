"""The table against the models it was made from."""

import dataclasses
import pickle

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.models.environment import (
    Dipole,
    EnvironmentTable,
    Epoch,
    Igrf,
    KeplerOrbit,
    TleOrbit,
    shadow_cone,
    sun_position,
)

RNG = np.random.default_rng(0)
ORBIT = KeplerOrbit(6.878e6, 0.001, np.radians(97.4), np.radians(22.5))
TLE = TleOrbit(
    "1 06251U 62025E   06176.82412014  .00008885  00000-0  12808-3 0  3985",
    "2 06251  58.0579  54.0425 0030035 139.1568 221.1854 15.56387291  6774",
)
ELLIPSE = KeplerOrbit(2.66e7, 0.7, 1.1, 0.3, 4.7)


@pytest.fixture(scope="module")
def table():
    """Ten minutes from 1800 s on, in which the shadow is entered."""
    return EnvironmentTable.along(ORBIT, 600.0, t_start=1800.0)


def models(orbit, field, t):
    r_I, v_I = orbit.at(t)
    to_sun = sun_position(orbit.epoch, t) - r_I
    sun_I = to_sun / np.linalg.norm(to_sun, axis=-1, keepdims=True)
    return r_I, v_I, field.at(orbit.epoch, t, r_I), sun_I


@pytest.mark.parametrize("knot_s", [10.0, 20.0])
@pytest.mark.parametrize("orbit", [ORBIT, TLE, ELLIPSE], ids=["low", "two-line", "elliptic"])
@pytest.mark.jit
def test_the_interpolation_error_is_below_the_stated_one_and_not_far_below(orbit, knot_s):
    table = EnvironmentTable.along(orbit, 7000.0, Igrf(), knot_s, t_start=500.0)
    t = np.concatenate(
        [RNG.uniform(500.0, 7500.0, 1500), 500.0 + RNG.uniform(0, 40, 50), 7500.0 - RNG.uniform(0, 40, 50)]
    )
    pairs = zip(table.at(t)[:4], models(orbit, Igrf(), t), table.error, strict=True)
    for looked_up, exact, stated in pairs:
        worst = np.linalg.norm(looked_up - exact, axis=-1).max()
        assert worst < stated < 10.0 * worst


@pytest.mark.jit
def test_fifteen_seconds_are_good_for_a_twentieth_of_a_nanotesla_and_a_centimetre():
    table = EnvironmentTable.along(ORBIT, 6000.0)
    assert table.error.B_I < 5e-11
    assert table.error.r_I < 1e-2
    assert table.error.v_I < 1e-3
    assert table.error.sun_I < 1e-12


@pytest.mark.jit
def test_the_error_of_the_position_falls_with_the_fourth_power_of_the_knots():
    errors = [EnvironmentTable.along(ORBIT, 6000.0, Dipole(), knot_s).error.r_I for knot_s in (20.0, 40.0)]
    assert np.log2(errors[1] / errors[0]) == pytest.approx(4.0, abs=0.05)


@pytest.mark.jit
def test_shadow_is_that_of_the_interpolated_vectors():
    table = EnvironmentTable.along(ORBIT, 6000.0, Dipole())
    t = np.linspace(0.0, 6000.0, 3001)
    exact = shadow_cone(ORBIT.at(t).r_I, sun_position(ORBIT.epoch, t))
    assert np.abs(table.at(t).shadow - exact).max() < 1e-5
    assert 0.2 < exact.mean() < 0.5


def test_a_batch_of_times_has_the_bits_of_each_alone(table):
    t = np.concatenate([RNG.uniform(1800.0, 2400.0, 97), [1800.0, 1815.0, 2400.0]])
    together = table.at(t)
    grid = table.at(t.reshape(4, 25))
    for k in range(100):
        for a, b, c in zip(together, table.at(t[k]), grid, strict=True):
            np.testing.assert_array_equal(a[k], b)
            np.testing.assert_array_equal(c[k // 25, k % 25], b)


def test_a_shared_time_has_no_trial_axis(table):
    env = table.at(2000)
    assert [np.shape(a) for a in env] == [(3,), (3,), (3,), (3,), ()]
    assert np.linalg.norm(env.sun_I) == pytest.approx(1.0, abs=1e-15)


def test_knots_are_met_to_round_off(table):
    t = 1800.0 + table.knot_s * np.arange(40)
    exact = models(ORBIT, Igrf(), t)
    np.testing.assert_allclose(table.at(t).r_I, exact[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(table.at(t).B_I, exact[2], rtol=0, atol=1e-18)


def test_a_lost_trial_is_nan_and_touches_no_other(table):
    t = np.array([1805.0, np.nan, 2300.0])
    env = table.at(t)
    for looked_up, first, last in zip(env, table.at(1805.0), table.at(2300.0), strict=True):
        np.testing.assert_array_equal(looked_up[0], first)
        np.testing.assert_array_equal(looked_up[2], last)
        assert np.all(np.isnan(looked_up[1]))
    assert all(np.all(np.isnan(looked_up)) for looked_up in table.at(np.nan))


def test_the_ends_belong_to_the_table_round_off_included(table):
    assert table.t_end == 2400.0
    assert np.all(np.isfinite(table.at(np.array([1800.0, 2400.0, 2400.0 + 1e-9, 1800.0 - 1e-9])).r_I))


@pytest.mark.parametrize(
    ("t", "message"), [(2401.0, "2401 s"), (1799.0, "1799 s"), ([1803.0, 7000.0, np.nan], "7000 s")]
)
def test_a_time_outside_is_refused(table, t, message):
    with pytest.raises(InputError, match=f"t: {message} is outside of the table, 1800 to 2400 s; tabulate a longer"):
        table.at(t)


def test_no_times_give_no_environments(table):
    assert table.at(np.zeros(0)).r_I.shape == (0, 3)


def test_a_short_table_covers_its_duration():
    table = EnvironmentTable.along(ORBIT, 1.0, Dipole())
    np.testing.assert_allclose(table.at(0.5).r_I, ORBIT.at(0.5).r_I, rtol=0, atol=1e-2)


def test_a_table_can_be_sent_to_a_worker(table):
    twin = pickle.loads(pickle.dumps(table))
    np.testing.assert_array_equal(twin.at(1877.7).B_I, table.at(1877.7).B_I)
    assert twin.error == table.error


def test_fields_cannot_be_changed(table):
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.t_start = 3.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"duration_s": 0.0}, "duration_s: 0 is not positive"),
        ({"knot_s": -1.0}, "knot_s: -1 is not positive"),
        ({"t_start": np.inf}, "t_start: inf is not finite"),
        ({"orbit": KeplerOrbit([7e6, 8e6])}, "orbit: a table is made along one orbit"),
        ({"orbit": KeplerOrbit([[7e6]])}, "orbit: a table is made along one orbit"),
        ({"orbit": KeplerOrbit(7e6, epoch=Epoch("2029-12-31T23:50:00"))}, "epoch: IGRF-14 is valid from 1900 to 2030"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        EnvironmentTable.along(**{"orbit": ORBIT, "duration_s": 1000.0, **change})


@pytest.mark.slow
def test_a_month_is_tabulated_with_the_error_of_an_hour():
    table = EnvironmentTable.along(ORBIT, 6000.0)
    month = EnvironmentTable.along(ORBIT, 30 * 86400.0)
    t = RNG.uniform(0.0, 30 * 86400.0, 2000)
    for looked_up, exact, stated, hour in zip(
        month.at(t)[:4], models(ORBIT, Igrf(), t), month.error, table.error, strict=True
    ):
        assert np.linalg.norm(looked_up - exact, axis=-1).max() < stated < 3.0 * hour + 1e-13
