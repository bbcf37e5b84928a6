from dataclasses import replace

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.models.actuators import Thrusters

RNG = np.random.default_rng(0)
POSITIONS = RNG.uniform(-1, 1, (5, 3))
DIRECTIONS = RNG.standard_normal((5, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=-1, keepdims=True)
THRUSTERS = Thrusters(
    positions_B=POSITIONS, directions_B=DIRECTIONS, thrust=[1.0, 2.0, 3.0, 4.0, 5.0], minimum_on_s=0.02
)
FULL = np.zeros(5)


def test_the_wrench_is_the_sum_of_the_forces_and_of_their_moments_about_the_origin() -> None:
    on = RNG.uniform(0.3, 1.0, 5)
    wrench_B, _ = THRUSTERS.apply(on, FULL, 0.1)
    forces = [s * f * d for s, f, d in zip(on, THRUSTERS.thrust, DIRECTIONS, strict=True)]
    torque = sum(np.cross(r, f) for r, f in zip(POSITIONS, forces, strict=True))
    np.testing.assert_allclose(wrench_B, np.concatenate([torque, sum(forces)]), rtol=1e-13, atol=1e-14)


def test_the_impulse_spent_is_thrust_times_time_on_and_adds_up() -> None:
    state, on = FULL, np.array([1.0, 0.5, 0.25, 0.0, 2.0])
    for _ in range(3):
        _, state = THRUSTERS.apply(on, state, 0.1)
    np.testing.assert_allclose(state, 0.3 * THRUSTERS.thrust * [1.0, 0.5, 0.25, 0.0, 1.0], rtol=1e-14)


def test_a_pulse_below_the_minimum_impulse_is_not_made() -> None:
    on = np.array([0.19, 0.199, 0.2, 0.21, -0.5])
    wrench_B, state = THRUSTERS.apply(on, FULL, 0.1)
    np.testing.assert_allclose(state, 0.1 * THRUSTERS.thrust * [0.0, 0.0, 0.2, 0.21, 0.0], rtol=1e-14)
    alone = THRUSTERS.apply([0.0, 0.0, 0.2, 0.21, 0.0], FULL, 0.1)[0]
    np.testing.assert_array_equal(wrench_B, alone)
    fired = state[state > 0]
    assert (fired >= THRUSTERS.minimum_impulse[state > 0] * (1 - 1e-14)).all()
    np.testing.assert_allclose(THRUSTERS.minimum_impulse, 0.02 * np.arange(1.0, 6.0))


def test_without_a_minimum_the_smallest_command_is_flown() -> None:
    ideal = replace(THRUSTERS, minimum_on_s=0.0)
    np.testing.assert_allclose(ideal.apply(np.full(5, 1e-9), FULL, 0.1)[1], 1e-10 * THRUSTERS.thrust)


def test_a_thruster_stronger_than_believed_delivers_more_for_the_same_command() -> None:
    strong = replace(THRUSTERS, thrust=1.1 * THRUSTERS.thrust)
    on = np.full(5, 0.5)
    expected = 1.1 * THRUSTERS.apply(on, FULL, 0.1)[0]
    np.testing.assert_allclose(strong.apply(on, FULL, 0.1)[0], expected, rtol=1e-13, atol=1e-14)


def test_a_batch_has_the_bits_of_its_trials_alone_with_shared_and_dispersed_parameters() -> None:
    on = RNG.uniform(-0.2, 1.2, (2, 3, 5))
    spent = RNG.uniform(0.0, 9.0, (2, 3, 5))
    changes = {
        "positions_B": POSITIONS + 0.01 * RNG.standard_normal((2, 3, 5, 3)),
        "thrust": RNG.uniform(1.0, 2.0, (2, 3, 5)),
        "minimum_on_s": RNG.uniform(0.0, 0.05, (2, 3, 5)),
    }
    for dispersed in ({}, changes):
        wrench_B, state = replace(THRUSTERS, **dispersed).apply(on, spent, 0.1)
        for k in np.ndindex(2, 3):
            mine = replace(THRUSTERS, **{name: value[k] for name, value in dispersed.items()})
            alone, after = mine.apply(on[k], spent[k], 0.1)
            np.testing.assert_array_equal(alone, wrench_B[k])
            np.testing.assert_array_equal(after, state[k])


def test_a_lost_trial_touches_no_other() -> None:
    on = RNG.uniform(0.3, 1.0, (3, 5))
    healthy, _ = THRUSTERS.apply(on, FULL, 0.1)
    on[1] = np.nan
    wrench_B, _ = THRUSTERS.apply(on, FULL, 0.1)
    assert np.isnan(wrench_B[1]).all()
    np.testing.assert_array_equal(wrench_B[[0, 2]], healthy[[0, 2]])


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"positions_B": np.zeros((4, 3))}, "positions_B"),
        ({"directions_B": 2 * DIRECTIONS}, "directions_B"),
        ({"thrust": 0.0}, "thrust"),
        ({"minimum_on_s": -0.1}, "minimum_on_s"),
    ],
)
def test_a_wrong_parameter_is_named(wrong, named) -> None:
    with pytest.raises(InputError, match=f"^{named}: "):
        replace(THRUSTERS, **wrong)
