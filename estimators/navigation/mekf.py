"""The MEKF on the dynamics as a part of a mission."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.config import NonNegative
from gnc.estimators.extra_states import ExtraState, ResidualDipole
from gnc.estimators.inertia_states import Inertia
from gnc.estimators.mekf import Mekf
from gnc.estimators.navigation.attitude import AttitudeKnowledge, diagonal, started
from gnc.estimators.navigation.base import Navigation, NavigationPart
from gnc.estimators.standard_mekf import StandardMekf
from gnc.models.known import Known
from gnc.models.sensors import StarTracker

Percent = Annotated[float, Field(ge=0, le=50)]
Probability = Annotated[float, Field(gt=0.5, le=1)]


class DynamicFilterPart(NavigationPart):
    """What filters on the dynamics have in common."""

    torque_psd_Nm2s: NonNegative | None = None
    """Power spectral density of the torque it does not know [N^2 m^2 s]; by default 1e-13, with a star tracker
    1e-11: beside so precise a sensor an optimistic model would shut it out."""
    gate_probability: Probability = 0.999
    """With which a good measurement passes; 1 lets all in."""
    ungated_s: NonNegative = 120.0
    """All measurements are let in until then, while the rate is acquired."""
    start: AttitudeKnowledge = AttitudeKnowledge()

    def torque_psd(self, known: Known) -> Any:
        """Return the density that is stated, or one that suits the sensors."""
        if self.torque_psd_Nm2s is not None:
            return self.torque_psd_Nm2s
        return 1e-11 if any(isinstance(sensor, StarTracker) for sensor in known.sensors.values()) else 1e-13


class MekfPart(DynamicFilterPart):
    """A multiplicative EKF on the dynamics."""

    kind: Literal["mekf"] = "mekf"
    method: Literal["auto", "vi2", "vi4", "taylor", "rk4", "exact"] = "auto"
    """What moves the mean and gives the covariance its exact Jacobian; auto: the exact motion, by the covariance."""
    chart: Literal["usual", "conserved"] = "usual"
    """conserved: corrections keep the constants of the motion linear, see docs/conserved_chart.md."""
    substeps: bool = True
    """False: one step of the method between two events, however far it turns."""
    dipole_sigma_Am2: NonNegative = 0.0
    """One sigma of the residual dipole before the flight; 0: the filter estimates none."""
    dipole_walk: NonNegative = 0.0
    """Power spectral density by which the dipole wanders [A^2 m^4/s]."""
    inertia_sigma_percent: Percent = 0.0
    """One sigma of the inertia's ratios before the flight; 0: the filter estimates none."""

    def build(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return the filter in the loop and what it believes at time zero."""
        extras: list[ExtraState] = []
        sigmas: list[Any] = []
        if np.any(np.asarray(self.dipole_sigma_Am2) > 0.0):
            extras.append(ResidualDipole(walk=self.dipole_walk))
            sigmas += [self.dipole_sigma_Am2] * 3
        if np.any(np.asarray(self.inertia_sigma_percent) > 0.0):
            extras.append(Inertia(form="ratios"))
            mean = np.trace(known.J, axis1=-2, axis2=-1) / 3.0
            sigmas += [0.01 * self.inertia_sigma_percent * mean] * Inertia(form="ratios").size
        noise: dict[str, Any] = {"torque_psd": self.torque_psd(known), "gate_probability": self.gate_probability}
        filter_ = Mekf(known.J, self.method, extras=tuple(extras), substeps=self.substeps, chart=self.chart, **noise)
        given, more = (known, start, truth, reference), {"C_extras": diagonal(sigmas)}
        return started(filter_, self.start, given, more, ungated_s=self.ungated_s)


class StandardMekfPart(DynamicFilterPart):
    """A MEKF as it is usually written, for comparison: linearised rates, one step between two events."""

    kind: Literal["standard-mekf"] = "standard-mekf"
    linearisation: Literal["euler", "midpoint"] = "midpoint"

    def build(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return the filter in the loop and what it believes at time zero."""
        noise: dict[str, Any] = {"torque_psd": self.torque_psd(known), "gate_probability": self.gate_probability}
        filter_ = StandardMekf(known.J, linearisation=self.linearisation, **noise)
        return started(filter_, self.start, (known, start, truth, reference), {}, ungated_s=self.ungated_s)
