"""The scenario touchdown: descent, contact, rest."""

import numpy as np
import pytest

from gnc.config import dump, parse
from gnc.scenarios.touchdown import SCENARIO, TouchdownConfig
from tests.scenarios.flights import configured, failed, flown, judged, judged_from_what_it_names, same_bits

LEVEL = (
    *("ground.slope_deg=0.0", "ground.restitution_sigma=0.0", "ground.friction_sigma=0.0"),
    *("descent.attitude_deg=0.0", "descent.rate_deg_s=0.0", "descent.sink_sigma_m_s=0.0", "descent.drift_m_s=0.0"),
)
LOW = ("descent.height_m=0.3", "duration_s=30.0")


@pytest.mark.parametrize("seed", [31, 32])
def test_every_lander_comes_to_rest_upright_and_obeys_the_laws_of_contact(seed):
    verdict = judged("touchdown", seed, 20, "duration_s=80.0")
    assert failed(verdict) == [] and verdict.lost == {}
    assert np.isfinite(verdict.per_trial["rest_s"]).all() and verdict.per_trial["rest_s"].shape == (20,)


def test_energy_falls_from_record_to_record_after_the_contact():
    _, flight = flown("touchdown", 31, 10, *LOW)
    energy, t = flight["energy_J"].values, flight["time"].values
    for row, contact in zip(energy, flight["t_contact"].values, strict=True):
        assert np.diff(row[t >= contact]).max() < 1e-12 * row[0]


def test_the_fall_and_the_first_rebound_are_those_of_a_ball():
    config, flight = flown("touchdown", 0, 1, *LEVEL, "record_s=0.1", "duration_s=45.0")
    g, v, h = config.ground.gravity_m_s2, config.descent.sink_m_s, config.descent.height_m
    fall = (-v + np.sqrt(v * v + 2.0 * g * h)) / g
    assert flight["t_contact"].values[0] == pytest.approx(fall, abs=0.05)
    up = config.ground.restitution * np.sqrt(v * v + 2.0 * g * h)
    t, z = flight["time"].values, flight["r_IB_m"].values[0, :, 2] - config.lander.foot_height_m
    rebound = z[(t > fall + 0.1) & (t < fall + 2.0 * up / g - 0.1)].max()
    assert rebound == pytest.approx(up * up / (2.0 * g), abs=config.truth_step_s * v * 2.0)


def test_flight_software_is_off_after_the_contact():
    _, flight = flown("touchdown", 31, 5, *LOW)
    t, contact = flight["time"].values, flight["t_contact"].values
    for i, at in enumerate(contact):
        assert (flight["torque_Nm"].values[i, t >= at] == 0.0).all()
        assert np.isnan(flight["nees"].values[i, t >= at]).all()
        assert np.isfinite(flight["nees"].values[i, t < at]).all()


def test_without_attitude_control_the_check_at_the_contact_fails():
    names = failed(
        judged("touchdown", 31, 5, "controller.frequency_rad_s=0.001", "descent.height_m=1.0", "duration_s=50.0")
    )
    assert "attitude error at the contact, worst [deg]" in names


def test_a_narrow_stance_tips_over_and_fails():
    narrow = ("lander.foot_radius_m=0.45", "lander.foot_height_m=0.6", "descent.height_m=0.5", "duration_s=60.0")
    assert "tilt at rest, worst [deg]" in failed(judged("touchdown", 31, 20, *narrow))


def test_a_flight_that_ends_too_early_counts_as_lost():
    verdict = judged("touchdown", 31, 3, "duration_s=25.0")
    assert verdict.lost and set(verdict.lost.values()) == {"still moving at the end"}


def test_books_see_the_impulse_of_the_ground(monkeypatch):
    """A ground of which the ledger hears nothing breaks the books."""
    from gnc.models.contact_body import ContactBody

    touch = ContactBody.touch

    def silent(self, *args):
        after, happened = touch(self, *args)
        return after, happened._replace(impulse_I=np.zeros_like(happened.impulse_I))

    monkeypatch.setattr(ContactBody, "touch", silent)
    assert "momentum bookkeeping" in failed(judged("touchdown", 31, 2, *LOW))


def test_a_trial_alone_has_the_bits_it_has_in_a_batch():
    _, many = flown("touchdown", 7, 5, *LOW)
    _, one = flown("touchdown", 7, [3], *LOW)
    assert np.isfinite(many["t_contact"].values).all()
    assert same_bits(many, one, 3)


def test_the_signals_it_names_are_enough_to_judge():
    assert judged_from_what_it_names("touchdown", 7, 2, *LOW).checks


def test_the_configuration_survives_toml():
    config = configured("touchdown", "ground.friction=0.8")
    assert parse(dump(config), TouchdownConfig) == config


def test_figures_and_scene_can_be_drawn():
    from matplotlib.figure import Figure

    config, flight = flown("touchdown", 1, 3, *LOW)
    for draw in SCENARIO.figures(config, flight).values():
        figure = Figure()
        draw(figure)
        assert figure.axes
    assert [body.name for body in SCENARIO.scene(config, flight, 0).bodies] == ["lander", "ground"]


def test_a_flight_that_touches_nothing_can_be_drawn():
    from matplotlib.figure import Figure

    config, flight = flown("touchdown", 1, 2, "duration_s=2.0")
    for draw in SCENARIO.figures(config, flight).values():
        draw(Figure())
