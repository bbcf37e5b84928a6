"""What a mission's errors do to a filter of the attitude: by Riccati's equation, by drawn errors, and in flight."""

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are

from gnc.draws import Draws
from gnc.estimators.navigation import model_error
from gnc.estimators.navigation.attitude import SWIFTEST, slewed_by
from gnc.models.loads.base import DipoleLoad, DragLoad, TorqueLoad
from gnc.models.orbits.base import Circular
from gnc.quaternion import normalize
from gnc.scenarios.missions.mission import Mission

J = np.array([[0.22, 0.02, -0.01], [0.02, 0.19, 0.03], [-0.01, 0.03, 0.13]])


@pytest.mark.parametrize("d", [1e-8, 3e-5])
@pytest.mark.parametrize(("i", "k"), [(3e3, 0.0), (4e8, 0.0), (4e8, 1e9), (3e3, 1e8)])
def test_a_steady_acceleration_is_as_large_as_a_sigma_of_a_kalman_filter_that_takes_it_for_noise(d, i, k):
    """e C^-1 e = 1, by SciPy's solution of Riccati's equation and a linear solve."""
    q, information = float(model_error.density(np.array(d), i, k)), np.diag([i, k])
    A, time, angle = np.array([[0.0, 1.0], [0.0, 0.0]]), (q * i) ** -0.25, (q / i**3) ** 0.125
    units = np.diag([angle, angle / time])  # in which all numbers are near 1
    scaled = units @ information @ units * time
    C = solve_continuous_are(A.T, np.linalg.cholesky(scaled + 1e-300 * np.eye(2)), np.diag([0.0, 1.0]), np.eye(2))
    e = np.linalg.solve(C @ scaled - A, np.array([0.0, d * time**2 / angle]))
    assert abs(e @ np.linalg.solve(C, e) - 1.0) < 1e-6


def test_an_inertia_that_is_off_makes_momentum_off_as_its_draws_do():
    """4000 draws: entries of a covariance within 5 sigma, the largest of which is 0.11 of the largest entry."""
    w_B = np.array([0.3, -0.2, 0.5])
    drawn = Draws(17, np.arange(4000)).inertia("inertia", J, 3.0) - J
    expected = model_error.momentum_error(J, w_B, 3.0)
    found = np.cov(np.einsum("nij,j->in", drawn, w_B))
    assert abs(found - expected).max() < 0.11 * expected.max()
    assert model_error.momentum_error(J, w_B, 0.0).max() == 0.0


@pytest.mark.parametrize("load", [DipoleLoad(size_Am2=0.02, fixed_Am2=(0.03, 0, 0)), DragLoad(), TorqueLoad()])
def test_what_a_load_does_unknown_is_the_rms_of_what_it_does_to_trials_that_point_anywhere(load):
    """4000 trials; squares of one part have a relative error of sqrt(2/4000) = 2 %: 5 sigma, 10 %."""
    env = Circular().sky(h=10.0, duration_s=100.0).at(0.0)
    everywhere = normalize(np.random.default_rng(3).normal(size=(4000, 4)))
    tau_B = load.truth("load", J, Draws(5, np.arange(4000))).torque(everywhere, env)
    np.testing.assert_allclose(
        load.unsure(J, env) ** 2, np.mean(np.broadcast_to(tau_B, (4000, 3)) ** 2, axis=0), rtol=0.1
    )


BODY = {"kind": "rigid", "J_error_percent": 3.0}
CUBE = {**BODY, "J_kgm2": [[0.037, 0, 0], [0, 0.036, 0], [0, 0, 0.008]], "size_m": [0.1, 0.1, 0.34]}
BUS = {**BODY, "J_kgm2": [[9.0, 0.1, 0], [0.1, 11.0, 0], [0, 0, 12.0]], "size_m": [1.0, 1.0, 1.2]}
TOP = {**BODY, "J_kgm2": [[4.0, 0, 0], [0, 4.1, 0], [0, 0, 6.0]], "J_error_percent": 0.5}
MAGNETOMETER = {"kind": "magnetometer", "sigma_nT": 150.0, "sigma_deg": 0.0, "bias_nT": 100.0, "misalignment_deg": 0.3}
SUN, DOWN = (
    {"kind": "sun-sensor", "sigma_deg": 0.3},
    {"kind": "horizon-sensor", "sigma_deg": 0.1, "misalignment_deg": 0.1},
)
LOADS = {"dipole": {"kind": "dipole", "size_Am2": 0.01}, "drag": "drag", "gravity": "gravity-gradient"}
GYRO = {"kind": "gyro", "rate_hz": 1.0, "bias_deg_s": 0.02}
IRON = {**MAGNETOMETER, "soft_iron_percent": 0.5, "scale_percent": 0.5}
LATE = {"kind": "star-tracker", "period_s": 3.0, "latency_s": 1.0, "misalignment_arcsec": 40.0}
FLIGHTS = {  # craft, sensors, filter, size of its error
    "cube on vectors": (CUBE, {"field": MAGNETOMETER, "sun": SUN}, "mekf", 6.0),
    "cube on iron": (CUBE, {"field": IRON, "sun": SUN}, "mekf", 6.0),
    "bus on vectors": (BUS, {"sun": SUN, "down": DOWN}, "mekf", 6.0),
    "cube on a late tracker": (CUBE, {"star": LATE}, "mekf", 6.0),
    "bus on a tracker and a gyro": (BUS, {"star": {"kind": "star-tracker"}, "gyro": GYRO}, "mekf", 6.0),
    "spinning top": (TOP, {"sun": SUN, "down": {**DOWN, "misalignment_deg": 0.0}}, "mekf", 6.0),
    "gyro and vectors askew": (CUBE, {"field": IRON, "down": DOWN, "gyro": GYRO}, "gyro-mekf", 3.0),
}


@pytest.mark.parametrize("name", FLIGHTS)
def test_a_filter_on_default_settings_is_honest_whatever_disturbs_the_craft(name):
    """NEES of 30 trials, mean over the second half, within a factor of 2.2 of its dimension."""
    craft, sensors, kind, nominal = FLIGHTS[name]
    spinning = craft is TOP
    start = {
        "attitude_sigma_deg": 30.0 if "star" in sensors else 5.0,
        "rate_sigma_deg_s": 0.1,
        "about": "inertial" if spinning else "reference",
    }
    start |= {"rate_deg_s": [0.0, 0.0, 10.0]} if spinning else {}
    axes = {"axes": np.eye(3).tolist(), "torque_limit_Nm": 1e-3 * craft["J_kgm2"][0][0] / 0.04}
    wheels = {"kind": "reaction-wheels", **axes, "momentum_limit_Nms": 10.0, "start_Nms": 0.0}
    point = {"guidance": {"kind": "pointing", "at": "nadir"}, "law": "pd", "to": ["wheels"]}
    sections = {
        "run": {"duration_s": 1500.0, "record_s": 30.0, "truth_step_s": 0.5 if not spinning else 0.1},
        "environment": {"orbit": "circular"},
        "craft": {
            "sat": {**craft, "start": start, "sensors": sensors, "loads": LOADS, "actuators": {"wheels": wheels}}
        },
        "software": {
            "sat": {"navigation": kind, "modes": {"drift": {"law": "none"}} if spinning else {"point": point}}
        },
    }
    flight = Mission.model_validate(sections).fly(30, 9103)
    nees = flight.signals["sat.nees"].values[:, 25:]
    assert nominal / 2.2 < nees.mean() < 2.2 * nominal, nees.mean()


def test_a_filter_that_is_lost_does_not_feed_on_its_own_rate():
    """It believed in 18 000 deg/s after a while: what a slew adds grew with a rate that no craft slews at."""
    C, slewing, still = 1e-12 * np.eye(6), np.full(3, 1e-6), np.zeros(3)
    grown = [slewed_by(6)(C, still, np.array([rate, 0.0, 0.0]), slewing)[3, 3] for rate in (0.01, 1.0, 300.0)]
    np.testing.assert_allclose(grown, [1e-6 * 0.01**2, 1e-6 * SWIFTEST**2, 1e-6 * SWIFTEST**2], rtol=1e-12)
