"""The accelerometer: specific force where it is mounted, by closed forms; its errors; aboard a mission."""

import numpy as np
import pytest

from gnc import quaternion
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.actuators.plumes import ThrustersPart
from gnc.models.craft.base import Site
from gnc.models.craft.pose import PosePart, PoseStart
from gnc.models.environment.table import FreeSpace
from gnc.models.orbits.base import Circular
from gnc.models.sensors import Accelerometer
from gnc.models.sensors.inertial import AccelerometerPart
from gnc.scenarios.missions.load import read
from tests.scenarios.flights import flown, same_bits

Q_BS = quaternion.from_axis_angle(np.array([0.0, 0.0, 1.0]), np.pi / 2)
POINT, H, STEPS = (0.3, -0.2, 0.5), 0.05, 40
JET = ThrustersPart(positions_m=[(0.0, 0.4, 0.0)], directions=[(1.0, 0.0, 0.0)], thrust_N=10.0)
ACCELEROMETER = Accelerometer(rate_hz=10.0, point_B=POINT, q_BS=Q_BS)


def felt(sky=None, on=0.0, rate_deg_s=(0.0, 0.0, 0.0), **start):
    """Return what an ideal accelerometer reads after two seconds, sensor axes, and the state."""
    start = PoseStart(rate_deg_s=rate_deg_s, **start)
    part = PosePart(mass_kg=50.0, J_kgm2=(5.0 * np.eye(3)).tolist(), start=start, actuators={"jet": JET})
    part = part.model_copy(update={"sensors": {"felt": AccelerometerPart()}})
    craft = part.truth(Site("sat", Draws(0, np.arange(1)), sky or FreeSpace(), None, H))
    x = craft.start()
    for k in range(STEPS):
        x = craft.step(x, (np.array([[on]]),), k * H, H)
    return ACCELEROMETER.measure(x, None, np.zeros((1, 3))).z[0], x


def in_sensor(v_B):
    return quaternion.inverse_rotate(Q_BS, np.asarray(v_B, float))


def test_a_body_that_spins_feels_its_lever():
    w = np.radians([0.0, 0.0, 20.0])
    np.testing.assert_allclose(felt(rate_deg_s=(0, 0, 20))[0], in_sensor(np.cross(w, np.cross(w, POINT))), rtol=1e-12)


def test_thrust_is_felt_as_force_over_mass_and_as_the_turn_it_makes():
    """10 N at 0.4 m from the centre: 0.2 m/s^2, and -0.8 rad/s^2 about z, with the rate of the end; to h^2."""
    z, x = felt(on=1.0)
    turn, w = np.array([0.0, 0.0, -0.8]), x.chi_B[0, :3]
    np.testing.assert_allclose(w, turn * STEPS * H, rtol=1e-12)
    expected = np.array([0.2, 0.0, 0.0]) + np.cross(turn, POINT) + np.cross(w, np.cross(w, POINT))
    np.testing.assert_allclose(z, in_sensor(expected), atol=0.2 * np.abs(w[2]) * H)


def test_gravity_is_not_felt_in_an_orbit_wherever_the_craft_falls():
    """Two kilometres from the origin the craft falls beside it by 0.005 m/s^2, of which nothing is felt."""
    sky = Circular().sky(H, 10.0, True)
    z, x = felt(sky=sky, place_m=(2000.0, 0.0, 0.0))
    assert np.linalg.norm(x.chi_B[0, 3:]) > 0.003
    np.testing.assert_allclose(z, 0.0, atol=1e-9)


def test_bias_scale_quanta_and_limit_are_what_is_asked_for():
    _, x = felt(on=1.0)
    ideal = ACCELEROMETER.measure(x, None, np.zeros((1, 3))).z[0]
    options = {"rate_hz": 10.0, "point_B": POINT, "q_BS": Q_BS}
    scaled = Accelerometer(**options, scale=[0.1, 0.0, -0.1], bias=[0.01, 0.02, 0.03])
    read_ = scaled.measure(x, None, np.zeros((1, 3))).z[0]
    np.testing.assert_allclose(read_, ideal * [1.1, 1.0, 0.9] + [0.01, 0.02, 0.03], rtol=1e-12)
    coarse = Accelerometer(**options, quantum=0.25, most=0.5).measure(x, None, np.zeros((1, 3))).z[0]
    np.testing.assert_allclose(coarse, np.clip(0.25 * np.rint(ideal / 0.25), -0.5, 0.5), rtol=1e-15)
    noisy = Accelerometer(**options, vrw=0.02)
    noise = np.random.default_rng(3).standard_normal((4000, 3))
    spread = np.std(noisy.measure(x, None, noise).z, axis=0)
    np.testing.assert_allclose(spread, 0.02 * np.sqrt(10.0), rtol=0.06)  # 5 sigma of 4000


def test_it_is_recorded_in_a_mission_with_the_same_bits_alone_and_not_given_to_the_filter():
    changes = (
        *("craft.chaser.sensors.felt.kind=accelerometer", "craft.chaser.sensors.felt.rate_hz=10.0"),
        *("craft.chaser.sensors.felt.bias_m_s2=0.0", "craft.chaser.sensors.felt.velocity_random_walk_m_s_rth=0.0"),
        *("run.duration_s=4.0", "run.record_s=0.1"),
    )
    flight = flown("rendezvous", 3, 3, *changes).signals
    wrench = flight["chaser.wrench"].values[
        :, 2:, 3:
    ]  # of the last step, body axes; the accelerometer is at the centre
    reading = flight["chaser.felt.reading"].values[:, 2:]
    assert np.abs(wrench).max() > 1.0
    np.testing.assert_allclose(reading, wrench / 100.0, atol=2e-4 * np.abs(wrench).max())
    assert same_bits(flight, flown("rendezvous", 3, [1], *changes).signals, 1)
    assert "chaser.felt.nis" not in flight or np.isnan(flight["chaser.felt.nis"].values).all()


def test_a_craft_that_only_turns_has_none():
    with pytest.raises(InputError, match=r"craft.sat.sensors.felt: measures specific force; give the craft a kind"):
        read("pointing", ["craft.sat.sensors.felt.kind=accelerometer"]).fly(1)
