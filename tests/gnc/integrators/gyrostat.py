"""A gyrostat to test with: random physical bodies, an independent solution, error states, and order fits."""

import numpy as np
from scipy.integrate import solve_ivp

from gnc import lie, quaternion
from gnc.batch import batched, jacobian

J = np.array([[1.0, 0.1, -0.05], [0.1, 2.0, 0.15], [-0.05, 0.15, 2.7]])
Q0 = np.array([0.5, -0.5, 0.1, 0.7])
W0 = np.array([0.8, -0.6, 0.5])
RHO = np.array([0.3, -0.2, 0.4])
TAU = np.array([0.2, -0.1, 0.15])
NONE = np.zeros(3)
CASES = {"free": (NONE, NONE), "torque": (TAU, NONE), "wheels": (NONE, RHO), "torque and wheels": (TAU, RHO)}

PAPER_J, PAPER_W0 = np.diag([1.0, 2.0, 3.0]), np.array([np.pi / 4, -np.pi / 5, np.pi / 6])  # QVI section IX


def _solution(q_IB, w_B, J, tau, rho, times):
    """Integrate Euler's equation with DOP853; torque and wheels are functions of time."""

    def rates(t, y):
        w_B = np.linalg.solve(J, y[4:] - rho(t))
        turn = np.array([-y[1:4] @ w_B, *(y[0] * w_B + np.cross(y[1:4], w_B))])
        return np.concatenate([0.5 * turn, np.cross(y[4:], w_B) + tau(t)])

    start, span = np.concatenate([q_IB, J @ w_B + rho(0.0)]), (0.0, times[-1])
    return solve_ivp(rates, span, start, method="DOP853", t_eval=times, rtol=1e-13, atol=1e-14).y


def exact(q_IB, w_B, J, tau, rho, T):
    """Return q_IB and P_B after T."""
    return np.split(_solution(q_IB, w_B, J, tau, rho, [T])[:, -1], [4])


def path(q_IB, w_B, J, times):
    """Return q_IB of a free body at the given times."""
    return _solution(q_IB, w_B, J, lambda t: NONE, lambda t: NONE, times)[:4].T


def error(state, truth):
    """Return the angle of the attitude error [rad] plus the error in momentum."""
    return quaternion.angle_between(state[0], truth[0]) + np.linalg.norm(state[1] - truth[1])


def order(steps, errors):
    """Return the slope of the errors over the step length, on logarithmic axes."""
    return -np.polyfit(np.log(steps), np.log(errors), 1)[0]


def random_bodies(rng, n, least=0.05):
    """Return inertias of n random physical bodies in random axes; `least` keeps them from being needles and plates."""
    m = rng.uniform(least, 1.0, (n, 3))
    principal = m.sum(-1, keepdims=True) - m  # moments that meet the triangle inequality
    R = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    return np.einsum("nij,nj,nkj->nik", R, principal, R)


def random_directions(rng, n, dim=3):
    """Return n unit vectors."""
    x = rng.normal(size=(n, dim))
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def random_trials(rng, n, angle=0.3, wheels=0.2):
    """Return q_IB, P_B, tau_B, J, rho_B of n bodies that turn by about `angle` in one second."""
    J = random_bodies(rng, n)
    rho_B = wheels * random_directions(rng, n) * np.linalg.eigvalsh(J)[:, :1]
    P_B = np.einsum("nij,nj->ni", J, angle * random_directions(rng, n)) + rho_B
    return random_directions(rng, n, 4), P_B, 0.1 * random_directions(rng, n), J, rho_B


def symplectic_form(P_B):
    """Return Om(P) = [[-[P], 1], [-1, 0]], the form of the error state (a, dP)."""
    top = np.concatenate([-lie.hat(P_B), np.broadcast_to(np.eye(3), (*P_B.shape, 3))], -1)
    bottom = np.concatenate([-np.eye(3), np.zeros((3, 3))], -1)
    return np.concatenate([top, np.broadcast_to(bottom, top.shape)], -2)


def finite_difference(step, q_IB, P_B, tau_B, J, rho_B, h, eps=1e-5):
    """Return F and G of one trial by central differences of the error state."""
    q_ref = step(q_IB, P_B, tau_B, J, rho_B, h)[0]

    def ends(x):
        q_1, P_1 = step(quaternion.mul(q_IB, quaternion.exp(x[:3])), P_B + x[3:6], tau_B + x[6:], J, rho_B, h)
        return np.concatenate([quaternion.log(quaternion.mul(quaternion.conj(q_ref), q_1)), P_1])

    columns = [(ends(eps * e) - ends(-eps * e)) / (2.0 * eps) for e in np.eye(9)]
    return np.hsplit(np.stack(columns, -1), [6])


def forward_mode(step):
    """Return the function (q_ref, q_IB, P_B, tau_B, J, rho_B, h) -> F, G by forward mode; a step ends at q_ref."""

    @batched("(9),(4),(4),(3),(3),(3,3),(3),()->(6)")
    def ends(x, q_ref, q_IB, P_B, tau_B, J, rho_B, h):
        q_1, P_1 = step(quaternion.mul(q_IB, quaternion.exp(x[:3])), P_B + x[3:6], tau_B + x[6:], J, rho_B, h)
        return np.concatenate([2.0 * quaternion.mul(quaternion.conj(q_ref), q_1)[1:], P_1])

    slopes = jacobian(ends, "x")
    return lambda *args: np.split(slopes(np.zeros(9), *args), [6], axis=-1)
