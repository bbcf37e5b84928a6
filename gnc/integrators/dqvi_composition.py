"""DQVI to the fourth order, in as many substeps as a fast turning body needs.

The fourth order is Suzuki's composition, symplectic as each of its stages is. Written out, the five stages would make
kernels that take long to compile, so that one stage is the kernel, which counts along, and `repeat` runs it. Jacobians
are the products of the stages' exact ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc.batch import batched, where
from gnc.integrators import dqvi
from gnc.integrators.composition import SUZUKI4
from gnc.linalg import block, zeros

OUTER, MIDDLE, STAGES = SUZUKI4[0], SUZUKI4[2], len(SUZUKI4)  # fractions of h; the middle stage goes back
TURN_PER_STEP = 0.4  # |w| h [rad] of one stage; at 1 rad the equation has no solution
MOST_SUBSTEPS = 1000  # what turns faster than that is lost


def _fraction(stage):
    """Return the part of h that a stage takes; stages are counted through, 0, 1, 2 ..."""
    return where(stage - STAGES * np.floor(stage / STAGES) == 2.0, MIDDLE, OUTER)


@batched("(8),(6),(),(6),(6,6),(),()->(8),(6),()")
def _stage(dq_IB, chi_B, stage, wrench_B, M, filler, h):
    """Take one stage and count it."""
    return *dqvi.step(dq_IB, chi_B, wrench_B, M, filler, _fraction(stage) * h), stage + 1.0


def _chain(F, G, F_step, G_step):
    """Return the Jacobians of a motion followed by a step; both have a lower left block of zeros."""
    A, B, C = F[:6, :6], F[:6, 6:], F[6:, 6:]
    A_step, B_step, C_step = F_step[:6, :6], F_step[:6, 6:], F_step[6:, 6:]
    F = block([[A_step @ A, A_step @ B + B_step @ C], [zeros(6, 6), C_step @ C]])
    return F, np.concatenate([A_step @ G[:6] + B_step @ G[6:], C_step @ G[6:]]) + G_step


@batched("(8),(6),(12,12),(12,6),(6),(6,6),(),()->(8),(6),(12,12),(12,6)")
def chained_step_jacobian(dq_IB, chi_B, F, G, wrench_B, M, filler, h):
    """Take one step of second order and chain its Jacobians to those of the motion so far; made to be repeated."""
    dq_IB, chi_B, F_step, G_step = dqvi.step_jacobian(dq_IB, chi_B, wrench_B, M, filler, h)
    return dq_IB, chi_B, *_chain(F, G, F_step, G_step)


@batched("(8),(6),(12,12),(12,6),(),(6),(6,6),(),()->(8),(6),(12,12),(12,6),()")
def _stage_jacobian(dq_IB, chi_B, F, G, stage, wrench_B, M, filler, h):
    """Take one stage, chain its Jacobians, and count it."""
    return *chained_step_jacobian(dq_IB, chi_B, F, G, wrench_B, M, filler, _fraction(stage) * h), stage + 1.0


def step4(dq_IB: Any, chi_B: Any, wrench_B: Any, M: Any, filler: Any, h: Any, n: Any = 1) -> tuple[Any, Any]:
    """Take n steps of fourth order, each of length h, under a wrench that is constant in body axes.

    Arguments broadcast over leading axes as those of `dqvi.step`; n may differ between trials.
    """
    return _stage.repeat(STAGES * np.asarray(n), dq_IB, chi_B, 0.0, wrench_B, M, filler, h)[:2]


def step4_jacobian(dq_IB: Any, chi_B: Any, wrench_B: Any, M: Any, filler: Any, h: Any, n: Any = 1) -> tuple[Any, ...]:
    """Return what `step4` does, and F and G of all its n steps."""
    F, G = np.eye(12), np.zeros((12, 6))
    return _stage_jacobian.repeat(STAGES * np.asarray(n), dq_IB, chi_B, F, G, 0.0, wrench_B, M, filler, h)[:4]


def substeps(chi_B: Any, h: Any, order: int = 4) -> np.ndarray:
    """Return how many steps to divide h into, so that no stage turns the body by more than 0.4 rad."""
    longest = {2: 1.0, 4: abs(MIDDLE)}[order]
    turn = np.linalg.norm(np.asarray(chi_B)[..., :3], axis=-1) * np.abs(h) * longest
    return np.clip(np.ceil(np.nan_to_num(turn, nan=0.0) / TURN_PER_STEP), 1, MOST_SUBSTEPS)  # a lost trial stays lost


def propagate(dq_IB: Any, chi_B: Any, wrench_B: Any, M: Any, filler: Any, h: Any, order: int = 4) -> tuple[Any, Any]:
    """Move over h under a wrench that is constant in body axes, in as many substeps as each trial needs."""
    n = substeps(chi_B, h, order)
    if order == 2:
        return dqvi.step.repeat(n, dq_IB, chi_B, wrench_B, M, filler, h / n)
    return step4(dq_IB, chi_B, wrench_B, M, filler, h / n, n)


def propagate_jacobian(
    dq_IB: Any, chi_B: Any, wrench_B: Any, M: Any, filler: Any, h: Any, order: int = 4
) -> tuple[Any, ...]:
    """Return what `propagate` does, and F and G of the whole."""
    n = substeps(chi_B, h, order)
    if order == 2:
        F, G = np.eye(12), np.zeros((12, 6))
        return chained_step_jacobian.repeat(n, dq_IB, chi_B, F, G, wrench_B, M, filler, h / n)
    return step4_jacobian(dq_IB, chi_B, wrench_B, M, filler, h / n, n)
