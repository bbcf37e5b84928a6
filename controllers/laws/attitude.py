"""Laws that follow an attitude, or stop a body, or do nothing, as parts of a mission."""

import math
from typing import Any, ClassVar, Literal

import numpy as np

from gnc.batch import batched
from gnc.config import Positive
from gnc.config.schema import Gains
from gnc.controllers.attitude import AttitudeController, AttitudePid, SlidingMode
from gnc.controllers.bdot import Bdot, BdotMemory
from gnc.controllers.laws.base import Demand, Law, LawPart
from gnc.controllers.regulator import AttitudeRegulator
from gnc.errors import InputError
from gnc.models.actuators.reaction_wheels import WheelSet
from gnc.models.environment.constants import EARTH_MU
from gnc.models.known import Known
from gnc.models.rigid_body import RigidBody
from gnc.models.sensors import Magnetometer
from gnc.models.states import AttitudeState
from gnc.typing import Array


class PdPart(LawPart):
    """PD+ attitude tracking."""

    kind: Literal["pd"] = "pd"
    frequency_rad_s: Positive | None = None
    """Natural frequency of a small error; by default the lesser of 0.1 and 0.3 per control interval."""
    damping: Positive = 0.8

    def build(self, known: Known) -> AttitudeController:
        """Return the law."""
        frequency = min(0.1, 0.3 / known.control_s) if self.frequency_rad_s is None else self.frequency_rad_s
        return AttitudeController.tuned(known.J, frequency, self.damping)


class PidPart(PdPart):
    """PD+ attitude tracking with an integral and no wind-up: constant torques leave no error."""

    kind: Literal["pid"] = "pid"  # type: ignore[assignment]
    integral_s: Positive = 100.0
    """Time constant by which the integral takes over."""
    limit_Nm: Positive | None = None
    """Torque of an axis beyond which nothing is integrated; by default that of a wheel, none without wheels."""

    def build(self, known: Known) -> AttitudePid:  # type: ignore[override]
        """Return the law."""
        pd = super().build(known)
        wheels = [np.min(one.wheels.torque_limit) for one in known.effectors.values() if isinstance(one, WheelSet)]
        limit = self.limit_Nm if self.limit_Nm is not None else min(wheels, default=np.inf)
        return AttitudePid(pd=pd, Ki=pd.Kp / self.integral_s, limit=limit, period_s=known.control_s)


class LqrPart(LawPart):
    """A discrete LQR on the exact Jacobian of the integrator's step at rest, or with gains of `gnc design lqr`."""

    kind: Literal["lqr"] = "lqr"
    attitude_deg: Positive = 1.0
    """An attitude error that costs as much as the rate and the torque below."""
    rate_deg_s: Positive = 0.05
    """A rate error that costs as much."""
    torque_Nm: Positive = 1e-3
    """A torque that costs as much."""
    K: Gains | None = None
    """Gains from (a, w - w_R) to the torque, in place of a design [N m/rad, N m s/rad]."""

    def build(self, known: Known) -> AttitudeRegulator:
        """Return the law; every trial has its own design where the believed inertia is dispersed."""
        J = np.asarray(known.J)
        if self.K is not None:
            return AttitudeRegulator(K=np.array(self.K), J=J)
        from gnc.controllers.lqr import lqr  # here: python-control takes a second to load

        angle, rate = np.radians(self.attitude_deg), np.radians(self.rate_deg_s)
        Q, R = np.repeat([angle**-2, rate**-2], 3), np.full(3, self.torque_Nm**-2)
        rest = AttitudeState(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
        gains = [lqr(RigidBody(one), rest, np.zeros(3), known.control_s, Q, R).K for one in J.reshape(-1, 3, 3)]
        return AttitudeRegulator(K=np.reshape(gains, (*J.shape[:-2], 3, 6)), J=J)


class SlidingModePart(LawPart):
    """Attitude tracking by sliding mode with a boundary layer: bounded torques that nobody knows do little."""

    kind: Literal["sliding-mode"] = "sliding-mode"
    slope_per_s: Positive | None = None
    """Rate per half angle on the surface; by default the lesser of 0.1 and 0.2 per control interval."""
    reach_deg_s2: Positive = 0.05
    """Acceleration towards the surface: more than what disturbs, less than what actuators make."""
    layer_deg_s: Positive = 0.5
    """Of s = w + slope e, within which the push is proportional; reach/layer times the interval is well below 1."""

    def build(self, known: Known) -> SlidingMode:
        """Return the law."""
        slope = min(0.1, 0.2 / known.control_s) if self.slope_per_s is None else self.slope_per_s
        reach, layer = np.radians(self.reach_deg_s2), np.radians(self.layer_deg_s)
        return SlidingMode(J=known.J, slope=slope, reach=reach, layer=layer)


class RateDamping(Law):
    """tau = -J w / time, which stops a body wherever it points."""

    def __init__(self, J: Array, time_s: float) -> None:
        self._J, self._time_s = np.asarray(J), time_s

    def command(self, estimate: Any, reference: Any, memory: Any) -> tuple[Array, Any]:
        """Return the torque."""
        return _damped(estimate.w_B, self._J, self._time_s), memory


@batched("(3),(3,3),()->(3)")
def _damped(w_B, J, time_s):
    """Return the torque against a rate."""
    return -(J @ w_B) / time_s


class RateDampingPart(LawPart):
    """Stops the body wherever it points, by the believed rate alone; needs no guidance."""

    kind: Literal["rate-damping"] = "rate-damping"
    guided: ClassVar[bool] = False
    time_s: Positive = 20.0
    """In which the rate falls to 1/e."""

    def build(self, known: Known) -> RateDamping:
        """Return the law."""
        return RateDamping(known.J, max(self.time_s, 2.0 * known.control_s))


class Coast(Law):
    """A law that asks for nothing."""

    def command(self, estimate: Any, reference: Any, memory: Any) -> tuple[Array, Any]:
        """Return no torque."""
        return np.zeros(np.shape(estimate.w_B)), memory


class NonePart(LawPart):
    """No control: the craft drifts."""

    kind: Literal["none"] = "none"
    guided: ClassVar[bool] = False

    def build(self, known: Known) -> Coast:
        """Return the law."""
        return Coast()


class FieldLaw:
    """B-dot on the field as last measured."""

    def __init__(self, bdot: Bdot, period_s: float) -> None:
        self._bdot, self._period_s = bdot, period_s

    def start(self, leading_shape: tuple[int, ...]) -> BdotMemory:
        """Return the memory before the first measurement."""
        return self._bdot.start(leading_shape)

    def command(self, estimate: Any, reference: Any, memory: BdotMemory) -> tuple[Array, BdotMemory]:
        """Return the dipole."""
        return self._bdot.command(estimate.B_B, memory, self._period_s)


class BdotPart(LawPart):
    """B-dot, which stops a tumble with torquers and a magnetometer alone."""

    kind: Literal["b-dot"] = "b-dot"
    demand: ClassVar[Demand] = "dipole"
    guided: ClassVar[bool] = False
    gain_Nms: Positive | None = None
    """By default 2 n (1 + sin i) J_min, n of a circular orbit at the start: Avanzini, Giulietti 2012."""

    def build(self, known: Known) -> FieldLaw:
        """Return the law."""
        rates = [sensor.rate_hz for sensor in known.sensors.values() if isinstance(sensor, Magnetometer)]
        if not rates or not math.isclose(rates[0] * known.control_s, 1.0):
            there = f"a magnetometer at {rates[0]:g} Hz" if rates else "none"
            needed = f"software.{known.craft}.rate_hz, {1.0 / known.control_s:g} Hz"
            raise InputError(f"law = 'b-dot': needs a magnetometer at the rate of commands, {needed}; there is {there}")
        if self.gain_Nms is not None:
            return FieldLaw(Bdot(gain=self.gain_Nms), known.control_s)
        r, v = known.sky.at(0.0).r_I, known.sky.at(0.0).v_I
        if not np.any(r):
            raise InputError("b-dot: there is no field in free space; give an orbit")
        normal = np.cross(r, v)
        rate, inclination = np.sqrt(EARTH_MU / np.linalg.norm(r) ** 3), np.arccos(normal[2] / np.linalg.norm(normal))
        return FieldLaw(Bdot.tuned(known.J, rate, inclination), known.control_s)
