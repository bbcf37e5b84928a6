"""Functions for kernels, made of IEEE basic operations so that every machine computes the same bits.

`np.sqrt`, `np.sin`, `np.cos`, `np.tan`, `np.arcsin`, `np.arccos`, `np.arctan`, `np.arctan2`, `np.floor`, `np.rint`,
`abs` work on a kernel's numbers and arrays; what NumPy cannot hand on (`where`, `minimum`, `maximum`, `copysign`) is
here. All go through the elements of arrays. Outside kernels they work on plain numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from gnc.batch.scalar import COMPOSITES, Operand, Scalar, is_test, operate

_ZERO, _ONE = np.float64(0.0), np.float64(1.0)
IN_SINGLE: dict[float, float] = {}  # tolerances by their value in double precision


def precise(double: float, single: float) -> float:
    """Return a tolerance; where kernels are written for single precision, it is another one there."""
    if IN_SINGLE.setdefault(double, single) != single:
        raise ValueError(f"{double} is a tolerance already")
    return double


def where(test: Any, a: Any, b: Any) -> Any:
    """Choose a where the test holds and b elsewhere, for each trial by itself; both are computed."""
    return _elementwise("where", test, a, b)


def as_numbers(x: Any) -> Any:
    """Return x as floats, of tests 1 where they hold and 0 elsewhere; the symbols of a program stay symbols."""
    if isinstance(x, np.bool_):  # for one trial NumPy takes ten times as long
        return _ONE if x else _ZERO
    if isinstance(x, Scalar):
        return where(x, 1.0, 0.0) if is_test(x) else x
    if isinstance(x, np.ndarray) and x.dtype.hasobject:
        return np.array([as_numbers(one) for one in x.ravel()], dtype=object).reshape(x.shape)
    return np.asarray(x, float)


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers; NaN if one is NaN."""
    return _elementwise("minimum", a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger of two numbers; NaN if one is NaN."""
    return _elementwise("maximum", a, b)


def copysign(magnitude: Any, sign: Any) -> Any:
    """Return the magnitude with the sign of another number, of zeros too."""
    return _elementwise("copysign", magnitude, sign)


def _elementwise(op: str, *operands: Any) -> Any:
    arrays = [np.asarray(x, dtype=object) for x in operands]
    if not any(a.ndim for a in arrays):
        return operate(op, *operands)
    kind = next((type(x) for x in operands if isinstance(x, np.ndarray)), np.ndarray)  # with its rules
    return np.frompyfunc(lambda *x: operate(op, *x), len(arrays), 1)(*arrays).view(kind)


def _minimum(a: Operand, b: Operand) -> Operand:
    return where(a < b, a, where(b <= a, b, a + b))  # a + b is NaN: one of them is


def _maximum(a: Operand, b: Operand) -> Operand:
    return where(a > b, a, where(b >= a, b, a + b))


# pi/2 in three pieces; the first two have 33 bits, so that their products with a whole number up to 2^20 are exact.
_HALF_PI = Fraction("1.5707963267948966192313216916397514420985846996875529104874722961")
_PIECE_1 = float(Fraction(round(_HALF_PI * 2**32), 2**32))
_PIECE_2 = float(Fraction(round((_HALF_PI - Fraction(_PIECE_1)) * 2**65), 2**65))
_PIECE_3 = float(_HALF_PI - Fraction(_PIECE_1) - Fraction(_PIECE_2))


def _series(z: Operand, first: int, last: int) -> Operand:
    """Return 1/first! - z/(first + 2)! + z^2/(first + 4)! - ... up to 1/last!, by Horner's rule."""
    total: Operand = 0.0
    for n in reversed(range(first, last + 1, 2)):
        total = 1 / math.factorial(n) - z * total
    return total


def _sin_cos_within_an_octant(r: Operand) -> tuple[Operand, Operand]:
    """Return sin r and cos r for |r| <= pi/4, each below one ulp of error."""
    z = r * r
    sine = r - r * z * _series(z, 3, 17)
    half = 0.5 * z
    near = 1.0 - half
    cosine = near + (((1.0 - near) - half) + z * z * _series(z, 4, 18))
    return sine, cosine


def _sin_cos(x: Operand) -> tuple[Operand, Operand]:
    """Return sin x and cos x; |x| <= 1e6 keeps full accuracy, beyond it digits go as they do in x itself."""
    n = operate("rint", x * (2.0 / math.pi))
    r = ((x - n * _PIECE_1) - n * _PIECE_2) - n * _PIECE_3
    sine, cosine = _sin_cos_within_an_octant(r)
    quarter = n - 4.0 * operate("floor", n * 0.25)
    odd = (quarter == 1.0) | (quarter == 3.0)
    s, c = where(odd, cosine, sine), where(odd, sine, cosine)
    return where(quarter >= 2.0, -s, s), where((quarter == 1.0) | (quarter == 2.0), -c, c)


def _arctan2(y: Operand, x: Operand) -> Operand:
    """Return the angle of (x, y): a guess in the first octant, one exact correction, then unfolding.

    With t = min/max and a guess g (0.004 rad wrong at most), arctan t = g + arctan((t - tan g)/(1 + t tan g)), and the
    last argument is so small that five terms of the series are exact. Both zero gives zero; infinities give NaN.
    """
    across, along = abs(y), abs(x)
    steep = along < across
    large = where(steep, across, along)
    t = where(steep, along, across) / where(large == 0.0, 1.0, large)
    guess = t * (math.pi / 4 + 0.273 * (1.0 - t))
    sine, cosine = _sin_cos_within_an_octant(guess)
    d = (t * cosine - sine) / (cosine + t * sine)
    z = d * d
    angle = guess + (d - d * z * (1 / 3 - z * (1 / 5 - z * (1 / 7 - z * (1 / 9)))))
    angle = where(steep, _PIECE_1 - (angle - (_PIECE_2 + _PIECE_3)), angle)
    behind = operate("copysign", 1.0, x) < 0.0
    angle = where(behind, 2 * _PIECE_1 - (angle - 2 * (_PIECE_2 + _PIECE_3)), angle)
    return operate("copysign", angle, y)


def _cosine_of_sine(x: Operand) -> Operand:
    return operate("sqrt", (1.0 - x) * (1.0 + x))


COMPOSITES.update(
    minimum=_minimum,
    maximum=_maximum,
    sin=lambda x: _sin_cos(x)[0],
    cos=lambda x: _sin_cos(x)[1],
    tan=lambda x: operate("divide", *_sin_cos(x)),
    arctan2=_arctan2,
    arctan=lambda x: operate("arctan2", x, 1.0),
    arcsin=lambda x: operate("arctan2", x, _cosine_of_sine(x)),
    arccos=lambda x: operate("arctan2", _cosine_of_sine(x), x),
)
