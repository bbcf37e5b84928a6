"""What a campaign finds is what its trials did; losses, early stop, progress, chunk sizes, export."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.io import loadmat

from gnc.errors import InputError
from gnc.montecarlo import campaign, summary
from gnc.montecarlo.campaign import EarlyStop
from gnc.montecarlo.statistics import wilson
from gnc.montecarlo.summary import export
from tests.gnc.montecarlo.flights import CONFIGURATION, STEPS, Coin, Walk

TRIALS = 200
LOST = (3, 30, 77)


@pytest.fixture(scope="module")
def flown(tmp_path_factory) -> tuple[campaign.Campaign, Path]:
    out = tmp_path_factory.mktemp("campaign") / "run"
    walk = Walk(total=TRIALS, lost=LOST)
    times_s = {"error": np.arange(1.0, STEPS + 1)}
    options = {"chunk_size": 33, "consistency": {"nees": 2}, "times_s": times_s}
    return campaign.run(walk, CONFIGURATION, 1, TRIALS, out, **options), out


@pytest.fixture(scope="module")
def kept() -> dict[str, np.ndarray]:
    """The trials that are not lost, flown here."""
    numbers = np.setdiff1d(np.arange(TRIALS), LOST)
    return Walk(total=TRIALS).fly(numbers) | {"trial": numbers}


def test_lost_trials_are_listed_with_number_and_reason(flown) -> None:
    assert flown[0].summary["lost"] == [
        {"trial": 3, "reason": "step limit"},
        {"trial": 30, "reason": "step limit"},
        {"trial": 77, "reason": "step limit"},
    ]


def test_metrics_are_those_of_the_trials_that_were_not_lost(flown, kept) -> None:
    found = flown[0].summary["metrics"]["final"]
    assert found["count"] == len(kept["final"])
    assert found["mean"] == pytest.approx(kept["final"].mean(), rel=1e-13)
    assert found["p95"] == pytest.approx(np.percentile(kept["final"], 95), rel=1e-13)
    assert set(flown[0].summary["metrics"]) == {"final", "steps"}


def test_success_counts_lost_trials_as_failures(flown, kept) -> None:
    expected = stats.binomtest(int(kept["success"].sum()), TRIALS).proportion_ci(method="wilson")
    success = flown[0].summary["success"]
    assert success["p"] == kept["success"].sum() / TRIALS
    assert (success["lo"], success["hi"]) == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_worst_trials_are_those_with_the_largest_metric(flown, kept) -> None:
    order = np.argsort(kept["final"])[::-1][:5]
    assert flown[0].summary["worst"]["final"] == kept["trial"][order].tolist()


def test_of_a_metric_whose_lowest_value_is_the_worst_the_lowest_come_first(tmp_path, kept) -> None:
    walk = Walk(total=TRIALS, lost=LOST)
    again = campaign.run(walk, CONFIGURATION, 1, TRIALS, tmp_path / "run", lowest=["final"])
    assert again.summary["worst"]["final"] == kept["trial"][np.argsort(kept["final"], kind="stable")[:5]].tolist()


def test_bands_are_percentiles_over_the_trials_at_each_time(flown, kept) -> None:
    with xr.open_dataset(flown[1] / "bands.nc") as bands:
        expected = np.percentile(kept["error"], bands["percent"].values, axis=0)
        assert np.allclose(bands["error"].values, expected, rtol=1e-13, atol=1e-14)
        assert bands["error_1"].values.tolist() == list(range(1, STEPS + 1))
    assert flown[0].bands["error"].dims == ("percent", "error_1")


def test_bands_read_in_blocks_of_any_width_have_the_same_bits(flown, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(summary, "BLOCK_BYTES", 8 * TRIALS * 3)
    walk = Walk(total=TRIALS, lost=LOST)
    found = campaign.run(walk, CONFIGURATION, 1, TRIALS, tmp_path / "run", chunk_size=50, consistency={"nees": 2})
    assert found.summary == flown[0].summary
    for name in ("error", "nees", "nees_mean", "nees_lo"):
        assert (found.bands[name].values == flown[0].bands[name].values).all()


def test_consistency_is_the_mean_over_trials_with_its_band(flown, kept) -> None:
    bands = flown[0].bands
    assert np.allclose(bands["nees_mean"], kept["nees"].mean(axis=0), rtol=1e-13)
    n = len(kept["final"])
    assert np.allclose(bands["nees_lo"], stats.chi2.ppf(0.025, 2 * n) / n, rtol=1e-12)
    assert np.allclose(bands["nees_hi"], stats.chi2.ppf(0.975, 2 * n) / n, rtol=1e-12)
    inside = (bands["nees_lo"] <= bands["nees_mean"]) & (bands["nees_mean"] <= bands["nees_hi"])
    assert flown[0].summary["consistency"]["nees"]["inside"] == inside.values.mean()


def test_a_metric_is_most_sensitive_to_what_drives_it(flown, kept) -> None:
    rows = {(row["metric"], row["input"]): row for row in flown[0].summary["sensitivity"]}
    expected = stats.spearmanr(kept["final"], kept["input.walk.gain"])
    found = rows["final", "input.walk.gain"]
    assert (found["rho"], found["p_value"]) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-10)
    assert ("success", "input.walk.gain") in rows and ("lost", "input.walk.bias") in rows
    assert not any(metric == "steps" for metric, _ in rows)


def test_the_numbers_on_disk_are_those_returned_and_strict_json(flown) -> None:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    text = (flown[1] / "metrics.json").read_text()
    assert json.loads(text, parse_constant=refuse) == flown[0].summary


def test_a_history_with_several_axes_has_bands_of_its_shape(tmp_path: Path) -> None:
    class Vectors:
        def fly(self, trials):
            return {"v": trials[:, None, None] * np.arange(1.0, 7.0).reshape(1, 3, 2)}

    found = campaign.run(Vectors(), {}, 1, 11, tmp_path / "run", chunk_size=4)
    assert np.allclose(found.bands["v"].sel(percent=50.0), 5.0 * np.arange(1.0, 7.0).reshape(3, 2), rtol=1e-15)


def test_a_campaign_that_loses_every_trial_still_ends(tmp_path: Path) -> None:
    walk = Walk(total=10, lost=tuple(range(10)))
    found = campaign.run(walk, CONFIGURATION, 1, 10, tmp_path / "run", chunk_size=3)
    assert len(found.summary["lost"]) == 10
    assert {x["count"] for x in found.summary["metrics"].values()} == {0} and found.summary["success"]["p"] == 0.0


def test_an_unknown_history_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nis: no such time history; there is error, nees"):
        campaign.run(Walk(), CONFIGURATION, 1, 10, tmp_path / "run", chunk_size=5, consistency={"nis": 3})


# Early stop


def narrow_at(successes: np.ndarray, width: float) -> int:
    """The first multiple of 100 at which SciPy's interval is narrow enough."""
    for n in range(100, len(successes) + 1, 100):
        interval = stats.binomtest(int(successes[:n].sum()), n).proportion_ci(method="wilson")
        if interval.high - interval.low <= width:
            return n
    return len(successes)


@pytest.mark.parametrize("size", [17, 64, 250])
def test_an_early_stop_depends_on_the_trials_and_not_on_the_chunks(tmp_path: Path, size: int) -> None:
    coin = Coin(seed=1, probability=0.9)
    found = campaign.run(coin, {}, 1, 5000, tmp_path / "run", chunk_size=size, until_ci=0.06)
    expected = narrow_at(coin.fly(np.arange(5000))["success"], 0.06)
    assert 100 < expected < 1000
    assert found.summary["trials"] == expected == len(found.table["trial"])
    assert found.summary["success"]["hi"] - found.summary["success"]["lo"] <= 0.06
    again = campaign.run(coin, {}, 1, 5000, tmp_path / "run", resume=True, until_ci=0.06)
    assert again.summary == found.summary and again.timing["flown_trials"] == 0


def test_a_stopped_campaign_can_be_flown_on(tmp_path: Path) -> None:
    coin = Coin(seed=1, probability=0.9)
    campaign.run(coin, {}, 1, 1000, tmp_path / "run", chunk_size=64, until_ci=0.1)
    on = campaign.run(coin, {}, 1, 1000, tmp_path / "run", resume=True)
    assert on.summary == campaign.run(coin, {}, 1, 1000, tmp_path / "calm", chunk_size=1000).summary


def test_chunks_that_come_in_any_order_stop_at_the_same_trial() -> None:
    outcomes = Coin(seed=2, probability=0.8).fly(np.arange(1000))["success"]
    chunks = [range(start, start + 50) for start in range(0, 1000, 50)]
    stops = set()
    for order in (chunks, chunks[::-1], chunks[1::2] + chunks[::2]):
        stop = EarlyStop(0.08)
        for chunk in order:
            stop.add(chunk, {"success": outcomes[chunk.start : chunk.stop], "lost": np.full(50, "")})
        stops.add(stop.stop)
    assert stops == {narrow_at(outcomes, 0.08)}


@pytest.mark.parametrize("probability", [0.5, 0.9])
def test_the_interval_of_an_early_stop_covers_nearly_as_often_as_it_states(probability: float) -> None:
    """Stopped at a width of 0.08 in 2000 campaigns: at least 93 % cover, of 95 % stated.

    If the true coverage were 95 %, fewer than 93 % of 2000 would have the chance 5e-5.
    """
    rng, covered = np.random.default_rng(7), 0
    for _ in range(2000):
        outcomes = rng.random(1000) < probability
        stop = EarlyStop(0.08)
        stop.add(range(1000), {"success": outcomes, "lost": np.full(1000, "")})
        assert stop.stop is not None
        interval = wilson(int(outcomes[: stop.stop].sum()), stop.stop)
        covered += interval.lo <= probability <= interval.hi
    assert covered >= 0.93 * 2000


def test_an_early_stop_without_a_criterion_or_a_width_is_refused(tmp_path: Path) -> None:
    class Silent:
        def fly(self, trials):
            return {"x": np.ones(len(trials))}

    with pytest.raises(InputError, match="until_ci: this scenario has no criterion of success"):
        campaign.run(Silent(), {}, 1, 10, tmp_path / "a", chunk_size=5, until_ci=0.1)
    with pytest.raises(InputError, match="until_ci: 0.0 is not a width between 0 and 1"):
        campaign.run(Silent(), {}, 1, 10, tmp_path / "b", chunk_size=5, until_ci=0.0)
    assert not (tmp_path / "b").exists()


# Progress and chunk sizes


def test_progress_counts_trials_and_losses(tmp_path: Path) -> None:
    told: list[campaign.Progress] = []
    walk = Walk(total=20, lost=(3, 12))
    campaign.run(walk, CONFIGURATION, 1, 20, tmp_path / "run", chunk_size=8, progress=told.append)
    assert [(p.done, p.trials, p.lost) for p in told] == [(8, 20, 1), (16, 20, 2), (20, 20, 2)]
    assert all(p.trials_per_s > 0 for p in told) and told[-1].left_s == 0.0


@pytest.mark.parametrize(("trials", "size"), [(0, 5), (-1, 5), (2**31, 5), (10, 0), (10, -3)])
def test_impossible_numbers_are_refused_and_nothing_is_written(tmp_path: Path, trials: int, size: int) -> None:
    with pytest.raises(InputError, match="trials: |chunk_size: "):
        campaign.run(Walk(), CONFIGURATION, 1, trials, tmp_path / "run", chunk_size=size)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("trials", "workers", "limit", "size"),
    [(10_000, 2, 10_000, 5000), (10_000, 2, 4000, 2500), (10_000, 2, 5000.9, 5000), (7, 2, 0.3, 1), (10, 3, 100, 4)],
)
def test_chunks_are_within_the_limit_and_equal_for_every_worker(trials, workers, limit, size) -> None:
    assert campaign.balanced(trials, workers, limit) == size


def test_the_chunk_size_respects_memory() -> None:
    class Stating:
        bytes_per_trial = campaign.MEMORY_BYTES // 100

        def fly(self, trials):
            return {"x": np.ones(len(trials))}

    class Large:
        def fly(self, trials):
            return {"x": np.ones((len(trials), campaign.MEMORY_BYTES // 100 // 8 // campaign.OVERHEAD))}

    assert campaign.choose(Stating(), 10_000, 2)[0] == 100
    assert 90 <= campaign.choose(Large(), 10_000, 2)[0] <= 100


def test_a_small_campaign_is_divided_among_the_workers_without_a_probe() -> None:
    class Unflyable:
        def fly(self, trials):
            raise AssertionError

    assert campaign.choose(Unflyable(), 100, 2) == (50, {})


def test_the_trial_that_tells_the_chunk_size_tells_whether_flights_can_be_repeated(tmp_path) -> None:
    class Counting:
        def fly(self, trials):
            flights.append(trials.tolist())
            return {"x": trials}

    flights: list[list[int]] = []
    campaign.run(Counting(), {}, 1, 200, tmp_path / "whole")
    Counting.bytes_per_trial = campaign.MEMORY_BYTES // 100
    campaign.run(Counting(), {}, 1, 200, tmp_path / "halves")  # whose first does not end with the trial flown alone
    assert flights == [[199], [*range(200)], [199], [*range(100)], [99], [*range(100, 200)]]


# Export


def test_csv_reads_back_with_every_bit(flown, tmp_path: Path) -> None:
    export(flown[0].table, tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(flown[0].table)
    for name, values in flown[0].table.items():
        texts = [row[name] for row in rows]
        if values.dtype.kind == "f":
            assert np.array_equal(np.array(texts, dtype=np.float64), values, equal_nan=True)
        else:
            assert texts == [str(value) for value in values]


def test_parquet_reads_back_with_every_bit(flown, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export(flown[0].table, tmp_path / "table.parquet")
    back = parquet.read_table(tmp_path / "table.parquet")
    assert back.column_names == list(flown[0].table)
    for name, values in flown[0].table.items():
        column = back[name].to_numpy()
        assert np.array_equal(column, values, equal_nan=values.dtype.kind == "f")
        assert column.dtype.kind == values.dtype.kind


def test_mat_reads_back_with_every_bit(flown, tmp_path: Path) -> None:
    export(flown[0].table, tmp_path / "table.mat")
    back = loadmat(tmp_path / "table.mat", squeeze_me=True, chars_as_strings=True)
    assert back["columns"].tolist() == list(flown[0].table)
    assert np.array_equal(back["input_walk_gain"], flown[0].table["input.walk.gain"], equal_nan=True)
    assert np.array_equal(back["final"], flown[0].table["final"], equal_nan=True)
    assert back["success"].tolist() == flown[0].table["success"].tolist()
    assert [str(x) if len(x) else "" for x in back["lost"]] == flown[0].table["lost"].tolist()


def test_mat_names_stay_apart(tmp_path: Path) -> None:
    table = {"a.b": np.array([1.0]), "a_b": np.array([2.0]), "3d": np.array([3.0])}
    export(table, tmp_path / "table.mat")
    back = loadmat(tmp_path / "table.mat")
    assert (back["a_b"].item(), back["a_b_2"].item(), back["x_3d"].item()) == (1.0, 2.0, 3.0)


def test_another_format_is_refused(flown, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="export: 'table.xlsx' ends with none of .csv, .parquet, .mat"):
        export(flown[0].table, tmp_path / "table.xlsx")
    with pytest.raises(InputError, match="missing is no directory; make it, or give another"):
        export(flown[0].table, tmp_path / "missing" / "table.csv")
