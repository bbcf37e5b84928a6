"""Where a filter begins when no attitude is given, and references that come from models."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.environment import EnvironmentTable, KeplerOrbit
from gnc.scenarios.logs.log_writer import write_log
from tests.scenarios.replay import flights
from tests.scenarios.replay.flights import names

MEKF = """
[log]
time = "t"
[filter]
kind = "mekf"
J = [[1, 0, 0], [0, 2, 0], [0, 0, 2.5]]
torque_psd = 1e-6
"""
Q = Rotation.from_rotvec([1.0, -0.5, 2.0]).as_quat(scalar_first=True)


def vector(name, reference, sigma_deg=0.1, more=""):
    return f"""
[[sensors]]
name = "{name}"
kind = "vector"
columns = {names(name, 3)}
sigma_deg = {sigma_deg}
reference = {reference}
{more}
"""


def run(columns, toml, tmp_path):
    write_log(tmp_path / "log.npz", {"": columns})
    _, outcome = flights.replayed(tmp_path / "log.npz", toml, tmp_path / "out")
    return outcome, flights.estimates(tmp_path / "out")


def off_deg(q):
    return np.degrees(quaternion.angle_between(q, Q))


def still(reference, rows=20, axes=None):
    """Measurements of a direction by a body that rests at Q, in other axes if asked for."""
    body = quaternion.inverse_rotate(Q, np.broadcast_to(reference, (rows, 3)))
    return body if axes is None else quaternion.inverse_rotate(axes, body)


def test_two_directions_at_the_same_time_start_the_filter_by_triad(tmp_path):
    columns = {
        "t": np.arange(20) * 0.5,
        **flights.named("a", still([1.0, 0, 0])),
        **flights.named("b", still([0, 0.6, 0.8])),
    }
    toml = MEKF + vector("a", [1, 0, 0]) + vector("b", [0, 0.6, 0.8])
    outcome, found = run(columns, toml, tmp_path)
    assert off_deg(found["q_IB"].values[0]) < 1e-6
    assert outcome["data"]["a"]["dropped"] == {"before start": 1}
    assert outcome["data"]["b"]["start"] == 1


def test_directions_that_never_meet_in_time_need_a_stated_start(tmp_path):
    a, b = still([1.0, 0, 0]).copy(), still([0, 1.0, 0]).copy()
    a[::2], b[1::2] = np.nan, np.nan
    columns = {"t": np.arange(20) * 0.5, **flights.named("a", a), **flights.named("b", b)}
    with pytest.raises(InputError, match=r"nor two directions within 0.1 s, tell an attitude; give start.q_IB"):
        run(columns, MEKF + vector("a", [1, 0, 0]) + vector("b", [0, 1, 0]), tmp_path)


@pytest.mark.parametrize("order, rotation", [("wxyz", "q_IB"), ("xyzw", "q_IB"), ("wxyz", "q_BI"), ("xyzw", "q_BI")])
def test_an_attitude_in_any_stated_order_and_direction_starts_the_filter(order, rotation, tmp_path):
    q = Q if rotation == "q_IB" else quaternion.conj(Q)
    columns = {
        "t": np.arange(20) * 0.5,
        **flights.named("q", np.tile(q if order == "wxyz" else np.roll(q, -1), (20, 1))),
    }
    toml = (
        MEKF
        + f"""
[[sensors]]
name = "tracker"
kind = "attitude"
columns = {names("q", 4)}
order = "{order}"
rotation = "{rotation}"
sigma_deg = 0.1
"""
    )
    outcome, found = run(columns, toml, tmp_path)
    assert off_deg(found["q_IB"].values[0]) < 1e-6
    np.testing.assert_allclose(np.diagonal(found["C"].values[0])[:3], np.radians(0.1) ** 2, rtol=1e-9)
    assert outcome["sensors"]["tracker"]["used"] == 19


def test_the_mounting_of_a_sensor_turns_its_vectors_to_the_body(tmp_path):
    axes = flights.MOUNTED
    columns = {"t": np.arange(20) * 0.5, **flights.named("a", 3.0 * still([1.0, 0, 0], axes=axes)),
               **flights.named("b", still([0, 0.6, 0.8]))}  # fmt: skip
    toml = MEKF + vector("a", [1, 0, 0], more=f"q_BS = {axes.tolist()}\nnormalize = true") + vector("b", [0, 0.6, 0.8])
    _, found = run(columns, toml, tmp_path)
    assert off_deg(found["q_IB"].values).max() < 1e-6


def test_sun_and_magnetic_field_of_an_orbit_serve_as_references(tmp_path):
    orbit = KeplerOrbit(7000e3, inclination=np.radians(98.0), epoch="2025-03-20T09:01:00")
    t = np.arange(0.0, 600.0, 5.0)
    env = EnvironmentTable.along(orbit, 700.0).at(t)
    mag = quaternion.inverse_rotate(Q, env.B_I)
    columns = {
        "t": t,
        **flights.named("sun", quaternion.inverse_rotate(Q, env.sun_I)),
        **flights.named("mag", 1e9 * mag),
    }
    toml = (
        MEKF
        + vector("sun", '"sun"')
        + f"""
[[sensors]]
name = "mag"
kind = "magnetometer"
columns = {names("mag", 3)}
unit = "nT"
sigma_T = 1e-8
reference = "magnetic-field"
[orbit]
epoch = "2025-03-20T09:01:00"
a_m = 7000e3
inclination_deg = 98
"""
    )
    outcome, found = run(columns, toml, tmp_path)
    assert off_deg(found["q_IB"].values).max() < 1e-3
    assert outcome["sensors"]["mag"]["nis"] < 1e-3
    dated = columns | {
        "t": np.datetime_as_string(np.datetime64("2025-03-20T09:01:00", "ns") + (1e9 * t).astype("timedelta64[ns]"))
    }
    by_date, also = run(dated, toml.replace('time = "t"', 'time = "t"\ntime_unit = "iso"'), tmp_path / "dated")
    assert by_date["sensors"]["mag"]["nis"] < 1e-3
    with pytest.raises(InputError, match="'sun' needs the orbit"):
        run(columns, toml[: toml.index("[orbit]")], tmp_path / "none")
