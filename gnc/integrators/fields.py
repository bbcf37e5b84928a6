"""Potentials that a rigid body moves in: energy, force, torque, and how force and torque change with the pose.

A field has three kernels of the pose and of the field's own parameters, r_I the centre of mass:

    energy(q_IB, r_I, ...) -> V
    wrench(q_IB, r_I, ...) -> torque_B, force_I             = -dV/da, -dV/dr,  q = q^ exp(a/2)
    gradient(q_IB, r_I, ...) -> (6, 6)                      d(torque_B, force_I)/d(a, r)

Parameters are arguments, so that they may differ between trials. `from_energy` makes a field of an energy alone, and
`from_wrench` the gradient of a wrench, both by forward mode. LGVI writes F(q) dV/dq for -2 torque_B.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch import Kernel, batched, jacobian
from gnc.batch.layout import Layout
from gnc.linalg import block, cross, zeros
from gnc.quaternion import derivative, inverse_rotate, rotate
from gnc.typing import Array


@dataclass(frozen=True, eq=False)
class Field:
    """The kernels of a potential, and the function and arguments that made them, by which it pickles."""

    energy: Kernel
    wrench: Kernel
    gradient: Kernel
    made_by: tuple[Any, tuple[Any, ...]]

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.made_by


def _moved(kernel: Kernel) -> Kernel:
    """Return the kernel (a, d_I, q_IB, r_I, ...) of the pose moved by small a and d, for derivatives at zero."""
    layout = kernel.layout

    def moved(a: Array, d_I: Array, q_IB: Array, r_I: Array, *parameters: Array) -> Array:
        return kernel(q_IB + derivative(q_IB, a), r_I + d_I, *parameters)  # exp(a/2) to first order

    return Kernel(moved, Layout(("a", "d_I", *layout.names), ((3,), (3,), *layout.ins), layout.outs))


def _gradient(wrench: Kernel) -> Kernel:
    """Return the kernel of the change of a wrench with the pose, by forward mode."""
    slopes = jacobian(_moved(wrench), ("a", "d_I"))

    def gradient(*arguments: Array) -> Array:
        torque_a, torque_r, force_a, force_r = slopes(zeros(3), zeros(3), *arguments)
        return block([[torque_a, torque_r], [force_a, force_r]])

    return Kernel(gradient, Layout(wrench.layout.names, wrench.layout.ins, ((6, 6),)))


@functools.cache
def from_wrench(energy: Kernel, wrench: Kernel) -> Field:
    """Return the field of an energy and its wrench, the gradient by forward mode."""
    return Field(energy, wrench, _gradient(wrench), (from_wrench, (energy, wrench)))


@functools.cache
def from_energy(energy: Kernel) -> Field:
    """Return the field of a potential energy, all else by forward mode."""
    slopes = jacobian(_moved(energy), ("a", "d_I"))

    def wrench(*arguments: Array) -> tuple[Array, Array]:
        by_a, by_r = slopes(zeros(3), zeros(3), *arguments)
        return -by_a, -by_r

    kernel = Kernel(wrench, Layout(energy.layout.names, energy.layout.ins, ((3,), (3,))))
    return Field(energy, kernel, _gradient(kernel), (from_energy, (energy,)))


# A body made of point masses, or of uniform balls, around a centre of attraction


@functools.cache
def point_masses(n: int) -> Field:
    """Return V = -mu sum m_i/|r + R rho_i| with parameters mu, m (n) and rho_B (n, 3). Source: LGVI section 5.

    Balls attract, and are attracted, as if their mass were in the middle: only their inertia tells them from points.
    """

    @batched(f"(4),(3),(),({n}),({n},3)->()")
    def energy(q_IB, r_I, mu, m, rho_B):
        arms = [r_I + rotate(q_IB, b) for b in rho_B]
        return -mu * sum(m_i / np.sqrt(x @ x) for m_i, x in zip(m, arms, strict=True))

    @batched(f"(4),(3),(),({n}),({n},3)->(3),(3)")
    def wrench(q_IB, r_I, mu, m, rho_B):
        r_B = inverse_rotate(q_IB, r_I)
        force_B, torque_B = zeros(3), zeros(3)
        for m_i, b in zip(m, rho_B, strict=True):
            x = r_B + b
            pull = (-mu * m_i / (x @ x * np.sqrt(x @ x))) * x
            force_B, torque_B = force_B + pull, torque_B + cross(b, pull)
        return torque_B, rotate(q_IB, force_B)

    return Field(energy, wrench, _gradient(wrench), (point_masses, (n,)))


# Uniform gravity: of a body that falls, and of a top on its pivot


@batched("(4),(3),(),(3)->()")
def _weight_energy(q_IB, r_I, mass, g_I):
    return -mass * (g_I @ r_I)


@batched("(4),(3),(),(3)->(3),(3)")
def _weight_wrench(q_IB, r_I, mass, g_I):
    return zeros(3), mass * g_I


# Parameters mass and the acceleration g_I.
uniform_gravity = from_wrench(_weight_energy, _weight_wrench)


@batched("(4),(3),(),(3),(3)->()")
def _top_energy(q_IB, r_I, mass, g_I, c_B):
    return -mass * (inverse_rotate(q_IB, g_I) @ c_B)


@batched("(4),(3),(),(3),(3)->(3),(3)")
def _top_wrench(q_IB, r_I, mass, g_I, c_B):
    return mass * cross(c_B, inverse_rotate(q_IB, g_I)), zeros(3)


# Parameters mass, g_I, and c_B, the centre of mass from the pivot; J is about the pivot.
heavy_top = from_wrench(_top_energy, _top_wrench)


# Gravity gradient: a body on an orbit, to the second moments of its mass


@batched("(4),(3),(),(),(3,3)->()")
def _orbit_energy(q_IB, r_I, mu, mass, J):
    square = r_I @ r_I
    n = inverse_rotate(q_IB, r_I)  # times |r|
    second = np.trace(J) - (3.0 / square) * (n @ J @ n)
    return -mu / np.sqrt(square) * (mass + 0.5 * second / square)


@batched("(4),(3),(),(3,3)->(3)")
def gravity_gradient_torque(q_IB, r_I, mu, J):
    """Return 3 mu/|r|^3 n x J n in body axes, n = r/|r|: what a filter of attitude alone needs on a known orbit."""
    square = r_I @ r_I
    n = inverse_rotate(q_IB, r_I)
    return (3.0 * mu / (square * square * np.sqrt(square))) * cross(n, J @ n)


@batched("(4),(3),(),(),(3,3)->(3),(3)")
def _orbit_wrench(q_IB, r_I, mu, mass, J):
    square = r_I @ r_I
    n = inverse_rotate(q_IB, r_I)
    Jn = J @ n
    pull = mass + 1.5 * (np.trace(J) - (5.0 / square) * (n @ Jn)) / square
    force_B = (-mu / (square * np.sqrt(square))) * (pull * n + (3.0 / square) * Jn)
    return gravity_gradient_torque(q_IB, r_I, mu, J), rotate(q_IB, force_B)


# Parameters mu, mass, J.
gravity_gradient = from_wrench(_orbit_energy, _orbit_wrench)
