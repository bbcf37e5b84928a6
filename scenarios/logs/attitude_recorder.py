"""The recorders of missions that fly a MEKF on the dynamics or on a gyro, and what replay needs to fly the same.

Of the first: the loop also predicts only to look ahead, for a command or a record, and throws the result away. What
counts are the predictions that lead to the belief which a measurement corrects, so these are found by going back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from gnc.errors import InputError
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.extra_states import Inertia, ResidualDipole
from gnc.estimators.mekf import Mekf
from gnc.estimators.navigation.attitude import AttitudeNavigation
from gnc.models.sensors import FineSunSensor, Gyro, HorizonSensor, Magnetometer, StarTracker, VectorSensor
from gnc.scenarios.logs.recorder import Columns, LogRecorder, Tap, names, one
from gnc.typing import Array


class Step(NamedTuple):
    """A prediction."""

    before: Any  # belief
    after: Any
    start: int  # tick
    end: int
    during: Columns  # known inputs, held from its start on
    at_end: Columns  # what is known of its end


class DirectionRecorder(LogRecorder):
    """Takes down the sensors of an attitude with their references."""

    _sensors: Mapping[str, Any]
    environment: Callable[[], Any]  # what surrounds the sensors

    def truth(self, x: Any) -> Columns:
        """Return attitude and rate."""
        return {"truth_q": x.q_IB, "truth_w": x.w_B}

    def surroundings(self, name: str) -> Columns:
        """Return the direction that is measured, or the field."""
        sensor, env = self._sensors[name], self.environment()
        if isinstance(sensor, Magnetometer):
            return {f"{name}_ref": env.B_I}
        return {f"{name}_ref": sensor.aim(env)[0]} if isinstance(sensor, FineSunSensor) else {}


class AttitudeRecorder(DirectionRecorder):
    """Takes down known torque, the wheels' momentum, the field, and the sensors with their references."""

    held = ("torque", "field")

    def __init__(self, navigation: AttitudeNavigation, belief: Belief, sensors: Mapping[str, Any], h: float) -> None:
        if type(navigation.filter) is not Mekf:
            kind = type(navigation.filter).__name__
            raise InputError(f'software.*.navigation: replay has no {kind}; simulate a log with kind = "mekf"')
        self._filter, self._first = navigation.filter, belief
        self._tap = cast(Any, Tap(navigation.filter))
        super().__init__(dataclasses.replace(navigation, filter=self._tap), h)
        self._last, self._steps = belief, dict[int, Step]()
        self._sensors, self._ungated_s, self._slewing = sensors, navigation.ungated_s, navigation.slewing
        self._config = self.sections(sensors, _section)
        self.rows.add(0, {"wheels": belief.rho_B})

    def predict(self, belief: Any, command: Any, report: Any, t: float, h: float) -> Any:
        """Move over h."""
        after = self.navigation.predict(belief, command, report, t, h)
        ticks = self.rows.tick(t), self.rows.tick(t + h)
        self._steps[id(after)] = Step(belief, after, *ticks, *self._given())
        return after

    def update(self, belief: Any, name: str, measurement: Any, t: float) -> tuple[Any, Any]:
        """Correct with a measurement."""
        self._commit(belief)
        self._last, innovation = super().update(belief, name, measurement, t)
        return self._last, innovation

    def _commit(self, belief: Any) -> None:
        """Write down the predictions that led to a belief."""
        led = []
        while belief is not self._last:
            led.append(self._steps[id(belief)])
            belief = led[-1].before
        for step in reversed(led):
            self.rows.add(step.start, step.during)
            self.rows.add(step.end, step.at_end)
        self._steps.clear()

    def _given(self) -> tuple[Columns, Columns]:
        """Return torque and field, and the wheels' momentum at the end."""
        tau_B, _, rho_B, env = self._tap.predicted
        field = {"field": env.B_I} if self._extra(ResidualDipole) else {}
        return {"torque": tau_B, **field}, {"wheels": rho_B}

    def environment(self) -> Any:
        """Return what the filter was given last."""
        return self._tap.env

    def _extra(self, kind: type) -> Any:
        """Return the extra state of a kind, if the filter has one."""
        return next((extra for extra in self._filter.extras if isinstance(extra, kind)), None)

    def config(self) -> dict[str, Any]:
        """Return the filter with its start as it is, and where everything is in the log."""
        field = {"field": names("field", 3)} if self._extra(ResidualDipole) else {}
        belief = Belief(*(np.asarray(part)[0] for part in self._first))
        unknown = [self._sensors[name] for name in self.left_out]
        known = [getattr(extra, "of", None) not in unknown for extra in self._filter.extras for _ in range(extra.size)]
        kept = np.array([True] * 6 + known)
        start = {"t": 0.0, "q_IB": belief.q_IB, "P_B": belief.P_B, "C": belief.C[kept][:, kept]}
        biased = any(isinstance(getattr(extra, "of", None), Gyro) for extra in self._filter.extras)
        start["sigma_bias_deg_s"] = 0.1 if biased else 0.0  # whether a gyro's is estimated; how large it is C says
        return {
            "log": {"step_s": self.rows.h},
            "filter": self._filter_config(belief.C),
            "sensors": self._config,
            "inputs": {"torque": names("torque", 3), "wheels": names("wheels", 3), **field},
            "truth": {"columns": names("truth_q", 4), "order": "wxyz", "rate": names("truth_w", 3)},
            "start": {key: np.asarray(value).tolist() for key, value in start.items()},
        }

    def _filter_config(self, C: Array) -> dict[str, Any]:
        mekf, dipole, sigma = self._filter, self._extra(ResidualDipole), np.sqrt(np.diagonal(C)).tolist()
        found = {
            "kind": "mekf",
            "J": one(mekf.J, 2),
            "method": mekf.method,
            "substeps": mekf.substeps,
            "torque_psd": np.diagonal(one(mekf.torque_psd, 2)).tolist(),
            "gate_probability": mekf.gate_probability,
            "patience": mekf.patience_s,
            "inflation": mekf.inflation,
            "ungated_s": self._ungated_s,
        }
        found |= {} if self._slewing is None else {"slewing": one(self._slewing, 1)}
        if dipole is not None:
            found |= {"dipole_sigma_Am2": sigma[6], "dipole_walk": one(dipole.walk, 1)[0]}
        inertia = 9 if dipole is not None else 6
        return found | ({"inertia_sigma_kgm2": sigma[inertia]} if self._extra(Inertia) else {})


class GyroRecorder(DirectionRecorder):
    """Takes down the gyro, and the sensors with their references; replay begins where they first give an attitude."""

    def __init__(self, navigation: Any, belief: Any, sensors: Mapping[str, Any], h: float) -> None:
        super().__init__(navigation, h)
        self._filter, self._sensors = getattr(navigation, "inner", navigation), sensors
        self._config, self._now = self.sections(sensors, _section), 0.0

    def update(self, belief: Any, name: str, measurement: Any, t: float) -> tuple[Any, Any]:
        """Correct with a measurement."""
        self._now = t
        return super().update(belief, name, measurement, t)

    def environment(self) -> Any:
        """Return the sky at the last measurement."""
        return self._filter.known.sky.at(self._now)

    def config(self) -> dict[str, Any]:
        """Return the filter, and where everything is in the log."""
        mekf = self._filter.filter.mekf
        chosen = {"kind": "gyro-mekf", "interval": "mean", "gate_probability": mekf.gate_probability}
        return {
            "log": {"step_s": self.rows.h},
            "filter": chosen | {"ungated_s": self._filter.ungated_s},
            "sensors": self._config,
            "truth": {"columns": names("truth_q", 4), "order": "wxyz", "rate": names("truth_w", 3)},
            "start": {"sigma_bias_deg_s": float(np.degrees(one(mekf.gyro.bias_sigma, 0)))},
        }


def _section(name: str, sensor: Any) -> dict[str, Any] | None:
    """Return the section of a sensor, as the filter believes it to be; None: replay has none like it."""
    seen: dict[type, dict[str, Any]] = {
        Gyro: {"kind": "gyro", "unit": "rad/s"},
        HorizonSensor: {"kind": "vector", "reference": names(f"{name}_ref", 3)},
        Magnetometer: {"kind": "magnetometer", "unit": "T", "reference": names(f"{name}_ref", 3)},
        FineSunSensor: {"kind": "vector", "reference": names(f"{name}_ref", 3)},
        VectorSensor: {"kind": "vector"},
        StarTracker: {"kind": "attitude", "order": "wxyz"},
    }
    if type(sensor) not in seen:
        return None
    section = {"name": name, "valid": f"{name}_valid", "rate_hz": sensor.rate_hz, **seen[type(sensor)]}
    section["columns"] = names(name, 4 if isinstance(sensor, StarTracker) else 3)
    if isinstance(sensor, VectorSensor):
        section["reference"] = one(sensor.r_I, 1)
    cores = {"q_BS": 1, "sigma_T": 0, "sigma_deg": 0, "sigma_arcsec": 1}
    cores |= {"arw": 0, "bias_walk": 0} if isinstance(sensor, Gyro) else {}
    section |= {key: one(getattr(sensor, key), core) for key, core in cores.items() if hasattr(sensor, key)}
    return section | {key: value for key, value in _errors(sensor).items() if value > 0.0}


def _errors(sensor: Any) -> dict[str, float]:
    """Return what the filter believes of the errors of a sensor, which it estimates."""
    found = {"misalignment_deg": float(np.degrees(one(getattr(sensor, "askew", 0.0), 0)))}
    if isinstance(sensor, Magnetometer):
        uneven, soft = 100.0 * np.array(one(sensor.uneven, 1)[::3])
        found |= {"bias_nT": 1e9 * one(sensor.bias_sigma, 0), "bias_walk_nT": 1e9 * one(sensor.bias_walk, 0)}
        found |= {"soft_iron_percent": float(soft), "scale_percent": float(np.sqrt(max(uneven**2 - soft**2, 0.0)))}
    return found
