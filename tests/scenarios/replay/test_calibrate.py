import contextlib
import io
import json

import numpy as np
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.estimators import calibration
from gnc.scenarios.replay.calibrate_command import calibrate

B, S = np.array([12.0, -7.0, 20.0]), np.array([[1.1, 0.05, -0.03], [0.05, 0.95, 0.02], [-0.03, 0.02, 1.0]])
M, C, TAU = np.array([[1.01, 0.02, 0.0], [-0.01, 0.99, 0.01], [0.0, 0.0, 1.02]]), np.array([0.01, -0.02, 0.005]), 0.013


def test_hard_and_soft_iron_are_found_within_four_sigma():
    """Nine parameters at four sigma: false alarm 6e-4, for this seed it holds."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((4000, 3))
    field = 48.0 * u / np.linalg.norm(u, axis=1)[:, None]
    m = field @ np.linalg.inv(S) + B + 0.3 * rng.standard_normal((4000, 3))
    found = calibration.magnetometer(m, strength=48.0)
    assert found.undetermined == []
    assert (np.abs(found.values["hard_iron"] - B) < 4.0 * found.sigma["hard_iron"]).all()
    np.testing.assert_allclose(found.values["soft_iron"], S, atol=0.005)
    assert found.residual < 0.4 < found.before


def test_a_turn_about_one_axis_does_not_determine_the_iron_along_it():
    rng, angle = np.random.default_rng(1), np.linspace(0.0, 20.0, 500)
    m = np.stack([20.0 * np.cos(angle), 20.0 * np.sin(angle), np.full(500, -40.0)], axis=1)
    found = calibration.magnetometer(m + 0.3 * rng.standard_normal(m.shape))
    assert "hard_iron_z" in found.undetermined


def test_matrix_bias_and_time_offset_of_a_gyro_are_found():
    rng, t = np.random.default_rng(2), np.arange(6000) / 100.0
    q = quaternion.from_euler321(np.sin(np.outer(t, [1.3, 1.9, 0.7])) * [0.8, 0.6, 1.5])
    late = quaternion.from_euler321(np.sin(np.outer(t - TAU, [1.3, 1.9, 0.7])) * [0.8, 0.6, 1.5])
    middle, w = calibration.rates(t, late)
    z = (w - C) @ np.linalg.inv(M).T + 0.01 * rng.standard_normal(w.shape)
    found = calibration.gyro(middle, z, t, q)
    np.testing.assert_allclose(found.values["matrix"], M, atol=2e-3)
    np.testing.assert_allclose(found.values["bias"], C, atol=1e-3)
    assert abs(found.values["time_offset_s"] - TAU) < 1e-3
    assert found.undetermined == []


def test_the_command_calibrates_what_a_log_has(tmp_path):
    t, rng = np.arange(4000) / 200.0, np.random.default_rng(3)
    q = quaternion.from_euler321(np.sin(np.outer(t, [1.3, 1.9, 0.7])) * [3.1, 1.5, 3.1])
    w = np.append(np.zeros((1, 3)), quaternion.log(quaternion.mul(quaternion.conj(q[:-1]), q[1:])) * 200.0, axis=0)
    f, m = (quaternion.inverse_rotate(q, np.broadcast_to(v, (4000, 3))) for v in ([0.0, 0.0, 9.81], [0.0, 18.0, -40.0]))
    np.savez(tmp_path / "log.npz", gyr=w, acc=f, mag=m + B + 0.3 * rng.standard_normal((4000, 3)), q=q)
    (tmp_path / "x.toml").write_text(
        'log = { rate_hz = 200 }\nfilter = { kind = "imu" }\ntruth = { columns = "q", order = "wxyz" }\nsensors = [\n'
        '  { kind = "gyro", columns = "gyr", unit = "rad/s" },\n'
        '  { kind = "accelerometer", columns = "acc", unit = "m/s^2" },\n'
        '  { kind = "magnetometer", columns = "mag", unit = "uT" },\n]\n'
    )
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        calibrate(tmp_path / "log.npz", tmp_path / "x.toml", as_json=True)
    told = json.loads(printed.getvalue())["sensors"]
    assert set(told) == {"gyro", "magnetometer"}
    np.testing.assert_allclose(told["magnetometer"]["values"]["hard_iron"], B * 1e-6, atol=5e-7)
    np.testing.assert_allclose(np.diagonal(told["gyro"]["values"]["matrix"]), 1.0, atol=0.02)


def tumbling(seed, wheels, seconds=120.0, rate=50.0):
    """Rates of a free body by DOP853, with wheels that run up and down, and a gyro's noise."""
    J = np.array([[1.0, 0.1, -0.05], [0.1, 2.0, 0.2], [-0.05, 0.2, 2.6]])
    rho = lambda t: wheels * np.array([np.sin(0.3 * t), np.cos(0.2 * t), 0.5 * np.sin(0.5 * t)])  # noqa: E731
    change = lambda t: (rho(t + 1e-5) - rho(t - 1e-5)) / 2e-5  # noqa: E731
    rates = lambda t, w: np.linalg.solve(J, -change(t) - np.cross(w, J @ w + rho(t)))  # noqa: E731
    t = np.arange(0.0, seconds, 1.0 / rate)
    w = solve_ivp(rates, (0.0, seconds), [0.4, 0.3, -0.2], method="DOP853", t_eval=t, rtol=1e-10, atol=1e-12).y.T
    noisy = w + 1e-3 * np.random.default_rng(seed).standard_normal(w.shape)
    return J, t, noisy, np.stack([rho(x) for x in t])


def test_the_inertia_of_a_free_body_is_found_in_ratios_and_with_wheels_to_scale():
    J, t, w, _ = tumbling(0, 0.0)
    free = calibration.inertia(t, w, np.zeros_like(w), np.zeros_like(w))
    assert not free.undetermined
    np.testing.assert_allclose(free.values["inertia_ratios"], J / np.trace(J), atol=0.01)
    J, t, w, rho = tumbling(1, 0.3)
    known = calibration.inertia(t, w, np.zeros_like(w), rho)
    np.testing.assert_allclose(known.values["inertia_kgm2"], J, atol=0.03)
    assert known.sigma["inertia_kgm2"].max() < 0.03


def test_a_spin_about_one_axis_tells_little_of_the_inertia():
    t = np.arange(0.0, 60.0, 0.02)
    w = np.tile([0.0, 0.0, 0.3], (len(t), 1)) + 1e-3 * np.random.default_rng(0).standard_normal((len(t), 3))
    assert "inertia_xy" in calibration.inertia(t, w, np.zeros_like(w), np.zeros_like(w)).undetermined
