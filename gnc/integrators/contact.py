"""The energy-consistent step of a rigid body with contacts, restitution and friction.

The body is that of `perfect_constraint`, with seven velocities u = (v, nu, Om) and M = diag(m 1, tr(Theta)/2, Theta).
A contact adds the directions W = (normal, two tangents); the scaling velocity nu couples them to the unit constraint
e_nu, so all are solved together as inclusions into normal cones:

    unit constraint         xi_nu = 0
    normal                  Lam_N >= 0, xi_N >= 0, Lam_N xi_N = 0
    friction (Coulomb)      |Lam_T| <= mu Lam_N, xi_T = 0 inside the disc and opposed to Lam_T on its edge

1. Half a step ahead, where the motion leads (`move`, h/2), contacts with gap <= 0 are active, and W is taken there.
2. Impact, if one of them approaches: u+ = u + M^-1 W Lam with xi = W^T (u+ + e u), Newton's law.
3. Smooth stage: u_m = u+ + M^-1 (h f(u_m) + W Lam)/2 with xi = W^T u_m; u_1 = 2 u_m - u+.
4. Hold (for e < 1): contacts that stuck in 3 are brought to rest, xi = W^T (u_1 + M^-1 W dLam), where friction may give
   what the load of stage 3 has left. Without it the midpoint rule lets a sticking point's velocity change sign forever.
5. The pose moves with u_m (`move`): Cayley's map makes the spatial momentum exact.

Energy never rises: the work of 3 is Lam.xi <= 0; that of 2 is Lam.xi/(1+e) - (1-e)/(2(1+e)) Lam.G Lam <= 0 with
G = W^T M^-1 W; that of 4 is dLam.xi - dLam.G dLam/2 <= 0, since the friction disc keeps its size there. The proof for 2
needs the same restitution for normals and tangents; with e_T = 0 some impacts gain energy (Kane's paradox).

Source: PC, an abstract; docs/contact.md derives the step.

Points of a body against surfaces: gap, normal, tangents, and the directions of contact in generalised velocities.

A surface is anything with `gap_and_normal(x_I)`, which takes points (..., 3) and returns how far outside they are and
the outward unit normals: (...) and (..., 3). Points may be rounded: the centre of a small ball of the body.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, copysign
from gnc.errors import InputError
from gnc.integrators import perfect_constraint
from gnc.linalg import array, cross, inv3, solve3
from gnc.patience import telling
from gnc.typing import Array

UNIT_NORMAL = 1e-6  # a normal printed with seven digits passes


class Surface(Protocol):
    """What a body can touch."""

    def gap_and_normal(self, x_I: Any) -> tuple[Any, Any]:
        """Return the signed distance from the surface and the unit normal towards the point."""


def _number(name: str, x: Array) -> float:
    if x.ndim:
        raise InputError(f"{name}: expected one number, got an array {x.shape}")
    return float(x)


@batched("(3),(3),()->()")
def _height(x_I, n_I, offset):
    return n_I @ x_I - offset


@dataclass(frozen=True)
class Plane:
    """The half space n.x <= offset is solid."""

    normal_I: Any = (0.0, 0.0, 1.0)  # (3) unit, out of the solid
    offset: Any = 0.0  # of the plane from the origin along the normal [m]

    def __post_init__(self) -> None:
        normal = check.vector("normal_I", self.normal_I, 3)
        length = float(np.linalg.norm(normal))
        if normal.shape != (3,) or abs(length - 1) > UNIT_NORMAL:
            raise InputError(f"normal_I: {normal} is not one unit vector (length {length:.9g}); divide by its length")
        object.__setattr__(self, "normal_I", normal / length)
        object.__setattr__(self, "offset", _number("offset", check.finite("offset", self.offset)))

    def gap_and_normal(self, x_I: Any) -> tuple[Array, Array]:
        """Return the height above the plane and its normal."""
        return _height(x_I, self.normal_I, self.offset), np.broadcast_to(self.normal_I, np.shape(x_I))


@batched("(3),(3),()->(),(3)")
def _from_centre(x_I, centre_I, radius):
    d = x_I - centre_I
    distance = np.sqrt(d @ d)
    return distance - radius, d / distance


@dataclass(frozen=True)
class Sphere:
    """A solid ball; a point at its very centre has no normal, and its trial is lost."""

    centre_I: Any  # (3) [m]
    radius: Any  # [m]

    def __post_init__(self) -> None:
        centre = check.vector("centre_I", self.centre_I, 3)
        if centre.shape != (3,):
            raise InputError(f"centre_I: expected one point (3), got {centre.shape}")
        object.__setattr__(self, "centre_I", centre)
        object.__setattr__(self, "radius", _number("radius", check.positive("radius", self.radius)))

    def gap_and_normal(self, x_I: Any) -> tuple[Array, Array]:
        """Return the distance from the ball and the direction from its centre."""
        return _from_centre(x_I, self.centre_I, self.radius)


@batched("(3)->(3),(3)")
def tangents(n):
    """Return two vectors that complete the unit vector n to a right-handed frame (n, t1, t2).

    Source: Duff et al., "Building an Orthonormal Basis, Revisited", J. Computer Graphics Techniques 6 (2017) 1.
    """
    sign = copysign(1.0, n[2])
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    t1 = array([1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]])
    return t1, array([b, sign + n[1] * n[1] * a, -n[1]])


@batched("(4),(3),(),(3)->(3,7)")
def directions(q_IB, X_B, radius, n_I):
    """Return the rows (d, d.R X, X x R^T d) of contact along d = n, t1, t2, of unit q.

    A row times (v, nu, Om) is the velocity v + R (nu X + Om x X) of the touching point along d. On a rounded point X is
    the point of its ball that is deepest in the surface.
    """
    n_B = quaternion.inverse_rotate(q_IB, n_I)
    X = X_B - radius * n_B
    rows = []
    for d_I in (n_I, *tangents(n_I)):
        d_B = quaternion.inverse_rotate(q_IB, d_I)
        rows.append([*d_I, d_B @ X, *cross(X, d_B)])
    return array(rows)


def around(q_IB: Array, r_IB: Array, points_B: Array, radii: Array, surfaces: Sequence[Surface]) -> tuple[Array, Array]:
    """Return gaps and normals of all points against all surfaces, contacts last and surface by surface."""
    x_I = _world(q_IB[..., None, :], r_IB[..., None, :], points_B)
    met = [surface.gap_and_normal(x_I) for surface in surfaces]
    return np.concatenate([gap - radii for gap, _ in met], axis=-1), np.concatenate([n for _, n in met], axis=-2)


@batched("(4),(3),(3)->(3)")
def _world(q_IB, r_IB, X_B):
    return r_IB + quaternion.rotate(q_IB, X_B)


# Of the change in the last sweep against the velocity, in the norm of energy; round-off stops it near 1e-15.
TOLERANCE = 1e-14
SWEEPS = 10_000


class Motion(NamedTuple):
    """A rigid body's pose and velocities."""

    q_IB: Any  # (..., 4)
    r_IB: Any  # (..., 3) centre of mass, inertial axes [m]
    w_B: Any  # (..., 3) body axes [rad/s]
    v_I: Any  # (..., 3) of the centre of mass, inertial axes [m/s]


class Near(NamedTuple):
    """What lies around the body half a step ahead: gap and normal of each contact, and its point of the body."""

    q_IB: Any  # (..., 4)
    gap: Any  # (..., contacts) [m]
    normal_I: Any  # (..., contacts, 3)
    point_B: Any  # (..., contacts, 3) [m]
    radius: Any  # (..., contacts) of a rounded point [m]


class ContactLaw(NamedTuple):
    """The laws of contact and how well they are solved."""

    e: Any  # restitution
    e_T: Any  # restitution along tangents
    mu: Any  # friction
    tolerance: float = TOLERANCE
    sweeps: int = SWEEPS


class Touch(NamedTuple):
    """What happened in a step."""

    impulse_I: Any  # (..., contacts, 3) on the body, inertial axes [N s]
    load: Any  # (..., contacts) its part along the normal [N s]
    unit_impulse: Any  # (...) of the unit constraint's multiplier: the integral of lambda dt [J s]
    residual: Any  # (...) change in the last sweep, relative; NaN in a lost trial
    sweeps: Any  # (...) number of sweeps, 0 in flight
    converged: Any  # (...) whether the residual is within the tolerance


@batched("(3,7),(),(3,3)->(3,7)")
def answers(W, m, Theta):
    """Return the rows M^-1 W: how impulses along the directions of a contact change the velocities."""
    return array([[*(w[:3] * (1.0 / m)), w[3] / _scaling_inertia(Theta), *solve3(Theta, w[4:])] for w in W])


@batched("(3,3)->(),(3,3),(3,3)")
def _rotor(Theta):
    return _scaling_inertia(Theta), Theta, inv3(Theta)


def _scaling_inertia(Theta):
    return 0.5 * (Theta[0, 0] + Theta[1, 1] + Theta[2, 2])


@batched("(3),(3),(),(3,3),()->(7)")
def _half_kick(tau_B, f_I, m, Theta, h):
    return array([*(f_I * (0.5 * h / m)), 0.0, *solve3(Theta, 0.5 * h * tau_B)])


@batched("(3),(3),(7),(),(3,3)->()")
def _speed(w_B, v_I, kick, m, Theta):
    """Return the size of the velocity and of its change, in the norm of energy."""
    energy = perfect_constraint.kinetic_energy
    return np.sqrt(2.0 * energy(v_I, 0.0, w_B, m, Theta)) + np.sqrt(2.0 * energy(kick[:3], 0.0, kick[4:], m, Theta))


@batched("(3),(3),(3),(3,3),()->(),()")
def _flight(w_B, dw, tau_B, Theta, h):
    """Return the unit constraint's impulse of a step in flight and how well its midpoint equation is solved."""
    w_m = w_B + dw
    L = Theta @ w_m
    defect = Theta @ dw - 0.5 * h * (cross(L, w_m) + tau_B)
    return -2.0 * h * (w_m @ L), np.sqrt(defect @ solve3(Theta, defect))


@np.errstate(all="ignore")  # a lost trial is reported, not warned of
def step(
    x: Motion, tau_B: Array, f_I: Array, m: Array, Theta: Array, h: Array, near: Near, law: ContactLaw
) -> tuple[Motion, Touch]:
    """Advance every trial by h under a torque and a force that are held; all arrays have the trials first.

    Trials that touch nothing fly on in one kernel, the others are solved one by one. Nothing raises on a trial's data.
    """
    kick = _half_kick(tau_B, f_I, m, Theta, h)
    dw, dv = perfect_constraint.half_change(x.w_B, tau_B, Theta, h), kick[:, :3]
    w_m, v_m, w_1, v_1 = x.w_B + dw, x.v_I + dv, x.w_B + 2.0 * dw, x.v_I + 2.0 * dv
    unit, change = _flight(x.w_B, dw, tau_B, Theta, h)
    speed = _speed(x.w_B, x.v_I, kick, m, Theta)
    impulse_I, load = np.zeros(near.normal_I.shape), np.zeros(near.gap.shape)
    sweeps = np.zeros(len(h), np.int64)
    hit = np.nonzero((near.gap <= 0.0).any(-1))[0]
    if len(hit):
        u = np.concatenate([x.v_I[hit], np.zeros((len(hit), 1)), x.w_B[hit]], axis=1)
        there = Near(*(a[hit] for a in near))
        laws = ContactLaw(law.e[hit], law.e_T[hit], law.mu[hit], law.tolerance, law.sweeps)
        W, solved = _solve(u, kick[hit], m[hit], Theta[hit], h[hit], there, laws, speed[hit])
        u_m, impulse, unit[hit], sweeps[hit], changes = solved
        v_m[hit], w_m[hit], v_1[hit], w_1[hit] = u_m[:, :3], u_m[:, 4:], u[:, :3], u[:, 4:]
        impulse_I[hit], load[hit] = sum(impulse[..., i, None] * W[..., i, :3] for i in range(3)), impulse[..., 0]
        change[hit] = changes.max(-1)  # NaN wins
    q_1, r_1 = perfect_constraint.move(x.q_IB, x.r_IB, w_m, v_m, h)
    residual = change / np.where(speed > 0.0, speed, 1.0)
    converged = (change <= law.tolerance * speed) & np.isfinite(speed)
    return Motion(q_1, r_1, w_1, v_1), Touch(impulse_I, load, unit, residual, sweeps, converged)


def _solve(
    u: Array, kick: Array, m: Array, Theta: Array, h: Array, near: Near, law: ContactLaw, speed: Array
) -> tuple[Array, tuple[Any, ...]]:
    """Take u of the trials that touch to the end of the step; return their directions and the solver's results."""
    from gnc.integrators import contact_solver as solver  # numba is loaded when something touches

    W = directions(near.q_IB[:, None], near.point_B, near.radius, near.normal_I)
    Y = answers(W, m[:, None], Theta[:, None])
    laws, limit = solver.Coefficients(law.e, law.e_T, law.mu), solver.Limit(law.tolerance * speed, law.sweeps)
    with contextlib.nullcontext() if _met else telling():  # the first contact compiles
        _met.append(True)
        return W, solver.touch(u, kick, W, Y, near.gap <= 0.0, laws, 0.5 * h, solver.Rotor(*_rotor(Theta)), limit)


_met: list[bool] = []  # whether this process has had a contact


def impact(u: Array, W: Array, m: float, Theta: Array, law: ContactLaw) -> tuple[Array, Array, bool]:
    """Return the velocity after the impact stage alone, its impulses (contacts, 3), and whether they converged.

    One trial: u is (v, nu, Om), W the `directions` (contacts, 3, 7) of all contacts that touch.
    """
    from gnc.integrators import contact_solver as solver

    after, impulse = u.copy(), np.zeros(W.shape[:2])
    contacts = solver.Contacts(W, answers(W, m, Theta), np.arange(len(W)))
    speed = np.sqrt(2.0 * perfect_constraint.kinetic_energy(u[:3], u[3], u[4:], m, Theta))
    limit = solver.Limit(law.tolerance * speed, law.sweeps)
    laws = solver.Coefficients(float(law.e), float(law.e_T), float(law.mu))
    *_, change = solver.impact(after, contacts, impulse, laws, solver.Rotor(*_rotor(Theta)), limit)
    return after, impulse, bool(change <= limit.change)
