"""The same tree in Pinocchio, an independent implementation: linear before angular, quaternions scalar last."""

import numpy as np
import pinocchio as pin

from gnc import dual_quaternion

SWAP = [3, 4, 5, 0, 1, 2]


def se3(dq):
    return pin.SE3(dual_quaternion.to_matrix(dq))


def _model(kind):
    if kind == "C":
        joint = pin.JointModelComposite()
        joint.addJoint(pin.JointModelRZ())
        joint.addJoint(pin.JointModelPZ())
        return joint
    return {
        "R": pin.JointModelRZ,
        "P": pin.JointModelPZ,
        "S": pin.JointModelSpherical,
        "U": pin.JointModelTranslation,
    }[kind]()


class Oracle:
    """A Pinocchio model of a tree; joints are added depth first, or its algorithms disagree with each other."""

    def __init__(self, tree):
        self.tree, self.model = tree, pin.Model()
        self.model.gravity.setZero()
        self.ids, self.poses = {}, {}
        self._add(tree.root, None, 0, pin.SE3.Identity())
        self.data = self.model.createData()

    def _add(self, i, joint, parent_id, parent_pose):
        body = self.tree.bodies[i]
        if joint is None:
            new, inside = (
                self.model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base"),
                pin.SE3.Identity(),
            )
        else:
            new = self.model.addJoint(parent_id, _model(joint.kind), parent_pose * se3(joint.dq_PJ), joint.name)
            inside = se3(joint.dq_CJ).inverse()
        self.ids[i], self.poses[i] = new, inside
        self.model.appendBodyToJoint(new, pin.Inertia(float(body.mass), body.r_g, body.J_com), inside)
        for child in self.tree.joints:
            if child.parent == body.name:
                self._add(self.tree.body(child.child), child, new, inside)

    def _joint_id(self, j):
        return self.ids[self.tree.body(self.tree.joints[j].child)]

    def q(self, x):
        q = pin.neutral(self.model)
        q_IB, r_IB = dual_quaternion.to_pose(x.dq_IB)
        q[:7] = [*r_IB, *q_IB[1:], q_IB[0]]
        for j, joint in enumerate(self.tree.joints):
            mine = x.gamma[self.tree.gamma_slice(joint.name)]
            at = self.model.joints[self._joint_id(j)].idx_q
            q[at : at + len(mine)] = [*mine[1:], mine[0]] if joint.kind == "S" else mine
        return q

    def v(self, base, joints):
        v = np.zeros(self.model.nv)
        v[:6] = base[SWAP]
        for j, joint in enumerate(self.tree.joints):
            mine = joints[self.tree.rate_slice(joint.name)]
            at = self.model.joints[self._joint_id(j)].idx_v
            v[at : at + len(mine)] = mine
        return v

    def unpack(self, v):
        joints = np.zeros(self.tree.freedoms)
        for j, joint in enumerate(self.tree.joints):
            at = self.model.joints[self._joint_id(j)].idx_v
            mine = self.tree.rate_slice(joint.name)
            joints[mine] = v[at : at + mine.stop - mine.start]
        return v[:6][SWAP], joints

    def forces(self, wrench):
        forces = pin.StdVec_Force()
        forces.extend([pin.Force.Zero() for _ in range(self.model.njoints)])
        for i, load in enumerate(wrench):
            forces[self.ids[i]] = self.poses[i].act(pin.Force(load[SWAP]))
        return forces

    def aba(self, x, effort, wrench):
        """Accelerations of base and joints."""
        tau = self.v(np.zeros(6), effort)
        a = pin.aba(self.model, self.data, self.q(x), self.v(x.twist_B, x.rate), tau, self.forces(wrench))
        return self.unpack(a)

    def rnea(self, x, twist_dot, rate_dot, wrench):
        """Wrench on the base and efforts, and the wrenches that the joints transmit."""
        v, a = self.v(x.twist_B, x.rate), self.v(twist_dot, rate_dot)
        tau = pin.rnea(self.model, self.data, self.q(x), v, a, self.forces(wrench))
        joints = np.stack([self.data.f[self._joint_id(j)].vector[SWAP] for j in range(len(self.tree.joints))])
        return *self.unpack(tau), joints

    def hybrid(self, x, effort, wrench, prescribed, rate_dot):
        """Accelerations and efforts where some joints follow rate_dot, by the mass matrix and the bias of rnea."""
        q, v = self.q(x), self.v(x.twist_B, x.rate)
        H = pin.crba(self.model, self.data, q)
        H = np.triu(H) + np.triu(H, 1).T
        bias = pin.rnea(self.model, self.data, q, v, np.zeros(self.model.nv), self.forces(wrench))
        tau, a = self.v(np.zeros(6), effort), self.v(np.zeros(6), rate_dot)
        mask = np.zeros(self.tree.freedoms)
        for name in prescribed:
            mask[self.tree.rate_slice(name)] = 1.0
        held = self.v(np.zeros(6), mask) > 0.0
        a[~held] = np.linalg.solve(H[np.ix_(~held, ~held)], (tau - bias)[~held] - H[np.ix_(~held, held)] @ a[held])
        tau = H @ a + bias
        return *self.unpack(a), self.unpack(tau)[1]
