import json

import control
import numpy as np
import pytest

from gnc.scenarios.cli import main

INERTIA = ["--inertia", "22,20,23"]


def test_the_gains_are_those_of_a_double_integrator_sampled_exactly(capsys):
    # At rest each axis is J a'' = tau held for h: F = [[1, h], [0, 1]], G = [h^2/2, h]/J; the oracle is python-control.
    h, J = 0.5, np.array([22.0, 20.0, 23.0])
    assert main(["design", "lqr", *INERTIA, "--step-s", str(h), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for i in range(3):
        F, G = np.array([[1.0, h], [0.0, 1.0]]), np.array([[h * h / 2], [h]]) / J[i]
        K, _, poles = control.dlqr(F, G, h * np.eye(2), h * np.eye(1), method="scipy")
        np.testing.assert_allclose([found["K"][i][i], found["K"][i][3 + i]], K[0], rtol=1e-9)
        assert np.abs(poles).max() <= max(found["poles"]) + 1e-9


def test_a_mass_makes_it_a_design_for_the_pose_and_the_file_has_all(tmp_path, capsys):
    file = tmp_path / "gains.npz"
    turning = ["--mass", "100", "--step-s", "1", "--rate-deg-s", "0,0,3"]
    assert main(["design", "lqr", *INERTIA, *turning, "--out", str(file)]) == 0
    assert "disk margin" in capsys.readouterr().out
    with np.load(file) as saved:
        assert saved["K"].shape == (6, 12)
        assert np.abs(np.linalg.eigvals(saved["F"] - saved["G"] @ saved["K"])).max() < 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--inertia", "22,20", "--step-s", "1"],
            "gnc: --inertia: expected 3 numbers, or 6 with the products, and commas between, got '22,20'",
        ),
        (["--inertia", "1,2,5", "--step-s", "1"], "gnc: J: triangle inequality violated: 5 > 1 + 2"),
        ([*INERTIA, "--step-s", "0"], "gnc: --step-s: 0 is not positive"),
        ([*INERTIA, "--step-s", "1", "--input-weights", "1,0,1"], "gnc: R: not positive definite"),
        ([*INERTIA, "--step-s", "1", "--state-weights", "0,0,0,0,0,0"], "gnc: design: largest pole 1"),
        (["--inertia", "1e-300,1e-300,1e-300", "--step-s", "1"], "gnc: design: Riccati's equation has no solution"),
        ([*INERTIA, "--step-s", "1", "--mass", "-3"], "gnc: mass: -3 is not positive"),
        ([*INERTIA, "--step-s", "1", "--out", "lqr.csv"], "gnc: --out lqr.csv: ends with .csv; give a file that ends"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments, message):
    assert main(["design", "lqr", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(message) and captured.err.count("\n") == 1 and captured.out == ""
