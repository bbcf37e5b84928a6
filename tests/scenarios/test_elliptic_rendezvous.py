"""The elliptic rendezvous in short form: a chaser that finds itself, late and missing measurements, the same bits."""

import numpy as np
import pytest

from gnc.scenarios.missions.hints import perfect
from gnc.scenarios.missions.load import read
from tests.scenarios.flights import flown, same_bits

CAMERA = "craft.chaser.sensors.camera"
QUICK = (f"{CAMERA}.outages_s=[[20.0, 30.0]]", "run.duration_s=60.0", "run.record_s=1.0")


def fly(*settings, trials=4):
    return flown("elliptic-rendezvous", 5, trials, *QUICK, *settings)


@pytest.fixture(scope="module")
def four():
    return fly()


def test_the_chaser_is_honest_about_itself_and_about_the_target(four):
    """Means over 4 trials and a minute; 12 numbers each, whose errors are correlated over tens of seconds."""
    for name in ("chaser.nees", "chaser.own_nees"):
        assert 4.0 < np.mean(four.signals[name].values) < 24.0, name


def test_own_place_is_metres_off_and_the_target_is_known_all_the_same(four):
    own, target = (
        np.linalg.norm(four.signals[f"chaser.{name}"].values[:, -10:], axis=-1).mean()
        for name in ("own_knowledge_error_m", "knowledge_error_m")
    )
    assert own > 2.0 and target < 0.3


def test_an_outage_gives_no_measurement(four):
    clock = four.signals["chaser.camera.nis"]
    t = clock[clock.dims[-1]].values
    silent = (t >= 20.0) & (t < 30.0)
    assert silent.any() and np.isnan(clock.values[:, silent]).all()
    assert np.isfinite(clock.values[:, ~silent]).any()


@pytest.mark.slow
def test_a_trial_alone_has_the_same_bits(four):
    assert same_bits(four.signals, fly(trials=[2]).signals, 2)


def test_what_is_not_perfect_is_not_said_to_be():
    told = " ".join(perfect(read("elliptic-rendezvous")))
    assert "own pose and twist are the truth" not in told and "free space" not in told
    assert "own pose and twist are the truth" in " ".join(perfect(read("rendezvous")))


@pytest.mark.slow
def test_gnss_tells_the_chaser_where_it_is_without_harm_to_the_target(four):
    """The receiver is noisy by 5 m, the camera by centimetres: corrections of the own place leave the target alone."""
    with_gnss = fly("craft.chaser.sensors.gnss.kind=gnss")
    own, target = (
        np.linalg.norm(with_gnss.signals[f"chaser.{name}"].values[:, -10:], axis=-1).mean()
        for name in ("own_knowledge_error_m", "knowledge_error_m")
    )
    assert own < 3.0 and target < 0.3
    assert 4.0 < np.mean(with_gnss.signals["chaser.own_nees"].values) < 24.0
