"""A user's own filter, sensor, law, guidance and actuator in the missions of a craft that turns."""

from pathlib import Path

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.scenarios.missions.mission import Mission

OWN = Path(__file__).parent / "own"
PARTS, TURNING = f"{OWN / 'parts.py'}", f"{OWN / 'turning.py'}"


def like(base, changes, keep=("lost", "books")):
    mission = Mission.like(base, changes)
    return mission.model_copy(update={"requirements": {name: mission.requirements[name] for name in keep}})


def size(flight, name):
    return np.linalg.norm(flight.signals[name].values, axis=-1)


def test_an_own_filter_and_sensor_follow_a_tumble():
    # A filter that turns towards every vector by a fixed gain: at 1 Hz it stays within a few degrees.
    sensors = {f"direction_{k}": {"rate_hz": 1.0, "first_s": 1.0} for k in (1, 2)}
    changes = {
        "run": {"duration_s": 120.0},
        "craft": {"body": {"sensors": {**sensors, "beacon": {"kind": f"{TURNING}:Beacon"}}}},
        "software": {"body": {"navigation": {"kind": f"{PARTS}:Complementary"}}},
    }
    changes["software"]["body"]["navigation"] |= {
        "start": {"source": "triad", "vectors": ["direction_1", "direction_2"], "rate_sigma_deg_s": 0.5}
    }
    flight = like("attitude-only", changes, ("lost", "books", "attitude_rms_deg")).fly(4, 5)
    assert flight.verdict.ok and "body.nees" not in flight.signals
    assert size(flight, "body.knowledge_error_deg")[:, -1].max() < 10.0
    assert flight.verdict.measurements["body.beacon"] == (4 * 121, 0, 0)


def test_own_law_guidance_actuator_and_sensor_capture_a_tumble():
    capture = {
        "guidance": {"kind": f"{TURNING}:Still"},
        "law": {"kind": f"{PARTS}:QuaternionFeedback", "stiffness": 4e-2, "damping": 3e-1},
        "to": ["vanes"],
    }
    transitions = [{"from": "drift", "to": "capture", "when": "t >= 30"}]
    changes = {
        "run": {"duration_s": 150.0},
        "craft": {
            "body": {
                "actuators": {"vanes": {"kind": f"{TURNING}:Vanes"}},
                "sensors": {"beacon": {"kind": f"{TURNING}:Beacon"}},
            }
        },
        "software": {"body": {"modes": {"capture": capture}, "transitions": transitions}},
    }
    flight = like("tumble-capture", changes).fly(4, 5)
    assert flight.verdict.ok
    assert size(flight, "body.pointing_error_deg")[:, -1].max() < 10.0
    assert size(flight, "body.w_B_deg_s")[:, -1].max() < 1.0 < size(flight, "body.w_B_deg_s")[:, 0].min()


def test_own_magnetic_law_filter_sensor_and_guidance_take_a_released_satellite_to_rest():
    search = {"source": "search", "vectors": ["sun_sensor", "magnetometer"], "quiet_s": 60.0, "rate_sigma_deg_s": 1.0}
    modes = {
        "detumble": {"law": {"kind": f"{TURNING}:FieldBrake"}, "to": ["torquers"]},
        "nadir": {"guidance": {"kind": f"{TURNING}:Still"}, "law": {"kind": f"{PARTS}:QuaternionFeedback"}},
    }
    changes = {
        "run": {"duration_s": 700.0},
        "craft": {
            "sat": {
                "start": {"about": "anywhere", "rate_sigma_deg_s": 0.1},
                "sensors": {"horizon": {"kind": f"{PARTS}:HorizonSensor"}},
            }
        },
        "software": {"sat": {"navigation": {"kind": f"{PARTS}:Complementary", "start": search}, "modes": modes}},
    }
    flight = like("detumble", changes).fly(3, 5)
    assert flight.verdict.ok, flight.verdict.lost
    error, since = size(flight, "sat.pointing_error_deg")[:, -1], flight.signals["sat.mode_time_s"].values[:, -1]
    assert (since > 300.0).all() and error.max() < 5.0
    assert np.isnan(flight.signals["sat.knowledge_error_deg"].values[:, 0]).all()


def test_the_rate_of_an_own_sensor_counts_and_a_mounting_that_it_does_not_ask_for_is_refused():
    horizon = {"kind": f"{PARTS}:HorizonSensor", "rate_hz": 0.2}
    changes = {"run": {"duration_s": 20.0}, "craft": {"sat": {"sensors": {"horizon": horizon}}}}
    used, refused, missing = like("pointing", changes).fly(1, 5).verdict.measurements["sat.horizon"]
    assert used + refused + missing == 5  # at 0, 5, ... 20 s
    horizon["q_BS"] = [0.0, 1.0, 0.0, 0.0]
    with pytest.raises(InputError, match=r"craft.sat.sensors.horizon: q_BS: .*HorizonSensor has no such argument"):
        like("pointing", changes).fly(1, 5)
