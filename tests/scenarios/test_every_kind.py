"""Every kind of every slot flies in a mission: those that no built-in mission has fly in the files below."""

import numpy as np
import pytest
from pydantic import BaseModel

from gnc.parts import OWN, PACKAGES, Part, kinds
from gnc.scenarios.missions.load import builtin, read

ATTITUDE = """
base = "pointing"
remove = ["requirements"]
[environment.orbit]
kind = "table"
file = "orbit.csv"
[craft.sat.sensors]
tracker = { kind = "star-tracker" }
gyro = { kind = "gyro", rate_hz = 10.0 }
coarse = { kind = "coarse-sun-sensor" }
horizon = { kind = "horizon-sensor" }
[software.sat]
rate_hz = 2.0
[software.sat.navigation]
kind = "gyro-mekf"
start = { source = "tracker" }
[software.sat.modes.nadir]
law = "lqr"
[software.sat.modes.sliding]
guidance = { kind = "pointing", at = "velocity" }
law = "sliding-mode"
to = ["wheels"]
[software.sat.modes.damped]
law = "rate-damping"
to = ["wheels"]
[[software.sat.timeline]]
at_s = 20.0
mode = "sliding"
[[software.sat.timeline]]
at_s = 40.0
mode = "damped"
[faults]
late = { part = "sat.horizon", kind = "delay", delay_s = 2.0, from_s = 5.0 }
wanders = { part = "sat.sun_sensor", kind = "drift", from_s = 5.0, size_deg = 0.01 }
drags = { part = "sat.wheels", kind = "friction", which = [0], from_s = 5.0 }
noisy = { part = "sat.magnetometer", kind = "noise", from_s = 10.0 }
wild = { part = "sat.tracker", kind = "outliers", size_deg = 5.0, from_s = 10.0 }
reboot = { part = "sat", kind = "reset", from_s = 30.0 }
runs = { part = "sat.wheels", kind = "runaway", which = [1], from_s = 45.0, to_s = 50.0 }
scaled = { part = "sat.gyro", kind = "scale", factor = 1.01, from_s = 15.0 }
turned = { part = "sat.coarse", kind = "sign", from_s = 50.0 }
stuck = { part = "sat.horizon", kind = "stuck", from_s = 40.0 }
weak = { part = "sat.wheels", kind = "weak", which = [2], from_s = 20.0 }
[requirements.turned_deg]
signal = "sat.pointing_error_deg"
statistic = "max"
"""
POSE = """
base = "rendezvous"
remove = ["requirements"]
[environment.orbit]
kind = "hill"
[craft.chaser.sensors]
lidar = {{ kind = "relative-position" }}
radar = {{ kind = "range-bearing", half_cone_deg = 80.0 }}
[software.chaser.modes.approach]
law = "{law}"
[requirements.range]
signal = "chaser.position_error_m"
statistic = "max"
"""
OTHERS = """
base = "{base}"
remove = ["requirements"]
[software.{craft}.navigation]
kind = "{kind}"
[requirements.turned_deg]
signal = "{craft}.w_B_deg_s"
statistic = "max"
"""
GNSS = """
base = "elliptic-rendezvous"
remove = ["requirements"]
[craft.chaser.sensors]
receiver = { kind = "gnss" }
felt = { kind = "accelerometer" }
[requirements.off]
signal = "chaser.position_error_m"
statistic = "max"
"""
FILES = {
    "attitude": (ATTITUDE, 60),
    **{law: (POSE.format(law=law), 12) for law in ("pose-lqr", "adaptive", "velocity-free")},
    "known": (OTHERS.format(base="pointing", craft="sat", kind="known"), 20),
    "standard": (OTHERS.format(base="attitude-only", craft="body", kind="standard-mekf"), 60),
    "gnss": (GNSS, 12),
}


def parts_of(section):
    """Return the kinds of all parts below a section of a mission."""
    if isinstance(section, BaseModel):
        inside = [getattr(section, name) for name in type(section).model_fields]
        return {(section.slot, section.kind_name())} | below(inside) if isinstance(section, Part) else below(inside)
    return (
        below(section.values() if isinstance(section, dict) else section)
        if isinstance(section, dict | tuple)
        else set()
    )


def below(sections):
    return set().union(*(parts_of(one) for one in sections))


def written(name, folder):
    """Return the mission of one of the files, in its folder with an orbit's table."""
    angle = np.linspace(0.0, 0.2, 41)
    r, v = 6.9e6, np.sqrt(3.986004418e14 / 6.9e6)
    rows = np.stack([angle * r / v, r * np.cos(angle), r * np.sin(angle), 0.0 * angle], axis=-1)
    np.savetxt(folder / "orbit.csv", rows, delimiter=",", header="t,x,y,z", comments="")
    (folder / f"{name}.toml").write_text(FILES[name][0])
    return read(str(folder / f"{name}.toml"))


def test_no_kind_is_left_that_no_mission_flies(tmp_path):
    flown = below([read(name) for name in builtin()]) | below([written(name, tmp_path) for name in FILES])
    missing = {(slot, kind) for slot in PACKAGES for kind in kinds(slot) if kind != OWN} - flown
    assert missing == set()


SLOW = "adaptive", "velocity-free", "gnss"


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in FILES])
def test_it_flies_and_a_trial_alone_has_the_same_bits(name, tmp_path):
    mission = written(name, tmp_path)
    run = mission.run.model_copy(update={"duration_s": float(FILES[name][1]), "record_s": 2.0})
    mission = mission.model_copy(update={"run": run})
    many, alone = (mission.fly(trials, 9) for trials in (3, [2]))
    assert not many.verdict.lost and np.isfinite(list(many.verdict.per_trial.values())).all()
    for key in alone.signals.data_vars:
        mine = many.signals[key].values[2:] if "trial" in many.signals[key].dims else many.signals[key].values
        assert np.array_equal(mine, alone.signals[key].values, equal_nan=True), key
