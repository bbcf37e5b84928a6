"""Pose logs: model and density from the data, a gate that costs nothing, predictions where poses are withheld."""

import numpy as np
import pytest

from gnc import dual_quaternion, quaternion
from gnc.estimators.motion_fit import Poses, _Direct, fitted, without_outliers
from gnc.estimators.motion_models import MotionFilter, _apart
from gnc.scenarios.logs.log_writer import write_log
from tests.scenarios.replay.flights import named, names, replayed

TOML = f"""
[log]
time = "t"
[filter]
kind = "dqekf-kinematic"
[[sensors]]
kind = "pose"
columns = {names("pose", 7)}
order = "wxyz"
sigma_deg = 0.5
sigma_m = 0.01
[truth]
columns = {names("truth", 4)}
position = {names("place", 3)}
order = "wxyz"
"""


def hand_held(rate, seconds=40.0, seed=0, rest_s=0.0):
    """Poses of a camera in somebody's hand: at rest at first, then strokes of a second or two about a place."""
    rng, t = np.random.default_rng(seed), np.arange(int(seconds * rate)) / rate
    waves = lambda size: sum(  # noqa: E731
        size * rng.uniform(0.2, 1.0, 3) * np.sin(np.outer(t, rng.uniform(1.0, 5.0, 3)) + rng.uniform(0, 6, 3))
        for _ in range(4)
    )
    taken_up = np.clip(t - rest_s, 0.0, 1.0)[:, None] if rest_s else 1.0
    q, r = quaternion.from_euler321(taken_up * waves(0.2)), taken_up * waves(0.15)
    seen = quaternion.mul(q, quaternion.exp(np.radians(0.5) * rng.standard_normal((len(t), 3))))
    pose = np.concatenate([seen, r + 0.01 * rng.standard_normal((len(t), 3))], axis=1)
    return {"t": t, **named("pose", pose), **named("truth", q), **named("place", r)}


def uneven(rate, poses=150, outliers=0.0, together=1, seed=0):
    """Poses of a hand that is calm and lively in turns; some are wrong by a metre and 60 deg, alone or in a row."""
    log, rng = hand_held(rate, poses / rate, seed), np.random.default_rng(seed + 1)
    t, n = log["t"], len(log["t"])
    effort = np.clip(np.sin(2.0 * np.pi * t / 15.0) + np.sin(2.0 * np.pi * t / 3.7), 0.02, 2.0)[:, None]
    q = np.stack([log[f"truth_{i}"] for i in range(4)], axis=1)
    q, r = quaternion.exp(effort * quaternion.log(q)), effort * np.stack([log[f"place_{i}"] for i in range(3)], axis=1)
    wrong = np.repeat(rng.random(n // together + 1) < outliers / together, together)[:n] & (np.arange(n) > 10)
    turn, shift = (np.repeat(rng.standard_normal((n // together + 1, 3)), together, axis=0)[:n] for _ in range(2))
    noise = 0.1 * np.radians(0.5) * rng.standard_normal((n, 3)) + np.where(wrong[:, None], turn, 0.0)
    seen = r + 0.001 * rng.standard_normal((n, 3)) + np.where(wrong[:, None], shift, 0.0)
    pose = np.concatenate([quaternion.mul(q, quaternion.exp(noise)), seen], axis=1)
    return {"t": t, **named("pose", pose), **named("truth", q), **named("place", r)}


def steady(rate, outliers=0.0, seed=0):
    """Poses of a body that turns evenly and sways slowly; some are wrong by a metre and 90 deg."""
    rng, t = np.random.default_rng(seed), np.arange(200) / rate
    q, r = quaternion.exp(np.outer(t, [0.3, 0.2, 1.5])), 0.1 * np.sin(np.outer(t, [0.3, 0.5, 0.7]))
    wrong = (rng.random((200, 1)) < outliers) * (np.arange(200) > 10)[:, None] * rng.choice([-1.0, 1.0], (200, 3))
    seen = quaternion.mul(q, quaternion.exp(np.radians(0.05) * rng.standard_normal(r.shape) + 0.9 * wrong))
    pose = np.concatenate([seen, r + 0.001 * rng.standard_normal(r.shape) + 0.6 * wrong], axis=1)
    return {"t": t, **named("pose", pose), **named("truth", q), **named("place", r)}


def ratios(log, folder, sigma_deg=0.05, sigma_m=0.001):
    """Return error with the gate over error without, of attitude and of position."""
    write_log(folder / "log.npz", {"": log})
    toml = TOML.replace("sigma_deg = 0.5", f"sigma_deg = {sigma_deg}").replace("sigma_m = 0.01", f"sigma_m = {sigma_m}")
    gated, free = (
        replayed(folder / "log.npz", toml.replace('kinematic"', f'kinematic"\ngate_probability = {p}', 1), folder)[1]
        for p in ("0.999", "1.0")
    )
    assert gated["motion"] == free["motion"]
    return [gated["truth"][key] / free["truth"][key] for key in ("rms_deg", "rms_m")]


@pytest.mark.parametrize(
    ("log", "sigmas"), [(hand_held(20.0), (0.5, 0.01)), (hand_held(5.0), (0.5, 0.01)), (steady(5.0), ())]
)
def test_the_gate_is_never_worse_than_none_by_more_than_a_tenth(tmp_path, log, sigmas):
    assert max(ratios(log, tmp_path, *sigmas)) < 1.1


def test_outliers_of_poses_a_second_apart_are_refused_where_the_motion_does_not_explain_them(tmp_path):
    """None of them follows upon another, which would be believed as a jump (as in seed 7)."""
    assert max(ratios(steady(1.0, 0.05, seed=8), tmp_path)) < 0.5


@pytest.mark.parametrize("rate", [2.0, 10.0])
def test_the_motion_is_judged_without_outliers_and_with_all_else(rate):
    """Of a motion that is calm and lively in turns hardly a good pose goes; outliers do, but for some in a row."""
    log = uneven(rate, 300, 0.05, seed=8)
    pose, place = (np.stack([log[f"{name}_{i}"] for i in range(n)], axis=1) for name, n in (("pose", 7), ("place", 3)))
    wrong = np.linalg.norm(pose[:, 4:] - place, axis=1) > 0.05
    R = np.diag([np.radians(0.05) ** 2] * 3 + [1e-6] * 3)
    kept = without_outliers([Poses(log["t"], dual_quaternion.from_pose(pose[:, :4], pose[:, 4:]), R)])[0]
    left = np.isin(log["t"], kept.t)[3:-3]
    assert (left & wrong[3:-3]).sum() <= 0.25 * wrong.sum()
    assert (~left & ~wrong[3:-3]).sum() <= 2


@pytest.mark.parametrize("rate", [2.0, 8.0])
def test_a_motion_that_is_calm_and_lively_in_turns_loses_nothing_by_the_gate(tmp_path, rate):
    assert max(ratios(uneven(rate, seed=4), tmp_path)) < 1.1


def test_of_one_outlier_in_twelve_a_third_of_the_error_is_left_at_most(tmp_path):
    assert max(ratios(uneven(30.0, 300, 0.08, seed=5), tmp_path)) < 1.0 / 3.0


def test_a_place_that_jumps_and_comes_back_is_followed_there_and_back(tmp_path):
    """Four wrong poses in a row are no motion: the velocity stays, and the way back costs no refusal more."""
    assert max(ratios(uneven(10.0, 300, 0.08, together=4, seed=6), tmp_path)) < 1.1


def test_a_body_that_rests_at_first_is_followed_when_it_moves(tmp_path):
    """Rest for the first 600 poses: a model found from those would refuse most of what follows."""
    write_log(tmp_path / "log.npz", {"": hand_held(30.0, seed=2, rest_s=20.0)})
    pose = replayed(tmp_path / "log.npz", TOML, tmp_path)[1]["sensors"]["pose"]
    assert pose["rejected"] < 0.02 * pose["used"]
    assert pose["nis"] < 2.0 * pose["size"]


def test_predictions_at_withheld_instants_are_no_worse_than_constant_velocity():
    """Every other pose is withheld: the filter's prediction against the line through the last two that were given."""
    for rate in (4.0, 10.0):
        log = hand_held(rate, seed=1)
        pose, place = (
            np.stack([log[f"{name}_{i}"] for i in range(n)], axis=1) for name, n in (("pose", 7), ("place", 3))
        )
        R = np.diag([np.radians(0.5) ** 2] * 3 + [1e-4] * 3)
        poses = Poses(log["t"][::2], dual_quaternion.from_pose(pose[::2, :4], pose[::2, 4:]), R)
        turning, moving = fitted([poses], ("white", "damped", "singer"))
        motion = MotionFilter((turning,), (moving,))
        belief = motion.start(poses.dq_IB[0], np.diag([*np.diagonal(R), *[1.0] * 6]), np.zeros(6))
        errors = []
        for k in range(1, len(poses.t) - 1):
            belief = motion.predict(belief, 2.0 / rate)
            belief, _ = motion.update(belief, _Direct(R), (poses.dq_IB[k], True))
            predicted = dual_quaternion.to_pose(motion.predict(belief, 1.0 / rate).dq_IB)[1]
            line = 1.5 * pose[2 * k, 4:] - 0.5 * pose[2 * k - 2, 4:]
            errors.append([np.sum((x - place[2 * k + 1]) ** 2) for x in (predicted, line)])
        ours, constant_velocity = np.sqrt(np.mean(errors[10:], axis=0))
        assert ours <= constant_velocity


def test_the_residual_of_a_pose_is_a_rotation_and_a_displacement_however_far_it_turns():
    phi, shift = np.array([0.9, -0.6, 0.7]), np.array([3.0, -2.0, 1.0])
    y = dual_quaternion.log(dual_quaternion.from_pose(quaternion.exp(phi), shift))
    np.testing.assert_allclose(_apart(y), [*phi, *shift], atol=1e-12)
