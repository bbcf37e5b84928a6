import dataclasses

import numpy as np
import pytest

from gnc import quaternion
from gnc.estimators import imu_layout as k
from gnc.estimators.imu_algebra import backward, forward
from gnc.estimators.imu_backward import go_back
from gnc.estimators.imu_filter import ImuFilter, empty_trace, passed, surveyed, walking
from gnc.estimators.imu_kernels import jolt, strapdown
from gnc.estimators.imu_magnetometer import look
from gnc.estimators.imu_rest import RestSurvey, resting
from gnc.estimators.imu_smoother import TIES, smoothed
from gnc.estimators.imu_start import aligned, begun
from tests.estimators.imu_motion import BIAS, motion

STEP = 1e-6


@pytest.fixture(scope="module")
def log():
    return motion(seed=1)


def estimated(m, with_field=True, chunk=16384):
    imu = ImuFilter(m.dt, surveyed(m.rows, m.dt), with_field)
    return imu, list(passed(imu, m.rows, chunk))


def joined(parts, name):
    return np.concatenate([getattr(told, name) for told in parts])


def error(q, q_true):
    return np.degrees(quaternion.log(quaternion.mul(quaternion.conj(q), q_true)))


def rms(e):
    return float(np.sqrt((e * e).sum(axis=1).mean()))


def a_state(seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((k.N, k.N))
    q = quaternion.normalize(rng.standard_normal(4))
    x = 0.1 * rng.standard_normal(k.N)
    x[k.RF : k.D] = 20.0, -40.0
    return k.State(q, x, A @ A.T, np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(k.MEMORY))


def moved(state, dx):
    x = state.x + np.concatenate([np.zeros(3), dx[3:]])
    q = quaternion.mul(quaternion.exp(dx[:3]), state.q)
    return k.State(q, x, *(np.array(part) for part in state[2:]))


def difference(a, b):
    return np.concatenate([quaternion.log(quaternion.mul(a.q, quaternion.conj(b.q))), (a.x - b.x)[3:]])


SETTINGS = ImuFilter(0.005, surveyed(motion(duration=30.0).rows, 0.005)).settings


def test_the_magnetometers_jacobian_is_that_of_its_residual_where_the_field_is_the_expected_one():
    state, w = a_state(), np.array([0.5, -1.0, 2.0])
    state.x[k.D : k.HI] = state.x[k.E :] = 0.0
    mag = quaternion.inverse_rotate(state.q, np.array([0.0, 20.0, -40.0])) + state.x[k.HI : k.E]
    H, y = np.empty((3, k.N)), np.empty(3)
    look(state, SETTINGS, w, mag, H, y)
    np.testing.assert_allclose(y, 0.0, atol=1e-12)
    for i in range(k.N):
        ends = [np.empty(3), np.empty(3)]
        for end, sign in zip(ends, (-1.0, 1.0), strict=True):
            look(moved(state, sign * STEP * np.eye(k.N)[i]), SETTINGS, w, mag, np.empty((3, k.N)), end)
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * STEP), H[:, i], atol=1e-6)


def test_the_transition_of_a_block_is_that_of_the_strapdown_to_first_order_in_the_step():
    """The block holds R and f: what is neglected is of second order in its duration (1 ms here)."""
    start, w, acc, dt = a_state(), np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, 9.5]), 1e-3

    def end(state):
        state = k.State(*(np.array(part) for part in state))
        strapdown(state, w - state.x[k.B : k.V], acc, dt, True, np.empty((3, 3)))
        return state

    nominal = end(start)
    F = np.eye(k.N)
    forward(F, nominal.SR, nominal.SF, np.array([dt, 1.0, 1.0]))
    for i in range(k.BA + 3):
        dx = STEP * np.eye(k.N)[i]
        numeric = difference(end(moved(start, dx)), end(moved(start, -dx))) / (2 * STEP)
        np.testing.assert_allclose(numeric, F[:, i], atol=2e-5)


def test_the_way_back_uses_the_transposed_transition():
    rng = np.random.default_rng(3)
    SR, SF, c = rng.standard_normal((3, 3)), rng.standard_normal((3, 3)), np.array([0.1, 0.9, 0.8])
    F, Ft = np.eye(k.N), np.eye(k.N)
    forward(F, SR, SF, c)
    backward(Ft, SR, SF, c)
    np.testing.assert_array_equal(F.T, Ft)


def test_a_hand_held_imu_is_followed_within_a_degree_and_honestly(log):
    """Heading and tilt of a body that moves at 1 rad/s; 3 sigma of the told covariance hold in 95 % of the times."""
    _, parts = estimated(log)
    told = [p[2] for p in parts]
    e = error(joined(told, "q"), log.q_IB)
    assert rms(e[log.moves]) < 1.0
    sigma = np.degrees(np.sqrt(np.diagonal(joined(told, "C"), axis1=1, axis2=2)[:, :3]))
    assert (np.abs(e) < 3.0 * sigma).all(axis=1).mean() > 0.95
    np.testing.assert_allclose(told[-1].bias[-1], BIAS, atol=np.radians(0.05))
    assert 0.7 < joined(told, "nis").mean() / 3.0 < 1.3


def test_chunks_do_not_change_a_bit(log):
    whole, short = (joined([p[2] for p in estimated(log, chunk=n)[1]], "q") for n in (16384, 1000))
    np.testing.assert_array_equal(whole, short)


def test_noises_come_from_the_rest(log):
    noise = surveyed(log.rows, log.dt)
    assert noise.gyro == pytest.approx(2e-3, rel=0.05)
    assert noise.acc == pytest.approx(0.05, rel=0.05)
    assert noise.mag == pytest.approx(0.6, rel=0.05)
    assert noise.field == pytest.approx(43.9, rel=0.05)
    rests = resting(log.rows[:, 1:4], log.rows[:, 4:7], 0, RestSurvey(log.dt).window, noise)
    assert rests[int(1.5 / log.dt) : int(9.5 / log.dt)].all()
    assert not rests[log.moves].any()


def test_a_body_that_turns_slowly_and_evenly_does_not_rest_and_one_with_a_strong_bias_does():
    """One degree per second about a level axis; a gyro that is 6 deg/s off at rest, beside a field."""
    noise, rng, n = surveyed(motion(duration=30.0).rows, 0.005), np.random.default_rng(7), 4000
    scatter = rng.standard_normal((n, 9)) * np.repeat([2e-3, 0.05, 0.6], 3)
    for rate, bias, rests in ((0.0, 0.0, True), (np.radians(1.0), 0.0, False), (0.0, np.radians(6.0), True)):
        q = quaternion.exp(np.outer(np.arange(n) * 0.005, [rate, 0.0, 0.0]))
        w = scatter[:, :3] + [rate + bias, 0.0, 0.0]
        f = scatter[:, 3:6] + quaternion.inverse_rotate(q, np.tile([0.0, 0.0, 9.81], (n, 1)))
        m = scatter[:, 6:] + quaternion.inverse_rotate(q, np.tile([0.0, 18.0, -40.0], (n, 1)))
        assert resting(w, f, 1000, 200, noise, m).mean() == pytest.approx(float(rests), abs=0.05)
    assert not resting(w, f, 1000, 200, noise).any()  # nothing tells a turn about the vertical from a bias


def test_a_log_without_rest_has_noises_from_second_differences():
    m = motion(seed=2, duration=40.0)
    rows = m.rows[m.moves]
    noise = surveyed(rows, m.dt)
    assert noise.mag == pytest.approx(0.6, rel=0.3)
    assert noise.gyro < 5e-3


def test_without_a_magnetometer_the_inclination_holds(log):
    _, parts = estimated(log, with_field=False)
    q = joined([p[2] for p in parts], "q")
    up = quaternion.inverse_rotate(q, np.array([0.0, 0.0, 1.0]))
    tilt = np.degrees(np.arccos((up * quaternion.inverse_rotate(log.q_IB, np.array([0.0, 0.0, 1.0]))).sum(axis=1)))
    assert np.sqrt((tilt[log.moves] ** 2).mean()) < 0.7


def test_a_magnet_that_is_attached_turns_nothing():
    """25 uT beside a field of 44 uT would turn the heading by 30 deg; it comes within 1 s at 25 s."""
    m = motion(seed=3, magnet_from=25.0)
    _, parts = estimated(m)
    e = error(joined([p[2] for p in parts], "q"), m.q_IB)
    assert rms(e[m.moves]) < 3.0
    assert np.linalg.norm(parts[-1][2].magnet[-1][:3]) > 5.0


def test_a_delay_of_the_magnetometer_is_found():
    m = motion(seed=4, delay_s=0.015)
    imu = ImuFilter(m.dt, surveyed(m.rows, m.dt))
    state = begun(imu, m.rows[:1000])
    imu.run(state, imu.samples(m.rows, 0), True)
    assert state.x[k.TAU] == pytest.approx(0.015, abs=0.004)


def test_smoothing_lessens_errors_and_covariance_whatever_the_chunks(log):
    for lag in (None, 1):
        imu, parts = estimated(log, chunk=2000)
        told = [p[1] for p in sorted(smoothed(imu, log.rows, [p[:2] for p in parts], lag), key=lambda p: p[0])]
        before = error(joined([p[2] for p in parts], "q"), log.q_IB)
        after = error(joined(told, "q"), log.q_IB)
        assert rms(after[log.moves]) < rms(before[log.moves])
        spread = [np.trace(joined(x, "C")[:, :3, :3], axis1=1, axis2=2) for x in ([p[2] for p in parts], told)]
        assert spread[1].mean() < spread[0].mean()  # samples of a block have the covariance of its end
        assert (np.linalg.eigvalsh(joined(told, "C")[::50]) > 0.0).all()


def test_a_bias_that_is_another_in_motion_is_smoothed_out():
    """Of three logs with 0.1 deg/s more while the body moves; a smoother of a steady bias errs twice as much."""
    ways = {}
    for name, ties in (("steady", {}), ("free", TIES)):
        for seed in (21, 22, 23):
            m = motion(seed=seed, duration=90.0, rate=100.0)
            m.rows[m.moves, 1:4] += np.radians([0.06, -0.06, 0.05])
            imu = dataclasses.replace(estimated(m)[0], constants=ties)
            starts = [p[:2] for p in passed(imu, m.rows)]
            told = [p[1] for p in sorted(smoothed(imu, m.rows, starts), key=lambda p: p[0])]
            ways.setdefault(name, []).append(rms(error(joined(told, "q"), m.q_IB)[m.moves]))
    assert np.mean(ways["free"]) < 0.5 * np.mean(ways["steady"])


def test_smoothing_by_chunks_is_smoothing_in_one(log):
    imu, one = estimated(log)
    _, many = estimated(log, chunk=1500)
    ways = [sorted(smoothed(imu, log.rows, [p[:2] for p in x]), key=lambda p: p[0]) for x in (one, many)]
    q_one, q_many = (joined([p[1] for p in way], "q") for way in ways)
    np.testing.assert_allclose(q_one, q_many, atol=1e-9)


@pytest.mark.parametrize("closing", [False, True])
def test_bryson_frazier_agrees_with_the_normal_equations(closing):
    """Of a linear chain with two updates, the smoothed first state is that of least squares, as magnets close too."""
    rng, trace = np.random.default_rng(5), empty_trace(2)
    P0, F = np.diag(rng.uniform(0.5, 2.0, k.N)), np.eye(k.N)
    SR, SF, c = 0.3 * rng.standard_normal((3, 3)), 0.3 * rng.standard_normal((3, 3)), np.array([0.5, 0.9, 0.8])
    forward(F, SR, SF, c)
    F[k.HI :] *= not closing
    h, y, r = [rng.standard_normal(k.N) for _ in range(2)], rng.standard_normal(2), 0.5
    P, x = P0.copy(), np.zeros(k.N)
    for b in range(2):
        if b:
            P, x = F @ P @ F.T, F @ x
        s = h[b] @ P @ h[b] + r
        gain, residual = P @ h[b] / s, y[b] - h[b] @ x
        P, x = P - np.outer(gain, gain) * s, x + gain * residual
        trace.row[b], trace.first[b + 1], trace.n[0] = b, b + 1, b + 1
        trace.SR[b], trace.SF[b], trace.c[b], trace.P[b] = SR, SF, c, P[:6]
        trace.h[b], trace.k[b], trace.ys[b] = h[b], gain, (residual, s)
        if b == 0:
            first = x.copy()
    lam, Lam, dx, W = np.zeros(k.N), np.zeros((k.N, k.N)), np.zeros(6), np.zeros((6, 6))
    told = k.Told(*(np.zeros((2, *n)) for n in ((4,), (3,), (3,), (6, 6), (6,))), *[np.zeros(0)] * 4)
    told.q[:, 0] = 1.0
    if closing:  # before the second update
        for z, gone in ((trace.h, 0.0), (trace.k, 0.0), (trace.ys, k.GONE)):
            z[2], z[1] = z[1], gone
        trace.first[2] = 3
    go_back(trace, lam, Lam, dx, W, told._replace(row=np.zeros(0, int), y=np.zeros((0, 3)), S=np.zeros((0, 3, 3))))
    H = np.stack([h[0], h[1] @ F])
    S = H @ P0 @ H.T + r * np.eye(2)
    best = P0 @ H.T @ np.linalg.solve(S, y)
    np.testing.assert_allclose(first[:6] + dx, best[:6], atol=1e-12)
    C = (P0 - P0 @ H.T @ np.linalg.solve(S, H @ P0))[:6, :6]
    np.testing.assert_allclose(trace.P[0][:, :6] + W, C, atol=1e-12)  # nothing was told beside: W is the change


def test_alignment_takes_the_force_up_and_the_field_north():
    f, m = np.array([0.3, -0.2, 9.7]), np.array([3.0, 15.0, -40.0])
    q = aligned(f, m)
    np.testing.assert_allclose(quaternion.rotate(q, f), [0.0, 0.0, np.linalg.norm(f)], atol=1e-12)
    north = quaternion.rotate(q, m)
    assert abs(north[0]) < 1e-12 and north[1] > 0.0
    for heading_free in (f, np.array([9.8, 0.0, 0.0])):
        np.testing.assert_allclose(quaternion.rotate(aligned(heading_free, None), heading_free)[:2], 0.0, atol=1e-12)


def test_a_gap_of_the_log_widens_the_covariance(log):
    rows = log.rows[(log.rows[:, 0] < 20.0) | (log.rows[:, 0] > 23.0)]
    imu = ImuFilter(log.dt, surveyed(log.rows, log.dt))
    state = begun(imu, rows[:1000])
    told = imu.run(state, imu.samples(rows, 0), True)
    at = int(np.searchsorted(rows[:, 0], 23.0))
    assert np.trace(told.C[at + 30][:3, :3]) > 2.0 * np.trace(told.C[at - 1][:3, :3])


def followed(m):
    return joined([told for _, _, told in estimated(m)[1]], "q")


@pytest.mark.parametrize("missing", [0.1, 0.3])
def test_samples_lost_for_a_moment_of_motion_cost_a_degree_at_most(missing):
    m = motion(seed=3)
    kept = (m.rows[:, 0] < 20.0) | (m.rows[:, 0] > 20.0 + missing)
    lost = m._replace(rows=m.rows[kept], q_IB=m.q_IB[kept], moves=m.moves[kept])
    assert rms(error(followed(lost), lost.q_IB)) < 1.0


@pytest.mark.parametrize(
    ("knock", "gained"), [(40.0, (0.25 * 40.0 * SETTINGS.dt) ** 2 / 3.0), (3.0 * SETTINGS.acc, 0.0)]
)
def test_a_quarter_of_what_a_knock_stands_out_is_uncertainty_of_the_velocity(knock, gained):
    state = a_state()
    before = np.diag(state.P).copy()
    jolt(state, SETTINGS, np.zeros(3), np.array([knock, 0.0, 0.0]), SETTINGS.dt)
    change = np.diag(state.P) - before
    assert change[k.V : k.POS] == pytest.approx(np.full(2, gained), rel=1e-6, abs=1e-12)
    assert not np.delete(change, [k.V, k.V + 1]).any()


@pytest.mark.parametrize("drift", [0.0, 0.1, 0.3])
def test_a_gyro_that_drifts_without_a_rest_is_found_to(drift):
    """Seed 31; of 17 changes in each of three axes the median tells the walk [deg/s/sqrt(s)] to a factor of two."""
    m, rng = motion(seed=31, duration=210.0, rate=100.0), np.random.default_rng(31)
    m = m._replace(rows=m.rows[m.moves], q_IB=m.q_IB[m.moves])
    m.rows[:, 1:4] += np.radians(drift) * np.cumsum(0.1 * rng.standard_normal((len(m.rows), 3)), axis=0)
    imu = ImuFilter(m.dt, surveyed(m.rows, m.dt))
    imu = dataclasses.replace(imu, noise=walking(imu, m.rows))
    walk = np.degrees(imu.noise.bias_walk)
    assert drift / 2.0 < walk < max(2.0 * drift, 0.03)
    e = error(joined([told for _, _, told in passed(imu, m.rows)], "q"), m.q_IB)
    assert rms(e[1000:]) < 2.0


def test_a_log_with_rests_keeps_the_walk_of_its_bias(log):
    imu = ImuFilter(log.dt, surveyed(log.rows, log.dt))
    assert walking(imu, log.rows) == imu.noise
