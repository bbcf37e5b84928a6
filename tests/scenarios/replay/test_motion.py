"""Pose logs: model and density from the data, a gate that costs nothing, predictions where poses are withheld."""

import numpy as np

from gnc import quaternion
from gnc.scenarios.replay.log_writer import write_log
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


def hand_held(rate, seconds=80.0, seed=0):
    """Poses of a camera in somebody's hand: strokes of a second or two about a place."""
    rng, t = np.random.default_rng(seed), np.arange(int(seconds * rate)) / rate
    waves = lambda size: sum(  # noqa: E731
        size * rng.uniform(0.2, 1.0, 3) * np.sin(np.outer(t, rng.uniform(1.0, 5.0, 3)) + rng.uniform(0, 6, 3))
        for _ in range(4)
    )
    q, r = quaternion.from_euler321(waves(0.2)), waves(0.15)
    seen = quaternion.mul(q, quaternion.exp(np.radians(0.5) * rng.standard_normal((len(t), 3))))
    pose = np.concatenate([seen, r + 0.01 * rng.standard_normal((len(t), 3))], axis=1)
    return {"t": t, **named("pose", pose), **named("truth", q), **named("place", r)}


def test_the_gate_is_never_worse_than_none_by_more_than_a_tenth(tmp_path):
    for rate in (20.0, 5.0):
        write_log(tmp_path / "log.npz", {"": hand_held(rate)})
        gated, free = (
            replayed(
                tmp_path / "log.npz", TOML.replace('kinematic"', f'kinematic"\ngate_probability = {p}', 1), tmp_path
            )[1]
            for p in ("0.999", "1.0")
        )
        assert gated["motion"]["turning"]["psd"] > 0.0
        for key in ("rms_deg", "rms_m"):
            assert gated["truth"][key] < 1.1 * free["truth"][key]
        assert gated["truth"]["rms_m"] < 0.01 * np.sqrt(3.0)  # better than the measurements


def test_predictions_at_withheld_instants_are_no_worse_than_constant_velocity(tmp_path):
    """Every other of 4 poses a second is withheld: the filter's prediction against the line through the last two."""
    log = hand_held(4.0, seed=1)
    given = np.arange(len(log["t"])) % 2 == 0
    for i in range(7):
        log[f"pose_{i}"] = np.where(given, log[f"pose_{i}"], np.nan)
    write_log(tmp_path / "log.npz", {"": log})
    session, _ = replayed(tmp_path / "log.npz", TOML, tmp_path / "out")
    records = session.results.estimates()
    place = np.stack([log[f"place_{i}"] for i in range(3)], axis=1)
    seen = np.stack([log[f"pose_{i}"] for i in (4, 5, 6)], axis=1)[given]
    rows = np.arange(20, len(records) - 1)
    line = seen[rows] + 0.5 * (seen[rows] - seen[rows - 1])
    predicted = np.array([_ahead(session, records[k], 0.25) for k in rows])
    truth = place[2 * rows + 1]
    error = [np.sqrt(((x - truth) ** 2).sum(axis=1).mean()) for x in (predicted, line)]
    assert error[0] <= error[1]


def _ahead(session, record, h):
    """The position h after an estimate, by the model that was found."""
    A = session.filter.moving.axis(h).A
    v = quaternion.rotate(record["q_IB"].astype(float), record["v_B"].astype(float))
    return record["r_IB"] + A[0, 1] * v
