"""What a filter can estimate beside attitude and rate: torques, a dipole, biases, the inertia.

Each is a parameter that is constant or wanders: white noise of power spectral density `walk` drives it. It says how it
acts, by one of five answers:

    steady_torque(value)              a torque that is constant in body axes, part of the step's input: de -> G de
    kick(q_IB, value, env)            a torque that depends on the attitude, felt as half a kick at both ends of a step
    inertia(value)                    a deviation of J, in kg m^2; `inertia_slope` may give its exact derivative
    is_bias_of(sensor)                added to what the sensor reads, by its `bias` keyword and `H_bias`
    is_tilt_of(sensor)                turns the vector that the sensor reads, by how it is mounted askew

A user's own state is a subclass with one of these answers.

The inertia among the states of a filter, with the exact derivative of the step.

J = J_nominal + dJ, dJ by six numbers, or by five that keep its trace: a free tumble without wheels or known torque is
the same for J and 2 J, so that only ratios can be seen. In one drift of QVI from a given momentum dJ w acts as a change
of the wheels' momentum does:

    dw = -(dP_k/dw)^-1 (s 1 + [phi]) dJ w,     da = h (s 1 + phi phi^T/s - [phi]) dw,     dP_{k+1} = [P_{k+1}] da

Drifts, kicks, stages and substeps are chained as the step itself is, D' = F D + D_stage. Source: QVI eqs. (37), (38).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, sized
from gnc.integrators.qvi import slope, solve, turn_slope
from gnc.linalg import array, block, cross, identity, inv3, skew, solve3, zeros
from gnc.models.parameters import each, store
from gnc.models.sensors import FineSunSensor, Magnetometer, UnitDirection, VectorSensor
from gnc.quaternion import conj, to_matrix

Array = Any


STEP = 1e-6  # of a difference
VECTORS = FineSunSensor, Magnetometer, UnitDirection, VectorSensor  # sensors that may be askew
SIX = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]  # rows and columns of xx, yy, zz, xy, xz, yz


class Kick(NamedTuple):
    """A torque that depends on the attitude, and its derivatives."""

    tau_B: Array  # (..., 3) [N m]
    T: Array  # (..., 3, 3) d tau / d a
    D: Array  # (..., 3, size) d tau / d value


@dataclass(frozen=True, eq=False, kw_only=True)
class ExtraState:
    """A state that acts on nothing; others say how they act."""

    name: str = "extra"
    size: int = 3
    walk: Array = 0.0  # (..., size) or a number: power spectral density of the random walk [unit^2/s]

    def __post_init__(self) -> None:
        store(self, walk=each("walk", self.walk, self.size, "non-negative"))

    def steady_torque(self, value: Array) -> Array | None:
        """Return the torque in body axes, if it is that: size 3, added as it is."""
        return None

    def kick(self, q_IB: Array, value: Array, env: Any) -> Kick | None:
        """Return the torque at an attitude, if it depends on it."""
        return None

    def inertia(self, value: Array) -> Array | None:
        """Return the deviation (..., 3, 3) of the inertia, if it is that."""
        return None

    def inertia_slope(self, value: Array) -> Array:
        """Return the derivative (..., 6, size) of xx, yy, zz, xy, xz, yz of that deviation; here by differences."""
        columns = []
        for i in range(self.size):
            step = STEP * np.maximum(1.0, np.abs(value[..., i]))
            away = step[..., None] * np.eye(self.size)[i]
            ends = [np.asarray(self.inertia(value + sign * away)) for sign in (1.0, -1.0)]
            columns.append(((ends[0] - ends[1]) / (2.0 * step[..., None, None]))[..., *SIX])
        return np.stack(np.broadcast_arrays(*columns), axis=-1)

    def is_bias_of(self, sensor: Any) -> bool:
        """Tell whether it is the bias of a sensor."""
        return False

    def is_tilt_of(self, sensor: Any) -> bool:
        """Tell whether it is the misalignment of a sensor."""
        return False

    def concerns(self, sensor: Any) -> bool:
        """Tell whether it is either."""
        return self.is_bias_of(sensor) or self.is_tilt_of(sensor)


@dataclass(frozen=True, eq=False, kw_only=True)
class SteadyTorque(ExtraState):
    """A torque that is constant in body axes [N m]."""

    name: str = "torque"

    def steady_torque(self, value: Array) -> Array:
        """Return the torque."""
        return value


@dataclass(frozen=True, eq=False, kw_only=True)
class ResidualDipole(ExtraState):
    """A magnetic dipole of the body [A m^2], tau = m x R^T B_I; the field is that of the `env` given to `predict`."""

    name: str = "dipole"

    def kick(self, q_IB: Array, value: Array, env: Any) -> Kick:
        """Return the torque, T = [m] [b], D = -[b]."""
        return Kick(*_dipole_torque(q_IB, value, env.B_I))


@dataclass(frozen=True, eq=False, kw_only=True)
class SensorBias(ExtraState):
    """The bias of a sensor, in its units; `of` is the sensor itself, or its class if there is one of that class."""

    name: str = "bias"
    of: Any = None

    def is_bias_of(self, sensor: Any) -> bool:
        """Tell whether this sensor is meant."""
        return isinstance(sensor, self.of) if isinstance(self.of, type) else sensor is self.of

    @property
    def sigma(self) -> Array:
        """What is believed of it before the flight, each number."""
        return self.of.bias_sigma


@dataclass(frozen=True, eq=False, kw_only=True)
class SensorTilt(SensorBias):
    """How a sensor of a vector is mounted askew, a rotation vector in sensor axes [rad].

    Six numbers more tell by what symmetric matrix, xx, yy, zz, xy, xz, yz, a magnetometer is uneven.
    """

    def is_bias_of(self, sensor: Any) -> bool:
        """It turns a vector, and adds nothing."""
        return False

    def is_tilt_of(self, sensor: Any) -> bool:
        """Tell whether this sensor is meant."""
        return sensor is self.of

    @property
    def sigma(self) -> Array:
        """What is believed of it before the flight."""
        tilt = np.broadcast_to(self.of.askew, 3)
        return tilt if self.size == 3 else np.concatenate([tilt, self.of.uneven])


def sensor_biases(sensors: Mapping[str, Any]) -> list[SensorBias]:
    """Return states of the sensors that are believed to have a bias, at the start or wandering, or to be askew."""
    found: list[SensorBias] = []
    for name, sensor in sensors.items():
        walk = getattr(sensor, "bias_walk", 0.0)
        if np.any(getattr(sensor, "bias_sigma", 0.0)) or np.any(walk):
            found.append(SensorBias(name=name, size=sensor.bias_size, of=sensor, walk=walk**2))
        uneven = np.any(getattr(sensor, "uneven", 0.0))
        if isinstance(sensor, VECTORS) and (uneven or np.any(sensor.askew)):
            found.append(SensorTilt(name=f"{name} tilt", size=9 if uneven else 3, of=sensor))
    return found


@batched("(4),(3),(3)->(3),(3,3),(3,3)")
def _dipole_torque(q_IB, m_B, B_I):
    """Return m x b and its derivatives; turning the body by a changes b = R^T B_I by b x a."""
    b_B = quaternion.inverse_rotate(q_IB, B_I)
    return cross(m_B, b_B), skew(m_B) @ skew(b_B), -skew(b_B)


FORMS = {  # xx, yy, zz, xy, xz, yz of dJ from the numbers of each form
    "full": np.eye(6),
    "ratios": np.array(
        [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [-1, -1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]], float
    ),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Inertia(ExtraState):
    """Deviation of the inertia from the filter's J [kg m^2]: xx, yy, zz, xy, xz, yz; in ratios zz is -(xx + yy)."""

    name: str = "inertia"
    form: str = "full"

    def __post_init__(self) -> None:
        """Validate once; the size follows from the form."""
        check.one_of("form", self.form, tuple(FORMS))
        store(self, size=FORMS[self.form].shape[1])
        super().__post_init__()

    def inertia(self, value: Array) -> Array:
        """Return dJ."""
        return _deviation(self.form)(value)

    def inertia_slope(self, value: Array) -> Array:
        """Return the derivative of the six numbers of dJ."""
        return FORMS[self.form]


@sized(lambda form: f"({FORMS[form].shape[1]})->(3,3)")
def _deviation(value, *, form):
    """Return dJ of its numbers."""
    xx, yy, zz, xy, xz, yz = array(FORMS[form].tolist()) @ value
    return array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def change(w, form):
    """Return N with dJ w = N value."""
    x, y, z = w
    return array([[x, 0.0, 0.0, y, z, 0.0], [0.0, y, 0.0, x, 0.0, z], [0.0, 0.0, z, 0.0, x, y]]) @ array(
        FORMS[form].tolist()
    )


@sized(lambda form: f"(3)->(3,{FORMS[form].shape[1]})")
def momentum_slope(w_B, *, form):
    """Return the kernel w_B -> N, the derivative of J w with respect to the numbers of the form."""
    return change(w_B, form)


def _stage(P_B, D, tau_B, J, rho_B, h, form):
    """Return momentum and D after half a kick, a drift and half a kick."""
    P_B = P_B + (0.5 * h) * tau_B
    phi, s, v = solve(P_B, J, rho_B, h)
    P_next = P_B - 2.0 * cross(phi, v)
    C = to_matrix(conj(array([s, *phi])))
    B = turn_slope(phi, s) @ (h * inv3(slope(phi, s, v, J, h)))
    A = -B @ (s * identity(3) + skew(phi)) @ change(solve3(J, v - rho_B), form)
    F = block([[C, B], [zeros(3, 3), C + skew(P_next) @ B]])
    return P_next + (0.5 * h) * tau_B, F @ D + np.concatenate([A, skew(P_next) @ A])


@sized(lambda stages, form: f"(3),(6,{FORMS[form].shape[1]}),(3),(3,3),(3),()->(3),(6,{FORMS[form].shape[1]})")
def sensitivity(P_B, D, tau_B, J, rho_B, h, *, stages, form):
    """Return the kernel P, D, tau, J, rho, h -> P, D of a composed step, D = d(a, dP)/d value; made to be repeated."""
    for c in stages:
        P_B, D = _stage(P_B, D, tau_B, J, rho_B, c * h, form)
    return P_B, D
