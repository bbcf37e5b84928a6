"""What flight software knows when it is built: nominal craft, sensors and actuators, environment, docking ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.linalg import cross
from gnc.models.actuators.effector import Effector
from gnc.models.craft.base import Nominal, Report
from gnc.models.environment.disturbances import Disturbance
from gnc.models.loads.base import load_wrench
from gnc.typing import Array

UNSURE = 0.02  # of thrust, and of mass and inertia under it: what is usual before a flight


@dataclass(frozen=True, eq=False)
class Known:
    """The knowledge of the flight software of one craft."""

    craft: str
    nominal: Nominal  # of that craft
    sensors: Mapping[str, Any]  # as believed
    effectors: Mapping[str, Effector]  # as believed
    loads: Sequence[Disturbance]  # those that are known
    sky: Any  # with at(t)
    h: float  # step of the truth [s]
    control_s: float  # time between commands
    draws: Draws  # for what is not known at the start
    others: Mapping[str, Nominal] = field(default_factory=dict)  # other craft, as believed
    events: Mapping[str, Any] = field(default_factory=dict)  # sections of what is to happen, as believed
    unsure: Mapping[str, Array] = field(default_factory=dict)  # kind of load -> sigma (3) of what is unknown [N m]
    J_error_percent: float = 0.0  # by how much the true moments and axes are off, one sigma
    coasts: bool = False  # whether nothing turns the craft: no mode has guidance or a law
    planned: Sequence[Callable[[Any], Array]] = ()  # time -> (6) what motions that guidance plans do to the body

    @property
    def trials(self) -> int:
        """How many trials fly together."""
        return len(self.draws.trials)

    @property
    def J(self) -> Array:
        """The inertia (3, 3) about the centre of mass that is believed in [kg m^2]."""
        return self.nominal.J

    @property
    def M(self) -> Array:
        """The inertia (6, 6) about the body's origin that is believed in."""
        if self.nominal.M is None:
            raise InputError(f'craft.{self.craft}: turns only; a law or filter of poses needs kind = "pose"')
        return self.nominal.M

    @property
    def push_psd(self) -> Array:
        """Density (6, 6) of what actuators do beside their commands: UNSURE of what they can, over an interval."""
        most = sum((UNSURE * effector.most(self.sky) for effector in self.effectors.values()), np.zeros(6))
        return np.diag(most**2 * self.control_s)

    def offered(self) -> dict[str, Any]:
        """What an own part may ask for by the names of its constructor's parameters."""
        nominal = {"J": self.J, "M": self.nominal.M, "sensors": self.sensors, "actuators": self.effectors}
        when = {"h": self.h, "period_s": self.control_s, "rate_hz": 1.0 / self.control_s}
        return {**nominal, **when, "sky": self.sky, "trials": self.trials, "known": self}

    def wrench_B(self, q_IB: Array, command: tuple[Array, ...], report: Report, env: Any) -> Array:
        """Return the torque (..., 3) that is known to act from outside: loads, and what was commanded."""
        total = np.zeros((*np.shape(q_IB)[:-1], 3))
        for load in self.loads:
            total = total + load.torque(q_IB, env)
        for effector, u, state in zip(self.effectors.values(), command, report.effectors, strict=True):
            if not effector.internal:
                output = effector.made_of(u, state, self.h)
                total = total + effector.wrench_B(output, q_IB, env)[..., :3]
        return total

    def pose_wrench_B(self, dq_IB: Array, command: tuple[Array, ...], report: Report, env: Any) -> Array:
        """Return the wrench (..., 6) about the body's origin that is known to act: loads, gravity, and commands."""
        q_IB = dq_IB[..., :4]
        load_B = load_wrench(self.loads, q_IB, env)
        if self.sky.tide is not None:
            load_B = load_B + self.sky.tide.load_B(q_IB, centre_I(dq_IB, self.M), self.M, env)
        total = _about_origin(load_B, self.M)
        for effector, u, state in zip(self.effectors.values(), command, report.effectors, strict=True):
            if not effector.internal:
                wrench_B = effector.wrench_B(effector.made_of(u, state, self.h), q_IB, env)
                none = np.zeros((*np.shape(q_IB)[:-1], 6 - wrench_B.shape[-1]))
                total = total + (np.concatenate([wrench_B, none], axis=-1) if none.shape[-1] else wrench_B)
        return total

    def rho_B(self, truth: Any) -> Array:
        """Return the wheels' momentum (..., 3) at time zero, by their tachometers and the axes that are believed in."""
        states = getattr(truth, "effectors", ())
        own = [(e, s[..., : e.start(1).shape[-1]]) for e, s in zip(self.effectors.values(), states, strict=True)]
        stored = [e.momentum_B(s) for e, s in own if e.internal]
        return sum(stored[1:], stored[0]) if stored else np.zeros((self.trials, 3))


@batched("(8),(6,6)->(3)")
def centre_I(dq_IB, M):
    """Return the place of the centre of mass."""
    return dual_quaternion.transform_point(dq_IB, spatial.parts(M)[1])


@batched("(6),(6,6)->(6)")
def _about_origin(load_B, M):
    """Return a load on the centre of mass as a wrench about the origin."""
    _, c_B, _ = spatial.parts(M)
    return np.concatenate([load_B[:3] + cross(c_B, load_B[3:]), load_B[3:]])


FACING = np.array([0.0, 0.0, 0.0, 1.0])  # half a turn about z: x of one port points into the other


class Port(NamedTuple):
    """The port of a target for a chaser."""

    dq_TB: Array  # (8) the chaser when docked: port on port, face to face
    axis_T: Array  # (3) out of the port


def docked(target: Nominal, chaser: Nominal) -> Port:
    """Return where a chaser is when it is docked to a target."""
    q_TP, r_TP = dual_quaternion.to_pose(target.port)
    q_BP, r_BP = dual_quaternion.to_pose(chaser.port)
    q_TB = quaternion.mul(quaternion.mul(q_TP, FACING), quaternion.conj(q_BP))
    dq_TB = dual_quaternion.from_pose(q_TB, r_TP - quaternion.rotate(q_TB, r_BP))
    return Port(dq_TB, quaternion.rotate(q_TP, np.array([1.0, 0.0, 0.0])))


def other(known: Known, name: str, key: str = "target") -> Nominal:
    """Return another craft as it is believed to be, with a port."""
    if name not in known.others or known.others[name].port is None or known.nominal.port is None:
        there = [n for n, one in known.others.items() if one.port is not None]
        raise InputError(f'{key} = {name!r}: both craft must be of kind "pose"; there are {", ".join(there) or "none"}')
    return known.others[name]


def together(known: Known, names: tuple[str, ...]) -> Array:
    """Return the inertia (6, 6) about the own origin of the own craft with others docked to it, as believed."""
    M = known.M
    for name in names:
        nominal = other(known, name, "docked")
        dq_TB = docked(nominal, known.nominal).dq_TB
        M = M + spatial.transform_inertia(dual_quaternion.conj(dq_TB), nominal.M)
    return M
