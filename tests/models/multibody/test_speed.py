"""The cost of accelerations against Pinocchio, and how it grows."""

import time

import numpy as np
import pinocchio as pin
import pytest

from gnc.models.multibody.articulated import accelerations
from gnc.models.multibody.parts import TreeState
from tests.models.multibody import samples
from tests.models.multibody.pinocchio_tree import Oracle

TRIALS = 1000
SIZES = (4, 16, 64, 128)


def best(run, repeats=5):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def costs(B):
    """Seconds for one state: ours in a batch of 1000, Pinocchio's called state by state."""
    tree = samples.tree(1, "R" * (B - 1), list(range(B - 1)))
    x, effort = samples.state(1, tree, (TRIALS,)), samples.loads(2, tree, (TRIALS,))[0]
    accelerations(tree, x, effort)  # compiles
    ours = best(lambda: accelerations(tree, x, effort)) / TRIALS
    oracle = Oracle(tree)
    one = TreeState(*(a[0] for a in x))
    q, v, tau = oracle.q(one), oracle.v(one.twist_B, one.rate), oracle.v(np.zeros(6), effort[0])
    theirs = best(lambda: [pin.aba(oracle.model, oracle.data, q, v, tau) for _ in range(100)]) / 100
    return ours, theirs


@pytest.mark.slow
@pytest.mark.jit
def test_accelerations_cost_less_than_three_of_pinocchios_calls_and_grow_linearly():
    ours, theirs = np.transpose([costs(B) for B in SIZES])
    print("us per state", np.round(1e6 * ours, 2), "Pinocchio", np.round(1e6 * theirs, 2))
    assert np.all(ours < 3.0 * theirs)
    growth = np.polyfit(np.log(SIZES[1:]), np.log(ours[1:]), 1)[0]
    assert growth < 1.3  # linear, with room for a busy machine; a dense solution has 3
