"""A body in contact against mechanics that can be done by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.errors import InputError
from gnc.integrators.contact import around
from gnc.models.contact_body import ContactBody, Motion, Plane, Sphere

G = 9.81
DOWN = (0.0, 0.0, -G)
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])
NOTHING = np.zeros(3)
GROUND = (Plane(),)
jit = pytest.mark.jit


def corners(a, b, c):
    return np.array([[x, y, z] for x in (-a, a) for y in (-b, b) for z in (-c, c)])


def box(a=0.5, b=0.3, c=0.2, m=2.0, surfaces=GROUND, **laws):
    Theta = m / 3 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    return ContactBody(m, Theta, corners(a, b, c), surfaces, gravity_I=laws.pop("gravity_I", DOWN), **laws)


def ball(R=0.1, m=1.0, surfaces=GROUND, **laws):
    Theta = 0.4 * m * R * R * np.eye(3)
    return ContactBody(m, Theta, [NOTHING], surfaces, radii=R, gravity_I=laws.pop("gravity_I", DOWN), **laws)


def incline(angle):
    """Gravity seen from axes in which the slope is level and falls towards +x."""
    return G * np.array([np.sin(angle), 0.0, -np.cos(angle)])


def tumbling(trials=(), height=2.0):
    rng = np.random.default_rng(9)
    q = rng.normal(size=(*trials, 4))
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    r = np.broadcast_to([0.0, 0.0, height], (*trials, 3))
    return Motion(q, r, 2 * rng.normal(size=(*trials, 3)), rng.normal(size=(*trials, 3)))


# Energy


@jit
def test_a_box_without_friction_and_loss_bounces_at_constant_energy():
    body = box(restitution=1.0)
    flight = body.fly(tumbling((3,)), 10_000, 0.005)
    E = body.energy(flight.x)
    assert np.abs(E / E[0] - 1).max() <= 1e-11
    assert (flight.touch.load > 0).any(-1).sum(axis=0).min() > 50
    assert flight.touch.converged.all()


@jit
@pytest.mark.parametrize(("e", "mu"), [(0.0, 0.5), (0.6, 0.3), (0.6, 0.0), (1.0, 0.3)])
def test_no_step_of_a_tumbling_box_gains_energy(e, mu):
    body = box(restitution=e, friction=mu)
    flight = body.fly(tumbling((3,)), 1500, 0.005)
    E = body.energy(flight.x)
    assert (np.diff(E, axis=0) / E[0]).max() <= 1e-12
    assert (E[-1] < 0.6 * E[0]).all()  # the box fell, bounced and lost


@jit
def test_penetration_stays_below_the_way_of_the_fastest_corner_in_one_step():
    body, h = box(restitution=0.5, friction=0.3), 0.005
    x = body.fly(tumbling((3,)), 2000, h).x
    gap, _ = around(x.q_IB, x.r_IB, body.points_B, body.radii, body.surfaces)
    fastest = (np.linalg.norm(x.v_I, axis=-1) + np.linalg.norm(x.w_B, axis=-1) * np.linalg.norm(body.points_B[0])).max()
    assert gap.min() > -h * fastest


# A ball


@pytest.mark.parametrize("e", [0.0, 0.5, 0.9, 1.0])
def test_a_ball_leaves_with_e_times_the_speed_it_came_with(e):
    body, h = ball(restitution=e, gravity_I=NOTHING), 0.01
    x = Motion(LEVEL, np.array([0.0, 0.0, 0.15]), NOTHING, np.array([0.3, 0.0, -1.0]))
    for _ in range(10):
        x = body.step(x, np.zeros(6), h)
    np.testing.assert_allclose(x.v_I, [0.3, 0.0, e], atol=1e-14)


@jit
def test_a_bouncing_ball_reaches_e_squared_of_the_height():
    body, h = ball(restitution=0.7), 0.0005
    x = Motion(LEVEL, np.array([0.0, 0.0, 1.1]), NOTHING, NOTHING)
    z = body.fly(x, 1700, h).x.r_IB[:, 2] - 0.1
    landed = np.argmax(z < 1e-3)
    assert z[landed:].max() == pytest.approx(0.7**2, rel=0.005)


def test_a_ball_rolls_down_an_incline_at_five_sevenths_of_the_slope():
    angle = 0.3
    body, h, steps = ball(friction=0.5, gravity_I=incline(angle)), 0.01, 100
    flight = body.fly(Motion(LEVEL, np.array([0.0, 0.0, 0.1]), NOTHING, NOTHING), steps, h)
    a = 5 / 7 * G * np.sin(angle)
    np.testing.assert_allclose(flight.x.v_I[:, 0], a * flight.t, atol=1e-11)
    np.testing.assert_allclose(flight.x.w_B[:, 1] * 0.1, a * flight.t, atol=1e-11)
    np.testing.assert_allclose(flight.x.r_IB[-1, 0], a * (steps * h) ** 2 / 2, rtol=1e-12)


def test_a_sliding_ball_ends_rolling_at_five_sevenths_of_its_speed():
    body, mu, h = ball(friction=0.2), 0.2, 0.002
    flight = body.fly(Motion(LEVEL, np.array([0.0, 0.0, 0.1]), NOTHING, np.array([1.0, 0.0, 0.0])), 400, h)
    sliding = flight.t < 2 / 7 / (mu * G) - h
    np.testing.assert_allclose(flight.x.v_I[sliding, 0], 1 - mu * G * flight.t[sliding], atol=1e-12)
    slip = flight.x.v_I[:, 0] - 0.1 * flight.x.w_B[:, 1]
    assert np.abs(slip[-50:]).max() < 1e-12  # the hold has stilled the contact
    assert flight.x.v_I[-1, 0] == pytest.approx(5 / 7, rel=1e-3)


def test_without_the_hold_a_sticking_contact_changes_sign_in_every_step():
    """Why the hold is there: it is left out for e = 1, where nothing may be lost."""
    body = ball(friction=0.2, restitution=1.0)
    x = body.fly(Motion(LEVEL, np.array([0.0, 0.0, 0.1]), NOTHING, np.array([1.0, 0.0, 0.0])), 400, 0.002).x
    slip = x.v_I[-50:, 0] - 0.1 * x.w_B[-50:, 1]
    assert np.abs(slip).min() > 1e-6
    np.testing.assert_allclose(slip[1:], -slip[:-1], rtol=1e-9)


def test_a_ball_glances_off_a_sphere_about_the_line_of_centres():
    body = ball(restitution=0.8, surfaces=(Sphere(NOTHING, 0.4),), gravity_I=NOTHING)
    h, v = 1e-4, np.array([-2.0, 0.0, 0.0])
    n = np.array([np.sqrt(0.5**2 - 0.2**2), 0.2, 0.0]) / 0.5  # where the distance of centres is 0.5
    x = Motion(LEVEL, 0.5 * n - 10 * h * v, NOTHING, v)
    flight = body.fly(x, 20, h)
    np.testing.assert_allclose(flight.x.v_I[-1], v - 1.8 * (v @ n) * n, atol=5e-3)
    push = flight.touch.impulse_I.sum(axis=(0, 1))
    np.testing.assert_allclose(push, body.mass * (flight.x.v_I[-1] - v), atol=1e-13)


@jit
def test_a_box_comes_to_rest_on_a_sphere_and_a_plane():
    body = box(surfaces=(Plane(), Sphere((0.5, 0.0, -0.1), 0.35)), friction=0.8)
    end = body.fly(Motion(LEVEL, np.array([0.0, 0.0, 0.6]), NOTHING, NOTHING), 600, 0.005).touch
    np.testing.assert_allclose(end.impulse_I[-1].sum(axis=0), [0, 0, body.mass * G * 0.005], atol=1e-5)


# A block


def resting(height=0.2):
    return Motion(LEVEL, np.array([0.0, 0.0, height - 1e-9]), NOTHING, NOTHING)


def test_a_resting_box_stays_put_and_its_four_corners_carry_its_weight():
    body, h = box(friction=0.4, restitution=0.3), 0.01
    flight = body.fly(resting(), 100, h)
    assert np.abs(flight.x.r_IB - flight.x.r_IB[0]).max() < 1e-13
    assert np.abs(flight.x.v_I).max() < 1e-13 and np.abs(flight.x.w_B).max() < 1e-13
    np.testing.assert_allclose(flight.touch.load.sum(axis=-1), body.mass * G * h, rtol=1e-10)
    assert flight.touch.converged.all()


def test_a_sliding_block_slows_down_at_mu_g_and_stops():
    mu, v0, h = 0.3, 1.0, 0.005
    body = box(c=0.05, friction=mu)
    flight = body.fly(resting(0.05)._replace(v_I=np.array([v0, 0.0, 0.0])), 100, h)
    stop = v0 / (mu * G)
    before, after = flight.t < stop - h, flight.t > stop + 2 * h
    np.testing.assert_allclose(flight.x.v_I[before, 0], v0 - mu * G * flight.t[before], atol=1e-11)
    assert np.abs(flight.x.v_I[after]).max() < 1e-12
    assert flight.x.r_IB[-1, 0] == pytest.approx(v0**2 / (2 * mu * G), abs=v0 * h**2 + mu * G * h**2)


@pytest.mark.parametrize("angle", [0.2, 0.35])
def test_a_block_on_an_incline_stays_below_the_friction_angle_and_slides_above(angle):
    mu, h, steps = 0.3, 0.005, 100
    body = box(c=0.05, friction=mu, gravity_I=incline(angle))
    x = body.fly(resting(0.05), steps, h, every=steps).x
    a = max(0.0, G * (np.sin(angle) - mu * np.cos(angle)))
    assert (a > 0) == (np.tan(angle) > mu)
    assert x.r_IB[-1, 0] == pytest.approx(a * (steps * h) ** 2 / 2, abs=1e-11)


@pytest.mark.parametrize(("half_width", "tips"), [(0.05, True), (0.15, False)])
def test_a_tall_block_on_a_rough_incline_tips_over_its_lower_edge(half_width, tips):
    angle, height = 0.3, 0.3  # it tips if tan(angle) > half_width / height
    body = box(half_width, 0.2, height, friction=1.0, gravity_I=incline(angle))
    x = body.fly(resting(height), 100, 0.005).x
    turned = quaternion.angle_between(LEVEL, x.q_IB[-1])
    assert (np.tan(angle) > half_width / height) == tips
    assert turned > 0.2 if tips else turned < 1e-9


# Flight


def test_flight_under_gravity_and_a_body_wrench_is_of_second_order():
    body, x0 = box(surfaces=(Plane(offset=-100.0),)), tumbling()
    wrench = np.array([0.1, -0.2, 0.1, 1.0, 2.0, -1.0])

    def rates(_, y):
        q, w = y[:4], y[7:10]
        force = quaternion.rotate(q / np.linalg.norm(q), wrench[3:]) / body.mass + DOWN
        w_dot = np.linalg.solve(body.Theta, np.cross(body.Theta @ w, w) + wrench[:3])
        return np.concatenate([0.5 * quaternion.left_matrix(q) @ [0, *w], y[10:], w_dot, force])

    exact = solve_ivp(rates, (0, 1), np.concatenate(x0), method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    counts = np.array([50, 100, 200])
    ends = [body.fly(x0, n, 1 / n, every=n, wrench_B=wrench).x for n in counts]
    errors = [np.abs(np.concatenate([a[-1] for a in x]) - exact).max() for x in ends]
    assert abs(-np.polyfit(np.log(counts), np.log(errors), 1)[0] - 2) < 0.05


def test_free_fall_keeps_energy_and_momentum_follows_gravity():
    body, x0, h, steps = box(surfaces=(Plane(offset=-1000.0),)), tumbling(), 0.01, 500
    x = body.fly(x0, steps, h).x
    E, P = body.energy(x), body.momentum(x)
    scale = np.abs(E[0]) + body.mass * G * np.abs(x.r_IB[-1, 2])
    assert np.abs(E - E[0]).max() / scale < 1e-13
    np.testing.assert_allclose(P[-1, 3:] - P[0, 3:], body.mass * np.array(DOWN) * h * steps, rtol=1e-12, atol=1e-12)


# Records and trials


def test_records_add_up_what_happened_between_them():
    body, x0 = box(restitution=0.5, friction=0.3), tumbling((2,), height=0.6)
    fine, coarse = body.fly(x0, 60, 0.01), body.fly(x0, 60, 0.01, every=20)
    for a, b in zip(fine.x, coarse.x, strict=True):
        assert np.array_equal(a[::20], b)
    np.testing.assert_array_equal(fine.t[::20], coarse.t)
    np.testing.assert_allclose(coarse.touch.load, fine.touch.load.reshape(3, 20, 2, 8).sum(axis=1), rtol=1e-14)
    np.testing.assert_array_equal(coarse.touch.sweeps, fine.touch.sweeps.reshape(3, 20, 2).sum(axis=1))
    np.testing.assert_array_equal(coarse.touch.residual, fine.touch.residual.reshape(3, 20, 2).max(axis=1))


def test_a_trial_has_the_same_bits_alone_and_among_dispersed_ones():
    e, mu = np.array([[0.2], [0.8]]), np.array([0.1, 0.3, 0.5])
    x0, h = tumbling((2, 3), height=0.6), 0.01
    together = box(restitution=e, friction=mu).fly(x0, 40, h, every=8)
    assert together.x.q_IB.shape == (6, 2, 3, 4) and together.touch.impulse_I.shape == (5, 2, 3, 8, 3)
    for i, j in [(0, 0), (1, 2)]:
        body = box(restitution=e[i, 0], friction=mu[j])
        alone = body.fly(Motion(*(a[i, j] for a in x0)), 40, h, every=8)
        for a, b in zip((*alone.x, *alone.touch), (*together.x, *together.touch), strict=True):
            assert np.array_equal(a, b[:, i, j])
    assert (together.touch.load > 0).any()


def test_a_lost_trial_is_reported_and_the_others_fly_on():
    x0 = tumbling((3,), height=0.6)
    x0.w_B[1] = np.nan
    flight = box(friction=0.3).fly(x0, 40, 0.01)
    assert not flight.touch.converged[:, 1].any()
    assert flight.touch.converged[:, [0, 2]].all() and np.isfinite(flight.x.v_I[:, [0, 2]]).all()


def test_too_few_sweeps_are_reported():
    flight = box(friction=0.3, sweeps=2).fly(resting()._replace(w_B=np.array([0.1, 0.2, 0.3])), 5, 0.01)
    assert not flight.touch.converged[0] and flight.touch.residual[0] > 1e-13


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": -1.0}, "mass"),
        ({"restitution": 1.2}, "restitution: 1.2 is above 1"),
        ({"friction": -0.1}, "friction"),
        ({"surfaces": ()}, "surfaces"),
        ({"radii": [0.1, 0.2]}, "radii"),
        ({"sweeps": 0}, "sweeps"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tangential_restitution": 2.0}, "tangential_restitution"),
        ({"gravity_I": (0.0, 1.0)}, "gravity_I"),
    ],
)
def test_an_impossible_body_is_refused_by_name(change, message):
    with pytest.raises(InputError, match=message):
        box(**change)


def test_points_of_the_wrong_shape_are_refused():
    with pytest.raises(InputError, match="points_B"):
        ContactBody(1.0, np.eye(3), [0.0, 0.0, 0.0], [Plane()])


def test_a_number_of_steps_that_no_record_divides_is_refused():
    with pytest.raises(InputError, match="steps"):
        box().fly(resting(), 10, 0.01, every=3)
