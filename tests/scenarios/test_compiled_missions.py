"""Missions whose loops are compiled: the bits of the flight tick by tick, and a reason where they fall back."""

import dataclasses

import numpy as np
import pytest

from gnc.scenarios.missions.build import prepare
from gnc.scenarios.missions.dispersal import groups
from gnc.scenarios.missions.load import builtin, read
from gnc.trees import leaves

POINTING = ["run.duration_s=25", "run.record_s=5", "craft.sat.sensors.sun_sensor.rate_hz=0.5"]
FILTER = "software.sat.navigation"
LAW = "software.sat.modes.nadir.law"
WHEELS = "craft.sat.actuators.wheels"
CASES = {
    "pointing": POINTING,
    "no extra state": [*POINTING, f"{FILTER}.dipole_sigma_Am2=0"],
    "rk4": [*POINTING, f"{FILTER}.method=rk4", f"{FILTER}.dipole_sigma_Am2=0", f"{FILTER}.ungated_s=7"],
    "inertia estimated": [*POINTING, f"{FILTER}.inertia_sigma_percent=5", "run.duration_s=10"],
    "standard": [*POINTING, f'{FILTER}={{kind = "standard-mekf"}}'],
    "star tracker": [*POINTING, 'craft.sat.sensors={tracker = {kind = "star-tracker"}}'],
    "lqr": [*POINTING, f'{LAW}={{kind = "lqr"}}'],
    "fast wheels": [*POINTING, f"{WHEELS}.start_Nms=1", f"{WHEELS}.momentum_limit_Nms=3"],  # needs substeps
    "a late sensor": ["run.duration_s=5", "craft.sat.sensors.sun_sensor.latency_s=0.3"],
    "biases, torquers and the Earth's light felt": [
        "run.duration_s=10",
        'craft.sat.sensors.magnetometer={kind = "magnetometer", bias_nT = 200.0, interference_nT_Am2 = 100.0}',
        'craft.sat.sensors.sun_sensor={kind = "coarse-sun-sensor", albedo = 0.3}',
        'craft.sat.actuators.rods={kind = "magnetorquers"}',
        "software.sat.modes.nadir.unload=rods",
    ],
    "orthogonal wheels": [*POINTING, f"{WHEELS}.axes=[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]"],
    "two modes": [
        *POINTING,
        'software.sat.modes.drift={law = "none"}',
        'software.sat.transitions=[{from = "nadir", to = "drift", when = "rate_deg_s > 0.2", for_s = 2.0}]',
    ],
}


def flown(settings, trials, compiled):
    """Everything that a flight shows: its end, its records and its innovations."""
    prepared = prepare(groups(read("pointing", settings), 3, np.arange(trials))[0], 3)
    assert prepared.loop.compiled
    seen = []
    end = dataclasses.replace(prepared.loop, compiled=compiled).fly(
        prepared.truth,
        prepared.belief,
        prepared.memory,
        lambda moment: seen.append(tuple(prepared.observer(moment).values())),
        lambda *made: seen.append(made),
    )
    return end.uncompiled, (end.truth, end.belief, end.memory, *seen)


@pytest.mark.jit
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("trials", [1, 6])
def test_a_compiled_flight_has_the_bits_of_one_tick_by_tick(case, trials):
    reason, compiled = flown(CASES[case], trials, True)
    _, plain = flown(CASES[case], trials, False)
    assert reason == ""
    for a, b in zip(leaves(compiled), leaves(plain), strict=True):
        if isinstance(a, np.ndarray):
            assert a.shape == b.shape and a.tobytes() == b.tobytes()
        else:
            assert a == b


@pytest.mark.jit
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(builtin()))
def test_every_mission_has_the_same_bits_compiled(name):
    """Parts that only Python can compute are called; whatever is compiled around them, the end is the same."""
    ends = []
    for compiled in (True, False):
        prepared = prepare(groups(read(name), 3, np.arange(5))[0], 3)
        loop = dataclasses.replace(prepared.loop, compiled=compiled, duration_s=min(prepared.loop.duration_s, 20.0))
        ends.append(loop.fly(prepared.truth, prepared.belief, prepared.memory))
    for a, b in zip(leaves(tuple(ends[0][:3])), leaves(tuple(ends[1][:3])), strict=True):
        if isinstance(a, np.ndarray):
            assert a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.jit
def test_a_rendezvous_beside_an_orbit_is_compiled_whole_with_the_same_bits():
    """Numbers of each trial get axes there, `(1 - rides)[..., None]`, which once made Python fly the plant."""
    mission, ends = read("rendezvous", ["run.duration_s=0.4"]), []
    for compiled in (True, False):
        prepared = prepare(groups(mission, 3, np.arange(3))[0], 3)
        loop = dataclasses.replace(prepared.loop, compiled=compiled)
        ends.append(loop.fly(prepared.truth, prepared.belief, prepared.memory))
    assert ends[0].uncompiled == ""
    for a, b in zip(leaves(tuple(ends[0][:3])), leaves(tuple(ends[1][:3])), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
