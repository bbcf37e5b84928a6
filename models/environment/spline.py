"""Cubic splines: those of SciPy to the bit, whose package of interpolation takes longer to load than a flight."""

from __future__ import annotations

import numpy as np

from gnc.typing import Array


def cubic(x: Array, y: Array, ends: tuple[Array, Array] | None = None) -> Array:
    """Return the coefficients (4, intervals, ...), highest power first, of the spline through y (knots, ...).

    The slopes s at the knots follow from continuous second derivatives,

        dx_k s_(k-1) + 2 (dx_(k-1) + dx_k) s_k + dx_(k-1) s_(k+1) = 3 (dx_k m_(k-1) + dx_(k-1) m_k),

    m the slopes of the chords, and at the ends from `ends`, or from continuous third derivatives one knot inside.
    """
    from scipy.linalg import solve_banded

    dx = np.diff(x)
    width = dx.reshape(-1, *[1] * (y.ndim - 1))
    chord = np.diff(y, axis=0) / width
    band, b = np.zeros((3, len(x))), np.empty(y.shape)
    band[0, 2:], band[1, 1:-1], band[2, :-2] = dx[:-1], 2 * (dx[:-1] + dx[1:]), dx[1:]
    b[1:-1] = 3 * (width[1:] * chord[:-1] + width[:-1] * chord[1:])
    if ends is None:
        first, last = x[2] - x[0], x[-1] - x[-3]
        band[1, 0], band[0, 1], band[1, -1], band[2, -2] = dx[1], first, dx[-2], last
        b[0] = ((width[0] + 2 * first) * width[1] * chord[0] + width[0] ** 2 * chord[1]) / first
        b[-1] = (width[-1] ** 2 * chord[-2] + (2 * last + width[-1]) * width[-2] * chord[-1]) / last
    else:
        band[1, 0] = band[1, -1] = 1.0
        b[0], b[-1] = ends
    s = solve_banded((1, 1), band, b.reshape(len(x), -1)).reshape(y.shape)
    bend = (s[:-1] + s[1:] - 2 * chord) / width
    return np.stack((bend / width, (chord - s[:-1]) / width - bend, s[:-1], y[:-1]))


def evaluated(x: Array, coefficients: Array, at: Array) -> Array:
    """Return the values at times within the knots."""
    k = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    d = (at - x[k]).reshape(-1, *[1] * (coefficients.ndim - 2))
    c = coefficients[:, k]
    return c[3] + c[2] * d + c[1] * (d * d) + c[0] * (d * d * d)
