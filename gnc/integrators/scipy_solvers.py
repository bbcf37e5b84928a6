"""SciPy's adaptive solvers on the attitude of one trial, with and without a Kane damper: the other comparators of QVI.

    q' = q w/2,   J w' = (J w + rho) x w + C (w_D - w) + tau,   w_D' = w_D x w - (C/J_D) (w_D - w)

They integrate q and the rates, as the paper does with MATLAB's solvers (ODE45 is RK45's twin, ODE15s is kin to BDF). A
torque is a function tau(t, q_IB, w_B). The default tolerances are SciPy's, and loose: in attitude they are good for a
few digits over a few turns. `steps` counts the accepted ones. Source: QVI section IX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gnc.typing import Array

METHODS = ("RK45", "DOP853", "Radau", "BDF", "LSODA")
RTOL, ATOL = 1e-3, 1e-6  # the defaults of scipy.integrate.solve_ivp

Torque = Callable[[float, Array, Array], ArrayLike]


class Solution(NamedTuple):
    """States at the times asked for, and what they cost."""

    q_IB: Array  # (n, 4), not normalised
    P_B: Array  # (n, 3)
    P_D: Array  # (n, 3) of the damper; (n, 0) without
    steps: int
    evaluations: int


def solve(
    method: str,
    q_IB: ArrayLike,
    P_B: ArrayLike,
    J: ArrayLike,
    rho_B: ArrayLike,
    times: ArrayLike,
    tau: Torque | None = None,
    rtol: float = RTOL,
    atol: float = ATOL,
) -> Solution:
    """Integrate a body with wheels from times[0] on."""
    return solve_damped(method, q_IB, P_B, (), J, 1.0, 0.0, rho_B, times, tau, rtol, atol)


def solve_damped(
    method: str,
    q_IB: ArrayLike,
    P_B: ArrayLike,
    P_D: ArrayLike,
    J: ArrayLike,
    J_D: float,
    C: float,
    rho_B: ArrayLike,
    times: ArrayLike,
    tau: Torque | None = None,
    rtol: float = RTOL,
    atol: float = ATOL,
) -> Solution:
    """Integrate a body with wheels and a Kane damper (see `damper`), or none, from times[0] on."""
    J, rho_B, w_D = np.asarray(J, float), np.asarray(rho_B, float), np.asarray(P_D, float) / J_D
    J_inverse, damped = np.linalg.inv(J), len(w_D) > 0

    def rate(t: float, y: Array) -> Array:
        q, w, w_D = y[:4], y[4:7], y[7:]
        viscous = C * (w_D - w) if damped else 0.0
        w_rate = J_inverse @ (_cross(J @ w + rho_B, w) + viscous + _torque(tau, t, q, w))
        return np.concatenate([_turning(q, w), w_rate, *([_cross(w_D, w) - viscous / J_D] if damped else [])])

    y, steps, evaluations = _run(rate, method, [q_IB, J_inverse @ (P_B - rho_B), w_D], times, rtol, atol)
    return Solution(y[:, :4], y[:, 4:7] @ J + rho_B, J_D * y[:, 7:], steps, evaluations)


def _turning(q: Array, w: Array) -> Array:
    """Return q w/2, in plain floats: a solver of one trial asks for it one state at a time."""
    s, x, y, z = q
    a, b, c = 0.5 * w
    return np.array([-x * a - y * b - z * c, s * a + y * c - z * b, s * b + z * a - x * c, s * c + x * b - y * a])


def _cross(a: Array, b: Array) -> Array:
    """Return a x b; NumPy's own takes ten times as long for one pair."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _torque(tau: Torque | None, t: float, q: Array, w: Array) -> Any:
    return 0.0 if tau is None else np.asarray(tau(t, q, w), float)


def _run(
    rate: Any, method: str, start: list[Any], times: ArrayLike, rtol: float, atol: float
) -> tuple[Array, int, int]:
    """Return the states at the times, the number of accepted steps, and the number of evaluations of the rate."""
    from scipy.integrate import solve_ivp  # takes a moment to load

    if method not in METHODS:
        raise ValueError(f"method: {method!r} is none of {', '.join(METHODS)}")
    t = np.asarray(times, float)
    # SciPy keeps the steps that it took only in its dense output.
    solution = solve_ivp(
        rate, (t[0], t[-1]), np.concatenate(start), method, t_eval=t, dense_output=True, rtol=rtol, atol=atol
    )
    if not solution.success:
        raise RuntimeError(f"{method} gave up at {solution.sol.ts[-1]:g} s: {solution.message}")
    return solution.y.T, len(solution.sol.ts) - 1, solution.nfev
