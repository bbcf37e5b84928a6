"""Sharing a wrench among thrusters, alone and after the law that asks for it, beside scipy's linear programme."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import linprog

from benchmarks.timing import Row, interleaved
from gnc.controllers.thruster_allocation import ThrusterAllocation
from gnc.typing import Array
from tests.controllers.thruster_sets import corners, pairs

SIZES = {"within reach": 0.05, "saturated": 3.0}  # root mean square of a wrench [N m, N]
FEW = 20  # wrenches that the peer solves, one by one


def rows(law: Callable[[], Array]) -> Iterator[Row]:
    """Measure on the wrenches (trials, 6) that a law asks for, made as large as is wanted here."""
    asked = law()
    trials, unit = len(asked), asked.std()
    for thrusters in (pairs(), corners()):
        allocation, n = ThrusterAllocation.of(thrusters), len(thrusters.wrenches_B)
        for name, size in SIZES.items():
            best = _times(allocation, law, asked, size / unit)
            case, ours = f"thruster allocation, {n} {name}", best["gnc"] / trials
            ratio = best["scipy"] / FEW / ours
            yield Row(f"{case}, N = {trials}", "gnc", ours * 1e9, "ns", "scipy linprog", ratio)
            both = best["with the law"] / trials
            yield Row(f"pose tracking and {case}, N = {trials}", "gnc", both * 1e9, "ns", target="<= 2000 ns")


def _times(allocation: ThrusterAllocation, law: Callable[[], Array], asked: Array, factor: float) -> dict[str, float]:
    candidates = {
        "gnc": lambda: allocation.command(factor * asked),
        "with the law": lambda: allocation.command(factor * law()),
        "scipy": lambda: [_by_scipy(allocation, factor * b) for b in asked[:FEW]],
    }
    return interleaved(candidates, seconds=0.5)


def _by_scipy(allocation: ThrusterAllocation, b: Array) -> Array:
    """Return the same fractions: the largest part of the wrench that can be made first, then at least cost."""
    A = allocation.wrenches_B.T
    most = linprog([*np.zeros(A.shape[1]), -1.0], A_eq=np.c_[A, -b], b_eq=np.zeros(6), bounds=(0.0, 1.0))
    part = 1.0 if most.x[-1] == 1.0 else (1.0 - 1e-9) * most.x[-1]  # on the rim it may find nothing
    return linprog(allocation.cost, A_eq=A, b_eq=part * b, bounds=(0.0, 1.0)).x
