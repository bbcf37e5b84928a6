"""The ways of firing that are cheapest for some load: optimal bases of a linear programme, and how they are joined.

With no upper limits on u >= 0, the least-cost u with A u = b is linear in b, cone by cone: each cone has a basis of as
many thrusters as there are loads, and a common face with as many others. All are found once, so that later only the
cone of b is looked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import inv

Array = Any

NUDGE = 1e-7  # of each cost, so that no two ways of firing cost the same and the simplex method cannot cycle
TINY = 1e-9  # of the full thrust, or of a pivot: what is below it is zero
MOST = 1000  # bases that are kept, 0.1 ms each to find: some hundreds for 24 thrusters; where they end, `climb` goes on
STRICT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # far below the nudge


class Bases(NamedTuple):
    """A table of K optimal bases of m columns, from the first of which every other one can be reached."""

    inverses: Array  # (K, m, m) of the basic columns
    neighbours: Array  # (K, m) which basis is behind the face where a basic variable is zero; -1 if none is known
    reduced: Array  # (K, n) reduced costs, none negative
    members: Array  # (K, m) indices of the columns


def optimal_bases(A: Array, cost: Array) -> Bases:
    """Return the bases for columns A (m, n) of full rank and their costs."""
    nudged = cost * (1.0 + NUDGE * np.random.default_rng(0).uniform(0.0, 1.0, len(cost)))
    members = [_optimal_basis(A, nudged)]
    known = {members[0]: 0}
    inverses, neighbours, reduced = [], [], []
    for basis in members:  # grows meanwhile
        inverse, z, across = _neighbours(A, nudged, basis)
        for other in across:
            if other is not None and other not in known and len(members) < MOST:
                known[other] = len(members)
                members.append(other)
        inverses.append(inverse)
        reduced.append(z)
        neighbours.append([known.get(other, -1) if other else -1 for other in across])
    return Bases(np.array(inverses), np.array(neighbours), np.array(reduced), np.array(members))


def _optimal_basis(A: Array, cost: Array) -> tuple[int, ...]:
    """Find the basis that is optimal for the load of all thrusters at unequal thrust."""
    from scipy.optimize import linprog  # here: it takes longer to load than to run

    thrust = np.random.default_rng(1).uniform(0.5, 1.5, len(cost))
    solution = linprog(cost, A_eq=A, b_eq=A @ thrust, method="highs-ds", options=STRICT)
    return tuple(np.flatnonzero(solution.x > TINY).tolist())


def _neighbours(A: Array, cost: Array, basis: tuple[int, ...]) -> tuple[Array, Array, list[tuple[int, ...] | None]]:
    """Return the inverse, the reduced costs, and for each basic variable what the dual simplex method makes of it."""
    columns = list(basis)
    inverse = inv(A[:, columns])
    T = inverse @ A
    T[:, columns] = 0.0
    z = np.maximum(cost - cost[columns] @ T, 0.0)
    z[columns] = 0.0
    falling = T < -TINY
    ratios = np.where(falling, z / np.where(falling, -T, 1.0), np.inf)
    across: list[tuple[int, ...] | None] = []
    for row, ratio in enumerate(ratios):
        column = int(ratio.argmin())
        across.append(tuple(sorted({*basis} - {basis[row]} | {column})) if falling[row].any() else None)
    return inverse, z, across
