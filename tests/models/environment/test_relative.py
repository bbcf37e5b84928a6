"""Hill's frame against the orbit that it rides on."""

import numpy as np
from scipy.spatial.transform import Rotation

from gnc import quaternion
from gnc.models.environment import KeplerOrbit
from gnc.models.environment.relative import from_hill, hill_frame
from tests.models.environment.hill import to_hill

RNG = np.random.default_rng(0)


def test_hills_frame_points_outward_and_ahead_and_turns_with_the_orbit():
    orbit = KeplerOrbit(7e6, 0.02, 1.0, 2.0, 3.0, 0.5, J2=0.0)
    r, v = orbit.at(100.0)
    x, y, z = quaternion.to_matrix(hill_frame(r, v)).T
    np.testing.assert_allclose(x, r / np.linalg.norm(r), atol=1e-15)
    np.testing.assert_allclose(z, np.cross(r, v) / np.linalg.norm(np.cross(r, v)), atol=1e-15)
    assert y @ v > 0.99 * np.linalg.norm(v)
    h = 0.01  # a point that rests in H moves in I as the frame turns
    x_H = np.array([100.0, -50.0, 30.0, 0.0, 0.0, 0.0])
    before, after = (from_hill(x_H, *orbit.at(100.0 + k))[0] for k in (-h, h))
    np.testing.assert_allclose(from_hill(x_H, r, v)[1], (after - before) / (2 * h), rtol=0, atol=1e-9)


def test_hills_frame_there_and_back_is_the_identity():
    target = [Rotation.random(30, rng=RNG).apply(v) for v in ([6878137.0, 0.0, 0.0], [0.0, 7612.6, 0.0])]
    x_H = RNG.normal(0, 100, (30, 6))
    for k, (rho, rate) in enumerate(zip(*from_hill(x_H, *target), strict=True)):
        np.testing.assert_allclose(to_hill(rho, rate, target[0][k], target[1][k]), x_H[k], rtol=0, atol=1e-12)
