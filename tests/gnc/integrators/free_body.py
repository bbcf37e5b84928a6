"""Free rigid bodies by other means: Taylor series with 30 digits, and Jacobi's solution of Euler's equations."""

from itertools import pairwise
from types import SimpleNamespace

import mpmath
import numpy as np
from scipy.special import ellipj, ellipkinc, roots_sh_legendre

NONE = np.zeros(3)


def _product(p, q):
    """Multiply quaternions."""
    return [
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3],
        p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1],
    ]


def _inverse(q):
    return [q[0], -q[1], -q[2], -q[3]]


def _cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def attitude_error(q, truth):
    """Return the angle between two attitudes, one of them with 30 digits."""
    f = _product(_inverse(truth), [mpmath.mpf(float(x)) for x in q])
    return float(2 * mpmath.atan2(mpmath.norm(f[1:]), abs(f[0])))


def momentum_error(P, truth):
    """Return the distance of two momenta, relative to their size unless that is zero."""
    size = float(mpmath.norm(truth))
    return float(mpmath.norm([mpmath.mpf(float(x)) - y for x, y in zip(P, truth, strict=True)])) / (size or 1.0)


# Taylor series


@mpmath.workdps(30)
def flow(q, P, J, h, tau=NONE, rho=NONE, order=26, reach=0.5):
    """Return q_IB and P_B after h, with wheels and a torque constant in body axes, to about 27 digits."""
    q, P, tau, rho = ([mpmath.mpf(x) for x in v] for v in (q, P, tau, rho))
    fast = np.abs(np.linalg.inv(J)).sum(1).max() ** 0.5
    pushes = float(mpmath.norm(rho) + abs(h) * mpmath.norm(tau))
    rate = np.sqrt(_twice_energy(P, rho, J)) * fast + pushes * fast**2
    n = max(1, int(np.ceil(rate * abs(h) / reach)))
    for _ in range(n):
        q, P = _taylor_step(q, P, mpmath.matrix(np.asarray(J).tolist()) ** -1, mpmath.mpf(h) / n, tau, rho, order)
    return q, P


def _twice_energy(P, rho, J):
    v = np.array(P, float) - np.array(rho, float)
    return v @ np.linalg.solve(J, v)


def _taylor_step(q, P, inverse, h, tau, rho, order):
    def rate(v):
        return [h * (inverse[i, 0] * v[0] + inverse[i, 1] * v[1] + inverse[i, 2] * v[2]) for i in range(3)]

    qs, Ps, ws = [q], [P], [rate([a - b for a, b in zip(P, rho, strict=True)])]
    for k in range(order):
        turns = [_product(qs[j], [0, *ws[k - j]]) for j in range(k + 1)]
        moves = [_cross(Ps[j], ws[k - j]) for j in range(k + 1)]
        if k == 0:
            moves.append([h * x for x in tau])
        qs.append([mpmath.fsum(column) / (2 * k + 2) for column in zip(*turns, strict=True)])
        Ps.append([mpmath.fsum(column) / (k + 1) for column in zip(*moves, strict=True)])
        ws.append(rate(Ps[-1]))
    return ([mpmath.fsum(column) for column in zip(*series, strict=True)] for series in (qs, Ps))


@mpmath.workdps(30)
def flow_jacobian(q, P, J, h, tau=NONE, rho=NONE, eps=1e-9):
    """Return F and G by central differences with 30 digits: 1e-17 from the derivative."""
    end = _inverse(flow(q, P, J, h, tau, rho)[0])

    def moved(k, x):
        dq = [mpmath.sqrt(1 - x * x / 4), *(x / 2 if i == k else 0 for i in range(3))]
        start = _product(q, dq) if k < 3 else q
        P_0 = [p + x if i + 3 == k else mpmath.mpf(p) for i, p in enumerate(P)]
        torque = [t + x if i + 6 == k else mpmath.mpf(t) for i, t in enumerate(tau)]
        q_1, P_1 = flow(start, P_0, J, h, torque, rho)
        f = _product(end, q_1)
        return [*(2 * v / f[0] for v in f[1:]), *P_1]

    x = mpmath.mpf(eps)
    columns = [[(a - b) / (2 * x) for a, b in zip(moved(k, x), moved(k, -x), strict=True)] for k in range(9)]
    return np.hsplit(np.array(columns, float).T, [6])


# Jacobi's solution, with double precision or with 30 digits

DOUBLE = SimpleNamespace(
    number=float,
    sqrt=np.sqrt,
    atan2=np.arctan2,
    cos=np.cos,
    sin=np.sin,
    first_kind=ellipkinc,
    functions=lambda u, m: ellipj(u, m)[:3],
    integral=lambda f, pieces: sum(
        w * f(a + x * (b - a)) * (b - a)
        for a, b in pairwise(pieces)
        for x, w in zip(*roots_sh_legendre(24), strict=True)
    ),
)
MANY = SimpleNamespace(
    number=mpmath.mpf,
    sqrt=mpmath.sqrt,
    atan2=mpmath.atan2,
    cos=mpmath.cos,
    sin=mpmath.sin,
    first_kind=mpmath.ellipf,
    functions=lambda u, m: [mpmath.ellipfun(kind, u, m=m) for kind in ("sn", "cn", "dn")],
    integral=lambda f, pieces: mpmath.quad(f, pieces, method="gauss-legendre", maxdegree=4),
)


@mpmath.workdps(22)
def jacobi(q, P, moments, t, lib=DOUBLE):
    """Return q_IB and P_B of a free body in principal axes, J1 < J2 < J3, off the separatrix and the axes.

    Source: Landau and Lifshitz, "Mechanics", section 37; the angle of precession by quadrature.
    """
    P, J = [lib.number(x) for x in P], [lib.number(x) for x in moments]
    L2, T2 = sum(p * p for p in P), sum(p * p / m for p, m in zip(P, J, strict=True))
    solution = _momentum(P, J, L2, T2, lib)

    def precession(s):
        third = solution(s)[2] ** 2
        return lib.sqrt(L2) * (T2 - third / J[2]) / (L2 - third)

    n = max(1, round(abs(t)))
    phi = lib.integral(precession, [lib.number(t) * k / n for k in range(n + 1)])
    f = _product(_inverse(_euler(0, P, L2, lib)), _euler(phi, solution(lib.number(t)), L2, lib))
    return _product([lib.number(x) for x in q], f), solution(lib.number(t))


def _momentum(P, J, L2, T2, lib):
    """Return the momentum as a function of time: it circles about the third axis or, read backwards, the first."""
    order = slice(None) if T2 * J[1] < L2 else slice(None, None, -1)
    (J1, J2, J3), (P1, P2, P3) = J[order], P[order]
    sign = 1 if P3 > 0 else -1
    a1, a3 = lib.sqrt(J1 * (T2 * J3 - L2) / (J3 - J1)), lib.sqrt(J3 * (L2 - T2 * J1) / (J3 - J1))
    a2 = lib.sqrt(J2 * (T2 * J3 - L2) / (J3 - J2))
    rate = lib.sqrt((J3 - J2) * (L2 - T2 * J1) / (J1 * J2 * J3))
    m = (J2 - J1) * (T2 * J3 - L2) / ((J3 - J2) * (L2 - T2 * J1))
    phase = lib.first_kind(lib.atan2(P2 / a2, sign * P1 / a1), m)

    def at(t):
        sn, cn, dn = lib.functions(phase + rate * t, m)
        return [sign * a1 * cn, a2 * sn, sign * a3 * dn][order]

    return at


def _euler(phi, P, L2, lib):
    """Return the attitude whose third inertial axis is along the momentum, with the angle of precession phi."""
    theta = lib.atan2(lib.sqrt(P[0] ** 2 + P[1] ** 2), P[2])
    psi = lib.atan2(P[0], P[1])

    def about(axis, angle):
        half = lib.number(angle) / 2
        return [lib.cos(half), *(lib.sin(half) if k == axis else 0 for k in range(3))]

    return _product(_product(about(2, phi), about(0, theta)), about(2, psi))
