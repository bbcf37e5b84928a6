"""The seven-degree-of-freedom body of PC: three translations, three rotations and a uniform scaling.

The position r of the centre of mass and an unconstrained quaternion p place the material point X at r + p X p*. With
s = |p|^2 the quaternion's rate becomes a scaling velocity nu and a generalised angular velocity Om,

    (nu, Om) = 2 p* pdot,    nu = ds/dt,    Om = s w,

in which the mass matrix diag(m 1, tr(Theta)/2, Theta) is constant and positive definite. The perfect bilateral
constraint (|p|^2 - 1)/2 = 0 makes it a rigid body, and its multiplier is a force with a meaning: -4 T_rot in free
flight. Contacts join as further constraints: `gnc.integrators.contact`. Theta is the inertia about the centre of mass;
v is in inertial axes, Om and torques are in body axes; generalised velocities are ordered (v, nu, Om).

Source: PC, an abstract; docs/contact.md derives the equations.
"""

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.integrators import taylor
from gnc.linalg import array, block, cross, identity, skew, solve3, zeros

NEWTON_ITERATIONS = 4  # from a second-order guess: round-off for |w| h up to 1


# The body with seven degrees of freedom


@batched("(3),(4),(3)->(3)")
def place(r_IB, p, X_B):
    """Return the place r + p X p* of a material point, p of any length."""
    return r_IB + quaternion.mul(quaternion.mul(p, array([0.0, *X_B])), quaternion.conj(p))[1:]


@batched("(4),(4)->(),(3)")
def velocities(p, p_dot):
    """Return the scaling and the generalised angular velocity (nu, Om) = 2 p* pdot."""
    u = 2.0 * quaternion.mul(quaternion.conj(p), p_dot)
    return u[0], u[1:]


@batched("(4),(),(3)->(4)")
def quaternion_rate(p, nu, Om_B):
    """Return pdot = p (nu, Om) / (2 |p|^2)."""
    return quaternion.mul(p, array([nu, *Om_B])) * (0.5 / (p @ p))


def _trace(Theta):
    return Theta[0, 0] + Theta[1, 1] + Theta[2, 2]


@batched("(4),(3,3)->(4,4)")
def quaternion_mass(p, Theta):
    """Return M(p) = 4 Q D Q^T with 2 T = pdot^T M pdot, D = diag(tr(Theta)/2, Theta), Q the left matrix of p.

    Positive definite for every p but zero, where the usual formulation with unit quaternions has a singular matrix.
    """
    Q = quaternion.left_matrix(p)
    return 4.0 * (Q @ _scaling_and_rotation_mass(Theta) @ Q.T)


def _scaling_and_rotation_mass(Theta):
    scaling = array([[0.5 * _trace(Theta)]])
    return block([[scaling, zeros(1, 3)], [zeros(3, 1), Theta]])


@batched("(),(3,3)->(7,7)")
def mass(m, Theta):
    """Return the constant mass matrix diag(m 1, tr(Theta)/2, Theta) of the velocities (v, nu, Om)."""
    return block([[m * identity(3), zeros(3, 4)], [zeros(4, 3), _scaling_and_rotation_mass(Theta)]])


@batched("(3),(),(3),(),(3,3)->()")
def kinetic_energy(v_I, nu, Om_B, m, Theta):
    """Return T = (m v.v + tr(Theta)/2 nu^2 + Om.Theta Om)/2."""
    return 0.5 * (m * (v_I @ v_I) + 0.5 * _trace(Theta) * nu * nu + Om_B @ Theta @ Om_B)


@batched("(4),(),(3),(),(3),(3,3)->(),(3)")
def accelerations(p, nu, Om_B, f_nu, tau_B, Theta):
    """Return nu' and Om' of the smooth motion under a scaling force f_nu and a torque.

    tr(Theta)/2 nu' = Om.Theta Om / s + f_nu,    Theta Om' = (Theta Om x Om - nu Theta Om)/s + tau,    s = |p|^2
    """
    per_s, L = 1.0 / (p @ p), Theta @ Om_B
    scaling = (Om_B @ L) * per_s + f_nu
    turning = (cross(L, Om_B) - nu * L) * per_s + tau_B
    return scaling * (2.0 / _trace(Theta)), solve3(Theta, turning)


@batched("(4),(3),(),(3,3)->()")
def multiplier(p, Om_B, f_nu, Theta):
    """Return the multiplier of (|p|^2 - 1)/2 = 0 that keeps the scaling velocity: its scaling force is lambda/2.

    lambda = -2 (Om.Theta Om/s + f_nu), which is -4 T_rot for a rigid body without a scaling force.
    """
    return -2.0 * ((Om_B @ Theta @ Om_B) / (p @ p) + f_nu)


@batched("(4),(),(3),(),(3),(3,3),()->(4),(),(3)")
def scaling_step(p, nu, Om_B, f_nu, tau_B, Theta, h):
    """Move a body whose scaling is free: half a kick, half a growth, a turn, half a growth, half a kick.

    With s = |p|^2, pi = tr(Theta)/2 nu and y = s Theta Om the motion is Hamiltonian, H = pi^2/tr(Theta) +
    y.Theta^-1 y/(2 s^2): the first term lets s grow at the rate nu, the second turns the body, of inertia s^2 Theta,
    and pushes pi by its own constant energy. Both flows are exact (|w| h <= 0.5 rad), so that the step is symplectic,
    of second order, and keeps the spatial momentum p Theta Om p*. Source: PC; docs/contact.md.
    """
    half, whole = 0.5 * h, _trace(Theta)
    nu, Om_B, s = nu + (2.0 * half / whole) * f_nu, Om_B + half * solve3(Theta, tau_B), p @ p
    q, y = p * (1.0 / np.sqrt(s)), s * (Theta @ Om_B)
    s = s + half * nu
    nu = nu + (2.0 * h / whole) * (y @ solve3(Theta, y)) / (s * s * s)
    q, y = taylor.drift(q, y, (s * s) * Theta, zeros(3), h)
    s = s + half * nu
    Om_B = solve3(Theta, y) * (1.0 / s)
    nu, Om_B = nu + (2.0 * half / whole) * f_nu, Om_B + half * solve3(Theta, tau_B)
    return np.sqrt(s) * q, nu, Om_B


@batched("(4),(3),(3,3)->(3)")
def scaling_momentum(p, Om_B, Theta):
    """Return the angular momentum p Theta Om p* of a body of any size, in inertial axes."""
    return (p @ p) * quaternion.rotate(p * (1.0 / np.sqrt(p @ p)), Theta @ Om_B)


# The rigid body: p = q_IB of unit length, nu = 0, Om = w


@batched("(3),(3),(3,3),()->(3)")
def half_change(w_B, tau_B, Theta, h):
    """Return d = w_m - w, what the rate changes by in half a step: Theta d = (h/2)(Theta w_m x w_m + tau), by Newton.

    The rate at the end is w + 2 d. Energy: the change of T_rot is h w_m.tau exactly. Solved for d because it is small:
    round-off in the equation then counts little against w.
    """
    half = 0.5 * h
    d = half * solve3(Theta, cross(Theta @ w_B, w_B) + tau_B)
    for _ in range(NEWTON_ITERATIONS):
        w_m = w_B + d
        L = Theta @ w_m
        slope = Theta + half * (skew(w_m) @ Theta - skew(L))
        d = d - solve3(slope, Theta @ d - half * (cross(L, w_m) + tau_B))
    return d


@batched("(4),(3),(3),(3),()->(4),(3)")
def move(q_IB, r_IB, w_B, v_I, h):
    """Return the pose after h at constant velocities: r + h v and Cayley's q (1, h w/2)/|.|.

    With the midpoint rate Cayley's map turns the body's momentum exactly: R1 Theta w1 = R0 Theta w0 without torque.
    """
    turn = array([1.0, *(0.5 * h * w_B)])
    return quaternion.normalize(quaternion.mul(q_IB, turn)), r_IB + h * v_I


@batched("(4),(3),(3),(3),(3),(3),(),(3,3),()->(4),(3),(3),(3)")
def step(q_IB, r_IB, w_B, v_I, tau_B, f_I, m, Theta, h):
    """Fly a step without contact, second order: midpoint velocities, then `move`; torque and force held.

    Energy and linear and angular momentum change by exactly the work and the impulses of torque and force.
    """
    dw, dv = half_change(w_B, tau_B, Theta, h), (0.5 * h / m) * f_I
    q_1, r_1 = move(q_IB, r_IB, w_B + dw, v_I + dv, h)
    return q_1, r_1, w_B + 2.0 * dw, v_I + 2.0 * dv


@batched("(4),(3),(3),(3),(),(3,3)->(6)")
def momentum(q_IB, r_IB, w_B, v_I, m, Theta):
    """Return angular momentum about the inertial origin and linear momentum, [R Theta w + r x m v, m v]."""
    p_I = m * v_I
    return np.concatenate([quaternion.rotate(q_IB, Theta @ w_B) + cross(r_IB, p_I), p_I])
