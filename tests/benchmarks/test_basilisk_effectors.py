"""Hinged panels and slosh masses against Basilisk's effectors: accelerations, and a flight of 100 s.

It needs Basilisk, which only the environment of the benchmarks has: `make bench`, then this file by its pytest.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import dual_quaternion, quaternion
from gnc.models.multibody import Body, TreeState, VariationalTree, sections
from gnc.models.multibody.articulated import accelerations
from gnc.models.multibody.sections import HungBody

pytest.importorskip("Basilisk")
from Basilisk.simulation import (  # noqa: E402
    hingedRigidBodyStateEffector,
    linearSpringMassDamper,
    spacecraft,
    svIntegrators,
)
from Basilisk.utilities import SimulationBaseClass, macros  # noqa: E402

MASS, J_HUB, CENTRE = 150.0, np.diag([30.0, 25.0, 20.0]), np.array([0.02, -0.01, 0.05])
J_PANEL = np.diag([0.9, 3.0, 3.9])  # body axes, about the panel's centre
ANGLE, ANGLE_RATE = np.array([0.2, -0.1]), np.array([0.05, 0.1])
PLACE, SPEED = np.array([0.03, -0.04]), np.array([0.02, 0.01])
W_B = np.array([0.05, -0.04, 0.08])
SIGMA = [0.1, -0.2, 0.05]
TANKS = ((0.1, 0.2, 0.3), (0.0, -0.1, -0.3))
DURATION_S = 100.0


def column(v):
    return [[float(x)] for x in v]


class Basilisk:
    """Its spacecraft with two panels hinged along z on either side, and two masses that slide along x and y."""

    def __init__(self, h):
        self.sim = SimulationBaseClass.SimBaseClass()
        self.sim.CreateNewProcess("process").addTask(self.sim.CreateNewTask("task", macros.sec2nano(h)))
        self.body = spacecraft.Spacecraft()
        self.integrator = svIntegrators.svIntegratorRK4(self.body)
        self.body.setIntegrator(self.integrator)
        hub = self.body.hub
        hub.mHub, hub.IHubPntBc_B, hub.r_BcB_B = MASS, J_HUB.tolist(), column(CENTRE)
        hub.sigma_BNInit, hub.omega_BN_BInit = column(SIGMA), column(W_B)
        self.panels = [self._panel(k) for k in range(2)]
        self.masses = [self._mass(k) for k in range(2)]
        self.sim.AddModelToTask("task", self.body)
        for effector in (*self.panels, *self.masses):
            self.body.addStateEffector(effector)
        self.sim.InitializeSimulation()
        self.to(0.0)

    def _panel(self, k):
        one, side = hingedRigidBodyStateEffector.HingedRigidBodyStateEffector(), 1.0 - 2.0 * k
        one.mass, one.d, one.k, one.c = 9.0, 1.0, 8.0, 0.1
        one.IPntS_S = np.diag([J_PANEL[0, 0], J_PANEL[2, 2], J_PANEL[1, 1]]).tolist()
        one.r_HB_B = column([0.5 * side, 0.0, 0.0])
        one.dcm_HB = [[-side, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, side, 0.0]]  # its first axis looks at the hub
        one.thetaInit, one.thetaDotInit = float(ANGLE[k]), float(ANGLE_RATE[k])
        return one

    def _mass(self, k):
        one = linearSpringMassDamper.LinearSpringMassDamper()
        one.massInit, one.k, one.c = 12.0, 3.0, 0.5
        one.r_PB_B, one.pHat_B = column(TANKS[k]), column(np.eye(3)[k])
        one.rhoInit, one.rhoDotInit = float(PLACE[k]), float(SPEED[k])
        return one

    def to(self, seconds):
        self.sim.ConfigureStopTime(macros.sec2nano(seconds))
        self.sim.ExecuteSimulation()
        return self

    def _states(self, what):
        names = [p.nameOfThetaState for p in self.panels] + [m.nameOfRhoState for m in self.masses]
        rates = [p.nameOfThetaDotState for p in self.panels] + [m.nameOfRhoDotState for m in self.masses]
        return tuple(
            np.array([float(getattr(self.body.dynManager.getStateObject(name), what)()[0][0]) for name in group])
            for group in (names, rates)
        )

    def state(self):
        told, (gamma, rate) = self.body.scStateOutMsg.read(), self._states("getState")
        sigma = np.array(told.sigma_BN)
        q_IB = np.array([1.0 - sigma @ sigma, *(2.0 * sigma)]) / (1.0 + sigma @ sigma)
        twist = np.concatenate([told.omega_BN_B, quaternion.inverse_rotate(q_IB, np.array(told.v_BN_N))])
        return TreeState(dual_quaternion.from_pose(q_IB, np.array(told.r_BN_N)), twist, gamma, rate)

    def rates(self):
        """Return w', the acceleration of the origin in inertial axes, and those of the joints, at the state now."""
        self.body.equationsOfMotion(0.0, 1e-3)
        of_hub = (self.body.hub.nameOfHubOmega, self.body.hub.nameOfHubVelocity)
        w, v = (np.ravel(self.body.dynManager.getStateObject(name).getStateDeriv()) for name in of_hub)
        return w, v, self._states("getStateDeriv")[1]


def tree():
    panel = {"mass_kg": 9.0, "J_kgm2": J_PANEL.tolist(), "stiffness": 8.0, "damping": 0.1}
    slide = {"mass_kg": 12.0, "joint": "prismatic", "stiffness": 3.0, "damping": 0.5}
    turns = quaternion.from_two_vectors(np.array([[0.0, 0.0, 1.0]] * 2), np.eye(3)[:2])  # they slide along their z
    bodies = {
        "right": HungBody(joint_m=(0.5, 0.0, 0.0), origin_m=(1.0, 0.0, 0.0), **panel),
        "left": HungBody(joint_m=(-0.5, 0.0, 0.0), origin_m=(-1.0, 0.0, 0.0), **panel),
        "along": HungBody(joint_m=TANKS[0], joint_q=tuple(turns[0]), **slide),
        "across": HungBody(joint_m=TANKS[1], joint_q=tuple(turns[1]), **slide),
    }
    return sections.tree(Body("base", MASS, J_HUB, CENTRE), bodies, {})


def derivative(model, x):
    return accelerations(model, x, 0.0, np.zeros((len(model.bodies), 6)))


def test_accelerations_are_basilisks():
    model, theirs = tree(), Basilisk(0.01)
    x = theirs.state()
    w, v_I, joints = theirs.rates()
    ours = derivative(model, x)
    a_I = quaternion.rotate(x.dq_IB[:4], ours.twist_dot[3:] + np.cross(x.twist_B[:3], x.twist_B[3:]))
    for name, a, b in (("w'", ours.twist_dot[:3], w), ("a", a_I, v_I), ("joints", ours.rate_dot, joints)):
        print(name, np.abs(a - b).max())
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_a_flight_of_100_s_is_basilisks_up_to_truncation():
    """By its RK4 at 2 ms; ours by DOP853 on our accelerations, and by the variational tree of order 4 at 20 ms."""
    model = tree()
    start, end = Basilisk(0.002).state(), Basilisk(0.002).to(DURATION_S).state()
    sizes = np.cumsum([a.size for a in start])[:-1]

    def rate(t, y):
        x = TreeState(*np.split(y, sizes))
        found = derivative(model, x)
        return np.concatenate([dual_quaternion.derivative(x.dq_IB, x.twist_B), found.twist_dot, x.rate, found.rate_dot])

    run = solve_ivp(rate, (0.0, DURATION_S), np.concatenate(start), "DOP853", rtol=1e-12, atol=1e-13)
    exact = TreeState(*np.split(run.y[:, -1], sizes))
    method = VariationalTree(model, order=4)
    flight = method.fly_steps(start, 5000, 0.02, every=5000)
    variational = TreeState(*(a[-1] for a in method.read(flight.x)))
    for name, x, bound in (("DOP853", exact, 1e-9), ("variational, order 4", variational, 1e-7)):
        off = [np.abs(a - b).max() for a, b in zip(x[1:], end[1:], strict=True)]
        turned = quaternion.angle_between(x.dq_IB[:4], end.dq_IB[:4])
        print(name, "twist, joints, their rates:", off, "attitude [rad]:", float(turned))
        assert max(*off, turned) < bound
