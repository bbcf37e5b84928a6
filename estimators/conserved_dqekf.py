"""The pose filter that stays consistent: `DqEkf` in the conserved chart, as `ConservedMekf` is for attitudes.

`update` corrects in the chart of `conserved_pose`; `advance` linearises an interval again while the correction is
large, by the rule of `conserved_mekf`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import Kernel, as_numbers, batched, maximum, minimum
from gnc.estimators import conserved_pose
from gnc.estimators.conserved_mekf import BENT, MOST, REACH
from gnc.estimators.conserved_pose import Unknown, moved_kernel, retract
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.dqekf_kernels import watched
from gnc.estimators.inertia_states import Inertia
from gnc.estimators.kalman import Innovation, factor, gate, gated, joseph, solve, symmetric_product, without_unused
from gnc.estimators.pose_belief import PoseBelief, vector

Array = Any


@functools.cache
def joint_kernel(n: int, m: int, unknown: Unknown) -> Kernel:
    """Return the kernel of one linearisation of an interval, with m measurements at its end.

    dq, x: the end of the motion from the state that d leads to; limits as in `dqekf_kernels.correction_kernel`. It
    returns belief, counts, S, nis and used, then |s_a|^2/(0.02 sigma), and d and n to linearise at next.
    """

    @batched(
        f"(8),({n - 6}),({n},{n}),({n},{n}),({n},{n}),({n}),({n}),(),(),(6,6),({m},{n}),({m},{m}),({m}),(),(7)"
        f"->(8),({n - 6}),({n},{n}),(),(),({m},{m}),(),(),(),({n}),({n})"
    )
    def joint(dq_IB, x, C, F, Q, d, noise, rejected, recoveries, M, H, R, y, valid, limits):
        C_m, way = symmetric_product(F, C) + Q, F @ d + noise
        r, S = y + H @ way, symmetric_product(H, C_m) + R
        nis, used = gated(S, r, [valid], limits[:1], (m,))
        H, r, S_used = without_unused(H, r, S, R, used, (m,))
        solved = solve(*factor(S_used)[:2], np.concatenate([H @ C_m, r.reshape(m, 1)], axis=1))
        u = H.T @ solved[:, n]
        s, C_used = C_m @ u - way, joseph(C_m, H, R, solved[:, :n].T)
        dq_new, x_new, reset = retract(dq_IB, x, s, C_used, M, unknown)
        C_new = symmetric_product(reset, C_used)
        counted = watched(dq_new, x_new, C_new, nis[0], rejected, recoveries, valid, used[0], limits)
        turn = s[:3] @ s[:3]
        per_square = sum((H[j, i] * H[j, i] / R[j, j] for i in range(3) for j in range(m)), 0.0)
        bent = turn * np.sqrt(per_square * (1.0 / 3.0)) * (1.0 / BENT)
        part = minimum(1.0, REACH / np.sqrt(maximum(turn, 1e-30)))
        d = d + part * (C @ (F.T @ u) - d)
        return *counted, S, nis[0], used[0], bent, d, noise + part * (Q @ u - noise)

    return joint


class _Outcome(NamedTuple):
    """What a linearisation of an interval leads to, as `joint_kernel` returns it, and the residual."""

    dq_IB: Array
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


@dataclass(frozen=True, eq=False, repr=False)
class ConservedDqEkf(DqEkf):
    """A `DqEkf` in the conserved chart."""

    @property
    def _unknown(self) -> Unknown:
        """Where the inertia is among the extra states."""
        for extra, part in zip(self.extras, self._slices, strict=True):
            if isinstance(extra, Inertia):
                return part.start, extra.form
        return None

    def advance(
        self, belief: PoseBelief, wrench_B: Array | None, h: Array, sensor: Any, measurement: Any, env: Any = None,
        iterations: int = MOST, gated: bool = True,
    ) -> tuple[PoseBelief, Innovation]:  # fmt: skip
        """Predict over h and update, linearised as often as is needed."""
        given = wrench_B, h, sensor, measurement, env, gated
        outcome = self._linearised(belief, None, *given)
        again = np.asarray(outcome.bent > 1.0)
        for _ in range(iterations - 1):
            if not np.any(again):
                break
            newer, lead = self._linearised(belief, outcome, *given), again.ndim
            chosen = [again[(..., *(None,) * (np.ndim(a) - lead))] for a in newer]
            outcome = _Outcome(*[np.where(c, a, b) for c, a, b in zip(chosen, newer, outcome, strict=True)])
            again = again & (outcome.bent > 1.0)
        dq_IB, x, C, rejected, recoveries, S, nis, used = outcome[:8]
        belief = PoseBelief(dq_IB, x[..., :6], x[..., 6:], C, rejected, recoveries)
        return belief, Innovation(outcome.y, S, nis, used > 0.0)

    def update(
        self, belief: PoseBelief, sensor: Any, measurement: Any, env: Any = None, gated: bool = True
    ) -> tuple[PoseBelief, Innovation]:
        """Correct with a measurement (z, valid); trials where it is not valid stay as they are."""
        still = np.eye(self.size), np.zeros((self.size, self.size))
        outcome = self._corrected(belief, belief, *still, np.zeros(self.size), np.zeros(self.size), sensor, measurement,
                                  env, gated)  # fmt: skip
        dq_IB, x, C, rejected, recoveries, S, nis, used = outcome[:8]
        belief = PoseBelief(dq_IB, x[..., :6], x[..., 6:], C, rejected, recoveries)
        return belief, Innovation(outcome.y, S, nis, used > 0.0)

    def _linearised(
        self, start: PoseBelief, before: _Outcome | None, wrench_B: Array | None, h: Array, *reading: Any
    ) -> _Outcome:
        """Linearise the interval at its start, or where the linearisation before it leads to."""
        at, reset, d, noise = start, None, np.zeros(self.size), np.zeros(self.size)
        if before is not None:
            d, noise = before.d, before.noise
            at, reset = self._moved(start, start.C, d)
        end, F, Q = self.transition(at, start.C, wrench_B, h)
        F = F if reset is None else F @ reset
        if self._noisy and before is not None:
            end, _ = self._moved(end, F @ start.C @ np.swapaxes(F, -1, -2) + Q, noise)
        return self._corrected(start, end, F, Q, d, noise, *reading)

    def _moved(self, belief: PoseBelief, C: Array, d: Array) -> tuple[PoseBelief, Array]:
        """Return the state at d of the belief's chart, and the reset between them."""
        kernel = moved_kernel(self.size, self._unknown)
        dq_IB, x, reset = kernel(belief.dq_IB, vector(belief), C, d, self.inertia(belief))
        return belief._replace(dq_IB=dq_IB, chi_B=x[..., :6], extras=x[..., 6:]), reset

    def _corrected(
        self, start: PoseBelief, end: PoseBelief, F: Array, Q: Array, d: Array, noise: Array,
        sensor: Any, measurement: Any, env: Any, gated: bool,
    ) -> _Outcome:  # fmt: skip
        """Correct at the end of an interval that was linearised."""
        expected, H = self._expect(end, sensor, env)
        y, valid, m = sensor.residual(measurement[0], expected.z), as_numbers(measurement[1]), H.shape[-2]
        limit = gate(self.gate_probability, m) if gated else np.inf
        limits = np.array([limit, self.patience, self.inflation, *self.widest])
        counts = start.rejected, start.recoveries
        outcome = joint_kernel(self.size, m, self._unknown)(
            end.dq_IB, vector(end), start.C, F, Q, d, noise, *counts, self.inertia(end), H, expected.R, y, valid, limits
        )
        return _Outcome._make((*outcome, y))

    def error(self, belief: PoseBelief, truth: Any) -> tuple[Array, Array]:
        """Return the error (dxi, dchi) of the truth in the filter's own chart, and its covariance: for NEES."""
        if self._unknown is not None:
            return super().error(belief, truth)
        C = belief.C[..., :12, :12]
        given = self.inertia(belief), truth.dq_IB, truth.chi_B
        return conserved_pose.conserved_error(belief.dq_IB, belief.chi_B, C, *given), C
