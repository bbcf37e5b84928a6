import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from gnc.controllers.thruster_allocation import ThrusterAllocation
from gnc.errors import InputError
from tests.controllers.thruster_sets import SETS, askew, pairs

TORQUE = (0, 1, 2)
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # the least that HiGHS takes


def wrenches(size, n=60, seed=2):
    return size * np.random.default_rng(seed).normal(size=(n, 6))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("size", [0.05, 0.5, 3.0])
def test_least_fuel_reaches_as_far_as_scipy_s_linear_programme(name, size):
    A, wanted = SETS[name].wrenches_B.T, wrenches(size)
    _, scale = ThrusterAllocation.of(SETS[name]).allocate(wanted)
    for b, reached in zip(wanted, scale, strict=True):
        most = linprog([*np.zeros(A.shape[1]), -1.0], A_eq=np.c_[A, -b], b_eq=np.zeros(6), bounds=(0.0, 1.0))
        assert reached == pytest.approx(-most.fun, abs=1e-9)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("size", [0.05, 0.5, 3.0])
def test_least_fuel_makes_the_wrench_at_the_cost_of_scipy_s_linear_programme(name, size):
    thrusters, wanted = SETS[name], wrenches(size)
    A, cost = thrusters.wrenches_B.T, thrusters.thrust
    u, scale = ThrusterAllocation.of(thrusters).allocate(wanted)
    assert u.min() >= 0.0 and u.max() <= 1.0
    made = u @ A.T
    assert np.abs(made - scale[:, None] * wanted).max() < 1e-13 * max(1.0, np.abs(wanted).max())
    for used, b, reached in zip(u, made, scale, strict=True):
        inside = 1.0 if reached == 1.0 else 1.0 - 1e-9  # on the rim of what can be reached scipy may find nothing
        least = linprog(cost, A_eq=A, b_eq=inside * b, bounds=(0.0, 1.0), options=TIGHT)
        assert least.status == 0
        assert cost @ used == pytest.approx(least.fun, rel=1e-9 if reached == 1.0 else 1e-6)


def degenerate(thrusters, n, seed=4):
    """Return wrenches on faces between ways of firing: few thrusters, at full thrust or at equal parts of it."""
    rng = np.random.default_rng(seed)
    count = len(thrusters.wrenches_B)
    parts = rng.choice([0.0, 0.25, 0.5, 1.0], (n, count), p=[0.7, 0.1, 0.1, 0.1])
    return parts @ thrusters.wrenches_B * rng.choice([1.0, -1.0, 2.0], (n, 1))


def check_against_scipy(thrusters, wanted):
    """Compare how far each reaches with one linear programme, and what it costs, just within reach, with another."""
    A, cost, allocation = thrusters.wrenches_B.T, thrusters.thrust, ThrusterAllocation.of(thrusters)
    u, scale = allocation.allocate(wanted)
    assert u.min() >= 0.0 and u.max() <= 1.0
    assert np.abs(u @ A.T - scale[:, None] * wanted).max() < 1e-12
    within = (1.0 - 1e-9) * scale[:, None] * wanted  # on the rim scipy may find nothing
    for b, reached, near, used in zip(wanted, scale, within, allocation.command(within), strict=True):
        most = linprog([*np.zeros(A.shape[1]), -1.0], A_eq=np.c_[A, -b], b_eq=np.zeros(6), bounds=(0.0, 1.0))
        assert reached == pytest.approx(-most.fun, abs=1e-9)
        least = linprog(cost, A_eq=A, b_eq=near, bounds=(0.0, 1.0), options=TIGHT)
        assert least.status == 0
        assert cost @ used == pytest.approx(least.fun, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("thrusters", [*SETS.values(), askew(9)], ids=[*SETS, "one-sided"])
def test_least_fuel_is_scipy_s_for_degenerate_wrenches(thrusters):
    check_against_scipy(thrusters, degenerate(thrusters, 40))


@pytest.mark.slow
@pytest.mark.parametrize("thrusters", [*SETS.values(), askew(9), askew(30, 5)], ids=[*SETS, "one-sided", "thirty"])
def test_least_fuel_is_scipy_s_for_thousands_of_wrenches(thrusters):
    sizes = np.random.default_rng(6).choice([0.05, 0.5, 1.0, 3.0, 10.0], (600, 1))
    wanted = sizes * wrenches(1.0, 600, seed=7)
    check_against_scipy(thrusters, np.concatenate([wanted, degenerate(thrusters, 400, seed=8)]))


@pytest.mark.parametrize("name", SETS)
def test_least_squares_has_the_residual_of_scipy_s_nnls(name):
    thrusters, wanted = SETS[name], wrenches(0.3)
    A = thrusters.wrenches_B.T
    u, scale = ThrusterAllocation.of(thrusters, method="least squares").allocate(wanted)
    residual = np.linalg.norm((u / scale[:, None]) @ A.T - wanted, axis=-1)
    assert u.min() >= 0.0 and u.max() <= 1.0 + 1e-15
    assert residual == pytest.approx([nnls(A, b)[1] for b in wanted], abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_least_squares_comes_as_near_as_nnls_where_most_directions_cannot_be_made(seed):
    thrusters, wanted = askew(9, seed), wrenches(0.3)
    A, weights = thrusters.wrenches_B.T, np.array([1.0, 1.0, 1.0, 0.2, 0.2, 0.2])
    u, scale = ThrusterAllocation.of(thrusters, method="least squares", weights=weights).allocate(wanted)
    residual = np.linalg.norm(weights * ((u / scale[:, None]) @ A.T - wanted), axis=-1)
    assert np.median(residual) > 0.01
    assert residual == pytest.approx([nnls(weights[:, None] * A, weights * b)[1] for b in wanted], abs=1e-12)


def test_a_direction_that_cannot_be_made_gives_nothing_by_least_fuel():
    u, scale = ThrusterAllocation.of(askew(9)).allocate(-askew(9).wrenches_B.sum(axis=0))
    assert scale == 0.0 and not u.any()


def test_rows_that_are_not_wanted_are_free():
    thrusters = pairs()
    u = ThrusterAllocation.of(thrusters, rows=TORQUE).command([0.1, -0.2, 0.05])
    assert thrusters.wrenches_B[:, :3].T @ u == pytest.approx([0.1, -0.2, 0.05], abs=1e-15)
    least = linprog(thrusters.thrust, A_eq=thrusters.wrenches_B[:, :3].T, b_eq=[0.1, -0.2, 0.05], bounds=(0.0, 1.0))
    assert u.sum() == pytest.approx(least.fun, rel=1e-9)


def test_the_thrusters_make_what_was_allocated():
    thrusters, wanted = pairs(), wrenches(0.05)
    u = ThrusterAllocation.of(thrusters).command(wanted)
    made, _ = thrusters.apply(u, np.zeros(12), 1.0)
    assert made == pytest.approx(wanted, abs=1e-15)


@pytest.mark.parametrize("method", ["fuel", "least squares"])
@pytest.mark.parametrize("name", SETS)
def test_a_batch_equals_single_trials_bit_for_bit_and_loses_only_lost_ones(method, name):
    allocation, wanted = ThrusterAllocation.of(SETS[name], method=method), wrenches(1.0)
    u, scale = allocation.allocate(wanted)
    for k in range(0, len(wanted), 7):
        u_k, scale_k = allocation.allocate(wanted[k])
        assert np.array_equal(u[k], u_k) and scale[k] == scale_k
    assert np.array_equal(allocation.command(wanted.reshape(3, 20, 6)), u.reshape(3, 20, -1))
    wanted[5, 2], wanted[6] = np.nan, 0.0
    lost = allocation.command(wanted)
    assert np.isnan(lost[5]).all() and not lost[6].any() and np.array_equal(lost[7:], u[7:])


def test_thrusters_that_cannot_make_what_is_wanted_are_refused():
    flat = pairs().wrenches_B * [0.0, 0.0, 1.0, 1.0, 1.0, 0.0]
    with pytest.raises(InputError, match="wrenches_B: these 8 thrusters cannot make 6 independent loads"):
        ThrusterAllocation(wrenches_B=flat[np.any(flat, axis=1)])
    with pytest.raises(InputError, match="adds nothing"):
        ThrusterAllocation(wrenches_B=flat)
    ThrusterAllocation(wrenches_B=flat[np.any(flat, axis=1)], rows=(2, 3, 4))
