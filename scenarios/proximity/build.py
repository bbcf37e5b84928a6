"""From sections of a scenario file to the parts of a loop: bodies, thrusters, camera, filter, guidance, law."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched
from gnc.controllers.approach import Approach
from gnc.controllers.pose import PoseTracking
from gnc.draws import Draws, column
from gnc.errors import InputError
from gnc.estimators import pose_motion
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.inertia_states import Inertia
from gnc.linalg import array
from gnc.models.actuators import Thrusters
from gnc.models.pose_body import PoseState
from gnc.models.sensors import RelativePose
from gnc.scenarios.proximity import body, midpoint, sections
from gnc.scenarios.proximity.body import BodyState
from gnc.scenarios.proximity.navigation import Move, Prior, TargetBelief, TargetNavigation

Array = Any
AXIS_T = np.array([1.0, 0.0, 0.0])  # out of the port
FACING = np.array([0.0, 0.0, 0.0, 1.0])  # half a turn about z: the chaser's x points into the port
DISPERSIBLE = (  # fields that may hold one value per trial, as patterns; of others each value is flown by itself
    "target.J_error_percent",
    "target.rate_deg_s",
    "target.torque_Nm",
    "target.drift_m_s",
    "start.spread_m",
    "start.attitude_deg",
)
SIGMAS = 5.0  # how many of them a momentum may be off before it counts as impossible
WALK = 1e-3  # of the inertia's first standard deviation in a second's root, as `pose_inertia` advises


def docked_pose(chaser: sections.Chaser) -> Array:
    """Return dq_TB of a docked chaser: port on port, face to face."""
    return dual_quaternion.from_pose(FACING, chaser.port_m * AXIS_T)


def target_inertia(section: sections.Target, J: Array | None = None) -> Array:
    """Return the target's inertia about its port, nominal or with another inertia about the centre of mass."""
    return spatial.inertia(section.mass_kg, np.array(section.centre_m), np.array(section.J_kgm2) if J is None else J)


def chaser_inertia(section: sections.Chaser) -> Array:
    """Return the chaser's inertia about its centre of mass."""
    return spatial.inertia(section.mass_kg, np.zeros(3), np.array(section.J_kgm2))


def thrusters(section: sections.Chaser) -> Thrusters:
    """Return 12 thrusters, a pair towards either side of each axis, each with a lever about the next axis but one."""
    places, directions = [], []
    for axis in range(3):
        for push in (1.0, -1.0):
            for side in (1.0, -1.0):
                place, direction = np.zeros(3), np.zeros(3)
                place[axis], direction[axis] = -0.5 * push * section.size_m[axis], push
                place[(axis + 1) % 3] = side * section.lever_m
                places.append(place)
                directions.append(direction)
    return Thrusters(
        positions_B=places, directions_B=directions, thrust=section.thrust_N, minimum_on_s=section.minimum_on_s
    )


def camera(section: sections.Camera) -> RelativePose:
    """Return the camera."""
    same = section.model_dump(exclude={"period_s"})
    return RelativePose(rate_hz=1.0 / section.period_s, **same)


def target(section: sections.Target, draws: Draws) -> BodyState:
    """Return the target of each trial, at the inertial origin, tumbling and drifting."""
    J = draws.inertia("target inertia", np.array(section.J_kgm2), section.J_error_percent)
    w_B = column(np.radians(section.rate_deg_s)) * draws.direction("tumble")
    centre = np.concatenate([w_B, draws.vector("drift", section.drift_m_s)], axis=-1)
    q_IT = draws.near("target attitude", np.array([1.0, 0.0, 0.0, 0.0]), 60.0)
    dq_IT = dual_quaternion.from_pose(q_IT, np.zeros(3))
    return body.start(dq_IT, spatial.shift_twist(centre, -np.array(section.centre_m)), target_inertia(section, J))


def chaser(config: sections.ProximityConfig, draws: Draws, target: BodyState) -> BodyState:
    """Return the chaser of each trial, at rest beside its station, facing the target more or less."""
    out = draws.direction("station")
    r_I = target.r_I + config.guidance.station_m * out + draws.vector("place", config.start.spread_m)
    q_IB = draws.near("chaser attitude", _looking(out), config.start.attitude_deg)
    rest = np.zeros((len(q_IB), 6))
    return body.start(dual_quaternion.from_pose(q_IB, r_I), rest, chaser_inertia(config.chaser))


@batched("(3)->(4)")
def _looking(out):
    """Return an attitude whose x axis looks against a direction."""
    return quaternion.from_two_vectors(array([1.0, 0.0, 0.0]), -out)


def dqekf(section: sections.Filter, target: sections.Target) -> DqEkf:
    """Return the filter of the target."""
    psd = np.repeat([section.torque_psd_Nm2s, section.force_psd_N2s], 3)
    options: dict[str, Any] = {"wrench_psd": psd, "gate_probability": section.gate_probability}
    if section.method == "midpoint":
        if section.inertia_sigma_percent > 0.0:
            raise InputError('filter.inertia_sigma_percent: method "midpoint" estimates no inertia; set 0 or use "vi4"')
        return midpoint.MidpointDqEkf(target_inertia(target), **options)
    if section.inertia_sigma_percent > 0.0:
        walk = (WALK * _inertia_sigma(section, target)) ** 2
        options["extras"] = (Inertia(form="ratios", walk=walk),)
    turn = pose_motion.TURN if section.substeps else None
    return DqEkf(target_inertia(target), method=section.method, turn=turn, **options)


def _inertia_sigma(section: sections.Filter, target: sections.Target) -> float:
    return 0.01 * section.inertia_sigma_percent * float(np.trace(np.array(target.J_kgm2))) / 3.0


def navigation(
    config: sections.ProximityConfig, target: BodyState, draws: Draws
) -> tuple[TargetNavigation, TargetBelief]:
    """Return the filter in the loop, and what it believes at the start: the truth, off by as much as is not known."""
    filter_, s = dqekf(config.filter, config.target), config.start
    sigma = np.repeat([np.radians(s.known_deg), s.known_m, np.radians(s.known_deg_s), s.known_m_s], 3)
    error, C = sigma * draws.normal("knowledge", 12), np.diag(sigma**2)
    dq_IT = dual_quaternion.mul(target.dq_IB, dual_quaternion.exp(-error[:, :6]))
    chi_T = target.chi_B - error[:, 6:]
    C_extras = np.eye(filter_.size - 12) * _inertia_sigma(config.filter, config.target) ** 2
    belief = filter_.start(PoseState(dq_IT, chi_T), C, C_extras=C_extras)
    q_IT, P_T, _, p_I = body.about_centre(dq_IT, chi_T, filter_.M)
    ungated_s = (config.filter.ungated_updates - 0.5) * config.camera.period_s
    lever = float(np.linalg.norm(config.target.centre_m))
    possible = SIGMAS * np.array([sigma[6], np.hypot(sigma[9], lever * sigma[6])])
    prior = Prior(quaternion.rotate(q_IT, P_T), p_I, C, possible)
    found = TargetNavigation(filter_, camera(config.camera), _mover(filter_), ungated_s, prior)
    return found, found.start(belief)


def _mover(filter_: DqEkf) -> Move:
    """Return what moves the mean as the filter does."""
    if isinstance(filter_, midpoint.MidpointDqEkf):
        return lambda x, M, h: PoseState(*midpoint.move(*x, M, h)[:2])
    return lambda x, M, h: PoseState(*pose_motion.move_mean(filter_.method, *x, None, M, h, filter_.turn))


def guidance(config: sections.ProximityConfig) -> Approach:
    """Return the guidance, on what flight software knows of the target's inertia."""
    plan = config.guidance.model_dump()
    return Approach(M_T=target_inertia(config.target), dq_TB=docked_pose(config.chaser), axis_T=AXIS_T, **plan)


def law(section: sections.PoseControl, M: Array) -> PoseTracking:
    """Return the tracking law for a body."""
    return PoseTracking.tuned(M, section.frequency_rad_s, section.damping)
