"""What all pose laws ask first: how far the body is from its reference, how fast that changes, and Newton and Euler.

With g = dq_RB the pose of the body in the reference frame and chi_e its twist against it, all in body axes,

    e = [sign qv, r/2]        q = (q0, qv) and r the rotation and the position of B from R, r in body axes
    chi_e = chi_B - Ad(g^-1) chi_R
    chi_e' = chi_B' - Ad(g^-1) chi_R' - ad(Ad(g^-1) chi_R) chi_e

Plain functions of one trial, for kernels. Source: Filipe and Tsiotras, "Adaptive Position and Attitude-Tracking
Controller for Satellite Proximity Operations Using Dual Quaternions", J. Guid. Control Dyn. 38 (2015) 566.
"""

from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import Kernel, jacobian
from gnc.controllers import sign as cover
from gnc.controllers.reference import PoseReference
from gnc.linalg import array, cross
from gnc.typing import Array


class PoseError(NamedTuple):
    """One trial's error, and the motion of the reference as felt in the body."""

    sign: Any  # of the cover that the law steers to
    q: Array  # (4) rotation from the reference, on that cover
    r: Array  # (3) position from the reference, body axes [m]
    chi: Array  # (6) twist against the reference, body axes
    chi_R: Array  # (6) twist of the reference in body axes, at the body's origin
    chidot_R: Array  # (6) derivative of the reference's twist, carried to the body in the same way

    @property
    def e(self) -> Array:
        """The error [qv, r/2]: its product with chi_e is the derivative of 2 (1 - q0) + r.r/4."""
        return np.concatenate([self.q[1:], 0.5 * self.r])

    @property
    def chidot(self) -> Array:
        """What chi_B' is while chi_e stays constant."""
        return self.chidot_R + bracket(self.chi_R, self.chi)

    @property
    def edot(self) -> Array:
        """The derivative of e: qv' = (q0 w + qv x w)/2, r' = v - w x r."""
        w, v = self.chi[:3], self.chi[3:]
        turn = self.q[0] * w + cross(self.q[1:], w)
        return 0.5 * np.concatenate([turn, v - cross(w, self.r)])


def pose_error(dq_IB: Array, chi_B: Array, reference: tuple[Array, Array, Array], sign: Any, delta: Any) -> PoseError:
    """Return the error of a body against a reference (dq_IR, chi_R, chidot_R), on the cover that hysteresis keeps."""
    dq_IR, chi_R, chidot_R = reference
    dq = dual_quaternion.mul(dual_quaternion.conj(dq_IR), dq_IB)
    sign = cover.hysteresis(sign, dq[0], delta)
    r = 2.0 * quaternion.mul(quaternion.conj(dq[:4]), dq[4:])[1:]
    R_BR = quaternion.to_matrix(dq[:4]).T
    at_B = _carried(R_BR, r, chi_R)
    return PoseError(sign, sign * dq[:4], r, chi_B - at_B, at_B, _carried(R_BR, r, chidot_R))


def _carried(R_BR: Array, r: Array, s_R: Array) -> Array:
    """Refer a twist, or its derivative, to the body: w = R w_R, v = R v_R + w x r."""
    w = R_BR @ s_R[:3]
    return np.concatenate([w, R_BR @ s_R[3:] + cross(w, r)])


def bracket(a: Array, b: Array) -> Array:
    """Return ad(a) b = [wa x wb, va x wb + wa x vb]."""
    return np.concatenate([cross(a[:3], b[:3]), cross(a[3:], b[:3]) + cross(a[:3], b[3:])])


def inverse_dynamics(M: Array, chi: Array, chidot: Array) -> Array:
    """Return the wrench that a motion takes, M chi' + [w x L + v x p, w x p] with [L, p] = M chi. Source: DQVI (12)."""
    momentum, w = M @ chi, chi[:3]
    L, p = momentum[:3], momentum[3:]
    return M @ chidot + np.concatenate([cross(w, L) + cross(chi[3:], p), cross(w, p)])


def inertia_regressor(chi: Array, chidot: Array) -> Array:
    """Return Y (6x7) with Y theta = inverse_dynamics for theta = [J11, J12, J13, J22, J23, J33, m].

    The reference point is the centre of mass. Source: Filipe and Tsiotras (2015).
    """
    w, v = chi[:3], chi[3:]
    linear = chidot[3:] + cross(w, v)
    spun = np.stack([cross(w, column) for column in _times_inertia(w).T], axis=1)
    angular = _times_inertia(chidot[:3]) + spun
    zero = array([[0.0]] * 3)
    return np.concatenate(
        [
            np.concatenate([angular, zero], axis=1),
            np.concatenate([array(np.zeros((3, 6)).tolist()), linear[:, None]], axis=1),
        ]
    )


def _times_inertia(w: Array) -> Array:
    """Return the matrix with J w = matrix [J11, J12, J13, J22, J23, J33]."""
    x, y, z = w
    return array([[x, y, z, 0.0, 0.0, 0.0], [0.0, x, 0.0, y, z, 0.0], [0.0, 0.0, x, 0.0, y, z]])


def ride(base: PoseReference, relative: PoseReference) -> PoseReference:
    """Return the reference that moves by `relative` in the frame `base`: dq_IR = dq_IA dq_AR, each in its own axes.

    chi_R = Ad chi_A + chi_AR and chi_R' = Ad chi_A' + ad(Ad chi_A) chi_AR + chi_AR', with Ad of dq_RA.
    """
    back = dual_quaternion.conj(relative.dq_IR)
    carried = dual_quaternion.transform_twist(back, base.chi_R)
    dragged = dual_quaternion.transform_twist(back, base.chidot_R) + bracket(carried, relative.chi_R)
    dq = dual_quaternion.mul(base.dq_IR, relative.dq_IR)
    return PoseReference(dq, carried + relative.chi_R, dragged + relative.chidot_R)


def twice(kernel: Kernel) -> Kernel:
    """Return the kernel of the second derivative with respect to an argument `tau`, values and slopes first."""
    return jacobian(jacobian(kernel, "tau", value=True), "tau", value=True)


def motion(dq: Array, rate: Array, acceleration: Array) -> PoseReference:
    """Return pose, twist 2 dq* dq' and its derivative 2 (dq'* dq' + dq* dq''), of a pose and its time derivatives."""
    back, forth = dual_quaternion.conj(dq), dual_quaternion.conj(rate)
    chi = 2.0 * dual_quaternion.mul(back, rate)
    chidot = 2.0 * (dual_quaternion.mul(forth, rate) + dual_quaternion.mul(back, acceleration))
    return PoseReference(dq, dual_quaternion.vector_part(chi), dual_quaternion.vector_part(chidot))
