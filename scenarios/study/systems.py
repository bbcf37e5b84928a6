"""The systems of `system_problems`: equations, variational process model, start, readings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import dual_quaternion, noise, quaternion
from gnc.batch import Kernel, batched
from gnc.batch.layout import Layout
from gnc.estimators.chart import ROTATION, Chart, retraction, size, vector
from gnc.estimators.kernel_process import FieldProcess, KernelProcess, Process, State
from gnc.estimators.product_ekf import Reading
from gnc.estimators.tree_process import TreeProcess
from gnc.integrators import damper, fields, potential
from gnc.linalg import array, cross, solve3
from gnc.models.multibody import Body, Joint, Tree, VariationalTree
from gnc.models.multibody.articulated import whole_tree

Array = Any
DEG = math.pi / 180.0


@dataclass(frozen=True, eq=False)
class Source:
    """A reading, and how its measurements are made: what is exact, and how noise goes on it."""

    name: str
    reading: Reading
    exact: Callable[[State], Array]
    disturbed: Callable[[Array, Array], Array]  # exact measurement, error (trials, m) -> measurement

    def measure(self, x: State, trials: int, seed: int, k: int) -> Array:
        """Return what all trials measure at time k."""
        m = self.reading.R.shape[-1]
        normal = noise.normal(seed, trials, f"{self.name} {k}", m)
        return self.disturbed(self.exact(x), normal * np.sqrt(np.diagonal(self.reading.R)))


@dataclass(frozen=True, eq=False)
class System:
    """Equations and what is measured of them."""

    field: FieldProcess
    variational: Callable[[float], Process]  # by the density of process noise
    start: State
    sigma: Array  # (n,) of the first error
    sources: list[Source]
    parts: tuple[slice, ...]  # errors that are scored: angles [rad], then lengths or angles of joints
    longest: float  # [s] of a substep of the filters
    rate_rad_s: float

    @property
    def chart(self) -> Chart:
        """The parts of the state."""
        return self.field.chart

    def process(self, key: str, psd: float) -> Process:
        """Return the process model by name."""
        if key == "rk4":
            field = self.field
            return FieldProcess(field.field, field.chart, field.parameters, psd, self.longest)
        return self.variational(psd)

    def unit(self, numbers: Array) -> State:
        """Return a state from its numbers, rotations unit."""
        pieces = np.split(numbers, np.cumsum([part.numbers for part in self.chart])[:-1])
        return tuple(retraction(self.chart)(*pieces, np.zeros(size(self.chart)))[:-1])


def solution(field: FieldProcess, x: State, times: Array) -> Array:
    """Return the numbers of the state at all times, by DOP853 on the field."""
    from scipy.integrate import solve_ivp  # takes a moment to load

    span = times[0], times[-1]
    run = solve_ivp(lambda t, y: field.rate(y), span, np.concatenate(x), "DOP853", t_eval=times, rtol=1e-12, atol=1e-12)
    return run.y.T


def residual(function: Callable[..., Any], chart: Chart, z: int, m: int, *given: tuple[int, ...]) -> Kernel:
    """Return the kernel (z, *x, *given) -> y of a reading."""
    cores = (z,), *((part.numbers,) for part in chart), *given
    return Kernel(function, Layout(tuple(f"argument {i}" for i in range(len(cores))), cores, ((m,),)))


def direction(chart: Chart, name: str, r_I: Array, sigma: float) -> Source:
    """Return a sensor of a direction in body axes, each component with its noise."""
    kernel = residual(lambda z, q, *more: z - quaternion.inverse_rotate(q, more[-1]), chart, 3, 3, (3,))
    reading = Reading(kernel, sigma**2 * np.eye(3), chart, (r_I,))
    return Source(name, reading, lambda x: quaternion.inverse_rotate(x[0], r_I), lambda z, e: z + e)


# A body with a Kane damper: two directions; the rate of the ball is estimated, never measured.


@batched("(4),(3),(3),(3,3),(),()->(4),(3),(3)")
def _damped_field(q_IB, P_B, P_D, J, J_D, C):
    """Return the rates of attitude and both momenta. Source: QVI eqs. (64), (65)."""
    w_B = solve3(J, P_B)
    viscous = C * (P_D / J_D - w_B)
    return quaternion.derivative(q_IB, w_B), cross(P_B, w_B) + viscous, cross(P_D, w_B) - viscous


def damped(J_D: float = 0.2, C: float = 0.004) -> System:
    """Return the tumble of the attitude study with a ball of 0.2 kg m^2 whose slip dies out in 50 s."""
    J, none = np.diag([1.0, 2.0, 3.0]), np.zeros(3)
    chart, w_B = (ROTATION, vector(3), vector(3)), DEG * np.array([4.0, -5.0, 6.0])
    given = none, J, J_D, C, none
    sigma = DEG * np.concatenate([np.full(3, 0.2), 0.1 * np.diag(J), np.full(3, 0.1 * J_D)])
    return System(
        FieldProcess(_damped_field, chart, (J, J_D, C)),
        lambda psd: KernelProcess(damper.step4, chart, given, psd, 1.0, damper.step4_jacobian),
        (np.array([1.0, 0, 0, 0]), J @ w_B, -J_D * w_B),
        sigma,
        [direction(chart, f"direction {k}", np.eye(3)[k], 0.1 * DEG) for k in range(2)],
        (slice(3),),
        1.0,
        float(np.linalg.norm(w_B)),
    )


# LGVI's three balls in the field of a fixed mass: two directions, ranges to three beacons.

ARMS = np.stack([np.cos(a := DEG * np.array([90.0, 210.0, 330.0])), np.sin(a), np.zeros(3)], axis=-1) / math.sqrt(3.0)
BEACONS = np.array([[10.0, 0.0, 6.0], [-6.0, 9.0, -3.0], [-5.0, -9.0, 4.0]])
_BALLS = fields.point_masses(3)


@batched("(4),(3),(3),(3),(3,3),(),(),(3),(3,3)->(4),(3),(3),(3)")
def _potential_field(q_IB, P_B, r_I, p_I, J, mass, mu, masses, arms):
    """Return the rates of attitude, momentum, place and its momentum. Source: LGVI eq. (15), its sign mended."""
    w_B = solve3(J, P_B)
    torque_B, force_I = _BALLS.wrench(q_IB, r_I, mu, masses, arms)
    return quaternion.derivative(q_IB, w_B), cross(P_B, w_B) + torque_B, p_I * (1.0 / mass), force_I


def _ranges(z, q_IB, P_B, r_I, p_I, beacons):
    return z - array([np.sqrt((r_I - beacon) @ (r_I - beacon)) for beacon in beacons])


def in_potential() -> System:
    """Return the paper's body on its orbit, masses and lengths without units, over one turn of it."""
    spread = ARMS.T @ ARMS + 3 * 0.1**2 / 5 * np.eye(3)
    J, mass = np.trace(spread) * np.eye(3) - spread, 3.0
    chart, P_B = (ROTATION, vector(3), vector(3), vector(3)), 0.5 * np.array([1.0, 2.0, 3.0])
    field = 1.0, np.ones(3), ARMS
    method, given = potential.integrator(_BALLS), (J, np.zeros(3), mass, *field)
    ranges = Reading(residual(_ranges, chart, 3, 3, (3, 3)), 0.01**2 * np.eye(3), chart, (BEACONS,))
    seen = lambda x: np.linalg.norm(x[2] - BEACONS, axis=-1)  # noqa: E731
    return System(
        FieldProcess(_potential_field, chart, (J, mass, *field)),
        lambda psd: KernelProcess(method.step4, chart, given, psd, 0.03, method.step4_jacobian),
        (np.array([1.0, 0, 0, 0]), P_B, np.array([8.0, 0, 0]), np.array([0.0, 1.0, 0])),
        np.repeat([0.2 * DEG, 0.005, 0.05, 0.02], 3),
        [
            *(direction(chart, f"direction {k}", np.eye(3)[k], 0.1 * DEG) for k in range(2)),
            Source("ranges", ranges, seen, lambda z, e: z + e),
        ],
        (slice(3), slice(6, 9)),
        0.03,
        float(np.linalg.norm(np.linalg.solve(J, P_B))),
    )


# A base with an arm of two links: a star tracker on the base, encoders in the joints.


def arm() -> Tree:
    """Return a base of 100 kg and two links of 10 kg on revolute joints with springs and dampers."""
    at = lambda *r: dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), np.array(r))  # noqa: E731
    across = dual_quaternion.from_pose(quaternion.from_axis_angle(np.array([1.0, 0, 0]), 1.2), np.array([0.5, 0, 0]))
    link = np.diag([0.1, 0.9, 0.9])
    bodies = Body("base", 100.0, np.diag([20.0, 25.0, 30.0])), Body("upper", 10.0, link), Body("lower", 10.0, link)
    spring: dict[str, Any] = {"stiffness": 2.0, "damping": 0.2}
    joints = (
        Joint("shoulder", "R", "base", "upper", at(0.6, 0.1, 0.2), at(-0.5, 0.0, 0.0), **spring),
        Joint("elbow", "R", "upper", "lower", across, at(-0.5, 0.0, 0.0), **spring),
    )
    return Tree(bodies, joints)


def tree_field(tree: Tree) -> Kernel:
    """Return the vector field of a tree of joints R, P, C, U with its springs and dampers. Source: DQMB eq. (50)."""
    walk, D, B = whole_tree(tree.links, ()), tree.freedoms, len(tree.bodies)
    sizes = [len(joint.type.zero) for joint in tree.joints]

    def field(dq, twist, *more):
        *gammas, rate, offsets, inertias, stiffness, damping = more
        gamma = np.concatenate(gammas)
        drive = -stiffness * gamma - damping * rate
        twist_dot, rate_dot, _, _ = walk(offsets, inertias, twist, gamma, rate, drive, np.zeros((B, 6)))
        rates = np.split(rate, np.cumsum(sizes)[:-1])
        return dual_quaternion.derivative(dq, twist), twist_dot, *rates, rate_dot

    state = (8,), (6,), *((n,) for n in sizes), (D,)
    cores = *state, (len(tree.links), 8), (B, 10), (D,), (D,)
    return Kernel(field, Layout(tuple(f"argument {i}" for i in range(len(cores))), cores, state))


def _star(z, dq, *more):
    return quaternion.log(quaternion.mul(quaternion.conj(dq[:4]), z))


def _encoders(z, dq, twist, *more):
    return z - np.concatenate(more[:-1])


def tree() -> System:
    """Return the arm in free flight; where the base is can be told from its momentum only."""
    model, sigma = arm(), 0.05 * DEG
    process = TreeProcess(VariationalTree(model, order=4))
    chart, x = process.chart, model.state(twist_B=np.array([1.0, -2.0, 1.5, 0, 0, 0]) * DEG)
    x = x._replace(gamma=np.array([0.3, -0.5]), rate=DEG * np.array([3.0, -4.0]))
    star = Reading(residual(_star, chart, 4, 3), sigma**2 * np.eye(3), chart)
    encoders = Reading(residual(_encoders, chart, 2, 2), sigma**2 * np.eye(2), chart)
    turned = lambda z, e: quaternion.mul(z, quaternion.exp(e))  # noqa: E731
    return System(
        FieldProcess(tree_field(model), chart, (model.offsets, model.inertias, model.stiffness, model.damping)),
        lambda psd: TreeProcess(VariationalTree(model, order=4), psd, 0.2),
        process.split(x),
        np.repeat([0.2 * DEG, 0.01, 0.2 * DEG, 0.002, 0.2 * DEG, 0.2 * DEG], [3, 3, 3, 3, 2, 2]),
        [
            Source("star tracker", star, lambda x: x[0][..., :4], turned),
            Source("encoders", encoders, lambda x: np.concatenate(x[2:-1], -1), lambda z, e: z + e),
        ],
        (slice(3), slice(12, 14)),
        0.2,
        float(np.linalg.norm(x.twist_B[:3])),
    )
