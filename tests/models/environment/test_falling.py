"""Craft that fall beside an orbit, against DOP853 about the Earth and against Clohessy and Wiltshire."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import dual_quaternion
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.craft.base import Site
from gnc.models.craft.pose import PosePart, PoseStart
from gnc.models.environment.relative import from_hill
from gnc.models.environment.table import FreeSpace
from gnc.models.orbits.base import Hill, Kepler
from tests.models.environment.hill import clohessy_wiltshire, to_hill

MU, RADIUS, J2 = 3.986004418e14, 6378137.0, 1.08262668e-3
ELLIPSE = Kepler(semi_major_axis_km=10000.0, eccentricity=0.3, inclination_deg=63.0, mean_anomaly_deg=-20.0)
PLACE, VELOCITY = (30.0, -200.0, 50.0), (0.05, -0.02, 0.03)


def attraction(t, y):
    """Return the derivative of [r, v] by the gradient of the potential mu/r (1 - J2 (R/r)^2 (3 sin^2 - 1)/2)."""
    r = np.linalg.norm(y[:3])
    x = (y[2] / r) ** 2
    factor = 1.5 * J2 * (RADIUS / r) ** 2
    stretch = np.array([1 - 5 * x, 1 - 5 * x, 3 - 5 * x])
    return np.concatenate([y[3:], -MU / r**3 * y[:3] * (1 + factor * stretch)])


def flown(orbit, duration_s, h, **start):
    """Fly a craft of one trial; return its place and velocity from the origin, and the surroundings of the begin."""
    sky = orbit.sky(h, duration_s, falling=True)
    part = PosePart(
        start=PoseStart(axes="hill", place_m=PLACE, velocity_m_s=VELOCITY, **start), centre_m=(0.1, 0.2, 0.0)
    )
    craft = part.truth(Site("craft", Draws(0, np.arange(1)), sky, None))
    x = first = craft.start()
    for k in range(round(duration_s / h)):
        x = craft.step(x, (), k * h, h)
    return first, x, sky.at(0.0), sky.at(duration_s)


def test_two_craft_beside_an_ellipse_move_as_they_do_about_the_earth():
    """e = 0.3 with J2, half an hour through the perigee: DOP853 on either craft from the centre of the Earth."""
    duration = 1800.0
    first, last, begin, end = flown(ELLIPSE, duration, 0.5, rate_deg_s=(1.0, 2.0, -1.0))
    rides = []
    for beside in (np.zeros(6), np.concatenate([first.r_I[0], first.p_I[0] / 100.0])):
        start = np.concatenate([begin.r_I, begin.v_I]) + beside
        rides.append(solve_ivp(attraction, (0.0, duration), start, "DOP853", rtol=1e-13, atol=1e-6).y[:, -1])
    np.testing.assert_allclose(end.r_I, rides[0][:3], atol=0.05)  # the table's spline
    apart = rides[1] - rides[0]
    assert np.linalg.norm(apart[:3] - first.r_I[0]) > 100.0
    np.testing.assert_allclose(last.r_I[0], apart[:3], atol=2e-5)
    np.testing.assert_allclose(last.p_I[0] / 100.0, apart[3:], atol=2e-8)


def test_hills_orbit_is_clohessy_and_wiltshires():
    """From the same relative state, as seen in Hill's frame, for half an orbit."""
    duration, orbit = 2800.0, Hill(altitude_km=500.0)
    first, last, begin, end = flown(orbit, duration, 0.5)
    n = np.sqrt(MU / (RADIUS + 500e3) ** 3)
    x_H = to_hill(first.r_I[0], first.p_I[0] / 100.0, begin.r_I, begin.v_I)
    expected = clohessy_wiltshire(x_H, n, duration)
    found = to_hill(last.r_I[0], last.p_I[0] / 100.0, end.r_I, end.v_I)
    np.testing.assert_allclose(found[:3], expected[:3], atol=1e-4)
    np.testing.assert_allclose(found[3:], expected[3:], atol=1e-6)
    np.testing.assert_allclose(from_hill(expected, end.r_I, end.v_I)[0], last.r_I[0], atol=1e-4)


def test_a_start_in_hills_frame_is_where_it_is_said_to_be():
    first, _, begin, _ = flown(ELLIPSE, 1.0, 0.5)
    _, r_I = dual_quaternion.to_pose(first.dq_IB[0])
    x_H = to_hill(r_I, first.p_I[0] / 100.0, begin.r_I, begin.v_I)
    np.testing.assert_allclose(x_H[:3], PLACE, atol=1e-9)
    np.testing.assert_allclose(x_H[3:], np.array(VELOCITY), atol=1e-3)  # that of the centre of mass, at the origin


def test_hills_axes_need_an_orbit():
    with pytest.raises(InputError, match="no orbit"):
        PosePart(start=PoseStart(axes="hill")).truth(Site("craft", Draws(0, np.arange(1)), FreeSpace(), None))


def test_a_craft_that_rides_on_another_is_not_pulled_twice():
    sky = Hill().sky(0.5, 10.0, falling=True)
    craft = PosePart(start=PoseStart(place_m=PLACE)).truth(Site("craft", Draws(0, np.arange(2)), sky, None))
    x = craft.start()._replace(rides=np.array([0.0, 1.0]))
    force = craft.step(x, (), 0.0, 0.5).load_B[:, 3:]
    assert np.linalg.norm(force[0]) > 1e-3 and np.all(force[1] == 0.0)
