"""The variational tree as the process model of a filter: base and joints, by the exact Jacobian of its step.

    process = TreeProcess(VariationalTree(tree, order=4), density=...)
    ekf = ProductEkf(process)
    belief = ekf.start(process.split(x), C)                     C over (xi, twist, gamma, rate)

The state has the base's pose and twist, then every joint's coordinates, then all rates; inputs are
[wrench on the base body, efforts].
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.estimators.chart import POSE, ROTATION, Chart, size, vector
from gnc.estimators.kernel_process import State, Stepwise, density_matrix
from gnc.models.multibody import TreeState, VariationalTree
from gnc.models.parameters import store

Array = Any


@dataclass(frozen=True, eq=False)
class TreeProcess(Stepwise):
    """A tree that drives a `ProductEkf`."""

    tree: VariationalTree
    density: Array = 0.0  # (..., n, n), (n,) or a number: of white noise in the error state [1/s]
    longest: float = math.inf  # [s] of a substep

    def __post_init__(self) -> None:
        """Validate once."""
        store(self, density=density_matrix(self.density, size(self.chart)))

    @functools.cached_property
    def chart(self) -> Chart:
        """Pose and twist of the base, coordinates of each joint, rates of all."""
        joints = [ROTATION if joint.kind == "S" else vector(len(joint.type.zero)) for joint in self.tree.tree.joints]
        return POSE, vector(6), *joints, vector(self.tree.tree.freedoms)

    @functools.cached_property
    def _order(self) -> Array:
        """Where the tree's errors (dxi, dgamma, dtwist, drate) stand, in the order of the chart."""
        d = self.tree.tree.freedoms
        return np.r_[0:6, 6 + d : 12 + d, 6 : 6 + d, 12 + d : 12 + 2 * d]

    def split(self, x: TreeState) -> State:
        """Return a tree's state by the parts of the chart."""
        tree = self.tree.tree
        return x.dq_IB, x.twist_B, *(x.gamma[..., tree.gamma_slice(joint.name)] for joint in tree.joints), x.rate

    def joined(self, x: State) -> TreeState:
        """Return the tree's state of the parts."""
        return TreeState(x[0], x[1], np.concatenate(x[2:-1], -1), x[-1])

    def advance(self, x: State, u: State, h: float) -> tuple[State, Array]:
        """Return the state after one step, and F."""
        inputs = u[0] if u else np.zeros(6 + self.tree.tree.freedoms)
        after, F, _ = self.tree.move_jacobian(self.joined(x), inputs, h, inputs=False)
        return self.split(after), F[..., self._order[:, None], self._order]
