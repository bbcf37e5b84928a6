"""The normal projection: seen along the angular momentum, the separation point keeps to a ring."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gnc import spatial
from gnc.scenarios.papers.dqvi.data import R_G, Array, both
from gnc.scenarios.papers.dqvi.flights import reference, track
from gnc.scenarios.papers.dqvi.settings import Setting


def projection(method: str, setting: Setting) -> Array:
    """Return the separation point on the plane normal to the angular momentum [m], (kept times, data, 2)."""
    return _project(track(method, setting).r_IB, setting)


def exact_end(setting: Setting) -> Array:
    """Return the point of `projection` where the flight should end, (data, 2)."""
    return _project(R_G - reference(setting)[-1] @ R_G, setting)


def _project(r_IB: Array, setting: Setting) -> Array:
    """Return the two coordinates, from the centre of mass at rest."""
    L = spatial.parts(both().M)[2] @ np.asarray(setting.w_B)
    normal = L / np.linalg.norm(L, axis=-1, keepdims=True)
    first = np.cross(normal, [0.0, 0.0, 1.0])
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    axes = np.stack([first, np.cross(normal, first)], axis=-2)
    return np.einsum("nij,...nj->...ni", axes, r_IB - R_G)


def rings(setting: Setting) -> list[tuple[float, float]]:
    """The exact ring of each set of data."""
    return [ring(J, np.asarray(setting.w_B)) for J in spatial.parts(both().M)[2]]


def ring(J: Array, w_B: Array) -> tuple[float, float]:
    """Return inner and outer radius of the ring that the separation point keeps to [m].

    In body axes the angular momentum L runs along the polhode, where the sphere of its length meets the ellipsoid of
    the energy; the distance of the point from the axis is |r_g x L|/|L|. With principal moments J1 < J2 < J3 or, if the
    polhode is about the first axis, J1 > J2 > J3:

        L1 = a cos u, L2 = b sin u,  a^2 = J1 (2T J3 - L^2)/(J3 - J1),  b^2 = J2 (2T J3 - L^2)/(J3 - J2)
    """
    moments, axes = np.linalg.eigh(J)
    L = axes.T @ J @ w_B
    twice_T = w_B @ J @ w_B
    if twice_T * moments[1] > L @ L:
        moments, axes, L = moments[::-1], axes[:, ::-1], L[::-1]
    excess = twice_T * moments[2] - L @ L
    a, b = np.sqrt(moments[:2] * excess / (moments[2] - moments[:2]))
    along = R_G @ axes

    def radius(u: Any) -> Any:
        L12 = np.array([a * np.cos(u), b * np.sin(u)])
        L3 = np.sign(L[2]) * np.sqrt(L @ L - (L12**2).sum(axis=0))
        return np.sqrt(R_G @ R_G - (along[:2] @ L12 + along[2] * L3) ** 2 / (L @ L))

    return _least(radius), -_least(lambda u: -radius(u))


def _least(f: Callable[[Any], Any]) -> float:
    """Return the least value of a function of an angle."""
    from scipy.optimize import minimize_scalar  # takes a moment to load

    h = np.radians(1.0)
    u = np.arange(0.0, 2 * np.pi, h)
    u = u[np.argmin(f(u))]
    return float(minimize_scalar(f, bracket=(u - h, u, u + h)).fun)


def departure(method: str, setting: Setting) -> Array:
    """Return how far the separation point is from where it may be at all [m], (kept times, data).

    It may be on the sphere about the resting centre of mass, seen within the ring; the larger of the two departures.
    """
    radius = np.linalg.norm(projection(method, setting), axis=-1)
    low, high = np.transpose(rings(setting))
    off_ring = np.maximum(low - radius, radius - high)
    off_sphere = np.linalg.norm(track(method, setting).r_IB - R_G, axis=-1) - np.linalg.norm(R_G)
    return np.maximum(off_ring, np.abs(off_sphere))
