"""Impacts between two bodies: both with seven velocities, their unit constraints and all contacts solved together.

Velocities z = (v, nu, Om) of both bodies, one after the other, M = diag(M_1, M_2). A contact pushes both bodies at one
point of space, in opposite directions: its rows are W = (W_1, -W_2) of `contact.directions`. The impact law is
that of `contact`,

    z+ = z + M^-1 (W^T Lam + unit),  xi = W (z+ + e z):   xi_nu = 0,  Lam_N >= 0, xi_N >= 0, Lam_N xi_N = 0,
                                                          |Lam_T| <= mu Lam_N, opposed to xi_T on the edge

by the same projections, and for the same reason energy never rises. Because both bodies feel the same impulse at the
same point, the momentum of the pair, linear and angular, stays to round-off. All trials sweep together; each stops by
itself. Source: PC, an abstract; docs/contact.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.integrators.contact import directions
from gnc.linalg import block, inv3, zeros

Array = Any
TOLERANCE = 1e-14  # of the change of impulses in a sweep, relative
SWEEPS, FULL_SWEEPS = 5000, 2500  # at most; before half steps, which do not cycle
LEAP = 50  # sweeps between two extrapolations of those that come nearer by less than a half in a sweep


class Impact(NamedTuple):
    """What an impact did, trials first."""

    z: Array  # (trials, 14) velocities after it
    impulse: Array  # (trials, contacts, 3) along normal and tangents, on the first body [N s]
    converged: Array  # (trials,)


@batched("(4),(3),(4),(3),(3),(3)->(3,14)")
def pair_directions(q_1, r_1, q_2, r_2, point_I, n_I):
    """Return the rows of a contact at a point of space, its normal from the second body to the first."""
    first, second = (
        directions(q, quaternion.inverse_rotate(q, point_I - r), 0.0, n_I) for q, r in ((q_1, r_1), (q_2, r_2))
    )
    return np.concatenate([first, -second], axis=1)


@batched("(),(3,3),(),(3,3)->(14,14)")
def pair_mobility(m_1, Theta_1, m_2, Theta_2):
    """Return M^-1 of both bodies."""
    return block([[_mobility(m_1, Theta_1), zeros(7, 7)], [zeros(7, 7), _mobility(m_2, Theta_2)]])


def _mobility(m, Theta):
    inverse = zeros(7, 7)
    for i in range(3):
        inverse[i, i] = 1.0 / m
    inverse[3, 3] = 2.0 / (Theta[0, 0] + Theta[1, 1] + Theta[2, 2])
    inverse[4:, 4:] = inv3(Theta)
    return inverse


def impact(z: Array, W: Array, mobility: Array, touching: Array, e: Array, mu: Array) -> Impact:
    """Let contacts W (trials, contacts, 3, 14) that touch and approach act on velocities z (trials, 14)."""
    trials, contacts = touching.shape
    impulse, after = np.zeros((trials, contacts, 3)), z.copy()
    velocity = (W[..., 0, :] * z[:, None, :]).sum(-1)
    live = np.nonzero((touching & (velocity < 0.0)).any(-1))[0]
    converged = np.isfinite(z).all(-1)
    if len(live):
        rows = np.concatenate([W[live].reshape(len(live), -1, 14), _unit_rows(len(live))], axis=1)
        G = rows @ mobility[live] @ np.swapaxes(rows, -1, -2)
        bias = (1.0 + e[live, None]) * (rows @ z[live][..., None])[..., 0]
        Lam, converged[live] = _sweep(G, bias, touching[live], mu[live])
        after[live] = z[live] + (mobility[live] @ (np.swapaxes(rows, -1, -2) @ Lam[..., None]))[..., 0]
        after[live[:, None], [3, 10]] = 0.0
        impulse[live] = Lam[:, :-2].reshape(len(live), contacts, 3)
    return Impact(after, impulse, converged)


def _unit_rows(trials: int) -> Array:
    """Return the rows of both unit constraints."""
    rows = np.zeros((trials, 2, 14))
    rows[:, 0, 3] = rows[:, 1, 10] = 1.0
    return rows


def _sweep(G: Array, bias: Array, touching: Array, mu: Array) -> tuple[Array, Array]:
    """Solve the inclusions of xi = bias + G Lam by Gauss-Seidel with projections; what has converged is left alone.

    Contacts that nearly say the same converge slowly, by the same part of what is left in each sweep: from time to time
    the limit of that series is tried (Aitken), and swept again.
    """
    impulses, open_trials = np.zeros(bias.shape), np.arange(len(bias))
    Lam, change = impulses.copy(), impulses.copy()
    for sweep in range(SWEEPS):
        new = Lam.copy()
        relax = 1.0 if sweep < FULL_SWEEPS else 0.5
        for c in np.nonzero(touching.any(0))[0]:
            _project(new, G, bias, 3 * int(c), mu, touching[:, c], relax)
        for row in (-2, -1):
            new[:, row] -= (bias[:, row] + _row(G, row, new)) / G[:, row, row]
        impulses[open_trials] = new
        going = ~(np.abs(new - Lam).max(-1) <= TOLERANCE * np.abs(new).max(-1))
        before, change = change, new - Lam
        if not going.all():
            arrays = open_trials, G, bias, touching, mu, new, change, before
            open_trials, G, bias, touching, mu, new, change, before = (a[going] for a in arrays)
        if not len(open_trials):
            break
        Lam = _limit(new, change, before) if sweep % LEAP == LEAP - 1 else new
    return impulses, ~np.isin(np.arange(len(impulses)), open_trials)


def _limit(Lam: Array, change: Array, before: Array) -> Array:
    """Return where a series goes whose changes shrink by the same part, if they shrink slowly."""
    part = (change * before).sum(-1) / np.maximum((before * before).sum(-1), 1e-300)
    leap = np.where((part > 0.5) & (part < 1.0), part / np.maximum(1.0 - part, 1e-6), 0.0)
    return Lam + leap[:, None] * change


def _row(G: Array, row: int, Lam: Array) -> Array:
    """Return one row of G Lam."""
    return (G[:, row] * Lam).sum(-1)


def _project(Lam: Array, G: Array, bias: Array, n: int, mu: Array, touching: Array, relax: float) -> None:
    """Project normal and friction impulses of one contact, in place."""
    pressed = Lam[:, n] - relax * (bias[:, n] + _row(G, n, Lam)) / G[:, n, n]
    Lam[:, n] = np.where(touching, np.maximum(pressed, 0.0), 0.0)
    a, b, ab = G[:, n + 1, n + 1], G[:, n + 2, n + 2], G[:, n + 1, n + 2]
    stiff = 0.5 * (a + b) + np.sqrt(0.25 * (a - b) ** 2 + ab * ab)
    friction = [Lam[:, n + k] - relax * (bias[:, n + k] + _row(G, n + k, Lam)) / stiff for k in (1, 2)]
    length, radius = np.hypot(*friction), mu * Lam[:, n]
    part = np.where(length > radius, radius / np.where(length > 0.0, length, 1.0), 1.0)
    for k in (1, 2):
        Lam[:, n + k] = np.where(touching, part * friction[k - 1], 0.0)


def stacked(v_1: Array, w_1: Array, v_2: Array, w_2: Array) -> Array:
    """Return z of two rigid bodies (trials, 14)."""
    none = np.zeros((len(v_1), 1))
    return np.concatenate([v_1, none, w_1, v_2, none, w_2], axis=-1)
