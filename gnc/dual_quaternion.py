"""Dual quaternions: poses, screws and the algebra of DQMB Tables 1 and 2.

A dual quaternion has shape (8): the real part first, each part scalar first. A pose is a unit dual quaternion,

    dq_AB = (q_AB, r_AB o q_AB / 2)        r_AB: of B from A, in A axes

and both dq and -dq are the same pose. Poses compose by `mul` (dq_AC = mul(dq_AB, dq_BC)) and invert by `conj`. Twists
are [w, v], wrenches [torque, force]: 6-vectors, angular first. Every function is a kernel.
"""

import numpy as np

from gnc import quaternion
from gnc.batch import batched, copysign, maximum, where
from gnc.coefficients import arctan_ratio, cosine, sinc, sinc_slope
from gnc.linalg import array, block, skew, zeros


def _join(real, dual):
    return np.concatenate([real, dual])


# The algebra (DQMB Table 2)


@batched("(8),(8)->(8)")
def mul(a, b):
    """Multiply dual quaternions, a b = (ar br) + eps (ad br + ar bd). Source: DQMB Table 2, eq. (8)."""
    real = quaternion.mul(a[:4], b[:4])
    return _join(real, quaternion.mul(a[4:], b[:4]) + quaternion.mul(a[:4], b[4:]))


@batched("(8)->(8)")
def conj(a):
    """Return the quaternion conjugate of both parts, the inverse of a unit dual quaternion. Source: DQMB Table 2."""
    return _join(quaternion.conj(a[:4]), quaternion.conj(a[4:]))


@batched("(8)->(8)")
def inverse(a):
    """Return the inverse of any dual quaternion with a real part: ar^-1 - eps ar^-1 ad ar^-1."""
    real = quaternion.conj(a[:4]) * (1.0 / (a[:4] @ a[:4]))
    return _join(real, -quaternion.mul(real, quaternion.mul(a[4:], real)))


@batched("(8),(8)->(2)")
def dot(a, b):
    """Return the dual number a . b = (a* b + b* a)/2 as [real, dual]. Source: DQMB Table 2."""
    return array([a[:4] @ b[:4], a[4:] @ b[:4] + a[:4] @ b[4:]])


@batched("(8),(8)->(8)")
def cross(a, b):
    """Return a x b = (a b - b* a*)/2, the vector part of the product. Source: DQMB Table 2, Lemma 1.

    Erratum: DQMB eq. (11) lost the 1/2 (test_erratum_dqmb_eq_11_lost_the_half_of_the_cross_product).
    """
    product = mul(a, b)
    return array([0.0, *product[1:4], 0.0, *product[5:]])


@batched("(8),(8)->()")
def circle(a, b):
    """Return the circle product ar . br + ad . bd, the dot product of the eight numbers. Source: DQMB Table 2."""
    return a @ b


@batched("(8)->(8)")
def swap(a):
    """Exchange real and dual part: DQMB's swap (Table 2), DQVI's dual transpose (Remark 2)."""
    return _join(a[4:], a[:4])


@batched("(8)->()")
def norm(a):
    """Return sqrt(a o a) with the circle product. Source: DQMB Table 2."""
    return np.sqrt(a @ a)


@batched("(8)->(2)")
def scalar_part(a):
    """Return the scalars of both parts, the dual number [real, dual]."""
    return array([a[0], a[4]])


@batched("(8)->(6)")
def vector_part(a):
    """Return the vectors of both parts as one 6-vector. Source: DQMB Table 2; `pure` restores the zeros."""
    return array([*a[1:4], *a[5:]])


@batched("(6)->(8)")
def pure(s):
    """Return the dual quaternion with these vectors and no scalars, DQMB's vector dual quaternion."""
    return array([0.0, *s[:3], 0.0, *s[3:]])


@batched("(8)->(8,8)")
def left_matrix(a):
    """Return the matrix with left_matrix(a) @ b = a b. Source: DQMB eq. (9)."""
    real, dual = quaternion.left_matrix(a[:4]), quaternion.left_matrix(a[4:])
    return block([[real, zeros(4, 4)], [dual, real]])


@batched("(8)->(8,8)")
def right_matrix(b):
    """Return the matrix with right_matrix(b) @ a = a b. Source: DQMB eq. (9)."""
    real, dual = quaternion.right_matrix(b[:4]), quaternion.right_matrix(b[4:])
    return block([[real, zeros(4, 4)], [dual, real]])


@batched("(8)->(8)")
def normalize(a):
    """Divide by the dual norm: the real part becomes unit, the dual part orthogonal to it.

    a / sqrt(a* a) = ar/|ar| + eps (ad - ar (ar . ad)/|ar|^2)/|ar|. The rotation and 2 ad ar^-1, the position, keep
    their values. Source: Kavan et al., "Dual Quaternions for Rigid Transformation Blending", TCD-CS-2006-46, 2006.
    """
    scale = 1.0 / np.sqrt(a[:4] @ a[:4])
    real, dual = a[:4] * scale, a[4:] * scale
    return _join(real, dual - real * (real @ dual))


@batched("(8)->(8)")
def canonical(dq):
    """Return the one of dq and -dq whose real part is `quaternion.canonical`: the rotation of at most pi."""
    return copysign(1.0, dq[:4] @ quaternion.canonical(dq[:4])) * dq


# Poses


@batched("(4),(3)->(8)")
def from_pose(q_AB, r_AB):
    """Return dq_AB = (q_AB, r_AB o q_AB / 2). Source: DQVI eq. (4); DQMB section 2.2 has r_B, in B axes."""
    return _join(q_AB, quaternion.mul(array([0.0, *(0.5 * r_AB)]), q_AB))


@batched("(8)->(4),(3)")
def to_pose(dq_AB):
    """Return q_AB and r_AB = 2 ad ar*. Source: DQVI eq. (5)."""
    return dq_AB[:4], _position(dq_AB)


def _position(dq_AB):
    return 2.0 * quaternion.mul(dq_AB[4:], quaternion.conj(dq_AB[:4]))[1:]


@batched("(4,4)->(8)")
def from_matrix(T_AB):
    """Return the pose of a homogeneous matrix [[R_AB, r_AB], [0, 1]]."""
    return from_pose(quaternion.from_matrix(T_AB[:3, :3]), T_AB[:3, 3])


@batched("(8)->(4,4)")
def to_matrix(dq_AB):
    """Return the homogeneous matrix [[R_AB, r_AB], [0, 1]]."""
    R, r = quaternion.to_matrix(dq_AB[:4]), _position(dq_AB)
    return array([[*R[0], r[0]], [*R[1], r[1]], [*R[2], r[2]], [0.0, 0.0, 0.0, 1.0]])


@batched("(8),(3)->(3)")
def transform_point(dq_AB, p_B):
    """Return the coordinates in A of a point given in B, R_AB p_B + r_AB. Source: DQVI eq. (5)."""
    return quaternion.rotate(dq_AB[:4], p_B) + _position(dq_AB)


@batched("(8),(3)->(3)")
def inverse_transform_point(dq_AB, p_A):
    """Return the coordinates in B of a point given in A, R_AB^T (p_A - r_AB)."""
    return quaternion.inverse_rotate(dq_AB[:4], p_A - _position(dq_AB))


# Twists and wrenches


@batched("(8),(6)->(6)")
def transform_twist(dq_AB, twist_B):
    """Refer a twist to A: dq_AB s dq_AB*, w_A = R w_B, v_A = R v_B + r_AB x w_A. Source: DQMB eqs. (20), (21).

    v is the velocity of the body's point at the origin of the frame, which the change of frame moves.
    """
    R, r = quaternion.to_matrix(dq_AB[:4]), _position(dq_AB)
    w_A = R @ twist_B[:3]
    return _join(w_A, R @ twist_B[3:] + skew(r) @ w_A)


@batched("(8),(6)->(6)")
def transform_wrench(dq_AB, wrench_B):
    """Refer a wrench (or a momentum) to A: force R f_B, torque R tau_B + r_AB x f_A. Source: DQMB eqs. (18), (19)."""
    R, r = quaternion.to_matrix(dq_AB[:4]), _position(dq_AB)
    force_A = R @ wrench_B[3:]
    return _join(R @ wrench_B[:3] + skew(r) @ force_A, force_A)


@batched("(8)->(6,6)")
def adjoint(dq_AB):
    """Return the matrix of `transform_twist`, [[R, 0], [S(r) R, R]]; wrenches change by its inverse transpose."""
    R, r = quaternion.to_matrix(dq_AB[:4]), _position(dq_AB)
    return block([[R, zeros(3, 3)], [skew(r) @ R, R]])


@batched("(8),(6)->(8)")
def derivative(dq_AB, twist_B):
    """Return the time derivative dq_AB twist_B / 2, the twist of B against A at B's origin in B axes.

    Source: DQMB eq. (15), DQVI eq. (8). Erratum: the world twist of DQVI eq. (8) is 2 pdot p^dagger, its v that of the
    body's point at the world origin (test_erratum_dqvi_eq_8_world_twist_is_of_the_body_point_at_the_world_origin).
    """
    return mul(dq_AB, pure(0.5 * twist_B))


# Exponential, logarithm, screws


@batched("(6)->(8)")
def exp(xi):
    """Return the pose exp(xi/2) of SE(3)'s exp(xi), xi = [rotation vector, translation part].

    With the half twist u + eps w and t = |u|: real part (cos t, sinc t u), dual part its derivative along w,
    (-sinc t (u.w), sinc t w + (sinc' t / t) (u.w) u). A body twist held for h moves dq to mul(dq, exp(h twist)).
    Source: DQVI eq. (4).

    Erratum: the scaled dual vector of DQVI eq. (4) is s.Theta = [Theta_a s_a; Theta_a s_b + Theta_b s_a]
    (test_erratum_dqvi_eq_4_scales_the_moment_and_slides_along_the_axis).
    """
    u, w = 0.5 * xi[:3], 0.5 * xi[3:]
    z, uw = u @ u, u @ w
    s, bend = sinc(z), 2.0 * sinc_slope(z)
    return array([cosine(z), *(s * u), -s * uw, *(s * w + (bend * uw) * u)])


@batched("(8)->(6)")
def log(dq):
    """Return the shortest xi with exp(xi) = dq or -dq: a rotation of at most pi, the same for both covers.

    With real part (c, v), dual part (d, e), n^2 = c^2 + v.v and f = arctan2(|v|, c)/|v|: rotation vector 2 f v, and
    translation part its derivative along the dual part, 2 (f e - (d/n^2 + (v.e) (f - c/n^2)/v.v) v). The dual norm
    drops out: a dq that is not normalised gives the log of the one that is.
    """
    dq = canonical(dq)
    c, v, d, e = dq[0], dq[1:4], dq[4], dq[5:]
    vv = v @ v
    f = arctan_ratio(vv, c)
    along = d / (c * c + vv) + (v @ e) * _arctan_curl(vv, c, f)
    return 2.0 * _join(f * v, f * e - along * v)


_ARCTAN_CURL = [(-1) ** k * (2 * k + 2) / (2 * k + 3) for k in range(13)]


def _arctan_curl(vv, c, f):
    """Return (f - c/n^2)/v.v, by its series in (|v|/c)^2 below 0.05, where the difference cancels."""
    below = vv < 0.05 * (c * c)
    c_near, vv_far = where(below, c, 1.0), where(below, 1.0, vv)
    tan2, series = vv / (c_near * c_near), 0.0
    for coefficient in reversed(_ARCTAN_CURL):
        series = coefficient + tan2 * series
    return where(below, series / (c_near * c_near * c_near), (f - c / (c * c + vv_far)) / vv_far)


@batched("(8),(8),()->(8)")
def sclerp(dq_0, dq_1, t):
    """Interpolate along the screw from dq_0 (t = 0) to dq_1 (t = 1), the short way: dq_0 exp(t log(dq_0* dq_1)).

    It starts at dq_0 itself; where that is the longer way it ends at -dq_1. Source: Kavan et al., TCD-CS-2006-46, 2006.
    """
    return mul(dq_0, exp(t * log(_between(dq_0, dq_1))))


def _between(dq_0, dq_1):
    """Return dq_0* dq_1 or its negative, the short way, without cancellation where dq_1 is near dq_0 or -dq_0."""
    dq_1 = copysign(1.0, dq_0[:4] @ dq_1[:4]) * dq_1
    difference, (real, dual) = mul(conj(dq_0), dq_1 - dq_0), dot(dq_0, dq_1)
    return array([real, *difference[1:4], dual, *difference[5:]])


@batched("(3),(3),(),()->(8)")
def from_screw(axis, moment, angle, distance):
    """Return the pose that turns by `angle` about a line and slides by `distance` along it.

    The line has a unit `axis` and the `moment` c x axis of any of its points c; cos and sin of the half dual angle:
    real (C, S axis), dual (-(distance/2) S, S moment + (distance/2) C axis). Source: DQVI eq. (4).
    """
    sine, cosine = np.sin(0.5 * angle), np.cos(0.5 * angle)
    half = 0.5 * distance
    return array([cosine, *(sine * axis), -half * sine, *(sine * moment + (half * cosine) * axis)])


@batched("(8)->(3),(3),(),()")
def to_screw(dq):
    """Return axis, moment, angle in [0, pi] and distance of the screw motion of a pose.

    cross(axis, moment) is the axis' point nearest to the origin, distance/angle the pitch. A pure translation has its
    direction as the axis, no moment, no angle; the identity has the x axis. A rotation whose axis is beyond the reach
    of numbers (1e307 m away) counts as none.
    """
    dq = canonical(dq)
    c, v, d, e = dq[0], dq[1:4], dq[4], dq[5:]
    slides = 1e307 * _largest(v) <= _largest(e)
    axis, length = _direction(where(slides, e, v))
    sine = where(slides, 0.0, length)
    across = skew(axis) @ (skew(axis) @ e)  # not e - (axis.e) axis, whose round-off may lie along the axis
    moment = where(slides, 0.0, -across / where(slides, 1.0, sine))
    return axis, moment, 2.0 * np.arctan2(sine, c), 2.0 * (c * (axis @ e) - sine * d)


def _largest(v):
    return maximum(maximum(abs(v[0]), abs(v[1])), abs(v[2]))


def _direction(v):
    """Return the unit vector and the length of v, scaled against underflow; x for a zero vector."""
    largest = _largest(v)
    zero = largest == 0.0
    scaled = where(zero, array([1.0, 0.0, 0.0]), v / where(zero, 1.0, largest))
    length = np.sqrt(scaled @ scaled)
    return scaled / length, largest * length
