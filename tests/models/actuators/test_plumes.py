"""Thrusters that rise and fall, are off, and empty a tank: by closed forms."""

import numpy as np
import pytest

from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.actuators.plumes import ThrustersPart
from gnc.models.craft.base import Site
from gnc.models.craft.pose import PosePart
from gnc.models.environment.table import FreeSpace

ONE = {"positions_m": [(0.0, 0.0, 0.0)], "directions": [(1.0, 0.0, 0.0)], "thrust_N": 10.0}


def spent(h, **fields):
    """Return impulse after each 0.1 s of a pulse of 0.2 s, then 0.3 s closed."""
    thrusters = ThrustersPart(**ONE, rise_s=0.05, fall_s=0.08, **fields).truth("jet", Draws(0, np.arange(1))).paced(0.1)
    state, found = thrusters.start(1), []
    for k in range(5):
        for _ in range(round(0.1 / h)):
            _, state = thrusters.act(np.array([[1.0 if k < 2 else 0.0]]), state, h)
        found.append(state[0, 0])
    return np.array(found)


@pytest.mark.parametrize("fields", [{}, {"minimum_on_s": 0.01}])
def test_thrust_rises_and_falls_exponentially_and_impulse_does_not_depend_on_the_step(fields):
    open_s, later = np.array([0.1, 0.2]), np.array([0.1, 0.2, 0.3])
    rising = 10.0 * (open_s - 0.05 * (1 - np.exp(-open_s / 0.05)))
    level = 10.0 * (1 - np.exp(-0.2 / 0.05))
    expected = np.concatenate([rising, rising[-1] + level * 0.08 * (1 - np.exp(-later / 0.08))])
    for h in (0.1, 0.05, 0.01):
        np.testing.assert_allclose(spent(h, **fields), expected, rtol=1e-12)


def test_misaligned_thrusters_push_aside_and_flight_software_does_not_know():
    part, draws = ThrustersPart(misalignment_deg=1.0, thrust_error_percent=2.0), Draws(3, np.arange(400))
    true, believed = part.truth("jets", draws).thrusters, part.belief().thrusters
    angle = np.degrees(np.arccos(np.sum(true.directions_B * believed.directions_B, axis=-1)))
    assert np.sqrt(np.mean(angle**2)) == pytest.approx(np.sqrt(2.0), rel=0.05)  # 4800 of them: 5 sigma of the mean
    assert np.std(true.thrust / believed.thrust) == pytest.approx(0.02, rel=0.06)
    assert {"jets misalignment", "jets thrust"} <= set(draws.drawn)


def test_a_craft_that_burns_its_propellant_obeys_the_rocket_equation():
    """dv = g Isp ln(m0/m1), no torque of a tank on the axis of thrust, and the books close."""
    jets = ThrustersPart(**ONE, specific_impulse_s=200.0, tank_m=(-0.3, 0.0, 0.0))
    part = PosePart(mass_kg=50.0, actuators={"jets": jets})
    craft = part.truth(Site("craft", Draws(0, np.arange(1)), FreeSpace(), None))
    x, h, steps = craft.start(), 0.1, 20000
    for k in range(steps):
        x = craft.step(x, (np.array([[1.0]]),), k * h, h)
    told = craft.observe(x, (np.array([[1.0]]),), steps * h)
    burnt = 10.0 * steps * h / (9.80665 * 200.0)
    assert told["mass_kg"][0] == pytest.approx(50.0 - burnt, rel=1e-12)
    speed = 9.80665 * 200.0 * np.log(50.0 / (50.0 - burnt))
    np.testing.assert_allclose(told["v_B_m_s"][0], [speed, 0.0, 0.0], rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(told["w_B_deg_s"][0], 0.0, atol=1e-12)
    assert told["momentum_gap"][0] < 1e-12 and told["energy_gap"][0] < 1e-12
    centre = x.r_I[0] - told["r_IB_m"][0]
    np.testing.assert_allclose(centre, [0.3 * burnt / (50.0 - burnt), 0.0, 0.0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fields", [{}, {"minimum_on_s": 0.01}, {"rise_s": 0.05, "fall_s": 0.08}])
def test_thrust_ends_with_the_propellant_and_mass_stops_at_the_dry_mass(fields):
    """10 N at 100 s of specific impulse take 0.0102 kg/s: 0.05 kg last 4.9 s, whatever the step, and give 49 N s."""
    ends = []
    for h in (0.1, 0.05):
        jet = ThrustersPart(**ONE, specific_impulse_s=100.0, propellant_kg=0.05, **fields)
        craft = PosePart(mass_kg=20.0, actuators={"jet": jet}).truth(
            Site("sat", Draws(0, np.arange(2)), FreeSpace(), None, 0.1)
        )
        x = craft.start()
        for k in range(round(10.0 / h)):
            x = craft.step(x, (np.ones((2, 1)),), k * h, h)
        ends.append(x.M[:, 3, 3])
        told = craft.observe(x, (np.ones((2, 1)),), 10.0)
        np.testing.assert_allclose(told["jet.impulse_Ns"], 0.05 * 9.80665 * 100.0, rtol=1e-12)
        assert (told["jet.propellant_kg"] < 1e-15).all() and told["momentum_gap"].max() < 1e-9
        speed = 9.80665 * 100.0 * np.log(20.0 / 19.95)  # Tsiolkovsky
        np.testing.assert_allclose(x.chi_B[:, 3], speed, rtol=2e-4)
    np.testing.assert_allclose(ends, 19.95, rtol=1e-12)


def test_a_tank_as_heavy_as_the_craft_or_without_specific_impulse_is_refused():
    site = Site("sat", Draws(0, np.arange(2)), FreeSpace(), None, 0.1)
    for fields, says in (({"propellant_kg": 1.0}, "specific_impulse_s"), ({"propellant_kg": 30.0}, "mass_kg = 20")):
        jet = ThrustersPart(**ONE, specific_impulse_s=None if "spec" in says else 100.0, **fields)
        with pytest.raises(InputError, match=says):
            PosePart(mass_kg=20.0, actuators={"jet": jet}).truth(site)
