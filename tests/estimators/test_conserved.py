"""The conserved chart and the attitude filter in it: flat constants, exact derivatives, honest at any rate and time."""

from types import SimpleNamespace

import numpy as np
import pytest

from gnc import noise, quaternion
from gnc.batch import batched
from gnc.estimators import consistency
from gnc.estimators.attitude_belief import lost
from gnc.estimators.conserved_chart import conserved_error, constants, retract, slope
from gnc.estimators.extra_states import SteadyTorque
from gnc.estimators.initialise import attitude_covariance
from gnc.estimators.mekf import Mekf
from gnc.estimators.process_model import Automatic
from gnc.integrators.table import attitude_method
from gnc.linalg import inv3
from gnc.models.sensors import StarTracker, VectorSensor
from gnc.models.sensors.interface import Measurement
from gnc.models.states import AttitudeState
from gnc.scenarios.study import filters
from gnc.scenarios.study.attitude import Tumble
from tests.estimators.tumble import NONE, SENSORS, W_0, J, attitude_error

RHO = np.array([0.02, -0.01, 0.03])
NO_TURN = np.array([1.0, 0, 0, 0])


@batched("(4),(3),(6),(6,6),(3,3),(3)->(4),(3),(6,6)")
def moved(q, P, d, C, J, rho):
    """`retract` as a kernel."""
    return retract(q, P, d, C, J, rho)


@batched("(3),(3),(3,3)->(2),(2,3)")
def kept(P, rho, J):
    """The constants of the motion and their gradients."""
    return constants(P, rho, inv3(J)), slope(P, rho, inv3(J))


# The chart


@pytest.mark.parametrize("rho", [NONE, RHO], ids=["free", "wheels"])
@pytest.mark.parametrize("sigma", [1e-4, 3e-2], ids=["known", "hardly known"])
def test_the_reset_is_the_derivative_of_the_move(rho, sigma) -> None:
    P, d, C = J @ W_0 + rho, np.array([0.2, -0.3, 0.4, 0.02, 0.01, -0.03]), sigma**2 * np.eye(6)
    q_new, P_new, g = moved(NO_TURN, P, d, C, J, rho)
    columns = []
    for e in 1e-6 * np.eye(6):
        ends = [moved(NO_TURN, P, d + s * e, C, J, rho)[:2] for s in (1.0, -1.0)]
        errors = [np.concatenate([attitude_error(q_new, q), p - P_new]) for q, p in ends]
        columns.append((errors[0] - errors[1]) / 2e-6)
    np.testing.assert_allclose(g, np.stack(columns, axis=-1), rtol=0, atol=1e-8)


@pytest.mark.parametrize("rho", [NONE, RHO], ids=["free", "wheels"])
def test_length_and_energy_of_the_momentum_are_linear_and_the_inverse_finds_the_way_back(rho) -> None:
    P, C = J @ W_0 + rho, 1e-10 * np.eye(6)
    (y, A), q = kept(P, rho, J), np.array([0.5, 0.5, -0.5, 0.5])
    left = []
    for scale in (0.02, 0.01):
        d = scale * np.array([1.0, -2.0, 0.5, 0.3, -0.2, 0.4])
        q_new, P_new, _ = moved(q, P, d, C, J, rho)
        bent = np.abs(kept(P + d[3:], rho, J)[0] - y - A @ d[3:]).max()
        left.append(np.abs(kept(P_new, rho, J)[0] - y - A @ d[3:]).max())
        assert left[-1] < 0.05 * bent  # what is left is of the fourth power, the bend of the second
        np.testing.assert_allclose(conserved_error(q, P, C, J, rho, q_new, P_new), d, atol=1e-12)
    assert left[0] / left[1] > 2**3.5


@pytest.mark.parametrize("inertia", [J, 2.0 * np.eye(3), np.diag([1.0, 1.0, 1.5])], ids=["three", "round", "two"])
@pytest.mark.parametrize("P", [[0.0, 0.0, 0.4], [0.0, 0.0, 0.0], [0.0, 0.3, 0.0]], ids=["spin", "rest", "middle"])
def test_where_a_constant_has_no_gradient_of_its_own_the_chart_lets_go_of_it(inertia, P) -> None:
    # The pull stays a part of the correction: nothing is divided by a gradient that is not there.
    d, P = np.array([0.01, 0.02, 0.0, 1e-3, -2e-3, 1e-3]), np.array(P)
    _, P_new, g = moved(NO_TURN, P, d, 1e-6 * np.eye(6), inertia, NONE)
    assert np.abs(P_new - P - d[3:]).max() < 2e-4
    assert np.isfinite(g).all() and np.abs(g).max() < 1.1


@pytest.mark.parametrize("axis", [0, 2])
def test_the_frequency_of_a_spin_is_that_of_its_energy_and_not_of_its_length(axis) -> None:
    # By Jacobi's elliptic functions, nutating by 1.4 deg and not at all, with the same length or the same energy.
    still, nutating = 0.4 * np.eye(3)[axis], 0.4 * np.eye(3)[axis] + 0.01 * np.roll([0.0, 0.7, 0.7], axis)
    by_length = nutating * (0.4 / np.linalg.norm(nutating))
    by_energy = nutating * np.sqrt((still**2 / np.diag(J)).sum() / (nutating**2 / np.diag(J)).sum())
    angles = []
    for P in (still, by_length, by_energy):
        q = attitude_method("exact").step(NO_TURN, P, NONE, J, NONE, 120.0)[0]
        angles.append(2.0 * np.arctan2(q[1 + axis], q[0]))
    apart = [abs((angle - angles[0] + np.pi) % (2.0 * np.pi) - np.pi) for angle in angles[1:]]
    assert apart[0] > 1e-3 and apart[1] < 0.1 * apart[0]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_chart_keeps_the_energy_of_a_spin(axis) -> None:
    # Of a nutation that is not known, the energy changes as its gradient says: of first order in d, for any d.
    P, C = 0.4 * np.eye(3)[axis], 1e-4 * np.eye(6)
    d = np.concatenate([NONE, np.roll([0.0, 0.02, 0.01], axis)])
    before, after = (kept(p, NONE, J)[0] for p in (P, moved(NO_TURN, P, d, C, J, NONE)[1]))
    bent = kept(P + d[3:], NONE, J)[0] - before
    assert abs(after[1] - before[1]) < 0.05 * abs(bent[1])


# The filter


def score(mekf, problem, rate_hz, trials, seed, joint=True):
    """Run a filter over the study's problem; return ratio to the bound, NEES and its band."""
    data = problem.simulate(rate_hz, trials, seed)
    f = filters.Filter("", "", lambda J, psd: mekf, False, joint=joint)
    found = problem.fly(f, 0.0, data)
    assert found.lost == 0
    return found.deg / data.bound.deg, found.nees, consistency.mean_band(6, trials, 0.999)


@pytest.mark.parametrize(
    ("problem", "rate_hz"),
    [
        (Tumble(duration_s=1800.0), 0.1),
        (Tumble(duration_s=300.0), 0.05),
        (Tumble(sigma_deg=1.1 / 3600.0), 0.2),
        (Tumble(w0_deg_s=(0.05, 8.0, 0.05)), 0.1),
        (Tumble(w0_deg_s=(0.05, 0.05, 8.0), duration_s=1800.0), 0.1),
        (Tumble(prior_deg_s=4.0), 0.2),
    ],
    ids=["half an hour", "175 deg per sample", "arc seconds", "unstable axis", "spin", "rate unknown"],
)
def test_it_is_honest_and_at_the_bound_where_the_usual_filter_is_not(problem, rate_hz) -> None:
    # False alarm 0.1 % each for NEES; the RMS of 200 trials scatters by 2.5 %, four sigma are 10 %.
    ratio, nees, band = score(Mekf(J, chart="conserved"), problem, rate_hz, 200, seed=77)
    assert band.holds(nees) and abs(ratio - 1.0) < 0.1
    assert not band.holds(score(Mekf(J), problem, rate_hz, 200, seed=77, joint=False)[1])


def flown(trials, steps, h, seed, psd, rho, rise):
    """States of bodies under white torque, and measurements: the exact motion between kicks, 20 per step."""
    process, parts = Automatic(J), 20
    kicks = np.sqrt(psd * h / parts) * noise.normal(seed, trials, "torque", (steps, parts, 3))
    q, P, states = np.tile(NO_TURN, (trials, 1)), np.tile(J @ W_0 + rho, (trials, 1)), []
    for k in range(steps):
        for i in range(parts):
            ends = [rho + rise * (k + (i + j) / parts) for j in (0, 1)]
            q, P = process.mean(q, P, np.zeros((6, 6)), NONE, J, *ends, h / parts, at=P)
            P = P + kicks[:, k, i]
        states.append((q, P))
    return states


@pytest.mark.parametrize("psd", [0.0, 1e-6])
@pytest.mark.parametrize("rise", [0.0, 3e-4], ids=["steady wheels", "wheels run up"])
def test_wheels_and_an_unknown_torque_leave_it_honest(psd, rise) -> None:
    # 200 trials, band of 99.9 % at the end of 300 s; NEES of neighbouring times is nearly the same.
    trials, steps, h, seed = 200, 60, 5.0, 5
    mekf, rise = Mekf(J, chart="conserved", torque_psd=psd), rise * np.array([1.0, -2.0, 1.0])
    states, sigma = flown(trials, steps, h, seed, psd, RHO, rise), np.radians([1.0, 0.5])
    first = noise.normal(seed, trials, "start", 6)
    q = quaternion.mul(NO_TURN, quaternion.exp(sigma[0] * first[:, :3]))
    belief = mekf.start(
        AttitudeState(q, W_0 + sigma[1] * first[:, 3:]), attitude_covariance(sigma[0] ** 2 * np.eye(3), sigma[1]), RHO
    )
    draws = noise.normal(seed, trials, "sensors", (steps, 2, 3))
    for k, (q, P) in enumerate(states):
        rho_end = RHO + rise * (k + 1)
        x = AttitudeState(q, np.linalg.solve(J, (P - rho_end)[..., None])[..., 0])
        readings = [(s, s.measure(x, None, draws[:, k, i])) for i, s in enumerate(SENSORS)]
        belief, told = mekf.advance(belief, NONE, h, readings, gated=False, rho_B=rho_end)
    nees = consistency.nees(*mekf.error(belief, x, J, rho_end)).mean()
    assert consistency.mean_band(6, trials, 0.999).holds(nees)
    assert consistency.mean_band(3, 2 * trials, 0.999).holds(np.mean([i.nis for i in told]))


def one_interval(h, trials=6):
    """A filter, beliefs that are off by as much as they say, and what is measured after h."""
    mekf, C = Mekf(J, chart="conserved", torque_psd=1e-9), np.diag([4e-4] * 3 + [1e-4] * 3)
    q = quaternion.exp(0.02 * noise.normal(2, trials, "q", 3))
    belief = mekf.start(AttitudeState(q, W_0 + 0.01 * noise.normal(2, trials, "w", 3)), C)
    end = mekf.state(mekf.predict(mekf.start(AttitudeState(NO_TURN, W_0), C), NONE, h))
    draws = noise.normal(2, trials, "z", (2, 3))
    return mekf, belief, [(s, s.measure(end, None, draws[:, i])) for i, s in enumerate(SENSORS)]


def test_a_batch_has_the_bits_of_its_trials_alone_and_lost_ones_stay_lost() -> None:
    mekf, belief, readings = one_interval(5.0)
    belief = belief._replace(q_IB=np.where(np.arange(6)[:, None] == 2, np.nan, belief.q_IB))
    together, told = mekf.advance(belief, NONE, 5.0, readings)
    for trial in range(6):
        alone = [(s, Measurement(m.z[trial], m.valid[trial])) for s, m in readings]
        one, _ = mekf.advance(type(belief)(*[part[trial] for part in belief]), NONE, 5.0, alone)
        for a, b in zip(one, together, strict=True):
            np.testing.assert_array_equal(a, b[trial])
    np.testing.assert_array_equal(lost(together), np.arange(6) == 2)
    assert [i.used[0] for i in told] == [True, True]


def test_with_small_corrections_it_is_the_usual_filter_extra_states_and_all() -> None:
    options = {"torque_psd": 1e-12, "extras": (SteadyTorque(walk=1e-14),)}
    usual, ours = Mekf(J, **options), Mekf(J, chart="conserved", **options)
    fine = [VectorSensor(rate_hz=1.0, r_I=s.r_I, sigma_deg=1e-4) for s in SENSORS]
    start = usual.start(AttitudeState(NO_TURN, W_0), 1e-12 * np.eye(6), C_extras=1e-14 * np.eye(3))
    truth = usual.state(usual.predict(start, NONE, 1.0))
    readings = [(s, s.measure(truth, None, np.array([0.3, -0.2, 0.1]))) for s in fine]
    expected = usual.predict(start, NONE, 1.0)
    for sensor, measurement in readings:
        expected, _ = usual.update(expected, sensor, measurement)
    found, _ = ours.advance(start, NONE, 1.0, readings)
    sigma = np.sqrt(np.diag(expected.C))
    assert np.abs(attitude_error(expected.q_IB, found.q_IB)).max() < 1e-4 * sigma[0]
    assert (np.abs(found.P_B - expected.P_B) < 1e-4 * sigma[3:6]).all()
    assert (np.abs(found.extras - expected.extras) < 1e-4 * sigma[6:]).all()
    assert (np.abs(found.C - expected.C) < 1e-4 * np.outer(sigma, sigma)).all()


def test_a_wild_measurement_is_refused_and_the_others_count() -> None:
    mekf, belief, readings = one_interval(0.1)
    wild = [readings[0], (readings[1][0], readings[1][1]._replace(z=-readings[1][1].z))]
    both, told = mekf.advance(belief, NONE, 0.1, wild)
    only, _ = mekf.advance(belief, NONE, 0.1, [wild[0], (wild[1][0], wild[1][1]._replace(valid=np.zeros(6, bool)))])
    assert told[0].used.all() and not told[1].used.any()
    np.testing.assert_array_equal(both.q_IB, only.q_IB)
    np.testing.assert_array_equal(both.C, only.C)
    moved_only, _ = mekf.advance(belief, NONE, 0.1, [])
    np.testing.assert_array_equal(moved_only.C, mekf.predict(belief, NONE, 0.1).C)


def test_a_sensor_of_the_whole_attitude_corrects_beside_directions() -> None:
    # A star tracker reads a quaternion, four numbers, and its residual has three.
    mekf, belief, readings = one_interval(0.1)
    tracker, sky = (
        StarTracker(rate_hz=1.0, sigma_arcsec=60.0),
        SimpleNamespace(sun_I=np.eye(3)[0], shadow=np.array(0.0)),
    )
    end = mekf.state(mekf.predict(mekf.start(AttitudeState(NO_TURN, W_0), np.eye(6)), NONE, 0.1))
    z = tracker.measure(end, sky, np.zeros((6, tracker.noise_size)))
    after, told = mekf.advance(belief, NONE, 0.1, [*readings, (tracker, z)], sky)
    assert [i.y.shape for i in told] == [(6, 3)] * 3 and all(i.used.all() for i in told)
    assert (quaternion.angle_between(after.q_IB, end.q_IB) < 5.0 * np.radians(60.0 / 3600.0)).all()
