"""Products and logarithms of rotations and poses beside SciPy and pytransform3d."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytransform3d.trajectories as trajectories
import pytransform3d.transformations as transformations
from scipy.spatial.transform import Rotation

from benchmarks.timing import Row, interleaved
from gnc import dual_quaternion, quaternion


def random_poses(trials: int, seed: int) -> np.ndarray:
    """Draw unit dual quaternions."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(trials, 4))
    return dual_quaternion.from_pose(q / np.linalg.norm(q, axis=1)[:, None], rng.normal(size=(trials, 3)))


def _pose_product(trials: int) -> dict[str, float]:
    p, q = random_poses(trials, 1), random_poses(trials, 2)
    if trials == 1:
        p, q = p[0], q[0]
        peer = lambda: transformations.concatenate_dual_quaternions(p, q)  # noqa: E731
    else:
        peer = lambda: trajectories.batch_concatenate_dual_quaternions(p, q)  # noqa: E731
    np.testing.assert_allclose(peer(), dual_quaternion.mul(p, q), atol=1e-13)
    return interleaved({"gnc": lambda: dual_quaternion.mul(p, q), "peer": peer})


def _rotation_product(trials: int) -> dict[str, float]:
    a, b = random_poses(trials, 3)[:, :4], random_poses(trials, 4)[:, :4]
    ours, theirs = (a, b) if trials > 1 else (a[0], b[0]), [Rotation.from_quat(x, scalar_first=True) for x in (a, b)]
    return interleaved({"gnc": lambda: quaternion.mul(*ours), "peer": lambda: theirs[0] * theirs[1]})


def rows() -> Iterator[Row]:
    """Measure the products for one trial and for a thousand."""
    for trials, target in ((1, ">= 50x"), (1000, ">= 25x")):
        best = _pose_product(trials)
        case = f"dual-quaternion product, N = {trials}"
        yield Row(case, "gnc", best["gnc"] / trials * 1e9, "ns", "pytransform3d", best["peer"] / best["gnc"], target)
    for trials in (1, 1000):
        best = _rotation_product(trials)
        case = f"quaternion product, N = {trials}"
        yield Row(case, "gnc", best["gnc"] / trials * 1e9, "ns", "SciPy Rotation", best["peer"] / best["gnc"])
