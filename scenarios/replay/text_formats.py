"""Trajectories as text: TUM files, and CCSDS attitude and orbit ephemerides (AEM, OEM) in key-value notation.

TUM: lines `t x y z qx qy qz qw`, comments by #. AEM and OEM: see `gnc.models.environment.ephemeris`; positions of an
OEM are in km, its columns here in m.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.models.environment.ephemeris import key_values
from gnc.scenarios.replay.array_tables import ArrayTable
from gnc.scenarios.replay.clock import iso_stamps
from gnc.scenarios.replay.tables import Table

Array = Any

TUM = ("t", "x", "y", "z", "qx", "qy", "qz", "qw")
ORBIT = ("x", "y", "z", "vx", "vy", "vz")
QUATERNION = ("q1", "q2", "q3", "qc")
METRES_PER_KM = 1e3


def text_tables(path: Path) -> dict[str, Table] | None:
    """Return the table of such a file; None if it is none of them."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        lines = [line.strip() for line, _ in zip(file, range(50), strict=False)]
    told = [line for line in lines if line and not line.startswith("#")]
    if told and told[0].startswith(("CCSDS_AEM_VERS", "CCSDS_OEM_VERS")):
        return {"": ArrayTable(_ephemeris(path, told[0].startswith("CCSDS_AEM")))}
    if told and all(_is_tum(line) for line in told[:5]):
        values = np.loadtxt(path, comments="#", ndmin=2)
        return {"": ArrayTable({name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(TUM)})}
    return None


def _is_tum(line: str) -> bool:
    fields = line.split()
    try:
        return len(fields) == len(TUM) and all(np.isfinite(float(field)) for field in fields)
    except ValueError:
        return False


def _ephemeris(path: Path, attitude: bool) -> dict[str, Array]:
    """Return epochs and columns of an AEM (quaternions) or OEM."""
    names = QUATERNION if attitude else ORBIT
    epochs, values, meta = key_values(path, len(names))
    if (kind := meta.get("ATTITUDE_TYPE", "QUATERNION")) not in ("QUATERNION", "QUATERNION/RATE"):
        raise InputError(f"{path}: ATTITUDE_TYPE {kind} is not read; give QUATERNION")
    if attitude and meta.get("QUATERNION_TYPE") == "FIRST":
        values = np.roll(values, -1, axis=1)
    scale = 1.0 if attitude else METRES_PER_KM
    columns = {name: np.ascontiguousarray(scale * values[:, i]) for i, name in enumerate(names) if i < values.shape[1]}
    return {"epoch": iso_stamps(np.array(epochs)), **columns}
