"""How much gain, phase and delay a sampled loop can bear before it is unstable."""

from __future__ import annotations

from typing import NamedTuple

import control
import numpy as np
from scipy.linalg import matrix_balance

from gnc.typing import Array

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
