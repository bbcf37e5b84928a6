"""Drag and radiation pressure against what is known of plates and boxes."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.environment import Atmosphere, Drag, Environment, Plates, SolarPressure, box
from gnc.models.environment.constants import SOLAR_PRESSURE

RNG = np.random.default_rng(0)
Q = Rotation.random(50, rng=RNG).as_quat(scalar_first=True)
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])
SIZE, CENTRE = np.array([0.2, 0.3, 0.5]), np.array([0.02, -0.01, 0.05])
RHO = 1e-12
AIR = Atmosphere.exponential(RHO, 500e3, 60e3)
EARTH_RATE = 7.292115e-5


def environment(sun_I=(1.0, 0.0, 0.0), shadow=0.0):
    """Return a place 500 km above the equator, on a circular orbit ahead along y."""
    r_I, v_I = np.array([6878137.0, 0.0, 0.0]), np.array([0.0, 7612.6, 0.0])
    return Environment(r_I, v_I, np.zeros(3), np.asarray(sun_I, float), np.asarray(shadow, float))


def plate(normal_B, centre_B=(0.0, 0.0, 0.0), area=2.0):
    return Plates([area], [normal_B], [centre_B])


def shade(direction_B):
    """Return the area that a box hides from a direction."""
    return np.abs(direction_B / np.linalg.norm(direction_B)) @ (SIZE.prod() / SIZE)


# Drag


def test_a_plate_across_the_flow_takes_half_rho_c_a_v_squared_of_air_that_turns_with_the_earth():
    speed = 7612.6 - EARTH_RATE * 6878137.0
    force = Drag(plate((0.0, 1.0, 0.0)), 2.2, atmosphere=AIR).force(LEVEL, environment())
    np.testing.assert_allclose(force, [0.0, -0.5 * RHO * 2.2 * 2.0 * speed**2, 0.0], rtol=1e-9, atol=1e-20)
    behind = Drag(plate((0.0, -1.0, 0.0)), 2.2, atmosphere=AIR).force(LEVEL, environment())
    np.testing.assert_array_equal(behind, 0.0)


def test_a_slanted_plate_takes_the_cosine_along_the_flow():
    flat, slanted = (
        Drag(plate((np.sin(a), np.cos(a), 0.0)), atmosphere=AIR).force(LEVEL, environment()) for a in (0.0, 1.0)
    )
    np.testing.assert_allclose(slanted, np.cos(1.0) * flat, rtol=1e-12)


def test_a_box_is_dragged_by_its_shade_through_its_centre():
    env = environment()
    flow_I = env.v_I - np.cross([0.0, 0.0, EARTH_RATE], env.r_I)
    drag = Drag(box(SIZE, CENTRE), 2.0, atmosphere=AIR)
    force, torque = drag.force(Q, env), drag.torque(Q, env)
    for k, q_IB in enumerate(Q):
        flow_B = quaternion.inverse_rotate(q_IB, flow_I)
        expected = -RHO * shade(flow_B) * flow_B * np.linalg.norm(flow_B)
        np.testing.assert_allclose(force[k], expected, rtol=0, atol=1e-9 * float(np.linalg.norm(expected)))
        arm = float(np.linalg.norm(CENTRE) * np.linalg.norm(expected))
        np.testing.assert_allclose(torque[k], np.cross(CENTRE, expected), rtol=0, atol=1e-8 * arm)


# Radiation pressure


@pytest.mark.parametrize(
    ("mirrored", "scattered", "factor"), [(0.0, 0.0, 1.0), (1.0, 0.0, 2.0), (0.0, 1.0, 5.0 / 3.0), (0.4, 0.3, 1.6)]
)
def test_a_plate_square_to_the_sun_takes_what_its_surface_makes_of_the_light(mirrored, scattered, factor):
    """Absorbed light pushes once, mirrored twice, scattered (Lambert) 5/3 times."""
    pressure = SolarPressure(plate((1.0, 0.0, 0.0)), mirrored, scattered)
    force = pressure.force(LEVEL, environment())
    np.testing.assert_allclose(force, [-factor * 2.0 * 1361.0 / 299792458.0, 0.0, 0.0], rtol=1e-12, atol=1e-20)


def test_a_mirror_is_pushed_along_its_normal_by_the_cosine_squared():
    a = 0.8
    force = SolarPressure(plate((np.cos(a), np.sin(a), 0.0)), mirrored=1.0).force(LEVEL, environment())
    expected = -2.0 * SOLAR_PRESSURE * 2.0 * np.cos(a) ** 2 * np.array([np.cos(a), np.sin(a), 0.0])
    np.testing.assert_allclose(force, expected, rtol=1e-12, atol=1e-20)


def test_a_black_box_is_pushed_by_its_shade_through_its_centre():
    env = environment(sun_I=(0.6, 0.0, 0.8))
    pressure = SolarPressure(box(SIZE, CENTRE))
    force, torque = pressure.force(Q, env), pressure.torque(Q, env)
    for k, q_IB in enumerate(Q):
        sun_B = quaternion.inverse_rotate(q_IB, env.sun_I)
        expected = -SOLAR_PRESSURE * shade(sun_B) * sun_B
        np.testing.assert_allclose(force[k], expected, rtol=0, atol=1e-12 * SOLAR_PRESSURE)
        np.testing.assert_allclose(torque[k], np.cross(CENTRE, expected), rtol=0, atol=1e-12 * SOLAR_PRESSURE)


def test_no_light_no_push_and_half_the_light_half_the_push():
    pressure = SolarPressure(box(SIZE, CENTRE), 0.3, 0.3)
    full, half, none = (pressure.torque(Q, environment(shadow=k)) for k in (0.0, 0.5, 1.0))
    np.testing.assert_allclose(half, 0.5 * full, rtol=1e-14)
    np.testing.assert_array_equal(none, 0.0)


# Plates


def test_a_box_has_six_faces_that_close():
    faces = box(SIZE, CENTRE)
    assert faces.count == 6 and faces.area.sum() == pytest.approx(2 * (0.06 + 0.15 + 0.1))
    np.testing.assert_allclose(faces.area @ faces.normal_B, 0.0, atol=1e-16)
    volume = np.sum(faces.area * np.sum(faces.normal_B * faces.centre_B, axis=-1)) / 3.0  # Gauss
    assert volume == pytest.approx(SIZE.prod())


def test_normals_are_made_unit():
    np.testing.assert_allclose(plate((3.0, 0.0, 4.0)).normal_B, [[0.6, 0.0, 0.8]])


def test_dispersed_plates_act_each_on_their_own_trial():
    centres = RNG.normal(0, 0.1, (50, 1, 3))
    dispersed = Drag(Plates([1.0], [[0.0, 1.0, 0.0]], centres)).torque(Q, environment())
    for k in (0, 17, 49):
        alone = Drag(Plates([1.0], [[0.0, 1.0, 0.0]], centres[k])).torque(Q[k], environment())
        np.testing.assert_array_equal(dispersed[k], alone)
    reflecting = SolarPressure(box(SIZE), mirrored=RNG.uniform(0, 0.5, (50, 6)))
    assert reflecting.force(Q, environment()).shape == (50, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Plates([-1.0], [[1, 0, 0]], [[0, 0, 0]]), "area .trial 0.: -1 is negative"),
        (lambda: Plates(1.0, [1, 0, 0], [0, 0, 0]), "area: expected .*plates., one for each"),
        (lambda: Plates([], np.zeros((0, 3)), np.zeros((0, 3))), "area: expected .*plates., one for each"),
        (lambda: Plates([1.0, 1.0], [[1, 0, 0]], [[0, 0, 0]]), "normal_B: expected"),
        (lambda: Plates([1.0], [[0, 0, 0]], [[0, 0, 0]]), "normal_B: a plate without direction"),
        (lambda: box((1.0, 2.0)), "size: expected the three lengths of a box"),
        (lambda: box((1.0, 2.0, 0.0)), "size .trial 2.: 0 is not positive"),
        (lambda: Drag(box(SIZE), coefficient=-2.0), "coefficient: -2 is negative"),
        (lambda: SolarPressure(box(SIZE), 0.7, 0.4), "mirrored, scattered: together more than all the light"),
        (lambda: SolarPressure(box(SIZE), [0.7, 0.4]), "mirrored: expected"),
    ],
)
def test_impossible_plates_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
