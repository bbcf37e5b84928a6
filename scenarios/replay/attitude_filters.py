"""Attitude filters: driven by a gyro, or by the dynamics of the body."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gnc.batch import chosen
from gnc.estimators.chart import ROTATION, vector
from gnc.estimators.extra_states import ExtraState, ResidualDipole, SensorBias
from gnc.estimators.gyro_mekf import GyroMekf
from gnc.estimators.inertia_states import Inertia
from gnc.estimators.mekf import Mekf, at_rest
from gnc.models.sensors import Gyro, Measurement
from gnc.models.states import AttitudeState
from gnc.scenarios.replay import config, filter_config
from gnc.scenarios.replay.driven import INERTIA, Array, Driven, First, Sample, blocks, given, named, variance

SILENT = Measurement(np.zeros(3), False)
NOTHING = np.zeros(3)


class GyroDriven(Driven):
    """Gyro MEKF: a gyro sample moves it."""

    def __init__(self, chosen: filter_config.GyroMekfFilter, gyro: Gyro, common: dict[str, Any]) -> None:
        self._biased = chosen.magnetometer_walk is not None
        special: dict[str, Any] = {"coast_sigma": chosen.coast_sigma, "magnetometer_walk": chosen.magnetometer_walk}
        self.filter = GyroMekf(gyro=gyro, **special, **common)
        self.errors = named("a", "bias", *(["magnetometer_bias"] if self._biased else []))
        self.fields = ("q_IB", "bias", *(["magnetometer_bias"] if self._biased else []))
        self.chart = (ROTATION, *[vector(3)] * (len(self.fields) - 1))

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief before the first sample."""
        bias = variance(np.radians(start.sigma_bias_deg_s))
        magnetometer = [variance(start.sigma_magnetometer_T)] if self._biased else []
        C = given(start)
        return self.filter.start(
            first.q_IB, blocks(first.C[:3, :3], bias, *magnetometer) if C is None else C, start.bias
        )

    def step(self, belief: Any, sample: Sample, h: Array, end: Measurement) -> Any:
        """Move at the rate of the sample, or at the last rate, which is trusted less."""
        return self.filter.predict(belief, SILENT if sample is None else sample, h)

    def slope(self, before: Any, after: Any, sample: Sample, h: Array, end: Measurement) -> Array:
        """Return F."""
        return self.filter.transition(after, h)

    def moved(self, belief: Any, parts: tuple[Array, ...], C: Array) -> Any:
        """Return the belief with another attitude and other biases."""
        w_B = belief.w_B - (parts[1] - belief.bias) @ np.linalg.inv(self.filter.gyro.D_SB).T
        return super().moved(belief, parts, C)._replace(w_B=w_B)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return attitude, rate, biases and C."""
        found = {"q_IB": belief.q_IB, "w_B": belief.w_B, "bias": belief.bias, "C": belief.C}
        return found | ({"magnetometer_bias": belief.magnetometer_bias} if self._biased else {})


class Field(NamedTuple):
    """What acts on a dipole."""

    B_I: Array


class ByTorque(Driven):
    """Dynamics-driven MEKF: known torques and wheels move it, and the field by its dipole."""

    sample_size = 12

    def __init__(
        self, chosen: filter_config.MekfFilter, biases: tuple[SensorBias, ...], common: dict[str, Any]
    ) -> None:
        psd = np.diag(np.asarray(chosen.torque_psd)) if np.ndim(chosen.torque_psd) else chosen.torque_psd
        self._chosen, self._biases, extras = chosen, 3 * len(biases), list[ExtraState](biases)
        self.errors = named("a", "w", *(bias.name for bias in biases))
        if chosen.dipole_sigma_Am2 > 0.0:
            extras.append(ResidualDipole(walk=chosen.dipole_walk))
            self.errors += named("dipole")
        if chosen.inertia_sigma_kgm2 > 0.0:
            extras.append(Inertia(form="ratios"))
            self.errors += INERTIA
        self.filter = Mekf(np.array(chosen.J), chosen.method, psd, tuple(extras), substeps=chosen.substeps, **common)
        self.fields = ("q_IB", "P_B", *(["extras"] if extras else []))
        self.chart = (ROTATION, vector(3), *([vector(self.filter.size - 6)] if extras else []))

    def start_size(self, start: config.Start) -> int:
        """Return that of the whole error state beside a momentum, that of attitude and rate beside a rate."""
        return 6 if start.P_B is None else self.filter.size

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first attitude."""
        k, rho_B = self.filter.size - 6, NOTHING if held is None else held.z[6:9]
        values = np.concatenate([np.tile(start.bias, self._biases // 3), np.zeros(k - self._biases)])
        if start.P_B is not None:
            return at_rest(first.q_IB, np.array(start.P_B), rho_B, values, np.array(start.C))
        C = blocks(first.C[:3, :3], variance(np.radians(start.sigma_rate_deg_s))) if start.C is None else given(start)
        x = AttitudeState(np.asarray(first.q_IB), np.array(start.w_B))
        return self.filter.start(x, C, rho_B, values, self._prior(start))

    def _prior(self, start: config.Start) -> Array:
        """Return the covariance of the extra states."""
        sigmas = {"bias": np.radians(start.sigma_bias_deg_s), "dipole": self._chosen.dipole_sigma_Am2}
        sigmas["inertia"] = self._chosen.inertia_sigma_kgm2
        return np.diag([sigmas[name.split("_")[0]] ** 2 for name in self.errors[6:]])

    def step(self, belief: Any, sample: Sample, h: Array, end: Measurement) -> Any:
        """Move under the known torque, the wheels at their momentum, the dipole in the field."""
        tau_B, rho_B, env = self._given(belief, sample, end)
        return self.filter.predict(belief, tau_B, h, rho_B, env)

    def slope(self, before: Any, after: Any, sample: Sample, h: Array, end: Measurement) -> Array:
        """Return F."""
        tau_B, rho_B, env = self._given(before, sample, end)
        return self.filter.transition(before, before.C, tau_B, h, rho_B, env)[1]

    def _given(self, belief: Any, sample: Sample, end: Measurement) -> tuple[Array, Array, Field]:
        """Return torque, the wheels' momentum at the end, and the field."""
        tau_B, B_I = (NOTHING, NOTHING) if sample is None else (sample.z[:3], sample.z[9:])
        rho_B = chosen(end.valid > 0.0, end.z[6:9], belief.rho_B) if end.z.shape[0] else belief.rho_B
        return tau_B, rho_B, Field(B_I)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return attitude, rate, extra states and C."""
        found = {"q_IB": belief.q_IB, "w_B": self.filter.state(belief).w_B, "C": self.filter.covariance(belief)}
        more = {"bias": belief.extras[..., : self._biases]} if self._biases else {}
        others = [extra.name for extra in self.filter.extras[self._biases // 3 :]]
        return found | more | {name: self.filter.extra(belief, name) for name in others}
