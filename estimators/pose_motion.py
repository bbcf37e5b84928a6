"""How the mean of a pose filter moves: the methods by name, each with the exact Jacobians of what it does.

move(method, dq_IB, chi_B, wrench_B, M, h) -> dq_IB, chi_B, F, G        errors (dxi, dchi), wrench in body axes
move_mean(the same)                        -> dq_IB, chi_B

auto        in free flight `exact`, under a wrench the series of `pose_taylor`, in substeps by the covariance C
vi2, vi4    DQVI, of second order, and of fourth by Suzuki's composition
rk4         the comparator: classical Runge-Kutta, with its own transition matrix, in the substeps of vi4
exact       the exact drift about the centre of mass; a wrench by splitting (ABA2)
"""

from __future__ import annotations

import numpy as np

from gnc.batch import batched
from gnc.estimators import centre_motion
from gnc.estimators.process_model import free_transition
from gnc.estimators.wrench_noise import count, taken
from gnc.integrators import dqvi, free_drift, pose_runge_kutta, pose_taylor
from gnc.integrators import dqvi as dqvi_composition
from gnc.integrators.composition import chained
from gnc.typing import Array

METHODS = ("auto", "vi2", "vi4", "rk4", "exact")
TURN = 0.2  # [rad] of a stage
LONGEST_STAGE = {"vi2": 1.0, "vi4": abs(dqvi_composition.MIDDLE), "rk4": abs(dqvi_composition.MIDDLE)}
UNMOVED = np.eye(12), np.zeros((12, 6))
FREE = np.zeros(6)
CERTAIN = np.zeros((12, 12))  # a covariance against which only round-off is small

_chained_rk4 = chained(pose_runge_kutta.step, pose_runge_kutta.step_jacobian)


def substeps(method: str, chi_B: Array, wrench_B: Array, M: Array, h: Array, turn: float | None) -> Array:
    """Return in how many substeps to move, so that no stage turns by more than `turn`; NaN if a trial is lost."""
    return np.ones(()) if turn is None else count(chi_B, wrench_B, M, h, turn / LONGEST_STAGE[method])


def move(
    method: str, dq_IB: Array, chi_B: Array, wrench_B: Array | None, M: Array, h: Array,
    turn: float | None = TURN, C: Array = CERTAIN,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Move over h in as many substeps as each trial needs, or in one if `turn` is None; NaN marks a lost trial.

    No wrench, None, is free flight: 'exact' then takes one drift instead of three, and has no G, nor has 'auto'.
    """
    if method == "auto" and wrench_B is not None:
        return _taylor(dq_IB, chi_B, C, wrench_B, M, h)
    if method == "auto":
        return *centre_motion.drift(free_transition, dq_IB, chi_B, M, h), UNMOVED[1]
    if method == "exact":
        return _exact(dq_IB, chi_B, wrench_B, M, h)
    counts, given = _divided(method, chi_B, wrench_B, M, h, turn)
    if method == "vi4":
        return dqvi_composition.step4_jacobian(dq_IB, chi_B, *given, counts)
    kernel = dqvi_composition.chained_step_jacobian if method == "vi2" else _chained_rk4
    return kernel.repeat(counts, dq_IB, chi_B, *UNMOVED, *given)


def move_mean(
    method: str, dq_IB: Array, chi_B: Array, wrench_B: Array | None, M: Array, h: Array,
    turn: float | None = TURN, C: Array = CERTAIN,
) -> tuple[Array, Array]:  # fmt: skip
    """Move over h as `move` does, to the same bits, without the Jacobians."""
    if method in ("auto", "exact"):
        return move(method, dq_IB, chi_B, wrench_B, M, h, C=C)[:2]
    counts, given = _divided(method, chi_B, wrench_B, M, h, turn)
    if method == "vi4":
        return dqvi_composition.step4(dq_IB, chi_B, *given, counts)
    kernel = dqvi.step if method == "vi2" else pose_runge_kutta.step
    return kernel.repeat(counts, dq_IB, chi_B, *given)


def _divided(
    method: str, chi_B: Array, wrench_B: Array | None, M: Array, h: Array, turn: float | None
) -> tuple[Array, tuple[Array, Array, Array, Array]]:
    """Return the number of substeps, and what each of them takes after the state."""
    wrench_B = FREE if wrench_B is None else wrench_B
    n = substeps(method, chi_B, wrench_B, M, h, turn)
    return taken(n), (wrench_B, M, M[..., 3, 3], np.asarray(h) / n)


def _taylor(
    dq_IB: Array, chi_B: Array, C: Array, wrench_B: Array, M: Array, h: Array
) -> tuple[Array, Array, Array, Array]:
    n = pose_taylor.count(chi_B, C, wrench_B, M, h)
    return _chained_taylor.repeat(taken(n), dq_IB, chi_B, *UNMOVED, wrench_B, M, np.asarray(h) / n)


@batched("(8),(6),(12,12),(12,6),(6),(6,6),()->(8),(6),(12,12),(12,6)")
def _chained_taylor(dq_IB, chi_B, F, G, wrench_B, M, h):
    dq_IB, chi_B, F_step, G_step = pose_taylor.step_gains(dq_IB, chi_B, wrench_B, M, h)
    return dq_IB, chi_B, F_step @ F, F_step @ G + G_step


def _exact(dq_IB: Array, chi_B: Array, wrench_B: Array | None, M: Array, h: Array) -> tuple[Array, Array, Array, Array]:
    if wrench_B is None:
        dq_IB, chi_B, F = centre_motion.drift(free_drift.drift_jacobian, dq_IB, chi_B, M, h)
        return dq_IB, chi_B, F, UNMOVED[1]
    return centre_motion.step(free_drift.drift_jacobian, dq_IB, chi_B, wrench_B, M, h)
