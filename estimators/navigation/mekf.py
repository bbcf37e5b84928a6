"""The MEKF on the dynamics as a part of a mission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.config import NonNegative
from gnc.estimators.extra_states import ExtraState, Inertia, ResidualDipole, SensorBias, sensor_biases
from gnc.estimators.mekf import Mekf
from gnc.estimators.navigation import model_error
from gnc.estimators.navigation.attitude import SLIGHT, AttitudeKnowledge, diagonal, started
from gnc.estimators.navigation.base import Navigation, NavigationPart
from gnc.estimators.standard_mekf import StandardMekf
from gnc.models.known import Known
from gnc.models.sensors import StarTracker

Percent = Annotated[float, Field(ge=0, le=50)]
Probability = Annotated[float, Field(gt=0.5, le=1)]


class DynamicFilterPart(NavigationPart):
    """What filters on the dynamics have in common."""

    torque_psd_Nm2s: NonNegative | None = None
    """Power spectral density of the torque it does not know [N^2 m^2 s]; by default that which does as much as the
    loads of the craft and the error of its inertia, and 3.1e-12 rad^2/s^3 times the square of the mean moment of
    inertia, with a star tracker 3.1e-10: an optimistic model would shut that out; and for thrusters and torquers the
    square of 2 % of their torque, over a control interval."""
    gate_probability: Probability = 0.999
    """With which a good measurement passes; 1 lets all in."""
    ungated_s: NonNegative = 120.0
    """All measurements are let in until then, while the rate is acquired."""
    start: AttitudeKnowledge = AttitudeKnowledge()

    def torque_psd(self, known: Known, start: Any, reference: Any, estimated: Sequence[str] = ()) -> Any:
        """Return the density that is stated, or one that suits loads, inertia and sensors; some may be `estimated`."""
        if self.torque_psd_Nm2s is not None:
            return self.torque_psd_Nm2s
        precise = any(isinstance(sensor, StarTracker) for sensor in known.sensors.values())
        square = np.asarray(known.nominal.mean_moment)[..., None, None] ** 2
        floor = (3.1e-10 if precise else 3.1e-12) * square * np.eye(3)
        return floor + known.push_psd[:3, :3] + model_error.torque_psd(known, start, reference, estimated)

    def slewing(self, known: Known) -> Any:
        """Return what a slew adds by an inertia that is off, unless a density is stated."""
        return model_error.slewing(known) if self.torque_psd_Nm2s is None else None


class MekfPart(DynamicFilterPart):
    """A multiplicative EKF on the dynamics; biases of sensors are states, known as well as their sections say."""

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
            sigmas += [0.01 * self.inertia_sigma_percent * known.nominal.mean_moment] * Inertia(form="ratios").size
        for bias in sensor_biases(known.sensors):
            extras.append(bias)
            sigmas += list(np.broadcast_to(bias.sigma, bias.size))
        estimated = [extra.name for extra in extras if not isinstance(extra, SensorBias)]
        psd = self.torque_psd(known, start, reference, estimated)
        noise: dict[str, Any] = {"torque_psd": psd, "gate_probability": self.gate_probability}
        filter_ = Mekf(known.J, self.method, extras=tuple(extras), substeps=self.substeps, chart=self.chart, **noise)
        given, more = (known, start, truth, reference), {"C_extras": diagonal(sigmas, least=SLIGHT)}
        slewing = None if "inertia" in estimated else self.slewing(known)
        return started(filter_, self.start, given, more, ungated_s=self.ungated_s, slewing=slewing)


class StandardMekfPart(DynamicFilterPart):
    """A MEKF as it is usually written, for comparison: linearised rates, one step between two events."""

    kind: Literal["standard-mekf"] = "standard-mekf"
    linearisation: Literal["euler", "midpoint"] = "midpoint"

    def build(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return the filter in the loop and what it believes at time zero."""
        psd = self.torque_psd(known, start, reference)
        noise: dict[str, Any] = {"torque_psd": psd, "gate_probability": self.gate_probability}
        filter_ = StandardMekf(known.J, linearisation=self.linearisation, **noise)
        how = {"ungated_s": self.ungated_s, "slewing": self.slewing(known)}
        return started(filter_, self.start, (known, start, truth, reference), {}, **how)
