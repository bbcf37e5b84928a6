"""The inertia among the states of a filter, with the exact derivative of the step.

J = J_nominal + dJ, dJ by six numbers, or by five that keep its trace: a free tumble without wheels or known torque is
the same for J and 2 J, so that only ratios can be seen. In one drift of QVI from a given momentum dJ w acts as a change
of the wheels' momentum does:

    dw = -(dP_k/dw)^-1 (s 1 + [phi]) dJ w,     da = h (s 1 + phi phi^T/s - [phi]) dw,     dP_{k+1} = [P_{k+1}] da

Drifts, kicks, stages and substeps are chained as the step itself is, D' = F D + D_stage. Source: QVI eqs. (37), (38).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnc import check
from gnc.batch import Kernel, batched
from gnc.estimators.extra_states import ExtraState
from gnc.integrators.qvi import slope, solve, turn_slope
from gnc.linalg import array, block, cross, identity, inv3, skew, solve3, zeros
from gnc.models.parameters import store
from gnc.quaternion import conj, to_matrix
from gnc.typing import Array

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


@functools.cache
def _deviation(form: str) -> Kernel:
    E = FORMS[form]

    @batched(f"({E.shape[1]})->(3,3)")
    def deviation(value):
        xx, yy, zz, xy, xz, yz = array(E.tolist()) @ value
        return array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    return deviation


def change(w, form):
    """Return N with dJ w = N value."""
    x, y, z = w
    return array([[x, 0.0, 0.0, y, z, 0.0], [0.0, y, 0.0, x, 0.0, z], [0.0, 0.0, z, 0.0, x, y]]) @ array(
        FORMS[form].tolist()
    )


@functools.cache
def momentum_slope(form: str) -> Kernel:
    """Return the kernel w_B -> N, the derivative of J w with respect to the numbers of the form."""

    @batched(f"(3)->(3,{FORMS[form].shape[1]})")
    def momentum_slope(w_B):
        return change(w_B, form)

    return momentum_slope


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


@functools.cache
def sensitivity(stages: Sequence[float], form: str) -> Kernel:
    """Return the kernel P, D, tau, J, rho, h -> P, D of a composed step, D = d(a, dP)/d value; made to be repeated."""
    k = FORMS[form].shape[1]

    @batched(f"(3),(6,{k}),(3),(3,3),(3),()->(3),(6,{k})")
    def sensitivity(P_B, D, tau_B, J, rho_B, h):
        for c in stages:
            P_B, D = _stage(P_B, D, tau_B, J, rho_B, c * h, form)
        return P_B, D

    return sensitivity
