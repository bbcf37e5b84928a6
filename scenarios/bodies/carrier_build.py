"""From the sections of `separation` to the truth of each trial and the flight software that knows the nominal one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import quaternion, spatial
from gnc.controllers.pose import PoseTracking
from gnc.controllers.reference import PoseReference
from gnc.draws import Draws
from gnc.estimators.dqekf import DqEkf
from gnc.models.pose_body import PoseBody
from gnc.models.sensors import RelativePose
from gnc.models.separation import split
from gnc.scenarios.bodies import carrier
from gnc.scenarios.bodies import carrier_sections as sections
from gnc.scenarios.bodies.carrier import Carrier, ReleaseNavigation, Shape, Spring
from gnc.scenarios.bodies.navigation import PoseNavigation

Array = Any


@dataclass(frozen=True, eq=False)
class HoldControl:
    """Pose tracking of a fixed reference, with one law before and one after the release."""

    before: PoseTracking
    after: PoseTracking
    release_s: float
    reference: PoseReference
    limit: Array

    def command(self, belief: Any, report: Any, t: float, memory: Any) -> tuple[Array, Any]:
        """Return the wrench within its limits."""
        law = self.before if t < self.release_s - carrier.EARLY else self.after
        wrench_B, memory = law.command(belief, self.reference, memory)
        return carrier.limited(wrench_B, self.limit), memory


def inertia6(body: sections.Body) -> Array:
    """Return the nominal 6x6 inertia about the carrier's origin."""
    return spatial.inertia(body.mass_kg, np.array(body.centre_m), np.array(body.J_kgm2))


def spring(config: Any, draws: Draws | None = None) -> Spring:
    """Return the nominal spring, or that of each trial."""
    x, y, z = config.cargo.centre_m
    point, axis = np.array([x, y, z - 0.5 * config.cargo.size_m[2]]), np.array([0.0, 0.0, 1.0])
    if draws is None:
        return Spring(point, axis, np.array(config.release.energy_J))
    e = config.errors
    point = point + 1e-3 * e.spring_mm * draws.normal("spring point", 3)
    tilt = quaternion.exp(np.radians(e.spring_deg) * draws.normal("spring direction", 3))
    energy = config.release.energy_J * np.maximum(0.1, 1.0 + 0.01 * e.spring_percent * draws.normal("spring energy"))
    return Spring(point, quaternion.rotate(tilt, axis), energy)


def truth(config: Any, draws: Draws) -> Carrier:
    """Return the carrier and cargo of each trial."""
    e, parts = config.errors, []
    for name, body in (("carrier", config.carrier), ("cargo", config.cargo)):
        mass = body.mass_kg * (1.0 + 0.01 * e.mass_percent * draws.normal(f"{name} mass"))
        off = 1e-3 * e.centre_mm * draws.normal(f"{name} centre", 3) if name == "cargo" else np.zeros(3)
        J = draws.inertia(f"{name} inertia", np.array(body.J_kgm2), e.J_percent)
        parts.append(spatial.inertia(mass, np.array(body.centre_m) + off, J))
    whole, cargo = PoseBody(spatial.combine(*parts)), PoseBody(parts[1])
    bodies = whole, *split(whole, cargo)
    shape = Shape(np.array(config.cargo.centre_m), np.array(config.cargo.size_m), np.array(config.release.face_m))
    gain = 1.0 + 0.01 * e.actuator_percent * draws.normal("actuators", 6)
    return Carrier(*bodies, spring(config, draws), shape, gain, config.release.time_s)


def navigation(config: Any, sensor: RelativePose, M: Array, M_cargo: Array) -> ReleaseNavigation:
    """Return the filters before and after, and the push between them."""
    f, e, push = config.filter, config.errors, spring(config)
    psd = np.repeat([f.torque_psd_Nm2s, f.force_psd_N2s], 3)
    make = lambda M: PoseNavigation(DqEkf(M, f.method, psd), {"camera": sensor})  # noqa: E731
    if not f.knows_release:
        return ReleaseNavigation(make(M + M_cargo), make(M + M_cargo), config.release.time_s, np.zeros(6), 0.0)
    impulse = carrier.push_impulse(M, M_cargo, *push)
    wrench = impulse * carrier.push(push.point_B, push.axis_B)
    off = 0.005 * e.spring_percent, 0.01 * e.mass_percent, np.radians(e.spring_deg)
    share, lever = np.linalg.norm(off), np.linalg.norm(push.point_B)
    sigmas = impulse * np.repeat([1e-3 * e.spring_mm + lever * share, share], 3)
    Y = spatial.inverse(M)
    jump = -(Y @ wrench), Y @ np.diag(sigmas**2) @ Y.T
    return ReleaseNavigation(make(M + M_cargo), make(M), config.release.time_s, *jump)
