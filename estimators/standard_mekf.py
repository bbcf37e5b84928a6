"""The standard MEKFs that others use, as comparators: one step per sample, and a truncated transition matrix.

    a' = -w x a + J^-1 dP,   dP' = ([P] J^-1 - [w]) dP        A(P): the matrix of this, w = J^-1 (P - rho)

    euler       F = 1 + h A                   at the start of the step
    midpoint    F = 1 + h A + (h A)^2/2       at its middle

Both move the mean by one step of the explicit midpoint rule, and take process noise of first order, Q = h Q_w on the
momentum. F is off by the second and third power of h. All else is `Mekf`, which with the method 'rk4' is the strong
competitor: its F is the Jacobian of its own step.

Source: Lefferts, Markley and Shuster, J. Guidance, Control, and Dynamics 5 (1982) 417; QVI section IX.

The pose filter as it is usually written, for comparison: midpoint rule and a truncated transition matrix.

The rotation about the centre of mass takes one explicit midpoint step, F = 1 + h A + (h A)^2/2 at its middle
(`standard_mekf`); the centre itself moves evenly, which is exact. All else is `DqEkf`.
"""

from dataclasses import dataclass, field

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched
from gnc.estimators import pose_motion
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.mekf import Mekf
from gnc.estimators.pose_belief import PoseBelief
from gnc.estimators.process_model import ByName, ProcessModel
from gnc.integrators import runge_kutta
from gnc.integrators.table import attitude_method
from gnc.linalg import block, cross, identity, inv3, skew, zeros
from gnc.typing import Array


def _slope(P_B, J_inverse, rho_B):
    """Return A, over (a, dP)."""
    w_B = J_inverse @ (P_B - rho_B)
    return block([[-skew(w_B), J_inverse], [zeros(3, 3), skew(P_B) @ J_inverse - skew(w_B)]])


@batched("(4),(3),(3),(3,3),(3),()->(4),(3),(6,6),(6,3)")
def euler_jacobian(q_IB, P_B, tau_B, J, rho_B, h):
    """Return the state after a step, F = 1 + h A at its start, and G = h [0; 1]."""
    F = identity(6) + h * _slope(P_B, inv3(J), rho_B)
    return *runge_kutta.midpoint(q_IB, P_B, tau_B, J, rho_B, h), F, h * identity(6)[:, 3:]


@batched("(4),(3),(3),(3,3),(3),()->(4),(3),(6,6),(6,3)")
def midpoint_jacobian(q_IB, P_B, tau_B, J, rho_B, h):
    """Return the state after a step, F = 1 + h A + (h A)^2/2 at its middle, and G = h (1 + h A/2) [0; 1]."""
    J_inverse = inv3(J)
    middle = P_B + (0.5 * h) * (cross(P_B, J_inverse @ (P_B - rho_B)) + tau_B)
    hA = h * _slope(middle, J_inverse, rho_B)
    half = identity(6) + 0.5 * hA
    return *runge_kutta.midpoint(q_IB, P_B, tau_B, J, rho_B, h), identity(6) + hA @ half, h * half[:, 3:]


LINEARISATIONS = {"euler": euler_jacobian, "midpoint": midpoint_jacobian}


@dataclass(frozen=True, eq=False, repr=False)
class StandardMekf(Mekf):
    """A `Mekf` with a truncated transition matrix."""

    method: str = field(init=False, default="midpoint")
    substeps: bool = field(init=False, default=False)
    linearisation: str = "midpoint"

    def __post_init__(self) -> None:
        check.one_of("linearisation", self.linearisation, tuple(LINEARISATIONS))
        super().__post_init__()

    def _chosen(self) -> ProcessModel:
        """Move by the midpoint rule with the truncated matrix."""
        return ByName(attitude_method(self.method), False, LINEARISATIONS[self.linearisation])

    def _torque_noise(self, P_B: Array, tau_B: Array, J: Array, rho: Array, h: Array) -> Array:
        """Return h Q_w on the momentum."""
        Q = np.zeros((*np.broadcast_shapes(np.shape(h), self.torque_psd.shape[:-2]), 6, 6))
        Q[..., 3:, 3:] = np.asarray(h)[..., None, None] * self.torque_psd
        return Q


NO_TORQUE = np.zeros(3)


def _turned(q_IB: Array, P_B: Array, J: Array, rho_B: Array, h: Array) -> tuple[Array, Array, Array]:
    q_IB, P_B, F, _ = midpoint_jacobian(q_IB, P_B, NO_TORQUE, J, rho_B, h)
    return quaternion.normalize(q_IB), P_B, F


def midpoint_move(dq_IB: Array, chi_B: Array, M: Array, h: Array) -> tuple[Array, Array, Array]:
    """Return pose and twist of a free body after h, and the truncated F."""
    return pose_motion.drift(_turned, dq_IB, chi_B, M, h)


@dataclass(frozen=True, eq=False)
class MidpointDqEkf(DqEkf):
    """A `DqEkf` of a free body that knows no better."""

    def _flown(self, at: PoseBelief, C: Array, wrench_B: Array | None, h: Array) -> tuple[Array, ...]:
        """Move a free body over h, in one step."""
        dq_IB, chi_B, F = midpoint_move(*self.state(at), self.M, h)
        return dq_IB, chi_B, F, self._noise(at.chi_B, chi_B, None, self.M, h), NO_EXTRAS


NO_EXTRAS = np.zeros((12, 0))
