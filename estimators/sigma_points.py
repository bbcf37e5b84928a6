"""Sigma-point filters on groups, as kernels: the independent check of the EKFs, for attitudes and for poses.

Errors e of a state x: those in which what a free body keeps does not move. Attitudes: (a, l), q = q^ exp(a/2), inertial
momentum L = L^ + l. Poses: (a, r, l, u) about the centre of mass, r of its position and u of its inertial velocity.
2n + 1 sigma points (kappa = 1) fly by the process model of the EKF; their mean is found by iteration on the group; all
measurements of an instant correct at once, on freshly drawn points; the covariance goes to the new estimate by the
right Jacobian. There is no derivative of the motion or of a sensor anywhere. `Belief.C` is over the EKF's errors.

    mekf = SigmaMekf(J)                    dqekf = SigmaDqEkf(M)
    belief, innovations = mekf.advance(belief, tau_B, h, [(sensor, measurement), ...])

Source: after Crassidis and Markley (see `usque`), with the mean on the group and the momentum in inertial axes.

Sigma-point filters of attitudes and of poses, with the interface of `Mekf` and `DqEkf`: see `sigma_points`.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc import quaternion, spatial
from gnc.batch import Kernel
from gnc.batch.layout import Layout
from gnc.errors import InputError
from gnc.estimators import pose_motion
from gnc.estimators.attitude_belief import Belief, attitude_space
from gnc.estimators.conserved_chart import about_centre, at_reference
from gnc.estimators.corrections import Space, finished
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.group_filter import After, GroupFilter, Readings, Ways
from gnc.estimators.kalman import (
    Innovation,
    cholesky,
    factor,
    gate,
    gated,
    solve,
    symmetric_product,
    without_unused,
)
from gnc.estimators.mekf import Mekf
from gnc.estimators.pose_belief import PoseBelief, pose_space
from gnc.estimators.process_model import middle
from gnc.integrators.pose_taylor import to_centre, to_reference
from gnc.lie import so3_right_jacobian
from gnc.linalg import array, block, identity, inv3, skew, zeros
from gnc.typing import Array

KAPPA = 1.0
ITERATIONS = 2  # of the mean: each leaves its error times the square of the spread


@dataclass(frozen=True)
class Points:
    """Where sigma points live; functions of kernels, `given` as in `Space`."""

    space: Space
    n: int
    out: Callable[..., Any]  # q, x, e, given -> q, x
    back: Callable[..., Any]  # q, x, q', x', given -> e
    to: Callable[..., Any]  # q, x, given -> matrix from the EKF's errors to e
    fro: Callable[..., Any]  # and back
    blocks: int  # of three numbers each: a, and those that turn with the body

    @property
    def count(self) -> int:
        """How many points there are."""
        return 2 * self.n + 1

    @property
    def state(self) -> str:
        """The layout of q and x."""
        return f"({self.space.numbers}),({self.n - self.space.errors})"

    @property
    def cloud(self) -> str:
        """The layout of the points' q and x."""
        return f"({self.count},{self.space.numbers}),({self.count},{self.n - self.space.errors})"

    @property
    def given(self) -> str:
        """The layout of the parameters."""
        return self.space.cores.format(x=self.n - self.space.errors)

    def mean(self, values):
        """Return the weighted mean of sigma points."""
        spread = self.n + KAPPA
        return sum((value * (0.5 / spread) for value in values[1:]), (KAPPA / spread) * values[0])

    def drawn(self, q, x, C, given):
        """Return the points of a belief: errors, q and x."""
        columns = (np.sqrt(self.n + KAPPA) * cholesky(symmetric_product(self.to(q, x, given), C))).T
        e = np.concatenate([zeros(1, self.n), columns, -columns])
        states = [self.out(q, x, point, given) for point in e]
        return e, array([state[0] for state in states]), array([state[1] for state in states])

    def gathered(self, q, x, given):
        """Return mean and covariance, over the EKF's errors, of points."""
        centre = q[0], x[0]
        for _ in range(ITERATIONS):
            e = [self.back(*centre, *point, given) for point in zip(q, x, strict=True)]
            centre = self.out(*centre, self.mean(e), given)
        e = [self.back(*centre, *point, given) for point in zip(q, x, strict=True)]
        left = self.mean(e)
        C = self.mean([np.outer(point - left, point - left) for point in e])
        return *centre, symmetric_product(self.fro(*centre, given), C)

    def reset(self, d):
        """Return the derivative that takes errors about the old estimate to those about the new."""
        R, whole = quaternion.to_matrix(quaternion.exp(d[:3])).T, zeros(self.n, self.n)
        for i in range(self.blocks):
            part = slice(3 * i, 3 * i + 3)
            whole[part, part] = R if i else so3_right_jacobian(d[:3])
        return whole


# Attitudes: x = P


def _momentum_out(q, P, e, given):
    turn = quaternion.exp(e[:3])
    return quaternion.normalize(quaternion.mul(q, turn)), quaternion.inverse_rotate(turn, P + e[3:])


def _momentum_back(q, P, q_1, P_1, given):
    turn = quaternion.mul(quaternion.conj(q), q_1)
    return np.concatenate([quaternion.log(turn), quaternion.rotate(turn, P_1) - P])


def _shear(P, sign):
    """Return the matrix between (a, dP) and (a, l): l = dP - [P] a for sign -1, and back for 1."""
    return block([[identity(3), zeros(3, 3)], [sign * skew(P), identity(3)]])


ATTITUDE = Points(
    attitude_space("usual"), 6, _momentum_out, _momentum_back,
    lambda q, P, given: _shear(P, -1.0), lambda q, P, given: _shear(P, 1.0), 2,
)  # fmt: skip


# Poses: x = chi


def _pose_out(p, chi, e, given):
    (M,), (q, centre, v) = given, about_centre(p, chi, given[0])
    _, r_g, J = spatial.parts(M)
    q_1, P_1 = _momentum_out(q, J @ chi[:3], np.concatenate([e[:3], e[6:9]]), given)
    moved = centre + quaternion.rotate(q, e[3:6]), v + quaternion.rotate(q, e[9:])
    return at_reference(q_1, *moved, inv3(J) @ P_1, r_g)


def _pose_back(p, chi, p_1, chi_1, given):
    (M,) = given
    J = spatial.parts(M)[2]
    (q, centre, v), (q_1, centre_1, v_1) = about_centre(p, chi, M), about_centre(p_1, chi_1, M)
    turned = _momentum_back(q, J @ chi[:3], q_1, J @ chi_1[:3], given)
    r, u = quaternion.inverse_rotate(q, centre_1 - centre), quaternion.inverse_rotate(q, v_1 - v)
    return np.concatenate([turned[:3], r, turned[3:], u])


def _sheared(chi, M, sign):
    """Return the matrix between (a, r, dP, u) and (a, r, l, u)."""
    T = identity(12)
    T[6:9, :3] = sign * skew(spatial.parts(M)[2] @ chi[:3])
    return T


POSE = Points(
    pose_space(), 12, _pose_out, _pose_back,
    lambda p, chi, given: _sheared(chi, given[0], -1.0) @ to_centre(chi, given[0]),
    lambda p, chi, given: to_reference(chi, given[0]) @ _sheared(chi, given[0], 1.0), 4,
)  # fmt: skip


# Kernels


def _kernel(points: Points, function: Callable[..., Any], layout: str, names: str) -> Kernel:
    return Kernel(function, Layout.parse(layout, tuple(names.replace("given", " ".join(points.space.names)).split())))


@functools.cache
def drawing_kernel(points: Points, errors: bool) -> Kernel:
    """Return the kernel q, x, C, given -> errors if asked for, q and x of the points."""

    def draw(q, x, C, *given):
        return points.drawn(q, x, C, given)[0 if errors else 1 :]

    n, first = points.n, f"({points.count},{points.n})," if errors else ""
    return _kernel(points, draw, f"{points.state},({n},{n}),{points.given}->{first}{points.cloud}", "q x C given")


@functools.cache
def gathering_kernel(points: Points) -> Kernel:
    """Return the kernel of the belief of points that have flown, with process noise."""
    n = points.n

    def gather(q, x, Q, *given):
        q, x, C = points.gathered(q, x, given)
        return q, x, C + Q

    layout = f"{points.cloud},({n},{n}),{points.given}->{points.state},({n},{n})"
    return _kernel(points, gather, layout, "q x Q given")


def _corrected(points, state, counts, given, told, valid, gates, patience_s, sizes):
    """Return what `corrections.finished` does, and the residual.

    told = (e, y, r, R): y (points, m) is what the points e would measure and r what was measured, both against the
    central point.
    """
    (q, x, C), (e, y, r, R) = state, told
    mean = points.mean(y)
    r, dy = r - mean, [point - mean for point in y]
    S = points.mean([np.outer(a, a) for a in dy]) + R
    nis, used = gated(S, r, valid, gates, sizes)
    mixed = points.mean([np.outer(a, b) for a, b in zip(dy, e, strict=True)])
    to = points.to(q, x, given)
    C_e = symmetric_product(to, C)
    H = solve(*factor(C_e)[:2], mixed.T).T @ to  # the linear sensor that would measure alike, for recovery
    mixed, rest, S_used = without_unused(mixed, r, S, used, sizes)
    K = solve(*factor(S_used)[:2], mixed).T
    d = K @ rest
    q_1, x_1 = points.out(q, x, d, given)
    C_1 = symmetric_product(points.fro(q_1, x_1, given) @ points.reset(d), C_e - symmetric_product(K, S_used))
    seen = valid, nis, used, H, R, S, sizes
    return *finished(points.space, (q_1, x_1, C_1), C[0, 0] > 0.0, counts, seen, patience_s), r


def _results(points, sizes):
    return f"{points.space.after(points.n, sum(sizes), len(sizes))},({sum(sizes)})"


def _tail(k):
    return f"({k}),({k}),()"


@functools.cache
def correction_kernel(points: Points, sizes: tuple[int, ...]) -> Kernel:
    """Return the kernel of an update by any sensors, from what the sigma points would measure."""
    m, k, c = sum(sizes), len(sizes), points.count

    def correct(q, x, C, watch, idle, *more):
        *given, e, y, r, R, valid, gates, patience_s = more
        counts, told = (watch, idle), (e, y, r, R)
        return _corrected(points, (q, x, C), counts, given, told, valid, gates, patience_s, sizes)

    seen = f"({c},{points.n}),({c},{m}),({m}),({m},{m}),{_tail(k)}"
    layout = f"{points.space.belief(points.n)},{points.given},{seen}->{_results(points, sizes)}"
    return _kernel(points, correct, layout, "q x C watch idle given e y r R valid gates patience_s")


@functools.cache
def measuring_kernel(points: Points, predicts: tuple[Kernel, ...]) -> Kernel:
    """Return the kernel of an update that draws the sigma points too, and predicts by kernels q, ... -> z, H, R.

    Arguments: belief, given, then the sensors' own, z of each, valid, gates and patience.
    """
    sizes, cores = tuple(k.layout.outs[0][0] for k in predicts), [k.layout.ins[1:] for k in predicts]
    own = "".join(f"({','.join(map(str, core))})," for several in cores for core in several)
    readings = "".join(f"({size})," for size in sizes)
    parameters = len(points.space.names)

    def measure(q, x, C, watch, idle, *more):
        given, rest, arguments = more[:parameters], list(more[parameters:]), []
        for several in cores:
            arguments.append([rest.pop(0) for _ in several])
        z = np.concatenate([rest.pop(0) for _ in sizes])
        e, cloud, _ = points.drawn(q, x, C, given)
        y = [np.concatenate([f(at[:4], *own)[0] for f, own in zip(predicts, arguments, strict=True)]) for at in cloud]
        R = block_diagonal([f(q[:4], *own)[2] for f, own in zip(predicts, arguments, strict=True)])
        counts, told = (watch, idle), (e, [at - y[0] for at in y], z - y[0], R)
        valid, gates, patience_s = rest
        return _corrected(points, (q, x, C), counts, given, told, valid, gates, patience_s, sizes)

    layout = f"{points.space.belief(points.n)},{points.given},{own}{readings}{_tail(len(sizes))}"
    others = " ".join(f"own_{i}" for i in range(sum(map(len, cores)) + len(sizes)))
    names = f"q x C watch idle given {others} valid gates patience_s"
    return _kernel(points, measure, f"{layout}->{_results(points, sizes)}", names)


def block_diagonal(parts: Sequence[Array]) -> Array:
    """Return the matrix with these square blocks (..., m, m) on its diagonal."""
    ends = np.cumsum([0, *(part.shape[-1] for part in parts)])
    joined = np.zeros((*parts[0].shape[:-2], ends[-1], ends[-1]), parts[0].dtype)
    for start, end, part in zip(ends[:-1], ends[1:], parts, strict=True):
        joined[..., start:end, start:end] = part
    return joined


class SigmaPoints(GroupFilter):
    """The update of a sigma-point filter, and its prediction from points that have flown."""

    points: Points
    extras: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.extras:
            raise InputError("extras: the sigma-point filter has none; use Mekf or DqEkf")

    def flown(
        self, belief: Any, fly: Callable[[Array, Array], tuple[Array, Array]], Q: Callable[[Array], Array]
    ) -> Any:
        """Return the belief of points moved by `fly`; Q is asked for at the mean that is reached."""
        given = self._given(belief)
        q, x = drawing_kernel(self.points, False)(belief[0], self.vector(belief), belief.C, *given)
        q, x = fly(_points_first(q), _points_first(x))
        n = self.points.n
        q, x, C = gathering_kernel(self.points)(_points_last(q), _points_last(x), np.zeros((n, n)), *given)
        return self.placed(belief, q, x, C + Q(x), *belief[-3:])

    def update(
        self, belief: Any, sensor: Any, measurement: Any, env: Any = None, gated: bool = True
    ) -> tuple[Any, Innovation]:
        """Correct with a measurement (z, valid); trials where it is not valid stay as they are."""
        belief, told = self.correct(belief, [(sensor, measurement)], env, gated)
        return belief, told[0]

    def _over(
        self, belief: Any, ways: Ways, h: Array, readings: Readings, env: Any, iterations: int, gated: bool
    ) -> tuple[Any, list[Innovation]]:
        """Predict, and take the measurements at the end all at once; sigma points need no iterations."""
        return self.correct(ways.predict(), readings, env, gated)

    def correct(self, belief: Any, readings: Readings, env: Any, gated: bool) -> tuple[Any, list[Innovation]]:
        """Update with (sensor, measurement) pairs, all at once."""
        if not readings:
            return belief, []
        lead, n = belief.C.shape[:-2], 2 * self._space.errors
        own = [self._extra.kernel_of(sensor, n, env) for sensor, _ in readings]
        if all(one is not None for one in own):
            kernels, arguments = zip(*[one for one in own if one is not None], strict=True)
            sizes = tuple(kernel.layout.outs[0][0] for kernel in kernels)
            kernel, seen = measuring_kernel(self.points, kernels), (*sum(arguments, ()), *[m[0] for _, m in readings])
        else:
            seen, sizes = self._seen(belief, readings, env)
            kernel = correction_kernel(self.points, sizes)
        gates = np.array([gate(self.gate_probability if gated else 1.0, size) for size in sizes])
        valid = np.stack([np.broadcast_to(np.asarray(m[1], float), lead) for _, m in readings], axis=-1)
        after = kernel(*self._state(belief), *seen, valid, gates, self.patience_s)
        return self._several(belief, After(*after), sizes, gated)

    def _seen(self, belief: Any, readings: Readings, env: Any) -> tuple[tuple[Array, ...], tuple[int, ...]]:
        """Return the sigma points, what they would measure and what was measured against the central one, and R."""
        kernel = drawing_kernel(self.points, True)
        e, q, x = kernel(belief[0], self.vector(belief), belief.C, *self._given(belief))
        cloud = self.placed(belief, _points_first(q), _points_first(x), *belief[-4:])
        expected = [self._expect(belief, sensor, env) for sensor, _ in readings]
        y = [s.residual(self._expect(cloud, s, env).z, p.z) for (s, _), p in zip(readings, expected, strict=True)]
        r = [s.residual(m[0], p.z) for (s, m), p in zip(readings, expected, strict=True)]
        lead = np.broadcast_shapes(*[p.R.shape[:-2] for p in expected])
        R = block_diagonal([np.broadcast_to(p.R, (*lead, *p.R.shape[-2:])) for p in expected])
        sizes = tuple(one.shape[-1] for one in r)
        return (e, _points_last(np.concatenate(y, -1)), np.concatenate(r, -1), R), sizes


@dataclass(frozen=True, eq=False, repr=False)
class SigmaMekf(SigmaPoints, Mekf):
    """A filter with the interface of `Mekf`, by sigma points, without extra states."""

    widest: tuple[float, ...] = field(default=(1.0, 0.2), kw_only=True)  # that of Mekf, which SigmaPoints hides
    points = ATTITUDE

    def predict(self, belief: Belief, tau_B: Array, h: Array, rho_B: Array | None = None, env: Any = None) -> Belief:
        """Move over h under a torque that is constant in body axes; rho_B is the wheels' momentum at the end."""
        rho_end = belief.rho_B if rho_B is None else np.broadcast_to(np.asarray(rho_B, float), belief.rho_B.shape)
        given = belief.C, tau_B, self.J, belief.rho_B, rho_end, h
        Q = self._torque_noise(belief.P_B, tau_B, self.J, middle(belief.rho_B, rho_end), h)
        after = self.flown(belief, lambda q, P: self.process.mean(q, P, *given, at=belief.P_B), lambda P: Q)
        return after._replace(rho_B=rho_end, idle=belief.idle + h)


@dataclass(frozen=True, eq=False, repr=False)
class SigmaDqEkf(SigmaPoints, DqEkf):
    """A filter with the interface of `DqEkf`, by sigma points, without extra states."""

    widest: tuple[float, ...] = field(default=(1.0, 10.0, 0.2, 1.0), kw_only=True)  # that of DqEkf
    points = POSE

    def predict(self, belief: PoseBelief, wrench_B: Array | None, h: Array) -> PoseBelief:
        """Move over h under a wrench about the reference point, constant in body axes; None is free flight."""
        step, more = (wrench_B, self.M, h), (self.turn, belief.C)
        fly = lambda p, chi: pose_motion.move_mean(self.method, p, chi, *step, *more)  # noqa: E731
        after = self.flown(belief, fly, lambda chi: self._noise(belief.chi_B, chi, *step))
        return after._replace(idle=belief.idle + h)


def _points_first(values: Array) -> Array:
    """Put the axis of the sigma points before those of the trials, where parameters of trials broadcast."""
    return np.moveaxis(values, -2, 0)


def _points_last(values: Array) -> Array:
    return np.moveaxis(values, 0, -2)
