from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.actuators import ReactionWheels, pyramid_axes

H = 0.1
PYRAMID = ReactionWheels(axes_B=pyramid_axes(), torque_limit=5e-3, momentum_limit=50e-3)
SINGLE = ReactionWheels(axes_B=[[0.0, 0.0, 1.0]])
ROUGH = replace(PYRAMID, viscous=[0.01, 0.02, 0.03, 0.0], coulomb=[1e-4, 2e-4, 0.0, 1e-4])
EPS = np.finfo(float).eps


def wild(wheels, shape, seed=0):
    """Commands up to thrice the torque limit and momenta all over the range, some at the limit and some at rest."""
    rng = np.random.default_rng(seed)
    command = 5e-3 * rng.uniform(-3, 3, (*shape, wheels.count))
    momentum = 50e-3 * np.clip(rng.uniform(-1.3, 1.3, (*shape, wheels.count)), -1, 1)
    return command, np.where(rng.random((*shape, wheels.count)) < 0.1, 0.0, momentum)


@pytest.mark.jit
@pytest.mark.parametrize("saturation", ["direction", "each"])
@pytest.mark.parametrize("wheels", [PYRAMID, ROUGH], ids=["smooth", "rough"])
def test_the_body_gets_exactly_what_the_wheels_lose(wheels, saturation) -> None:
    """To round-off of the momentum, in every trial, at and away from all limits."""
    wheels = replace(wheels, saturation=saturation)
    command, before = wild(wheels, (5000,))
    tau_B, after = wheels.apply(command, before, H)
    gained = H * tau_B
    lost = np.einsum("ki,...k->...i", wheels.axes_B, before - after)
    np.testing.assert_allclose(gained, lost, rtol=0, atol=8 * EPS * 50e-3)


@pytest.mark.jit
def test_over_a_long_run_the_impulse_on_the_body_is_the_momentum_that_left_the_wheels() -> None:
    rng = np.random.default_rng(1)
    state, impulse = np.array([0.01, -0.02, 0.03, 0.0]), np.zeros(3)
    start = ROUGH.momentum_B(state)
    for _ in range(5000):
        tau_B, state = ROUGH.apply(0.01 * rng.standard_normal(4), state, H)
        impulse += H * tau_B
    np.testing.assert_allclose(impulse + ROUGH.momentum_B(state), start, rtol=0, atol=5000 * EPS * 50e-3)
    assert np.abs(impulse).max() > 1e-3


def test_the_total_momentum_of_a_body_with_wheels_stays_put_in_inertial_space() -> None:
    """Euler's equations with the torque and the wheels' momentum that `apply` gives, by DOP853."""
    J = np.array([[0.22, 0.004, -0.003], [0.004, 0.19, 0.002], [-0.003, 0.002, 0.13]])
    q, w_B, state = np.array([0.5, 0.5, -0.5, 0.5]), np.array([0.02, -0.03, 0.05]), np.full(4, 0.02)
    rng, before = np.random.default_rng(2), None
    for _ in range(20):
        tau_B, after = ROUGH.apply(4e-3 * rng.standard_normal(4), state, 1.0)
        rho = ROUGH.momentum_B(state)
        total = quaternion.to_scipy(q).apply(J @ w_B + rho)
        before = total if before is None else before

        def rate(t, y, tau_B=tau_B, rho=rho):
            spin = J @ y[4:] + rho - t * tau_B
            return np.concatenate(
                [quaternion.derivative(y[:4], y[4:]), np.linalg.solve(J, tau_B - np.cross(y[4:], spin))]
            )

        y = solve_ivp(rate, (0.0, 1.0), np.concatenate([q, w_B]), "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
        q, w_B, state = y[:4] / np.linalg.norm(y[:4]), y[4:], after
    total = quaternion.to_scipy(q).apply(J @ w_B + ROUGH.momentum_B(state))
    np.testing.assert_allclose(total, before, rtol=0, atol=1e-12)
    assert np.linalg.norm(w_B - [0.02, -0.03, 0.05]) > 0.01


def test_within_the_limits_the_body_feels_the_command_along_the_axes() -> None:
    command, momentum = np.array([1e-3, -2e-3, 3e-3, 4e-3]), np.array([0.01, 0.02, -0.01, 0.0])
    tau_B, after = PYRAMID.apply(command, momentum, H)
    np.testing.assert_allclose(tau_B, sum(u * a for u, a in zip(command, PYRAMID.axes_B, strict=True)), atol=1e-15)
    np.testing.assert_allclose(after, momentum - H * command, rtol=0, atol=1e-17)


@pytest.mark.jit
def test_direction_saturation_keeps_the_direction_at_torque_and_momentum_limits() -> None:
    command, before = wild(PYRAMID, (5000,))
    tau_B, after = PYRAMID.apply(command, before, H)
    wanted = command @ PYRAMID.axes_B
    along = np.einsum("ki,ki->k", tau_B, wanted) / np.einsum("ki,ki->k", wanted, wanted)
    np.testing.assert_allclose(tau_B, along[:, None] * wanted, rtol=0, atol=1e-14)
    assert (along > -1e-12).all() and (along < 1 + 1e-12).all()
    assert (along < 0.99).any() and (along > 0.999).any() and (np.abs(along) < 1e-12).any()
    # No more is given away than needed: something is at a limit wherever the command was cut.
    torque = np.abs(before - after) / H
    tight = (torque > 5e-3 * (1 - 1e-9)) | (np.abs(after) > 50e-3 * (1 - 1e-9))
    assert tight.any(axis=-1)[along < 0.999].all()


@pytest.mark.jit
def test_each_saturation_limits_every_wheel_by_itself() -> None:
    wheels = replace(PYRAMID, saturation="each")
    command = np.array([20e-3, -20e-3, 2e-3, -5e-3])
    momentum = np.array([0.0, 0.0, -50e-3, 50e-3])
    _, after = wheels.apply(command, momentum, H)
    np.testing.assert_allclose(after, [-0.5e-3, 0.5e-3, -50e-3, 50e-3], rtol=0, atol=1e-17)
    assert np.abs(wheels.apply(*wild(wheels, (2000,)), H)[1]).max() <= 50e-3


@pytest.mark.jit
@pytest.mark.parametrize("saturation", ["direction", "each"])
def test_no_motor_gives_more_than_its_torque_and_no_wheel_takes_more_than_its_momentum(saturation) -> None:
    wheels = replace(PYRAMID, saturation=saturation)
    command, before = wild(wheels, (5000,))
    _, after = wheels.apply(command, before, H)
    assert np.abs(before - after).max() <= 5e-3 * H * (1 + 1e-12)
    assert np.abs(after).max() <= 50e-3


def test_a_wheel_beyond_its_momentum_limit_is_not_pushed_further_but_may_be_braked() -> None:
    wheels = ReactionWheels(axes_B=[[1.0, 0.0, 0.0]], momentum_limit=1.0)
    for command, expected in ((-1.0, 2.0), (1.0, 1.9)):
        np.testing.assert_allclose(wheels.apply([command], np.array([2.0]), H)[1], [expected])


@pytest.mark.parametrize("saturation", ["direction", "each"])
def test_a_wheel_with_friction_reaches_its_momentum_limit_and_stays_there(saturation) -> None:
    wheels = ReactionWheels(
        axes_B=[[1.0, 0.0, 0.0]], momentum_limit=1.0, viscous=0.1, coulomb=0.2, saturation=saturation
    )
    state, spins = np.array([0.9]), []
    for _ in range(3):
        tau_B, state = wheels.apply([-1.0], state, H)
        spins.append(state[0])
    assert 0.9 < spins[0] < 1.0
    np.testing.assert_allclose(spins[1:], 1.0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(tau_B, 0.0, rtol=0, atol=1e-14)


def test_viscous_friction_is_second_order_in_the_step() -> None:
    """Against the exact h_w exp(-c t) - u (1 - exp(-c t))/c."""
    wheels, u, c = replace(SINGLE, viscous=0.5), 0.3, 0.5
    exact = 2.0 * np.exp(-c) - u * (1 - np.exp(-c)) / c
    errors = []
    for steps in (8, 16, 32):
        state = np.array([2.0])
        for _ in range(steps):
            _, state = wheels.apply([u], state, 1.0 / steps)
        errors.append(abs(state[0] - exact))
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.05)


def test_coulomb_friction_stops_a_wheel_on_time_and_holds_it() -> None:
    wheels, state, spins = replace(SINGLE, coulomb=0.2), np.array([-1.03]), []
    for _ in range(60):
        tau_B, state = wheels.apply([0.0], state, H)
        spins.append(state[0])
    np.testing.assert_allclose(spins[:51], -1.03 + 0.02 * np.arange(1, 52), rtol=0, atol=1e-14)
    assert spins[52:] == [0.0] * 8 and (tau_B == 0.0).all()


@pytest.mark.parametrize(("command", "torque"), [(0.19, 0.0), (-0.19, 0.0), (0.5, 0.3), (-0.5, -0.3)])
def test_a_motor_must_overcome_coulomb_friction_to_start_a_wheel(command, torque) -> None:
    tau_B, _ = replace(SINGLE, coulomb=0.2).apply([command], np.zeros(1), H)
    np.testing.assert_allclose(tau_B, [0.0, 0.0, torque], rtol=0, atol=1e-15)


@pytest.mark.parametrize("saturation", ["direction", "each"])
@pytest.mark.parametrize("shape", [(7,), (2, 3)])
def test_a_batch_has_the_bits_of_its_trials_alone(shape, saturation) -> None:
    wheels = replace(ROUGH, saturation=saturation)
    command, before = wild(wheels, shape)
    tau_B, after = wheels.apply(command, before, H)
    for k in np.ndindex(shape):
        alone, state = wheels.apply(command[k], before[k], H)
        np.testing.assert_array_equal(alone, tau_B[k])
        np.testing.assert_array_equal(state, after[k])
        np.testing.assert_array_equal(wheels.momentum_B(state), wheels.momentum_B(after)[k])


def test_dispersed_parameters_give_each_trial_its_own_wheels() -> None:
    rng = np.random.default_rng(4)
    axes = rng.standard_normal((3, 4, 3))
    changes = {
        "axes_B": axes / np.linalg.norm(axes, axis=-1, keepdims=True),
        "torque_limit": rng.uniform(1e-3, 5e-3, (3, 4)),
        "momentum_limit": rng.uniform(0.03, 0.05, (3, 1)) * np.ones(4),
        "viscous": rng.uniform(0, 0.1, (3, 4)),
        "coulomb": rng.uniform(0, 1e-3, (3, 4)),
    }
    command, before = wild(PYRAMID, (3,))
    tau_B, after = replace(PYRAMID, **changes).apply(command, before, H)
    for k in range(3):
        mine = replace(PYRAMID, **{name: value[k] for name, value in changes.items()})
        alone, state = mine.apply(command[k], before[k], H)
        np.testing.assert_array_equal(alone, tau_B[k])
        np.testing.assert_array_equal(state, after[k])


def test_a_lost_trial_touches_no_other() -> None:
    command, before = wild(ROUGH, (3,))
    healthy, _ = ROUGH.apply(command, before, H)
    command[1] = np.nan
    tau_B, _ = ROUGH.apply(command, before, H)
    assert np.isnan(tau_B[1]).all()
    np.testing.assert_array_equal(tau_B[[0, 2]], healthy[[0, 2]])


def test_the_pyramid_serves_all_directions_alike() -> None:
    axes = pyramid_axes()
    np.testing.assert_allclose(axes.T @ axes, 4 / 3 * np.eye(3), atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(pyramid_axes(20.0), axis=1), 1.0)
    np.testing.assert_allclose(pyramid_axes(20.0)[:, 2], np.sin(np.radians(20.0)))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"axes_B": [[1.0, 1.0, 0.0]]}, "axes_B"),
        ({"axes_B": [1.0, 0.0, 0.0]}, "axes_B"),
        ({"torque_limit": 0.0}, "torque_limit"),
        ({"momentum_limit": [1.0, 2.0]}, "momentum_limit"),
        ({"viscous": -1.0}, "viscous"),
        ({"coulomb": np.nan}, "coulomb"),
        ({"saturation": "all"}, "saturation"),
    ],
)
def test_a_wrong_parameter_is_named(wrong, named) -> None:
    with pytest.raises(InputError, match=f"^{named}: "):
        replace(PYRAMID, **wrong)
