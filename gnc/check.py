"""Validation at the door: parameters are checked once, on construction, and never inside kernels.

Every check takes the argument's name and its value, with any leading batch axes, and returns the value as a float64
array (not copied when it is one already). What is wrong raises `InputError`: one line that names the argument, the
trial, the number that is off, and the remedy.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnc.errors import InputError
from gnc.typing import Array

SYMMETRY = 1e-9  # relative: looser than round-off, tighter than any typing error
TRIANGLE = 1e-9  # a flat plate meets the triangle inequality with equality, up to round-off
DEFINITE = 1e-14  # a smallest eigenvalue below this fraction of the largest is zero in double precision
CORRELATION = 1e-9  # how far round-off may carry a singular covariance below zero
UNIT_NORM = 1e-6  # a quaternion printed with seven digits passes, a forgotten normalisation does not


def shape(name: str, x: ArrayLike, core_shape: tuple[int, ...]) -> Array:
    """Real numbers whose last axes are `core_shape`."""
    try:
        a = np.asarray(x)
    except ValueError:
        raise InputError(f"{name}: rows of unequal length; expected {_expected(core_shape)}") from None
    if a.dtype.kind not in "iuf":
        raise InputError(f"{name}: expected real numbers, got {_brief(x)}")
    if a.ndim < len(core_shape) or a.shape[a.ndim - len(core_shape) :] != core_shape:
        raise InputError(f"{name}: expected {_expected(core_shape)}, got {a.shape}")
    return a.astype(np.float64, copy=False)


def finite(name: str, x: ArrayLike, core_shape: tuple[int, ...] = ()) -> Array:
    """Finite numbers whose last axes are `core_shape`."""
    a = shape(name, x, core_shape)
    bad = ~np.isfinite(a)
    if bad.any():
        where = _first(bad)
        batch, core = where[: a.ndim - len(core_shape)], where[a.ndim - len(core_shape) :]
        entry = f" at {list(core)}" if core else ""
        raise InputError(f"{_label(name, batch)}: {a[where]}{entry} is not finite; give finite numbers")
    return a


def vector(name: str, x: ArrayLike, n: int) -> Array:
    """Finite vectors of `n` components."""
    return finite(name, x, (n,))


def positive(name: str, x: ArrayLike) -> Array:
    """Finite numbers above zero."""
    a = finite(name, x)
    _refuse(name, a <= 0, lambda k: f"{a[k]:g} is not positive; give a number > 0")
    return a


def non_negative(name: str, x: ArrayLike) -> Array:
    """Finite numbers that are zero or above."""
    a = finite(name, x)
    _refuse(name, a < 0, lambda k: f"{a[k]:g} is negative; give a number >= 0")
    return a


def one_of(name: str, x: object, choices: tuple[object, ...]) -> object:
    """One of a few values."""
    if x not in choices:
        raise InputError(f"{name}: {x!r} is not one of {', '.join(map(repr, choices))}")
    return x


def unit_quaternion(name: str, q: ArrayLike) -> Array:
    """Unit quaternions, normalised when within 1e-6 of unit norm and refused beyond."""
    a = finite(name, q, (4,))
    # Summed by hand: the order of additions, hence the bits of a trial, must not depend on the batch.
    norm = np.sqrt(a[..., 0] ** 2 + a[..., 1] ** 2 + a[..., 2] ** 2 + a[..., 3] ** 2)
    off = np.abs(norm - 1)
    _refuse(
        name,
        off > UNIT_NORM,
        lambda k: f"norm {norm[k]:.9g} is not 1 (off by {off[k]:.2g}, allowed {UNIT_NORM:g}); divide by the norm",
    )
    # Already unit to round-off: left alone, so that checking twice gives the same bits as checking once.
    already = off <= 4 * np.finfo(np.float64).eps
    return np.where(already[..., None], a, a / norm[..., None])


def inertia(name: str, J: ArrayLike, *, allow_unphysical: bool = False) -> Array:
    """Inertia matrices of rigid bodies: symmetric, positive definite, within the triangle inequality.

    `allow_unphysical` admits published data that no rigid body can have; symmetric it must be all the same.
    """
    a = finite(name, J, (3, 3))
    size = _largest(a)
    _symmetric(name, a, size[..., None, None])
    if not allow_unphysical:
        _physical(name, a, size)
    return a


def inertia6(name: str, M: ArrayLike, *, allow_unphysical: bool = False) -> Array:
    """Spatial inertias `[[J, m S(r)], [-m S(r), m 1]]`, angular first, with a physical inertia about the mass centre.

    `allow_unphysical` asks for symmetric 6x6 matrices only.
    """
    a = finite(name, M, (6, 6))
    # The blocks have different units, so each is measured against its own size.
    angular, linear = np.sqrt(_largest(a[..., :3, :3])), np.sqrt(_largest(a[..., 3:, 3:]))
    size = np.repeat(np.stack([angular, linear], axis=-1), 3, axis=-1)
    _symmetric(name, a, size[..., :, None] * size[..., None, :])
    if not allow_unphysical:
        m, mS = _mass_and_coupling(name, a, angular * linear)
        central = a[..., :3, :3] + mS @ mS / m[..., None, None]  # J = Jc - m S(r)^2
        _physical(f"{name} about the mass centre", central, angular**2)
    return a


def _mass_and_coupling(name: str, M: Array, coupling_size: Array) -> tuple[Array, Array]:
    m, mS, m1 = M[..., 3, 3], M[..., :3, 3:], M[..., 3:, 3:]
    _refuse(name, m <= 0, lambda k: f"mass {m[k]:g} at [3,3] is not positive; angular rows come first, linear last")
    off = _largest(m1 - m[..., None, None] * np.eye(3))
    _refuse(
        name,
        off > SYMMETRY * m,
        lambda k: f"lower right block is off m 1 by {off[k]:.3g}, m = {m[k]:g}; angular rows come first, linear last",
    )
    even = _largest(mS + np.swapaxes(mS, -1, -2))
    _refuse(
        name,
        even > SYMMETRY * coupling_size,
        lambda k: f"upper right block is not antisymmetric (by {even[k]:.3g}); it is m S(r), r to the mass centre",
    )
    return m, mS


def covariance(name: str, P: ArrayLike, n: int | None = None) -> Array:
    """Covariance matrices: symmetric and positive semi-definite, judged free of the units of the components."""
    rows = n if n is not None else max((1, *shape(name, P, ()).shape[-1:]))
    a = finite(name, P, (rows, rows))
    variance = np.diagonal(a, axis1=-2, axis2=-1)
    least = variance.min(axis=-1)
    _refuse(name, least < 0, lambda k: f"variance {least[k]:g} on the diagonal is negative; give variances >= 0")
    sigma = np.sqrt(variance)
    bound = sigma[..., :, None] * sigma[..., None, :]
    _symmetric(name, a, bound)
    remedy = "not positive semi-definite; build it as A A^T"
    excess = (np.abs(a) - (1 + CORRELATION) * bound).max(axis=(-1, -2))
    _refuse(name, excess > 0, lambda k: f"a covariance exceeds sigma_i sigma_j by {excess[k]:.3g}: {remedy}")
    unit = np.where(sigma > 0, sigma, 1.0)
    lowest = np.linalg.eigvalsh(a / (unit[..., :, None] * unit[..., None, :]))[..., 0]
    _refuse(name, lowest < -CORRELATION, lambda k: f"a correlation eigenvalue is {lowest[k]:.3g} < 0: {remedy}")
    return a


def _symmetric(name: str, a: Array, size: Array) -> None:
    """Refuse matrices that differ from their transpose by more than round-off of `size`."""
    difference = np.abs(a - np.swapaxes(a, -1, -2))
    bad = difference > SYMMETRY * size
    if bad.any():
        *trial, i, j = _first(bad)
        upper, lower = a[(*trial, i, j)], a[(*trial, j, i)]
        raise InputError(
            f"{_label(name, tuple(trial))}: not symmetric: [{i},{j}] is {upper:g} and [{j},{i}] is {lower:g} "
            f"(difference {abs(upper - lower):.3g}); give both the same value"
        )


def _physical(name: str, J: Array, size: Array) -> None:
    """Refuse symmetric matrices that no rigid body has as inertia; `size` is what round-off is measured against."""
    moments = np.linalg.eigvalsh(J)
    low, middle, high = (moments[..., i] for i in range(3))
    _refuse(
        name,
        low <= DEFINITE * size,
        lambda k: f"not positive definite: smallest principal moment {low[k]:g}; moments of a rigid body are > 0",
    )
    excess = high - middle - low
    _refuse(
        name,
        excess > TRIANGLE * size,
        lambda k: (
            f"triangle inequality violated: {high[k]:g} > {low[k]:g} + {middle[k]:g} (excess {excess[k]:.3g}); "
            "moments of a rigid body satisfy J3 <= J1 + J2"
        ),
    )


def _refuse(name: str, bad: NDArray[np.bool_], reason: Callable[[tuple[int, ...]], str]) -> None:
    """Raise for the first trial that is bad, with the reason for that trial."""
    if np.any(bad):
        trial = _first(bad)
        raise InputError(f"{_label(name, trial)}: {reason(trial)}")


def _first(bad: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(bad)[0])


def _label(name: str, trial: tuple[int, ...]) -> str:
    if not trial:
        return name
    return f"{name} (trial {trial[0] if len(trial) == 1 else trial})"


def _largest(a: Array) -> Array:
    return np.abs(a).max(axis=(-1, -2))


def _expected(core_shape: tuple[int, ...]) -> str:
    return f"({', '.join(['...', *map(str, core_shape)])})"


def _brief(x: object, limit: int = 40) -> str:
    text = " ".join(repr(x).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def number(text: str) -> float:
    """Return the finite number that a text tells, `1/30` too; ValueError if it tells none."""
    above, slash, below = text.partition("/")
    if slash and float(below) == 0.0:
        raise ValueError(f"{text}: no number is divided by zero")
    value = float(above) / float(below) if slash else float(text)
    if not np.isfinite(value):
        raise ValueError(f"{text}: not finite")
    return value
