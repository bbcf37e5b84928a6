"""Where attitude and rate are in a state, and where their errors are among the columns of H.

A state with the field `q_IB` has the error (a, dw), 6 columns; one with `dq_IB` has (dxi, dchi), 12 columns, whose
first three are the same rotation a, q = q^ exp(a/2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc.linalg import block, zeros
from gnc.typing import Array


def has_pose(x: Any) -> bool:
    """Tell whether the state is one of pose and twist."""
    return hasattr(x, "dq_IB")


def attitude(x: Any) -> Array:
    """Return q_IB."""
    return np.asarray(x.dq_IB)[..., :4] if has_pose(x) else x.q_IB


def rate(x: Any) -> Array:
    """Return w_B."""
    return np.asarray(x.chi_B)[..., :3] if has_pose(x) else x.w_B


def columns(x: Any) -> int:
    """Return the size of the error state."""
    return 12 if has_pose(x) else 6


def over_attitude(H: Array, x: Any) -> Array:
    """Return H (..., m, n) over the error state from H (..., m, 3) over a."""
    return _placed(H, 0, columns(x))


def over_rate(H: Array, x: Any) -> Array:
    """Return H (..., m, n) over the error state from H (..., m, 3) over dw."""
    return _placed(H, 6 if has_pose(x) else 3, columns(x))


def _placed(H: Array, first: int, n: int) -> Array:
    whole = np.zeros((*H.shape[:-1], n))
    whole[..., first : first + H.shape[-1]] = H
    return whole


def padded(H: Array, n: int) -> Array:
    """Return H with n columns, in a kernel: there the zeros cost less than a second array does."""
    return block([[H, zeros(len(H), n - H.shape[-1])]])
