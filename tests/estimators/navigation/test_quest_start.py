"""Filters that begin, and begin again, with QUEST on the vectors that are in sight."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from gnc import quaternion
from gnc.errors import InputError
from gnc.estimators.initialise import observed_vector
from gnc.scenarios.missions import dispersal
from gnc.scenarios.missions.build import prepare
from gnc.scenarios.missions.load import read
from tests.scenarios.flights import flown, same_bits

START = "software.sat.navigation.start"
SENSORS = "craft.sat.sensors.horizon.kind=horizon-sensor", "craft.sat.sensors.horizon.sigma_deg=0.5"
VECTORS = f'{START}.vectors=["magnetometer", "sun_sensor", "horizon"]'
SEARCH = (
    *(f"{START}.source=search", f"{START}.by=quest", VECTORS, f"{START}.watch=magnetometer", f"{START}.quiet_s=5.0"),
    *(f"{START}.rate_sigma_deg_s=0.5", "craft.sat.start.attitude_sigma_deg=60.0", *SENSORS),
    *("software.sat.modes.nadir.law=none", "software.sat.modes.nadir.to=[]"),
)
AGAIN = (
    *("software.sat.modes.again.restart=true", 'software.sat.timeline=[{at_s = 30.0, mode = "again"}]'),
    "software.sat.modes.again.law=none",
)


def test_the_first_attitude_is_that_of_scipy_and_its_covariance_is_right():
    """NEES of 400 starts is chi-square with 1200 degrees: false alarm 1e-4."""
    mission = read("pointing", [f"{START}.source=quest", VECTORS, *SENSORS])
    prepared = prepare(dispersal.groups(mission, 11, np.arange(400))[0], 11)
    truth, belief = prepared.truth[0], prepared.belief[0].filter
    sensors = {name: part.belief() for name, part in mission.craft["sat"].sensors.items()}
    env = prepared.loop.navigation.software["sat"].sky.at(0.0)
    noise = {name: prepared.drawn[f"first {name}"] for name in sensors}
    seen = [observed_vector(s, s.measure(truth, env, noise[name]).z, env) for name, s in sensors.items()]
    for k in range(0, 400, 40):
        rows = [(np.broadcast_to(r, (400, 3))[k], b[k], np.broadcast_to(s, 400)[k]) for b, r, s in seen]
        r, b, sigma = (np.array(column) for column in zip(*rows, strict=True))
        unit = lambda v: v / np.linalg.norm(v, axis=-1, keepdims=True)  # noqa: E731
        expected, _ = Rotation.align_vectors(unit(r), unit(b), weights=sigma**-2)
        assert quaternion.angle_between(quaternion.from_scipy(expected), belief.q_IB[k]) < 1e-7
    a = quaternion.log(quaternion.mul(quaternion.conj(belief.q_IB), truth.q_IB))
    nees = np.einsum("ni,ni->n", a, np.linalg.solve(belief.C[:, :3, :3], a[..., None])[..., 0])
    low, high = chi2.ppf([5e-5, 1 - 5e-5], 1200)
    assert low < nees.sum() < high


def test_a_search_ends_with_all_vectors_in_sight_and_a_restart_begins_again():
    changes = *SEARCH, *AGAIN, "run.duration_s=60.0", "run.record_s=1.0"
    flight = flown("pointing", 12, 4, *changes).signals
    error = np.linalg.norm(flight["sat.knowledge_error_deg"].values, axis=-1)
    assert np.isnan(error[:, :3]).all() and np.nanmax(error[:, 20:29]) < 5.0
    gone = np.isnan(error[:, 31:])
    assert gone[:, 0].all() and not gone[:, -1].any() and error[:, -1].max() < 5.0
    assert same_bits(flight, flown("pointing", 12, [2], *changes).signals, 2)


def test_vectors_that_are_not_in_sight_have_no_weight():
    """In the shadow the Sun is missing: magnetometer and horizon are enough."""
    night = "craft.sat.sensors.sun_sensor.outages_s=[[0.0, 100.0]]"
    flight = flown("pointing", 12, 3, *SEARCH, night, "run.duration_s=25.0", "run.record_s=1.0").signals
    assert np.linalg.norm(flight["sat.knowledge_error_deg"].values[:, -1], axis=-1).max() < 5.0


@pytest.mark.parametrize(("setting", "says"), [(f"{START}.by=triad", "names of two sensors"),
                                                (f'{START}.vectors=["sun_sensor"]', "two or more")])  # fmt: skip
def test_too_few_vectors_or_too_many_are_refused_in_one_line(setting, says):
    with pytest.raises(InputError, match=says):
        read("pointing", [*SEARCH, setting]).fly(1)


def test_a_search_may_use_photodiodes_and_a_sensor_without_a_vector_is_named():
    cells = [f"{START}.source=search", f'{START}.vectors=["coarse", "magnetometer"]', f"{START}.quiet_s=5.0"]
    cells += ["craft.sat.sensors.coarse.kind=coarse-sun-sensor", f"{START}.by=triad", f"{START}.watch=magnetometer"]
    cells += [f"{START}.rate_sigma_deg_s=0.5", "craft.sat.start.attitude_sigma_deg=60.0", "run.duration_s=40.0"]
    cells += ["software.sat.modes.nadir.law=none", "software.sat.modes.nadir.to=[]", "run.record_s=1.0"]
    error = np.linalg.norm(flown("pointing", 12, 4, *cells).signals["sat.knowledge_error_deg"].values, axis=-1)
    assert np.isnan(error[:, :3]).all() and error[:, -1].max() < 5.0
    gyro = 'craft.sat.sensors.gyro={kind = "gyro"}', f'{START}.vectors=["gyro", "magnetometer"]'
    with pytest.raises(InputError, match=r"start\.vectors: gyro measures no vector; .*magnetometer"):
        flown("pointing", 12, 2, *cells, *gyro)
