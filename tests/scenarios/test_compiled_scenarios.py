"""Scenarios whose loops are compiled: the bits of the flight tick by tick, and a reason where they fall back."""

import dataclasses

import numpy as np
import pytest

from gnc.scenarios.run import resolve
from gnc.trees import leaves

POINTING = ["duration_s=25", "record_s=5", "sensors.sun_sensor.rate_hz=0.5"]
CASES = {
    "a late sensor": ("pointing", ["duration_s=5", "sensors.sun_sensor.latency_s=0.3"]),
    "pointing": ("pointing", POINTING),
    "no extra state": ("pointing", [*POINTING, "filter.dipole_sigma_Am2=0"]),
    "rk4": ("pointing", [*POINTING, "filter.method=rk4", "filter.dipole_sigma_Am2=0", "filter.ungated_s=7"]),
    "inertia estimated": ("pointing", [*POINTING, "filter.inertia_sigma_percent=5", "duration_s=10"]),
    "standard": ("pointing", [*POINTING, 'filter={kind = "standard-mekf"}']),
    "star tracker": ("pointing", [*POINTING, 'sensors={tracker = {kind = "star-tracker"}}']),
    "lqr": ("pointing", [*POINTING, 'controller={kind = "lqr"}']),
    "fast wheels": ("pointing", [*POINTING, "wheels.start_Nms=1", "wheels.momentum_limit_Nms=3"]),  # needs substeps
    "attitude-only": ("attitude-only", ["duration_s=50", "record_s=5"]),
    "attitude-only, vi2": ("attitude-only", ["duration_s=30", "filter.method=vi2", "sensors.rate_hz=1"]),
}


def flown(name, settings, trials, compiled):
    """Everything that a flight shows: its end, its records and its innovations."""
    scenario, config = resolve(name, settings)
    prepared = scenario.build(config, 3, np.arange(trials))
    assert prepared.loop.compiled
    seen = []
    end = dataclasses.replace(prepared.loop, compiled=compiled).fly(
        prepared.truth,
        prepared.belief,
        prepared.memory,
        lambda moment: seen.append(tuple(prepared.observe(moment).values())),
        lambda *made: seen.append(made),
    )
    return end.uncompiled, (end.truth, end.belief, end.memory, *seen)


@pytest.mark.jit
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("trials", [1, 6])
def test_a_compiled_flight_has_the_bits_of_one_tick_by_tick(case, trials):
    name, settings = CASES[case]
    reason, compiled = flown(name, settings, trials, True)
    _, plain = flown(name, settings, trials, False)
    assert reason == ""
    for a, b in zip(leaves(compiled), leaves(plain), strict=True):
        if isinstance(a, np.ndarray):
            assert a.shape == b.shape and a.tobytes() == b.tobytes()
        else:
            assert a == b
