"""The rendezvous in short form; what the full one reaches is in the checks of `gnc run rendezvous`."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.scenarios.missions.hints import perfect
from gnc.scenarios.missions.load import read
from tests.scenarios.flights import failed, flown, same_bits

GUIDANCE = "software.chaser.modes.approach.guidance"
FILTER = "software.chaser.navigation"
QUICK = (
    *(f"{GUIDANCE}.station_m=8.0", f"{GUIDANCE}.station_s=30.0", f"{GUIDANCE}.closing_s=30.0"),
    *(f"{GUIDANCE}.synchronise_s=50.0", f"{GUIDANCE}.approach_s=60.0", "run.duration_s=230.0", "run.record_s=2.0"),
    *("craft.chaser.start.distance_m=8.0", "craft.chaser.start.place_sigma_m=0.3"),
)
KNOWN = "craft.target.J_error_percent=0.0", f"{FILTER}.inertia_sigma_percent=0.0"  # ratios take longer than this
NEES = {"NEES", "NEES while holding"}


def fly(*settings, seed=0, trials=4):
    return flown("rendezvous", seed, trials, *QUICK, *settings)


def test_a_filter_of_another_craft_is_given_no_sensor_that_does_not_look_at_that_craft():
    third = "craft.third={kind = 'pose'}", "craft.chaser.sensors.radar={kind = 'relative-position', sees = 'third'}"
    for settings, says in (
        (
            ("craft.chaser.sensors.stars={kind = 'star-tracker'}",),
            "stars: tells of the own motion, and the filter",
        ),
        (third, "radar: looks at third, and the filter is of target: list it under software.chaser.unused"),
    ):
        with pytest.raises(InputError, match=says):
            read("rendezvous", [*QUICK, *settings]).fly(1)
        unused = f"software.chaser.unused=['{says.partition(':')[0]}']"
        assert read("rendezvous", [*QUICK, *settings, unused, "run.duration_s=4"]).fly(1).signals.sizes["trial"] == 1


@pytest.fixture(scope="module")
def five():
    return fly(*KNOWN, trials=5)


def meets(flight):
    signals = flight.signals
    assert failed(flight.verdict) == [] and not flight.verdict.lost
    assert (signals["chaser.mode"].values[:, -1] == 4).all()
    r = signals["chaser.r_IB_m"].values[:, -1] - signals["target.r_IB_m"].values[:, -1]
    assert np.abs(np.linalg.norm(r, axis=-1) - 1.0).max() < 0.03


def test_the_short_form_meets_its_requirements(five):
    meets(five)
    used, refused, missing = five.verdict.measurements["chaser.camera"]
    assert refused > 0 and missing > 0 and used > 10 * refused


def test_legs_are_modes_recorded_by_name_and_conditions_may_ask_for_them(five):
    labels = five.signals["chaser.mode"].attrs["labels"].split(", ")
    assert labels[:5] == ["station", "closing", "synchronising", "approaching", "holding"]
    held = five.verdict.per_trial["hold_position_rms_mm"]
    one = five.signals.isel(trial=0)
    error = 1e3 * np.linalg.norm(one["chaser.position_error_m"].values, axis=-1)[one["chaser.mode"].values == 4.0]
    assert held[0] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_other_seeds_meet_the_requirements_too(seed):
    meets(fly(*KNOWN, seed=seed, trials=5))


@pytest.mark.slow
def test_a_trial_has_the_same_bits_alone_and_among_others(five):
    assert same_bits(five.signals, fly(*KNOWN, trials=[3]).signals, 3)


@pytest.mark.slow
def test_a_filter_with_a_wrong_inertia_fails_and_one_that_estimates_it_does_not():
    """By NEES. With the real timing an error of 2 % is enough; the short form needs more to see it."""
    wrong = "craft.target.J_error_percent=8.0"
    assert "NEES while holding" in failed(fly(wrong, f"{FILTER}.inertia_sigma_percent=0.0").verdict)
    assert not NEES & set(failed(fly(wrong, f"{FILTER}.inertia_sigma_percent=8.0").verdict))


@pytest.mark.slow
def test_without_its_gate_the_filter_fails_on_outliers():
    names = failed(fly(*KNOWN, f"{FILTER}.gate_probability=1.0", trials=8).verdict)
    assert {"position p99.7 [mm]", "attitude p99.7 [deg]"} <= set(names)


def test_outliers_let_in_at_the_start_make_a_filter_dishonest_and_its_own_gate_does_not():
    """By the mean NEES of the first minute: four updates without a gate, a fifth of them outliers of twenty sigmas.

    That none of the 80 open updates is an outlier has a probability of 2e-8.
    """
    settings = "run.duration_s=60.0", "run.record_s=2.0", "craft.chaser.sensors.camera.outlier=0.2"
    flights = (flown("rendezvous", 7, 20, *settings, f"{FILTER}.ungated_s={s}") for s in (0.0, 10.5))
    gated, open_ = (flight.signals["chaser.nees"].values.mean() for flight in flights)
    assert gated < 18.0 < 36.0 < open_


@pytest.mark.slow
@pytest.mark.parametrize("trials, settings", [([221, 228], KNOWN), ([3, 17, 39], ())])
def test_outliers_let_in_at_the_start_are_recovered_from(trials, settings):
    """Here half of the measurements are outliers, which the gate lets in for 10 s, and the filter must begin anew."""
    hard = "run.duration_s=150.0", "run.record_s=10.0", "craft.chaser.sensors.camera.outlier=0.3"
    flight = flown("rendezvous", 2000, trials, *settings, *hard, f"{FILTER}.ungated_s=10.5").signals
    assert (flight["chaser.recoveries"].values[:, -1] >= 1).any()
    assert np.linalg.norm(flight["chaser.knowledge_error_deg"].values[:, -1], axis=-1).max() < 3.0


@pytest.mark.slow
def test_slower_cameras_know_less():
    """By the mean over all trials of the hold: 1 s against 6 s is a factor of about two."""
    camera = "craft.chaser.sensors.camera.period_s"
    known = [fly(*KNOWN, f"{camera}={s}", trials=8).verdict.metrics["knowledge_attitude_rms_deg"] for s in (1.0, 6.0)]
    assert known[0] < 0.8 * known[1]


def test_a_final_distance_at_which_the_bodies_would_touch_is_refused_with_a_line():
    with pytest.raises(InputError, match=r"guidance.final_m = 0.05: the bodies would touch; they stand out 0.4 m"):
        read("rendezvous", [f"{GUIDANCE}.final_m=0.05"]).fly(1)


@pytest.mark.parametrize(
    "setting, says",
    [
        ("software.chaser.navigation.of=debris", "of = 'debris'"),
        (f"{GUIDANCE}.target=debris", "target = 'debris'"),
        ("craft.chaser.sensors.camera.sees=debris", "sees = 'debris'"),
        ("craft.chaser.start.about=debris", "start.about = 'debris'"),
    ],
)
def test_a_craft_that_is_not_there_is_named(setting, says):
    with pytest.raises(InputError, match=says):
        read("rendezvous", [setting]).fly(1)


def test_what_is_perfect_is_told():
    told = " ".join(perfect(read("rendezvous")))
    for what in ("own pose and twist are the truth", "knows orbit", "mass and centre of mass are exact"):
        assert what in told
    assert "target: flight software knows the inertia exactly" not in told


@pytest.mark.slow
def test_a_valve_of_10_ms_loses_no_trial_and_its_fuel_does_not_depend_on_the_truth_step():
    spent = []
    for h in (0.1, 0.05):
        valve = "craft.chaser.actuators.thrusters.minimum_on_s=0.01"
        flight = fly(*KNOWN, valve, f"run.truth_step_s={h}")
        assert failed(flight.verdict) == []
        spent.append(flight.verdict.per_trial["delta_v_m_s"])
    np.testing.assert_allclose(*spent, rtol=0.02)  # loops that fly other steps part; the impulse of a command does not


@pytest.mark.slow
def test_the_real_form_meets_the_criteria_of_the_specification():
    for settings, bounds in {
        (): (10.0, 30.0, 0.3, 0.75),
        ("craft.chaser.sensors.camera.period_s=1.0",): (10.0, 20.0, 0.3, 0.5),
    }.items():
        verdict = flown("rendezvous", 0, 50, *settings).verdict
        assert failed(verdict) == [] and not verdict.lost
        names = "position_rms_mm", "position_p997_mm", "attitude_rms_deg", "attitude_p997_deg"
        for name, bound in zip(names, bounds, strict=True):
            assert verdict.metrics[f"hold_{name}"] <= bound


LIDAR = ("craft.chaser.sensors.lidar.kind=relative-position", "craft.chaser.sensors.lidar.period_s=2.0")


@pytest.mark.slow
@pytest.mark.parametrize("law", ["adaptive", "velocity-free"])
def test_other_laws_follow_the_reference_too_and_a_second_sensor_helps_the_filter(law):
    changes = f"software.chaser.modes.approach.law.kind={law}", "run.duration_s=40.0", "run.record_s=2.0"
    signals = flown("rendezvous", 0, 2, *changes, *LIDAR).signals
    turned = np.linalg.norm(signals["chaser.pointing_error_deg"].values, axis=-1)
    assert turned[:, 0].min() > 5.0 and turned[:, -1].max() < 1.0
    assert (signals["chaser.lidar.used"].values[:, -1] > 15).all()


def test_what_is_dispersed_differs_over_the_trials_in_one_loop():
    ranges = {
        "craft.chaser.mass_kg": (80.0, 120.0),
        "craft.target.start.tumble_deg_s": (1.0, 4.0),
        "craft.chaser.sensors.camera.sigma_m": (0.01, 0.1),
    }
    settings = [
        f"dispersions.d{i}={{key = '{key}', kind = 'uniform', lo = {lo}, hi = {hi}}}"
        for i, (key, (lo, hi)) in enumerate(ranges.items())
    ]
    flight = flown("rendezvous", 0, 3, *settings, "run.duration_s=4.0")
    assert flight.signals.attrs["loops"] == 1
    rates = np.linalg.norm(flight.signals["target.w_B_deg_s"].values[:, 0], axis=-1)
    np.testing.assert_allclose(rates, flight.drawn["craft.target.start.tumble_deg_s"], rtol=1e-9)
    assert ranges.keys() <= flight.drawn.keys()
