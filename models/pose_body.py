"""A rigid body that turns and moves, described about any point of it; how bodies part and join.

Parting changes no velocity: both parts keep the pose and the twist of the reference point they shared, and the 6x6
inertia is divided. Joining is a perfectly inelastic capture: one twist with the momentum of the two.
Source: DQVI section V.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gnc import check, dual_quaternion, spatial
from gnc.batch import batched
from gnc.integrators import dqvi, forced
from gnc.linalg import cross
from gnc.models.flight import Flight, each, fly

Array = Any


class PoseState(NamedTuple):
    """Pose and twist of the reference point; the twist [w, v] in body axes."""

    dq_IB: Array  # (..., 8) unit dual quaternion
    chi_B: Array  # (..., 6) [rad/s, m/s]


@dataclass(frozen=True)
class PoseBody:
    """A rigid body with a 6x6 inertia about an arbitrary reference point, moved by DQVI.

    `order` is 2 or 4 (Suzuki composition). Fast turning trials take as many substeps as they need; `substeps=False`
    turns that off: then |w| h must stay below 1 rad, and a trial beyond it becomes NaN. `filler=0.0` is the form that
    DQVI prints (see `gnc.integrators.dqvi_equation`).
    """

    M: Array  # (..., 6, 6) about the reference point, body axes, angular first [kg m^2, kg m, kg]
    order: int = 4
    substeps: bool = True
    filler: float | None = None  # None: the body's mass
    allow_unphysical: bool = False  # for published data that no rigid body has

    def __post_init__(self) -> None:
        object.__setattr__(self, "M", check.inertia6("M", self.M, allow_unphysical=self.allow_unphysical))
        check.one_of("order", self.order, (2, 4))

    @classmethod
    def of(cls, mass: Array, r_g: Array, J_com: Array, **options: Any) -> PoseBody:
        """Describe the body by mass, centre of mass from the reference point, and inertia about the centre of mass."""
        mass = check.positive("mass", mass)
        J_com = check.inertia("J_com", J_com, allow_unphysical=options.get("allow_unphysical", False))
        return cls(spatial.inertia(mass, check.vector("r_g", r_g, 3), J_com), **options)

    @property
    def mass(self) -> Array:
        """The mass [kg]."""
        return self.M[..., 3, 3]

    def _filler(self) -> Array:
        return self.mass if self.filler is None else self.filler

    def _count(self, x: PoseState, h: Array) -> Array:
        return dqvi.substeps(x.chi_B, h, self.order) if self.substeps else 1

    def step(self, x: PoseState, wrench_B: Array, h: Array, t: Array = 0.0) -> PoseState:
        """Move over h under a wrench in body axes: constant, or a function of (state, time) felt at the nodes."""
        if callable(wrench_B):
            return forced.step(x, wrench_B, t, h, self._splitting(), self._count(x, h))
        n = self._count(x, h)
        args = (*x, wrench_B, self.M, self._filler(), h / n)
        moved = dqvi.step.repeat(n, *args) if self.order == 2 else dqvi.step4(*args, n)
        return PoseState(*moved)

    def linearize(self, x: PoseState, wrench_B: Array, h: Array) -> tuple[Array, Array]:
        """Return the exact F (12x12) and G (12x6) of `step`, in the error state (dxi, dchi), p = p^ exp(dxi/2)."""
        n = self._count(x, h)
        args = (*x, wrench_B, self.M, self._filler(), h / n)
        if self.order == 4:
            return dqvi.step4_jacobian(*args, n)[2:]
        F, G = np.eye(12), np.zeros((12, 6))
        return dqvi.chained_step_jacobian.repeat(n, *x, F, G, *args[2:])[2:]

    def fly(
        self, x0: PoseState, steps: int, h: float, every: int = 1, wrench_B: Array = (0.0,) * 6, t0: float = 0.0
    ) -> Flight:
        """Take many steps and keep every so many; fused where no trial can need substeps, which changes no bit."""
        x0 = PoseState(*map(np.asarray, x0))
        if callable(wrench_B) or not self._can_be_fused(x0, wrench_B, h):
            return fly(x0, each(lambda x, t: self.step(x, wrench_B, h, t), h, t0), steps, every, h, t0)
        return fly(x0, lambda x, _, n: self._fused(x, wrench_B, h, n), steps, every, h, t0)

    def _can_be_fused(self, x: PoseState, wrench_B: Array, h: float) -> bool:
        """Tell whether all steps are taken whole: a free body never turns faster than |J_com w|/J_min."""
        if not self.substeps:
            return True
        J_com = spatial.parts(self.M)[2]
        spin = np.linalg.norm(np.einsum("...ij,...j->...i", J_com, x.chi_B[..., :3]), axis=-1)
        fastest = np.concatenate([spin[..., None] / np.linalg.eigvalsh(J_com)[..., :1], np.zeros((*spin.shape, 5))], -1)
        whole = dqvi.substeps(fastest, h, self.order) == 1
        return not np.any(wrench_B) and bool(np.all(whole & (fastest[..., 0] >= 0.0)))

    def _fused(self, x: PoseState, wrench_B: Array, h: float, steps: int) -> PoseState:
        args = (*x, wrench_B, self.M, self._filler(), h)
        if self.order == 2:
            return PoseState(*dqvi.step.repeat(steps, *args))
        return PoseState(*dqvi.step4(*args, steps))

    def _splitting(self) -> forced.Splitting:
        outer, middle = dqvi.OUTER, dqvi.MIDDLE
        stages = (1.0,) if self.order == 2 else (outer, outer, middle, outer, outer)
        return forced.Splitting(
            drift=lambda x, h: PoseState(*dqvi.drift(*x, self.M, self._filler(), h)),
            kick=lambda x, wrench, h: PoseState(x.dq_IB, dqvi.kick(x.chi_B, wrench, self.M, h)),
            stages=stages,
        )

    def energy(self, x: PoseState) -> Array:
        """Return the kinetic energy [J]."""
        return spatial.kinetic_energy(self.M, x.chi_B)

    def momentum(self, x: PoseState) -> Array:
        """Return [angular momentum about the inertial origin, linear momentum], inertial axes."""
        return dual_quaternion.transform_wrench(x.dq_IB, spatial.momentum(self.M, x.chi_B))

    def centre_of_mass(self, x: PoseState) -> Array:
        """Return the centre of mass in the inertial frame [m]."""
        return dual_quaternion.transform_point(x.dq_IB, spatial.parts(self.M)[1])


def split(body: PoseBody, part: PoseBody, *, allow_unphysical: bool = False) -> tuple[PoseBody, PoseBody]:
    """Divide a body into what remains and a part, both about the body's reference point and in its axes.

    Both fly on from the body's own state. A remainder that is no rigid body's is refused unless allowed: it means that
    the part cannot have been inside the body.
    """
    M = check.inertia6("what remains of M", spatial.split(body.M, part.M), allow_unphysical=allow_unphysical)
    return replace(body, M=M, allow_unphysical=allow_unphysical), part


def join(first: PoseBody, x_1: PoseState, second: PoseBody, x_2: PoseState) -> tuple[PoseBody, PoseState]:
    """Capture the second body by the first, as docking does: one body about the first's reference point, and its state.

    The relative motion stops at once; linear and angular momentum stay, energy falls.
    """
    dq_12 = dual_quaternion.mul(dual_quaternion.conj(x_1.dq_IB), x_2.dq_IB)
    M_2 = spatial.transform_inertia(dq_12, second.M)
    mu_2 = dual_quaternion.transform_wrench(dq_12, spatial.momentum(second.M, x_2.chi_B))
    M = spatial.combine(first.M, M_2)
    chi_B = spatial.momentum(spatial.inverse(M), spatial.momentum(first.M, x_1.chi_B) + mu_2)
    unphysical = first.allow_unphysical or second.allow_unphysical
    return replace(first, M=M, allow_unphysical=unphysical), PoseState(x_1.dq_IB, chi_B)


@batched("(3),(3)->(6)")
def push(point_B, axis_B):
    """Return the wrench of a unit force along an axis at a point."""
    return np.concatenate([cross(point_B, axis_B), axis_B])


@batched("(6,6),(6,6),(3),(3),()->()")
def push_impulse(M_1, M_2, point_B, axis_B, energy_J):
    """Return the impulse that a spring's energy makes between two bodies: p^2/2 u.(M_1^-1 + M_2^-1) u = E."""
    u = push(point_B, axis_B)
    return np.sqrt(2.0 * energy_J / (u @ ((spatial.inverse(M_1) + spatial.inverse(M_2)) @ u)))


@batched("(6),(6,6),(6,6),(3),(3),()->(6),(6),(2)")
def pushed_apart(chi_B, M_1, M_2, point_B, axis_B, energy_J):
    """Return the twists of two bodies that a spring parts at once, and the relative errors of momentum and energy.

    All is about one origin, in the axes of the first; all of the spring's energy becomes motion.
    """
    size = lambda v: np.sqrt(v @ v)  # noqa: E731
    wrench = push_impulse(M_1, M_2, point_B, axis_B, energy_J) * push(point_B, axis_B)
    chi_1, chi_2 = chi_B - spatial.inverse(M_1) @ wrench, chi_B + spatial.inverse(M_2) @ wrench
    before, after = (M_1 + M_2) @ chi_B, M_1 @ chi_1 + M_2 @ chi_2
    energy = spatial.kinetic_energy(M_1, chi_1) + spatial.kinetic_energy(M_2, chi_2)
    gained = energy - spatial.kinetic_energy(M_1 + M_2, chi_B) - energy_J
    return chi_1, chi_2, np.stack([size(after - before) / (size(before) + size(wrench)), abs(gained) / energy])
