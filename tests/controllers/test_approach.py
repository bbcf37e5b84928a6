import numpy as np
import pytest

from gnc import dual_quaternion, quaternion
from gnc.controllers.approach import LEGS, Approach
from gnc.controllers.pose import PoseTracking
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.models.pose_body import PoseBody, PoseState

# The rendezvous of the specification: frame at the port, centre of mass behind it, 3 deg/s about any axis.
CENTRE = np.array([-1.0, 0.2, -0.1])
TARGET = PoseBody.of(200.0, CENTRE, np.array([[120.0, 6, -4], [6, 90, 5], [-4, 5, 60]]))
CHASER = PoseBody.of(100.0, [0.0, 0.0, 0.0], np.diag([22.0, 20.0, 23.0]))
FACING = dual_quaternion.from_pose(np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3))
GUIDANCE = Approach(M_T=TARGET.M, dq_TB=FACING)
LAW = PoseTracking.tuned(CHASER.M, 0.3)
LIMIT = np.array([2.0] * 3 + [20.0] * 3)
H = 0.1


def starts(count, seed=0, rate_deg=3.0):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(count, 3))
    w *= np.radians(rate_deg) / np.linalg.norm(w, axis=-1, keepdims=True)
    target = PoseState(np.tile(np.eye(8)[0], (count, 1)), np.concatenate([w, -np.cross(w, CENTRE)], -1))
    q, r = quaternion.normalize(rng.normal(size=(count, 4))), np.array([21.0, 3.0, -2.0]) + rng.normal(size=(count, 3))
    return target, PoseState(dual_quaternion.from_pose(q, r), np.zeros((count, 6)))


class Flight:
    """Target and chaser on perfect beliefs, flown leg by leg; keeps references, legs and poses."""

    def __init__(self, count, guidance=GUIDANCE, **options):
        self.guidance = guidance
        self.target, self.chaser = starts(count, **options)
        self.memory, self.law_memory = guidance.start(self.target, self.chaser), LAW.start((count,))
        self.references, self.legs, self.poses = [], [], []

    def fly(self, leg, duration, push=0.0):
        if leg != "station":
            self.memory = self.guidance.enter(self.memory, float(list(LEGS).index(leg)), self.target)
        for _ in range(round(duration / H)):
            reference, self.memory = self.guidance.guide(self.target, self.memory, H)
            wrench, self.law_memory = LAW.command(self.chaser, reference, self.law_memory)
            self.chaser = CHASER.step(self.chaser, np.clip(wrench, -LIMIT, LIMIT) + push, H)
            self.target = TARGET.step(self.target, np.zeros(6), H)
            self.references.append(reference)
            self.legs.append(leg)
            self.poses.append(self.dq_TB)
        return self

    def approach(self, seconds=180.0):
        guidance = self.guidance
        for leg in ("station", "closing", "synchronising"):
            self.fly(leg, float(getattr(guidance, LEGS[leg][2])))
        return self.fly("approaching", seconds)

    @property
    def dq_TB(self):
        return dual_quaternion.mul(dual_quaternion.conj(self.target.dq_IB), self.chaser.dq_IB)

    @property
    def position_T(self):
        return dual_quaternion.to_pose(self.dq_TB)[1]

    def stacked(self):
        return PoseReference(*(np.array(x) for x in zip(*self.references, strict=True)))


@pytest.fixture(scope="module")
def rendezvous():
    return Flight(20).approach().fly("holding", 40.0)


def test_from_20_m_to_a_hold_1_m_before_the_port_of_a_tumbling_target(rendezvous):
    np.testing.assert_allclose(rendezvous.position_T, np.tile([1.0, 0.0, 0.0], (20, 1)), atol=1e-3)
    facing = quaternion.angle_between(rendezvous.dq_TB[:, :4], FACING[:4])
    assert np.degrees(facing).max() < 0.01


def test_the_chaser_stays_in_the_corridor_from_synchronisation_on_and_away_from_the_target_before(rendezvous):
    legs, poses = np.array(rendezvous.legs), np.array(rendezvous.poses)
    near = (legs == "approaching") | (legs == "holding")
    assert (rendezvous.guidance.in_corridor(poses[near]) == 1.0).all()
    distance = np.linalg.norm(dual_quaternion.to_pose(poses)[1] - CENTRE, axis=-1)
    assert (distance[~near] > 4.5).all()


def test_references_are_smooth_and_their_twists_and_accelerations_are_their_derivatives(rendezvous):
    """By differences over all legs and their changes: no jump of pose, twist or acceleration."""
    dq, chi, chidot = rendezvous.stacked()
    step = dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(dq[:-2]), dq[2:])) / (2 * H)
    np.testing.assert_allclose(step, chi[1:-1], atol=2e-5)
    np.testing.assert_allclose((chi[2:] - chi[:-2]) / (2 * H), chidot[1:-1], atol=2e-5)
    assert np.abs(np.diff(chidot, axis=0)).max() < 2e-3


def test_far_away_the_chaser_keeps_its_attitude_and_does_not_follow_the_tumbling(rendezvous):
    legs, chi = np.array(rendezvous.legs), rendezvous.stacked().chi_R
    far = (legs == "station") | (legs == "closing")
    assert np.abs(chi[far][..., :3]).max() < 1e-12


def test_a_stop_ends_on_the_axis_and_the_approach_goes_on_from_there():
    flight = Flight(5).approach(100.0)
    before = flight.position_T[:, 0]
    flight.fly("stopped", 60.0)
    stopped = flight.position_T
    assert (before - stopped[:, 0] < 0.6).all() and (np.abs(stopped[:, 1:]) < 0.01).all()
    flight.fly("stopped", 10.0)
    np.testing.assert_allclose(flight.position_T, stopped, atol=5e-3)
    flight.fly("approaching", 190.0)
    np.testing.assert_allclose(flight.position_T[:, 0], 1.0, atol=2e-3)


def test_a_retreat_backs_off_along_the_axis():
    flight = Flight(5).approach(130.0).fly("retreating", 100.0)
    np.testing.assert_allclose(flight.position_T, np.tile([5.0, 0.0, 0.0], (5, 1)), atol=5e-3)
    assert (flight.guidance.in_corridor(np.array(flight.poses[-1000:])) == 1.0).all()


@pytest.mark.parametrize("seconds", [0.0, 130.0])
def test_from_the_axis_it_leaves_for_the_station_without_a_jump_of_pose_or_velocity(seconds):
    """The boom stops to turn with the target; what it had of velocity along and across is carried over."""
    flight = Flight(5).approach(seconds)
    flight.fly("station", 0.0)
    flight.memory = flight.guidance.enter(flight.memory, 0.0, flight.target)
    flight.fly("station", 90.0)
    dq, chi, _ = flight.stacked()
    k = -900
    step = dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(dq[k - 1]), dq[k]))
    np.testing.assert_allclose(step[:, 3:], H * 0.5 * (chi[k - 1] + chi[k])[:, 3:], atol=3e-3)
    distance = np.linalg.norm(flight.position_T - CENTRE, axis=-1)
    np.testing.assert_allclose(distance, 20.0, atol=0.05)


def test_the_corridor_is_a_cone_before_the_port():
    def inside(x, y):
        return GUIDANCE.in_corridor(dual_quaternion.mul(dual_quaternion.from_pose(np.eye(4)[0], [x, y, 0.0]), FACING))

    edge = 3.0 * np.tan(np.radians(10.0)) + 0.1
    assert inside(3.0, edge - 1e-9) and not inside(3.0, edge + 1e-9)
    assert not inside(-0.5, 0.0)


def test_other_distances_axes_and_docked_poses_are_reached_too():
    docked = dual_quaternion.from_pose(
        quaternion.from_axis_angle(np.array([1.0, 0, 0]), 0.5), np.array([0.0, 0.3, 0.8])
    )
    guidance = Approach(M_T=TARGET.M, dq_TB=docked, axis_T=(0.0, 0.0, 1.0), station_m=100.0, closing_s=300.0)
    flight = Flight(3, guidance).approach(240.0)
    wanted = dual_quaternion.mul(dual_quaternion.from_pose(np.eye(4)[0], np.array([0.0, 0.0, 1.0])), docked)
    away = dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(wanted), flight.dq_TB))
    assert np.abs(away).max() < 2e-3


def test_bad_plans_are_refused_by_name():
    with pytest.raises(InputError, match="station_m 4, synchronise_m 5, final_m 1: must fall in this order"):
        Approach(M_T=TARGET.M, dq_TB=FACING, station_m=4.0)
    with pytest.raises(InputError, match="corridor_deg: 120 is not from 0 to 89"):
        Approach(M_T=TARGET.M, dq_TB=FACING, corridor_deg=120.0)
