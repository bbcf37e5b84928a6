"""Flights of the whole before it parts, by DQVI and by the paper's comparators, and what they get wrong."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import Kernel
from gnc.integrators import dqvi_increment
from gnc.integrators.dqvi_equation import with_newton
from gnc.integrators.pose_runge_kutta import euler_matrix, euler_step, quaternion_step
from gnc.models.flight import fly
from gnc.models.pose_body import PoseState
from gnc.scenarios.papers.dqvi.data import R_G, Array, Setting, both, start, whole

METHODS = {"dqvi": "DQVI", "dqvi4": "DQVI, order 4", "quat_rk4": "QUAT-RK4", "euler_rk4": "EULER-RK4"}
QUANTITIES = ("energy", "angular", "com_m", "phase_rad")


class Track(NamedTuple):
    """A flight of both sets of data; axes: kept times, data."""

    R_IB: Array
    r_IB: Array
    chi_B: Array


class Errors(NamedTuple):
    """Relative errors of energy and angular momentum, departure of the centre of mass, attitude error; as `Track`."""

    energy: Array
    angular: Array
    com_m: Array
    phase_rad: Array


class _Newton(NamedTuple):
    attitude: Array  # quaternion, or roll, pitch and yaw
    r_IB: Array
    chi_B: Array


@functools.cache
def track(method: str, setting: Setting) -> Track:
    """Fly by one of METHODS."""
    if method == "quat_rk4":
        return _by_runge_kutta(setting, setting.fps, quaternion_step, np.eye(4)[0], quaternion.to_matrix)
    if method == "euler_rk4":
        return _by_runge_kutta(setting, setting.fps, euler_step, np.zeros(3), euler_matrix)
    order, fps = (4, setting.order4_fps or setting.fps) if method == "dqvi4" else (2, setting.fps)
    steps, every = _frames(setting, fps)
    dq_IB, chi_B = both(order=order).fly(start(setting.w_B), steps, 1.0 / fps, every).x
    q_IB, r_IB = dual_quaternion.to_pose(dq_IB)
    return Track(quaternion.to_matrix(q_IB), r_IB, chi_B)


@functools.cache
def reference(setting: Setting) -> Array:
    """R_IB of QUAT-RK4 in steps so short that its own attitude error is (fps/reference_fps)^4 of that at `fps`."""
    fps = setting.reference_fps
    return _by_runge_kutta(setting, fps, quaternion_step, np.eye(4)[0], quaternion.to_matrix).R_IB


def _frames(setting: Setting, fps: int) -> tuple[int, int]:
    """Return how many frames to take at another rate, and how many to one that is kept."""
    return setting.seconds * fps, setting.keep * fps // setting.fps


def _by_runge_kutta(
    setting: Setting, fps: int, step: Kernel, attitude: Array, matrix: Callable[[Array], Array]
) -> Track:
    M, chi_B = both().M, start(setting.w_B).chi_B
    x0 = _Newton(*(np.broadcast_to(a, (len(M), len(a))) for a in (attitude, np.zeros(3), chi_B)))

    def advance(x: _Newton, _: int, steps: int) -> _Newton:
        return _Newton(*step.repeat(steps, *x, np.zeros(6), M, 1.0 / fps))

    x = fly(x0, advance, *_frames(setting, fps), 1.0 / fps, 0.0).x
    return Track(matrix(x.attitude), x.r_IB, x.chi_B)


@functools.cache
def errors(method: str, setting: Setting) -> Errors:
    """What the method gets wrong; conservation beside accuracy."""
    R, r, chi = track(method, setting)
    M = both().M
    energy, com, L = spatial.kinetic_energy(M, chi), r + R @ R_G, _angular_momentum(R, chi)
    relative = np.linalg.norm(L - L[0], axis=-1) / np.linalg.norm(L[0], axis=-1)
    departure = np.linalg.norm(com - com[0], axis=-1)
    return Errors(np.abs(energy / energy[0] - 1.0), relative, departure, angle(R, reference(setting)))


def departures(setting: Setting, starts: int = 50, apart: float = 1e-6) -> Array:
    """Return the largest departures of the centre of mass by DQVI, from starts at rates that hardly differ.

    With the paper's data. Rounding makes the momentum walk at random, so that one flight is one draw of many.
    """
    rates = np.asarray(setting.w_B) * (1.0 + apart * np.arange(starts)[:, None])
    x0 = PoseState(np.tile(np.eye(8)[0], (starts, 1)), np.concatenate([rates, -np.cross(rates, R_G)], axis=-1))
    x = whole("paper").fly(x0, setting.seconds * setting.fps, 1.0 / setting.fps, setting.keep).x
    q_IB, r_IB = dual_quaternion.to_pose(x.dq_IB)
    com = r_IB + quaternion.rotate(q_IB, R_G)
    return np.linalg.norm(com - com[0], axis=-1).max(axis=0)


def _angular_momentum(R: Array, chi: Array) -> Array:
    """Return the angular momentum about the centre of mass, inertial axes."""
    J_com = spatial.parts(both().M)[2]
    return np.einsum("...ij,...jk,...k->...i", R, J_com, chi[..., :3])


def angle(R_1: Array, R_2: Array) -> Array:
    """Return the angle between two attitudes [rad]: |R_1 - R_2| is 2 sqrt 2 times the sine of its half."""
    distance = np.linalg.norm(R_1 - R_2, axis=(-2, -1))
    return 2.0 * np.arcsin(np.minimum(distance / np.sqrt(8.0), 1.0))


def gimbal_lock_spread(setting: Setting, starts: int = 8, apart_rad: float = 1e-14) -> Array:
    """Return the largest angular momentum errors of EULER-RK4 with the paper's data from starts that hardly differ."""
    M, steps = both().M[0], setting.seconds * setting.fps
    angles = np.zeros((starts, 3))
    angles[:, 0] = apart_rad * np.arange(starts)
    x0 = _Newton(angles, np.zeros((starts, 3)), np.tile(start(setting.w_B).chi_B, (starts, 1)))

    def advance(x: _Newton, _: int, steps: int) -> _Newton:
        return _Newton(*euler_step.repeat(steps, *x, np.zeros(6), M, 1.0 / setting.fps))

    x = fly(x0, advance, steps, setting.keep, 1.0 / setting.fps, 0.0).x
    J_com = spatial.parts(M)[2]
    L = np.einsum("...ij,jk,...k->...i", euler_matrix(x.attitude), J_com, x.chi_B[..., :3])
    return (np.linalg.norm(L - L[0], axis=-1) / np.linalg.norm(L[0], axis=-1)).max(axis=0)


COUNTED_FPS, COUNTED_S, COUNTED_KEEP = 10, 10_800, 100
NO_FILLER, NONE = 0.0, np.zeros(6)  # filler, wrench


def counted_energy(iterations: int) -> Array:
    """Return the relative energy error over 3 hours by the paper's algorithm with a count of iterations of its own.

    Results are taken as they come; axes: kept times, data. Source: DQVI section V.A.4.
    """
    M, (dq_IB, chi_B), h = both().M, start((1.0, 1.0, 1.0)), 1.0 / COUNTED_FPS
    first, step = (with_newton(k, iterations, math.inf) for k in (dqvi_increment.start, dqvi_increment.step))
    x_B = first(chi_B, NONE, M, NO_FILLER, h)
    kept = [x_B]
    for _ in range(COUNTED_S * COUNTED_FPS // COUNTED_KEEP):
        dq_IB, x_B = step.repeat(COUNTED_KEEP, dq_IB, x_B, NONE, M, NO_FILLER, h)
        kept.append(x_B)
    energies = spatial.kinetic_energy(M, dqvi_increment.twist(np.stack(kept), NONE, M, NO_FILLER, h))
    return energies / spatial.kinetic_energy(M, chi_B) - 1.0


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
