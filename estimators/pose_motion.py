"""How the mean of a pose filter moves: the methods by name, each with the exact Jacobians of what it does.

move(method, dq_IB, chi_B, wrench_B, M, h) -> dq_IB, chi_B, F, G        errors (dxi, dchi), wrench in body axes
move_mean(the same)                        -> dq_IB, chi_B

auto        in free flight `exact`, under a wrench the series of `pose_taylor`, in substeps by the covariance C
vi2, vi4    DQVI, of second order, and of fourth by Suzuki's composition
rk4         the comparator: classical Runge-Kutta, with its own transition matrix, in the substeps of vi4
exact       the exact drift about the centre of mass; a wrench by splitting (ABA2)

A free body moves evenly and turns about its centre of mass: pose, twist and Jacobian come from those of a rotation.

With `turned` any free rotation (q_IB, P_B, J, rho_B, h) -> q_IB, P_B, F of the errors (a, dP), the errors (a, r, dP, u)
of attitude, position of the centre of mass, angular momentum and inertial velocity, in body axes, move by

    a <- C a + B dP,   dP <- D dP,   r <- C (r + h u),   u <- C u                F = [[C, B], [0, D]]

which a change of the reference point makes F of (dxi, dchi). An exact rotation thus gives an exact motion, without any
limit on the step. DQVI with its filler is the same with the rotation of QVI.

The target's inertia may be among the states, with the exact derivative of the step with respect to it. The state is
`extra_states.Inertia`: a deviation dJ of the inertia about the centre of mass, in body axes, by six
numbers or by ratios, which are all that a free tumble shows. Mass and centre of mass stay as they are, so that only the
upper left block of M changes. As above, the errors are (a, r, dP, u) about the centre of mass,
and D their derivative with respect to the numbers x of dJ; N(w) is that of J w:

    start       the twist is given, so that dP = N(w_0) dx
    drift       D <- F D + (A, 0, [P_1] A, 0),  A = -B (s 1 + [phi]) N(w): QVI at another J from a given momentum
    half kick   u <- u - (h/2) (force/m) x a: the force keeps to the body's axes; the torque changes no derivative
    end         dw = J^-1 (dP - N(w_1) dx), and the reference point's velocity with it: `to_reference`

DQVI with its filler is QVI about the centre of mass, in the same stages and substeps: for 'vi2' and 'vi4' the result is
the derivative of what was done, for 'rk4' and 'exact' that of 'vi4' (test_other_methods_take_the_slope_of_vi4).

Give the state a small `walk`, some 1e-3 of its first standard deviation in a second's root or less: over hundreds of
seconds without one, linearisation makes the filter too sure of how inertia and twist belong together
(test_with_a_small_walk_of_the_ratios_it_is_consistent_and_without_it_is_too_sure).
Source: QVI eqs. (37), (38), DQVI eq. (36).
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import Kernel, batched, sized
from gnc.estimators.extra_states import FORMS, momentum_slope
from gnc.estimators.process_model import free_transition
from gnc.estimators.process_noise import count, taken
from gnc.integrators import dqvi, free_drift, pose_runge_kutta, pose_taylor, qvi
from gnc.integrators.composition import ABA2, SUZUKI4, chained
from gnc.integrators.pose_taylor import to_centre, to_reference
from gnc.integrators.table import attitude_method
from gnc.linalg import array, block, identity, inv3, skew, zeros
from gnc.typing import Array

NO_WHEELS = np.zeros(3)
NIL = zeros(3, 3)


def with_translation(F: Array, h: Array) -> Array:
    """Return F of (a, r, dP, u) after h from that of the rotation, of (a, dP)."""
    C, B, D = F[:3, :3], F[:3, 3:], F[3:, 3:]
    return block([[C, NIL, B, NIL], [NIL, C, NIL, h * C], [NIL, NIL, D, NIL], [NIL, NIL, NIL, C]])


@batched("(8),(6),(6,6)->(4),(3),(3,3)")
def _rotation(dq_IB, chi_B, M):
    """Return attitude, angular momentum and inertia about the centre of mass."""
    J = spatial.parts(M)[2]
    return dq_IB[:4], J @ chi_B[:3], J


@batched("(8),(6),(4),(3),(6,6),()->(8),(6)")
def _assembled(dq_IB, chi_B, q_1, P_1, M, h):
    """Return pose and twist after h from the rotation."""
    _, r_g, J = spatial.parts(M)
    v_I = quaternion.rotate(dq_IB[:4], spatial.shift_twist(chi_B, r_g)[3:])
    r_1 = dual_quaternion.transform_point(dq_IB, r_g) + h * v_I - quaternion.rotate(q_1, r_g)
    centre_1 = np.concatenate([inv3(J) @ P_1, quaternion.inverse_rotate(q_1, v_I)])
    return dual_quaternion.from_pose(q_1, r_1), spatial.shift_twist(centre_1, -r_g)


@batched("(6),(6),(6,6),(6,6),()->(12,12)")
def _jacobian(chi_B, chi_1, F, M, h):
    """Return F of (dxi, dchi) from that of the rotation."""
    return to_reference(chi_1, M) @ with_translation(F, h) @ to_centre(chi_B, M)


def drift(turned: Callable[..., Any], dq_IB: Array, chi_B: Array, M: Array, h: Array) -> tuple[Array, Array, Array]:
    """Return pose and twist of a free body after h, and F."""
    q_IB, P_B, J = _rotation(dq_IB, chi_B, M)
    q_1, P_1, F = turned(q_IB, P_B, J, NO_WHEELS, h)
    dq_1, chi_1 = _assembled(dq_IB, chi_B, q_1, P_1, M, h)
    return dq_1, chi_1, _jacobian(chi_B, chi_1, F, M, h)


def drift_mean(dq_IB: Array, chi_B: Array, M: Array, h: Array) -> tuple[Array, Array]:
    """Return pose and twist of a free body after h, by Taylor series: exact too, and quick where h is short."""
    q_IB, P_B, J = _rotation(dq_IB, chi_B, M)
    q_1, P_1 = attitude_method("taylor10").advance(1, q_IB, P_B, NO_WHEELS, J, NO_WHEELS, h)
    return _assembled(dq_IB, chi_B, q_1, P_1, M, h)


def kicked_drift(
    turned: Callable[..., Any], dq_IB: Array, chi_B: Array, wrench_B: Array, M: Array, h: Array
) -> tuple[Array, Array, Array, Array]:
    """Return pose and twist after h under a constant wrench in body axes, F and G: drifts around two half kicks (ABA2).

    Of fourth order in the wrench if that is weak, see `composition.aba2`; exact without.
    """
    h, (first, middle, last) = np.asarray(h), ABA2
    dq_IB, chi_B, F_1 = drift(turned, dq_IB, chi_B, M, first * h)
    dq_IB, chi_B, F_2 = drift(turned, dq_IB, dqvi.kick(chi_B, wrench_B, M, h), M, middle * h)
    dq_IB, chi_B, F_3 = drift(turned, dq_IB, dqvi.kick(chi_B, wrench_B, M, h), M, last * h)
    return dq_IB, chi_B, *_chained(F_1, F_2, F_3, M, h)


@batched("(12,12),(12,12),(12,12),(6,6),()->(12,12),(12,6)")
def _chained(F_1, F_2, F_3, M, h):
    """Return F and G of three drifts with half a kick between each two."""
    half = spatial.inverse(M) * (0.5 * h)
    kicked = F_2[:, 6:] @ half + np.concatenate([zeros(6, 6), half])
    return F_3 @ (F_2 @ F_1), F_3 @ kicked


METHODS = ("auto", "vi2", "vi4", "rk4", "exact")
TURN = 0.2  # [rad] of a stage
LONGEST_STAGE = {"vi2": 1.0, "vi4": abs(dqvi.MIDDLE), "rk4": abs(dqvi.MIDDLE)}
UNMOVED = np.eye(12), np.zeros((12, 6))
FREE = np.zeros(6)
CERTAIN = np.zeros((12, 12))  # a covariance against which only round-off is small

_chained_rk4 = chained(pose_runge_kutta.step, pose_runge_kutta.step_jacobian)


def substeps(method: str, chi_B: Array, wrench_B: Array, M: Array, h: Array, turn: float | None) -> Array:
    """Return in how many substeps to move, so that no stage turns by more than `turn`; NaN if a trial is lost."""
    return np.ones(()) if turn is None else count(chi_B, wrench_B, M, h, turn / LONGEST_STAGE[method])


def move(
    method: str, dq_IB: Array, chi_B: Array, wrench_B: Array | None, M: Array, h: Array,
    turn: float | None = TURN, C: Array = CERTAIN,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Move over h in as many substeps as each trial needs, or in one if `turn` is None; NaN marks a lost trial.

    No wrench, None, is free flight: 'exact' then takes one drift instead of three, and has no G, nor has 'auto'.
    """
    if method == "auto" and wrench_B is not None:
        return _taylor(dq_IB, chi_B, C, wrench_B, M, h)
    if method == "auto":
        return *drift(free_transition, dq_IB, chi_B, M, h), UNMOVED[1]
    if method == "exact":
        return _exact(dq_IB, chi_B, wrench_B, M, h)
    counts, given = _divided(method, chi_B, wrench_B, M, h, turn)
    if method == "vi4":
        return dqvi.step4_jacobian(dq_IB, chi_B, *given, counts)
    kernel = dqvi.chained_step_jacobian if method == "vi2" else _chained_rk4
    return kernel.repeat(counts, dq_IB, chi_B, *UNMOVED, *given)


def move_mean(
    method: str, dq_IB: Array, chi_B: Array, wrench_B: Array | None, M: Array, h: Array,
    turn: float | None = TURN, C: Array = CERTAIN,
) -> tuple[Array, Array]:  # fmt: skip
    """Move over h as `move` does, to the same bits, without the Jacobians."""
    if method in ("auto", "exact"):
        return move(method, dq_IB, chi_B, wrench_B, M, h, C=C)[:2]
    counts, given = _divided(method, chi_B, wrench_B, M, h, turn)
    if method == "vi4":
        return dqvi.step4(dq_IB, chi_B, *given, counts)
    kernel = dqvi.step if method == "vi2" else pose_runge_kutta.step
    return kernel.repeat(counts, dq_IB, chi_B, *given)


def _divided(
    method: str, chi_B: Array, wrench_B: Array | None, M: Array, h: Array, turn: float | None
) -> tuple[Array, tuple[Array, Array, Array, Array]]:
    """Return the number of substeps, and what each of them takes after the state."""
    wrench_B = FREE if wrench_B is None else wrench_B
    n = substeps(method, chi_B, wrench_B, M, h, turn)
    return taken(n), (wrench_B, M, M[..., 3, 3], np.asarray(h) / n)


def _taylor(
    dq_IB: Array, chi_B: Array, C: Array, wrench_B: Array, M: Array, h: Array
) -> tuple[Array, Array, Array, Array]:
    n = pose_taylor.count(chi_B, C, wrench_B, M, h)
    return _chained_taylor.repeat(taken(n), dq_IB, chi_B, *UNMOVED, wrench_B, M, np.asarray(h) / n)


@batched("(8),(6),(12,12),(12,6),(6),(6,6),()->(8),(6),(12,12),(12,6)")
def _chained_taylor(dq_IB, chi_B, F, G, wrench_B, M, h):
    dq_IB, chi_B, F_step, G_step = pose_taylor.step_gains(dq_IB, chi_B, wrench_B, M, h)
    return dq_IB, chi_B, F_step @ F, F_step @ G + G_step


def _exact(dq_IB: Array, chi_B: Array, wrench_B: Array | None, M: Array, h: Array) -> tuple[Array, Array, Array, Array]:
    if wrench_B is None:
        dq_IB, chi_B, F = drift(free_drift.drift_jacobian, dq_IB, chi_B, M, h)
        return dq_IB, chi_B, F, UNMOVED[1]
    return kicked_drift(free_drift.drift_jacobian, dq_IB, chi_B, wrench_B, M, h)


UNTURNED = (1.0, 0.0, 0.0, 0.0)


@batched("(6,6),(3,3)->(6,6)")
def deviated(M, dJ):
    """Return M of a body whose inertia about the centre of mass is off by dJ."""
    M = M.copy()
    M[:3, :3] = M[:3, :3] + dJ
    return M


def _kick(P_B, D, tau_B, push_B, h):
    """Return momentum and D after a torque and a specific force have acted over h."""
    return P_B + h * tau_B, np.concatenate([D[:9], D[9:] - (h * skew(push_B)) @ D[:3]])


def _drift(P_B, D, J, h, form):
    """Return momentum and D after a drift of QVI."""
    f, P_1, F = qvi.drift_jacobian(array(UNTURNED), P_B, J, array(NO_WHEELS.tolist()), h)
    s, phi = f[0], f[1:]
    w_B = inv3(J) @ (qvi.turn_slope(phi, s) @ P_B)  # P = (s 1 + [phi]) J w
    A = -(F[:3, 3:] @ ((s * identity(3) + skew(phi)) @ momentum_slope(form)(w_B)))
    nil = zeros(*A.shape)
    return P_1, with_translation(F, h) @ D + np.concatenate([A, nil, skew(P_1) @ A, nil])


@sized(lambda stages, form: f"(3),(12,{FORMS[form].shape[1]}),(3),(3),(3,3),()->(3),(12,{FORMS[form].shape[1]})")
def _step_kernel(P_B, D, tau_B, push_B, J, h, *, stages, form):
    """Return the kernel P, D, torque, specific force, J, h -> P, D of a composed step; made to be repeated."""
    for c in stages:
        P_B, D = _kick(P_B, D, tau_B, push_B, (0.5 * c) * h)
        P_B, D = _drift(P_B, D, J, c * h, form)
        P_B, D = _kick(P_B, D, tau_B, push_B, (0.5 * c) * h)
    return P_B, D


@functools.cache
def _end_kernels(form: str) -> tuple[Kernel, Kernel]:
    """Return the kernels that lead to the centre of mass at the start of a step, and back at its end."""
    k = FORMS[form].shape[1]

    @batched(f"(6),(6),(6,6)->(3),(12,{k}),(3),(3),(3,3)")
    def start(chi_B, wrench_B, M):
        m, r_g, J = spatial.parts(M)
        nil = zeros(3, k)
        D = np.concatenate([nil, nil, momentum_slope(form)(chi_B[:3]), nil])
        return J @ chi_B[:3], D, spatial.shift_wrench(wrench_B, r_g)[:3], wrench_B[3:] / m, J

    @batched(f"(12,{k}),(6),(6,6)->(12,{k})")
    def end(D, chi_B, M):
        seen = D[6:9] - momentum_slope(form)(chi_B[:3])
        return to_reference(chi_B, M) @ np.concatenate([D[:6], seen, D[9:]])

    return start, end


def inertia_slope(
    form: str,
    method: str,
    chi_B: Array,
    chi_next: Array,
    wrench_B: Array | None,
    M: Array,
    h: Array,
    turn: float | None = TURN,
) -> Array:
    """Return d(dxi, dchi)/dx (..., 12, k) of `pose_motion.move` from one twist to another; NaN marks a lost trial."""
    wrench_B = FREE if wrench_B is None else wrench_B
    stages, like = ((1.0,), "vi2") if method == "vi2" else (SUZUKI4, "vi4")
    n = substeps(like, chi_B, wrench_B, M, h, TURN if method == "exact" else turn)
    counts = taken(n)
    start, end = _end_kernels(form)
    P_B, D, *given = start(chi_B, wrench_B, M)
    D = _step_kernel(stages, form).repeat(counts, P_B, D, *given, np.asarray(h) / n)[1]
    return end(D, chi_next, M)
