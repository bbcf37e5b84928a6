"""The recorder of scenarios that fly a MEKF, and the configuration by which replay flies the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.extra_states import ResidualDipole
from gnc.estimators.inertia_states import Inertia
from gnc.estimators.mekf import Mekf
from gnc.models.sensors import FineSunSensor, Magnetometer, StarTracker, VectorSensor
from gnc.scenarios.attitude.navigation import MekfNavigation
from gnc.scenarios.replay.recorder import Columns, Recorder, Tap, names

Array = Any


class AttitudeRecorder(Recorder):
    """Takes down known torque, the wheels' momentum, the field, and the sensors with their references."""

    held = ("torque", "field")

    def __init__(self, navigation: MekfNavigation, belief: Belief, h: float) -> None:
        if type(navigation.mekf) is not Mekf:
            kind = type(navigation.mekf).__name__
            raise InputError(f"filter: replay has no {kind}; simulate a log with filter.kind=mekf")
        self._filter, self._tap, self._first = navigation.mekf, Tap(navigation.mekf), belief
        super().__init__(dataclasses.replace(navigation, mekf=self._tap), belief, h)
        self._sensors, self._ungated_s = navigation.sensors, navigation.ungated_s
        self._config = [_sensor(name, sensor) for name, sensor in navigation.sensors.items()]
        self.rows.add(0, {"wheels": belief.rho_B})

    def truth(self, x: Any) -> Columns:
        """Return attitude and rate."""
        return {"truth_q": x.q_IB, "truth_w": x.w_B}

    def given(self) -> tuple[Columns, Columns]:
        """Return torque and field, and the wheels' momentum at the end."""
        tau_B, _, rho_B, env = self._tap.predicted
        field = {"field": env.B_I} if self._extra(ResidualDipole) else {}
        return {"torque": tau_B, **field}, {"wheels": rho_B}

    def surroundings(self, name: str) -> Columns:
        """Return the direction of the Sun, or the field."""
        sensor, env = self._sensors[name], self._tap.env
        if isinstance(sensor, Magnetometer):
            return {f"{name}_ref": env.B_I}
        return {f"{name}_ref": env.sun_I} if isinstance(sensor, FineSunSensor) else {}

    def _extra(self, kind: type) -> Any:
        """Return the extra state of a kind, if the filter has one."""
        return next((extra for extra in self._filter.extras if isinstance(extra, kind)), None)

    def config(self) -> dict[str, Any]:
        """Return the filter with its start as it is, and where everything is in the log."""
        field = {"field": names("field", 3)} if self._extra(ResidualDipole) else {}
        belief = Belief(*(np.asarray(part)[0] for part in self._first))
        start = {"t": 0.0, "q_IB": belief.q_IB, "P_B": belief.P_B, "C": belief.C}
        return {
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
            "J": _one(mekf.J, 2),
            "method": mekf.method,
            "substeps": mekf.substeps,
            "torque_psd": np.diagonal(_one(mekf.torque_psd, 2)).tolist(),
            "gate_probability": mekf.gate_probability,
            "patience": mekf.patience,
            "inflation": mekf.inflation,
            "ungated_s": self._ungated_s,
        }
        if dipole is not None:
            found |= {"dipole_sigma_Am2": sigma[6], "dipole_walk": _one(dipole.walk, 1)[0]}
        return found | ({"inertia_sigma_kgm2": sigma[-1]} if self._extra(Inertia) else {})


def _one(value: Any, core: int) -> Any:
    """Return the parameter of the only trial, whether or not it has a leading axis."""
    value = np.asarray(value, float)
    return value.reshape(value.shape[value.ndim - core :]).tolist()


def _magnetometer(name: str, s: Magnetometer) -> dict[str, Any]:
    sigmas = {"sigma_T": _one(s.sigma_T, 0), "sigma_deg": _one(s.sigma_deg, 0)}
    return {
        "kind": "magnetometer",
        "columns": names(name, 3),
        "unit": "T",
        **sigmas,
        "reference": names(f"{name}_ref", 3),
    }


def _sun(name: str, s: FineSunSensor) -> dict[str, Any]:
    seen = {"columns": names(name, 3), "reference": names(f"{name}_ref", 3)}
    return {"kind": "vector", **seen, "sigma_deg": _one(s.sigma_deg, 0)}


def _direction(name: str, s: VectorSensor) -> dict[str, Any]:
    seen = {"columns": names(name, 3), "reference": _one(s.r_I, 1)}
    return {"kind": "vector", **seen, "sigma_deg": _one(s.sigma_deg, 0)}


def _tracker(name: str, s: StarTracker) -> dict[str, Any]:
    return {"kind": "attitude", "columns": names(name, 4), "order": "wxyz", "sigma_arcsec": _one(s.sigma_arcsec, 1)}


_TOLD: dict[type, Callable[[str, Any], dict[str, Any]]] = {
    Magnetometer: _magnetometer,
    FineSunSensor: _sun,
    VectorSensor: _direction,
    StarTracker: _tracker,
}


def _sensor(name: str, sensor: Any) -> dict[str, Any]:
    """Return the section of a sensor, as the filter believes it to be."""
    if type(sensor) not in _TOLD:
        known = ", ".join(kind.__name__ for kind in _TOLD)
        raise InputError(f"sensors.{name}: replay has no {type(sensor).__name__}; simulate a log with {known}")
    mounted = {"q_BS": _one(sensor.q_BS, 1)} if hasattr(sensor, "q_BS") else {}
    return {
        "name": name,
        "valid": f"{name}_valid",
        "rate_hz": sensor.rate_hz,
        **mounted,
        **_TOLD[type(sensor)](name, sensor),
    }
