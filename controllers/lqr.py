"""Linear-quadratic regulators designed on the exact Jacobian of the integrator's step.

    design = lqr(body, x_R, u_R, h, Q, R)             steady reference, python-control's dlqr
    design = lqr_along(body, x_R, u_R, h, Q, R)       time-varying reference, states and inputs with steps as first axis

`body` is anything with `linearize(x, u, h) -> F, G`: RigidBody, Gyrostat, PoseBody. The error is that of its
`linearize`: (a, dw) with q = q_R exp(a/2), or (dxi, dchi) with dq = dq_R exp(dxi/2), against the numbers of the
reference's rate or twist. The cost is the sum of h (x.Q x + u.R u), so that weights mean the same at every h. F and G
of a steady reference do not depend on its pose: one design serves all poses, and each twist has its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import control
import numpy as np
from scipy.linalg import matrix_balance

from gnc import check
from gnc.errors import InputError

Array = Any

SETTLES = 1e-9  # by how much the largest pole is inside the unit circle at least: errors halve in 1e9 steps


class Design(NamedTuple):
    """A regulator u = u_R - K x, and what it was designed on; leading axes are trials, or steps."""

    K: Array  # (..., inputs, states)
    S: Array  # (..., states, states) cost to go: x.S x
    F: Array  # (..., states, states)
    G: Array  # (..., states, inputs)
    h: float  # [s]

    @property
    def poles(self) -> Array:
        """The eigenvalues of F - G K, (..., states): stable within the unit circle."""
        return np.linalg.eigvals(self.F - self.G @ self.K)

    def closed_loop(self) -> control.StateSpace:
        """Return the loop from a disturbance at the plant's input to [error, feedback]."""
        self._single()
        n, m = self.G.shape
        outputs, through = np.vstack([np.eye(n), -self.K]), np.zeros((n + m, m))
        return control.ss(self.F - self.G @ self.K, self.G, outputs, through, self.h)

    def open_loop(self) -> control.StateSpace:
        """Return K (z - F)^-1 G, the loop opened at the plant's input, feedback negative."""
        self._single()
        m = self.K.shape[-2]
        return control.ss(self.F, self.G, self.K, np.zeros((m, m)), self.h)

    def margins(self, frequencies: int = 400) -> Margins:
        """Return gain, phase and disk margins at the plant's input; see `gnc.controllers.lqr`."""
        return margins(self.open_loop(), frequencies)

    def _single(self) -> None:
        if self.K.ndim != 2:
            raise InputError(f"design: {self.K.shape[:-2]} regulators; take one of them, Design(K[k], S[k], ...)")


def lqr(body: Any, x_R: Any, u_R: Array, h: float, Q: Array, R: Array) -> Design:
    """Design for a steady reference by python-control's dlqr; leading axes are separate designs."""
    F, G = body.linearize(x_R, u_R, h)
    return design(F, G, h, Q, R)


def design(F: Array, G: Array, h: float, Q: Array, R: Array) -> Design:
    """Design on given Jacobians; leading axes are separate designs."""
    Q, R = _weights(Q, R, F.shape[-1], G.shape[-1])
    lead = np.broadcast_shapes(F.shape[:-2], G.shape[:-2])
    F, G = np.broadcast_to(F, (*lead, *F.shape[-2:])), np.broadcast_to(G, (*lead, *G.shape[-2:]))
    K, S = np.empty((*lead, *R.shape[:1], *Q.shape[:1])), np.empty((*lead, *Q.shape))
    for trial in np.ndindex(lead):
        K[trial], S[trial] = _gains(F[trial], G[trial], h * Q, h * R)
    return Design(K, S, F, G, h)


def _gains(F: Array, G: Array, Q: Array, R: Array) -> tuple[Array, Array]:
    """Return gains and cost of one design, or refuse what has none, or one that brings nothing to rest."""
    try:
        K, S, poles = control.dlqr(F, G, Q, R, method="scipy")
    except (ValueError, np.linalg.LinAlgError) as error:
        raise InputError(f"design: Riccati's equation has no solution for these numbers ({error})") from None
    if not (largest := np.abs(poles).max()) < 1.0 - SETTLES:
        raise InputError(f"design: largest pole {largest:.10g}, so errors stay: weight all states, or change the step")
    return K, S


def lqr_along(body: Any, x_R: Any, u_R: Array, h: float, Q: Array, R: Array, S_end: Array | None = None) -> Design:
    """Design along a reference of n steps: x_R and u_R at the start of each, S has n + 1 entries.

    S = h Q + F^T S F - F^T S G K backwards, K = (h R + G^T S G)^-1 G^T S F. Without `S_end` the end is taken as
    steady: the regulator of the last step goes on for ever.
    """
    F, G = body.linearize(x_R, u_R, h)
    Q, R = _weights(Q, R, F.shape[-1], G.shape[-1])
    S = design(F[-1], G[-1], h, Q, R).S if S_end is None else check.finite("S_end", S_end, Q.shape)
    gains, costs = [], [S]
    for A, B in zip(F[::-1], G[::-1], strict=True):
        A_T, B_T = np.swapaxes(A, -1, -2), np.swapaxes(B, -1, -2)
        K = np.linalg.solve(h * R + B_T @ S @ B, B_T @ S @ A)
        S = h * Q + A_T @ S @ (A - B @ K)
        S = 0.5 * (S + np.swapaxes(S, -1, -2))
        gains.append(K)
        costs.append(S)
    return Design(np.stack(gains[::-1]), np.stack(costs[::-1]), F, G, h)


def _weights(Q: Array, R: Array, states: int, inputs: int) -> tuple[Array, Array]:
    """Return the weights as matrices; a vector is a diagonal."""
    full = [np.diag(W) if np.ndim(W) == 1 else W for W in (Q, R)]
    Q, R = check.covariance("Q", full[0], states), check.covariance("R", full[1], inputs)
    if np.linalg.eigvalsh(R)[0] <= 0.0:
        raise InputError("R: not positive definite; every input must cost something")
    return Q, R


SLOWEST = 1e-5  # of the Nyquist frequency: where the search for the worst frequency begins


class Margins(NamedTuple):
    """Margins at the plant's input: one input at a time, the others closed, and all inputs at once.

    A disk margin alpha allows any complex factor within a disk about 1: gains between (2 - alpha)/(2 + alpha) and its
    inverse together with no phase, or phases up to 2 arctan(alpha/2) together with no change of gain.
    """

    disk: Array  # (inputs,) alpha of each input
    gain_db: Array  # (inputs,) by which the gain may rise or fall
    phase_deg: Array  # (inputs,)
    disk_all: float  # alpha that all inputs bear at once, independently: a guaranteed lower bound


def margins(loop: control.StateSpace, frequencies: int = 400) -> Margins:
    """Return the margins of a sampled loop L under negative feedback, by its response at many frequencies.

    Single inputs come from python-control's `disk_margins`. All at once would need its mu solver (slycot); here mu of
    (S - T)/2 is bounded by the largest singular value after balancing, which errs to the safe side.
    Source: Seiler, Packard and Gahinet, "An introduction to disk margins", IEEE Control Syst. Mag. 40 (2020) 78.
    """
    nyquist = np.pi / loop.dt
    omega = np.geomspace(SLOWEST * nyquist, nyquist, frequencies)
    single = [control.disk_margins(one_loop(loop, i), omega) for i in range(loop.ninputs)]
    disk, gain_db, phase_deg = (np.array(x) for x in zip(*single, strict=True))
    response = np.moveaxis(np.atleast_3d(loop(np.exp(1j * omega * loop.dt), squeeze=False)), -1, 0)
    eye = np.eye(loop.ninputs)
    worst = [np.linalg.norm(_balanced(0.5 * np.linalg.solve(eye + L, eye - L)), 2) for L in response]
    return Margins(disk, gain_db, phase_deg, float(1.0 / max(worst)))


def one_loop(loop: control.StateSpace, i: int) -> control.StateSpace:
    """Return the loop seen at input i while all other inputs are closed."""
    others = [k for k in range(loop.ninputs) if k != i]
    A = loop.A - loop.B[:, others] @ loop.C[others]
    return control.ss(A, loop.B[:, [i]], loop.C[[i]], 0.0, loop.dt)


def _balanced(X: Array) -> Array:
    """Scale rows and columns by D and D^-1, which no independent factors of the inputs notice."""
    return matrix_balance(X, permute=False)[0]
