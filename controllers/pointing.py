"""Pointing guidance: one body axis to a direction, a second as near as can be to another, with feed-forward."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, jacobian
from gnc.controllers import directions
from gnc.controllers.directions import Direction
from gnc.controllers.reference import AttitudeReference
from gnc.errors import InputError
from gnc.linalg import array, cross
from gnc.models.environment import Environment
from gnc.models.parameters import store

Array = Any

OF_ENVIRONMENT = {
    "sun": directions.sun,
    "nadir": directions.nadir,
    "velocity": directions.velocity,
    "orbit normal": directions.orbit_normal,
}
GIVEN = "target"  # the direction is handed over with each call
PARALLEL = 1e-6  # sine below which two body axes count as one


@dataclass(frozen=True, eq=False, kw_only=True)
class Pointing:
    """The reference frame R with axis_B along one direction and roll_axis_B nearest to another.

    With e1 = p/|p|, e2 = p x s/|p x s|, e3 = e1 x e2 from the directions p, s, and likewise from the two body axes, R
    takes the one triad to the other. Its rate in the triad is (e3.n'/|n|, -e3.p'/|p|, e2.p'/|p|) with n = p x s;
    its acceleration is the exact derivative of that. Where p and s are parallel there is no roll, and the result NaN.
    """

    axis_B: Array  # (3) body axis that points
    at: str = "nadir"  # where it points: "sun", "nadir", "velocity", "orbit normal" or "target"
    roll_axis_B: Array  # (3) body axis that is turned about it
    roll: str = "orbit normal"  # where to, as near as can be
    triad_B: Array = field(init=False, repr=False)  # (3, 3) columns

    def __post_init__(self) -> None:
        choices = (*OF_ENVIRONMENT, GIVEN)
        check.one_of("at", self.at, choices)
        check.one_of("roll", self.roll, choices)
        a, b = check.vector("axis_B", self.axis_B, 3), check.vector("roll_axis_B", self.roll_axis_B, 3)
        if not np.linalg.norm(np.cross(a, b)) > PARALLEL * np.linalg.norm(a) * np.linalg.norm(b):
            raise InputError("roll_axis_B: expected another direction than axis_B, neither zero")
        store(self, axis_B=a, roll_axis_B=b, triad_B=triad(a, b))
        if self.at == self.roll:
            raise InputError(f"roll: {self.roll!r} is where the first axis points already; give another direction")

    def reference(self, env: Environment, target: Direction | None = None) -> AttitudeReference:
        """Return attitude, rate and acceleration of R in an environment, and for "target" the direction given."""
        p, s = self._direction(self.at, env, target), self._direction(self.roll, env, target)
        return AttitudeReference(*_reference(*p, *s, self.triad_B))

    def _direction(self, name: str, env: Environment, target: Direction | None) -> Direction:
        if name != GIVEN:
            return OF_ENVIRONMENT[name](env)
        if target is None:
            raise InputError("target: expected a Direction, as it is to be pointed at")
        return target


@batched("(3),(3)->(3,3)")
def triad(p, s):
    """Return the columns e1 = p/|p|, e2 = p x s/|p x s|, e3 = e1 x e2."""
    n = cross(p, s)
    e1, e2 = p / np.sqrt(p @ p), n / np.sqrt(n @ n)
    return array([e1, e2, cross(e1, e2)]).T


@batched("(12)->(3)")
def triad_rate(x):
    """Return the rate of the triad in its own axes from x = (p, s, p', s')."""
    p, s, p_rate, s_rate = x[:3], x[3:6], x[6:9], x[9:]
    n, n_rate = cross(p, s), cross(p_rate, s) + cross(p, s_rate)
    _, e2, e3 = triad(p, s).T
    return array([e3 @ n_rate / np.sqrt(n @ n), *(array([-(e3 @ p_rate), e2 @ p_rate]) / np.sqrt(p @ p))])


_slope = jacobian(triad_rate, wrt="x")


@batched("(3),(3),(3),(3),(3),(3),(3,3)->(4),(3),(3)")
def _reference(p, p_rate, p_acceleration, s, s_rate, s_acceleration, triad_B):
    """Return attitude, rate and acceleration of R, the latter two in R axes."""
    x = np.concatenate([p, s, p_rate, s_rate])
    x_rate = np.concatenate([p_rate, s_rate, p_acceleration, s_acceleration])
    q_IR = quaternion.from_matrix(triad(p, s) @ triad_B.T)
    return q_IR, triad_B @ triad_rate(x), triad_B @ (_slope(x) @ x_rate)
