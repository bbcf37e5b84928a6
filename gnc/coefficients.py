"""Functions of the squared angle z = theta^2 that exponentials, logarithms and their Jacobians are made of.

All are analytic at zero, so vectors enter through z = a . a and nothing divides by a length. Where the closed form
cancels, the power series is used: below theta = 1 for the sines, up to pi for the differences (there its largest term
is still below twice the sum). `*_slope` is the derivative with respect to z. For use in kernels; z >= 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnc.batch import where

Number = Any  # a kernel's number

SMALL = 1.0  # below it sines and cosines come from their series
HALF_TURN = 10.0  # a little above pi^2: below it the differences come from their series
COT_LIMIT = 16.0  # below it the inverse Jacobians' coefficient comes from its pole and a series
POLE = 4 * math.pi**2  # where the inverse Jacobians are singular


def _polynomial(z: Number, coefficients: Sequence[float]) -> Number:
    """Evaluate by Horner's rule."""
    total: Number = 0.0
    for coefficient in reversed(coefficients):
        total = coefficient + z * total
    return total


def _piecewise(z: Number, limit: float, series: Sequence[float], closed: Callable[[Number], Number]) -> Number:
    """Use the series below the limit and the closed form above; neither sees the other's arguments."""
    below = z < limit
    return where(below, _polynomial(where(below, z, 0.0), series), closed(where(below, limit, z)))


def _alternating(first: int, terms: int) -> list[float]:
    """Return the coefficients (-1)^k / (2 k + first)!, to which all of sin and cos belong."""
    return [(-1) ** k / math.factorial(2 * k + first) for k in range(terms)]


def _derivative(series: Sequence[float]) -> list[float]:
    return [k * coefficient for k, coefficient in enumerate(series)][1:]


_COSINE, _SINC = _alternating(0, 10), _alternating(1, 10)
_SINC_LONG, _VERSINE, _SINE_GAP = (_alternating(first, 17) for first in (1, 2, 3))


def cosine(z: Number) -> Number:
    """Return cos theta."""
    return _piecewise(z, SMALL, _COSINE, lambda z: np.cos(np.sqrt(z)))


def sinc(z: Number) -> Number:
    """Return sin theta / theta."""
    return _piecewise(z, SMALL, _SINC, lambda z: np.sin(np.sqrt(z)) / np.sqrt(z))


def sinc_slope(z: Number) -> Number:
    """Return d sinc / dz = (cos theta - sinc) / (2 z)."""
    return _piecewise(z, HALF_TURN, _derivative(_SINC_LONG), lambda z: (cosine(z) - sinc(z)) / (2.0 * z))


def versine(z: Number) -> Number:
    """Return (1 - cos theta) / theta^2 = sinc(theta/2)^2 / 2, which does not cancel."""
    return 0.5 * sinc(0.25 * z) ** 2


def versine_slope(z: Number) -> Number:
    """Return d versine / dz = (sinc - 2 versine) / (2 z)."""
    return _piecewise(z, HALF_TURN, _derivative(_VERSINE), lambda z: (sinc(z) - 2.0 * versine(z)) / (2.0 * z))


def sine_gap(z: Number) -> Number:
    """Return (theta - sin theta) / theta^3 = (1 - sinc) / z."""
    return _piecewise(z, HALF_TURN, _SINE_GAP, lambda z: (1.0 - sinc(z)) / z)


def sine_gap_slope(z: Number) -> Number:
    """Return d sine_gap / dz = (versine - 3 sine_gap) / (2 z)."""
    return _piecewise(z, HALF_TURN, _derivative(_SINE_GAP), lambda z: (versine(z) - 3.0 * sine_gap(z)) / (2.0 * z))


def _zeta_tail(s: int) -> float:
    """Return zeta(s) - 1 = 2^-s + 3^-s + ..., the end of the sum by Euler and Maclaurin."""
    n = 200
    end = n ** (1 - s) / (s - 1) + n**-s / 2 + s * n ** (-s - 1) / 12 - s * (s + 1) * (s + 2) * n ** (-s - 3) / 720
    return math.fsum([k**-s for k in range(2, n)] + [end])


# Without its first pole the partial-fraction sum below converges to 4 pi: one digit per term at theta = 4.
_COT_GAP = [2 * POLE ** -(n + 1) * _zeta_tail(2 * n + 2) for n in range(18)]


def cot_gap(z: Number) -> Number:
    """Return 1/theta^2 - (1 + cos theta) / (2 theta sin theta), of the inverse Jacobians; singular at 2 pi.

    It is sum_k 2 / ((2 pi k)^2 - z): the first pole is kept, the rest summed by powers of z; all terms are positive.
    """
    below = z < COT_LIMIT
    near = where(below, z, 0.0)
    far = where(below, COT_LIMIT, z)
    closed = (1.0 - sinc(far) / (2.0 * versine(far))) / far
    return where(below, 2.0 / (POLE - near) + _polynomial(near, _COT_GAP), closed)


def cot_gap_slope(z: Number) -> Number:
    """Return d cot_gap / dz = ((1 + sinc) / (4 versine) - 1) / z^2."""
    below = z < COT_LIMIT
    near = where(below, z, 0.0)
    far = where(below, COT_LIMIT, z)
    closed = ((1.0 + sinc(far)) / (4.0 * versine(far)) - 1.0) / (far * far)
    return where(below, 2.0 / (POLE - near) ** 2 + _polynomial(near, _derivative(_COT_GAP)), closed)


# arctan(t)/t for t^2 below ARCTAN_LIMIT.
ARCTAN_LIMIT = 0.01
_ARCTAN = [(-1) ** k / (2 * k + 1) for k in range(9)]


def arctan_ratio(y: Number, x: Number) -> Number:
    """Return arctan2(t, x) / t with t = sqrt(y), the angle of a quaternion per length of its vector part."""
    slope = y / (x * x)
    below = (slope < ARCTAN_LIMIT) & (x > 0.0)
    near = _polynomial(where(below, slope, 0.0), _ARCTAN)
    t = np.sqrt(where(below, 1.0, y))
    return where(below, near, np.arctan2(t, x)) / where(below, x, t)
