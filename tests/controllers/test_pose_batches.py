import numpy as np
import pytest

from gnc import dual_quaternion
from gnc.controllers.approach import Approach
from gnc.controllers.pose import AdaptivePoseTracking, PoseTracking, VelocityFreePoseTracking
from gnc.controllers.reference import AttitudeReference, PoseReference
from gnc.controllers.regulator import AttitudeRegulator, PoseRegulator
from gnc.models.pose_body import PoseState
from gnc.models.states import AttitudeState
from tests.controllers.pose_cases import CENTRED, OFFSET, J, random_states

N, H = 37, 0.1
GAINS = {"Kq": 0.25, "Kr": 0.05, "Kw": 15.0, "Kv": 15.0}
RNG = np.random.default_rng(11)
ADAPTIVE = AdaptivePoseTracking(
    **GAINS, K_theta=100.0, K_load=0.8, theta_low=[-50.0] * 7, theta_high=[50.0] * 7, wrench_limit=20.0
)
LAWS = {
    "pose": (PoseTracking.tuned(OFFSET.M, 0.4), ()),
    "adaptive": (ADAPTIVE, (H,)),
    "velocity-free": (VelocityFreePoseTracking(M=OFFSET.M, kp=6.0, kr=8.0, a=1.0, gq=30.0, gr=35.0), (H,)),
    "regulator": (PoseRegulator(K=RNG.normal(size=(6, 12)), M=OFFSET.M), ()),
    "regulator along": (PoseRegulator(K=RNG.normal(size=(4, 6, 12)), M=OFFSET.M, along=True), ()),
}


def references(count):
    states = random_states(count, seed=7)
    return PoseReference(*states, 0.1 * np.random.default_rng(8).normal(size=(count, 6)))


def trial(x, k):
    return type(x)(*(a[k] for a in x))


def same_bits(batch, alone, k):
    for a, b in zip(batch, alone, strict=True):
        np.testing.assert_array_equal(a[k], b)


@pytest.mark.parametrize("name", LAWS)
def test_every_trial_of_a_batch_has_the_bits_it_has_alone(name):
    law, extra = LAWS[name]
    x, reference, memory = random_states(N), references(N), law.start((N,))
    alone = [law.start() for _ in range(N)]
    for step in range(6):  # more steps than the time-varying law has gains
        now = PoseState(x.dq_IB, x.chi_B + 0.01 * step)
        wrench, memory = law.command(now, reference, memory, *extra)
        for k in range(N):
            single, alone[k] = law.command(trial(now, k), trial(reference, k), alone[k], *extra)
            np.testing.assert_array_equal(wrench[k], single)
            same_bits(memory, alone[k], k)


@pytest.mark.parametrize("along", [False, True])
def test_attitude_regulators_have_the_same_bits_in_a_batch_and_alone(along):
    law = AttitudeRegulator(K=RNG.normal(size=(5, 3, 6)) if along else RNG.normal(size=(3, 6)), J=J, along=along)
    x, q_IR = random_states(N), random_states(N, seed=3).dq_IB[:, :4]
    state, reference = (
        AttitudeState(x.dq_IB[:, :4], x.chi_B[:, :3]),
        AttitudeReference(q_IR, x.chi_B[:, 3:], q_IR[:, 1:]),
    )
    tau, memory = law.command(state, reference, law.start((N,)))
    for k in range(N):
        single, kept = law.command(trial(state, k), trial(reference, k), law.start())
        np.testing.assert_array_equal(tau[k], single)
        same_bits(memory, kept, k)


def test_guidance_has_the_same_bits_in_a_batch_and_alone_on_every_leg():
    guidance = Approach(M_T=CENTRED.M, dq_TB=dual_quaternion.from_pose(np.array([0.0, 0, 0, 1]), np.zeros(3)))
    target, chaser = random_states(N), random_states(N, seed=5)
    memory = guidance.start(target, chaser)
    memory = memory._replace(
        rides=np.arange(N) % 2.0, t=RNG.uniform(0.0, 200.0, N), phi=RNG.normal(size=(N, 3, 3)),
        rho=memory.rho + 0.1 * RNG.normal(size=(N, 3, 3)),
    )  # fmt: skip
    legs = np.arange(N) % 7.0
    memory = guidance.enter(memory, legs, target)
    reference, after = guidance.guide(target, memory, H)
    for k in range(N):
        single, kept = guidance.guide(trial(target, k), trial(memory, k), H)
        same_bits(reference, single, k)
        same_bits(after, kept, k)


def test_gains_and_bodies_may_differ_between_trials():
    masses = np.linspace(50.0, 150.0, N)
    M = np.array([np.diag([20.0, 21.0, 22.0, m, m, m]) for m in masses])
    law = PoseTracking.tuned(M, np.linspace(0.1, 1.0, N))
    x, reference = random_states(N), references(N)
    wrench, _ = law.command(x, reference, law.start((N,)))
    for k in (0, 17, N - 1):
        own = PoseTracking.tuned(M[k], np.linspace(0.1, 1.0, N)[k])
        np.testing.assert_array_equal(wrench[k], own.command(trial(x, k), trial(reference, k), own.start())[0])


def test_a_lost_trial_stays_lost_and_the_others_do_not_notice():
    x, reference = random_states(N), references(N)
    broken = PoseState(np.where(np.arange(N)[:, None] == 5, np.nan, x.dq_IB), x.chi_B)
    for name, (law, extra) in LAWS.items():
        wrench = law.command(x, reference, law.start((N,)), *extra)[0]
        marked = law.command(broken, reference, law.start((N,)), *extra)[0]
        assert np.isnan(marked[5]).any(), name
        others = np.arange(N) != 5
        np.testing.assert_array_equal(marked[others], wrench[others])
