"""Estimates as files that other tools open: TUM, CCSDS AEM and OEM (KVN), MCAP with foxglove.PoseInFrame (JSON).

Times that the log gives no date count from 1970. Positions of filters that have none are zero; an OEM needs them.
The AEM's quaternion turns from the inertial frame A to the body frame B, scalar last: it has the numbers of q_IB.
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
from gnc.scenarios.replay.tables import missing

Array = Any

ROWS = 16384  # at a time
NUMBER = {"type": "number"}
XYZ = {"type": "object", "properties": dict.fromkeys("xyz", NUMBER)}
TIME = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
POSE = {
    "type": "object",
    "properties": {"position": XYZ, "orientation": {**XYZ, "properties": dict.fromkeys("xyzw", NUMBER)}},
}
SCHEMA = {"title": "foxglove.PoseInFrame", "type": "object",
          "properties": {"timestamp": TIME, "frame_id": {"type": "string"}, "pose": POSE}}  # fmt: skip


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
        lines = [
            f"CCSDS_{kind}_VERS = {'1.0' if kind == 'AEM' else '2.0'}",
            f"CREATION_DATE = {ends[1]}",
            "ORIGINATOR = GNC",
        ]
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
