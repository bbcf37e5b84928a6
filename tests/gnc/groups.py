"""The groups as one table, and vectors of their algebras with every angle that ever gave trouble."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from gnc import dual_quaternion, lie, quaternion
from gnc.batch import JIT_OFF

Array = Any
ULP = 2.0**-52
SHAPES = ((), (7,), (2, 3))
LENGTHS = (0.0, 1e-300, 1e-160, 1e-20, 1.0, 1e3)
# 0.2, 2, 3.16 and 4 are where the formulas change hands.
ANGLES = (0.0, 1e-300, 1e-160, 1e-20, 1e-8, 1e-4, 0.199, 0.201, 1.0, 1.99, 2.01, 3.0, np.pi - 1e-8, np.pi - 1e-14)
BEYOND_PI = (np.pi, 3.16, 3.17, 3.99, 4.01, 5.0)

# Without the JIT the point is that every line runs; kernels are a thousand times slower then.
laws = settings(max_examples=4 if JIT_OFF else 25, deadline=None, derandomize=True)


@dataclass(frozen=True)
class Group:
    """A Lie group: algebra vectors of `dim` numbers, angular part first, and elements as arrays of rank `rank`."""

    name: str
    dim: int
    identity: Array
    mul: Callable[..., Array]
    inverse: Callable[..., Array]
    exp: Callable[..., Array]
    log: Callable[..., Array]
    Ad: Callable[..., Array]
    left_jacobian: Callable[..., Array]
    right_jacobian: Callable[..., Array]
    left_jacobian_inverse: Callable[..., Array]
    right_jacobian_inverse: Callable[..., Array]
    rank: int = 1
    double_cover: bool = False

    def error(self, g: Array, h: Array) -> float:
        """Return the largest difference of two elements, against the largest number in them, over all trials."""
        core = tuple(range(-self.rank, 0))
        size = np.maximum(1.0, np.max(np.abs(h), axis=core))
        apart = [np.max(np.abs(g - sign * h), axis=core) / size for sign in ((1, -1) if self.double_cover else (1,))]
        return float(np.max(np.min(apart, axis=0)))

    def __str__(self) -> str:
        return self.name


_SO3: dict[str, Any] = {
    "dim": 3,
    "left_jacobian": lie.so3_left_jacobian,
    "right_jacobian": lie.so3_right_jacobian,
    "left_jacobian_inverse": lie.so3_left_jacobian_inverse,
    "right_jacobian_inverse": lie.so3_right_jacobian_inverse,
}
_SE3: dict[str, Any] = {
    "dim": 6,
    "left_jacobian": lie.se3_left_jacobian,
    "right_jacobian": lie.se3_right_jacobian,
    "left_jacobian_inverse": lie.se3_left_jacobian_inverse,
    "right_jacobian_inverse": lie.se3_right_jacobian_inverse,
}
QUATERNIONS = Group(
    name="unit quaternions",
    identity=np.eye(4)[0],
    mul=quaternion.mul,
    inverse=quaternion.conj,
    exp=quaternion.exp,
    log=quaternion.log,
    Ad=quaternion.to_matrix,
    double_cover=True,
    **_SO3,
)
ROTATION_MATRICES = Group(
    name="SO(3) matrices",
    identity=np.eye(3),
    mul=np.matmul,
    inverse=lambda R: np.swapaxes(R, -1, -2),
    exp=lie.so3_exp,
    log=lie.so3_log,
    Ad=lambda R: R,
    rank=2,
    **_SO3,
)
POSE_MATRICES = Group(
    name="SE(3) matrices",
    identity=np.eye(4),
    mul=np.matmul,
    inverse=lie.se3_inverse,
    exp=lie.se3_exp,
    log=lie.se3_log,
    Ad=lie.Ad,
    rank=2,
    **_SE3,
)
DUAL_QUATERNIONS = Group(
    name="unit dual quaternions",
    identity=np.eye(8)[0],
    mul=dual_quaternion.mul,
    inverse=dual_quaternion.conj,
    exp=dual_quaternion.exp,
    log=dual_quaternion.log,
    Ad=dual_quaternion.adjoint,
    double_cover=True,
    **_SE3,
)
GROUPS = (QUATERNIONS, ROTATION_MATRICES, POSE_MATRICES, DUAL_QUATERNIONS)


@st.composite
def vectors(draw, dim: int, count: int = 1, beyond_pi: bool = False, lengths: tuple[float, ...] = LENGTHS):
    """Draw `count` stacks of algebra vectors of one shape: random directions, angles and lengths from the tables."""
    shape = draw(st.sampled_from(SHAPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    angles = st.one_of(st.sampled_from(ANGLES + BEYOND_PI * beyond_pi), st.floats(1e-300, np.pi - 1e-14))
    n = int(np.prod(shape))

    def stack():
        scale = np.reshape([draw(angles) for _ in range(n)], (*shape, 1))
        angular = directions(rng, *shape) * scale
        if dim == 3:
            return angular
        scale = np.reshape([draw(st.sampled_from(lengths)) for _ in range(n)], (*shape, 1))
        return np.concatenate([angular, directions(rng, *shape) * scale], axis=-1)

    stacks = [stack() for _ in range(count)]
    return stacks if count > 1 else stacks[0]


def directions(rng: np.random.Generator, *shape: int, dim: int = 3) -> Array:
    """Return random unit vectors."""
    x = rng.normal(size=(*shape, dim))
    return x / np.linalg.norm(x, axis=-1, keepdims=True)
