"""Unit quaternions: scalar first, Hamilton; q_AB takes B components to A, and q_AC = mul(q_AB, q_BC).

q and -q are the same rotation. Angles are in radians; rotation vectors are axis times angle. QVI writes quaternions
vector first; the equations are the same. Every function is a kernel but the last two, which speak to SciPy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.batch import batched, copysign, maximum, where
from gnc.coefficients import arctan_ratio, cosine, sinc
from gnc.linalg import array, cross, identity, skew

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

PARALLEL = 1e-15  # directions that agree so well are the same in double precision


# The algebra


@batched("(4),(4)->(4)")
def mul(p, q):
    """Multiply: the product has scalar p0 q0 - p.q and vector p0 q + q0 p + p x q. Source: QVI eq. (2)."""
    return array([p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + cross(p[1:], q[1:]))])


@batched("(4)->(4)")
def conj(q_AB):
    """Return the conjugate, which is the inverse: q_BA. Source: QVI eq. (4)."""
    return array([q_AB[0], *-q_AB[1:]])


@batched("(4)->(4,4)")
def left_matrix(p):
    """Return L with L(p) q = p q. Source: QVI eq. (2)."""
    s, (x, y, z) = p[0], p[1:]
    return array([[s, -x, -y, -z], [x, s, -z, y], [y, z, s, -x], [z, -y, x, s]])


@batched("(4)->(4,4)")
def right_matrix(q):
    """Return R with R(q) p = p q. Source: QVI eq. (2)."""
    s, (x, y, z) = q[0], q[1:]
    return array([[s, -x, -y, -z], [x, s, z, -y], [y, -z, s, x], [z, y, -x, s]])


@batched("(4)->(4)")
def normalize(q):
    """Return q / |q|."""
    return q / np.sqrt(q @ q)


def _sign(q):
    """Return -1 where q is the other of the two covers, 1 where it is the one `canonical` returns."""
    first = where(q[2] == 0.0, q[3], q[2])
    first = where(q[1] == 0.0, first, q[1])
    return where(where(q[0] == 0.0, first, q[0]) < 0.0, -1.0, 1.0)


@batched("(4)->(4)")
def canonical(q):
    """Return the one of q and -q whose first number that is not zero is positive: the rotation of at most pi."""
    return _sign(q) * q


# Acting on vectors


@batched("(4),(3)->(3)")
def rotate(q_AB, v_B):
    """Return v_A, the vector part of q v q*. Source: QVI eqs. (5), (6)."""
    t = 2.0 * cross(q_AB[1:], v_B)
    return v_B + (q_AB[0] * t + cross(q_AB[1:], t))


@batched("(4),(3)->(3)")
def inverse_rotate(q_AB, v_A):
    """Return v_B, the vector part of q* v q. Source: QVI eqs. (4), (5)."""
    return rotate(conj(q_AB), v_A)


@batched("(4),(3)->(4)")
def derivative(q_AB, w_B):
    """Return the time derivative q w / 2, w the rate of B against A in B axes. Source: QVI eq. (9)."""
    return mul(q_AB, array([0.0, *(0.5 * w_B)]))


# Rotation vectors


@batched("(3)->(4)")
def exp(a):
    """Return the quaternion of a rotation vector, e^(a/2) = (cos |a|/2, a/|a| sin |a|/2).

    A body rate held for h turns q_IB to mul(q_IB, exp(h w_B)). Source: QVI eqs. (7), (8).
    """
    quarter = 0.25 * (a @ a)
    return array([cosine(quarter), *((0.5 * sinc(quarter)) * a)])


@batched("(4)->(3)")
def log(q):
    """Return the rotation vector, the short way: at most pi long, and the same for q and -q; |q| drops out."""
    q = canonical(q)
    return (2.0 * arctan_ratio(q[1:] @ q[1:], q[0])) * q[1:]


@batched("(4)->(3)")
def log_cover(q):
    """Return the rotation vector, up to 2 pi long, that `exp` takes to q itself and not to -q.

    q = -1 is a full turn about any axis: the x axis is taken.
    """
    a = log(q)
    still = _length(a) == 0.0
    axis = where(still, array([-1.0, 0.0, 0.0]), _direction(where(still, 1.0, a)))
    return where(_sign(q) < 0.0, a - (2.0 * math.pi) * axis, a)


@batched("(3),()->(4)")
def from_axis_angle(axis, angle):
    """Return (cos angle/2, axis sin angle/2), the axis of any length but zero. Source: QVI eq. (3)."""
    return array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * _direction(axis))])


def _length(v):
    """Return |v|, scaled so that squares do not underflow."""
    largest = maximum(maximum(abs(v[0]), abs(v[1])), abs(v[2]))
    zero = largest == 0.0
    scaled = v / where(zero, 1.0, largest)
    return largest * np.sqrt(where(zero, 1.0, scaled @ scaled))


def _direction(v):
    """Return the unit vector along v, NaN for a zero vector."""
    return v / _length(v)


# Matrices


@batched("(4)->(3,3)")
def to_matrix(q_AB):
    """Return R_AB = 1 + 2 s [v] + 2 [v]^2, with v_A = R_AB v_B. Source: QVI eq. (5)."""
    v = skew(q_AB[1:])
    return identity(3) + 2.0 * (q_AB[0] * v + v @ v)


@batched("(3,3)->(4)")
def from_matrix(R_AB):
    """Return the quaternion of a rotation matrix, scalar part >= 0.

    All of 4 q q^T is linear in R: the column of the largest diagonal element is q up to its length. Source: Shepperd,
    "Quaternion from Rotation Matrix", J. Guidance and Control 1 (1978) 223.
    """
    (a, b, c), (d, e, f), (g, h, i) = R_AB
    columns = array(
        [
            [1.0 + a + e + i, h - f, c - g, d - b],
            [h - f, 1.0 + a - e - i, b + d, c + g],
            [c - g, b + d, 1.0 - a + e - i, f + h],
            [d - b, c + g, f + h, 1.0 - a - e + i],
        ]
    )
    best, size = columns[0], columns[0, 0]
    for k in (1, 2, 3):
        larger = columns[k, k] > size
        best, size = where(larger, columns[k], best), where(larger, columns[k, k], size)
    return canonical(normalize(best))


# Two directions


@batched("(3),(3)->(4)")
def from_two_vectors(v_B, v_A):
    """Return the q_AB of least angle that takes the direction v_B to v_A; lengths do not matter.

    With unit a, b the half angle has sine |a - b|/2 and cosine |a + b|/2, and a x b = a x (b - a) = a x (a + b) does
    not cancel in one of the two. Opposite directions turn about an axis normal to v_B, picked by its smallest number.
    """
    a, b = _direction(v_B), _direction(v_A)
    obtuse = a @ b < 0.0
    normal = cross(a, where(obtuse, a + b, b - a))
    opposite = obtuse & (_length(normal) < PARALLEL)
    axis = _direction(where(opposite, _any_normal(a), where(obtuse, normal, a)))
    twice_cosine = _length(a + b)
    vector = where(obtuse, 0.5 * _length(b - a) * axis, normal / where(obtuse, 1.0, twice_cosine))
    return normalize(array([0.5 * twice_cosine, *vector]))


def _any_normal(a):
    """Return a vector normal to a, by the coordinate axis that is farthest from it."""
    x, y, z = abs(a)
    first = (x <= y) & (x <= z)
    second = where(y <= z, array([a[2], 0.0, -a[0]]), array([-a[1], a[0], 0.0]))
    return where(first, array([0.0, -a[2], a[1]]), second)


# Two rotations


def _between(q_0, q_1):
    """Return conj(q_0) q_1 or its negative, the short way, without cancellation where q_1 is near q_0 or -q_0."""
    q_1 = copysign(1.0, q_0 @ q_1) * q_1
    return array([q_0 @ q_1, *mul(conj(q_0), q_1 - q_0)[1:]])


@batched("(4),(4)->()")
def angle_between(q_0, q_1):
    """Return the angle, from 0 to pi, of the rotation that leads from one attitude to the other."""
    f = _between(q_0, q_1)
    return 2.0 * np.arctan2(_length(f[1:]), f[0])


@batched("(4),(4),()->(4)")
def slerp(q_0, q_1, t):
    """Turn from q_0 (t = 0) to q_1 (t = 1) at a constant rate, the short way: q_0 exp(t log(q_0* q_1)).

    It starts at q_0 itself; where that is the longer way on the sphere it ends at -q_1.
    """
    return mul(q_0, exp(t * log(_between(q_0, q_1))))


# Euler angles


@batched("(3)->(4)")
def from_euler321(angles):
    """Return q_AB = q_z(yaw) q_y(pitch) q_x(roll) from [yaw, pitch, roll]: A turned by these in this order is B."""
    (cz, cy, cx), (sz, sy, sx) = np.cos(0.5 * angles), np.sin(0.5 * angles)
    return array(
        [
            cx * cy * cz + sx * sy * sz,
            sx * cy * cz - cx * sy * sz,
            cx * sy * cz + sx * cy * sz,
            cx * cy * sz - sx * sy * cz,
        ]
    )


@batched("(4)->(3)")
def to_euler321(q_AB):
    """Return [yaw, pitch, roll], pitch within +-pi/2, the others within +-pi; |q| drops out.

    With u = (w - y, x + z) and d = (w + y, x - z): roll + yaw is twice the angle of u, roll - yaw that of d, and
    tan(pitch) = 2 (w y - x z) / (|u| |d|). Where pitch is +-pi/2 (u or d vanishes, to 1e-15) roll is set to zero.
    Source: Bernardes and Viollet, "Quaternion to Euler angles conversion", PLoS ONE 17(11), 2022.
    """
    w, x, y, z = q_AB
    uu, dd = (w - y) ** 2 + (x + z) ** 2, (w + y) ** 2 + (x - z) ** 2
    up, down = uu < PARALLEL**2 * dd, dd < PARALLEL**2 * uu
    half_sum, half_difference = np.arctan2(x + z, w - y), np.arctan2(x - z, w + y)
    half_sum, half_difference = where(up, -half_difference, half_sum), where(down, -half_sum, half_difference)
    pitch = np.arctan2(2.0 * (w * y - x * z), np.sqrt(uu) * np.sqrt(dd))
    return array([_wrap(half_sum - half_difference), pitch, _wrap(half_sum + half_difference)])


def _wrap(angle):
    """Bring an angle within +-2 pi to within +-pi."""
    return where(abs(angle) > math.pi, angle - copysign(2.0 * math.pi, angle), angle)


# SciPy


def to_scipy(q_AB: Any) -> Rotation:
    """Return SciPy's Rotation, whose apply takes B components to A."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(q_AB, scalar_first=True)


def from_scipy(rotation: Rotation) -> np.ndarray:
    """Return the quaternion of SciPy's Rotation."""
    return rotation.as_quat(scalar_first=True)
