"""The loop of Basilisk's example `scenarioAttitudeFeedback` in ours: a rigid body, MRP feedback, perfect navigation.

    tau = -K sigma - P w,     sigma the modified Rodrigues parameters of the attitude

at every step of 0.1 s. `with_filter` flies the same on a MEKF with magnetometer and sun sensor, both at every step. The
method is that of body and filter; "default" is what missions take: taylor10, and the filter's own choice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnc import noise, quaternion
from gnc.batch import batched, where
from gnc.estimators.mekf import Mekf
from gnc.loop import Controller, Instrument, Loop
from gnc.models.environment import Environment
from gnc.models.rigid_body import RigidBody
from gnc.models.sensors import FineSunSensor, Magnetometer
from gnc.models.states import AttitudeState
from gnc.typing import Array

J = np.diag([900.0, 800.0, 600.0])  # [kg m^2]
K, P = np.array(3.5), np.array(30.0)  # [N m], [N m s]
SIGMA_0, W_0 = np.array([0.1, 0.2, -0.3]), np.array([0.001, -0.01, 0.03])  # attitude, rate [rad/s]
H_S, DURATION_S = 0.1, 600.0
STEPS = round(DURATION_S / H_S)
SENSOR_DEG = 0.1
START_DEG, START_DEG_S = 1.0, 0.1  # how well the filter knows the start; a batch is dispersed by as much
ENV = Environment(
    r_I=np.array([7e6, 0.0, 0.0]),
    v_I=np.array([0.0, 7.5e3, 0.0]),
    B_I=np.array([2e-5, 0.0, 3e-5]),
    sun_I=np.array([0.0, 1.0, 0.0]),
    shadow=np.array(0.0),
)


@batched("(4),(3),(),()->(3)")
def mrp_feedback(q_IB, w_B, K, P):
    """Return -K sigma - P w, with the shorter of the two sigma."""
    near = where(q_IB[0] < 0.0, -1.0, 1.0)
    return -(K * near / (1.0 + near * q_IB[0])) * q_IB[1:] - P * w_B


@dataclass(frozen=True)
class Vehicle:
    """The body as the loop's plant."""

    body: RigidBody

    def step(self, x: AttitudeState, tau_B: Array, t: float, h: float) -> AttitudeState:
        """Move under the commanded torque."""
        return self.body.step(x, tau_B, h)

    def report(self, x: AttitudeState) -> None:
        """Tell nothing: there are no wheels."""


class PerfectNavigation:
    """A belief that is the truth, as it was measured."""

    def predict(self, belief: AttitudeState, command: Array, report: None, t: float, h: float) -> AttitudeState:
        """Wait for the measurement."""
        return belief

    def update(self, belief: AttitudeState, name: str, measurement: AttitudeState, t: float) -> tuple[Any, None]:
        """Believe it."""
        return measurement, None


@dataclass(frozen=True)
class FilterNavigation:
    """The MEKF, which knows the commanded torque."""

    mekf: Mekf
    sensors: dict[str, Any]

    def predict(self, belief: Any, command: Array, report: None, t: float, h: float) -> Any:
        """Move over h."""
        return self.mekf.predict(belief, command, h)

    def update(self, belief: Any, name: str, measurement: Any, t: float) -> tuple[Any, Any]:
        """Correct."""
        return self.mekf.update(belief, self.sensors[name], measurement, ENV)


@dataclass(frozen=True)
class Feedback:
    """The law; `read` takes attitude and rate from a belief."""

    read: Any

    def command(self, belief: Any, report: None, t: float, memory: None) -> tuple[Array, None]:
        """Return the torque [N m]."""
        x = self.read(belief)
        return mrp_feedback(x.q_IB, x.w_B, K, P), memory


@dataclass(frozen=True)
class PlainFeedback(Feedback):
    """The same law as a user may write it, with a limit that is not reached: NumPy's norm makes Python call it."""

    limit_Nm: float = 1e3

    def command(self, belief: Any, report: None, t: float, memory: None) -> tuple[Array, None]:
        """Return the torque [N m]."""
        x = self.read(belief)
        torque = -K * x.q_IB[..., 1:] / (1.0 + x.q_IB[..., :1]) - P * x.w_B
        size = np.linalg.norm(torque, axis=-1, keepdims=True)
        return torque / np.maximum(size / self.limit_Nm, 1.0), memory


@dataclass(frozen=True)
class Ready:
    """A loop with its start."""

    loop: Loop
    truth: AttitudeState
    belief: Any

    def fly(self) -> AttitudeState:
        """Return where it ends."""
        flown = self.loop.fly(self.truth, self.belief, None)
        assert not flown.uncompiled, flown.uncompiled
        return flown.truth


def start(trials: int) -> AttitudeState:
    """Return the start of the example, dispersed over a batch; one trial is the example's."""
    s2 = SIGMA_0 @ SIGMA_0
    q_IB = np.array([1.0 - s2, *(2.0 * SIGMA_0)]) / (1.0 + s2)
    if trials == 1:
        return AttitudeState(q_IB[None], W_0[None])
    angle, rate = (noise.normal(0, trials, name, 3) for name in ("attitude", "rate"))
    q_IB = quaternion.mul(q_IB, quaternion.exp(np.radians(START_DEG) * angle))
    return AttitudeState(q_IB, W_0 + np.radians(START_DEG_S) * rate)


def perfect(trials: int, duration_s: float = DURATION_S, method: str = "vi4", compiled: bool = True) -> Ready:
    """Return the loop of the example."""
    x = start(trials)
    known = Instrument("state", H_S, lambda truth, t, noise: truth)
    loop = _loop([known], PerfectNavigation(), lambda belief: belief, trials, duration_s, method)
    return Ready(replace(loop, compiled=compiled), x, x)


def with_filter(trials: int, duration_s: float = DURATION_S, method: str = "vi4", compiled: bool = True) -> Ready:
    """Return the loop with the MEKF, which begins at the nominal start."""
    mekf = Mekf(J) if method == "default" else Mekf(J, method=method)
    sensors = {
        "magnetometer": Magnetometer(rate_hz=1.0 / H_S, sigma_deg=SENSOR_DEG),
        "sun_sensor": FineSunSensor(rate_hz=1.0 / H_S, sigma_deg=SENSOR_DEG),
    }
    instruments = [_instrument(name, sensor, trials) for name, sensor in sensors.items()]
    x, nominal = start(trials), AttitudeState(*(np.repeat(a, trials, axis=0) for a in start(1)))
    C = np.diag(np.radians([START_DEG] * 3 + [START_DEG_S] * 3) ** 2)
    loop = _loop(instruments, FilterNavigation(mekf, sensors), mekf.state, trials, duration_s, method)
    return Ready(replace(loop, compiled=compiled), x, mekf.start(nominal, C))


def _instrument(name: str, sensor: Any, trials: int) -> Instrument:
    numbers = noise.Stream(0, trials, name, sensor.noise_size)
    return Instrument(name, H_S, lambda truth, t, noise: sensor.measure(truth, ENV, noise), numbers)


def _loop(
    instruments: list[Instrument], navigation: Any, read: Any, trials: int, duration_s: float, method: str
) -> Loop:
    controller = Controller(Feedback(read), H_S, np.zeros((trials, 3)))
    body = RigidBody(J, "taylor10" if method == "default" else method)
    return Loop(H_S, duration_s, Vehicle(body), instruments, navigation, controller)
