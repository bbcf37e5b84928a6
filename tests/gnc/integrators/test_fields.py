"""Potentials: force and torque against the energy, gradients against both, and one field against another."""

import pickle

import numpy as np

from gnc import quaternion
from gnc.integrators import fields, potential
from tests.gnc.integrators.bodies_in_fields import ARMS, EACH_FIELD, FIELDS, R_I, WEIGHTS, pulled
from tests.gnc.integrators.gyrostat import Q0


@EACH_FIELD
def test_force_and_torque_are_the_slopes_of_the_energy(name):
    field, parameters = FIELDS[name]
    q, r = Q0, R_I
    torque, force = field.wrench(q, r, *parameters)
    d = 1e-5

    def energy(x):
        return field.energy(quaternion.mul(q, quaternion.exp(x[:3])), r + x[3:], *parameters)

    slopes = [(energy(d * e) - energy(-d * e)) / (2 * d) for e in np.eye(6)]
    np.testing.assert_allclose(-np.concatenate([torque, force]), slopes, rtol=0, atol=1e-9)


@EACH_FIELD
def test_the_gradient_is_the_slope_of_torque_and_force(name):
    field, parameters = FIELDS[name]
    q, r = Q0, R_I
    d = 1e-5

    def wrench(x):
        return np.concatenate(field.wrench(quaternion.mul(q, quaternion.exp(x[:3])), r + x[3:], *parameters))

    slopes = np.transpose([(wrench(d * e) - wrench(-d * e)) / (2 * d) for e in np.eye(6)])
    np.testing.assert_allclose(field.gradient(q, r, *parameters), slopes, rtol=0, atol=1e-8)


@EACH_FIELD
def test_a_field_made_of_its_energy_alone_is_the_same(name):
    field, parameters = FIELDS[name]
    made, at = fields.from_energy(field.energy), (Q0, R_I, *parameters)
    np.testing.assert_allclose(np.concatenate(made.wrench(*at)), np.concatenate(field.wrench(*at)), rtol=0, atol=1e-14)
    np.testing.assert_allclose(made.gradient(*at), field.gradient(*at), rtol=0, atol=1e-14)


def test_three_masses_pull_as_newton_says():
    torque, force = fields.point_masses(3).wrench(Q0, R_I, 5.0, WEIGHTS, ARMS)
    expected = pulled(quaternion.to_matrix(Q0), R_I)
    np.testing.assert_allclose(np.concatenate([torque, force]), np.concatenate(expected), rtol=0, atol=1e-15)


def test_far_away_gravity_gradient_is_what_point_masses_feel():
    """What is left are the third moments: one more power of size over distance."""
    centred = ARMS - WEIGHTS @ ARMS / WEIGHTS.sum()
    inertia = sum(m * (b @ b * np.eye(3) - np.outer(b, b)) for m, b in zip(WEIGHTS, centred, strict=True))
    errors = []
    for away in (100.0, 200.0):
        at = Q0, away * R_I
        torque = fields.gravity_gradient_torque(*at, 5.0, inertia)
        points, pull = fields.point_masses(3).wrench(*at, 5.0, WEIGHTS, centred)
        _, expansion = fields.gravity_gradient.wrench(*at, 5.0, WEIGHTS.sum(), inertia)
        monopole = -5.0 * WEIGHTS.sum() * at[1] / np.linalg.norm(at[1]) ** 3
        errors.append([_relative(torque, points), _relative(expansion - monopole, pull - monopole)])
    assert np.max(errors[0]) < 1e-2
    np.testing.assert_allclose(np.array(errors[0]) / errors[1], 2.0, rtol=0.05)


def _relative(x, y):
    return np.linalg.norm(x - y) / np.linalg.norm(y)


@EACH_FIELD
def test_fields_and_their_integrators_pickle(name):
    steps = potential.integrator(FIELDS[name][0])
    assert pickle.loads(pickle.dumps(steps)) is steps
