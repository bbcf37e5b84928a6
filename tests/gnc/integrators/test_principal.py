"""Principal moments and axes."""

import numpy as np
import pytest

from gnc.integrators.principal import principal
from tests.gnc.integrators.gyrostat import random_bodies


def bodies():
    """Return random bodies, some of them nearly or exactly symmetric or spherical, in random axes."""
    rng = np.random.default_rng(0)
    moments = np.sort(np.linalg.eigvalsh(random_bodies(rng, 2000, least=1e-4)))
    moments[::3, 1] = moments[::3, 0] * (1 + 10.0 ** rng.uniform(-17, -3, moments[::3, 0].shape))
    moments[::7] = moments[::7, :1] * (1 + 10.0 ** rng.uniform(-17, -3, moments[::7].shape))
    R = np.linalg.qr(rng.normal(size=(2000, 3, 3)))[0]
    J = np.einsum("nij,nj,nkj->nik", R, moments, R)
    return 0.5 * (J + np.swapaxes(J, 1, 2))


@pytest.mark.jit
def test_the_axes_make_the_inertia_diagonal():
    J = bodies()
    moments, A = principal(J)
    size = np.abs(J).max(axis=(1, 2), keepdims=True)
    assert np.max(np.abs((A * moments[:, None]) @ np.swapaxes(A, 1, 2) - J) / size) < 3e-15
    np.testing.assert_allclose(np.swapaxes(A, 1, 2) @ A, np.broadcast_to(np.eye(3), A.shape), atol=3e-15)


@pytest.mark.jit
def test_the_moments_are_those_of_lapack_in_ascending_order_and_the_axes_right_handed():
    J = bodies()
    moments, A = principal(J)
    assert np.max(np.abs(moments - np.linalg.eigvalsh(J)) / np.abs(J).max(axis=(1, 2))[:, None]) < 3e-15
    assert np.all(np.diff(moments) >= 0)
    np.testing.assert_allclose(np.linalg.det(A), 1.0, atol=1e-14)


@pytest.mark.parametrize(
    "moments", [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0], [2.0, 2.0, 1.0], [2.0, 2.0, 2.0]]
)
def test_a_diagonal_inertia_loses_nothing(moments):
    found, A = principal(np.diag(moments))
    np.testing.assert_array_equal(found, np.sort(moments))
    np.testing.assert_array_equal(np.abs(A) @ found, moments)
    assert np.linalg.det(A) == 1.0
