"""A rigid body that turns and moves, described about any point of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, dual_quaternion, spatial
from gnc.integrators import dqvi, forced
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
        """Validate once; the kernels do not."""
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
