"""The exact motion of a rigid body with wheels under a torque that is constant in body axes, by its Taylor series.

    P' = P x w + tau,   q' = q w/2,   w = J^-1 (P - rho)

The coefficients follow one another. With h folded in, W_k = h J^-1 P_k, and W_0 = h J^-1 (P_0 - rho),

    (k + 1) P_{k+1} = sum_j P_j x W_{k-j}, + h tau for k = 0        2 (k + 1) q_{k+1} = sum_j q_j W_{k-j}

and the same recurrence on columns gives F and G. Wheels that run up at a constant rate, rho + ramp t/h, add -J^-1 ramp
to W_1 (`ramp_jacobian`, of order 8): held at their mean instead, they would make every method one of second order.
`counts` tells in how many substeps its truncation error stays small against a covariance, and where one step of order 5
does as well for 0.4 times the operations.

Order 20 is round-off (3e-15) for (Om + |rho|/J_min) |h| <= 0.75 rad, Om = sqrt(2T/J_min) being the fastest rate that
the energy allows, or for (|w| + |rho|/J_min) |h| <= 0.5 rad; order 10, for 0.27 times the operations, to 0.1 rad, which
is far for a spacecraft that points; order 7, for half of that, to 0.05 rad of `angle`, where torque counts too.
Dividing longer steps is the caller's part (`composition.substepped`); without it the error grows as its 21st power, or
the 11th. Source: spec/attitude.md, "Exact free drift".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gnc.batch import Kernel, batched, maximum, where
from gnc.linalg import array, block, cross, identity, inv3, skew, zeros
from gnc.quaternion import conj, mul, to_matrix
from gnc.typing import Array

ORDER, GENTLE = 8, 5  # of `ramp_jacobian`, and of `ramp_jacobian_gentle`
RADIUS, GENTLE_RADIUS = 3.0, 2.0  # [rad] the error is (angle/radius)^(order + 1) of momentum and turn, or less
SMALL = 1e-6  # largest truncation error of a step, as a part of what is uncertain
ROUND_OFF = 1e-15  # below it a truncation error does not matter, whatever is believed
MOST = 10_000  # substeps
REACH = 0.75  # [rad] the largest (Om + |rho|/J_min) |h| of a step of order 20
SLOW_REACH = 0.1  # of order 10
GENTLE_REACH = 0.05  # of order 7, [rad] of `angle`

STEADY = zeros(3)
Series = list[Array]  # the coefficients of the powers of time, time being 1 at the end of the step


def _kernels(order: int, suffix: str = "") -> tuple[Kernel, ...]:
    """Return step, drift, step_jacobian and drift_jacobian, with names that end in the suffix."""

    def step(q_IB, P_B, tau_B, J, rho_B, h):
        """Move a body with its wheels under a torque that is constant in body axes."""
        P, _, f = motion(P_B, tau_B, J, rho_B, h, order)
        return mul(q_IB, end(f)), end(P)

    def drift(q_IB, P_B, J, rho_B, h):
        """Move a free body with its wheels."""
        return step(q_IB, P_B, zeros(3), J, rho_B, h)

    def step_jacobian(q_IB, P_B, tau_B, J, rho_B, h):
        """Return what `step` does, its Jacobian F = [[R(f)^T, B], [0, dP_1/dP]], and G, both exact."""
        P, W, f = motion(P_B, tau_B, J, rho_B, h, order)
        by_torque = np.concatenate(_slopes(P, W, J, h, zeros(3, 3), h * identity(3)))
        return mul(q_IB, end(f)), end(P), _jacobian(P, W, f, J, h), by_torque

    def drift_jacobian(q_IB, P_B, J, rho_B, h):
        """Return what `drift` does, and its exact Jacobian F."""
        P, W, f = motion(P_B, zeros(3), J, rho_B, h, order)
        return mul(q_IB, end(f)), end(P), _jacobian(P, W, f, J, h)

    forced, free = "(4),(3),(3),(3,3),(3),()", "(4),(3),(3,3),(3),()"
    functions: dict[Any, str] = {step: f"{forced}->(4),(3)", drift: f"{free}->(4),(3)"}
    functions |= {step_jacobian: f"{forced}->(4),(3),(6,6),(6,3)", drift_jacobian: f"{free}->(4),(3),(6,6)"}
    for function in functions:
        function.__name__ = function.__qualname__ = function.__name__ + suffix  # as assigned below, for pickle
    return tuple(batched(layout)(function) for function, layout in functions.items())


def motion(
    P_B: Array, tau_B: Array, J: Array, rho_B: Array, h: Array, order: int, ramp_B: Array = STEADY
) -> tuple[Series, Series, Series]:
    """Return the series of the momentum, of h times the rate, and of the turn f since the start."""
    D = h * inv3(J)
    P, W, f = [P_B], [D @ (P_B - rho_B)], [array([1.0, 0.0, 0.0, 0.0])]
    impulse = h * tau_B
    for k in range(order):
        P.append((_convolution(cross, P, W) + impulse) * (1.0 / (k + 1)))
        f.append(_convolution(_turned, f, W) * (0.5 / (k + 1)))
        W.append(D @ (P[-1] - (STEADY if k else ramp_B)))
        impulse = zeros(3)
    return P, W, f


def _turned(q: Array, w: Array) -> Array:
    return mul(q, array([0.0, *w]))


def _jacobian(P: Series, W: Series, f: Series, J: Array, h: Array) -> Array:
    B, P_P = _slopes(P, W, J, h, identity(3), zeros(3, 3))
    return block([[to_matrix(conj(end(f))), B], [zeros(3, 3), P_P]])


def _slopes(P: Series, W: Series, J: Array, h: Array, dP_0: Array, impulse: Array) -> tuple[Array, Array]:
    """Return the columns da and dP at the end."""
    da, dP = slope_series(P, W, J, h, dP_0, impulse)
    return end(da), end(dP)


def slope_series(P: Series, W: Series, J: Array, h: Array, dP_0: Array, impulse: Array) -> tuple[Series, Series]:
    """Return the columns da and dP: dP' = dP x w + P x J^-1 dP + impulse, da' = da x w + J^-1 dP, da = 0 at first."""
    D = h * inv3(J)
    turning = [-skew(w) for w in W]
    moving = [skew(p) @ D + t for p, t in zip(P, turning, strict=True)]
    da, dP = [zeros(3, 3)], [dP_0]
    for k in range(len(P) - 1):
        da.append((_convolution(np.matmul, turning[: k + 1], da) + D @ dP[-1]) * (1.0 / (k + 1)))
        dP.append((_convolution(np.matmul, moving[: k + 1], dP) + impulse) * (1.0 / (k + 1)))
        impulse = zeros(3, 3)
    return da, dP


def driven_series(W: Series, source: Series, start: Array) -> Series:
    """Return the series of x' = x x w + source, x a vector or columns, from that of the source."""
    turning = [-skew(w) for w in W]
    x = [start]
    for k in range(len(W) - 1):
        x.append((_convolution(np.matmul, turning[: k + 1], x) + source[k]) * (1.0 / (k + 1)))
    return x


def _convolution(product: Callable[[Array, Array], Array], a: Series, b: Series) -> Array:
    """Return the last coefficient of a product of two series."""
    terms = [product(x, y) for x, y in zip(a, reversed(b), strict=True)]
    return sum(terms[1:], terms[0])


def end(series: Series) -> Array:
    """Add the coefficients, small ones first."""
    return sum(reversed(series[:-1]), series[-1])


step, drift, step_jacobian, drift_jacobian = _kernels(20)
step_slow, drift_slow, step_jacobian_slow, drift_jacobian_slow = _kernels(10, "_slow")
step_gentle, *_ = _kernels(7, "_gentle")


@batched("(3),(3),(3,3),(3),(),()->(),()")
def shared_out(P_B, tau_B, J, rho_B, h, n):
    """Return how many steps of order 7, one or none, are to take the place of n of order 10, and how many are left."""
    gentle = (n == 1.0) & (angle(P_B, tau_B, J, rho_B, STEADY, h) <= GENTLE_REACH)
    return where(gentle, 1.0, 0.0), where(gentle, 0.0, n)


def _ramp_kernel(order: int, suffix: str = "") -> Kernel:
    def ramp_jacobian(q_IB, P_B, rho_B, tau_B, J, ramp_B, h):
        """Move a body whose wheels' momentum changes evenly by ramp_B; return q, P, rho, and the exact F and G."""
        P, W, f = motion(P_B, tau_B, J, rho_B, h, order, ramp_B)
        by_torque = np.concatenate(_slopes(P, W, J, h, zeros(3, 3), h * identity(3)))
        return mul(q_IB, end(f)), end(P), rho_B + ramp_B, _jacobian(P, W, f, J, h), by_torque

    ramp_jacobian.__name__ = ramp_jacobian.__qualname__ = f"ramp_jacobian{suffix}"
    return batched("(4),(3),(3),(3),(3,3),(3),()->(4),(3),(3),(6,6),(6,3)")(ramp_jacobian)


ramp_jacobian, ramp_jacobian_gentle = _ramp_kernel(ORDER), _ramp_kernel(GENTLE, "_gentle")


def angle(P_B, tau_B, J, rho_B, ramp_B, h):
    """Return (Om + |rho|/J_min) |h| + (|tau| h^2/J_min)^(1/2) + (|ramp h|/J_min)^(1/2), in which the series converges.

    Torque and ramp turn a body at rest by the square of the time; their roots count as a rate does.
    """
    J_inverse, p = inv3(J), P_B - rho_B
    squared = (J_inverse @ J_inverse).ravel()
    stiffest = np.sqrt(np.sqrt(squared @ squared))  # (tr J^-4)^(1/4): 1 to 1.32 times 1/J_min
    rate = np.sqrt(stiffest * (p @ J_inverse @ p)) + stiffest * np.sqrt(rho_B @ rho_B)
    pushed = J_inverse[0, 0] + J_inverse[1, 1] + J_inverse[2, 2]  # more than 1/J_min: errors of a body at rest
    torque, ramp = np.sqrt(tau_B @ tau_B), np.sqrt(ramp_B @ ramp_B)
    return abs(h) * (rate + np.sqrt(pushed * torque)) + np.sqrt(pushed * abs(h) * ramp)


@batched("(3),(6,6),(3),(3,3),(3),(3),()->(),()")
def counts(P_B, C, tau_B, J, rho_B, ramp_B, h):
    """Return by how many gentle steps, one or none, or else by how many of order 8 to move a belief; NaN if it is lost.

    C is its covariance of (a, dP). n substeps are off by e = (x/R)^9/n^8 of the turn and of the momentum, x the angle,
    R the RADIUS. The least standard deviations, estimated by (tr C_aa^-1)^(-1/2) and |P|^-1 (tr C_PP^-1)^(-1/2), must
    be 1e6 times as large: over a flight of a thousand samples errors add up, and the rate is then known better than the
    attitude.
    """
    x = angle(P_B, tau_B, J, rho_B, ramp_B, h)
    known = maximum(information(C[:3, :3]), (P_B @ P_B) * information(C[3:6, 3:6]))
    allowed = maximum(SMALL / np.sqrt(known), ROUND_OFF)
    n = (x / RADIUS) * np.sqrt(np.sqrt(np.sqrt((x / RADIUS) / where(allowed > 0.0, allowed, ROUND_OFF))))
    n = maximum(-np.floor(-n), 1.0)
    cube = (x / GENTLE_RADIUS) * (x / GENTLE_RADIUS) * (x / GENTLE_RADIUS)
    gentle = cube * cube <= allowed
    return where(gentle, 1.0, 0.0), where(gentle, 0.0, where(n <= MOST, n, math.nan))


def information(C):
    """Return tr C^-1; infinite for a covariance that is not positive."""
    V = inv3(C)
    trace = V[0, 0] + V[1, 1] + V[2, 2]
    return where(trace > 0.0, trace, math.inf)
