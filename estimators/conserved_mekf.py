"""The attitude filter that stays consistent at any rate, for any time: a Kalman filter in the conserved chart.

`update` corrects in the chart of `conserved_chart`, in which the constants of the motion are linear. `advance` takes an
interval and all measurements at its end in one go, and linearises the motion again while the correction is large, which
happens a few times per flight, while the rate is being acquired. With x = x^ + d the state at which the interval is
linearised, F of the motion from x times the reset from x^ to x, and n what the unknown torque did:

    C_m = F C F^T + Q,   S = H C_m H^T + R,   u = H^T S^-1 (z - h(motion of x, moved by n) + H (F d + n))
    s = C_m u - (F d + n)        what is left to correct at the end of the interval

begin with d = n = 0, which is the usual filter; where s turns the body by |s_a|^2 > 0.02 sigma (its square is then 1 %
of the sensor's error), linearise again at d = C F^T u, n = Q u, moving at most 0.15 rad at a time.

    mekf = ConservedMekf(J)
    belief, innovations = mekf.advance(belief, tau_B, h, [(sensor, measurement), ...])
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import Kernel, batched, maximum, minimum
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.kalman import (
    Innovation,
    factor,
    gate,
    gated,
    innovations,
    joseph,
    propagate_kernel,
    solve,
    symmetric_product,
    without_unused,
)
from gnc.estimators.mekf import Mekf
from gnc.estimators.mekf_kernels import curvature, in_chart, over_momentum, watched
from gnc.linalg import array, identity, zeros

Array = Any

BENT = 0.02  # |s_a|^2 / sigma beyond which an interval is linearised again [rad]
REACH = 0.15  # [rad] the largest turn between two linearisations
MOST = 20  # linearisations of an interval


@functools.cache
def moved_kernel(n: int, conserved: bool) -> Kernel:
    """Return the kernel that moves a belief's state by d in its chart: q, x, C, d, J, rho -> q, x, reset."""

    @batched(f"(4),({n - 3}),({n},{n}),({n}),(3,3),(3)->(4),({n - 3}),({n},{n})")
    def moved(q_IB, x, C, d, J, rho_B):
        return in_chart(q_IB, x, d, C, C, J, rho_B, conserved)

    return moved


@functools.cache
def joint_kernel(n: int, sizes: tuple[int, ...], columns: int, conserved: bool) -> Kernel:
    """Return the kernel of one linearisation of an interval, with measurements of these sizes at its end.

    q, x: the end of the motion from the state that d leads to; H over (a, dw, extras), or its first columns; gates and
    valid per sensor; limits as in `mekf_kernels.correction_kernel`. It returns belief, counts, S, nis and used per
    sensor, then how far the correction is from linear, |s_a|^2/(0.02 sigma), and d and n to linearise at next.
    """
    m, k = sum(sizes), len(sizes)

    @batched(
        f"(4),({n - 3}),({n},{n}),({n},{n}),({n},{n}),({n}),({n}),(),(),(3,3),(3),(3,{n - 3}),({m},{columns}),"
        f"({m},{m}),({m}),({k}),({k}),(4)->(4),({n - 3}),({n},{n}),(),(),({m},{m}),({k}),({k}),(),({n}),({n})"
    )
    def joint(q_IB, x, C, F, Q, d, noise, rejected, recoveries, J, rho_B, M, H, R, y, valid, gates, limits):
        C_m, way, H = symmetric_product(F, C) + Q, F @ d + noise, over_momentum(H, J, M, n)
        r = y + H @ way
        S = symmetric_product(H, C_m) + R
        wide = S + _blind(H, C_m, sizes)
        nis, used = gated(wide, r, valid, gates, sizes)
        H, r, S = without_unused(H, r, S, R, used, sizes)
        solved = solve(*factor(S)[:2], np.concatenate([H @ C_m, r.reshape(m, 1)], axis=1))
        u = H.T @ solved[:, n]
        s = C_m @ u - way
        C_used = joseph(C_m, H, R, solved[:, :n].T)
        q_new, x_new, reset = in_chart(q_IB, x, s, C_m, C_used, J, rho_B, conserved)
        C_new = symmetric_product(reset, C_used)
        good = C[0, 0] > 0.0
        for i in range(k):
            good = good & ((nis[i] >= 0.0) | (valid[i] == 0.0))
        counted = watched(q_new, x_new, C_new, good, rejected, recoveries, J, valid, used, limits)
        turn = s[:3] @ s[:3]
        per_square = sum(((H[:, i] * H[:, i]) @ array([1.0 / R[j, j] for j in range(m)]) for i in range(3)), 0.0)
        bent = turn * np.sqrt(per_square * (1.0 / 3.0)) * (1.0 / BENT)
        part = minimum(1.0, REACH / np.sqrt(maximum(turn, 1e-30)))
        d = d + part * (C @ (F.T @ u) - d)
        return *counted, S, nis, used, bent, d, noise + part * (Q @ u - noise)

    return joint


def _blind(H, C, sizes):
    """Return what H leaves out, for the gate of each sensor."""
    m, start = sum(sizes), 0
    wide = zeros(m, m)
    for size in sizes:
        rows = slice(start, start + size)
        wide[rows, rows] = curvature(H[rows, :3], C[:3, :3]) * identity(size)
        start += size
    return wide


class _Outcome(NamedTuple):
    """What a linearisation of an interval leads to, as `joint_kernel` returns it, and the residuals."""

    q_IB: Array
    x: Array
    C: Array
    rejected: Array
    recoveries: Array
    S: Array
    nis: Array
    used: Array
    bent: Array
    d: Array
    noise: Array
    y: Array


def _select(chosen: Array, first: _Outcome, second: _Outcome) -> _Outcome:
    """Return the first outcome where chosen, the second elsewhere, trial by trial."""
    return _Outcome(*[
        np.where(chosen[(..., *(None,) * (np.ndim(a) - chosen.ndim))], a, b) for a, b in zip(first, second, strict=True)
    ])  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class ConservedMekf(Mekf):
    """A `Mekf` in the conserved chart.

    With the inertia among its states, energy is no function that is known, and the chart is the usual one; intervals
    are linearised again all the same.
    """

    @property
    def conserved(self) -> bool:
        """Whether the constants of the motion are linear."""
        return not self._extra.changes_rate

    def advance(
        self,
        belief: Belief,
        tau_B: Array,
        h: Array,
        readings: Sequence[tuple[Any, Any]],
        env: Any = None,
        iterations: int = MOST,
        gated: bool = True,
        rho_B: Array | None = None,
    ) -> tuple[Belief, list[Innovation]]:
        """Predict over h and update with (sensor, measurement) pairs, all at once, linearised as often as is needed."""
        rho_end = belief.rho_B if rho_B is None else np.broadcast_to(np.asarray(rho_B, float), belief.rho_B.shape)
        if not readings:
            return self.predict(belief, tau_B, h, rho_end, env), []
        given = tau_B, h, rho_end, readings, env, gated
        outcome, sizes = self._linearised(belief, None, *given)
        again = np.asarray(outcome.bent > 1.0)
        for _ in range(iterations - 1):
            if not np.any(again):
                break
            outcome = _select(again, self._linearised(belief, outcome, *given)[0], outcome)
            again = again & (outcome.bent > 1.0)
        q_IB, x, C, rejected, recoveries = outcome[:5]
        P_B, extras = (x[..., :3], x[..., 3:]) if self.extras else (x, belief.extras)
        told = innovations(outcome.y, outcome.S, outcome.nis, outcome.used, sizes)
        return Belief(q_IB, P_B, rho_end, extras, C, rejected, recoveries), told

    def _linearised(
        self, start: Belief, before: _Outcome | None, tau_B: Array, h: Array, rho_end: Array,
        readings: Sequence[tuple[Any, Any]], env: Any, gated: bool,
    ) -> tuple[_Outcome, tuple[int, ...]]:  # fmt: skip
        """Linearise the interval at its start, or where the linearisation before it leads to; tell sensors' sizes."""
        at, reset, d, noise = start, None, np.zeros(self.size), np.zeros(self.size)
        if before is not None:
            d, noise = before.d, before.noise
            at, reset = self._moved(start, start.C, d)
        q_IB, P_B, F, Q = self.transition(at, start.C, tau_B, h, rho_end, env)
        end, F = at._replace(q_IB=q_IB, P_B=P_B, rho_B=rho_end), F if reset is None else F @ reset
        if self._noisy and before is not None:
            end, _ = self._moved(end, propagate_kernel(self.size)(start.C, F, Q), noise)
        y, H, R, valid, sizes = self._expected(end, readings, env)
        gates = np.array([gate(self.gate_probability if gated else 1.0, size) for size in sizes])
        M = self._by_momentum(self.state(end).w_B, end.extras)
        outcome = joint_kernel(self.size, sizes, H.shape[-1], self.conserved)(
            end.q_IB, self._vector(end), start.C, F, Q, d, noise, start.rejected, start.recoveries,
            self.inertia(end), rho_end, M, H, R, y, valid, gates, np.array(self._recovery, float),
        )  # fmt: skip
        return _Outcome._make((*outcome, y)), sizes

    def _vector(self, belief: Belief) -> Array:
        """Return (P, extras)."""
        return np.concatenate([belief.P_B, belief.extras], axis=-1) if self.extras else belief.P_B

    def _moved(self, belief: Belief, C: Array, d: Array) -> tuple[Belief, Array]:
        """Return the state at d of the belief's chart, and the reset between them."""
        given = self.inertia(belief), belief.rho_B
        q_IB, x, reset = moved_kernel(self.size, self.conserved)(belief.q_IB, self._vector(belief), C, d, *given)
        return belief._replace(q_IB=q_IB, P_B=x[..., :3], extras=x[..., 3:]), reset

    def _expected(
        self, end: Belief, readings: Sequence[tuple[Any, Any]], env: Any
    ) -> tuple[Array, Array, Array, Array, tuple[int, ...]]:
        """Return residuals, H and R of all sensors, stacked, their validity, and their sizes."""
        x, lead = self.state(end), end.q_IB.shape[:-1]
        predicted = [self._extra.expect(sensor, x, env, end.extras) for sensor, _ in readings]
        residuals = [s.residual(m[0], p.z) for (s, m), p in zip(readings, predicted, strict=True)]
        sizes, width = tuple(y.shape[-1] for y in residuals), max(p.H.shape[-1] for p in predicted)
        y, H = np.zeros((*lead, sum(sizes))), np.zeros((*lead, sum(sizes), width))
        R, valid, row = np.zeros((*lead, sum(sizes), sum(sizes))), np.zeros((*lead, len(sizes))), 0
        for i, ((_, m), p, size) in enumerate(zip(readings, predicted, sizes, strict=True)):
            rows = slice(row, row + size)
            y[..., rows], H[..., rows, : p.H.shape[-1]], R[..., rows, rows] = residuals[i], p.H, p.R
            valid[..., i], row = m[1], row + size
        return y, H, R, valid, sizes
