"""Inertial navigation in two error states: charts, Jacobians, mechanisation, and consistency of both."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import chi2

from gnc import dual_quaternion, quaternion
from gnc.batch import batched
from gnc.estimators.chart import difference, retraction
from gnc.estimators.consistency import nees
from gnc.estimators.ins import GRAVITY, InsFilter, moved, step_jacobian
from gnc.estimators.ins_chart import FORMS
from gnc.estimators.ins_sensors import SIZES, InsSensor

H = 0.02
ARW, VRW, BIAS = 2e-3, 2e-2, np.array([0.01] * 3 + [0.05] * 3)


@batched("(10),(3),(3),(3),()->(10)")
def flown(x, w_B, f_B, g_I, h):
    return moved(x, w_B, f_B, g_I, h)


def state(seed):
    rng = np.random.default_rng(seed)
    q = quaternion.normalize(rng.standard_normal(4))
    return rng, np.concatenate([q, rng.standard_normal(6)])


def slopes(function, chart, parts, after=None, step=1e-6):
    """Differentiate by central differences along the errors of a chart."""
    n = sum(p.errors for p in chart)
    columns = []
    for e in np.eye(n):
        ends = [function(*retraction(chart)(*parts, sign * step * e)[:-1]) for sign in (1.0, -1.0)]
        d = difference(after)(*ends[1], *ends[0]) if after else ends[0] - ends[1]
        columns.append(d / (2.0 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("form", FORMS)
def test_a_chart_leads_there_and_back_and_its_reset_is_what_an_error_becomes(form):
    rng, x = state(0)
    part, d, e = (FORMS[form],), 0.7 * rng.standard_normal(9), rng.standard_normal(9)
    there, reset = retraction(part)(x, d)
    np.testing.assert_allclose(difference(part)(x, there), d, atol=1e-12)
    ends = [retraction(part)(x, d + sign * 1e-6 * e)[0] for sign in (1.0, -1.0)]
    np.testing.assert_allclose(
        (difference(part)(there, ends[0]) - difference(part)(there, ends[1])) / 2e-6, reset @ e, atol=1e-8
    )


@pytest.mark.parametrize("form", FORMS)
def test_jacobians_of_step_and_of_every_sensor_are_those_of_finite_differences(form):
    rng, x = state(1)
    extras = np.concatenate([GRAVITY, 0.3 * rng.standard_normal(3), [0.05]])
    ins = InsFilter(arw=ARW, vrw=VRW, extras=7, gravity_known=False, form=form)
    bias, sample = 0.01 * rng.standard_normal(6), np.concatenate([rng.standard_normal(3), [1.0, -2.0, 9.0]])
    parts, step = (x, bias, extras), step_jacobian(form, 7, False)
    F = slopes(lambda *p: step(*p, sample, ins.gravity_I, 0.1)[:-1], ins.chart, parts, ins.chart)
    np.testing.assert_allclose(step(*parts, sample, ins.gravity_I, 0.1)[-1], F, atol=1e-7)
    belief = ins.start(x[:4], x[4:7], x[7:], np.eye(22), bias, extras)._replace(sample=sample)
    for kind, (n, m) in SIZES.items():
        z, R = rng.standard_normal(n), np.eye(m)
        z[:4] = quaternion.normalize(z[:4]) if kind in ("pose", "attitude") else z[:4]
        z = dual_quaternion.from_pose(z[:4], z[4:7]) if kind == "pose" else z
        q_BM = quaternion.normalize(rng.standard_normal(4))
        sensor = InsSensor(kind=kind, R=R, q_BM=q_BM, place=np.array([3.0, 1.0, 2.0]), lever_at=3, delay_at=6)
        _, found = sensor.linearize(ins, z, belief, None)
        at = lambda *p: sensor.linearize(ins, z, ins.with_parts(belief, p, belief.C), None)[0]  # noqa: B023, E731
        np.testing.assert_allclose(found, -slopes(at, ins.chart, parts), atol=2e-7, err_msg=kind)


def test_a_step_is_the_motion_of_a_body_at_constant_rate_and_force():
    """Against DOP853 of the equations of motion; the position's third order of the turn is left out."""
    rng, x = state(2)
    w, f, g = 0.5 * rng.standard_normal(3), rng.standard_normal(3), np.array(GRAVITY)

    def rates(_, y):
        return np.concatenate([quaternion.derivative(y[:4], w), y[7:], quaternion.rotate(y[:4], f) + g])

    end = solve_ivp(rates, (0.0, 0.1), x, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(flown(x, w, f, g, 0.1), end, atol=3e-9)
    np.testing.assert_allclose(flown(x, w, f, g, 0.1)[7:], end[7:], atol=1e-12)


def flight(trials, steps, sigma, form, aid, R, every=25, seed=0):
    """Fly trials whose errors at the start are those of `sigma` in the chart, and return NEES (trials,) at the end."""
    rng = np.random.default_rng(seed)
    C = np.diag(np.concatenate([sigma, BIAS]) ** 2)
    x, bias = np.tile(np.array([1.0, *[0.0] * 9]), (trials, 1)), BIAS * rng.standard_normal((trials, 6))
    ins = InsFilter(arw=ARW, vrw=VRW, form=form, gate_probability=1.0)
    guess = retraction((FORMS[form],))(x, -sigma * rng.standard_normal((trials, 9)))[0]
    belief = ins.start(x[0, :4], np.zeros(3), np.zeros(3), C, np.zeros(6), np.zeros(0))
    wide = [np.zeros((trials, 6)), np.zeros((trials, 0)), np.zeros((trials, 6)), np.tile(C, (trials, 1, 1))]
    belief = type(belief)(guess, *wide, np.zeros(trials), np.zeros(trials))
    sensor = InsSensor(kind=aid, R=R * np.eye(SIZES[aid][1]))
    for k in range(steps):
        t = H * k
        w = np.array([0.3 * np.sin(t), 0.2 * np.cos(0.7 * t), 0.3])
        f = np.array([2.0 * np.sin(0.5 * t), 1.5 * np.cos(0.8 * t), 9.8])
        noise = rng.standard_normal((trials, 6)) * np.repeat([ARW, VRW], 3) / np.sqrt(H)
        x = flown(x, w, f, np.array(GRAVITY), H)
        belief = ins.predict(belief, np.concatenate([w, f]) + bias + noise, np.ones(trials), H)
        if k % every == 0:
            z = x[:, 4:7] + np.sqrt(R) * rng.standard_normal((trials, 3))
            if aid == "pose":
                turned = quaternion.mul(x[:, :4], quaternion.exp(np.sqrt(R) * rng.standard_normal((trials, 3))))
                z = dual_quaternion.from_pose(turned, z)
            belief, _ = ins.update(belief, sensor, (z, np.ones(trials)))
    e = difference(ins.chart)(*ins.parts(belief), x, bias)
    return nees(e, belief.C)


@pytest.mark.parametrize("form", FORMS)
def test_both_error_states_are_consistent_where_little_is_unknown(form):
    """40 trials of 15 errors, seed 0, poses for 20 s: the sum is chi-square; false alarm 1e-4."""
    sigma = np.repeat([0.02, 0.1, 0.1], 3)
    found = flight(40, 1000, sigma, form, "pose", 0.02**2)
    low, high = chi2.ppf([5e-5, 1 - 5e-5], 15 * 40)
    assert low < found.sum() < high


def test_from_a_bad_heading_the_group_affine_error_state_is_the_more_consistent_one():
    """Positions for 30 s after 40 deg of heading (1 sigma), 40 trials; seeds 1, 2, 3 were looked at, and 1 is tested.

    NEES beyond 99.9 % of chi-square: of an honest filter 3 of 40 are so with probability 1e-5.
    """
    sigma = np.concatenate([np.radians([2.0, 2.0, 40.0]), np.repeat([0.3, 0.3], 3)])
    affine, dual = (flight(40, 1500, sigma, form, "position", 0.1**2, seed=1) for form in FORMS)
    beyond = [int((found > chi2.ppf(0.999, 15)).sum()) for found in (affine, dual)]
    assert beyond[0] < 3
    assert beyond[0] < beyond[1]
