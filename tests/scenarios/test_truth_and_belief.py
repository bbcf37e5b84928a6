"""Dispersing a truth never changes a belief: flight software is built from the nominal mission."""

import numpy as np
import pytest

from gnc.scenarios.missions import dispersal
from gnc.scenarios.missions.build import prepare
from gnc.scenarios.missions.load import builtin, read
from gnc.scenarios.missions.mission import Mission

TRIALS = np.arange(3)


def numbers(section, path=""):
    """The dotted keys of all fields of the truth that are numbers or arrays of numbers, with their values."""
    items = (
        section.items() if isinstance(section, dict) else [(k, getattr(section, k)) for k in type(section).model_fields]
    )
    for key, value in items:
        here = f"{path}.{key}" if path else key
        if isinstance(value, dict) or hasattr(type(value), "model_fields"):
            yield from numbers(value, here)
        elif isinstance(value, float) and value > 0.0:
            yield here, value


def dispersible(mission):
    keys = [(f"craft.{key}", value) for key, value in numbers(mission.craft)]
    return [(key, value) for key, value in keys if not dispersal.shapes(mission, key.split("."))]


def believed(prepared):
    """Everything that flight software believes and knows at the start, as bytes."""
    found = []

    def collect(x):
        if isinstance(x, np.ndarray):
            found.append(x.tobytes())
        elif isinstance(x, tuple | list):
            for part in x:
                collect(part)
        elif isinstance(x, dict):
            for key in sorted(x, key=str):
                collect(x[key])
        elif isinstance(x, float | int):
            found.append(str(x).encode())

    for software in prepared.observer.software.values():
        known = getattr(software.navigation.inner, "known", None)
        collect([vars(s) if hasattr(s, "__dict__") else s for s in software.navigation.sensors.values()])
        if known is not None:
            collect((known.nominal.J, known.nominal.M))
        for mode in software.modes:
            collect(getattr(mode.law, "__dict__", {}))
    return found


def with_dispersion(mission, key, value):
    spread = {"x": {"kind": "uniform", "key": key, "lo": 0.8 * value, "hi": value}}
    return Mission.model_validate({**mission.__dict__, "dispersions": spread})


@pytest.mark.parametrize("name", sorted(builtin()))
def test_no_dispersible_field_of_the_truth_is_told_to_flight_software(name):
    mission = read(name, ["run.duration_s=20"]) if name != "separation" else read(name)
    keys = dispersible(mission)
    assert keys
    plain = believed(prepare(dispersal.groups(mission, 5, TRIALS)[0], 5))
    for key, value in keys[:40]:
        groups = dispersal.groups(with_dispersion(mission, key, value), 5, TRIALS)
        assert len(groups) == 1, key
        assert np.ptp(groups[0].fields[key]) > 0.0
        assert believed(prepare(groups[0], 5)) == plain, key


def test_an_inertia_that_only_the_truth_has_makes_the_filter_dishonest():
    """On the old code it was told to law and filter: NEES 0.64 of what it should have been."""
    settings = ["run.duration_s=900", "software.sat.navigation.torque_psd_Nm2s=0", "craft.sat.J_error_percent=0"]
    spread = "dispersions.J={kind = 'inertia', key = 'craft.sat.J_kgm2', sigma_percent = 20.0}"
    told = read("pointing", [*settings, "requirements.nees.when=t >= 300"]).fly(6, 1).verdict.metrics["nees"]
    hidden = read("pointing", [*settings, spread, "requirements.nees.when=t >= 300"]).fly(6, 1).verdict.metrics["nees"]
    assert hidden > 3.0 * told


def test_software_may_be_told_otherwise_by_its_own_tables():
    mission = read(
        "pointing", ["software.sat.craft.J_kgm2=[[0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3]]", "run.duration_s=10"]
    )
    prepared = prepare(dispersal.groups(mission, 0, TRIALS)[0], 0)
    inner = prepared.observer.software["sat"].navigation.inner
    assert np.array_equal(inner.known.J, 0.3 * np.eye(3))
