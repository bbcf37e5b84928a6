"""The free rigid body solved by Jacobi's elliptic functions, for kernels: momentum, its Jacobian, and the turn.

Momentum n = p/L on the unit sphere, time t = L h: n' = n x J^-1 n. The principal axes (J2 the intermediate moment) are
turned about the second, so that n circles about the third and n3 >= 0. With g = (1/J3 - 1/J2, 1/J1 - 1/J3, 1/J2 - 1/J1)
in these axes n1' = g1 n2 n3 and so on, and everything is made of three functions of time:

    large = g1 (g3 n2^2 - g2 n3^2),  small = g3 (g1 n2^2 - g2 n1^2),  gap = large - small >= 0    at the start
    S' = C D,  C^2 = 1 - large S^2,  D^2 = 1 - small S^2                 S = sn/sqrt(large), C = cn, D = dn

gap = 0 is the separatrix and large = 0 a body that is spherical for this motion; neither is special here. The
attitude follows from the momentum and one angle psi about e, the third axis: psi' = w.(n + e)/(1 + n.e).
Source: Jacobi's solution by Landen's transformation; spec/attitude.md, "Exact free drift".
"""

from __future__ import annotations

import functools
import math
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import batched, copysign, jacobian, maximum, where
from gnc.linalg import array
from gnc.quaternion import conj, mul


@functools.cache
def gauss_legendre(n: int) -> tuple[tuple[float, float], ...]:
    """Return the nodes in (0, 1) with their weights, for an even number n of nodes in (-1, 1).

    Newton's method on P_n, k P_k = (2k - 1) x P_(k-1) - (k - 1) P_(k-2), in decimal arithmetic: rounded once, so the
    numbers are the same on every machine, unlike those of an eigenvalue solver.
    """
    if n % 2 or n < 2:
        raise ValueError(f"n: expected an even number of nodes, got {n}")
    with localcontext() as context:
        context.prec = 40
        return tuple(_node(n, i) for i in range(n // 2))


def _node(n: int, i: int) -> tuple[float, float]:
    x = Decimal(math.cos(math.pi * (i + 0.75) / (n + 0.5)))
    for _ in range(6):
        before, value = Decimal(1), x
        for k in range(2, n + 1):
            before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
        slope = n * (before - x * value) / (1 - x * x)
        x -= value / slope
    return float(x), float(2 / ((1 - x * x) * slope * slope))


STAGES = 8  # of Landen's transformation: they bring every gap down from 1e-18 large to the limit
TINY = 1e-200  # instead of zero for `large`, so that sin(a t)/a is t
NEAR = 0.99  # C above it: little has changed since the start, and differences must not be left to round-off


class Top(NamedTuple):
    """One trial at its start, in the turned axes."""

    L: Any
    R_BT: Any  # the turned axes, in body components
    n: Any
    inverse: Any  # 1/J
    g: Any
    large: Any
    small: Any
    gap: Any
    a: Any  # sqrt(large) in the last stage: the frequency of sine and cosine
    per_a: Any
    quarters: Any  # small/4 of every stage


class End(NamedTuple):
    """The same trial after a step."""

    t: Any
    n: Any  # the momentum, in the axes turned at the start
    f_B: Any  # the body's rotation over the step
    S: Any
    C: Any
    D: Any
    squares: Any  # the integral of S^2/D^2


def start(P_B: Any, moments: Any, axes: Any) -> Top:
    """Turn the axes and prepare the recursion; a body at rest gets a direction that does not matter."""
    L = np.sqrt(P_B @ P_B)
    n = where(L == 0.0, axes[:, 2], P_B / where(L == 0.0, 1.0, L)) @ axes
    inverse = 1.0 / moments
    g = _differences(inverse)
    gap = g[1] * (g[2] * n[0] ** 2 - g[0] * n[2] ** 2)
    stay = gap >= 0.0
    sign = copysign(1.0, where(stay, n[2], n[0]))

    def turned(v: Any) -> Any:
        return array([sign * where(stay, v[0], -v[2]), v[1], sign * where(stay, v[2], v[0])])

    n, R_BT = turned(n), turned(axes.T).T
    inverse = array([where(stay, inverse[0], inverse[2]), inverse[1], where(stay, inverse[2], inverse[0])])
    g = _differences(inverse)
    large, small = _squares(n, g)
    large = maximum(large, TINY)
    gap = maximum(abs(gap), 1e-18 * large)
    return Top(L, R_BT, n, inverse, g, large, small, gap, *_landen(large, small, gap))


def end(top: Top, h: Any, nodes: int) -> End:
    """Go on to time h, the angle psi by a number of Gauss-Legendre nodes."""
    t = top.L * h
    s, c, d, w = _functions(top, np.sin(top.a * t), np.cos(top.a * t))
    S, C, D = array([s, c, d]) * (1.0 / w)
    n = momentum(top.n, top.g, S, C, D)
    psi, squares = _integrals(top, t, nodes)
    f = _rotation(top.n, n, where(C > NEAR, change(top.n, top.g, S, C, D), n - top.n), psi)
    return End(t, n, array([f[0], *(top.R_BT @ f[1:])]), S, C, D, squares)


def _differences(inverse: Any) -> Any:
    return array([inverse[2] - inverse[1], inverse[0] - inverse[2], inverse[1] - inverse[0]])


def _squares(n: Any, g: Any) -> tuple[Any, Any]:
    return g[0] * (g[2] * n[1] ** 2 - g[1] * n[2] ** 2), g[2] * (g[0] * n[1] ** 2 - g[1] * n[0] ** 2)


def _landen(large: Any, small: Any, gap: Any) -> tuple[Any, Any, list[Any]]:
    """Return the arithmetic-geometric mean of sqrt(large) and sqrt(gap), and small/4 of every stage."""
    a, b, quarters = np.sqrt(large), np.sqrt(gap), []
    for k in range(STAGES):
        quarters.append(0.25 * ((a - b) * (a + b) if k else small))
        a, b = 0.5 * (a + b), np.sqrt(a * b)
    return a, 1.0 / a, quarters


def _functions(top: Top, sine: Any, cosine: Any) -> tuple[Any, Any, Any, Any]:
    """Return s, c, d, w with S = s/w, C = c/w, D = d/w at time t, given sin and cos of a t.

    Every stage is (S, C, D) <- (S, C D, 1 - z)/(1 + z) with z = quarter S^2; the division is left to the end.
    """
    s, c, d, w = sine * top.per_a, cosine, 1.0, 1.0
    for quarter in reversed(top.quarters):
        z, ww = quarter * (s * s), w * w
        s, c, d, w = s * w, c * d, ww - z, ww + z
    return s, c, np.sqrt(c * c + top.gap * (s * s)), w  # this D keeps its digits near the separatrix


def momentum(n: Any, g: Any, S: Any, C: Any, D: Any) -> Any:
    """Return the momentum at the time of S, C, D, by the addition theorems."""
    return _momentum(n, g, S, C, D, array([C, C * D, D]))


@batched("(3),(3),(),(),()->(3)")
def change(n, g, S, C, D):
    """Return how much the momentum has changed: to full relative accuracy where that is little."""
    large, small = _squares(n, g)
    c, d, r = large * S * S / (1.0 + C), small * S * S / (1.0 + D), g[0] * g[2] * n[1] ** 2 * S * S  # 1 - C, ...
    N = _norm(n, g, S, C)
    return _momentum(n, g, S, C, D, where(C > NEAR, array([r - c, r - c - d + c * d, r - d]), array([C, C * D, D]) - N))


def _norm(n: Any, g: Any, S: Any, C: Any) -> Any:
    return C * C - g[0] * g[1] * n[2] ** 2 * S * S


def _momentum(n: Any, g: Any, S: Any, C: Any, D: Any, diagonal: Any) -> Any:
    others = array([g[0] * n[1] * n[2] * D, g[1] * n[0] * n[2], g[2] * n[0] * n[1] * C])
    return (n * diagonal + S * others) * (1.0 / _norm(n, g, S, C))


_slopes = jacobian(change, ("n", "S", "C", "D"))


def change_jacobian(top: Top, end: End) -> Any:
    """Return d n_1/d n - 1, given the integral of S^2/D^2, in which no term cancels.

    dS/dsmall = -C D/2 times that integral. The other derivatives with respect to small and large follow from the
    definitions of C and D, and from dimensions: S(t) of large and small scales as time.
    """
    n, g, A, B = top.n, top.g, top.large, top.small
    t, S, C, D, squares = end.t, end.S, end.C, end.D, end.squares
    per_A = 1.0 / A
    ratio = B * per_A
    S_B, C_B = -0.5 * C * D * squares, 0.5 * A * S * D * squares
    D_B = 0.5 * (B * S * C * squares - S * S / D)
    S_A = 0.5 * (t * C * D - S) * per_A - ratio * S_B
    C_A, D_A = -0.5 * S * D * (t + B * squares), -ratio * (0.5 * t * S * C + D_B)
    A_n = 2.0 * g[0] * array([0.0, g[2] * n[1], -g[1] * n[2]])
    B_n = 2.0 * g[2] * array([-g[1] * n[0], g[0] * n[1], 0.0])
    n_n, n_S, n_C, n_D = _slopes(n, g, S, C, D)
    return (
        n_n
        + np.outer(n_S, S_A * A_n + S_B * B_n)
        + np.outer(n_C, C_A * A_n + C_B * B_n)
        + np.outer(n_D, D_A * A_n + D_B * B_n)
    )


def _integrals(top: Top, t: Any, nodes: int) -> tuple[Any, Any]:
    """Return psi and the integral of S^2/D^2 over the time t, psi' = (2T + n3/J3)/(1 + n3).

    The nodes lie in pairs on both sides of the midpoint, which saves half of the sines.
    """
    n, g = top.n, top.g
    x, y = -g[0] * g[1] * n[2] ** 2, g[2] * n[0] * n[1]
    middle, twice_energy = 0.5 * t, n @ (top.inverse * n)
    sin_m, cos_m = np.sin(top.a * middle), np.cos(top.a * middle)
    psi, squares = 0.0, 0.0
    for node, weight in gauss_legendre(nodes):
        offset = node * middle
        sin_o, cos_o = np.sin(top.a * offset), np.cos(top.a * offset)
        for side in (-1.0, 1.0):
            sine, cosine = sin_m * cos_o + side * (cos_m * sin_o), cos_m * cos_o - side * (sin_m * sin_o)
            s, c, d, w = _functions(top, sine, cosine)
            up, down = n[2] * d * w + y * s * c, c * c + x * (s * s)  # their ratio is n3
            psi = psi + weight * ((twice_energy * down + top.inverse[2] * up) / (down + up))
            squares = squares + weight * (s * s / (d * d))
    return middle * psi, middle * squares


def _rotation(n: Any, n_1: Any, dn: Any, psi: Any) -> Any:
    """Return s(n)* exp(psi e/2) s(n_1), s(n) = (1 + n.e, n x e)/|.| the turn from n to e; dn = n_1 - n.

    With exp - 1 and dn instead of exp and n_1, a short step has a rotation of full relative accuracy.
    """
    sine, cosine = np.sin(0.25 * psi), np.cos(0.25 * psi)
    spin = array([-2.0 * sine * sine, 0.0, 0.0, 2.0 * sine * cosine])  # exp(psi e/2) - 1
    begin, end = array([1.0 + n[2], n[1], -n[0], 0.0]), array([1.0 + n_1[2], n_1[1], -n_1[0], 0.0])
    f = mul(conj(begin), mul(spin, end) + array([dn[2], dn[1], -dn[0], 0.0]))
    return array([f[0] + 2.0 * begin[0], *f[1:]]) * (0.5 / np.sqrt(begin[0] * end[0]))
