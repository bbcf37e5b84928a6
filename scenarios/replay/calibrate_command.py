"""The command `gnc calibrate`: batch fits of a log's magnetometers and gyros."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def calibrate(
    log: Annotated[Path, typer.Argument(help="A log, as for gnc replay; the sensors have to turn about all axes.")],
    config: Annotated[Path, typer.Option(help="TOML file of gnc replay; a gyro needs [truth] or an attitude sensor.")],
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")] = False,
) -> None:
    """Fit iron of magnetometers, matrix, bias and time offset of gyros, and inertia, with their sigmas."""
    from gnc.config import read
    from gnc.scenarios import display
    from gnc.scenarios.replay.config import Replay

    outcome: dict[str, Any] = {"calibrate": str(log), "sensors": _calibrated(log, read(config, Replay))}
    if as_json:
        display.tell(outcome)
        return
    for name, found in outcome["sensors"].items():
        rows = [(key, f"{value}", f"{found['sigma'][key]}") for key, value in found["values"].items()]
        display.table(
            f"{name}: residual {found['before']:.3g} -> {found['residual']:.3g}", ("", "value", "1 sigma"), rows
        )
        if found["undetermined"]:
            print(f"the log does not determine {', '.join(found['undetermined'])}: turn the sensor about all axes")


def _calibrated(log: Path, config: Any) -> dict[str, Any]:
    """Return the calibration of every sensor that can be."""
    import numpy as np

    from gnc.errors import InputError
    from gnc.estimators import calibration

    rows = _rows(log, config)
    attitude = next(
        (rows[s.name] for s in config.sensors if s.kind == "attitude" and s.name in rows), rows.get("truth")
    )
    found = {}
    for sensor in config.sensors:
        if sensor.kind == "magnetometer":
            found[sensor.name] = calibration.magnetometer(rows[sensor.name][1][:, :3])
        if sensor.kind == "gyro" and attitude is not None:
            found[sensor.name] = calibration.gyro(*rows[sensor.name], attitude[0], attitude[1][:, :4])
        if sensor.kind == "gyro" and config.filter.kind in ("mekf", "dqekf") and sensor.name in rows:
            found["inertia"] = calibration.inertia(*_motion(rows, sensor, found.get(sensor.name)))
    if not found:
        raise InputError("sensors: no magnetometer, and no gyro beside an attitude; there is nothing to calibrate")
    plain = lambda parts: {key: np.asarray(value).tolist() for key, value in parts.items()}  # noqa: E731
    return {n: c._asdict() | {"values": plain(c.values), "sigma": plain(c.sigma)} for n, c in found.items()}


def _motion(rows: dict[str, tuple[Any, Any]], gyro: Any, calibrated: Any) -> tuple[Any, Any, Any, Any]:
    """Return times, rates in body axes, torques that are held, and momenta of the wheels between their stamps."""
    import numpy as np

    from gnc import quaternion

    t, z = rows[gyro.name]
    w_B = quaternion.rotate(np.array(gyro.q_BS), z)
    if calibrated is not None:
        w_B = z @ calibrated.values["matrix"].T + calibrated.values["bias"]
    if "inputs" not in rows:
        return t, w_B, np.zeros_like(w_B), np.zeros_like(w_B)
    when, given = rows["inputs"]
    held = np.clip(np.searchsorted(when, t, side="right") - 1, 0, len(when) - 1)
    return t, w_B, given[held, :3], np.stack([np.interp(t, when, given[:, 6 + i]) for i in range(3)], axis=1)


def _rows(log: Path, config: Any) -> dict[str, tuple[Any, Any]]:
    """Return times and values of all quantities of the log."""
    from tempfile import TemporaryDirectory

    import numpy as np

    from gnc.scenarios.replay.session import connect

    with TemporaryDirectory() as folder:
        session = connect(log, config, Path(folder))
        parts: dict[str, list[Any]] = {s.name.removeprefix("sensors."): [] for s in session.streams}
        for block in session.blocks():
            for name, m in zip(parts, block.parts, strict=True):
                parts[name].append((m.t[m.valid], m.z[m.valid]))
        session.dropped.close(False)
    joined = {n: [np.concatenate(x) for x in zip(*p, strict=True)] for n, p in parts.items() if p}
    return {n: (t, z) for n, (t, z) in joined.items() if len(t)}
