"""The mission touchdown: descent, contact, rest."""

import numpy as np
import pytest

from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.craft.base import Site
from gnc.models.environment.table import FreeSpace
from gnc.scenarios.missions.load import read
from tests.scenarios.flights import failed, flown, judged, same_bits

GROUND, START = "craft.lander.ground", "craft.lander.start"
LEVEL = (
    *(f"{GROUND}.slope_deg=0.0", f"{GROUND}.restitution_sigma=0.0", f"{GROUND}.friction_sigma=0.0"),
    *(f"{START}.attitude_sigma_deg=0.0", f"{START}.rate_sigma_deg_s=0.0"),
    *(f"{START}.sink_sigma_m_s=0.0", f"{START}.drift_m_s=0.0"),
)
LOW = (f"{START}.height_m=0.3", "run.duration_s=30.0")


@pytest.fixture(scope="module")
def low():
    return flown("touchdown", 31, 10, *LOW)


@pytest.mark.parametrize("seed", [31, pytest.param(32, marks=pytest.mark.slow)])
def test_every_lander_comes_to_rest_upright_and_obeys_the_laws_of_contact(seed):
    verdict = judged("touchdown", seed, 20, "run.duration_s=80.0")
    assert failed(verdict) == [] and verdict.lost == {}
    assert np.isfinite(verdict.per_trial["rest_s"]).all() and verdict.per_trial["rest_s"].shape == (20,)
    assert verdict.success.all()


def test_energy_falls_from_record_to_record_after_the_contact(low):
    energy, t = low.signals["lander.energy_J"].values, low.signals["time"].values
    for row, contact in zip(energy, low.signals["t_contact"].values, strict=True):
        assert np.diff(row[t >= contact]).max() < 1e-12 * row[0]


def test_the_fall_and_the_first_rebound_are_those_of_a_ball():
    flight = flown("touchdown", 0, 1, *LEVEL, "run.record_s=0.1", "run.duration_s=45.0")
    lander, signals = flight.mission.craft["lander"], flight.signals
    g, v, h = lander.ground.gravity_m_s2, lander.start.sink_m_s, lander.start.height_m
    fall = (-v + np.sqrt(v * v + 2.0 * g * h)) / g
    assert signals["t_contact"].values[0] == pytest.approx(fall, abs=0.05)
    up = lander.ground.restitution * np.sqrt(v * v + 2.0 * g * h)
    t, z = signals["time"].values, signals["lander.r_IB_m"].values[0, :, 2] - lander.foot_height_m
    rebound = z[(t > fall + 0.1) & (t < fall + 2.0 * up / g - 0.1)].max()
    assert rebound == pytest.approx(up * up / (2.0 * g), abs=flight.mission.run.truth_step_s * v * 2.0)


def test_flight_software_is_off_after_the_contact(low):
    t, signals = low.signals["time"].values, low.signals
    for i, at in enumerate(signals["t_contact"].values):
        assert (signals["lander.gas.wrench"].values[i, t >= at] == 0.0).all()
        assert (signals["lander.mode"].values[i, t >= at] == 1.0).all()
        assert (signals["lander.mode"].values[i, t < at] == 0.0).all()


def test_what_is_asked_before_an_event_is_judged_up_to_it_in_each_trial(low):
    """By another way: the last record before the contact, and the mean of NEES until then."""
    t, contact = low.signals["time"].values, low.signals["t_contact"].values
    before = t[None, :] < contact[:, None]
    last = np.array([np.flatnonzero(row)[-1] for row in before])
    error = np.linalg.norm(low.signals["lander.pointing_error_deg"].values, axis=-1)[np.arange(10), last]
    assert np.array_equal(low.verdict.per_trial["contact_error_deg"], error)
    assert low.verdict.metrics["nees"] == pytest.approx(low.signals["lander.nees"].values[before].mean(), rel=1e-12)
    assert np.array_equal(low.verdict.per_trial["rest_s"], low.signals["t_rest"].values)


def test_without_attitude_control_the_check_at_the_contact_fails():
    weak = "software.lander.modes.descent.law.frequency_rad_s=0.001"
    names = failed(judged("touchdown", 31, 5, weak, f"{START}.height_m=0.6", "run.duration_s=30.0"))
    assert "attitude error at the contact, worst [deg]" in names


def test_a_narrow_stance_tips_over_and_fails():
    narrow = ("craft.lander.foot_radius_m=0.45", "craft.lander.foot_height_m=0.6", f"{START}.height_m=0.5")
    assert "tilt at rest, worst [deg]" in failed(judged("touchdown", 31, 20, *narrow, "run.duration_s=60.0"))


def test_a_flight_that_ends_too_early_counts_as_lost_and_one_that_touches_nothing_as_no_data():
    verdict = judged("touchdown", 31, 3, "run.duration_s=25.0")
    assert verdict.lost and all(reason.startswith("still moving at the end") for reason in verdict.lost.values())
    never = judged("touchdown", 31, 2, "run.duration_s=2.0")
    assert not never.success.any() and "time of rest, worst [s]" in failed(never)


def test_books_see_the_impulse_of_the_ground(monkeypatch):
    """A ground of which the ledger hears nothing breaks the books."""
    from gnc.models.contact_body import ContactBody

    touch = ContactBody.touch

    def silent(self, *args):
        after, happened = touch(self, *args)
        return after, happened._replace(impulse_I=np.zeros_like(happened.impulse_I))

    monkeypatch.setattr(ContactBody, "touch", silent)
    brief = (f"{START}.height_m=0.1", "run.duration_s=4.0", 'requirements.lost.unless="t_contact <= end"')
    assert "momentum bookkeeping" in failed(judged("touchdown", 31, 2, *brief))


def test_books_close_in_flight_under_torques_and_forces():
    """The impulse of a force is entered at the attitude where the step takes it, its work by the midpoint rule."""
    part = read("touchdown").craft["lander"]
    craft = part.truth(Site("lander", Draws(3, np.arange(4)), FreeSpace(), None))
    x, command = craft.start(), np.random.default_rng(1).uniform(-0.5, 0.5, (4, 6)) * [1.0, 1.0, 1.0, 4.0, 4.0, 4.0]
    for k in range(100):
        x = craft.step(x, (command,), 0.02 * k, 0.02)
    told = craft.observe(x, (command,), 2.0)
    assert np.linalg.norm(x.v_I - craft.start().v_I, axis=-1).min() > 0.005 and not x.touched.any()
    assert told["momentum_gap"].max() < 1e-13 and told["energy_rise"].max() < 1e-13


def test_a_trial_alone_has_the_bits_it_has_in_a_batch(low):
    one = flown("touchdown", 31, [3], *LOW)
    assert np.isfinite(low.signals["t_contact"].values).all()
    assert same_bits(low.signals, one.signals, 3)


def test_the_signals_it_names_are_enough_to_judge():
    brief = (f"{START}.height_m=0.1", "run.duration_s=4.0", 'requirements.lost.unless="t_contact <= end"')
    whole, part = (flown("touchdown", 31, 3, *brief, judged_only=only).verdict.metrics for only in (False, True))
    assert part == pytest.approx(whole, abs=0.0, nan_ok=True) and np.isfinite(whole["contact_error_deg"])


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ('events.rest.of="nobody"', "'nobody' is no craft; there are lander"),
        ('craft.lander.actuators.gas={kind="reaction-wheels"}', "has no wheels"),
        ('requirements.nees.when="t < t_rset"', "t_rset: there is no such signal"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(setting, says):
    with pytest.raises(InputError, match=says):
        read("touchdown", ["run.duration_s=1.0", setting]).fly(1)
