"""Bodies that turn, to test with: a solution by DOP853 written without anything of the models, errors, and slopes."""

import numpy as np
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.models.states import AttitudeState

J = np.array([[1.0, 0.1, -0.05], [0.1, 2.0, 0.15], [-0.05, 0.15, 2.7]])
Q0 = np.array([0.5, -0.5, 0.1, 0.7])
START = AttitudeState(Q0, np.array([0.8, -0.6, 0.5]))
TAU = np.array([0.2, -0.1, 0.15])


def torque(x, t):
    """Turn towards an inertial direction, brake, and push with the time: of attitude, rate and time."""
    up = quaternion.inverse_rotate(x.q_IB, np.array([0.0, 0.6, 0.8]))
    push = np.stack([np.sin(2.0 * np.asarray(t)), 0.0 * np.asarray(t), np.cos(np.asarray(t))], -1)
    return 0.3 * np.cross(up, [0.0, 0.0, 1.0]) - 0.1 * np.asarray(x.w_B) + 0.2 * push


def hamilton(a, b):
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def solution(x, load, duration, J=J, rho=lambda t: np.zeros(3), rho_rate=(0.0, 0.0, 0.0)):
    """Return the state after the duration, from Euler's equation in rates: J w' = (J w + rho) x w - rho' + tau."""

    def rate(t, y):
        q, w = y[:4], y[4:]
        tau = load(AttitudeState(q / np.linalg.norm(q), w), t)
        w_rate = np.linalg.solve(J, np.cross(J @ w + rho(t), w) - rho_rate + tau)
        return np.concatenate([0.5 * hamilton(q, np.array([0.0, *w])), w_rate])

    y = solve_ivp(rate, (0.0, duration), np.concatenate([x.q_IB, x.w_B]), "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return AttitudeState(y[:4] / np.linalg.norm(y[:4]), y[4:])


def error(x, truth):
    """Return the angle of the attitude error [rad] plus the error in rate."""
    return quaternion.angle_between(quaternion.normalize(x.q_IB), truth.q_IB) + np.linalg.norm(x.w_B - truth.w_B)


def last(flight):
    """Return the state at the end of a flight."""
    return type(flight.x)(*(a[-1] for a in flight.x))


def order(counts, errors):
    """Return how fast errors fall with the number of steps, on logarithmic axes."""
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


def slopes(step, x, u, d=1e-5):
    """Return F and G of step(x, u) by central differences, in the error state (a, all else), q = q^ exp(a/2)."""
    end, sizes = step(x, u), np.cumsum([len(part) for part in x[1:]])
    n, m = 3 + sizes[-1], len(u)

    def ends(e):
        parts = np.split(e[3:n], sizes[:-1])
        moved = type(x)(
            quaternion.mul(x.q_IB, quaternion.exp(e[:3])), *(p + b for p, b in zip(x[1:], parts, strict=True))
        )
        y = step(moved, u + e[n:])
        return np.concatenate([quaternion.log(quaternion.mul(quaternion.conj(end.q_IB), y.q_IB)), *y[1:]])

    columns = [(ends(d * e) - ends(-d * e)) / (2 * d) for e in np.eye(n + m)]
    return np.hsplit(np.stack(columns, -1), [n])


def trial(x, k):
    """Return one trial of a batch."""
    return type(x)(*(a[k] for a in x))


def same_bits(x, y):
    """Say whether two states have the same bits."""
    return all(np.array_equal(a, b) for a, b in zip(x, y, strict=True))


def dispersed(rng, n, rate=0.8):
    """Return states and inertias of n random bodies."""
    moments = rng.uniform(0.1, 1.0, (n, 3))
    R = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    J = np.einsum("nij,nj,nkj->nik", R, moments.sum(-1, keepdims=True) - moments, R)
    return AttitudeState(quaternion.normalize(rng.normal(size=(n, 4))), rate * rng.normal(size=(n, 3))), 0.5 * (
        J + np.swapaxes(J, -1, -2)
    )
