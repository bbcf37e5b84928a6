"""Linear covariance of missions: derivatives, budgets, predictions, rare events, sweeps."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, norm

from gnc.errors import InputError
from gnc.flying import Flying
from gnc.linear_flight import LinearFlight, Passage
from gnc.scenarios.cli import main
from gnc.scenarios.covariance import rare
from gnc.scenarios.covariance.analysis import covariance
from gnc.scenarios.covariance.directions import TypicalFlight, _start
from gnc.scenarios.covariance.predict import _jackknifed, predictions
from gnc.scenarios.covariance.propagate import _Spreading, _with_walks, linear_covariance
from gnc.scenarios.covariance.verify import verify
from gnc.scenarios.missions.load import builtin, read
from gnc.scenarios.missions.requirements.statistic import statistic
from gnc.scenarios.sweep.sweep import Axis, points

pytestmark = pytest.mark.jit
SHORT = ["run.duration_s=60", "requirements.sun_p997_deg.when='t >= 30'"]
LINEAR = ["attitude_sigma_deg=2", "rate_sigma_deg_s=0.05"]  # at 20 deg the first minute is not linear
SHORT += [f"craft.sat.start.{one}" for one in LINEAR] + ["craft.sat.actuators.wheels.start_Nms=1e-3"]


def moved(flight, passage, changes):
    """The numbers after a tick from Python, from numbers that are changed (rows, n)."""
    linear = flight.linear
    alike = flight.alike(len(changes))
    slots = LinearFlight(alike.loop, _start(alike), lambda y: np.zeros((0, y.shape[1]))).slots
    start = (passage.z + changes)[:, np.searchsorted(linear.numbers, linear.owner)]
    flying = Flying(alike.loop)
    flying.put(passage.k, slots.unpack(start, passage.waiting), passage.waiting)
    flying.tick()
    flying.move()
    return slots.pack(flying.state(), flying.waiting(), start)[:, linear.numbers]


def extrapolated(differences, order):
    """Richardson's extrapolation of differences with steps h, h / 4, ... whose error is a series in h^order.

    Of the table, that is taken which differs least from its two neighbours (Ridders).
    """
    table, best, error = [differences[0]], differences[0], np.full(differences[0].shape, np.inf)
    for one in differences[1:]:
        row = [one]
        for j, before in enumerate(table):
            row.append(row[j] + (row[j] - before) / (4.0 ** (order * (j + 1)) - 1.0))
            apart = np.nan_to_num(np.maximum(np.abs(row[-1] - row[j]), np.abs(row[-1] - before)), nan=np.inf)
            best, error = np.where(apart < error, row[-1], best), np.minimum(apart, error)
        table = row
    return best


def sizes(linear, z):
    """How large every number is, by its array; in a covariance by the two sigmas."""
    full, found = z[np.searchsorted(linear.numbers, linear.owner)], []
    ends = np.cumsum([int(np.prod(core)) for core in linear.slots.packing.cores])[:-1]
    for part, core in zip(np.split(np.nan_to_num(full), ends), linear.slots.packing.cores, strict=True):
        if len(core) == 2 and core[0] == core[1]:
            sigma = np.sqrt(np.abs(np.diag(part.reshape(core))))
            found.append(np.outer(sigma, sigma).ravel())
        else:
            found.append(np.full(part.size, np.max(np.abs(part), initial=0.0)))
    return np.concatenate(found)[linear.numbers]


FAST = ("attitude-only", "commissioning", "pointing")
MISSIONS = [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in builtin()]


def busiest(flight, until_s=10.0):
    """The last tick of the first seconds at which most instruments are due, and how it depends on what is drawn.

    Of a craft that falls on the ground, the tick of the first impact.
    """
    last, S, falls = until_s / flight.prepared.loop.h, flight.linear.start_slopes(), flight.mission.name == "touchdown"
    found = None
    for passage in itertools.takewhile(lambda p: falls or p.k <= last, flight.linear.passages(lambda k: False)):
        if falls:
            if passage.z[flight.linear.names.index("truth_0_touched")]:
                return found
            found = passage, S.copy()
        elif found is None or len(passage.B) >= len(found[0].B):
            found = passage, S.copy()
        S[passage.rows] = passage.A @ S[passage.columns] + passage.D
    return found


@pytest.mark.parametrize("name", MISSIONS)
def test_the_derivative_of_a_tick_of_a_mission_is_that_of_finite_differences(name):
    """To 1e-7 of the largest effect on each number, and its rounding, which is 1e-10 of its size.

    Where the plant is differenced, of trees and on the ground, to 1e-9 of a number's size: what a step of a tree is
    solved to, about 1e-12, over differences of 1e-3.

    Every number is moved by itself, but places and velocities of bodies on joints, which are moved together as what is
    drawn moves them: joints do not come apart. Reactions there, which are 4/h^2 times what joints are open, and the sum
    of their sizes are left out. A number at a kink (a valve that is shut) has two derivatives: one of them, to 1e-7.
    Of a step so long that a gate decides otherwise than in the tick (filters count that), there is no difference.
    """
    flight = TypicalFlight(read(name), 0, 0)
    passage, S = busiest(flight)
    names, rows, columns = flight.linear.names, passage.rows, passage.columns
    size = sizes(flight.linear, passage.z)
    joined = np.array(["_bodies_" in name for name in names])
    single = np.diag(np.where(size > 0.0, size, 1e-2))[columns[~joined[columns]]]
    together = np.where(joined, S.T, 0.0)[np.any(S[joined] != 0.0, axis=0)]
    together /= np.max(np.abs(together) / np.where(size > 0.0, size, 1.0), axis=1, keepdims=True, initial=0.0)
    ways = np.vstack([single, together])
    steps = 1e-3 / 4.0 ** np.arange(6)
    changes = np.vstack([sign * h * ways for h in steps for sign in (1.0, -1.0)] + [np.zeros((1, len(names)))])
    after = moved(flight, passage, changes)[:, rows]
    counts = np.array(["_counts_" in name for name in names])[rows]
    after[np.any(after[:, counts] != after[-1, counts], axis=1)] = np.nan
    ends = after[:-1].reshape(len(steps), 2, *ways.shape[:1], -1) - after[-1]
    up, down = ends[:, 0] / steps[:, None, None], -ends[:, 1] / steps[:, None, None]
    reactions = np.array([name.split("[")[0].endswith(("bodies_before", "bodies_after", "handled")) for name in names])
    exact, live = ways[:, columns] @ passage.A.T, np.isfinite(after[-1]) & ~(reactions[rows] & joined.any())
    near = [extrapolated(0.5 * (up + down), 2), extrapolated(up, 1), extrapolated(down, 1)]
    miss = [np.abs(exact - one)[:, live] for one in near]
    tolerance, least = 1e-7, 1e-9 if flight.linear.differenced else 1e-10
    rounded = np.where(size > 0.0, size, 1.0 if flight.linear.differenced else 0.0)  # zeros are rounded too
    allowed = (tolerance * np.max(np.abs(exact), axis=0) + least * rounded[rows])[live]
    kinked = ~(miss[0] <= allowed)
    assert np.all(~kinked | (np.minimum(miss[1], miss[2]) <= allowed))
    assert np.mean(kinked) < 0.2 and np.count_nonzero(passage.A) > len(columns)


SEEN = []  # of progress


@pytest.fixture(scope="module")
def found():
    return covariance(read("pointing", SHORT), most=2, workers=0, progress=lambda *at: SEEN.append(at))


def test_progress_is_told_from_the_first_ticks_to_the_last_flight(found):
    shares = [done / total for done, total in SEEN]
    assert shares == sorted(shares) and shares[0] < 0.01 and shares[-1] == 1.0
    assert sum(share <= 0.5 for share in shares) > 100  # the first of two flights, tick by tick


def test_shares_of_sources_add_up_and_believed_sigmas_are_there(found):
    signal, window = "sat.pointing_error_deg", found.windows["sun_p997_deg"]
    assert sum(found.budget(signal, window.times).values()) == pytest.approx(100.0, abs=1e-9)
    assert found.believed("sat.knowledge_error_deg").shape == (7, 3)
    by_source = np.sum([np.trace(c[-1]) for c in found.shares(signal).values()])
    assert by_source == pytest.approx(np.trace(found.total(signal)[-1]), rel=1e-12)


def test_sigmas_are_those_of_flown_trials(found):
    """Sampling alone moves a ratio by 3 % (one sigma, 500 trials); 15 % is beyond five of that and flights' 4 %."""
    mission, signal = found.mission, "sat.knowledge_error_deg"
    y = mission.fly(range(100, 600), judged_only=True).signals[signal].values[:, -3:]
    flown = np.sqrt(y.var(axis=0).mean(axis=0))
    linear = np.sqrt(np.diagonal(found.total(signal)[-3:].mean(axis=0)))
    np.testing.assert_allclose(linear / flown, 1.0, atol=0.15)


def test_the_interval_of_a_ratio_counts_the_error_of_linear_sigmas_too(found, monkeypatch):
    """It was that of flown trials alone, however few flights there were beside them."""
    monkeypatch.setattr(type(found), "errors_over", lambda *of: np.full(3, 0.5))
    for r in verify(found, 100)[0]:
        assert 0.98 < min(np.log(r.ratio / r.interval[0]), np.log(r.interval[1] / r.ratio)) < 1.1


def test_a_percentile_is_that_of_trials_with_all_noise_that_they_may_have(found):
    """The mean square is known: of trials without noise, and of the shares of noise, whose scale is a mean there."""
    window, signal = found.windows["sun_p997_deg"], "sat.knowledge_error_deg"
    mixed = np.square(found.mixture(window, signal)).sum(axis=1).mean()
    noise = sum(c for name, c in found.shares(signal).items() if name.endswith(" noise"))[window.times]
    quiet = np.square(found.quiet.of(signal)[:, window.times]).sum(axis=2).mean()
    assert noise.trace(axis1=1, axis2=2).mean() > 0.2 * quiet
    assert mixed == pytest.approx(quiet + noise.trace(axis1=1, axis2=2).mean(), rel=0.03)


def test_the_error_of_a_percentile_is_its_scatter_over_repetitions():
    """Trials of different sizes; the scatter of 300 repetitions is known to 4 % (one sigma): 20 % is 5 of that."""
    rng, of = np.random.default_rng(3), statistic("p99.7")
    size = np.exp(0.4 * rng.standard_normal((300, 400, 1)))
    told = np.array([_jackknifed(of, (one * rng.standard_normal((400, 50))).ravel()) for one in size])
    assert np.sqrt(np.square(told[:, 1]).mean()) == pytest.approx(told[:, 0].std(), rel=0.2)


def test_a_derivative_is_that_of_a_sensor_made_better(found):
    predicted = {p.name: p for p in predictions(found)[0]}
    told = predicted["sun_p997_deg"]
    assert np.isfinite(told.probability) and np.isnan(predicted["lost"].probability)  # losses are not seen
    path = "craft.sat.sensors.sun_sensor.sigma_deg"
    assert told.derivatives[path][0] == 1.0 and told.derivatives[path][1] > 0.0
    assert 0.0 <= told.interval[0] <= told.probability <= told.interval[1] <= 1.0


def test_beliefs_are_found_where_measurements_arrive_and_where_none_does():
    """A moment has other numbers where instruments are due: what is known best then must not be taken for another."""
    result = linear_covariance(read("attitude-only", ["run.duration_s=25", "run.record_s=1"]), 0, 0)
    (C,) = (C for name, C in result.beliefs.items() if C.shape[1:] == (6, 6))
    assert len(C) == 26 and np.array_equal(C, np.swapaxes(C, 1, 2)) and np.linalg.eigvalsh(C).min() > 0.0
    sigma = np.degrees(np.sqrt(np.diagonal(C, axis1=1, axis2=2)[:, :3]))
    told = result.nominal[result.sigma_of["body.knowledge_error_deg"]]
    np.testing.assert_allclose(sigma, told, rtol=1e-9)


OWN = """base = "pointing"
[run]
duration_s = 30
[software.sat.modes.nadir]
law = "parts.py:QuaternionFeedback"
[craft.sat.sensors.horizon]
kind = "parts.py:HorizonSensor"
rate_hz = 1.0
"""


def test_an_own_law_and_sensor_count_through_differences(tmp_path):
    """Sampling moves each of three ratios by 2.5 % (one sigma, 800 trials): 10 % fails by chance in 2e-4 of runs."""
    (tmp_path / "parts.py").write_text((Path(__file__).parent / "own" / "parts.py").read_text())
    (tmp_path / "mine.toml").write_text(OWN)
    mission = read(str(tmp_path / "mine.toml"), SHORT[2:])
    result = linear_covariance(mission, 0, 0)
    assert len(result.differenced) >= 2, result.differenced
    signal = "sat.knowledge_error_deg"
    noise = sum(np.diagonal(c[-1]) for c in result.noise[signal].values())
    sigma = np.sqrt(noise + np.square(result.slopes[signal][-1]).sum(axis=1))
    assert np.trace(result.noise[signal]["sat.horizon"][-1]) > 0.2 * noise.sum()
    flown = mission.fly(range(100, 900), judged_only=True).signals[signal].values[:, -1].std(axis=0)
    np.testing.assert_allclose(sigma / flown, 1.0, atol=0.1)


TAILS = {  # failure of standard normal numbers, and its probability
    "one direction": (lambda x: np.abs(x.sum(axis=1)) > 4.2648908 * np.sqrt(6.0), 2.0 * norm.sf(4.2648908)),
    "beyond a sphere": (lambda x: np.square(x[:, :3]).sum(axis=1) > 27.0, chi2.sf(27.0, 3)),
}


@pytest.mark.parametrize("name", TAILS)
def test_a_tail_of_the_normal_distribution_is_within_its_interval(name):
    """2e-5 and 6e-6; 99 % intervals: fewer than 95 of 100 hold the truth with probability 5e-4."""
    failure, truth = TAILS[name]
    to = {
        "one direction": rare.Directions(np.ones((1, 6)) / np.sqrt(6.0), np.array([4.2])),
        "beyond a sphere": rare.Directions(np.eye(3, 6), np.full(3, 3.0)),
    }[name]
    told = [rare.sampled(failure, to, 5000, np.random.default_rng(seed)) for seed in range(100)]
    assert sum(one.low <= truth <= one.high for one in told) >= 95


def test_axes_take_fractions_ranges_and_patterns():
    mission = read("pointing")
    axis = Axis.of("sensors.*.rate_hz=1,1/30", mission)
    assert axis.values == (1.0, 1.0 / 30.0) and len(axis.keys) == 2
    log = Axis.of("craft.sat.sensors.sun_sensor.sigma_deg=0.1:10:3:log", mission)
    np.testing.assert_allclose(log.values, [0.1, 1.0, 10.0])
    assert len(points([axis, log])) == 6 and len(points([log], latin=5)) == 5
    drawn = np.array(points([log], latin=40))[:, 0]  # as many below as above the geometric mean
    assert np.count_nonzero(drawn < 1.0) == 20 and drawn.min() > 0.1 and drawn.max() < 10.0
    for wrong in ("nothing=1", "sensors.*.rate_hz", "sensors.*.rate_hz=2:1"):
        with pytest.raises(InputError, match="--over"):
            Axis.of(wrong, mission)


def test_a_sweep_goes_on_where_it_was(tmp_path, capsys):
    words = ["sweep", "pointing", "--by", "monte-carlo", "--trials", "2", "--workers", "1", "--json"]
    words += ["--set", "run.duration_s=20", "--over", "sensors.*.rate_hz=1,1/2", "--out", str(tmp_path)]
    assert main(words) == 0
    first = json.loads(capsys.readouterr().out)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "points").iterdir()}
    assert main(words) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == first and len(files) == 2
    assert files == {path: path.stat().st_mtime_ns for path in (tmp_path / "points").iterdir()}


ASKED = {("--rare", "nothing"): "no such requirement; there are lost", ("--rare", "lost"): "takes a requirement of"}
ASKED |= {("--sobol", name): told for (_, name), told in ASKED.items()}


@pytest.mark.parametrize(("option", "name"), ASKED)
def test_a_requirement_that_does_not_do_is_one_line_before_anything_flies(option, name, tmp_path, capsys) -> None:
    assert main(["covariance", "pointing", option, name, "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert f"{option} {name}: {ASKED[option, name]}" in told and told.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("values", ["a,b", "1,1.5"])  # a period of 0.667 s is no whole number of steps
def test_a_sweep_over_values_that_do_not_fit_leaves_nothing(values, tmp_path, capsys) -> None:
    out = tmp_path / "out"
    assert main(["sweep", "pointing", "--over", f"sensors.*.rate_hz={values}", "--out", str(out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not out.exists()


def test_a_walk_in_the_noise_is_carried_as_a_sum_of_all_its_steps():
    # z' = z + 2 white + walk': Var z = 4 n + sum k^2, Cov(z, walk) = sum k, by hand; the walk begins at n = 1.
    B = np.array([[2.0, 1.0]])
    passage = Passage(
        0, 1, np.zeros(1), np.array([0]), np.array([0]), np.eye(1), np.zeros((1, 1)), {"g": B}, None, None
    )
    spread = _Spreading(np.zeros((2, 1)), ["g"], 4000, np.random.default_rng(6))
    for _ in range(7):
        wide = _with_walks(passage, {"g": np.array([1])}, 1)
        spread.move(wide, spread.draw(wide))
    spread.arrive()
    expected = np.array([[28.0 + 140.0, 28.0], [28.0, 7.0]])
    np.testing.assert_allclose(spread.C["g"], expected, rtol=1e-12)
    np.testing.assert_allclose(np.cov(spread.X), expected, rtol=0.12)  # 5 sigma of 4000 samples
    assert _with_walks(passage._replace(B={}), {"g": np.array([1])}, 1).A.shape == (1, 1)
