"""The exact motion of a free rigid body over any time."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.batch import Kernel, batched, where
from gnc.integrators import euler_top
from gnc.linalg import array, block, identity, skew, zeros


def _turn(top, n_1, dn, psi):
    """Return the rotation over the step, conj(s(n)) exp(psi e/2) s(n_1) with s(n) = (1 + n.e, n x e)/|.|, turned axes.

    Written as 1 + ..., so that a small rotation has full relative accuracy.
    """
    sine, cosine = np.sin(0.25 * psi), np.cos(0.25 * psi)
    start, end = _half_way(top.n), _half_way(n_1)
    spin = array([-2.0 * sine * sine, 0.0, 0.0, 2.0 * sine * cosine])  # exp(psi e/2) - 1
    step = quaternion.mul(spin, end) + array([dn[2], dn[1], -dn[0], 0.0])
    f = quaternion.mul(quaternion.conj(start), step)
    return array([f[0] + 2.0 * start[0], *f[1:]]) * (0.5 / np.sqrt(start[0] * end[0]))


def _half_way(n):
    return array([1.0 + n[2], n[1], -n[0], 0.0])


def _flow(P_B, moments, axes, h, nodes):
    top = euler_top.start(P_B, moments, axes)
    t = top.L * h
    s, c, d, w = euler_top.functions(top, np.sin(top.a * t), np.cos(top.a * t))
    S, C, D = array([s, c, d]) * (1.0 / w)
    n_1 = euler_top.momentum(top.n, top.g, S, C, D)
    dn = where(C > euler_top.NEAR, euler_top.change(top.n, top.g, S, C, D), n_1 - top.n)
    psi, squares = euler_top.integrals(top, t, nodes)
    f = _turn(top, n_1, dn, psi)
    f_B, n_B = array([f[0], *(top.R_BT @ f[1:])]), top.R_BT @ n_1
    P_1 = _kept(top.L * n_B, P_B, top)
    return f_B, P_1, top, t, n_B, (S, C, D, squares)


def _kept(P_1, P_0, top):
    square = P_0 @ P_0
    P_1 = P_1 + ((square - P_1 @ P_1) * (0.5 / where(square == 0.0, 1.0, square))) * P_1
    y = P_1 @ top.R_BT
    w = top.inverse * y
    e0, e1 = square * (top.n @ (top.inverse * top.n)), y @ w
    v = w - (e1 / where(square == 0.0, 1.0, square)) * y
    vv = v @ v + 0.01 * (w @ w)
    return P_1 + top.R_BT @ ((0.5 * (e0 - e1) / where(square == 0.0, 1.0, vv)) * v)

def _unit(q):
    return q + (0.5 - 0.5 * (q @ q)) * q


@functools.cache
def drift_kernel(nodes: int) -> Kernel:
    @batched("(4),(3),(3),(3,3),()->(4),(3)")
    def drift(q_IB, P_B, moments, axes, h):
        f_B, P_1, *_ = _flow(P_B, moments, axes, h, nodes)
        return _unit(quaternion.mul(q_IB, f_B)), P_1

    return drift


@functools.cache
def jacobian_kernel(nodes: int) -> Kernel:
    @batched("(4),(3),(3),(3,3),()->(4),(3),(6,6)")
    def drift_jacobian(q_IB, P_B, moments, axes, h):
        f_B, P_1, top, t, n_B, solution = _flow(P_B, moments, axes, h, nodes)
        R = top.R_BT
        dP = R @ euler_top.change_jacobian(top, t, *solution) @ R.T
        v = skew(f_B[1:])
        dC = 2.0 * (v @ v - f_B[0] * v)
        still = top.L == 0.0
        w_B = R @ (top.inverse * top.n)
        B = (t * np.outer(n_B, w_B) - skew(n_B) @ (dP - dC)) / where(still, 1.0, top.L)
        B = where(still, h * (R * top.inverse) @ R.T, B)
        return _unit(quaternion.mul(q_IB, f_B)), P_1, block([[identity(3) + dC, B], [zeros(3, 3), identity(3) + dP]])

    return drift_jacobian
