"""References that ride on a moving frame, and the motion of a pose that is given as a function of time.

For kernels: plain functions of one trial.
"""

from __future__ import annotations

from gnc import dual_quaternion
from gnc.batch import Kernel, jacobian
from gnc.controllers.pose_error import bracket
from gnc.controllers.reference import PoseReference
from gnc.typing import Array


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
