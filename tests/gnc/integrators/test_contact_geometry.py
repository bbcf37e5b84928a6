"""Points against surfaces, and the directions of contact in generalised velocities."""

import numpy as np
import pytest

from gnc import quaternion
from gnc.batch import jacobian
from gnc.errors import InputError
from gnc.integrators import contact, perfect_constraint
from gnc.integrators.contact import Plane, Sphere, Surface, around, directions, tangents


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def test_a_plane_measures_height(rng):
    n, x = unit(rng.normal(size=3)), rng.normal(size=(4, 5, 3))
    gap, normal = Plane(n, 0.5).gap_and_normal(x)
    np.testing.assert_allclose(gap, x @ n - 0.5, atol=1e-15)
    np.testing.assert_allclose(normal, np.broadcast_to(n, x.shape), atol=1e-15)


def test_a_sphere_measures_distance_from_its_surface(rng):
    centre, x = np.array([1.0, 2.0, 3.0]), rng.normal(size=(7, 3))
    gap, normal = Sphere(centre, 0.5).gap_and_normal(x)
    np.testing.assert_allclose(x - normal * gap[:, None], centre + 0.5 * normal, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=-1), 1, atol=1e-15)


def test_a_point_at_the_very_centre_of_a_sphere_is_lost_alone():
    gap, normal = Sphere((0.0, 0.0, 0.0), 0.5).gap_and_normal(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    assert np.isnan(normal[0]).all()
    np.testing.assert_array_equal((gap[1], *normal[1]), (0.5, 0, 0, 1))


@pytest.mark.parametrize("n", [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, -1, 0], [1e-9, 0, -1], [3, -2, 1]])
def test_tangents_complete_a_right_handed_frame(n):
    n = unit(np.array(n, float))
    frame = np.array([n, *tangents(n)])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(frame) == pytest.approx(1)


def test_directions_give_the_velocity_of_the_material_point_of_the_seven_degree_body(rng):
    """Against the derivative of r + p X p* along p and r, at unit p."""
    q, X, n = unit(rng.normal(size=4)), rng.normal(size=3), unit(rng.normal(size=3))
    v, nu, Om = rng.normal(size=3), 0.7, rng.normal(size=3)
    p_dot = perfect_constraint.quaternion_rate(q, nu, Om)
    velocity = v + jacobian(perfect_constraint.place, "p")(np.zeros(3), q, X) @ p_dot
    expected = np.array([n, *tangents(n)]) @ velocity
    np.testing.assert_allclose(directions(q, X, 0.0, n) @ [*v, nu, *Om], expected, atol=1e-14)


def test_a_rounded_point_touches_with_the_deepest_point_of_its_ball(rng):
    q, X, n = unit(rng.normal(size=4)), rng.normal(size=3), unit(rng.normal(size=3))
    deepest = X - 0.3 * quaternion.inverse_rotate(q, n)
    np.testing.assert_allclose(directions(q, X, 0.3, n), directions(q, deepest, 0.0, n), atol=1e-15)
    r = rng.normal(size=3)
    gap, _ = around(q, r, X[None], np.array([0.3]), [Plane(n)])
    place = perfect_constraint.place(r, q, deepest)
    np.testing.assert_allclose(gap, Plane(n).gap_and_normal(place[None])[0], atol=1e-14)


def test_contacts_count_surface_by_surface(rng):
    q, r, X = unit(rng.normal(size=(6, 4))), rng.normal(size=(6, 3)), rng.normal(size=(2, 3))
    surfaces: list[Surface] = [Plane(), Sphere((1.0, 2.0, 3.0), 0.5), Plane((1.0, 0.0, 0.0), -2.0)]
    gap, normal = around(q, r, X, np.zeros(2), surfaces)
    assert gap.shape == (6, 6) and normal.shape == (6, 6, 3)
    x = perfect_constraint.place(r[:, None], q[:, None], X)
    np.testing.assert_allclose(gap[:, :2], x[..., 2], atol=1e-14)
    np.testing.assert_allclose(gap[:, 4:], x[..., 0] + 2, atol=1e-14)


def test_answers_are_the_directions_divided_by_the_mass(rng):
    Theta = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, -0.1], [0.2, -0.1, 4.0]])
    W = rng.normal(size=(3, 7))
    expected = W @ np.linalg.inv(perfect_constraint.mass(3.0, Theta))
    np.testing.assert_allclose(contact.answers(W, 3.0, Theta), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Plane((0.0, 0.0, 2.0)), "normal_I"),
        (lambda: Plane(offset=np.nan), "offset"),
        (lambda: Sphere((0.0, 0.0), 1.0), "centre_I"),
        (lambda: Sphere((0.0, 0.0, 0.0), -1.0), "radius"),
    ],
)
def test_an_impossible_surface_is_refused_by_name(make, message):
    with pytest.raises(InputError, match=message):
        make()
