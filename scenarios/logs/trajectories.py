"""Trajectories, read as logs and written for other tools: TUM, CCSDS AEM and OEM (KVN); MCAP is written only.

TUM: lines `t x y z qx qy qz qw`, comments by #. AEM and OEM: see `gnc.models.environment.orbit`; positions of an
OEM are in km, its columns here in m. MCAP has foxglove.PoseInFrame in JSON. Times that the log gives no date count from
1970. Positions of filters that have none are zero; an OEM needs them. The AEM's quaternion turns from the inertial
frame A to the body frame B, scalar last: it has the numbers of q_IB.
Source: CCSDS 504.0-B-2 and 502.0-B-3; the schema of foxglove.PoseInFrame.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.files import replacing
from gnc.models.environment.orbit import key_values
from gnc.scenarios.logs.array_tables import ArrayTable
from gnc.scenarios.logs.clock import iso_stamps
from gnc.scenarios.logs.tables import Table, missing

Array = Any

ROWS = 16384  # at a time
TUM = ("t", "x", "y", "z", "qx", "qy", "qz", "qw")
ORBIT = ("x", "y", "z", "vx", "vy", "vz")
QUATERNION = ("q1", "q2", "q3", "qc")
METRES_PER_KM = 1e3
NUMBER = {"type": "number"}
XYZ = {"type": "object", "properties": dict.fromkeys("xyz", NUMBER)}
TIME = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
POSE = {
    "type": "object",
    "properties": {"position": XYZ, "orientation": {**XYZ, "properties": dict.fromkeys("xyzw", NUMBER)}},
}
SCHEMA = {"title": "foxglove.PoseInFrame", "type": "object",
          "properties": {"timestamp": TIME, "frame_id": {"type": "string"}, "pose": POSE}}  # fmt: skip


def text_tables(path: Path) -> dict[str, Table]:
    """Return the table of a text file, which is a CSV if it is no trajectory."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        lines = [line.strip() for line, _ in zip(file, range(50), strict=False)]
    told = [line for line in lines if line and not line.startswith("#")]
    if told and told[0].startswith(("CCSDS_AEM_VERS", "CCSDS_OEM_VERS")):
        return {"": ArrayTable(_read_ephemeris(path, told[0].startswith("CCSDS_AEM")))}
    if told and all(_is_tum(line) for line in told[:5]):
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            values = np.loadtxt((line for line in file if _is_tum(line)), ndmin=2)  # an interrupted line is none
        return {"": ArrayTable({name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(TUM)})}
    if path.suffix.lower() != ".txt":
        raise InputError(f"{path}: neither TUM (t x y z qx qy qz qw) nor a CCSDS AEM or OEM in key-value notation")
    from gnc.scenarios.logs.arrow_tables import csv_tables

    return csv_tables(path)


def _is_tum(line: str) -> bool:
    fields = line.split()
    try:
        return len(fields) == len(TUM) and all(np.isfinite(float(field)) for field in fields)
    except ValueError:
        return False


def _read_ephemeris(path: Path, attitude: bool) -> dict[str, Array]:
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


def write(kind: str, path: Path, estimates: Array, origin_ns: int) -> None:
    """Write estimates in one of the formats; times are seconds after the origin [ns since 1970]."""
    if kind == "oem" and "r_IB" not in (estimates.dtype.names or ()):
        raise InputError("output.formats: an OEM has positions, and this filter estimates none; leave it out")
    with replacing(path) as temporary:
        _WRITERS[kind](temporary, estimates, origin_ns)


def _parts(estimates: Array) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Give times, positions, scalar-last quaternions and velocities, some at a time."""
    names = estimates.dtype.names or ()
    for start in range(0, len(estimates), ROWS):
        part = estimates[start : start + ROWS]
        zero = np.zeros((len(part), 3))
        r, v = (part[n].astype(float) if n in names else zero for n in ("r_IB", "v_I"))
        yield part["t"].astype(float), r, part["q_IB"][:, [1, 2, 3, 0]].astype(float), v


def _tum(path: Path, estimates: Array, origin_ns: int) -> None:
    with path.open("w") as file:
        for t, r, q, _ in _parts(estimates):
            rows = np.concatenate([(t + 1e-9 * origin_ns)[:, None], r, q], axis=1)
            np.savetxt(file, rows, fmt=["%.9f"] + ["%.12g"] * 7)


def _ephemeris(kind: str) -> Callable[[Path, Array, int], None]:
    """Return the writer of AEM or OEM."""
    meta = ["OBJECT_NAME = BODY", "OBJECT_ID = 0000-000A"]
    if kind == "AEM":
        meta += ["REF_FRAME_A = EME2000", "REF_FRAME_B = SC_BODY_1", "ATTITUDE_DIR = A2B", "TIME_SYSTEM = UTC"]
    else:
        meta += ["CENTER_NAME = EARTH", "REF_FRAME = EME2000", "TIME_SYSTEM = UTC"]

    def write_(path: Path, estimates: Array, origin_ns: int) -> None:
        ends = _epochs(estimates["t"][[0, -1]].astype(float), origin_ns)
        version = "1.0" if kind == "AEM" else "2.0"
        lines = [f"CCSDS_{kind}_VERS = {version}", f"CREATION_DATE = {ends[1]}", "ORIGINATOR = GNC"]
        lines += ["", "META_START", *meta, f"START_TIME = {ends[0]}", f"STOP_TIME = {ends[1]}"]
        lines += ["ATTITUDE_TYPE = QUATERNION", "QUATERNION_TYPE = LAST"] if kind == "AEM" else []
        lines += ["META_STOP", *(["", "DATA_START"] if kind == "AEM" else [""])]
        with path.open("w") as file:
            file.write("\n".join(lines) + "\n")
            for t, r, q, v in _parts(estimates):
                rows = q if kind == "AEM" else np.concatenate([r, v], axis=1) / 1e3
                file.writelines(
                    f"{epoch} {' '.join(f'{x:.15g}' for x in row)}\n"
                    for epoch, row in zip(_epochs(t, origin_ns), rows, strict=True)
                )
            file.write("DATA_STOP\n" if kind == "AEM" else "")

    return write_


def _epochs(t: Array, origin_ns: int) -> list[str]:
    """Return times as ISO dates with nanoseconds."""
    return np.datetime_as_string((origin_ns + np.rint(1e9 * t).astype(np.int64)).astype("datetime64[ns]")).tolist()


def _mcap(path: Path, estimates: Array, origin_ns: int) -> None:
    try:
        from mcap.writer import Writer
    except ImportError:
        raise missing("mcap") from None
    writer = Writer(str(path))
    writer.start(library="gnc")
    schema = writer.register_schema("foxglove.PoseInFrame", "jsonschema", json.dumps(SCHEMA).encode())
    channel = writer.register_channel("/estimate", "json", schema)
    for t, r, q, _ in _parts(estimates):
        for time, place, turn in zip(
            (origin_ns + np.rint(1e9 * t).astype(np.int64)).tolist(), r.tolist(), q.tolist(), strict=True
        ):
            pose = {
                "position": dict(zip("xyz", place, strict=True)),
                "orientation": dict(zip("xyzw", turn, strict=True)),
            }
            stamp = {"sec": time // 10**9, "nsec": time % 10**9}
            content = json.dumps({"timestamp": stamp, "frame_id": "world", "pose": pose}).encode()
            writer.add_message(channel, time, content, time)
    writer.finish()


_WRITERS: dict[str, Callable[[Path, Array, int], None]] = {
    "tum": _tum, "aem": _ephemeris("AEM"), "oem": _ephemeris("OEM"), "mcap": _mcap,
}  # fmt: skip
