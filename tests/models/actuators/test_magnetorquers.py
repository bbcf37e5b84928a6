from dataclasses import replace

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.models.actuators.magnetorquers import Magnetorquers, torque

TORQUERS = Magnetorquers(dipole_limit=[0.2, 0.2, 0.1])
B_B = np.array([2e-5, -3e-5, 1e-5])


def commands(shape, seed=0):
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (*shape, 3))


def test_the_torque_is_the_dipole_cross_the_field() -> None:
    m = 0.1 * commands((50,))
    tau_B = torque(TORQUERS.dipole_B(m), B_B)
    np.testing.assert_allclose(tau_B, np.cross(m, B_B), rtol=0, atol=1e-20)


def test_direction_saturation_keeps_the_direction_of_the_dipole() -> None:
    m = commands((300,))
    made = TORQUERS.dipole_B(m)
    largest = np.max(np.abs(m) / TORQUERS.dipole_limit, axis=-1, keepdims=True)
    np.testing.assert_allclose(made, m / np.maximum(largest, 1.0), rtol=1e-14)
    assert (np.abs(made) <= TORQUERS.dipole_limit).all() and (largest > 1).any() and (largest < 1).any()


def test_each_saturation_limits_every_axis_by_itself() -> None:
    m = commands((300,))
    made = replace(TORQUERS, saturation="each").dipole_B(m)
    np.testing.assert_array_equal(made, np.clip(m, -TORQUERS.dipole_limit, TORQUERS.dipole_limit))


@pytest.mark.parametrize(("step", "largest"), [(0.1, 0.3), (0.07, 0.28), (0.4, 0.0)])
def test_a_driver_with_steps_makes_the_nearest_whole_number_of_them_within_the_limit(step, largest) -> None:
    m = commands((300,))
    made = Magnetorquers(dipole_limit=0.3, step=step, saturation="each").dipole_B(m)
    whole = made / step
    np.testing.assert_allclose(whole, np.rint(whole), rtol=0, atol=1e-12)
    assert np.abs(made).max() <= 0.3 and np.isclose(np.abs(made).max(), largest)
    free = np.abs(m) < largest
    assert np.abs(made - m)[free].max(initial=0.0) <= 0.5 * step * (1 + 1e-12)


def test_a_batch_has_the_bits_of_its_trials_alone_with_shared_and_dispersed_parameters() -> None:
    m, fields = commands((2, 3)), 1e-5 * commands((2, 3), seed=1)
    limits, steps = np.abs(commands((2, 3), seed=2)) + 0.1, np.array([[0.0, 0.01, 0.02], [0.03, 0.0, 0.05]])
    for make in (lambda k: TORQUERS, lambda k: Magnetorquers(dipole_limit=limits[k], step=steps[k])):
        tau_B = torque(make(()).dipole_B(m), fields)
        for k in np.ndindex(2, 3):
            np.testing.assert_array_equal(torque(make(k).dipole_B(m[k]), fields[k]), tau_B[k])


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"dipole_limit": -1.0}, "dipole_limit"), ({"step": -0.1}, "step"), ({"saturation": "both"}, "saturation")],
)
def test_a_wrong_parameter_is_named(wrong, named) -> None:
    with pytest.raises(InputError, match=f"^{named}: "):
        replace(TORQUERS, **wrong)
