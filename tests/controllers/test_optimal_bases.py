import numpy as np
import pytest
from scipy.optimize import linprog

from gnc.controllers import optimal_bases
from gnc.controllers.thruster_allocation import ThrusterAllocation
from tests.controllers.thruster_sets import SETS, askew


def table(name):
    thrusters = SETS[name]
    A = np.ascontiguousarray(thrusters.wrenches_B.T)
    return A, thrusters.thrust * np.ones(A.shape[1]), optimal_bases.optimal_bases(A, thrusters.thrust)


@pytest.mark.parametrize("name", SETS)
def test_every_basis_of_the_table_is_optimal_for_its_own_loads(name):
    A, cost, bases = table(name)
    assert len({tuple(sorted(m)) for m in bases.members.tolist()}) == len(bases.members)
    for k in range(0, len(bases.members), max(1, len(bases.members) // 20)):
        members = bases.members[k]
        assert bases.inverses[k] @ A[:, members] == pytest.approx(np.eye(6), abs=1e-12)
        x = np.random.default_rng(k).uniform(0.5, 1.5, 6)
        least = linprog(cost, A_eq=A, b_eq=A[:, members] @ x)
        assert cost[members] @ x == pytest.approx(least.fun, rel=3e-7)  # costs are nudged by 1e-7


@pytest.mark.parametrize("name", SETS)
def test_neighbours_differ_in_one_thruster_and_know_each_other(name):
    _, _, bases = table(name)
    for k, across in enumerate(bases.neighbours):
        assert (across >= 0).all()  # these sets make every direction
        for row, other in enumerate(across):
            gone = set(bases.members[k]) - set(bases.members[other])
            assert gone == {bases.members[k, row]}
            assert k in bases.neighbours[other]


def test_a_table_cut_short_gives_the_same_fractions(monkeypatch):
    wanted = np.random.default_rng(3).normal(size=(400, 6)) * np.geomspace(0.01, 10.0, 400)[:, None]
    whole = ThrusterAllocation.of(askew()).allocate(wanted)
    monkeypatch.setattr(optimal_bases, "MOST", 4)
    allocation = ThrusterAllocation.of(askew())
    assert len(allocation._prepared[1]) == 4
    for full, short in zip(whole, allocation.allocate(wanted), strict=True):
        assert short == pytest.approx(full, abs=1e-12)
