"""The mission separation: cargo leaves, the carrier comes back."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnc import dual_quaternion
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.craft.base import Site
from gnc.models.environment.table import FreeSpace
from gnc.models.pose_body import PoseState
from gnc.scenarios.missions.load import read
from tests.scenarios.flights import failed, flown, judged, same_bits

SHORT = ("events.release.time_s=60.0", "run.duration_s=150.0")
BRIEF = ("events.release.time_s=5.0", "run.duration_s=10.0")


@pytest.mark.parametrize("seed", [31, 32, pytest.param(33, marks=pytest.mark.slow)])
def test_the_carrier_is_back_in_time_and_the_cargo_clear(seed):
    verdict = judged("separation", seed, 20, *SHORT)
    assert failed(verdict) == [] and verdict.lost == {}
    assert np.nanmax(verdict.per_trial["back_s"]) < 60.0 and verdict.per_trial["back_s"].shape == (20,)


def test_a_filter_that_ignores_the_release_fails():
    names = failed(judged("separation", 31, 10, *SHORT, "software.carrier.navigation.knows_release=false"))
    assert "NEES" in names and any("attitude" in name for name in names)


def test_a_spring_far_off_the_line_tips_the_cargo():
    names = failed(judged("separation", 31, 5, *SHORT, "events.release.point_sigma_m=0.06"))
    assert any("tip-off" in name for name in names)


@pytest.mark.slow
def test_a_release_between_two_commands_is_told_at_the_next():
    clocks = ("events.release.time_s=60.3", "run.truth_step_s=0.05", "software.carrier.rate_hz=2.0")
    assert failed(judged("separation", 31, 10, *clocks, "run.duration_s=150.0")) == []


def test_a_release_after_the_end_is_no_data():
    verdict = judged("separation", 0, 1, "events.release.time_s=300.0", "run.duration_s=2.0")
    missing = [check.name for check in verdict.checks if check.note == "no data"]
    assert "tip-off rate of the cargo, worst [deg/s]" in missing and not verdict.success.any()


def test_a_trial_alone_has_the_bits_it_has_in_a_batch():
    many, one = (flown("separation", 7, trials, *BRIEF) for trials in (5, [3]))
    assert same_bits(many.signals, one.signals, 3)
    judged_only = flown("separation", 7, 5, *BRIEF, judged_only=True).verdict.metrics
    assert judged_only == pytest.approx(many.verdict.metrics, nan_ok=True, abs=0.0)


@pytest.fixture(scope="module")
def release():
    """Return the event of three trials, and the truth of carrier and cargo aboard it, in motion."""
    mission, draws = read("separation"), Draws(5, np.arange(3))
    craft = {
        name: part.truth(Site(name, draws.within(f"{name} "), FreeSpace(), None))
        for name, part in mission.craft.items()
    }
    made = mission.events["release"].build("release", craft, mission.craft, draws)
    return made, made.begin(tuple(one.start() for one in craft.values()))


def test_aboard_the_cargo_moves_as_one_with_the_carrier(release):
    """Momentum and energy of the whole are those of the two bodies, each by itself."""
    made, (carrier, cargo) = release
    alone = carrier.M - _moved(cargo)
    both = _sums(alone, carrier.chi_B) + _sums(_moved(cargo), carrier.chi_B)
    assert np.allclose(_sums(carrier.M, carrier.chi_B), both, rtol=0.0, atol=1e-12 * np.abs(both).max())
    r = dual_quaternion.inverse_transform_point(carrier.dq_IB, dual_quaternion.to_pose(cargo.dq_IB)[1])
    assert np.allclose(r, [0.10, -0.05, 1.02], atol=1e-12)
    assert np.allclose(np.abs(np.sum(carrier.q_IB * cargo.q_IB, axis=-1)), 1.0)


def test_the_push_conserves_momentum_and_gives_all_of_the_springs_energy(release):
    """Summed over point masses, six to a body, independently of 6x6 inertias."""
    made, x = release
    carrier, cargo = x
    y_carrier, y_cargo = made.act(x, 120.0)
    M_cargo = _moved(cargo)
    chi_cargo = dual_quaternion.transform_twist(cargo.seat, y_cargo.chi_B)
    before = _sums(y_carrier.M, carrier.chi_B) + _sums(M_cargo, carrier.chi_B)
    after = _sums(y_carrier.M, y_carrier.chi_B) + _sums(M_cargo, chi_cargo)
    assert np.allclose(after[:, :6], before[:, :6], rtol=0.0, atol=1e-12 * np.abs(before).max())
    assert np.allclose(after[:, 6] - before[:, 6], made.spring.energy_J, rtol=1e-12)
    assert np.ptp(made.spring.energy_J) > 0.01 and (y_carrier.flag == 1.0).all() and (y_cargo.rides == 0.0).all()


def _moved(cargo):
    """Return the cargo's inertia about the carrier's origin, in its axes, by Steiner and a rotation."""
    q, r = dual_quaternion.to_pose(cargo.seat)
    found = []
    for M, R, place in zip(cargo.M, Rotation.from_quat(q[:, [1, 2, 3, 0]]).as_matrix(), r, strict=True):
        m, S = M[3, 3], M[:3, 3:]
        c = np.array([S[2, 1], S[0, 2], S[1, 0]]) / m
        J = R @ (M[:3, :3] - m * (c @ c * np.eye(3) - np.outer(c, c))) @ R.T
        c = place + R @ c
        cross = m * np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
        found.append(np.block([[J + m * (c @ c * np.eye(3) - np.outer(c, c)), cross], [cross.T, m * np.eye(3)]]))
    return np.array(found)


def _sums(inertia, chi_B):
    """Return angular and linear momentum about the origin, and energy, of bodies made of point masses."""
    rows = []
    for M, chi in zip(inertia, chi_B, strict=True):
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


def test_the_clearance_is_that_of_the_lowest_corner(release):
    made, (carrier, cargo) = release
    turn, shift = Rotation.from_rotvec([0.2, -0.1, 0.4]), np.array([0.3, -0.2, 1.5])
    q = turn.as_quat()[[3, 0, 1, 2]]
    dual = 0.5 * np.array([-shift @ q[1:], *(q[0] * shift + np.cross(shift, q[1:]))])
    here = PoseState(np.eye(8)[:1], np.zeros((1, 6)))
    there = PoseState(np.concatenate([q, dual])[None], np.zeros((1, 6)))
    half = 0.5 * np.array(read("separation").craft["cargo"].size_m)
    signs = np.array([[a, b, d] for a in (-1, 1) for b in (-1, 1) for d in (-1, 1)])
    heights = (turn.apply(signs * half) + shift)[:, 2] - 0.7
    assert made._clearance(here, there)[0] == pytest.approx(heights.min(), abs=1e-12)


def test_the_cargo_drifts_straight_after_the_release_in_free_space():
    settings = ("events.release.time_s=5.0", "run.duration_s=60.0", "craft.cargo.centre_sigma_m=0.0")
    free = ("environment.orbit.kind=free", "craft.carrier.loads={}", "craft.cargo.loads={}")
    signals = flown("separation", 3, 4, *settings, *free).signals
    t, r = signals["time"].values, signals["cargo.r_IB_m"].values
    free = t >= 5.0
    for path in r[:, free]:
        line = np.polynomial.Polynomial.fit(t[free], path[:, 2], 1)
        assert np.abs(path[:, 2] - line(t[free])).max() < 1e-9


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ('events.release.cargo="crate"', "navigation: docked = 'crate': both craft must be of kind"),
        ('events.release.carrier="crate"', "event = 'release': is no release of this craft"),
        ('software.carrier.navigation.event="launch"', "event = 'launch': is no release of this craft"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(setting, says):
    with pytest.raises(InputError, match=says):
        flown("separation", 0, 1, *BRIEF, setting)
