"""Small linear programmes, one per trial: least cost u with A u = b and 0 <= u <= 1, by the dual simplex method.

The basis that the climb begins with is optimal for some load (`optimal_basis`, once for a set of thrusters). Where a
basic variable would have to be negative and a thruster pushes the other way along the same line, that one takes its
place; if such a basis is optimal too (of thrusters in pairs it always is), the climb begins with it, and ends at once
within reach. From there b grows from zero along its ray, and whenever a basic variable meets a bound the dual simplex
method exchanges it. So all that is passed is optimal, and where no exchange is possible the ray leaves what can be
reached.

An exchange is a kernel, repeated in blocks, each only in the trials that need it: the same bits compiled in a batch,
in a loop, and in C. A trial that is not done after sum(BLOCKS) exchanges is lost.
"""

import functools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.linalg import inv

from gnc.batch import Assembly, Kernel, maximum, minimum, sized, where
from gnc.batch.layout import Layout
from gnc.linalg import array
from gnc.typing import Array

PIVOT = 1e-9  # of T = inverse A, of order one: smaller elements are round-off and no pivots
STILL = 1e-12  # of the largest slope: basic variables slower than this do not move
BLOCKS = (2, 2, 2, 2, 4, 4, 4, 8, 16, 256)  # exchanges: some ten are made
NUDGE = 1e-7  # of each cost, so that no two ways of firing cost the same and the simplex method cannot cycle
TINY = 1e-9  # of the full thrust: what is below it is zero
OPPOSITE = 1e-12  # of a column: by how much two may differ from opposite ones
STRICT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # far below the nudge


def optimal_basis(A: Array, cost: Array) -> tuple[Any, ...]:
    """Return a basis that is optimal for some load: its inverse (m, m), the reduced costs (n), its members (m).

    Then follow the costs (n), nudged, and for each member (4, m) its cost, which variable pushes against it, the cost
    of that one, and the factor by which a fraction of the one becomes one of the other, 0 if there is none.
    A (m, n) has full rank. The load is that of all thrusters at unequal thrust.
    """
    from scipy.optimize import linprog  # here: it takes longer to load than to run

    nudged = cost * (1.0 + NUDGE * np.random.default_rng(0).uniform(0.0, 1.0, len(cost)))
    thrust = np.random.default_rng(1).uniform(0.5, 1.5, len(cost))
    unit = A / abs(A).max()  # the tolerances are absolute
    solution = linprog(nudged, A_eq=unit, b_eq=unit @ thrust, method="highs-ds", options=STRICT)
    members = np.flatnonzero(solution.x > TINY)
    inverse = inv(A[:, members])
    z = np.maximum(nudged - nudged[members] @ inverse @ A, 0.0)
    z[members] = 0.0
    return inverse, z, members.astype(float), nudged, _against(A, nudged, members.tolist())


def _against(A: Array, cost: Array, members: Sequence[int]) -> Array:
    """Return what pushes against each member of a basis, see `optimal_basis`."""
    length = np.linalg.norm(A, axis=0)
    unit = A / length
    found = np.zeros((4, len(members)))
    for row, member in enumerate(members):
        apart = np.abs(unit + unit[:, [member]]).max(axis=0)
        other = int(apart.argmin())
        factor = -length[member] / length[other] if apart[other] < OPPOSITE else 0.0
        found[:, row] = cost[member], other, cost[other], factor
    return found


@functools.cache
def solver(m: int, n: int) -> Kernel:
    """Return the kernel of m loads and n thrusters."""
    exchange, begin, end = _exchange(m, n), _begin(m, n), _end(m, n)

    def solve(b, A, inverse, z, members, cost, against):
        """Return u (n) and the fraction of b (m) that is reached, from the first basis of A."""
        state = begin(b, A, inverse, z, members, cost, against)
        for most in BLOCKS:
            state = exchange.repeat(most * state[-1], *state, A)
        return end(b, *state[1:])

    shapes = f"({m}),({m},{n}),({m},{m}),({n}),({m}),({n}),(4,{m})->({n}),()"
    return Assembly(solve, Layout.parse(shapes, tuple("bAizmca")))


def _shapes(m: int, n: int) -> str:
    """Return the layout of what an exchange changes; a side is 1 for variables at 0, -1 at 1, 0 for basic ones."""
    return f"({m},{m}),({m}),({n}),({m}),({m}),({n}),(),()"


@sized(lambda m, n: f"({m}),({m},{n}),({m},{m}),({n}),({m}),({n}),(4,{m})->{_shapes(m, n)}")
def _begin(b, A, inverse, z, members, cost, against, *, n):
    """Return the state in which nothing fires, or that of all of b if it is reached without an exchange."""
    first = inverse, inverse @ b, members, z
    optimal, turned = _turned(*first[:3], A, cost, against)
    inverse, slope, basis, z = (where(optimal, new, old) for new, old in zip(turned, first, strict=True))
    whole = optimal & _all((one >= 0.0) & (one <= 1.0) for one in slope)
    basic = [functools.reduce(operator.or_, [one == float(j) for one in basis]) for j in range(n)]
    side = array([where(test, 0.0, 1.0) for test in basic])
    return inverse, where(whole, slope, 0.0), side, basis, slope, z, where(whole, 1.0, 0.0), where(whole, 0.0, 1.0)


def _turned(inverse: Any, x: Any, members: Any, A: Any, cost: Any, against: Any) -> tuple[Any, tuple[Any, ...]]:
    """Exchange all negative variables for those against them; return whether that is optimal, and the basis."""
    own, other, cost_of_other, factor = against
    turned = [(one < 0.0) & (by < 0.0) for one, by in zip(x, factor, strict=True)]
    pairs = ((factor, np.ones(len(factor))), (other, members), (cost_of_other, own))
    scale, members, costs = (array([where(*one) for one in zip(turned, *pair, strict=True)]) for pair in pairs)
    inverse = scale[:, None] * inverse
    z = cost - costs @ inverse @ A
    optimal = _all(one >= -STILL * price for one, price in zip(z, cost, strict=True))
    return optimal, (inverse, scale * x, members, array([maximum(one, 0.0) for one in z]))


def _all(tests: Iterable[Any]) -> Any:
    """Tell whether all tests hold."""
    return functools.reduce(operator.and_, tests)


@sized(lambda m, n: f"{_shapes(m, n)},({m},{n})->{_shapes(m, n)}")
def _exchange(inverse, x, side, basis, slope, z, reached, going, A):
    """Go on until a basic variable meets a bound, and exchange it for another, or end there."""
    row, distance, speed = _leaving(x, slope)
    whole = ~(reached + distance < 1.0)
    on = where(whole, 1.0 - reached, distance)
    x_1, reached_1 = x + on * slope, where(whole, 1.0, reached + distance)
    T = _picked(row, inverse) @ A
    column = _entering(T, z, where(speed < 0.0, -1.0, 1.0) * side)
    ends = whole | (column < 0.0)
    moves, changes = going > 0.0, (going > 0.0) & ~ends
    new = _pivot(inverse, slope, z, T, row, column, A)
    inverse, slope, z = (where(changes, a, old) for a, old in zip(new, (inverse, slope, z), strict=True))
    gone, from_limit = _picked(row, basis), _picked(column, side) < 0.0
    left = where(speed < 0.0, 1.0, -1.0)
    side = array([_of(changes, j, column, 0.0, _of(changes, j, gone, left, old)) for j, old in enumerate(side)])
    basis = array([_of(changes, i, row, column, old) for i, old in enumerate(basis)])
    x = where(moves, x_1, x)
    x = array([_of(changes, i, row, where(from_limit, 1.0, 0.0), old) for i, old in enumerate(x)])
    return inverse, x, side, basis, slope, z, where(moves, reached_1, reached), where(changes, 1.0, 0.0)


def _of(changes: Any, i: int, place: Any, new: Any, old: Any) -> Any:
    """Return the new number where something changes and the place is the i-th."""
    return where(changes & (place == float(i)), new, old)


def _picked(place: Any, rows: Any) -> Any:
    """Return the row at a place."""
    chosen = rows[0]
    for i, row in enumerate(rows[1:], 1):
        chosen = where(place == float(i), row, chosen)
    return chosen


def _leaving(x: Any, slope: Any) -> Any:
    """Return which basic variable first meets 0 or 1, how far along the ray, and its slope: the fastest that tie."""
    row, distance, speed = -1.0, math.inf, 0.0
    size = functools.reduce(maximum, [abs(one) for one in slope])
    for i in range(len(x)):
        room = maximum((where(slope[i] > 0.0, 1.0, 0.0) - x[i]) / slope[i], 0.0)
        nearer = (room < distance) | ((room == distance) & (abs(speed) < abs(slope[i])))
        taken = nearer & (STILL * size < abs(slope[i]))
        row, distance, speed = where(taken, float(i), row), where(taken, room, distance), where(taken, slope[i], speed)
    return row, distance, speed


def _entering(T: Any, z: Any, sign: Any) -> Any:
    """Return which variable may take over, by the least ratio of reduced cost to pivot; -1 if none."""
    best, column = math.inf, -1.0
    for j in range(len(z)):
        pushed = sign[j] * T[j]
        ratio = abs(z[j]) / where(pushed > PIVOT, pushed, 0.0)
        column, best = where(ratio < best, float(j), column), where(ratio < best, ratio, best)
    return column


def _pivot(inverse: Any, slope: Any, z: Any, T: Any, row: Any, column: Any, A: Any) -> Any:
    """Exchange the basic variable of a row for that of a column, by Gauss and Jordan."""
    scale = 1.0 / _picked(column, T)
    pivot_row, speed = scale * _picked(row, inverse), scale * _picked(row, slope)
    factors = inverse @ _picked(column, A.T)
    rows, slopes = [], []
    for i, factor in enumerate(factors):
        mine = row == float(i)
        rows.append(where(mine, pivot_row, inverse[i] - factor * pivot_row))
        slopes.append(where(mine, speed, slope[i] - factor * speed))
    share = scale * _picked(column, z)
    z = array([where(column == float(j), 0.0, old - share * t) for j, (old, t) in enumerate(zip(z, T, strict=True))])
    return np.stack(rows), array(slopes), z


@sized(lambda m, n: f"({m}),({m}),({n}),({m}),({m}),({n}),(),()->({n}),()")
def _end(b, x, side, basis, slope, z, reached, going):
    """Return the fractions and how much is reached; NaN if b is not finite, or the climb has not ended."""
    u = [where(one < 0.0, 1.0, 0.0) for one in side]
    for place, value in zip(basis, x, strict=True):
        fraction = minimum(maximum(value, 0.0), 1.0)
        u = [where(place == float(j), fraction, old) for j, old in enumerate(u)]
    total = sum(b[1:], b[0])
    good = (total - total == 0.0) & (going == 0.0)
    return where(good, array(u), math.nan), where(good, reached, math.nan)
