"""The experiments of QVI section IX: every case runs, keeps its checks, and reports attitude beside conservation."""

import json

import numpy as np
import pytest

from gnc import quaternion
from gnc.scenarios import cli
from gnc.scenarios.papers import find
from gnc.scenarios.papers.qvi import damper, free_body
from gnc.scenarios.plots import save_figure

CASES = [f"qvi/fig{k}" for k in range(1, 7)]


@pytest.mark.jit
@pytest.mark.parametrize("name", CASES)
def test_a_case_keeps_its_checks_and_draws_its_figure(name, tmp_path):
    (case,) = find(name)
    result = case.run(0)
    assert [check.name for check in result.checks if not check.ok] == []
    assert any(key.startswith("attitude_deg") for key in result.metrics), "never conservation alone"
    assert result.draw is not None
    save_figure(result.draw, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000


def test_the_paper_has_all_its_cases():
    assert [case.name for case in find("qvi")][:6] == CASES


@pytest.mark.jit
def test_a_case_speaks_json(capsys, tmp_path):
    assert cli.main(["reproduce", "qvi/fig1", "--json", "--out", str(tmp_path)]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert {"case", "metrics", "checks"} <= outcome.keys() and outcome["case"] == "qvi/fig1"
    assert all({"name", "value", "bound", "ok"} <= check.keys() for check in outcome["checks"])
    methods = ("vi2", "vi4", "preprocessed", "rk4", "midpoint", "rk45")
    assert {f"attitude_deg_200s_{method}" for method in methods} <= outcome["metrics"].keys()
    assert outcome["files"] == [str(tmp_path / "qvi_fig1.png")]


def test_errors_are_zero_for_the_truth_and_as_large_as_what_is_done_to_it():
    turned = quaternion.mul(free_body.START.q_IB, quaternion.exp(np.array([0.0, 0.0, np.radians(3.0)])))
    faster = free_body.START._replace(q_IB=turned, w_B=1.1 * free_body.START.w_B)
    same, other = (free_body.errors(x, free_body.START.q_IB) for x in (free_body.START, faster))
    assert (same.momentum, same.energy, same.attitude_deg) == pytest.approx((0.0, 0.0, 0.0), abs=1e-15)
    assert other.energy == pytest.approx(0.21) and other.attitude_deg == pytest.approx(3.0)
    assert other.momentum > 0.1  # the vector has turned as well


def test_a_rise_is_measured_from_the_lowest_point_before_it():
    assert damper.rise(np.array([1.0, 0.9, 0.95, 0.8, 0.82])) == pytest.approx(0.05)
    assert damper.rise(np.array([1.0, 0.9, 0.8])) == 0.0


@pytest.mark.jit
def test_a_tenth_of_the_papers_step_leaves_a_hundredth_of_the_attitude_error():
    """C = 100 over 30 s, second order, against Radau."""
    t = np.linspace(0.0, 30.0, 11)
    truth = damper.solve("Radau", 100.0, t, rtol=1e-9, atol=1e-9)[0].q_IB
    body = damper.body(100.0, 2)
    coarse, fine = (
        damper.off_deg(body.fly(damper.START, n, 30.0 / n, every=n // 10).x.q_IB, truth).max() for n in (300, 3000)
    )
    assert coarse / fine == pytest.approx(100.0, rel=0.05)
