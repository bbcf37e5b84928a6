"""Magnetic laws: B-dot, which stops a tumble, and the unloading of wheels; both know nothing but the field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check
from gnc.batch import batched, where
from gnc.errors import InputError
from gnc.linalg import array, cross
from gnc.models.parameters import store

Array = Any


class BdotMemory(NamedTuple):
    """The last measured field, NaN where there is none, and whether the law is at work."""

    B_B: Array  # (..., 3) [T]
    active: Array  # (...) 1 at work, 0 at rest


@dataclass(frozen=True, eq=False, kw_only=True)
class Bdot:
    """Detumbling by m = -(gain/|B|^2) dB/dt, with the difference of two measurements for the derivative.

    In a tumble dB/dt = -w x B, so the torque m x B is -gain times the part of w normal to the field. With rates given
    it rests once |dB/dt|/|B| is below `quiet_rate` and works again above `wake_rate`; the field of a low orbit turns by
    about two revolutions an orbit, 0.0022 rad/s, of itself. The first measurement, and one after a measurement that is
    missing (NaN), give no dipole. Source: Stickler and Alfriend, J. Spacecraft and Rockets 13 (1976) 282.
    """

    gain: Array  # (...) [N m s]
    quiet_rate: Array = 0.0  # (...) [rad/s]
    wake_rate: Array = 0.0  # (...) [rad/s]

    def __post_init__(self) -> None:
        store(self, gain=check.positive("gain", self.gain))
        store(self, quiet_rate=check.non_negative("quiet_rate", self.quiet_rate))
        store(self, wake_rate=check.non_negative("wake_rate", self.wake_rate))
        if np.any(self.wake_rate < self.quiet_rate):
            raise InputError("wake_rate: expected at least quiet_rate")

    @classmethod
    def tuned(cls, J: Array, orbit_rate: Array, inclination: Array, **options: Any) -> Bdot:
        """Choose the gain 2 n (1 + sin i) J_min, i the inclination to the magnetic equator [rad].

        Source: Avanzini and Giulietti, "Magnetic detumbling of a rigid spacecraft", JGCD 35 (2012) 1326.
        """
        J_min = np.linalg.eigvalsh(check.inertia("J", J))[..., 0]
        rate = check.positive("orbit_rate", orbit_rate)
        return cls(gain=2.0 * rate * (1.0 + np.sin(check.finite("inclination", inclination))) * J_min, **options)

    def start(self, leading_shape: tuple[int, ...] = ()) -> BdotMemory:
        """Return the memory before the first measurement."""
        return BdotMemory(np.full((*leading_shape, 3), np.nan), np.ones(leading_shape))

    def command(self, B_B: Array, memory: BdotMemory, h: Array) -> tuple[Array, BdotMemory]:
        """Return the dipole, body axes [A m^2], from a field measured h seconds after the last one."""
        m_B, *after = _bdot(B_B, *memory, h, self.gain, self.quiet_rate, self.wake_rate)
        return m_B, BdotMemory(*after)


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentumUnloading:
    """The dipole m = gain (dh x B)/|B|^2, whose torque is -gain times the part of dh normal to the field.

    dh is what the wheels have too much. The attitude law keeps the body still, so the wheels lose it. Source: Camillo
    and Markley, "Orbit-averaged behavior of magnetic control laws for momentum unloading", JGC 3 (1980) 563.
    """

    gain: Array  # (...) [1/s]

    def __post_init__(self) -> None:
        store(self, gain=check.positive("gain", self.gain))

    def command(self, rho_B: Array, B_B: Array, wanted_B: Array = (0.0,) * 3) -> Array:
        """Return the dipole, body axes [A m^2], from the wheels' momentum and the measured field [T]."""
        return _unload(rho_B, wanted_B, B_B, self.gain)


@batched("(3),(3),(),(),(),(),()->(3),(3),()")
def _bdot(B_B, B_before_B, active, h, gain, quiet_rate, wake_rate):
    """Return the dipole, the field to remember, and whether the law is at work."""
    change, square = (B_B - B_before_B) / h, B_B @ B_B
    known = (change @ change >= 0.0) & (square > 0.0)  # neither is NaN
    rate = np.sqrt(change @ change / square)
    works = where(rate < quiet_rate, 0.0, where(rate > wake_rate, 1.0, active))
    works = where(known, works, active)
    return where(known & (works > 0.0), (-gain / square) * change, array([0.0, 0.0, 0.0])), B_B, works


@batched("(3),(3),(3),()->(3)")
def _unload(rho_B, wanted_B, B_B, gain):
    """Return the dipole, none where the field is not known."""
    square = B_B @ B_B
    return where(square > 0.0, (gain / square) * cross(rho_B - wanted_B, B_B), array([0.0, 0.0, 0.0]))
