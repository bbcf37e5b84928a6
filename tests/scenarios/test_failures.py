"""Modes, time lines and faults in missions that are files alone: the same bits however they are flown."""

import dataclasses

import numpy as np
import pytest

from gnc.config.base import validate
from gnc.errors import InputError, PartError
from gnc.scenarios.missions.build import prepare
from gnc.scenarios.missions.dispersal import groups
from gnc.scenarios.missions.load import read
from gnc.scenarios.missions.mission import Mission
from gnc.trees import leaves

# Items b and c of what must be sayable: several faults at their own times in each trial, a time line, a safe mode.
FILE = """
base = "pointing"
remove = ["requirements"]

[run]
duration_s = 150.0
record_s = 5.0

[craft.sat.sensors.tracker]
kind = "star-tracker"

[craft.sat.sensors.gyro]
kind = "gyro"
rate_hz = 10.0

[software.sat.navigation]
kind = "gyro-mekf"
ungated_s = 0.0
start = { source = "tracker" }

[software.sat.modes.nadir]
law = { kind = "pd", frequency_rad_s = 0.03 }

[software.sat.modes.turned]
guidance = { kind = "pointing", at = "velocity" }
law = { kind = "pid" }
to = ["wheels"]
slew = { rate_deg_s = 2.0, acceleration_deg_s2 = 0.1, keep_out = { sun_deg = 30.0 } }

[software.sat.modes.safe]
law = { kind = "rate-damping" }
to = ["wheels"]
restart = true

[[software.sat.timeline]]
at_s = 60.0
mode = "turned"
from = "nadir"

[[software.sat.transitions]]
from = "*"
to = "safe"
when = "known and rate_deg_s > 3.5 or tracker.age_s > 40"
for_s = 2.0

[[software.sat.transitions]]
from = "safe"
to = "nadir"
when = "mode_time_s > 20 and rate_deg_s < 0.5 and known and not eclipse and sigma_deg < 1 and tracker.nis < 1e6"
keep = "known"
for_s = 3.0

[software.sat.fdir.nis]
kind = "nis"
from_s = 5.0
count = 3
limit = 100.0

[software.sat.fdir.wheels]
kind = "wheels"

[faults.wheel]
part = "sat.wheels"
which = [1]
kind = "dead"
from_s = 40.0

[faults.rough]
part = "sat.wheels"
which = [0]
kind = "weak"
factor = 0.9
from_s = 90.0
detected_after_s = 2.0
to_s = 96.0

[faults.stuck]
part = "sat.sun_sensor"
kind = "stuck"
from_s = 30.0
to_s = 60.0

[faults.late]
part = "sat.magnetometer"
kind = "delay"
delay_s = 4.0
from_s = 50.0
to_s = 55.0

[faults.jump]
part = "sat.tracker"
kind = "bias"
size_deg = [3.0, 0.0, 0.0]
from_s = 70.0
to_s = 95.0

[faults.wild]
part = "sat.tracker"
kind = "outliers"
size_deg = [5.0]
from_s = 20.0
to_s = 35.0

[faults.loud]
part = "sat.gyro"
kind = "noise"
factor = 5.0
from_s = 30.0
to_s = 80.0

[faults.reset]
part = "sat"
kind = "reset"
from_s = 110.0

[dispersions.wheel]
kind = "uniform"
key = "faults.wheel.from_s"
plus_minus = 20.0

[dispersions.jump]
kind = "normal"
key = "faults.jump.from_s"
sigma = 5.0

[dispersions.reset]
kind = "uniform"
key = "faults.reset.from_s"
plus_minus = 15.0

[requirements.lost]
kind = "lost"
when = "t > 10 and pointing_error_deg > 120"
"""
SEED, TRIALS = 3, 5


def flown(mission, trials, compiled):
    """Return all that a flight shows, and why it was not compiled."""
    (group,) = groups(mission, SEED, np.asarray(trials))  # dispersed faults fly in one batch
    prepared = prepare(group, SEED)
    seen = []
    end = dataclasses.replace(prepared.loop, compiled=compiled).fly(
        prepared.truth,
        prepared.belief,
        prepared.memory,
        lambda moment: seen.append(tuple(prepared.observer(moment).values())),
    )
    return end.uncompiled, [one for one in leaves((end.truth, end.belief, end.memory, *seen))]


@pytest.fixture(scope="module")
def mission(tmp_path_factory):
    path = tmp_path_factory.mktemp("failures") / "failing.toml"
    path.write_text(FILE)
    return read(str(path))


@pytest.fixture(scope="module")
def flight(mission):
    return mission.fly(TRIALS, SEED)


@pytest.mark.jit
def test_a_flight_full_of_faults_has_the_same_bits_compiled_and_alone(mission):
    reason, together = flown(mission, range(TRIALS), True)
    _, plain = flown(mission, range(TRIALS), False)
    _, alone = flown(mission, [TRIALS - 1], True)
    assert reason == ""
    for a, b, one in zip(together, plain, alone, strict=True):
        if isinstance(a, np.ndarray):
            assert np.array_equal(a, b, equal_nan=True)
            if a.ndim and len(a) == TRIALS:
                assert np.array_equal(a[-1:], one, equal_nan=True)


def test_each_trial_has_its_own_times_and_they_are_in_its_table(flight):
    table = flight.table
    for name in ("faults.wheel.from_s", "faults.jump.from_s", "faults.reset.from_s"):
        assert len(set(table[f"drawn.{name}"].values)) == TRIALS


def test_a_dead_wheel_is_found_out_and_left_out_for_good(flight):
    out, t = flight.signals["sat.wheels.excluded"].values, flight.signals["time"].values
    died = flight.table["drawn.faults.wheel.from_s"].values
    torque = flight.signals["sat.wheels.torque_Nm"].values[..., 1]
    for trial in range(TRIALS):
        assert not out[trial, t <= died[trial]].any()
        found = t > 80.0  # it is asked for torque by then: the slew begins at 60 s
        assert (out[trial, found] >= 1.0).all() and not torque[trial, found].any()


def test_software_that_is_told_leaves_a_wheel_out_while_the_fault_lasts(flight):
    torque, t = flight.signals["sat.wheels.torque_Nm"].values[..., 0], flight.signals["time"].values
    assert not torque[:, t == 95.0].any() and torque[:, t == 90.0].all() and torque[:, t == 100.0].all()


def test_a_tracker_that_jumps_is_left_out_and_taken_in_again(flight):
    out, t = flight.signals["sat.tracker.excluded"].values, flight.signals["time"].values
    jump = flight.table["drawn.faults.jump.from_s"].values
    for trial in range(TRIALS):
        assert out[trial, (t > jump[trial] + 4.0) & (t < 94.0)].all()
        assert not out[trial, t == 140.0].any()


def test_a_reset_makes_the_filter_begin_again_with_the_tracker(flight):
    search, t = flight.signals["sat.search"].values, flight.signals["time"].values
    assert (search[:, t == 105.0 - 15.0] == 2.0).all() and (search[:, -1] == 2.0).all()


def test_a_time_line_is_obeyed_from_the_mode_it_names(flight):
    mode, t = flight.signals["sat.mode"].values, flight.signals["time"].values
    assert (mode[:, t < 60.0] == 0.0).all() and (mode[:, t == 65.0] == 1.0).all()


def test_the_verdict_tells_mode_and_time_of_a_loss_and_the_guard_that_was_not_true(mission):
    changes = {"lost": {"kind": "lost", "when": "t > 75 and pointing_error_deg >= 0", "unless": "mode == 'safe'"}}
    told = validate({**mission.__dict__, "requirements": changes}, Mission, "x").fly(2, SEED).verdict.lost
    assert told[0].endswith("at 80 s, in mode turned since 60 s")
    changes["lost"] |= {"when": ""}
    told = validate({**mission.__dict__, "requirements": changes}, Mission, "x").fly(2, SEED).verdict.lost
    assert "sat is in mode turned since 60 s, as known and rate_deg_s > 3.5 or tracker.age_s > 40" in told[0]


def test_a_rate_limit_leads_to_safe_mode_and_from_it_back(mission):
    runaway = {"part": "sat.wheels", "kind": "runaway", "which": [0], "from_s": 20.0, "to_s": 50.0}
    changes = {"faults": {"runaway": runaway}, "dispersions": {}, "run": {**mission.run.__dict__, "duration_s": 200.0}}
    flight = validate({**mission.__dict__, **changes}, Mission, "x").fly(2, SEED)
    mode, t = flight.signals["sat.mode"].values, flight.signals["time"].values
    rate = np.linalg.norm(flight.signals["sat.w_B_deg_s"].values, axis=-1)
    first = t[np.argmax(mode == 2.0, axis=1)]
    for trial in range(2):
        before = rate[trial, t < first[trial] - 5.0]
        assert 20.0 < first[trial] < 60.0 and before.max() < 3.5
        assert mode[trial, -1] == 0.0 and rate[trial, -1] < 3.0


WRONG = [
    ({"part": "sat.wheel", "kind": "dead"}, "faults.x.part = 'sat.wheel': there is no such part"),
    ({"part": "sun.wheels", "kind": "dead"}, "there is no such part"),
    ({"part": "sat", "kind": "dead"}, "a reset is of a craft"),
    ({"part": "sat.wheels", "kind": "reset"}, "a reset is of a craft"),
    ({"part": "sat.wheels", "kind": "bias", "size": [1.0]}, "is no fault of an actuator"),
    ({"part": "sat.gyro", "kind": "leak"}, "is no fault of a sensor"),
    ({"part": "sat.gyro", "kind": "bias"}, "give size or size_deg"),
    ({"part": "sat.gyro", "kind": "bias", "size": [1.0, 2.0]}, "has 3 numbers"),
    ({"part": "sat.magnetometer", "kind": "bias", "size_deg": [0.5]}, "faults.x: size_deg: this sensor reads T"),
    ({"part": "sat.wheels", "kind": "dead", "which": [4]}, "there are 4 members"),
    ({"part": "sat.wheels", "kind": "dead", "from_s": 5.0, "to_s": 4.0}, "before it begins"),
    ({"part": "sat.wheels", "kind": "dad"}, "dad"),
]


@pytest.mark.parametrize(("fault", "words"), WRONG)
def test_a_fault_that_cannot_be_is_one_clear_line(mission, fault, words):
    with pytest.raises(InputError) as error:
        validate({**mission.__dict__, "faults": {"x": fault}, "dispersions": {}}, Mission, "x").fly(1)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_a_reset_asks_for_a_filter_that_can_search(mission):
    software = {"sat": {**mission.software["sat"].__dict__, "navigation": {"kind": "gyro-mekf"}}}
    with pytest.raises(InputError, match="must search"):
        validate({**mission.__dict__, "software": software}, Mission, "x").fly(1)


OWN = '''
import numpy as np


class Suspicious:
    """Leaves the magnetometer out after its tenth measurement, and the first wheel once another spins fast."""

    def start(self, trials):
        return np.zeros((trials, 2))

    def innovation(self, memory, name, valid, made, t):
        return memory + np.array([1.0, 0.0]) * (name == "magnetometer")

    def telemetry(self, memory, command, report, t, h):
        fast = np.abs(report.effectors[0]).max(axis=-1) > 1e-4
        return np.stack([memory[:, 0], np.maximum(memory[:, 1], fast)], axis=-1)

    def excluded(self, memory):
        wheels = np.zeros((len(memory), 4))
        wheels[:, 0] = memory[:, 1]
        return {"magnetometer": 1.0 * (memory[:, 0] >= 10.0), "wheels": wheels}
'''


def test_a_watch_of_ones_own_sees_innovations_and_telemetry_and_leaves_parts_out(tmp_path):
    (tmp_path / "watch.py").write_text(OWN)
    file = 'base = "pointing"\n[run]\nduration_s = 40.0\n[software.sat.fdir]\nmine = "watch.py:Suspicious"\n'
    (tmp_path / "own.toml").write_text(file)
    flight = read(str(tmp_path / "own.toml")).fly(3, SEED)
    assert flight.verdict.measurements["sat.magnetometer"][:2] == (30, 0)
    assert not flight.signals["sat.wheels.torque_Nm"].values[:, 1:, 0].any()
    assert flight.signals["sat.wheels.torque_Nm"].values[:, 1:, 1].any()


@pytest.mark.parametrize(
    ("excluded", "words"),
    [('{"nobody": memory[:, 0]}', "expected one of"), ('{"wheels": memory[:, 0]}', r"expected an array \(2, 4\)")],
)
def test_a_watch_that_breaks_its_contract_is_one_line(tmp_path, excluded, words):
    lines = [
        "import numpy as np",
        "class Watch:",
        "    def start(self, trials):",
        "        return np.zeros((trials, 1))",
    ]
    lines += ["    def excluded(self, memory):", f"        return {excluded}"]
    (tmp_path / "watch.py").write_text("\n".join(lines))
    (tmp_path / "own.toml").write_text('base = "pointing"\n[software.sat.fdir]\nmine = "watch.py:Watch"\n')
    with pytest.raises(PartError, match=rf"watch.py:Watch.excluded: {words}"):
        read(str(tmp_path / "own.toml")).fly(2, SEED)


def test_thrusters_empty_the_wheels_while_these_keep_the_body_still():
    thrusters = {"kind": "thrusters", "thrust_N": 0.02, "minimum_on_s": 0.02}
    wheels = {"kind": "reaction-wheels", "start_Nms": 0.02}
    changes = {
        "run": {"duration_s": 250.0},
        "craft": {"sat": {"actuators": {"wheels": wheels, "thrusters": thrusters}}},
        "software": {"sat": {"navigation": {"kind": "known"}, "modes": {"nadir": {"law": "pd", "to": ["wheels"]}}}},
    }
    changes["software"]["sat"]["modes"]["nadir"]["unload"] = {"by": "thrusters", "gain_per_s": 0.02}
    changes["craft"]["sat"]["start"] = {"about": "reference", "attitude_sigma_deg": 1.0, "rate_sigma_deg_s": 0.01}
    base = Mission.like("pointing", changes)
    flight = base.model_copy(update={"requirements": {"books": base.requirements["books"]}}).fly(3, SEED)
    excess = np.linalg.norm(flight.signals["sat.momentum_excess_Nms"].values, axis=-1)
    assert (excess[:, -1] < 0.1 * excess[:, 0]).all() and flight.verdict.ok
    assert np.linalg.norm(flight.signals["sat.pointing_error_deg"].values[:, -1], axis=-1).max() < 0.3


def test_the_wheels_momentum_is_handed_over_to_a_mode_that_keeps_what_it_finds():
    wheels = {"kind": "reaction-wheels", "start_Nms": 0.02}
    thrusters = {"kind": "thrusters", "thrust_N": 0.02, "minimum_on_s": 0.02}
    mode = {"law": "pd", "to": ["wheels"], "guidance": {"kind": "pointing", "at": "nadir"}}
    start = {"about": "reference", "attitude_sigma_deg": 1.0, "rate_sigma_deg_s": 0.01}

    def flown(bias_Nms):
        later = {**mode, "unload": {"by": "thrusters", "gain_per_s": 0.02, "bias_Nms": bias_Nms}}
        software = {"navigation": {"kind": "known"}, "modes": {"nadir": mode, "later": later}}
        changes = {
            "run": {"duration_s": 300.0, "record_s": 10.0},
            "craft": {"sat": {"start": start, "actuators": {"wheels": wheels, "thrusters": thrusters}}},
            "software": {"sat": software | {"timeline": [{"at_s": 50.0, "mode": "later"}]}},
        }
        base = Mission.like("pointing", changes)
        return base.model_copy(update={"requirements": {"books": base.requirements["books"]}}).fly(3, SEED).signals

    axes = read("pointing").craft["sat"].actuators["wheels"].belief()
    kept, emptied = flown("entry"), flown([0.0, 0.0, 0.0])
    before, at_the_end = (axes.momentum_B(kept["sat.wheels.momentum_Nms"].values[:, k]) for k in (5, -1))
    moved = np.linalg.norm(at_the_end - before, axis=-1) / np.linalg.norm(before, axis=-1)
    left = np.linalg.norm(axes.momentum_B(emptied["sat.wheels.momentum_Nms"].values[:, -1]), axis=-1)
    assert (moved < 0.1).all() and (left < 0.1 * np.linalg.norm(before, axis=-1)).all()
    excess = kept["sat.momentum_excess_Nms"].values
    np.testing.assert_allclose(excess[:, -1], at_the_end - before, atol=1e-3 * np.linalg.norm(before))
