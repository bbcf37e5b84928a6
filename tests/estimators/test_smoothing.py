"""Smoothing: against one big least-squares problem, against MAP by shooting, and honest over trials."""

import numpy as np

from gnc.estimators import smoothing
from gnc.estimators.chart import ROTATION, difference, vector
from gnc.estimators.consistency import mean_band, nees
from gnc.estimators.map_estimate import MapEstimate
from gnc.estimators.mekf import Mekf
from gnc.estimators.smoothing import Node
from gnc.models.sensors.interface import Measurement
from gnc.models.states import AttitudeState
from tests.estimators import tumble

CHART = ROTATION, vector(3)


def batch_least_squares(x_0, C_0, F, Q, H, R, z):
    """Mean and covariance of all states of a linear flight at once, from the normal equations."""
    n, steps = len(x_0), len(z)
    N, g = np.zeros((n * steps, n * steps)), np.zeros(n * steps)
    N[:n, :n], g[:n] = np.linalg.inv(C_0), np.linalg.solve(C_0, x_0)
    for k in range(steps):
        here = slice(n * k, n * k + n)
        N[here, here] += H.T @ np.linalg.solve(R, H)
        g[here] += H.T @ np.linalg.solve(R, z[k])
        if k:
            both = slice(n * k - n, n * k + n)
            A = np.concatenate([-F, np.eye(n)], axis=1)
            N[both, both] += A.T @ np.linalg.solve(Q, A)
    C = np.linalg.inv(N)
    return (C @ g).reshape(steps, n), [C[n * k : n * k + n, n * k : n * k + n] for k in range(steps)]


def test_of_a_linear_flight_both_smoothers_are_the_least_squares_of_all_states_at_once():
    rng, n, steps = np.random.default_rng(8), 3, 12
    F, H, R = np.eye(n) + 0.3 * rng.normal(size=(n, n)), rng.normal(size=(2, n)), np.diag([0.1, 0.4])
    L = rng.normal(size=(n, n))
    Q, C_0, x_0, z = 0.1 * L @ L.T, 2.0 * np.eye(n), rng.normal(size=n), rng.normal(size=(steps, 2))
    means, Cs = batch_least_squares(x_0, C_0, F, Q, H, R, z)
    chart, look = (vector(n),), lambda k, x: (z[k] - H @ x[0], H, R)
    given = ((x_0,), C_0), [(np.zeros(n),)] * steps
    x, C, done = smoothing.iterated(chart, *given, lambda k, x: ((F @ x[0],), F, Q), look)
    assert done
    np.testing.assert_allclose([part[0] for part in x], means, atol=1e-10)
    np.testing.assert_allclose(C, Cs, atol=1e-10)

    nodes, m, P = [], x_0, C_0
    for k in range(steps):
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        m, P = m + K @ (z[k] - H @ m), P - K @ H @ P
        last = (m,), P
        nodes.append(Node((m,), P, F, (F @ m,), F @ P @ F.T + Q))
        m, P = F @ m, F @ P @ F.T + Q
    x, C = zip(*list(smoothing.rts(chart, nodes[:-1], last))[::-1], strict=True)
    np.testing.assert_allclose([part[0] for part in x], means, atol=1e-10)
    np.testing.assert_allclose(C, Cs, atol=1e-10)


def flight(mekf, hz, trials, seed, duration):
    """A free tumble filtered: truth, readings, prior, nodes and the last belief."""
    t = np.arange(round(duration * hz) + 1) / hz
    truth = tumble.flown(t)
    z = tumble.measured(truth, trials, seed)
    first = [Measurement(m.z[0], m.valid[0]) for m in z]
    belief = tumble.begin(mekf, AttitudeState(truth.q_IB[0], truth.w_B[0]), first, trials, seed)
    prior, nodes = belief, []
    for k in range(1, len(t)):
        after, F, Q = mekf.transition(belief, belief.C, tumble.NONE, 1.0 / hz)
        after = after._replace(C=smoothing.congruent(F, belief.C) + Q)
        nodes.append(Node((belief.q_IB, belief.P_B), belief.C, F, (after.q_IB, after.P_B), after.C))
        belief = after
        for sensor, m in zip(tumble.SENSORS, z, strict=True):
            belief, _ = mekf.update(belief, sensor, Measurement(m.z[k], m.valid[k]), gated=False)
    return truth, z, prior, nodes, belief


def iterated(mekf, hz, z, prior, path):
    """The most probable flight about a path."""

    def flow(k, x):
        at = prior._replace(q_IB=x[0], P_B=x[1])
        end, F, Q = mekf.transition(at, prior.C, tumble.NONE, 1.0 / hz)
        return (end.q_IB, end.P_B), F, Q

    def look(k, x):
        seen = [s.predict(AttitudeState(*x), None) for s in tumble.SENSORS]
        y = np.concatenate([s.residual(m.z[k], p.z) for s, m, p in zip(tumble.SENSORS, z, seen, strict=True)], -1)
        H, R = np.zeros((*y.shape, 6)), np.zeros((*y.shape, 6))
        for i, p in enumerate(seen):
            H[..., 3 * i : 3 * i + 3, :3] = (k > 0) * p.H[..., :3]
            R[..., 3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = p.R
        return y, H, R

    return smoothing.iterated(CHART, ((prior.q_IB, prior.P_B), prior.C), path, flow, look)


def test_the_iterated_smoother_ends_where_map_by_shooting_does():
    """Two ways to the same most probable flight: all states free and tied by the motion, or the first one alone."""
    mekf, hz, trials = Mekf(tumble.J), 0.1, 20
    _, z, prior, nodes, belief = flight(mekf, hz, trials, 601, 120.0)
    path = [x for x, _ in smoothing.rts(CHART, nodes, ((belief.q_IB, belief.P_B), belief.C))][::-1]
    x, C, done = iterated(mekf, hz, z, prior, path)
    assert done.all()
    readings = [
        [(s, Measurement(m.z[k], m.valid[k])) for s, m in zip(tumble.SENSORS, z, strict=True)] for k in range(1, 13)
    ]
    (best,) = MapEstimate(mekf, 1.0 / hz, tumble.NONE).estimates(prior, readings, [12])
    e = difference(CHART)(*x[-1], best.q_IB, best.P_B)
    assert np.all(nees(e, best.C) < 1e-4**2)
    np.testing.assert_allclose(C[-1] / np.linalg.norm(best.C, axis=(-2, -1), keepdims=True),
                               best.C / np.linalg.norm(best.C, axis=(-2, -1), keepdims=True), atol=1e-4)  # fmt: skip


def test_smoothed_beliefs_are_better_than_filtered_ones_and_honest():
    """NEES over 300 trials at five times: each leaves its 99.99 % band with probability 1e-4."""
    mekf, hz, trials = Mekf(tumble.J), 1.0, 300
    truth, _, _, nodes, belief = flight(mekf, hz, trials, 602, 60.0)
    smoothed = list(smoothing.rts(CHART, nodes, ((belief.q_IB, belief.P_B), belief.C)))[::-1]
    band = mean_band(6, trials, 0.9999)
    for k in (5, 15, 30, 45, 55):
        true = truth.q_IB[k], tumble.J @ truth.w_B[k]
        (x, C), node = smoothed[k], nodes[k]
        e, before = difference(CHART)(*x, *true), difference(CHART)(*node.x, *true)
        assert band.holds(nees(e, C).mean())
        assert np.sum(e**2) < 0.8 * np.sum(before**2)
        assert np.all(np.trace(C, axis1=-2, axis2=-1) < np.trace(node.C, axis1=-2, axis2=-1))
