"""The scenario separation: cargo leaves, the carrier comes back."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnc.config import dump, parse
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.scenarios.separation import SCENARIO, SeparationConfig, build
from tests.scenarios.flights import configured, failed, flown, judged, judged_from_what_it_names, same_bits

SHORT = ("release.time_s=60.0", "duration_s=150.0")


@pytest.mark.parametrize("seed", [31, 32, 33])
def test_the_carrier_is_back_in_time_and_the_cargo_clear(seed):
    verdict = judged("separation", seed, 20, *SHORT)
    assert failed(verdict) == [] and verdict.lost == {}
    assert (verdict.per_trial["back_s"] <= 60.0).all() and verdict.per_trial["back_s"].shape == (20,)


def test_a_filter_that_ignores_the_release_fails():
    names = failed(judged("separation", 31, 10, *SHORT, "filter.knows_release=false"))
    assert "NEES over 12" in names and any("attitude" in name for name in names)


def test_a_spring_far_off_the_line_tips_the_cargo():
    names = failed(judged("separation", 31, 5, *SHORT, "errors.spring_mm=60.0"))
    assert any("tip-off" in name for name in names)


def test_a_trial_alone_has_the_bits_it_has_in_a_batch():
    short = ("release.time_s=5.0", "duration_s=10.0")
    _, many = flown("separation", 7, 5, *short)
    _, one = flown("separation", 7, [3], *short)
    assert same_bits(many, one, 3)


def test_the_push_conserves_momentum_and_gives_all_of_the_springs_energy():
    """Summed over point masses, six to a body, independently of 6x6 inertias."""
    plant = build.truth(SeparationConfig(), Draws(5, np.arange(3)))
    rng = np.random.default_rng(0)
    x = plant.start(np.tile(np.eye(8)[0], (3, 1)), 0.1 * rng.standard_normal((3, 6)))
    y = plant.release(x, 0.0)
    before = _sums(plant.alone, x.chi_B) + _sums(plant.cargo, x.chi_B)
    after = _sums(plant.alone, y.chi_B) + _sums(plant.cargo, y.cargo.chi_B)
    assert np.allclose(after[:, :6], before[:, :6], rtol=0.0, atol=1e-12 * np.abs(before).max())
    assert np.allclose(after[:, 6] - before[:, 6], plant.spring.energy_J, rtol=1e-12)


def _sums(body, chi_B):
    """Return angular and linear momentum about the origin, and energy, of bodies made of point masses."""
    rows = []
    for M, chi in zip(body.M, chi_B, strict=True):
        m, S = M[3, 3], M[:3, 3:]
        r_g = np.array([S[2, 1], S[0, 2], S[1, 0]]) / m
        J = M[:3, :3] - m * (r_g @ r_g * np.eye(3) - np.outer(r_g, r_g))
        moments, axes = np.linalg.eigh(0.5 * np.trace(J) * np.eye(3) - J)  # second moments of the mass
        arms = np.sqrt(3.0 * moments / m) * axes
        points = [r_g + sign * arm for arm in arms.T for sign in (-1.0, 1.0)]
        v = [chi[3:] + np.cross(chi[:3], p) for p in points]
        L, P = sum(m / 6.0 * np.cross(p, u) for p, u in zip(points, v, strict=True)), sum(m / 6.0 * u for u in v)
        rows.append([*L, *P, sum(m / 12.0 * u @ u for u in v)])
    return np.array(rows)


def test_the_clearance_is_that_of_the_lowest_corner():
    plant = build.truth(SeparationConfig(), Draws(5, np.arange(1)))
    x = plant.start(np.eye(8)[:1], np.zeros((1, 6)))
    turn, shift = Rotation.from_rotvec([0.2, -0.1, 0.4]), np.array([0.3, -0.2, 1.5])
    q = turn.as_quat()[[3, 0, 1, 2]]
    dual = 0.5 * np.array([-shift @ q[1:], *(q[0] * shift + np.cross(shift, q[1:]))])
    cargo = x.cargo._replace(dq_IB=np.concatenate([q, dual])[None])
    c = SeparationConfig()
    half = 0.5 * np.array(c.cargo.size_m)
    signs = np.array([[a, b, d] for a in (-1, 1) for b in (-1, 1) for d in (-1, 1)])
    heights = (turn.apply(np.array(c.cargo.centre_m) + signs * half) + shift)[:, 2] - c.release.face_m
    assert plant.clearance(x, cargo)[0] == pytest.approx(heights.min(), abs=1e-12)


def test_the_cargo_drifts_straight_after_the_release():
    config, flight = flown("separation", 3, 4, "release.time_s=5.0", "duration_s=60.0", "errors.centre_mm=0.0")
    t, r = flight["time"].values, flight["cargo_r_m"].values
    free = t >= config.release.time_s
    for path in r[:, free]:
        line = np.polynomial.Polynomial.fit(t[free], path[:, 2], 1)
        assert np.abs(path[:, 2] - line(t[free])).max() < 1e-9


def test_a_release_between_two_commands_is_refused():
    with pytest.raises(InputError, match=r"release.time_s: 120.05"):
        flown("separation", 0, 1, "release.time_s=120.05")
    with pytest.raises(InputError, match=r"release.time_s: 300 s; .* before the end at 240 s"):
        flown("separation", 0, 1, "release.time_s=300.0")


def test_the_signals_it_names_are_enough_to_judge():
    assert judged_from_what_it_names("separation", 7, 2, "release.time_s=5.0", "duration_s=10.0").checks


def test_the_configuration_survives_toml():
    config = configured("separation", "errors.spring_percent=7.5")
    assert parse(dump(config), SeparationConfig) == config


def test_figures_and_scene_can_be_drawn():
    from matplotlib.figure import Figure

    config, flight = flown("separation", 1, 3, "release.time_s=5.0", "duration_s=20.0")
    for draw in SCENARIO.figures(config, flight).values():
        figure = Figure()
        draw(figure)
        assert figure.axes
    assert [body.name for body in SCENARIO.scene(config, flight, 0).bodies] == ["carrier", "cargo"]
