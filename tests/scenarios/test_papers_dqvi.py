"""The experiments of DQVI: every figure is a case whose checks hold; the printed data are taken by opt-in only."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import spatial
from gnc.errors import InputError
from gnc.models.pose_body import PoseBody, split
from gnc.scenarios import cli, papers
from gnc.scenarios.papers.dqvi import data
from gnc.scenarios.papers.dqvi.flights import angle, ring

NAMES = [f"dqvi/fig{k}" for k in range(3, 14)] + ["dqvi/filler"]
CLAIMS = ["dqvi/added-mass", "dqvi/run-time"]


def test_every_figure_from_3_to_13_is_a_case() -> None:
    assert {case.name for case in papers.find("dqvi")} == {*NAMES, *CLAIMS}


@pytest.mark.jit
@pytest.mark.parametrize("name", NAMES)
def test_a_case_holds_its_checks_and_says_what_is_unphysical(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = cli.main(["reproduce", name, "--json", "--out", str(tmp_path)])
    printed = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in printed["checks"] if not check["ok"]] == []
    assert code == 0
    assert printed["case"] == name
    assert "unphysical" in printed["title"] and "triangle inequality" in printed["metrics"]["unphysical"]
    numbers = {key: value for key, value in printed["metrics"].items() if key != "unphysical"}
    assert any(key.startswith("paper_") for key in numbers) and any(key.startswith("consistent_") for key in numbers)
    assert any(key.endswith("_phase_rad") for key in numbers)  # conservation is never told alone
    assert all(np.isfinite(np.asarray(value, dtype=float)).all() for value in numbers.values())
    assert [Path(file).name for file in printed["files"]] == [f"{name.replace('/', '_')}.png"]
    assert (tmp_path / f"{name.replace('/', '_')}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.jit
@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_of_the_text_is_a_case_whose_checks_name_their_source(name: str) -> None:
    (case,) = papers.find(name)
    result = case.run(0)
    assert [check.name for check in result.checks if not check.ok] == []
    assert all(check.note for check in result.checks)


# The data


def test_the_printed_body_is_refused_without_the_opt_in() -> None:
    with pytest.raises(InputError, match=r"J_com: triangle inequality violated: 521\.432 > 132\.487 \+ 246\.081"):
        PoseBody.of(data.MASS, data.R_G, data.PRINTED_J)
    with pytest.raises(InputError, match="M about the mass centre: triangle inequality violated"):
        PoseBody(spatial.inertia(data.MASS, data.R_G, data.PRINTED_J))
    np.testing.assert_array_equal(data.whole("paper").M, spatial.inertia(data.MASS, data.R_G, data.PRINTED_J))


def test_what_the_printed_cargo_leaves_behind_is_refused_without_the_opt_in() -> None:
    with pytest.raises(
        InputError, match=r"what remains of M about the mass centre: not positive definite: .* -1817\.95"
    ):
        split(data.whole("paper"), data.cargo())
    remains, _ = split(data.whole("paper"), data.cargo(), allow_unphysical=True)
    moments = np.linalg.eigvalsh(spatial.parts(remains.M)[2])
    np.testing.assert_allclose(moments, [-1818, -1697, 302], atol=0.5)


def test_the_consistent_body_is_that_of_the_specification_and_needs_no_opt_in() -> None:
    body = data.whole("consistent")
    assert not body.allow_unphysical
    mass, r_g, J = spatial.parts(body.M)
    assert mass == data.MASS
    np.testing.assert_allclose(r_g, data.R_G, atol=1e-15)
    expected = [[1180.0, -710, -460], [-710, 1816.6667, -310], [-460, -310, 2166.6667]]
    np.testing.assert_allclose(J, expected, atol=1e-4)
    split(body, data.cargo())


# What the cases measure with


@pytest.mark.parametrize("name", data.DATA)
@pytest.mark.parametrize("w", [(1.0, 1.0, 1.0), (3.0, 2.0, 1.0)])
def test_the_ring_has_the_radii_that_an_exact_flight_reaches(name: str, w: tuple[float, float, float]) -> None:
    J = spatial.parts(data.whole(name).M)[2]
    rate = lambda _, w_B: np.linalg.solve(J, np.cross(J @ w_B, w_B))  # noqa: E731
    w_B = solve_ivp(rate, (0, 60), w, "DOP853", t_eval=np.linspace(0, 60, 60_001), rtol=1e-12, atol=1e-13).y.T
    L = w_B @ J
    radii = np.linalg.norm(np.cross(data.R_G, L), axis=1) / np.linalg.norm(L, axis=1)
    np.testing.assert_allclose(ring(J, np.array(w)), (radii.min(), radii.max()), atol=1e-6)


@pytest.mark.parametrize("turn", [1e-12, 1e-3, 2.0, math.pi])
def test_the_angle_between_attitudes_keeps_its_digits_when_small(turn: float) -> None:
    R = np.array([[1, 0, 0], [0, math.cos(turn), -math.sin(turn)], [0, math.sin(turn), math.cos(turn)]])
    assert angle(R, np.eye(3)) == pytest.approx(turn, rel=1e-9)
