"""The truth of a satellite that turns: body, wheels, magnetic torquers and what disturbs it, with its books kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import batched, recording
from gnc.events import chosen
from gnc.integrators import attitude_method
from gnc.models import rates
from gnc.models.actuators import Magnetorquers, ReactionWheels, WheelState
from gnc.models.environment import Drag, box
from gnc.models.environment.disturbances import dipole_torque
from gnc.models.parameters import store
from gnc.scenarios.attitude.satellite_kernels import external_torque, whole_step

Array = Any
NONE = np.zeros(3)


class SatelliteState(NamedTuple):
    """Attitude and total momentum; w_B is kept beside them for those who look."""

    q_IB: Array  # (trials, 4)
    P_B: Array  # (trials, 3) J w + rho [kg m^2/s]
    w_B: Array  # (trials, 3) [rad/s]
    wheels: Array  # (trials, n) momentum of each [N m s]
    tau_B: Array  # (trials, 3) torque of the environment at this moment, without the torquers' [N m]
    impulse_I: Array  # (trials, 3) of all external torques since the start, the torquers' included [N m s]


class Command(NamedTuple):
    """What flight software asks of the actuators."""

    wheels: Array  # (trials, n) torque of each on the body [N m]
    dipole_B: Array = NONE  # (trials, 3) [A m^2]


class Report(NamedTuple):
    """What the actuators tell."""

    wheels: Array  # (trials, n) momentum of each [N m s]
    rho_B: Array  # (trials, 3) of all [N m s]


@dataclass(frozen=True, eq=False)
class External:
    """What the environment does to a satellite: residual dipole, gravity gradient, drag on a box."""

    dipole_B: Array  # (..., 3) [A m^2]
    gravity: bool
    drag: Drag | None

    @property
    def parameters(self) -> tuple[Array, ...]:
        """What `external_torque` takes after J: dipole, gravity, and the plates."""
        plates = box((1.0, 1.0, 1.0)).parts if self.drag is None else self.drag.plates.parts
        return np.asarray(self.dipole_B), np.array(float(self.gravity)), *plates


@dataclass(frozen=True, eq=False)
class Satellite:
    """Half a kick by the external torques, a drift with the wheels at work, half a kick.

    The drift turns the body and leaves the inertial momentum as it is, so the books close to rounding:
    R P - R_0 P_0 = sum of R tau h/2 at both ends of every step. A step is one kernel, unless a trial turns so fast that
    it needs substeps.
    """

    J: Array  # (..., 3, 3) of body and wheels [kg m^2]
    sky: Any  # with at(t); of none if nothing disturbs
    external: External | None
    wheels: ReactionWheels | None = None
    torquers: Magnetorquers | None = None
    method: str = "taylor10"  # exact to round-off, and none of those that the filters use
    _like: tuple[Array, ...] = field(init=False, repr=False)
    _drag: Array = field(init=False, repr=False)  # C/2
    _wheels: tuple[Array, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Gather what every step needs."""
        external, wheels = self.external, self.wheels
        store(self, _like=() if external is None else (np.asarray(self.J), *external.parameters))
        drag = None if external is None else external.drag
        store(self, _drag=0.0 if drag is None else 0.5 * drag.coefficient * drag.density_factor)
        limits = () if wheels is None else (wheels.torque_limit, wheels.momentum_limit, wheels.viscous, wheels.coulomb)
        store(self, _wheels=() if wheels is None else (wheels.axes_B, *limits))

    def start(self, q_IB: Array, w_B: Array, wheels: Array) -> SatelliteState:
        """Return the state at time zero, before any command."""
        rho_B = self._rho(wheels)
        P_B = rates.to_momentum(w_B, self.J, rho_B)
        tau_B = self.disturbance(q_IB, 0.0)
        return SatelliteState(q_IB, P_B, rates.to_rate(P_B, self.J, rho_B), wheels, tau_B, np.zeros_like(P_B))

    def disturbance(self, q_IB: Array, t: float) -> Array:
        """Return the torque of the environment at an attitude and time [N m]."""
        if self.external is None:
            return np.zeros((*np.shape(q_IB)[:-1], 3))
        return external_torque(q_IB, *self._around(t), *self._like)

    def step(self, x: SatelliteState, command: Command, t: float, h: float) -> SatelliteState:
        """Move over h; the torquers switch at once, so their torque at the start is that of the new command."""
        m_B = NONE if self.torquers is None else self.torquers.dipole_B(command.dipole_B)
        if self.external is None or self.wheels is None or recording():
            return self._step_by_step(x, command, m_B, t, h)
        kernel = whole_step(self.method, self.wheels.count, self.wheels.saturation)
        q_IB, P_B, w_B, wheels, tau_B, impulse_I = kernel(
            x.q_IB, x.P_B, x.wheels, x.tau_B, x.impulse_I, command.wheels, m_B, self.sky.at(t).B_I,
            *self._around(t + h), *self._like, *self._wheels, h,
        )  # fmt: skip
        moved = SatelliteState(q_IB, P_B, w_B, wheels, tau_B, impulse_I)
        if not np.isnan(w_B[..., 0]).any():
            return moved
        fast = np.isnan(w_B[..., 0]) & ~np.isnan(x.w_B[..., 0])
        return chosen(fast, self._step_by_step(x, command, m_B, t, h), moved) if fast.any() else moved

    def _step_by_step(self, x: SatelliteState, command: Command, m_B: Array, t: float, h: float) -> SatelliteState:
        """Do the same with as many substeps as each trial needs."""
        before, wheels = self._rho(x.wheels), x.wheels
        if self.wheels is not None:
            wheels = self.wheels.apply(command.wheels, WheelState(x.wheels), h)[1].momentum
        after = self._rho(wheels)
        start = x.tau_B + self._magnetic(x.q_IB, m_B, t)
        P_B = rates.kick(x.P_B, start, h)
        q_IB, P_B = attitude_method(self.method).advance(1, x.q_IB, P_B, NONE, self.J, 0.5 * (before + after), h)
        tau_B = self.disturbance(q_IB, t + h)
        end = tau_B + self._magnetic(q_IB, m_B, t + h)
        P_B = rates.kick(P_B, end, h)
        impulse_I = _impulse(x.impulse_I, x.q_IB, start, q_IB, end, h)
        return SatelliteState(q_IB, P_B, rates.to_rate(P_B, self.J, after), wheels, tau_B, impulse_I)

    def report(self, x: SatelliteState) -> Report:
        """Return the wheels' momentum, by their tachometers."""
        return Report(x.wheels, self._rho(x.wheels))

    def _around(self, t: float) -> tuple[Array, ...]:
        """Return position, field, velocity in the air, and rho C/2."""
        env = self.sky.at(t)
        return env.r_I, env.B_I, env.air_I, self._drag * env.density

    def _magnetic(self, q_IB: Array, m_B: Array, t: float) -> Array:
        """Return the torque of the torquers."""
        return NONE if self.torquers is None else dipole_torque(q_IB, self.sky.at(t).B_I, m_B)

    def _rho(self, wheels: Array) -> Array:
        return np.zeros((*wheels.shape[:-1], 3)) if self.wheels is None else self.wheels.momentum_B(WheelState(wheels))


@batched("(3),(4),(3),(4),(3),()->(3)")
def _impulse(impulse_I, q_start, start_B, q_end, end_B, h):
    """Return the impulse with that of one step added."""
    return impulse_I + (0.5 * h) * (quaternion.rotate(q_start, start_B) + quaternion.rotate(q_end, end_B))
