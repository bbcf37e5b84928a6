"""Impacts and the contact step: the inclusions, energy, the 6-DOF oracle, and honest reports."""

import os

import numpy as np
import pytest

from gnc import quaternion
from gnc.integrators import contact, contact_solver, perfect_constraint
from gnc.integrators.contact import ContactLaw, Motion, Near, directions, tangents

jit = pytest.mark.jit
JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
IMPACTS = 20 if JIT_OFF else 300


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


class Scene:
    """A random body about to hit with some random points along random normals."""

    def __init__(self, rng, contacts):
        A = rng.normal(size=(3, 3))
        squares = A @ A.T + 0.1 * np.eye(3)
        self.m, self.Theta = rng.uniform(0.5, 5.0), np.trace(squares) * np.eye(3) - squares
        self.q, self.X = unit(rng.normal(size=4)), rng.normal(size=(contacts, 3))
        self.n = unit(rng.normal(size=(contacts, 3)))
        self.v, self.w = rng.normal(size=(2, 3))
        self.W = directions(self.q, self.X, 0.0, self.n)
        if (self.W[:, 0] @ self.u).min() >= 0:
            self.v, self.w = -self.v, -self.w
        self.M = perfect_constraint.mass(self.m, self.Theta)

    @property
    def u(self):
        return np.concatenate([self.v, [0.0], self.w])

    def energy(self, u):
        return u @ self.M @ u / 2

    def impact(self, e, mu, e_T=None, sweeps=20_000):
        """Velocity after the impact, impulses, and whether they converged."""
        law = ContactLaw(e, e if e_T is None else e_T, mu, contact.TOLERANCE, sweeps)
        return contact.impact(self.u, self.W, self.m, self.Theta, law)


def rigid_impact(scene, e, mu):
    """The impact in the six velocities of a rigid body, all impulses projected at once with small steps (Jacobi)."""
    R = quaternion.to_matrix(scene.q)
    J = np.array(
        [
            np.concatenate([d, np.cross(X, R.T @ d)])
            for X, n in zip(scene.X, scene.n, strict=True)
            for d in (n, *tangents(n))
        ]
    )
    inverse = np.zeros((6, 6))
    inverse[:3, :3], inverse[3:, 3:] = np.eye(3) / scene.m, np.linalg.inv(scene.Theta)
    u = np.concatenate([scene.v, scene.w])
    G, c = J @ inverse @ J.T, (1 + e) * J @ u
    Lam, step = np.zeros(len(J)), 1 / np.linalg.eigvalsh(G)[-1]
    for _ in range(200_000):
        y = (Lam - step * (c + G @ Lam)).reshape(-1, 3)
        normal = np.maximum(y[:, 0], 0)
        length = np.hypot(y[:, 1], y[:, 2])
        shrink = np.where(length > mu * normal, mu * normal / np.where(length > 0, length, 1), 1)
        new = np.column_stack([normal, y[:, 1] * shrink, y[:, 2] * shrink]).ravel()
        if np.abs(new - Lam).max() < 1e-15 * np.abs(new).max():
            break
        Lam = new
    return u + inverse @ J.T @ Lam


def random_scenes(count, contacts, seed=6):
    rng = np.random.default_rng(seed)
    return [Scene(rng, contacts) for _ in range(count)]


# Impacts


@pytest.mark.parametrize(("contacts", "e", "mu"), [(1, 0.8, 0.3), (1, 0.0, 0.8), (2, 0.5, 0.3), (3, 1.0, 0.0)])
def test_impacts_with_seven_degrees_of_freedom_are_those_of_the_rigid_body(contacts, e, mu):
    for scene in random_scenes(IMPACTS // 10, contacts):
        u, _, converged = scene.impact(e, mu)
        assert converged
        expected = rigid_impact(scene, e, mu)
        assert u[3] == 0
        np.testing.assert_allclose(np.delete(u, 3), expected, rtol=0, atol=4e-12 * np.abs(expected).max())


@pytest.mark.parametrize(("contacts", "mu"), [(1, 0.3), (1, 1.0), (2, 0.3), (2, 0.8), (4, 0.3)])
@pytest.mark.parametrize("e", [0.0, 0.8, 1.0])
def test_random_impacts_never_gain_energy(contacts, mu, e):
    for scene in random_scenes(IMPACTS, contacts):
        before = scene.energy(scene.u)
        assert scene.energy(scene.impact(e, mu, sweeps=2000)[0]) <= before * (1 + 1e-12)


def test_elastic_impacts_without_friction_keep_energy():
    for scene in random_scenes(IMPACTS, 2):
        u, _, converged = scene.impact(1.0, 0.0)
        assert converged
        assert scene.energy(u) == pytest.approx(scene.energy(scene.u), rel=1e-12)


@jit
def test_kanes_paradox_without_tangential_restitution_some_impacts_gain_energy():
    gains = []
    for scene in random_scenes(IMPACTS, 1):
        u, _, converged = scene.impact(0.8, 1.0, e_T=0.0)
        assert converged
        gains.append(scene.energy(u) / scene.energy(scene.u) - 1)
    gained = np.array(gains) > 1e-3
    assert 0 < gained.sum() < IMPACTS / 20  # rare, and large where it happens
    assert max(gains) > 0.01


@pytest.mark.parametrize(("contacts", "e", "mu"), [(1, 0.8, 0.5), (2, 0.5, 0.3), (3, 0.0, 0.3)])
def test_impacts_obey_the_laws_of_restitution_and_friction(contacts, e, mu):
    for scene in random_scenes(IMPACTS // 4, contacts):
        u, impulse, converged = scene.impact(e, mu)
        if not converged:
            continue
        xi = scene.W @ (u + e * scene.u)
        speed, force = np.abs(scene.W @ scene.u).max(), impulse.max()
        assert (xi[:, 0] > -1e-10 * speed).all() and (impulse[:, 0] >= 0).all()
        assert np.abs(xi[:, 0] * impulse[:, 0]).max() < 1e-10 * speed * force
        friction = np.hypot(impulse[:, 1], impulse[:, 2])
        assert (friction <= mu * impulse[:, 0] * (1 + 1e-12)).all()
        sliding = np.hypot(xi[:, 1], xi[:, 2])
        opposed = np.sum(impulse[:, 1:] * xi[:, 1:], axis=-1) + mu * impulse[:, 0] * sliding
        assert np.abs(opposed).max() < 1e-9 * speed * force


def test_a_body_that_leaves_is_not_hit():
    scene = random_scenes(1, 1)[0]
    scene.v, scene.w = -scene.v, -scene.w
    u, impulse, _ = scene.impact(0.8, 0.3)
    np.testing.assert_array_equal(u, scene.u)
    np.testing.assert_array_equal(impulse, 0)


# The step


def start(scenes, gap=-1e-3):
    """Motions, bodies and surroundings of scenes, trials first."""
    x = Motion(*(np.array([getattr(s, a) for s in scenes]) for a in ("q", "q", "w", "v")))
    x = x._replace(r_IB=np.zeros((len(scenes), 3)))
    m, Theta = np.array([s.m for s in scenes]), np.array([s.Theta for s in scenes])
    normal = np.array([s.n for s in scenes])
    points = np.array([s.X for s in scenes])
    gaps = np.full(points.shape[:2], gap)
    return x, m, Theta, Near(x.q_IB, gaps, normal, points, np.zeros(points.shape[:2]))


def law(trials, e, mu, sweeps=contact.SWEEPS):
    return ContactLaw(np.full(trials, e), np.full(trials, e), np.full(trials, mu), contact.TOLERANCE, sweeps)


def energy(x, m, Theta):
    return perfect_constraint.kinetic_energy(x.v_I, 0.0, x.w_B, m, Theta)


@pytest.mark.parametrize(("e", "mu"), [(0.0, 0.5), (0.6, 0.3), (1.0, 0.3), (1.0, 0.0)])
def test_the_step_gains_no_energy_beyond_the_work_of_the_force(e, mu):
    scenes = random_scenes(IMPACTS // 3, 2)
    x, m, Theta, near = start(scenes)
    h, f = np.full(len(scenes), 0.01), np.random.default_rng(7).normal(size=(len(scenes), 3))
    x1, touch = contact.step(x, np.zeros_like(f), f, m, Theta, h, near, law(len(scenes), e, mu))
    gained = energy(x1, m, Theta) - energy(x, m, Theta) - np.sum(f * (x1.r_IB - x.r_IB), axis=-1)
    assert (gained <= 1e-12 * energy(x, m, Theta))[touch.converged].all()
    assert touch.converged.mean() > 0.9
    if e == 1 and mu == 0:
        assert (np.abs(gained) <= 1e-11 * energy(x, m, Theta)).all()


def test_reported_impulses_account_for_the_change_of_momentum():
    scenes = random_scenes(20, 2)
    x, m, Theta, near = start(scenes)
    h, f = np.full(20, 0.01), np.tile([0.1, -0.2, -3.0], (20, 1))
    x1, touch = contact.step(x, np.zeros((20, 3)), f, m, Theta, h, near, law(20, 0.5, 0.3))
    change = m[:, None] * (x1.v_I - x.v_I)
    np.testing.assert_allclose(touch.impulse_I.sum(axis=1) + h[:, None] * f, change, atol=1e-12)
    np.testing.assert_allclose(np.sum(touch.impulse_I * near.normal_I, axis=-1), touch.load, atol=1e-12)
    assert (touch.load >= 0).all() and (touch.load.max(axis=-1) > 0).all()
    torque = quaternion.inverse_rotate(x.q_IB[:, None], touch.impulse_I)
    torque = np.cross(near.point_B, torque).sum(axis=1)
    turn = quaternion.mul(quaternion.conj(x.q_IB), x1.q_IB)
    w_m = 2 * turn[:, 1:] / (turn[:, :1] * h[:, None])  # Cayley's map tells the rate of the smooth stage
    L_m, change = (np.einsum("tij,tj->ti", Theta, w) for w in (w_m, x1.w_B - x.w_B))
    np.testing.assert_allclose(h[:, None] * np.cross(L_m, w_m) + torque, change, atol=1e-12)


def test_in_flight_the_unit_multiplier_is_minus_four_times_the_rotational_energy():
    scenes = random_scenes(10, 1)
    x, m, Theta, near = start(scenes, gap=1.0)
    h, none = np.full(10, 0.01), np.zeros((10, 3))
    x1, touch = contact.step(x, none, none, m, Theta, h, near, law(10, 0.5, 0.3))
    w_m = (x.w_B + x1.w_B) / 2
    T_rot = np.einsum("ti,tij,tj->t", w_m, Theta, w_m) / 2
    np.testing.assert_allclose(touch.unit_impulse / h, -4 * T_rot, rtol=1e-12)
    assert (touch.sweeps == 0).all() and touch.converged.all()


def test_the_solver_without_contact_flies_as_the_kernel_does():
    """The same smooth stage, once by Gauss-Seidel with the unit constraint as an inclusion, once by Newton."""
    scene = random_scenes(1, 1)[0]
    x, m, Theta, near = start([scene], gap=1.0)
    h, none = np.full(1, 0.01), np.zeros((1, 3))
    x1, touch = contact.step(x, none, none, m, Theta, h, near, law(1, 0.5, 0.3))
    u, Y = scene.u[None].copy(), contact.answers(scene.W, scene.m, scene.Theta)[None]
    one = np.ones(1)
    rotor = contact_solver.Rotor(np.trace(scene.Theta)[None] / 2, scene.Theta[None], np.linalg.inv(scene.Theta)[None])
    _, _, unit_impulse, _, change = contact_solver.touch(
        u,
        np.zeros((1, 7)),
        scene.W[None],
        Y,
        np.zeros((1, 1), bool),
        contact_solver.Coefficients(one, one, one),
        h / 2,
        rotor,
        contact_solver.Limit(1e-14 * one, 1000),
    )
    assert change.max() <= 1e-14
    np.testing.assert_allclose(u[0, 4:], x1.w_B[0], rtol=1e-13)
    np.testing.assert_allclose(unit_impulse * 2, touch.unit_impulse, rtol=1e-12)


def test_a_solution_cut_short_is_reported():
    scenes = random_scenes(20, 4)
    x, m, Theta, near = start(scenes)
    h, none = np.full(20, 0.01), np.zeros((20, 3))
    _, cut = contact.step(x, none, none, m, Theta, h, near, law(20, 0.5, 0.5, sweeps=5))
    _, full = contact.step(x, none, none, m, Theta, h, near, law(20, 0.5, 0.5))
    assert not cut.converged.any() and (cut.residual > contact.TOLERANCE).all()
    assert full.converged.sum() > 15 and (full.residual[full.converged] <= contact.TOLERANCE).all()


def test_a_lost_trial_is_reported_and_does_not_stop_the_others():
    scenes = random_scenes(5, 2)
    x, m, Theta, near = start(scenes)
    h, none = np.full(5, 0.01), np.zeros((5, 3))
    alone = contact.step(x, none, none, m, Theta, h, near, law(5, 0.5, 0.5))
    x.w_B[1], near.normal_I[3], x.v_I[4] = np.nan, np.nan, np.inf
    together = contact.step(x, none, none, m, Theta, h, near, law(5, 0.5, 0.5))
    assert list(together[1].converged[[1, 3, 4]]) == [False, False, False]
    assert np.isnan(together[0].v_I[3]).any()
    for a, b in zip((*alone[0], *alone[1]), (*together[0], *together[1]), strict=True):
        assert np.array_equal(a[[0, 2]], b[[0, 2]])


def test_a_trial_has_the_same_bits_alone_and_in_a_batch():
    scenes = random_scenes(12, 3)
    x, m, Theta, near = start(scenes)
    near.gap[::3] = 1.0  # some fly
    h, f = np.linspace(0.001, 0.02, 12), np.random.default_rng(8).normal(size=(12, 3))
    together = contact.step(x, 0.1 * f, f, m, Theta, h, near, law(12, 0.5, 0.4))
    for k in range(12):
        one = slice(k, k + 1)
        alone = contact.step(
            Motion(*(a[one] for a in x)),
            0.1 * f[one],
            f[one],
            m[one],
            Theta[one],
            h[one],
            Near(*(a[one] for a in near)),
            law(1, 0.5, 0.4),
        )
        for a, b in zip((*alone[0], *alone[1]), (*together[0], *together[1]), strict=True):
            assert np.array_equal(a, b[one])
