"""The exact derivative of a variational step, joint by joint: O(B) operations for every direction.

A direction is an error of every body, xi (pose) and chi (twist), and of the joints, gamma and rate. Both halves of a
step (see `variational`) differentiated are two problems of the kind that `variational_solver` describes, with A_f =
Ad(f(x)^-1), J = dg/dx, dx = (2 E)^-1 (xi' - A_f xi), f the wrench of a joint on its child:

    J (2 E)^-1 xi' = (h/2) M chi + J (2 E)^-1 A_f xi + ...,     xi_c' = X' xi_p' + S gamma'
    M chi' = (2/h) J(-x) dx + ...,                              chi_c' = X' chi_p' + S rate' + ad(X' chi_p) S gamma'

The dots are what joints do: a joint that has turned by S gamma hands X^T ad(S gamma)^T f more to its parent, springs
and dampers change their efforts. Both problems are factored once for each trial. Then the directions go through, six at
a time: `sweep`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion
from gnc.batch import batched, sized
from gnc.integrators.dqvi_equation import increment, increment_change, momentum_slopes
from gnc.linalg import identity, solve, zeros
from gnc.models.multibody.assembled import assembled
from gnc.models.multibody.recursion import cross_twist, cross_wrench
from gnc.models.multibody.tree import Link
from gnc.typing import Array

Flags = tuple[bool, ...]
WIDTH = 6  # directions that go through together


class Directions(NamedTuple):
    """Errors of all bodies and joints in groups of six directions; leading axes are groups, then trials."""

    xi: Array  # (groups, ..., B, 6, 6) of the poses, by link
    gamma: Array  # (groups, ..., D, 6)
    chi: Array  # (groups, ..., B, 6, 6) of the twists
    rate: Array  # (groups, ..., D, 6)
    effort: Array  # (groups, ..., D, 6) that changes for the whole step
    wrench: Array  # (groups, ..., 6, 6) on the base, likewise


class Factors(NamedTuple):
    """What one of the two problems is for all directions; parts of joints stand at the places of their velocities."""

    base: Array  # (..., 6, 6) inverse of A of the base with all that hangs on it
    pushed: Array  # (..., 6, D) A S
    back: Array  # (..., D, 6) K
    answer: Array  # (..., D, 6) D^-1 S^T
    turned: Array  # (..., 6, D) what the parent gets besides, for gamma
    by_gamma: Array  # (..., D, 3) of y, along the joint's own gamma
    by_rate: Array  # (..., D, 3)
    by_effort: Array  # (..., D, 3)


@batched("(6),(6,6),(),()->(6,6),(6,6),(6,6),(6,6)")
def body_maps(x, M, filler, h):
    """Return A = J (2 E)^-1, A A_f, and (2/h) J(-x) (2 E)^-1 without and with A_f."""
    odd, even = momentum_slopes(x, M, filler)
    change, A_f = increment_change(x), dual_quaternion.adjoint(dual_quaternion.conj(increment(x)))
    A, trailing = (odd + even) @ change, ((odd - even) * (2.0 / h)) @ change
    return A, A @ A_f, trailing, trailing @ A_f


@batched("(6,6),(6,6)->(6,6)")
def _product(A, columns):
    return A @ columns


@batched("(6,6),(6,6),(6,6),(6,6)->(6,6)")
def _sum_of_products(A, a, B, b):
    return A @ a + B @ b


@batched("(6,6)->(6,6)")
def _inverse(A):
    return solve(A, identity(6))


@sized(lambda d: f"(6,6),(6),(6,{d})->(6,{d})")
def turn(X, chi_parent, S, *, d):
    """Return ad(X chi_p) S."""
    v = X @ chi_parent
    return np.stack([cross_twist(v, S[:, k]) for k in range(d)], axis=1)


def _wide(rows: Array, d: int) -> Array:
    """Return d rows with three places each."""
    return np.concatenate([rows, zeros(d, 3 - d)], axis=1) if d < 3 else rows


@sized(
    lambda d, prescribed, end: (
        f"(6,6),(6,6),(6,6),(6,{d}),(6,{d}),(6),({d},3),({d},3),()"
        f"->(6,6),(6,{d}),({d},6),({d},6),(6,{d}),({d},3),({d},3),({d},3)"
    )
)
def _factor(A, X_start, X_end, S, Z, f, by_gamma, by_rate, part, *, d, prescribed, end):
    """Return what the parent gets and the joint's part of `Factors`.

    `by_gamma` and `by_rate` are the derivatives of its effort, which acts with h^2/4 or h/2 as `part`, or of a
    prescribed joint those of its gamma'.
    """
    AX, AS, none = A @ X_end, A @ S, zeros(d, 6)
    AZ = A @ Z if end else zeros(6, d)
    turned = np.stack([-cross_wrench(S[:, k], f) for k in range(d)], axis=1) - AZ
    if prescribed:
        led = (zeros(d, 3), _wide(identity(d), d)) if end else (by_gamma, by_rate)
        return X_start.T @ AX, AS, none, none, turned, *led, zeros(d, 3)
    assistance = part * by_rate[:, :d]
    D = S.T @ AS - (assistance if end else zeros(d, d))
    both = solve(D, np.concatenate([S.T @ AX, S.T, identity(d)], axis=1))
    K, answer, inverse = both[:, :6], both[:, 6:12], both[:, 12:]
    bent = inverse @ (part * by_gamma[:, :d] - S.T @ AZ)
    wide = (_wide(rows, d) for rows in (bent, zeros(d, d) if end else inverse @ assistance, part * inverse))
    return X_start.T @ (AX - AS @ K), AS, K, answer, turned, *wide


@functools.cache
def factoring(links: tuple[Link, ...], prescribed: Flags, end: bool) -> Callable[..., Any]:
    """Return the function of arrays that gives `Factors`, and with `end` the turns ad(X chi_p) S (..., 6, D) too."""
    B, J, D = len(links) + 1, len(links), max((link.rate[1] for link in links), default=0)

    def factors(A, X_start, X_end, axes, chi, f, by_gamma, by_rate, part):
        matrix, pieces, turns = [A[..., i, :, :] for i in range(B)], _blanks(J), _blanks(J)
        for i, link in reversed(list(enumerate(links))):
            d, mine = link.rate[1] - link.rate[0], slice(*link.rate)
            S, X = axes[..., mine], X_end[..., i, :, :]
            turns[link.joint] = Z = turn(d)(X, chi[..., link.parent, :], S)
            carried, *pieces[link.joint] = _factor(d, prescribed[i], end)(
                matrix[i + 1], X_start[..., i, :, :], X, S, Z, f[..., i, :],
                by_gamma[..., mine, :], by_rate[..., mine, :], part,
            )  # fmt: skip
            matrix[link.parent] = matrix[link.parent] + carried
        if not links:
            return _inverse(matrix[0]), *(np.zeros(core) for core in outs[1:])
        axis = (-1, -2, -2, -1, -2, -2, -2)
        parts = [np.concatenate([piece[k] for piece in pieces], axis[k]) for k in range(7)]
        return _inverse(matrix[0]), *parts, np.concatenate(turns, -1)

    ins = ((B, 6, 6), (J, 6, 6), (J, 6, 6), (6, D), (B, 6), (J, 6), (D, 3), (D, 3), ())
    outs = ((6, 6), (6, D), (D, 6), (D, 6), (6, D), (D, 3), (D, 3), (D, 3), (6, D))
    return assembled(factors, B, ins, outs)


def _blanks(n: int) -> list[Any]:
    """Return places to be filled."""
    return [None] * n


@sized(lambda d: f"(6,6),({d},6),({d},6),({d},6),(6,6),(6,{d}),({d},6),(6,{d}),({d},3),({d},3),({d},3)->(6,6),({d},6)")
def _up(s, gamma, rate, effort, X_start, pushed, answer, turned, by_gamma, by_rate, by_effort, *, d):
    """Return what the parent gets of six directions, and the joint's y as far as it does not depend on it."""
    y = answer @ s + by_gamma[:, :d] @ gamma + by_rate[:, :d] @ rate + by_effort[:, :d] @ effort
    return X_start.T @ (s - pushed @ y + turned @ gamma), y


@sized(lambda d, bent: f"({d},6),(6,6),(6,6),({d},6),(6,{d}),(6,{d}),({d},6)->(6,6),({d},6)")
def _down(y, xi_parent, X_end, back, S, Z, gamma, *, bent):
    """Return the child's six directions and the joint's y."""
    y = y - back @ xi_parent
    xi = X_end @ xi_parent + S @ y
    return (xi + Z @ gamma if bent else xi), y


def _solve(links: Any, s: Any, gamma: Any, rate: Any, effort: Any, X: Any, axes: Any, Z: Any, factors: Any) -> Any:
    """Solve one of the two problems for six directions; `X` has those of start and end, Z is None at the start."""
    part, y = Factors(*factors), _blanks(len(links))
    for i, link in reversed(list(enumerate(links))):
        d, mine = link.rate[1] - link.rate[0], slice(*link.rate)
        carried, y[i] = _up(d)(
            s[i + 1], gamma[..., mine, :], rate[..., mine, :], effort[..., mine, :], X[0][..., i, :, :],
            part.pushed[..., mine], part.answer[..., mine, :], part.turned[..., mine],
            part.by_gamma[..., mine, :], part.by_rate[..., mine, :], part.by_effort[..., mine, :],
        )  # fmt: skip
        s[link.parent] = s[link.parent] + carried
    xi, own = [_product(part.base, s[0])], _blanks(len(links))
    for i, link in enumerate(links):
        mine = slice(*link.rate)
        S = axes[..., mine]
        moved, own[link.joint] = _down(link.rate[1] - link.rate[0], Z is not None)(
            y[i], xi[link.parent], X[1][..., i, :, :], part.back[..., mine, :],
            S, S if Z is None else Z[..., mine], gamma[..., mine, :],
        )  # fmt: skip
        xi.append(moved)
    return xi, np.concatenate(own, -2) if own else gamma


@functools.cache
def sweep(links: tuple[Link, ...]) -> Callable[..., Any]:
    """Return the function that moves `Directions` over a step: (xi, gamma, chi, rate) after it."""
    B, J, D = len(links) + 1, len(links), max((link.rate[1] for link in links), default=0)

    def swept(xi, gamma, chi, rate, effort, kick, kick_end, half_M, N, P, Q, X_start, X_end, axes, *factors):
        first, last, Z = factors[:8], factors[8:16], factors[16]
        s = [
            _sum_of_products(half_M[..., i, :, :], chi[..., i, :, :], N[..., i, :, :], xi[..., i, :, :])
            for i in range(B)
        ]
        s[0] = s[0] + kick
        moved, gamma = _solve(links, s, gamma, rate, effort, (X_start, X_end), axes, None, first)
        s = [_sum_of_products(P[..., i, :, :], moved[i], Q[..., i, :, :], xi[..., i, :, :]) for i in range(B)]
        s[0] = s[0] + kick_end
        chi, rate = _solve(links, s, gamma, rate, effort, (X_end, X_end), axes, Z, last)
        return np.stack(moved, -3), gamma, np.stack(chi, -3), rate

    bodies, joints, problem = (B, 6, 6), (D, 6), ((6, 6), (6, D), (D, 6), (D, 6), (6, D), (D, 3), (D, 3), (D, 3))
    moving = (bodies, joints, bodies, joints, joints, (6, 6), (6, 6))
    ins = (*moving, *(bodies,) * 4, (J, 6, 6), (J, 6, 6), (6, D), *problem, *problem, (6, D))
    return assembled(swept, B, ins, (bodies, joints, bodies, joints))


@functools.cache
def sweep_nodes(links: tuple[Link, ...]) -> Callable[..., Any]:
    """Return the function that gives xi and gamma of the third node from those of two: see `next_node`."""
    B, J, D = len(links) + 1, len(links), max((link.rate[1] for link in links), default=0)

    def swept(xi, xi_next, gamma_next, P, Q, X_start, X_end, axes, *factors):
        s = [
            _sum_of_products(P[..., i, :, :], xi_next[..., i, :, :], Q[..., i, :, :], xi[..., i, :, :])
            for i in range(B)
        ]
        still = np.zeros_like(gamma_next)
        moved, gamma = _solve(links, s, gamma_next, still, still, (X_start, X_end), axes, None, factors)
        return moved[0], gamma

    bodies, problem = (B, 6, 6), ((6, 6), (6, D), (D, 6), (D, 6), (6, D), (D, 3), (D, 3), (D, 3))
    ins = (bodies, bodies, (D, 6), bodies, bodies, (J, 6, 6), (J, 6, 6), (6, D), *problem)
    return assembled(swept, B, ins, ((6, 6), (D, 6)))
