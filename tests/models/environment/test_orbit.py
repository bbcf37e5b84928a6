"""Kepler's ellipse and its drift against integrated equations of motion."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc.errors import InputError
from gnc.models.environment import KeplerOrbit, sun_synchronous_inclination
from gnc.models.environment.constants import EARTH_J2, EARTH_MU, EARTH_RADIUS
from gnc.models.environment.orbit import eccentric_anomaly

RNG = np.random.default_rng(0)


def gravity(r, J2):
    """Return the acceleration in the field of a point mass and J2, as the gradient of the potential."""
    radius = np.linalg.norm(r)
    k = 1.5 * J2 * EARTH_MU * EARTH_RADIUS**2 / radius**5
    z2 = 5.0 * (r[2] / radius) ** 2
    return -EARTH_MU * r / radius**3 - k * r * np.array([1.0 - z2, 1.0 - z2, 3.0 - z2])


def fly(state, times, J2):
    def rate(_, y):
        return np.concatenate([y[3:], gravity(y[:3], J2)])

    flight = solve_ivp(rate, (0.0, times[-1]), np.concatenate(state), "DOP853", times, rtol=3e-14, atol=1e-7)
    return flight.y[:3].T, flight.y[3:].T


@pytest.mark.parametrize("e", [0.0, 0.01, 0.6])
def test_without_j2_an_orbit_is_the_integrated_two_body_motion(e):
    orbit = KeplerOrbit(6.9e6 / (1.0 - e), e, 1.1, 0.4, 2.0, 5.0, J2=0.0)
    t = np.linspace(0.0, 2 * float(orbit.period), 30)
    r_I, v_I = fly(orbit.at(0.0), t, 0.0)
    state = orbit.at(t)
    np.testing.assert_allclose(state.r_I, r_I, rtol=0, atol=1e-3)
    np.testing.assert_allclose(state.v_I, v_I, rtol=0, atol=1e-6)


def test_velocity_is_the_derivative_of_position_drift_included():
    orbit = KeplerOrbit(7.3e6, 0.05, 1.7, 0.4, 2.0, 5.0)
    t, h = np.linspace(0.0, 2e5, 40), 2.0
    plus, minus, far_plus, far_minus = (orbit.at(t + k * h).r_I for k in (1, -1, 2, -2))
    slope = (8.0 * (plus - minus) - (far_plus - far_minus)) / (12.0 * h)
    np.testing.assert_allclose(orbit.at(t).v_I, slope, rtol=0, atol=1e-6)


def node_and_latitude_argument(r, v):
    momentum = np.cross(r, v)
    node = np.unwrap(np.arctan2(momentum[:, 0], -momentum[:, 1]))
    ahead = np.stack([np.cos(node), np.sin(node), np.zeros(len(r))], axis=-1)
    across = np.cross(momentum / np.linalg.norm(momentum, axis=-1)[:, None], ahead)
    return node, np.unwrap(np.arctan2(np.sum(r * across, -1), np.sum(r * ahead, -1)))


@pytest.mark.parametrize("inclination_deg", [30.0, 63.4, 97.4])
@pytest.mark.jit
def test_the_drift_of_the_node_is_that_of_the_integrated_field_of_j2(inclination_deg):
    """Means over whole turns leave terms of second order, J2 relative; the bound is ten times that."""
    orbit = KeplerOrbit(7.0e6, 0.001, np.radians(inclination_deg))
    t = np.linspace(0.0, 15 * float(orbit.period), 15 * 40 + 1)
    node, argument = node_and_latitude_argument(*fly(orbit.at(0.0), t, EARTH_J2))
    whole = argument - argument[0] <= 2 * np.pi * 14
    slope = np.polyfit(argument[whole], node[whole], 1)[0]  # per radian along the orbit
    expected, along = node_and_latitude_argument(*orbit.at(t))
    assert slope == pytest.approx(np.polyfit(along[whole], expected[whole], 1)[0], rel=0.01)


def test_a_sun_synchronous_node_goes_once_round_in_a_year():
    a = 7.178e6
    orbit = KeplerOrbit(a, inclination=sun_synchronous_inclination(a))
    year = 365.24219 * 86400.0
    r0, v0 = orbit.at(0.0)
    r1, v1 = orbit.at(year)
    assert float(orbit.nodal_rate) * year == pytest.approx(2 * np.pi, rel=1e-12)
    before, after = np.cross(r0, v0), np.cross(r1, v1)  # tilted by their share of the drift, 4e-6
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-5 * float(np.linalg.norm(before)))


@pytest.mark.parametrize(("altitude_km", "usual_deg"), [(500, 97.40), (800, 98.60), (1000, 99.48)])
def test_sun_synchronous_inclinations_are_the_usual_ones(altitude_km, usual_deg):
    """Values in general use, to 0.01 deg; no particular table was at hand."""
    inclination = sun_synchronous_inclination(EARTH_RADIUS + altitude_km * 1e3)
    assert np.degrees(inclination) == pytest.approx(usual_deg, abs=0.006)


@pytest.mark.jit
def test_the_perigee_stands_still_at_the_critical_inclination_and_the_node_over_the_poles():
    critical = KeplerOrbit(2.66e7, 0.7, np.arccos(np.sqrt(0.2)), 0.3, 1.0, 0.0)
    year = 86400.0 * 365
    r_I = critical.at(year + np.linspace(0.0, float(critical.period), 20001)).r_I
    radii = np.linalg.norm(r_I, axis=-1)
    latitude_sine = r_I[np.argmin(radii), 2] / radii.min()
    assert latitude_sine == pytest.approx(np.sqrt(0.8) * np.sin(1.0), abs=1e-3)
    assert abs(float(KeplerOrbit(7e6, inclination=np.pi / 2).nodal_rate)) < 1e-20


@pytest.mark.jit
def test_keplers_equation_is_solved_to_round_off_for_every_eccentricity():
    e = np.concatenate([[0.0, 1e-9, 0.99], RNG.uniform(0.0, 0.99, 300)])[:, None]
    M = np.concatenate(
        [[0.0, 1e-12, -1e-6, np.pi, -np.pi, 50.0], RNG.uniform(-10.0, 10.0, 400), RNG.normal(0, 1e-3, 99)]
    )
    E = eccentric_anomaly(M, e)
    off = E - e * np.sin(E) - (M - 2 * np.pi * np.rint(M / (2 * np.pi)))
    assert np.abs(off).max() < 4e-15


def test_dispersed_orbits_have_the_bits_of_each_alone():
    a, M = 7e6 + RNG.normal(0, 1e3, 50), RNG.uniform(0, 6, 50)
    together = KeplerOrbit(a, 0.01, 1.7, mean_anomaly=M).at(1234.5)
    for k in range(50):
        alone = KeplerOrbit(a[k], 0.01, 1.7, mean_anomaly=M[k]).at(1234.5)
        np.testing.assert_array_equal(together.r_I[k], alone.r_I)
        np.testing.assert_array_equal(together.v_I[k], alone.v_I)


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ({"a": 500e3}, "a: perigee radius 500 km is inside the Earth; a is measured from the centre"),
        ({"a": 7e6, "e": 0.2}, "a: perigee radius 5600 km is inside the Earth"),
        ({"a": 7e6, "e": 1.2}, "e: 1.2 is too much; give an ellipse"),
        ({"a": 7e6, "e": -0.1}, "e: -0.1 is negative"),
        ({"a": np.nan}, "a: nan is not finite"),
        ({"a": 7e6, "raan": np.inf}, "raan: inf is not finite"),
        ({"a": 7e6, "epoch": "tomorrow"}, "epoch: 'tomorrow' is no date"),
    ],
)
def test_impossible_elements_are_refused(elements, message):
    with pytest.raises(InputError, match=message):
        KeplerOrbit(**elements)


def test_no_orbit_above_12_352_km_is_sun_synchronous():
    with pytest.raises(InputError, match="a: no orbit so high is sun-synchronous"):
        sun_synchronous_inclination(12.36e6)
    assert np.degrees(sun_synchronous_inclination(12.35e6)) > 177.5
