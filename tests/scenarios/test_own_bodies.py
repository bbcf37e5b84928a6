"""Parts of the user's own in missions of landers, arms and carriers; one plant in missions of two kinds."""

from pathlib import Path

import numpy as np
import pytest

from gnc.errors import InputError, PartError
from gnc.scenarios.missions.load import read
from tests.scenarios.flights import failed

PARTS = (Path(__file__).parent / "own" / "bodies.py").read_text()


@pytest.fixture
def fly(tmp_path):
    def run(text, trials=2, parts=PARTS):
        (tmp_path / "bodies.py").write_text(parts)
        (tmp_path / "mine.toml").write_text(text)
        return read(str(tmp_path / "mine.toml")).fly(trials, 3)

    return run


TOUCHDOWN = """
base = "touchdown"
remove = ["craft.lander.actuators.gas", "craft.lander.sensors.star_tracker", "requirements"]
[run]
duration_s = 8.0
[craft.lander.start]
height_m = 0.3
[craft.lander.actuators.jets]
kind = "bodies.py:Jets"
size = 6
[craft.lander.sensors.tracker]
kind = "bodies.py:Tracker"
rate_hz = 2.0
[software.lander.navigation]
kind = "bodies.py:MyMekf"
[software.lander.modes.descent]
guidance = "bodies.py:Upright"
law = { kind = "bodies.py:Spring", stiffness = 1.0 }
to = ["jets"]
[requirements.contact_error_deg]
signal = "pointing_error_deg"
when = "t < t_contact"
statistic = "final"
at_most = 1.0
[requirements.knowledge]
signal = "knowledge_error_deg"
when = "t < t_contact and t > 3"
at_most = 0.2
"""
SERVICING = """
base = "servicing"
remove = ["craft.servicer.actuators.thrusters", "craft.servicer.sensors.star_tracker", "requirements"]
[run]
duration_s = 8.0
[craft.servicer.actuators.jets]
kind = "bodies.py:Jets"
size = 6
[craft.servicer.sensors.tracker]
kind = "bodies.py:Tracker"
rate_hz = 2.0
[software.servicer.navigation]
kind = "bodies.py:MyDqEkf"
[software.servicer.navigation.start_pose]
source = "reference"
position_sigma_m = 0.02
attitude_sigma_deg = 0.2
velocity_sigma_m_s = 0.002
rate_sigma_deg_s = 0.02
[software.servicer.modes.work]
guidance = { kind = "bodies.py:Station", place = [0.0, 0.0, 6.0] }
law = { kind = "bodies.py:Spring", stiffness = 0.04, damping = 0.3 }
to = ["jets", "motors"]
[requirements.pointing]
signal = "pointing_error_deg"
when = "t > 6"
at_most = 0.3
[requirements.jets]
signal = "jets.asked"
at_least = 1e-3
"""
SEPARATION = """
base = "separation"
remove = ["craft.carrier.actuators.thrusters", "craft.carrier.sensors.camera", "requirements", "software.carrier.modes"]
[run]
duration_s = 12.0
[events.release]
time_s = 4.0
[craft.carrier.actuators.jets]
kind = "bodies.py:Jets"
size = 6
[craft.carrier.sensors.tracker]
kind = "bodies.py:Tracker"
[craft.carrier.sensors.beacon]
kind = "beacon"
[software.carrier.navigation]
kind = "bodies.py:MyDqEkf"
start_pose = { source = "reference", position_sigma_m = 0.1, attitude_sigma_deg = 2.0 }
[software.carrier.modes.together]
guidance = { kind = "bodies.py:Station", place = [0.0, 0.0, 8.0] }
law = "bodies.py:Spring"
to = ["jets"]
[software.carrier.modes.alone]
[requirements.pointing]
signal = "carrier.pointing_error_deg"
when = "t > 2 and t < t_release"
at_most = 2.0
[requirements.gone]
signal = "release.clearance_m"
statistic = "final"
at_least = 0.5
"""


@pytest.mark.parametrize("text", [TOUCHDOWN, SERVICING, SEPARATION], ids=["touchdown", "servicing", "separation"])
def test_own_actuator_sensor_filter_guidance_and_law_fly(fly, text):
    flight = fly(text)
    assert failed(flight.verdict) == [], flight.verdict


def test_the_same_plant_flies_a_pointing_and_holds_a_pose(fly):
    attitude = fly(
        """
base = "pointing"
remove = ["craft.sat.loads", "requirements"]
[run]
duration_s = 240.0
[craft.sat]
kind = "bodies.py:Plant"
J_kgm2 = [[0.22, 0.0, 0.0], [0.0, 0.19, 0.0], [0.0, 0.0, 0.13]]
off_deg = 5.0
actuators.wheels = "reaction-wheels"
sensors.tracker = { kind = "star-tracker" }
[software.sat.navigation.start]
attitude_sigma_deg = 5.0
rate_sigma_deg_s = 0.01
[requirements.pointing]
signal = "pointing_error_deg"
when = "t > 200"
at_most = 0.5
[requirements.nees]
signal = "nees"
statistic = "mean"
at_most = 30.0
"""
    )
    assert failed(attitude.verdict) == [], attitude.verdict
    pose = fly(
        """
base = "separation"
remove = ["craft.cargo", "events.release", "software.carrier.modes", "software.carrier.transitions", "requirements"]
[run]
duration_s = 60.0
[craft.carrier]
kind = "bodies.py:Plant"
mass_kg = 200.0
J_kgm2 = [[58.0, 2.0, -1.0], [2.0, 55.0, 1.5], [-1.0, 1.5, 48.0]]
actuators.thrusters = "wrench"
sensors.camera = "station-camera"
[software.carrier.navigation]
kind = "dqekf"
torque_psd_Nm2s = 1e-5
force_psd_N2s = 1e-4
start = { source = "reference", position_sigma_m = 0.1, attitude_sigma_deg = 1.0 }
[software.carrier.modes.hold]
guidance = { kind = "inertial-pose", hold_m = [0.0, 0.0, 8.0] }
law = { kind = "pose", frequency_rad_s = 0.12 }
to = ["thrusters"]
[requirements.position]
signal = "position_error_m"
when = "t > 40"
at_most = 0.05
[requirements.pointing]
signal = "pointing_error_deg"
when = "t > 40"
at_most = 1.5
[requirements.fuel]
signal = "fuel_Ns"
statistic = "final"
at_least = 1e-3
[requirements.nees]
signal = "nees"
statistic = "mean"
at_most = 24.0
"""
    )
    assert failed(pose.verdict) == [], pose.verdict


LANDER = """
class Lander(Plant):
    def __init__(self, trials, J, draws, mass=None):
        here = np.tile([1.0, 0, 0, 0], (trials, 1)), np.zeros((trials, 3))
        super().__init__(trials, J, draws, here, mass)

    def step(self, x, wrench_B, t, h):
        moved = super().step(x, wrench_B, t, h)
        return Landed(*moved[:2], moved.fuel, x.touched | np.array(t + h > 2.0), x.still_s)

    def start(self):
        return Landed(*self.first, np.zeros(len(self.first.fuel), bool), np.zeros(len(self.first.fuel)))

    def report(self, x):
        return {"flag": x.touched * 1.0, "q_IU": np.tile([1.0, 0, 0, 0], (len(x.fuel), 1))}


class Landed(NamedTuple):
    dq_IB: np.ndarray
    chi_B: np.ndarray
    fuel: np.ndarray
    touched: np.ndarray
    still_s: np.ndarray
"""


def test_events_and_reports_find_what_an_own_plant_tells(fly):
    flight = fly(
        """
base = "touchdown"
remove = ["requirements", "events.rest"]
[run]
duration_s = 4.0
[craft.lander]
kind = "bodies.py:Lander"
J_kgm2 = [[14.0, 0.3, -0.2], [0.3, 13.0, 0.1], [-0.2, 0.1, 11.0]]
actuators.gas = "wrench"
sensors.star_tracker = "star-tracker"
[requirements.contact]
signal = "t_contact"
at_most = 2.1
[requirements.off]
signal = "gas.wrench"
when = "mode == 'off'"
at_most = 0.0
""",
        parts=PARTS + LANDER,
    )
    assert failed(flight.verdict) == [] and np.allclose(flight.signals["t_contact"].values, 2.02)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("def start(self):\n        return None", "start: expected a NamedTuple with q_IB and w_B"),
        ("def start(self):\n        return self.first._replace(chi_B=np.zeros(3))\n\n    def begin(self):", "chi_B"),
        ("def step_(self, x, wrench_B, t, h):", "a craft must have it"),
    ],
)
def test_a_plant_that_breaks_its_contract_gets_one_line(fly, wrong, says):
    old = "def step(self, x, wrench_B, t, h):" if "step_" in wrong else "def start(self):"
    place = PARTS.index(old)
    parts = PARTS[:place] + wrong + PARTS[place + len(old) :]
    text = """
[craft.sat]
kind = "bodies.py:Plant"
[run]
duration_s = 1.0
[requirements.pointing]
signal = "sat.w_B_deg_s"
at_most = 1.0
"""
    with pytest.raises((PartError, InputError), match=says):
        fly(text.replace('"bodies.py:Plant"', '"bodies.py:Free"'), parts=parts + FREE)


FREE = """

class Free(Plant):
    def __init__(self, trials, J, draws):
        super().__init__(trials, J, draws, (np.tile([1.0, 0, 0, 0], (trials, 1)), np.zeros((trials, 3))))
"""
