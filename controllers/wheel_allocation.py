"""Sharing a torque among wheels so that the hardest driven one is driven least."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc.batch import sized, where
from gnc.errors import InputError
from gnc.linalg import identity, solve3
from gnc.models.parameters import each, store, unit_vectors

Array = Any

NUDGE = 1e-7  # tilts the axes while facets are told apart, so that no three of them lie in a plane
LOST = 1e-9  # of the sum of a a^T, so that two wheels alone divide by something
FLAT = 1e-5  # sine below which two axes count as one direction; far above the tilt


@dataclass(frozen=True, eq=False, kw_only=True)
class WheelAllocation:
    """The commands u of n wheels with sum u_k a_k = tau and the least max |u_k| / weight_k.

    The torques that commands |u_k| <= weight_k can make fill a zonotope; the ray along tau leaves it through a facet,
    spanned by two axes, and there all other wheels are at their limits. So u is linear in tau, facet by facet: with
    y = a_i x a_j scaled to sum |a_k . y| = 1 (axes times weights), the facet is that of the largest |y . tau|, the
    least maximum is this number, u_k = sign(a_k . y) y . tau, and u_i, u_j make up the rest. Facets and their matrices
    are computed once. Wheels that do not span all directions make the part of tau along their axes, with the least sum
    of (u_k / weight_k)^2. It is the pseudo-inverse solution plus a shift in the null space. Exact where no three axes
    lie in a plane, else within 1e-6. Source: the dual of the linear programme; Markley, Reynolds, Liu and Lebsock,
    "Maximum torque and momentum envelopes for reaction wheel arrays", JGCD 33 (2010) 1606.
    """

    axes_B: Array  # (n, 3) unit vectors, the same for all trials
    weights: Array = 1.0  # (n), or one number for all: torque limits, if they differ
    normals: Array = field(init=False, repr=False)  # (facets, 3) y
    matrices: Array = field(init=False, repr=False)  # (facets, n, 3) from tau to u
    rest: Array = field(init=False, repr=False)  # (3, 3) from tau to the part that no wheel makes

    def __post_init__(self) -> None:
        """Validate once, and find the facets."""
        axes_B = unit_vectors("axes_B", self.axes_B)
        if axes_B.ndim != 2:
            raise InputError(f"axes_B: expected axes (n, 3), got {axes_B.shape}")
        weights = each("weights", self.weights, len(axes_B), "positive")
        spans = np.linalg.matrix_rank(axes_B, tol=FLAT) == 3
        inverse = np.linalg.pinv((axes_B * weights[:, None]).T, rcond=FLAT)
        normals, matrices = _facets(axes_B * weights[:, None]) if spans else (np.zeros((1, 3)), inverse[None])
        rest = np.zeros((3, 3)) if spans else np.eye(3) - (axes_B * weights[:, None]).T @ inverse
        store(self, axes_B=axes_B, weights=weights, rest=rest)
        store(self, normals=normals, matrices=matrices * weights[:, None])

    def command(self, tau_B: Array, out: Array | None = None) -> Array:
        """Return the torque (..., n) of each wheel on the body about its axis; limits are the wheels' affair.

        Where wheels are left out (`out` 1, (..., n)), the others share it by the pseudo-inverse.
        """
        u = _share(*self.matrices.shape[:2])(tau_B, self.normals, self.matrices)
        return u if out is None else _without(len(self.axes_B))(u, tau_B, out, self.axes_B)


def _facets(axes: Array) -> tuple[Array, Array]:
    """Return the normals and matrices of the facets of the zonotope of these axes, one of each opposite pair."""
    n = len(axes)
    size = np.linalg.norm(axes, axis=-1)
    tilted = axes + NUDGE * size[:, None] * np.random.default_rng(0).uniform(-1.0, 1.0, axes.shape)
    normals, matrices = [], []
    for i, j in itertools.combinations(range(n), 2):
        if np.linalg.norm(np.cross(axes[i], axes[j])) < FLAT * size[i] * size[j]:
            continue
        y = np.cross(tilted[i], tilted[j])
        signs = np.sign(tilted @ y)
        signs[[i, j]] = 0.0
        columns = np.zeros((n, 3))  # from (maximum, u_i, u_j) to u
        columns[:, 0], columns[i, 1], columns[j, 2] = signs, 1.0, 1.0
        normals.append(y / (np.abs(tilted @ y).sum() - abs(tilted[i] @ y) - abs(tilted[j] @ y)))
        matrices.append(columns @ np.linalg.inv(axes.T @ columns))
    return np.stack(normals), np.stack(matrices)


@sized(lambda n: f"({n}),(3),({n}),({n},3)->({n})")
def _without(u, tau_B, out, axes_B, *, n):
    """Return u where none is left out, else W A (A^T W A + tiny)^-1 tau; a direction that is lost gives little."""
    W = 1.0 - out
    A = axes_B * W.reshape(n, 1)
    others = A @ solve3(A.T @ axes_B + LOST * identity(3), tau_B)
    return where(sum(out[1:], out[0]) > 0.0, others, u)


@sized(lambda facets, n: f"(3),({facets},3),({facets},{n},3)->({n})")
def _share(tau_B, normals, matrices):
    """Return the commands, by the matrix of the facet that tau points to."""
    best, matrix = abs(normals[0] @ tau_B), matrices[0]
    for normal, other in zip(normals[1:], matrices[1:], strict=True):
        size = abs(normal @ tau_B)
        matrix, best = where(size > best, other, matrix), where(size > best, size, best)
    return matrix @ tau_B
