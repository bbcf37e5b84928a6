"""The Lie group variational integrator of a rigid body that turns and moves in a potential (LGVI).

State: attitude q_IB, total angular momentum P_B = J w + rho in body axes, centre of mass r_I and momentum p_I in
inertial axes. A step is half a kick, a drift, half a kick: torque and force of the field at the nodes, the attitude
drift of QVI, and r += h p/mass between (Stoermer and Verlet). It is symplectic, symmetric, of second order, and exact
in every momentum that belongs to a symmetry of the potential; energy oscillates without drift. `step4` is of fourth
order.

    method = potential.integrator(fields.gravity_gradient)
    method.step(q_IB, P_B, r_I, p_I, J, rho_B, mass, mu, mass, J, h)       the field's parameters stand before h

`increment_step` is the same motion on the Lagrangian side: its state is the pose at node k with the turn phi and the
displacement d that lead to node k + 1, and no momentum,

    leading(phi_{k+1}) = trailing(phi_k) + h torque_{k+1},        d_{k+1} = d_k + (h^2/mass) force_{k+1}

The error state is (a, dP, dr, dp), q = q^ exp(a/2). |w| h must stay below 1 rad, or the trial becomes NaN.
Source: LGVI eq. (23), and eqs. (19), (22) for `increment_step`: its w is 2 P, its xi half of our w, its Broyden
iteration our Newton solve.

Errata: eqs. (13), (15) have the potential's torque with the wrong sign, and section 5 a momentum that is radial
(test_erratum_eqs_13_15_the_torque_has_a_minus_sign, test_erratum_section_5_the_printed_momentum_falls_into_the_centre).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch import Kernel, batched
from gnc.batch.layout import Layout
from gnc.integrators import qvi, qvi_increment
from gnc.integrators.composition import SUZUKI4, chained, compose
from gnc.integrators.fields import Field
from gnc.integrators.qvi import increment
from gnc.linalg import array, block, identity, zeros
from gnc.quaternion import mul

Array = Any
STATE = ("q_IB", "P_B", "r_I", "p_I")
BODY = ("J", "rho_B", "mass")


@dataclass(frozen=True, eq=False)
class Integrator:
    """The steps of a body in a field.

    All take (q_IB, P_B, r_I, p_I, J, rho_B, mass, the field's parameters ..., h) and return the state, and F.
    """

    field: Field
    step: Kernel
    step_jacobian: Kernel
    step4: Kernel
    step4_jacobian: Callable[..., Any]
    increment_step: Kernel  # (q_IB, phi, r_I, d_I, ...) -> the same at the next node
    increment_start: Kernel  # (q_IB, P_B, r_I, p_I, ...) -> phi, d_I

    def __reduce__(self) -> tuple[Any, tuple[Field]]:
        return integrator, (self.field,)


@batched("(4),(3),(3),(3),(3,3),(3),(),()->(4),(3),(3),(3)")
def drift(q_IB, P_B, r_I, p_I, J, rho_B, mass, h):
    """Move a free body."""
    return *qvi.drift(q_IB, P_B, J, rho_B, h), r_I + (h / mass) * p_I, p_I


@batched("(4),(3),(3),(3),(3,3),(3),(),()->(4),(3),(3),(3),(12,12)")
def drift_jacobian(q_IB, P_B, r_I, p_I, J, rho_B, mass, h):
    """Return what `drift` does, and its exact Jacobian."""
    q_IB, P_B, F = qvi.drift_jacobian(q_IB, P_B, J, rho_B, h)
    shift = block([[identity(3), (h / mass) * identity(3)], [zeros(3, 3), identity(3)]])
    return q_IB, P_B, r_I + (h / mass) * p_I, p_I, block([[F, zeros(6, 6)], [zeros(6, 6), shift]])


def _kick_jacobian(D, half):
    """Return the Jacobian of P += half torque, p += half force, from D = d(torque, force)/d(a, r)."""
    one, zero, D = identity(3), zeros(3, 3), half * D
    return block(
        [
            [one, zero, zero, zero],
            [D[:3, :3], one, D[:3, 3:], zero],
            [zero, zero, one, zero],
            [D[3:, :3], zero, D[3:, 3:], one],
        ]
    )


@functools.cache
def integrator(field: Field) -> Integrator:
    """Return the kernels of a body in a field."""

    def kick(state: Array, parameters: Array, half: Array) -> Array:
        q_IB, P_B, r_I, p_I = state
        torque_B, force_I = field.wrench(q_IB, r_I, *parameters)
        return q_IB, P_B + half * torque_B, r_I, p_I + half * force_I

    def step(*args: Array) -> Array:
        state, body, parameters, h = args[:4], args[4:7], args[7:-1], args[-1]
        state = drift(*kick(state, parameters, 0.5 * h), *body, h)
        return kick(state, parameters, 0.5 * h)

    def step_jacobian(*args: Array) -> Array:
        state, body, parameters, h = args[:4], args[4:7], args[7:-1], args[-1]
        first = _kick_jacobian(field.gradient(state[0], state[2], *parameters), 0.5 * h)
        *state, F = drift_jacobian(*kick(state, parameters, 0.5 * h), *body, h)
        last = _kick_jacobian(field.gradient(state[0], state[2], *parameters), 0.5 * h)
        return *kick(state, parameters, 0.5 * h), last @ (F @ first)

    def increment_start(*args: Array) -> Array:
        state, (J, rho_B, mass), parameters, h = args[:4], args[4:7], args[7:-1], args[-1]
        _, P_B, _, p_I = kick(state, parameters, 0.5 * h)
        return increment(P_B, J, rho_B, h), (h / mass) * p_I

    def increment_step(*args: Array) -> Array:
        (q_IB, phi, r_I, d_I), (J, rho_B, mass), parameters, h = args[:4], args[4:7], args[7:-1], args[-1]
        q_IB, r_I = mul(q_IB, array([np.sqrt(1.0 - phi @ phi), *phi])), r_I + d_I
        torque_B, force_I = field.wrench(q_IB, r_I, *parameters)
        phi = qvi_increment.increment_step(phi, torque_B, J, rho_B, rho_B, h)
        return q_IB, phi, r_I, d_I + (h * h / mass) * force_I

    parameters = field.wrench.layout
    names = (*STATE, *BODY, *(f"field_{name}" for name in parameters.names[2:]), "h")
    ins = (*drift.layout.ins[:-1], *parameters.ins[2:], ())
    pair = (
        Kernel(step, Layout(names, ins, drift.layout.outs)),
        Kernel(step_jacobian, Layout(names, ins, drift_jacobian.layout.outs)),
    )
    step4, _ = compose(*pair, SUZUKI4, name="step4")
    increments = (
        Kernel(increment_step, Layout(("q_IB", "phi", "r_I", "d_I", *names[4:]), ins, drift.layout.outs)),
        Kernel(increment_start, Layout(names, ins, ((3,), (3,)))),
    )
    return Integrator(field, *pair, step4, _stage_by_stage(*pair), *increments)


def _stage_by_stage(step: Kernel, step_jacobian: Kernel) -> Callable[..., Any]:
    """Return the Jacobian of the composition as calls of one kernel per stage: as one kernel it compiles too long."""
    chain = chained(step, step_jacobian)

    def step4_jacobian(*args: Any) -> Any:
        state, parameters, h = (*args[:4], np.eye(12)), args[4:-1], np.asarray(args[-1])
        for c in SUZUKI4:
            state = chain(*state, *parameters, c * h)
        return state

    return step4_jacobian
