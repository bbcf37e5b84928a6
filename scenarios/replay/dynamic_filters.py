"""Filters driven by the dynamics of a body of known inertia: of its attitude, or of its pose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import chosen as chosen_of
from gnc.estimators.chart import POSE, ROTATION, Chart, vector
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.extra_states import ExtraState, Inertia, ResidualDipole
from gnc.estimators.mekf import Mekf, at_rest
from gnc.estimators.navigation.attitude import slewed_by
from gnc.estimators.navigation.free_body import Prior, TargetNavigation
from gnc.estimators.pose_motion import TURN
from gnc.models.craft.body import about_centre
from gnc.models.sensors import Measurement
from gnc.models.sensors.interface import Sighting
from gnc.models.states import AttitudeState
from gnc.scenarios.replay import config, filter_config
from gnc.scenarios.replay.filter_protocol import (
    Array,
    First,
    ReplayFilter,
    Sample,
    blocks,
    first_pose,
    given,
    named,
    pose_columns,
    pose_covariance,
    variance,
)  # fmt: skip
from gnc.scenarios.replay.sensor_states import SensorStates

NOTHING = np.zeros(3)
INERTIA = tuple(f"inertia_{part}" for part in ("xx", "yy", "xy", "xz", "yz"))  # errors of J whose trace is kept


class Field(NamedTuple):
    """What acts on a dipole."""

    B_I: Array


class Dynamic(ReplayFilter):
    """Moved by known inputs; extra states are a dipole, the ratios of the inertia, and those of sensors."""

    sample_size = 12

    def _extras(self, chosen: Any, sensors: Mapping[str, Any], *motion: str) -> tuple[ExtraState, ...]:
        """Return the extra states of a configuration, and name all errors."""
        extras: list[ExtraState] = []
        self._chosen, self._states, self._motion = chosen, SensorStates(sensors), 3 * len(motion)
        self.errors = named(*motion)
        if getattr(chosen, "dipole_sigma_Am2", 0.0) > 0.0:
            extras.append(ResidualDipole(walk=chosen.dipole_walk))
            self.errors += named("dipole")
        if chosen.inertia_sigma_kgm2 > 0.0:
            extras.append(Inertia(form="ratios", walk=getattr(chosen, "inertia_walk", 0.0)))
            self.errors += INERTIA
        self._own = len(self.errors)  # where the states of sensors begin
        self.errors += self._states.errors
        return (*extras, *self._states.extras)

    def _chart(self, fields: tuple[str, ...], chart: Chart) -> None:
        """State the fields of a belief, beside which extra states are."""
        more = len(self.errors) - self._motion
        self.fields, self.chart = (*fields, "extras")[: 3 if more else 2], (*chart, *([vector(more)] if more else []))

    def _first_extras(self, start: config.Start) -> tuple[Array, Array]:
        """Return first values of the extra states, and their covariance."""
        names, (values, spread) = self.errors[self._motion : self._own], self._states.first(start)
        sigmas = {"inertia": self._chosen.inertia_sigma_kgm2}
        sigmas["dipole"] = getattr(self._chosen, "dipole_sigma_Am2", 0.0)
        own = [sigmas[name.split("_")[0]] for name in names]
        return np.concatenate([np.zeros(len(own)), values]), np.diag(np.concatenate([own, spread]) ** 2)

    def _extra_columns(self, belief: Any) -> dict[str, Array]:
        own = self.filter.extras[: len(self.filter.extras) - len(self._states.extras)]
        found = {extra.name: self.filter.extra(belief, extra.name) for extra in own}
        return found | self._states.columns(belief.extras[..., self._own - self._motion :])


class ByTorque(Dynamic):
    """Dynamics-driven MEKF: known torques and wheels move it, and the field by its dipole."""

    def __init__(self, chosen: filter_config.MekfFilter, sensors: Mapping[str, Any], common: dict[str, Any]) -> None:
        psd = np.diag(np.asarray(chosen.torque_psd)) if np.ndim(chosen.torque_psd) else chosen.torque_psd
        extras = self._extras(chosen, sensors, "a", "w")
        self.filter = Mekf(np.array(chosen.J), chosen.method, psd, extras, substeps=chosen.substeps, **common)
        self._slewing = None if chosen.slewing is None else np.array(chosen.slewing)
        self._chart(("q_IB", "P_B"), (ROTATION, vector(3)))

    def start_size(self, start: config.Start) -> int:
        """Return that of the whole error state beside a momentum, that of attitude and rate beside a rate."""
        return 6 if start.P_B is None else self.filter.size

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first attitude."""
        rho_B, (values, prior) = NOTHING if held is None else held.z[6:9], self._first_extras(start)
        if start.P_B is not None:
            return at_rest(first.q_IB, np.array(start.P_B), rho_B, values, np.array(start.C))
        C = blocks(first.C[:3, :3], variance(np.radians(start.sigma_rate_deg_s))) if start.C is None else given(start)
        x = AttitudeState(np.asarray(first.q_IB), np.array(start.w_B))
        return self.filter.start(x, C, rho_B, values, prior)

    def step(self, belief: Any, sample: Sample, h: Array, end: Measurement) -> Any:
        """Move under the known torque, the wheels at their momentum, the dipole in the field."""
        tau_B, rho_B, env = self._given(belief, sample, end)
        moved = self.filter.predict(belief, tau_B, h, rho_B, env)
        if self._slewing is None:
            return moved
        rates = self.filter.state(belief).w_B, self.filter.state(moved).w_B
        return moved._replace(C=slewed_by(self.filter.size)(moved.C, *rates, self._slewing))

    def slope(self, before: Any, after: Any, sample: Sample, h: Array, end: Measurement) -> Array:
        """Return F."""
        tau_B, rho_B, env = self._given(before, sample, end)
        return self.filter.transition(before, before.C, tau_B, h, rho_B, env)[1]

    def _given(self, belief: Any, sample: Sample, end: Measurement) -> tuple[Array, Array, Field]:
        """Return torque, the wheels' momentum at the end, and the field."""
        tau_B, B_I = (NOTHING, NOTHING) if sample is None else (sample.z[:3], sample.z[9:])
        rho_B = chosen_of(end.valid > 0.0, end.z[6:9], belief.rho_B) if end.z.shape[0] else belief.rho_B
        return tau_B, rho_B, Field(B_I)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return attitude, rate, extra states and C."""
        motion = {"q_IB": belief.q_IB, "w_B": self.filter.state(belief).w_B, "C": self.filter.covariance(belief)}
        return motion | self._extra_columns(belief)


class ByWrench(Dynamic):
    """Dynamics-driven pose filter: known wrenches move it."""

    def __init__(self, chosen: filter_config.DqekfFilter, sensors: Mapping[str, Any], common: dict[str, Any]) -> None:
        self._prior: Prior | None = None
        options: dict[str, Any] = {"method": chosen.method, "wrench_psd": np.asarray(chosen.wrench_psd)}
        options["turn"] = TURN if chosen.substeps else None
        options["extras"] = self._extras(chosen, sensors, "a", "r", "w", "v")
        self.filter = DqEkf.of(chosen.mass, np.array(chosen.r_g), np.array(chosen.J_com), **options, **common)
        self._chart(("dq_IB", "chi_B"), (POSE, vector(6)))

    def start_size(self, start: config.Start) -> int:
        """Return the size of pose and twist."""
        return 12

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first pose."""
        x, C = first_pose(first, start), pose_covariance(first, start)
        if self._chosen.restart_beyond is not None:
            q_IB, P_B, _, p_I = about_centre(*x, self.filter.M)
            self._prior = Prior(quaternion.rotate(q_IB, P_B), p_I, C, np.array(self._chosen.restart_beyond))
        return self.filter.start(x, C, *self._first_extras(start))

    def step(self, belief: Any, sample: Sample, h: Array, end: Measurement) -> Any:
        """Move under the known wrench, or freely."""
        return self.filter.predict(belief, None if sample is None else sample.z[:6], h)

    def slope(self, before: Any, after: Any, sample: Sample, h: Array, end: Measurement) -> Array:
        """Return F."""
        return self.filter.transition(before, before.C, None if sample is None else sample.z[:6], h)[1]

    def update(self, belief: Any, sensor: Any, measurement: Measurement, env: Any, gated: bool) -> tuple[Any, Any]:
        """Correct with a measurement; `restart_beyond` makes it do as a chaser's filter does."""
        if self._prior is None:
            return super().update(belief, sensor, measurement, env, gated)
        chaser = TargetNavigation(self.filter, {}, lambda x, M, h: x, 0.0, self._prior)
        return chaser.corrected(belief, sensor, Sighting(*measurement, env), gated)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return pose, twist, extra states and C."""
        return pose_columns(belief) | self._extra_columns(belief)
