"""Scores against computations of their own: SciPy's rotations, NumPy's linear algebra."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from gnc.estimators import consistency
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay import score
from gnc.scenarios.replay.config import Score, Truth
from tests.scenarios.replay import flights

TRUTH = Truth(columns=("a", "b", "c", "d"), order="wxyz", position=("x", "y", "z"), rate=("p", "q", "r"))


def scalar_first(rotation: Rotation) -> np.ndarray:
    return rotation.as_quat(scalar_first=True)


def recorded(n: int, offset: Rotation, shift: np.ndarray, seed: int = 0):
    """Records of a pose filter whose errors are drawn from its covariance; the truth's frame is off by a constant."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, 6, 6)) * np.array([1e-2] * 3 + [0.1] * 3)[:, None]
    C = A @ A.swapaxes(1, 2)
    e = np.einsum("nij,nj->ni", np.linalg.cholesky(C), rng.standard_normal((n, 6)))
    q, r = Rotation.random(n, random_state=seed), rng.standard_normal((n, 3))
    true, r_true = q * Rotation.from_rotvec(e[:, :3]), r + q.apply(e[:, 3:])
    dtype = [("t", ">f8"), ("q_IB", ">f8", 4), ("r_IB", ">f8", 3), ("w_B", ">f8", 3), ("C", ">f8", (12, 12)),
             ("truth_q_IB", ">f8", 4), ("truth_r_IB", ">f8", 3), ("truth_w_B", ">f8", 3),
             ("truth_turn", ">f8"), ("truth_mask", ">f8")]  # fmt: skip
    records = np.zeros(n, dtype)
    records["t"], records["q_IB"], records["r_IB"], records["truth_turn"] = np.arange(n), scalar_first(q), r, 0.1
    records["C"][:, :6, :6] = C
    records["C"][:, 6:, 6:] = np.eye(6)
    records["truth_q_IB"], records["truth_r_IB"] = scalar_first(true * offset), r_true + q.apply(shift)
    records["w_B"], records["truth_w_B"], records["truth_mask"] = 0.2, 0.3, 1.0
    return records, e, C


def test_rms_and_nees_are_those_of_an_independent_computation():
    records, e, C = recorded(20000, Rotation.identity(), np.zeros(3))
    found = score.against_truth(records, TRUTH, Score())
    assert found["rms_deg"] == pytest.approx(np.degrees(np.sqrt((e[:, :3] ** 2).sum(axis=1).mean())), rel=1e-9)
    assert found["rms_m"] == pytest.approx(np.sqrt((e[:, 3:] ** 2).sum(axis=1).mean()), rel=1e-9)
    nees = np.einsum("ni,ni->n", e, np.linalg.solve(C, e[:, :, None])[:, :, 0])
    assert found["nees"] == pytest.approx(nees.mean(), rel=1e-6)
    inside = (nees > chi2.ppf(0.025, 6)) & (nees < chi2.ppf(0.975, 6))
    assert found["nees_inside_95"] == pytest.approx(inside.mean(), abs=2e-4)
    assert found["rms_rate_deg_s"] == pytest.approx(np.degrees(0.1 * np.sqrt(3.0)), rel=1e-12)


def test_alignment_finds_a_constant_offset_of_the_frames_and_takes_it_out():
    offset, shift = Rotation.from_rotvec([0.4, -1.0, 2.0]), np.array([0.1, -0.2, 0.3])
    records, e, _ = recorded(20000, offset, shift)
    plain = score.against_truth(records, TRUTH, Score())
    found = score.against_truth(records, TRUTH.model_copy(update={"align": True}), Score())
    assert plain["rms_deg"] > 90.0
    # The mean of 20000 errors of up to 0.04 rad and 0.5 m is off by less than five of its standard deviations.
    q_BT = Rotation.from_quat(found["offset"]["q_BT"], scalar_first=True)
    assert (q_BT * offset.inv()).magnitude() < 5.0 * np.sqrt((e[:, :3] ** 2).sum(axis=1).mean() / 20000)
    r_BT = np.array(found["offset"]["r_BT"])
    assert np.linalg.norm(r_BT - shift) < 5.0 * np.sqrt((e[:, 3:] ** 2).sum(axis=1).mean() / 20000)
    assert found["rms_deg"] == pytest.approx(np.degrees(np.sqrt((e[:, :3] ** 2).sum(axis=1).mean())), rel=0.01)


def test_only_times_in_the_interval_while_the_truth_moves_count():
    records, e, _ = recorded(1000, Rotation.identity(), np.zeros(3))
    records["truth_turn"][::2] = np.radians(0.5)
    records["truth_q_IB"][101] = np.nan
    found = score.against_truth(records, TRUTH, Score(from_s=100.0, to_s=199.0, min_rate_deg_s=1.0))
    chosen = np.arange(103, 200, 2)
    assert found["scored"] == len(chosen)
    assert found["rms_m"] == pytest.approx(np.sqrt((e[chosen, 3:] ** 2).sum(axis=1).mean()), rel=1e-9)


def innovation_records(u: np.ndarray, used: np.ndarray):
    """Records whose whitened innovations are u; S is a matrix with correlations."""
    S = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])
    records = np.zeros(len(u), [("t", ">f8"), ("y", ">f8", 3), ("S", ">f8", (3, 3)), ("nis", ">f8"), ("used", ">f8")])
    records["y"], records["S"], records["used"] = u @ np.linalg.cholesky(S).T, S, used
    records["nis"] = (u * u).sum(axis=1)
    return records


def test_whiteness_block_by_block_is_that_of_the_whole_series():
    rng = np.random.default_rng(0)
    u = rng.standard_normal((50000, 3))
    u[1:] += 0.3 * u[:-1]
    records = innovation_records(u, np.ones(len(u)))
    found, half = score.whiteness(records)
    whole = consistency.whiteness(records["y"].astype(float)[None], records["S"].astype(float)[None], 10)
    # The two differ in what they divide by, all squares or those of the overlap: by 10 of 50000.
    np.testing.assert_allclose(found, whole.correlation, rtol=0, atol=5e-4)
    assert half == pytest.approx(whole.band.hi[0], rel=1e-3)


def test_the_band_of_nis_knows_of_the_gate():
    """Of 3e5 honest innovations those beyond the gate are left out; false alarm 5 % for this one seed, and it holds."""
    rng = np.random.default_rng(2)
    u = rng.standard_normal((100000, 3))
    limit = chi2.ppf(0.99, 3)
    found = score.innovations(innovation_records(u, (u * u).sum(axis=1) <= limit), 0.99)
    low, high = found["nis_band"]
    assert low < found["nis"] < high
    assert high < 3.0
    assert found["rejected"] == ((u * u).sum(axis=1) > limit).sum()


def test_an_honest_filter_on_an_honest_log_is_called_honest(tmp_path):
    flight = flights.gyro_flight(2000)
    write_log(tmp_path / "log.parquet", {"": flight.columns})
    _, outcome = flights.replayed(tmp_path / "log.parquet", flight.toml, tmp_path / "out")
    for name, sensor in outcome["sensors"].items():
        # 3 sensors at 99.9 %: the 95 % band widened by 3.29/1.96, false alarm 0.3 %.
        middle, half = np.mean(sensor["nis_band"]), 0.5 * np.ptp(sensor["nis_band"])
        assert abs(sensor["nis"] - middle) < 3.29 / 1.96 * half, name
        assert abs(sensor["correlation"][0]) < 3.29 / 1.96 * sensor["correlation_band"], name
    assert outcome["hints"] == []
    # No worse than the tracker alone (130 arcsec about its axis) with the rate lost for a step (0.01 rad/s, 0.1 s).
    assert outcome["truth"]["rms_deg"] < np.hypot(130.0 / 3600.0, np.degrees(1e-3))
    bias = np.array(outcome["bias"]["rad_s"]) - [2e-3, -1e-3, 5e-4]
    assert (np.abs(bias) < 4.0 * np.array(outcome["bias"]["sigma_rad_s"])).all()


@pytest.mark.parametrize("how", ["world", "heading", "both"])
def test_alignment_of_the_world_takes_its_rotation_and_shift_out(how):
    """A heading of 40 deg between the worlds, and, of both, a mounting of the truth's body."""
    world, body = Rotation.from_rotvec([0.0, 0.0, 0.7]), Rotation.from_rotvec([0.2, 0.1, -0.3])
    records, e, _ = recorded(5000, body if how == "both" else Rotation.identity(), np.zeros(3))
    q = Rotation.from_quat(records["truth_q_IB"], scalar_first=True)
    records["truth_q_IB"] = scalar_first(world * q)
    records["truth_r_IB"] = world.apply(records["truth_r_IB"] + [1.0, 2.0, 3.0])
    found = score.against_truth(records, TRUTH.model_copy(update={"align": how}), Score())
    rms = np.degrees(np.sqrt((e[:, :3] ** 2).sum(axis=1).mean()))
    assert score.against_truth(records, TRUTH, Score())["rms_deg"] > 30.0
    assert found["rms_deg"] == pytest.approx(rms, rel=0.01)
    assert found["rms_m"] == pytest.approx(np.sqrt((e[:, 3:] ** 2).sum(axis=1).mean()), rel=0.01)
    np.testing.assert_allclose(found["offset"]["r_W"], [1.0, 2.0, 3.0], atol=0.05)


def test_heading_and_inclination_are_told_apart_and_a_mask_leaves_times_out():
    records, *_ = recorded(1000, Rotation.identity(), np.zeros(3))
    q = Rotation.from_quat(records["q_IB"], scalar_first=True)
    records["truth_q_IB"] = scalar_first(
        Rotation.from_rotvec([0.0, 0.0, 0.05]) * Rotation.from_rotvec([0.02, 0.0, 0.0]) * q
    )
    records["truth_q_IB"][500:] = scalar_first(q[500:])
    records["truth_mask"][500:] = 0.0
    found = score.against_truth(records, TRUTH, Score())
    assert found["scored"] == 500
    assert found["rms_heading_deg"] == pytest.approx(np.degrees(0.05), rel=1e-6)
    assert found["rms_inclination_deg"] == pytest.approx(np.degrees(0.02), rel=1e-6)
