"""The posterior Cramer-Rao bound: no unbiased filter has a smaller covariance, along a given true trajectory.

    C- = F C F^T + Q,    C+ = (C-^-1 + H^T R^-1 H)^-1 = (1 + C- H^T R^-1 H)^-1 C-

F is the exact transition matrix of the continuous time along the truth, so no integrator has a part in the bound. The
last form inverts neither C nor Q: both may be singular (no process noise, a state known exactly).

Without process noise and with a Gaussian prior this is also the covariance of the exact EKF linearised at the truth.
Source: Tichavsky, Muravchik and Nehorai, IEEE Trans. Signal Processing 46 (1998) 1386; Taylor, IEEE Trans. Automatic
Control 24 (1979) 343, for no process noise.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, lie, quaternion
from gnc.errors import InputError

Array = Any
TOLERANCE = 1e-12  # of DOP853, relative; absolute too, in states of order one
MOST_TURNS = 5000


class Flow(NamedTuple):
    """A trajectory at some times, and the linearised motion from each to the next."""

    x: Array  # (times, ..., s) true states
    F: Array  # (times - 1, ..., n, n) transition matrices of the error state
    Q: Array  # (times - 1, ..., n, n) covariance of the process noise over each interval


def information(H: Array, R: Array) -> Array:
    """Return H^T R^-1 H of a measurement; those of several at the same time add."""
    return np.swapaxes(H, -1, -2) @ np.linalg.solve(R, H)


def posterior(F: Array, Q: Array, measured: Array, C_0: Array) -> Array:
    """Return the bounds (times, ..., n, n) after the measurements at all times.

    `measured` (times, ..., n, n) has H^T R^-1 H, zero where there is no measurement; F (times - 1, ..., n, n) and Q,
    or 0, lead from each time to the next; C_0 is the covariance before the first measurement.
    """
    if len(measured) != len(F) + 1:
        raise InputError(f"measured: expected {len(F) + 1} times, one more than F has intervals, got {len(measured)}")
    Q = np.broadcast_to(Q, np.shape(F))
    bounds = [_informed(np.asarray(C_0, float), measured[0])]
    for k in range(len(F)):
        bounds.append(_informed(F[k] @ bounds[-1] @ np.swapaxes(F[k], -1, -2) + Q[k], measured[k + 1]))
    return np.stack(bounds)


def _informed(C: Array, gained: Array) -> Array:
    """Return (1 + C I)^-1 C; its matrix has no eigenvalue below 1."""
    C = np.linalg.solve(np.eye(C.shape[-1]) + C @ gained, C)
    return 0.5 * (C + np.swapaxes(C, -1, -2))


def flow(
    rate: Callable[[Array], Array],
    slope: Callable[[Array], Array],
    x_0: Array,
    times: Array,
    density: Array | None = None,
) -> Flow:
    """Integrate x' = rate(x), F' = A F and Q' = A Q + Q A^T + density by DOP853, A = slope(x) of the error state.

    Both functions take states (..., s). F and Q begin anew at every time; all intervals of all trials run side by side
    in one integration, as parts of their own length.
    """
    x = _solve(rate, np.asarray(x_0, float), np.asarray(times, float))
    n, s, lead = slope(x[0]).shape[-1], x.shape[-1], x.shape[1:-1]
    h = np.repeat(np.diff(times), math.prod(lead))[:, None]
    W = np.zeros((n, n)) if density is None else np.asarray(density, float)
    size = np.abs(W).max() or 1.0  # Q is integrated in units of this, to have its relative accuracy
    square = (len(h), n, n)

    def split(y: Array) -> tuple[Array, Array, Array]:
        return y[:, :s], y[:, s : s + n * n].reshape(square), y[:, s + n * n :].reshape(square)

    def together(y: Array) -> Array:
        state, F, Q = split(y)
        A = slope(state)
        AQ = A @ Q
        moves = rate(state), A @ F, AQ + np.swapaxes(AQ, -1, -2) + W / size
        return h * np.concatenate([move.reshape(len(h), -1) for move in moves], axis=-1)

    unit = np.tile(np.concatenate([np.eye(n).ravel(), np.zeros(n * n)]), (len(h), 1))
    start = np.concatenate([x[:-1].reshape(-1, s), unit], axis=-1)
    _, F, Q = split(_solve(together, start, np.array([0.0, 1.0]))[-1])
    shape = (len(x) - 1, *lead, n, n)
    return Flow(x, F.reshape(shape), size * Q.reshape(shape))


def _solve(rate: Callable[[Array], Array], y_0: Array, times: Array) -> Array:
    """Return the solution of y' = rate(y), y of any shape, at all times."""
    from scipy.integrate import solve_ivp  # takes a moment to load

    def flat(t: float, y: Array) -> Array:
        return rate(y.reshape(y_0.shape)).ravel()

    span = times[0], times[-1]
    solution = solve_ivp(flat, span, y_0.ravel(), "DOP853", t_eval=times, rtol=TOLERANCE, atol=TOLERANCE)
    return solution.y.T.reshape(-1, *y_0.shape)


def attitude_flow(J: Array, x_0: Any, times: Array, tau_B: Array = (0.0,) * 3, density: Array | None = None) -> Flow:
    """Return the flow of a turning rigid body, states [q_IB, w_B], error state (a, dw), under a torque in body axes.

    q' = q w/2, J w' = J w x w + tau;    a' = -w x a + dw,    dw' = J^-1 ([J w] - [w] J) dw

    `density` (3, 3) is the spectral density of a white torque [N^2 m^2 s].
    """
    J_inverse = np.linalg.inv(J)

    def rate(x: Array) -> Array:
        q, w = x[..., :4], x[..., 4:]
        return np.concatenate([quaternion.derivative(q, w), (np.cross(w @ J, w) + tau_B) @ J_inverse], axis=-1)

    def slope(x: Array) -> Array:
        w = x[..., 4:]
        W, one = lie.hat(w), np.broadcast_to(np.eye(3), (*w.shape, 3))
        return np.block([[-W, one], [np.zeros_like(W), J_inverse @ (lie.hat(w @ J) - W @ J)]])

    _check_turns(x_0.w_B, times)
    return flow(rate, slope, _joined(x_0.q_IB, x_0.w_B), times, _kicked(J_inverse, density))


def pose_flow(M: Array, x_0: Any, times: Array, wrench_B: Array = (0.0,) * 6, density: Array | None = None) -> Flow:
    """Return the flow of a rigid body about any reference point, states [dq_IB, chi_B], error state (dxi, dchi).

    p' = p chi/2, M chi' = ad(chi)^T M chi + wrench;    dxi' = -ad(chi) dxi + dchi

    `density` (6, 6) is the spectral density of a white wrench about the reference point, in body axes.
    """
    M_inverse = np.linalg.inv(M)

    def rate(x: Array) -> Array:
        chi = x[..., 8:]
        load = np.einsum("...ji,...j->...i", lie.ad(chi), chi @ M) + wrench_B
        return np.concatenate([dual_quaternion.derivative(x[..., :8], chi), load @ M_inverse], axis=-1)

    def slope(x: Array) -> Array:
        chi = x[..., 8:]
        mu, ad = chi @ M, lie.ad(chi)
        L, P, one = lie.hat(mu[..., :3]), lie.hat(mu[..., 3:]), np.broadcast_to(np.eye(6), ad.shape)
        load = np.block([[L, P], [P, np.zeros_like(P)]]) + np.swapaxes(ad, -1, -2) @ M
        return np.block([[-ad, one], [np.zeros_like(ad), M_inverse @ load]])

    _check_turns(x_0.chi_B[..., :3], times)
    return flow(rate, slope, _joined(x_0.dq_IB, x_0.chi_B), times, _kicked(M_inverse, density))


def _check_turns(w_B: Array, times: Array) -> None:
    """Refuse a motion that would take minutes to follow, a turn taking 350 evaluations."""
    turns = np.linalg.norm(w_B, axis=-1).max() * (times[-1] - times[0]) / (2.0 * np.pi)
    if not turns <= MOST_TURNS:
        raise InputError(f"the Cramer-Rao bound: follows {MOST_TURNS} turns, not {turns:.3g}; fly a shorter time")


def _joined(a: Array, b: Array) -> Array:
    """Return the state vector, over the leading axes of both parts."""
    lead = np.broadcast_shapes(np.shape(a)[:-1], np.shape(b)[:-1])
    return np.concatenate([np.broadcast_to(part, (*lead, np.shape(part)[-1])) for part in (a, b)], axis=-1)


def _kicked(inverse: Array, density: Array | None) -> Array | None:
    """Return the density of the error state from that of the torque or wrench, which moves only its second half."""
    if density is None:
        return None
    nil = np.zeros_like(inverse)
    return np.block([[nil, nil], [nil, inverse @ density @ inverse.T]])
