"""The experiment of LGVI section 5: every case runs, keeps its checks, and reports attitude beside conservation."""

import json

import numpy as np
import pytest

from gnc import quaternion
from gnc.scenarios import cli
from gnc.scenarios.papers import find, lgvi
from gnc.scenarios.plots import save_figure

CASES = ["lgvi/fig2", "lgvi/fig3", "lgvi/fig4"]


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
    assert [case.name for case in find("lgvi")] == ["lgvi/eq22", *CASES]


@pytest.mark.jit
def test_the_lagrangian_side_is_the_hamiltonian_side():
    (case,) = find("lgvi/eq22")
    result = case.run(0)
    assert [check.name for check in result.checks if not check.ok] == []
    assert all("LGVI eqs. (19), (22)" in check.note for check in result.checks)


@pytest.mark.jit
def test_a_case_speaks_json(capsys, tmp_path):
    assert cli.main(["reproduce", "lgvi/fig4", "--json", "--out", str(tmp_path)]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert {"case", "metrics", "checks"} <= outcome.keys() and outcome["case"] == "lgvi/fig4"
    assert all({"name", "value", "bound", "ok"} <= check.keys() for check in outcome["checks"])
    assert {f"attitude_deg_1000s_{method}" for method in ("lgvi2", "lgvi4", "rk4")} <= outcome["metrics"].keys()


def test_the_triangle_has_side_one_and_the_inertia_of_three_balls():
    arms = lgvi.ARMS
    sides = [np.linalg.norm(arms[i] - arms[j]) for i, j in ((0, 1), (1, 2), (2, 0))]
    assert sides == pytest.approx([1.0] * 3) and arms.sum(0) == pytest.approx(np.zeros(3), abs=1e-15)
    ball = 0.4 * lgvi.RADIUS**2  # of each about its own middle
    steiner = [np.sum(np.delete(arms, k, axis=1) ** 2) for k in range(3)]
    assert pytest.approx(np.diag(steiner) + 3 * ball * np.eye(3)) == lgvi.J


@pytest.mark.jit
def test_rk4_of_the_comparison_is_of_fourth_order():
    x = lgvi.start()
    ends = [np.concatenate(lgvi.rk4_step.repeat(n, *x, lgvi.J, lgvi.MASS, 4.0 / n)) for n in (40, 80, 160, 1280)]
    errors = [np.linalg.norm(end - ends[-1]) for end in ends[:-1]]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.1)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.05)


def test_the_period_is_the_time_between_two_apoapsides():
    t = np.linspace(0.0, 300.0, 30_001)
    r = 7.2 + 0.8 * np.cos(2 * np.pi * t / 121.0)
    assert lgvi.orbital_period(t, r) == pytest.approx(121.0, abs=0.01)


@pytest.mark.jit
def test_erratum_section_5_the_printed_momentum_falls_into_the_centre():
    """LGVI prints p0 = (1, 0, 0): radial, so that the body comes back and hits the centre with one of its balls."""
    body = lgvi.body(4)
    printed, right = (body.fly(lgvi.start(p), 12_000, 0.01).x for p in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    balls = printed.r_I[:, None] + quaternion.rotate(printed.q_IB[:, None], lgvi.ARMS)
    assert np.nanmin(np.linalg.norm(balls, axis=-1)) < lgvi.RADIUS
    distance, orbit = (np.linalg.norm(x.r_I, axis=-1) for x in (printed, right))
    assert np.nanmin(distance) < 0.5 and orbit.min() > 6.38
