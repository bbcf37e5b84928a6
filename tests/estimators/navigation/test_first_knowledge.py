"""What an attitude filter believes before the first measurement, beside where the craft starts."""

import numpy as np
import pytest

from gnc.errors import InputError
from tests.scenarios.flights import flown

BARE = "run.duration_s=1.0", "run.record_s=1.0", "requirements={}"


@pytest.mark.parametrize(
    ("start", "source", "says"),
    [
        ("anywhere", "reference", 'starts at any attitude; give "triad"'),
        ("anywhere", "inertial", 'starts at any attitude; give "triad"'),
        ("inertial", "reference", "starts near the inertial axes; give 'inertial', \"triad\""),
        ("reference", "inertial", "starts near what guidance first asks for; give 'reference', \"triad\""),
    ],
)
def test_a_first_attitude_that_is_not_the_crafts_is_refused_unless_its_error_is_said(start, source, says):
    settings = f"craft.sat.start.about={start}", f"software.sat.navigation.start.source={source}", *BARE
    with pytest.raises(InputError, match=r"^software\.sat\.navigation: start\.source = .*" + says):
        flown("pointing", 3, 2, *settings)
    flown("pointing", 3, 2, *settings, "software.sat.navigation.start.attitude_sigma_deg=100")


@pytest.mark.parametrize("about", ["reference", "inertial"])
def test_the_rate_that_all_trials_start_with_is_known(about):
    rates = "craft.sat.start.rate_deg_s=[1.0, -2.0, 3.0]", "craft.sat.start.rate_sigma_deg_s=0.0"
    settings = f"craft.sat.start.about={about}", f"software.sat.navigation.start.source={about}", *rates, *BARE
    flight = flown("pointing", 3, 2, *settings, "craft.sat.start.attitude_sigma_deg=0.0")
    assert np.abs(flight.signals["sat.rate_error_deg_s"].values[:, 0]).max() < 1e-9
