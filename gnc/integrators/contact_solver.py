"""The inclusions of contact by Gauss-Seidel: loops that end by a trial's own data, hence compiled by numba.

All compiled functions are in this file, because numba's cache does not notice an edit in another one; import it on
first use, since numba takes its time to load. Velocities z are (v, nu, Om). The velocity of a contact is W z, an
impulse on it moves z by Y = M^-1 W, and the matrix W^T M^-1 W is never formed. Changes are measured in the norm of
energy, sqrt(dz.M dz), in which all rows have the same unit.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

STUCK = 1.0 - 1e-9  # a friction impulse this far inside its disc is not there by round-off
FULL_SWEEPS = 1000  # what has not converged by then may be cycling, as it does for some mu > 1: half steps do not


class Contacts(NamedTuple):
    """One trial's contacts: directions (normal, two tangents) and answers, and which of them touch."""

    W: Any  # (contacts, 3, 7)
    Y: Any  # (contacts, 3, 7)
    touching: Any  # indices


class Rotor(NamedTuple):
    """What turns: half the trace of the inertia for the scaling, and the inertia."""

    J_nu: Any
    Theta: Any  # (3, 3)
    inverse: Any  # (3, 3)


class Coefficients(NamedTuple):
    """Restitution along normals and tangents, and friction."""

    e: Any
    e_T: Any
    mu: Any


class Limit(NamedTuple):
    """When a solution is good enough: the last sweep's change, and the largest number of sweeps."""

    change: Any
    sweeps: Any


def compiled(function):
    """Compile without fast-math, division by zero giving infinity, and keep the code on disk if there is a place."""
    try:
        return njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the source's folder nor the user's can be written
        return njit(error_model="numpy")(function)


@compiled
def dot(a, b):
    """Return a.b of generalised velocities, added in one order."""
    total = 0.0
    for i in range(7):
        total += a[i] * b[i]
    return total


@compiled
def combine(z, a, x, b, y):
    """Write a x + b y into z; numba's own array arithmetic takes seconds to compile."""
    for i in range(7):
        z[i] = a * x[i] + b * y[i]


@compiled
def curvatures(contacts):
    """Return 1/mass along the normal, and the largest 1/mass in the tangent plane, of every touching contact."""
    G = np.zeros((len(contacts.W), 2))
    for c in contacts.touching:
        W, Y = contacts.W[c], contacts.Y[c]
        a, b, ab = dot(W[1], Y[1]), dot(W[2], Y[2]), dot(W[1], Y[2])
        G[c, 0] = dot(W[0], Y[0])
        G[c, 1] = 0.5 * (a + b) + sqrt(0.25 * (a - b) ** 2 + ab * ab)
    return G


@compiled
def gyroscopic(z, Theta):
    """Return the forces (Om.Theta Om, Theta Om x Om - nu Theta Om) on (nu, Om) of a body of unit size."""
    nu, x, y, w = z[3], z[4], z[5], z[6]
    a = Theta[0, 0] * x + Theta[0, 1] * y + Theta[0, 2] * w
    b = Theta[1, 0] * x + Theta[1, 1] * y + Theta[1, 2] * w
    c = Theta[2, 0] * x + Theta[2, 1] * y + Theta[2, 2] * w
    return x * a + y * b + w * c, b * w - c * y - nu * a, c * x - a * w - nu * b, a * y - b * x - nu * c


@compiled
def turn(z, impulse, half_h, rotor):
    """Bring the gyroscopic impulse of a midpoint velocity up to date and return the change squared."""
    force = gyroscopic(z, rotor.Theta)
    d = np.empty(4)
    for i in range(4):
        d[i] = half_h * force[i] - impulse[i]
        impulse[i] = half_h * force[i]
    z[3] += d[0] / rotor.J_nu
    change = d[0] * d[0] / rotor.J_nu
    for i in range(3):
        dz = rotor.inverse[i, 0] * d[1] + rotor.inverse[i, 1] * d[2] + rotor.inverse[i, 2] * d[3]
        z[4 + i] += dz
        change += d[1 + i] * dz
    return abs(change)


@compiled
def press(z, W, Y, G, bias, impulse, relax):
    """Project a normal impulse, Lam >= 0, xi >= 0, Lam xi = 0, and return the change squared."""
    new = impulse[0] - relax * (dot(W[0], z) + bias[0]) / G[0]
    new = 0.0 if new < 0.0 else new  # NaN stays
    d = new - impulse[0]
    impulse[0] = new
    for i in range(7):
        z[i] += Y[0, i] * d
    return d * d * G[0]


@compiled
def rub(z, W, Y, G, bias, impulse, relax, radius):
    """Project a friction impulse on its disc, sticking inside and opposing on the edge; return the change squared."""
    a = impulse[1] - relax * (dot(W[1], z) + bias[1]) / G[1]
    b = impulse[2] - relax * (dot(W[2], z) + bias[2]) / G[1]
    length = sqrt(a * a + b * b)
    if length > radius:
        a, b = a * (radius / length), b * (radius / length)
    da, db = a - impulse[1], b - impulse[2]
    impulse[1], impulse[2] = a, b
    for i in range(7):
        z[i] += Y[1, i] * da + Y[2, i] * db
    return (da * da + db * db) * G[1]


@compiled
def solve(z, contacts, bias, impulse, mu, held, half_h, rotor, limit):
    """Sweep over gyroscopic force, contacts and unit constraint until a sweep changes little enough.

    Friction discs have the radius mu Lam_N + held. Updates z and the impulses in place; returns the impulse of the unit
    constraint, the number of sweeps, and the last one's change, NaN in a lost trial.
    """
    W, Y, G, turning = contacts.W, contacts.Y, curvatures(contacts), np.zeros(4)
    unit, sweeps, change = 0.0, 0, np.inf
    while sweeps < limit.sweeps and change > limit.change:
        total = turn(z, turning, half_h, rotor)
        relax = 1.0 if sweeps < FULL_SWEEPS else 0.5
        for c in contacts.touching:
            total += press(z, W[c], Y[c], G[c], bias[c], impulse[c], relax)
            total += rub(z, W[c], Y[c], G[c], bias[c], impulse[c], relax, mu * impulse[c, 0] + held[c])
        total += z[3] * z[3] * rotor.J_nu
        unit -= z[3] * rotor.J_nu
        z[3] = 0.0  # last, so that the body leaves the sweep rigid
        sweeps, change = sweeps + 1, sqrt(total)
    return unit, sweeps, change


@compiled
def impact(u, contacts, impulse, law, rotor, limit):
    """Change u by Newton's impact law, xi = W^T (u_after + e u); return what `solve` returns."""
    free, bias, approaching = np.zeros(len(contacts.W)), np.zeros((len(contacts.W), 3)), False
    for c in contacts.touching:
        approaching = approaching or dot(contacts.W[c, 0], u) < 0.0
        for i in (1, 2):
            bias[c, i] = (law.e_T - law.e) * dot(contacts.W[c, i], u)
    if not approaching:
        return 0.0, 0, 0.0
    z = np.empty(7)
    combine(z, 1.0, u, law.e, u)
    solved = solve(z, contacts, bias, impulse, law.mu, free, 0.0, rotor, limit)
    combine(u, 1.0, z, -law.e, u)
    return solved


@compiled
def hold(u, contacts, impulse, law, rotor, limit):
    """Bring contacts that carried load and stuck to rest, within the friction the load allows; u and impulse change."""
    stuck, bias, held = np.zeros(len(contacts.W), np.bool_), np.zeros((len(contacts.W), 3)), np.zeros(len(contacts.W))
    for c in contacts.touching:
        held[c] = law.mu * impulse[c, 0]
        stuck[c] = sqrt(impulse[c, 1] ** 2 + impulse[c, 2] ** 2) < STUCK * held[c]
    if not (law.e < 1.0 and np.any(stuck)):
        return 0.0, 0, 0.0
    resting = Contacts(contacts.W, contacts.Y, np.nonzero(stuck)[0])
    return solve(u, resting, bias, impulse, 0.0, held, 0.0, rotor, limit)


@compiled
def stages(u, middle, kick, contacts, law, half_h, rotor, limit, impulse):
    """Compute impact, smooth stage and hold of one trial, as `gnc.integrators.contact` describes them.

    Takes u from the start to the end of the step, writes the midpoint velocity and the contacts' impulses, and returns
    the unit constraint's impulse, the number of sweeps and the changes in the last ones.
    """
    free, bias, load = np.zeros(len(contacts.W)), np.zeros((len(contacts.W), 3)), np.zeros((len(contacts.W), 3))
    struck = impact(u, contacts, impulse, law, rotor, limit)
    combine(middle, 1.0, u, 1.0, kick)
    smooth = solve(middle, contacts, bias, load, law.mu, free, half_h, rotor, limit)
    combine(u, 2.0, middle, -1.0, u)
    for c in contacts.touching:
        for i in range(3):
            load[c, i] *= 2.0  # the midpoint velocity has half of it
    held = hold(u, contacts, load, law, rotor, limit)
    for c in contacts.touching:
        for i in range(3):
            impulse[c, i] += load[c, i]
    unit, sweeps = struck[0] + 2.0 * smooth[0] + held[0], struck[1] + smooth[1] + held[1]
    return unit, sweeps, struck[2], smooth[2], held[2]


@compiled
def touch(u, kick, W, Y, active, law, half_h, rotor, limit):
    """Compute every trial by itself; arrays, in the tuples too, have the trials first.

    Takes u from the start to the end of the step; returns the midpoint velocities, the impulses of the contacts and of
    the unit constraint, the numbers of sweeps, and the changes in the last sweeps of the three stages.
    """
    trials, contacts = active.shape
    middle, impulse = np.empty((trials, 7)), np.zeros((trials, contacts, 3))
    unit, sweeps, change = np.empty(trials), np.empty(trials, np.int64), np.empty((trials, 3))
    for t in range(trials):
        unit[t], sweeps[t], change[t, 0], change[t, 1], change[t, 2] = stages(
            u[t],
            middle[t],
            kick[t],
            Contacts(W[t], Y[t], np.nonzero(active[t])[0]),
            Coefficients(law.e[t], law.e_T[t], law.mu[t]),
            half_h[t],
            Rotor(rotor.J_nu[t], rotor.Theta[t], rotor.inverse[t]),
            Limit(limit.change[t], limit.sweeps),
            impulse[t],
        )
    return middle, impulse, unit, sweeps, change
