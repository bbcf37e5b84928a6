"""What a verdict tells although nobody asked: filters that are too sure or too cautious, flights without numbers."""

import numpy as np
import pytest

from gnc.scenarios.missions.load import read
from gnc.scenarios.missions.mission import Mission

BODY = {"J_kgm2": [[3.0, 0, 0], [0, 2.5, 0], [0, 0, 2.0]], "start": {"attitude_sigma_deg": 1.0}}
SEEN = {"tracker": {"kind": "star-tracker"}, "gyro": {"kind": "gyro", "rate_hz": 1.0, "bias_deg_s": 0.05}}
KINDS = {
    "mekf": ("rigid", {"start": {"source": "inertial"}}, SEEN, 6.0),
    "gyro-mekf": ("rigid", {"start": {"source": "inertial"}}, SEEN, 3.0),
    "dqekf": ("pose", {}, SEEN, 12.0),  # without a sensor of its place, while the gradient of gravity acts for n t = 1
}


def drifting(kind, sensors=None):
    """A craft that turns freely, 40 trials, with a filter on default settings."""
    body, options, seen, nominal = KINDS[kind]
    craft = {
        "kind": body,
        **BODY,
        "sensors": seen,
        "start": {**BODY["start"], **({"about": "inertial"} if body == "rigid" else {})},
    }
    software = {"navigation": {"kind": kind, **options}, "sensors": sensors or {}}
    run = {"duration_s": 900.0, "record_s": 50.0, "truth_step_s": 1.0}
    sections = {
        "run": run,
        "environment": {"orbit": "circular"},
        "craft": {"sat": craft},
        "software": {"sat": software},
    }
    return Mission.model_validate(sections).fly(40, 8101), nominal


@pytest.mark.parametrize("kind", KINDS)
def test_a_filter_on_default_settings_estimates_the_bias_that_the_gyro_s_section_states(kind):
    """NEES of 40 trials within a factor of two of its dimension: 9 sigma of its mean at one time, for 3 numbers."""
    flight, nominal = drifting(kind)
    mean = float(flight.signals["sat.nees"].values[:, -6:].mean())
    assert 0.5 * nominal < mean < 2.0 * nominal
    assert not any("nees" in hint for hint in flight.verdict.hints)


def test_a_filter_that_knows_of_no_bias_is_told_to_be_too_sure():
    flight, _ = drifting("dqekf", {"gyro": {"bias_deg_s": 0.0}})
    told = [hint for hint in flight.verdict.hints if hint.startswith("sat.nees")]
    assert len(told) == 1 and "too sure of itself: more process noise (torque_psd_Nm2s, force_psd_N2s)" in told[0]


def test_a_filter_that_allows_for_too_much_is_told_to_be_too_cautious():
    sigma = {"tracker": {"sigma_cross_arcsec": 100.0, "sigma_roll_arcsec": 600.0}}
    told = [hint for hint in drifting("gyro-mekf", sigma)[0].verdict.hints if hint.startswith("sat.tracker")]
    assert len(told) == 1 and "too cautious: smaller sigmas" in told[0]


def test_measurements_that_contradict_only_the_start_are_told_so():
    """The filter begins at an attitude that it takes for known, 0.1 deg off where the craft is."""
    start = {"source": "inertial", "attitude_sigma_deg": 0.0001, "rate_sigma_deg_s": 0.001}
    craft = {"kind": "rigid", **BODY, "sensors": {"tracker": SEEN["tracker"]}}
    craft |= {"start": {"about": "inertial", "attitude_sigma_deg": 5.0}}
    software = {"navigation": {"kind": "mekf", "start": start, "ungated_s": 900.0}}
    run = {"duration_s": 900.0, "record_s": 10.0, "truth_step_s": 1.0}
    sections = {
        "run": run,
        "environment": {"orbit": "circular"},
        "craft": {"sat": craft},
        "software": {"sat": software},
    }
    told = [hint for hint in Mission.model_validate(sections).fly(4, 8101).verdict.hints if "sat.tracker" in hint]
    assert len(told) == 1 and told[0].endswith("later ones do not: see software.sat.navigation.start")


def test_a_truth_without_numbers_is_told_with_its_steps_and_a_lower_bound_without_data_as_one():
    panel = "mass_kg = 6.0, stiffness = 2e5, damping = 5e4, joint_m = [-0.5, 0, 0], origin_m = [-0.9, 0, 0]"
    stiff = f"craft.sat.bodies.panel_left={{{panel}}}"
    settings = [stiff, "run.duration_s=20", "requirements={least = {signal = 'pointing_error_deg', at_least = 1}}"]
    mission = read("flexible-slew", settings)
    least = mission.requirements["least"]
    verdict = mission.model_copy(update={"requirements": {"least": least}}).fly(2, 1).verdict
    assert not np.isfinite(verdict.checks[-1].value) and verdict.checks[-1].relation == ">="
    assert verdict.hints[0].startswith("sat: steps of truth_step_s = 0.1, or rate_hz = 10 of commands")


@pytest.mark.parametrize(("for_s", "told"), [(0, 1), (30, 0)])
def test_modes_that_alternate_at_every_command_are_told(for_s, told):
    """Both conditions are true all the time: the mode changes at every command, or every 30 s."""
    way = f"when = 'rate_deg_s >= 0', for_s = {for_s}"
    ways = f"[{{from = 'nadir', to = 'other', {way}}}, {{from = 'other', to = 'nadir', {way}}}]"
    settings = ["software.sat.modes.other={law='none'}", "run.duration_s=120"]
    verdict = read("pointing", [*settings, f"software.sat.transitions={ways}"]).fly(2).verdict
    assert sum("a mode had begun within the last command, in 2 of 2 trials" in hint for hint in verdict.hints) == told
