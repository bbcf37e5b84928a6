"""`gnc report` of a replay: the page says what the files say."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import xarray

from gnc.scenarios import cli
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay import curves
from gnc.scenarios.report import replay_page
from tests.scenarios.replay import flights


def made(flight, folder, *more, code=0):
    """Results of a replay; the code is 1 where a sensor was refused most of the time."""
    write_log(folder / "log.npz", {"": flight.columns})
    (folder / "f.toml").write_text(flight.toml)
    words = ["replay", str(folder / "log.npz"), "--config", str(folder / "f.toml"), "--out", str(folder / "out"), *more]
    assert cli.main(words) == code
    return folder / "out"


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """With a truth, a gyro whose noise is stated ten times too small, and an interval that is taken for rest."""
    toml = flights.gyro_flight(200).toml + "[rest]\nfrom_s = 0\nto_s = 5\n"
    flight = flights.gyro_flight(200)._replace(toml=toml.replace("sigma_deg = 0.5", "sigma_deg = 0.05"))
    return made(flight, tmp_path_factory.mktemp("scored"), code=1)


def tables(page):
    return [table for chapter in page.chapters for table in chapter.tables]


def plots(page):
    return [plot for chapter in page.chapters for plot in chapter.plots]


def bodies(page):
    return next(chapter.scene for chapter in page.chapters if chapter.scene is not None).bodies


def series(page, title):
    return {s.name: s for plot in plots(page) if plot.title == title for s in plot.series}


def test_while_a_sensor_is_silent_its_nis_is_neither_drawn_nor_bridged():
    records = np.zeros(200, [("t", float), ("y", float, 3), ("nis", float), ("used", float)])
    records["t"] = np.r_[0:100, 200:300]
    records["nis"], records["used"] = np.repeat([2.0, 4.0], 100), 1.0
    records["used"][150:] = 0.0  # refused
    log = SimpleNamespace(
        config=SimpleNamespace(filter=SimpleNamespace(gate_probability=1.0)), innovations={"s": records}
    )
    (plot,) = curves.nis(log)
    band, mean, refused = plot.series
    for when, value in ((plot.t < 95.0, 2.0), ((plot.t > 205.0) & (plot.t < 235.0), 4.0)):
        np.testing.assert_array_equal(mean.y[when], value)
    silent = (plot.t > 120.0) & (plot.t < 180.0) | (plot.t > 270.0)
    assert silent.any() and np.isnan(mean.y[silent]).all() and np.isnan(band.upper[silent]).all()
    assert np.isfinite(refused.y[plot.t > 270.0]).all() and np.isnan(refused.y[plot.t < 200.0]).all()


def test_the_tables_account_for_the_data_and_the_scores(scored):
    page, told = replay_page.page(scored), json.loads((scored / "metrics.json").read_text())
    by_title = {table.title: table for table in tables(page)}
    assert list(by_title) == [
        "The data", "Innovations", "Against the truth", "Gyro bias at the end", "Noise at rest", "Tuning",
    ]  # fmt: skip
    assert [row[0] for row in by_title["The data"].rows] == list(told["data"])
    assert dict(by_title["Against the truth"].rows)["attitude RMS [deg]"] == told["truth"]["rms_deg"]
    assert [row[1] for row in by_title["Gyro bias at the end"].rows] == pytest.approx(np.degrees(told["bias"]["rad_s"]))
    assert any(row[0].startswith("sun: innovations are") for row in by_title["Tuning"].rows)
    assert page.configuration == (scored / "config.toml").read_text()


def test_the_plots_show_errors_within_three_sigma(scored):
    """By the attitude's first axis, from the files and with small angles."""
    shown = series(replay_page.page(scored), "attitude error, x")
    with xarray.open_dataset(scored / "estimates.nc", engine="scipy") as found:
        q, true, sigma = found["q_IB"].values, found["truth_q_IB"].values, np.sqrt(found["C"].values[:, 0, 0])
    w, x, y, z = q.T
    matrix = np.array([-x, w, z, -y])  # first vector component of conj(q) true
    angle = 2.0 * np.degrees((matrix * true.T).sum(axis=0)) * np.sign((q * true).sum(axis=1))
    drawn = np.isfinite(shown["x"].y)
    assert drawn[20:].all()
    np.testing.assert_allclose(shown["x"].y[drawn], angle[drawn], atol=1e-6)
    np.testing.assert_allclose(shown["3 sigma"].upper[20:], 3.0 * np.degrees(sigma[20:]), rtol=1e-12)


def test_without_a_truth_the_plots_show_attitude_rate_and_bounds(tmp_path):
    page = replay_page.page(made(flights.torque_flight(100), tmp_path, code=1))
    assert {"attitude, rotation vector", "attitude error, x", "rate, x", "gyro bias, z"} <= {
        p.title for p in plots(page)
    }
    assert "Against the truth" not in [table.title for table in tables(page)]
    assert [body.name for body in bodies(page)] == ["estimate"]


def test_bounds_of_a_position_are_drawn_in_the_axes_they_are_in(tmp_path):
    """Errors of a pose are in body axes, the position itself in inertial ones."""
    page = replay_page.page(made(flights.pose_flight(True, 40), tmp_path))
    assert [s.style for s in series(page, "position, inertial axes").values()] == ["line"] * 3
    assert [s.style for s in series(page, "position error, body axes, x").values()] == ["band"]


def test_the_scene_plays_the_estimate_beside_the_truth(scored):
    estimate, truth = bodies(replay_page.page(scored))
    with xarray.open_dataset(scored / "estimates.nc", engine="scipy") as found:
        assert np.array_equal(estimate.q, found["q_IB"].values)
        assert np.array_equal(truth.q, found["truth_q_IB"].values)


def test_report_makes_the_page_that_replay_leaves(scored, tmp_path):
    assert cli.main(["report", str(scored), "--out", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_bytes() == (scored / "report.html").read_bytes()


def test_a_replay_has_no_trials(scored, capsys):
    assert cli.main(["report", str(scored), "--trial", "2"]) == 2
    assert "--trial 2: a replay has no trials" in capsys.readouterr().err


def test_a_damaged_file_of_estimates_is_one_line(scored, tmp_path, capsys):
    for name in ("metrics.json", "config.toml"):
        (tmp_path / name).write_bytes((scored / name).read_bytes())
    (tmp_path / "estimates.nc").write_bytes(b"what")
    assert cli.main(["report", str(tmp_path)]) == 2
    assert "estimates.nc: cannot be read" in capsys.readouterr().err
