"""Orbits from tables: an OEM and a CSV of a Kepler orbit give that orbit again."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.models.environment import KeplerOrbit
from gnc.models.environment.orbit import TableOrbit

ORBIT = KeplerOrbit(a=8000e3, e=0.1, inclination=1.0, raan=0.5, epoch="2025-03-20T09:01:00")
T = 30.0 * np.arange(40)
META = "META_START\nOBJECT_NAME = A\nREF_FRAME = {frame}\nTIME_SYSTEM = UTC\nMETA_STOP\n"


def oem(path, frame="EME2000", second=True):
    """Write an OEM of two segments."""
    r, v = ORBIT.at(T)
    lines = [f"{ORBIT.epoch.date(t).isoformat(timespec='milliseconds')[:-6]} " for t in T]
    rows = [a + " ".join(f"{x / 1e3:.9f}" for x in (*b, *c)) for a, b, c in zip(lines, r, v, strict=True)]
    meta = META.format(frame=frame)
    path.write_text("CCSDS_OEM_VERS = 2.0\n" + meta + "\n".join(rows[:20]) + "\n" + meta + "\n".join(rows[20:]) + "\n")
    return path


def test_an_oem_gives_the_orbit_it_was_written_from(tmp_path):
    table = TableOrbit.read(oem(tmp_path / "a.oem"), None)
    t = np.linspace(0.0, T[-1], 777)
    for found, true in zip(table.at(t), ORBIT.at(t), strict=True):
        np.testing.assert_allclose(found, true, atol=0.05)
    assert table.epoch == ORBIT.epoch
    later = TableOrbit.read(tmp_path / "a.oem", "2025-03-20T09:02:00")
    np.testing.assert_allclose(later.at(100.0).r_I, ORBIT.at(160.0).r_I, atol=0.05)


@pytest.mark.parametrize("velocity", [True, False])
def test_a_csv_does_too(tmp_path, velocity):
    r, v = ORBIT.at(T)
    names, columns = ("t,x,y,z,vx,vy,vz", [T[:, None], r, v]) if velocity else ("t,x,y,z", [T[:, None], r])
    np.savetxt(tmp_path / "a.csv", np.hstack(columns), delimiter=",", header=names, comments="")
    found = TableOrbit.read(tmp_path / "a.csv", None).at(555.0)
    np.testing.assert_allclose(found.r_I, ORBIT.at(555.0).r_I, atol=0.1)
    np.testing.assert_allclose(found.v_I, ORBIT.at(555.0).v_I, atol=0.01)


def test_what_is_no_orbit_is_refused_in_one_line(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        TableOrbit.read(tmp_path / "none.oem", None)
    with pytest.raises(InputError, match="REF_FRAME TEME"):
        TableOrbit.read(oem(tmp_path / "b.oem", frame="TEME"), None)
    (tmp_path / "c.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="columns t, x, y, z"):
        TableOrbit.read(tmp_path / "c.csv", None)
    (tmp_path / "d.csv").write_text("t,x,y,z\n0,1,2,3\n0,1,2,3\n1,1,2,3\n2,1,2,3\n")
    with pytest.raises(InputError, match="times increase"):
        TableOrbit.read(tmp_path / "d.csv", None)
    with pytest.raises(InputError, match="covers 0 to 1170 s"):
        TableOrbit.read(oem(tmp_path / "e.oem"), None).at(1300.0)
