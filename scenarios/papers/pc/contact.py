"""Perfect constraints: free flight, lossless bouncing, friction. The paper is an abstract; checks are the project's."""

import numpy as np
from numpy.typing import NDArray

from gnc import noise, quaternion
from gnc.batch import jacobian
from gnc.checks import at_least, at_most
from gnc.integrators import contact, perfect_constraint
from gnc.integrators.contact import around, directions, tangents
from gnc.models.contact_body import ContactBody, Motion, Plane
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.plots import Figure

Array = NDArray[np.float64]

MASS, HALF = 2.0, np.array([0.5, 0.3, 0.2])  # a box [kg, m]
GRAVITY = 9.81
CORNERS = HALF * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
THETA = MASS / 3 * np.diag(HALF @ HALF - HALF**2)


def box(e: float, mu: float) -> ContactBody:
    """The box on a level plane."""
    return ContactBody(MASS, THETA, CORNERS, (Plane(),), e, mu, (0.0, 0.0, -GRAVITY))


def tumbling(seed: int, trials: int) -> Motion:
    """Boxes thrown from a height of 2 m, tumbling."""
    q = quaternion.normalize(noise.normal(seed, trials, "attitude", 4))
    r, w, v = (
        np.tile([0.0, 0.0, 2.0], (trials, 1)),
        noise.normal(seed, trials, "rate", 3),
        noise.normal(seed, trials, "v", 3),
    )
    return Motion(q, r, 2.0 * w, v)


def relative_change(E: Array) -> Array:
    """How far a history is from its start."""
    return np.abs(E / E[0] - 1.0)


# Free flight


@case("pc/free", title="Free flight: energy, momentum, and the multiplier of the unit constraint")
def free(seed: int) -> Result:
    """Fly 20 tumbling boxes for 1000 steps; solve for the multiplier in the four numbers of the quaternion."""
    trials, steps, h = 20, 1000, 0.01
    x, none = tumbling(seed, trials), np.zeros(3)
    states = [x]
    for _ in range(steps):
        states.append(Motion(*perfect_constraint.step(*states[-1], none, none, MASS, THETA, h)))
    q, _, w, v = (np.stack(a) for a in zip(*states, strict=True))
    energy = relative_change(perfect_constraint.kinetic_energy(v, 0.0, w, MASS, THETA))
    spin = quaternion.rotate(q, w @ THETA)
    momentum = np.linalg.norm(spin - spin[0], axis=-1) / np.linalg.norm(spin[0], axis=-1)
    lam = np.array([quaternion_multiplier(q[-1, k], w[-1, k]) for k in range(trials)])
    T_rot = perfect_constraint.kinetic_energy(none, 0.0, w[-1], MASS, THETA)
    off = np.abs(lam / (-4.0 * T_rot) - 1.0).max()
    least = np.linalg.eigvalsh(perfect_constraint.quaternion_mass(q[-1], THETA)).min()
    metrics = {"steps": steps, "trials": trials, "energy": energy.max(), "momentum": momentum.max(), "multiplier": off}
    return Result(
        {**metrics, "least_eigenvalue_of_mass": least},
        [
            at_most("energy, relative change", energy.max(), 2e-14),
            at_most("angular momentum, relative change", momentum.max(), 2e-14),
            at_most("multiplier against -4 T_rot, relative", off, 1e-12),
            at_least("smallest eigenvalue of M(p) over that of 4 D", least / (4 * np.diag(THETA).min()), 1 - 1e-12),
        ],
        lambda figure: draw_free(figure, np.linspace(0.0, steps * h, steps + 1), energy, momentum, T_rot, lam),
    )


def quaternion_multiplier(q: Array, w: Array) -> float:
    """The multiplier from Lagrange's equations in the quaternion: M pddot + drift = lambda p, p.pddot = -pdot.pdot."""
    p_dot = perfect_constraint.quaternion_rate(q, 0.0, w)
    slopes = jacobian(perfect_constraint.quaternion_mass, "p")(q, THETA)  # d M[i, j] / d p[k]
    drift = np.einsum("ijk,k,j->i", slopes, p_dot, p_dot) - 0.5 * np.einsum("ijk,i,j->k", slopes, p_dot, p_dot)
    saddle = np.block([[perfect_constraint.quaternion_mass(q, THETA), -q[:, None]], [q[None], np.zeros((1, 1))]])
    return float(np.linalg.solve(saddle, np.concatenate([-drift, [-p_dot @ p_dot]]))[4])


def draw_free(figure: Figure, t: Array, energy: Array, momentum: Array, T_rot: Array, lam: Array) -> None:
    """Errors over time, and the multiplier over rotational energy."""
    errors, multiplier = figure.subplots(1, 2)
    eps = np.finfo(float).eps
    for values, label, colour in ((energy, "energy", "C0"), (momentum, "angular momentum", "C1")):
        errors.semilogy(t[1:], np.maximum(values[1:].max(axis=1), eps / 2), colour, lw=0.8, label=label)
    errors.axhline(2e-14, color="k", ls="--", lw=0.8, label="bound")
    errors.set(xlabel="time [s]", ylabel="largest relative change of 20 trials [-]", title="Free flight, h = 10 ms")
    errors.legend()
    T = np.array([0.0, 1.05 * T_rot.max()])
    multiplier.plot(T, -4.0 * T, "k", lw=0.8, label=r"$-4\,T_{rot}$")
    multiplier.plot(T_rot, lam, "C2o", ms=4, label=r"$\lambda$ from Lagrange's equations in p")
    multiplier.set(
        xlabel="rotational energy $T_{rot}$ [J]", ylabel=r"multiplier $\lambda$ [J]", title="Unit constraint"
    )
    multiplier.legend()


# Bouncing without loss


@case("pc/bounce", title="A box bouncing without loss: e = 1, no friction")
def bounce(seed: int) -> Result:
    """Throw three boxes on a plane for 30 s; energy, horizontal momentum, and penetration."""
    body, h, steps = box(1.0, 0.0), 0.005, 6000
    flight = body.fly(tumbling(seed, 3), steps, h)
    x, touch = flight.x, flight.touch
    energy = relative_change(body.energy(x))
    drift = np.abs(x.v_I[..., :2] - x.v_I[0, :, :2]).max()
    lowest = around(x.q_IB, x.r_IB, CORNERS, body.radii, body.surfaces)[0].min(axis=-1)
    fastest = np.linalg.norm(x.v_I, axis=-1) + np.linalg.norm(HALF) * np.linalg.norm(x.w_B, axis=-1)
    hits = (touch.load > 0).any(axis=-1).sum(axis=0)
    unconverged = int((~touch.converged).sum())
    return Result(
        {
            "energy": energy.max(),
            "impacts": hits.tolist(),
            "penetration_m": -lowest.min(),
            "sweeps": int(touch.sweeps.max()),
        },
        [
            at_most("energy, relative change", energy.max(), 1e-11),
            at_most("horizontal velocity, change [m/s]", drift, 1e-12),
            at_most(
                "penetration over the way of the fastest corner in a step", -lowest.min() / (h * fastest.max()), 1.0
            ),
            at_least("impacts of the quietest trial", hits.min(), 30),
            at_most("steps not converged", unconverged, 0),
        ],
        lambda figure: draw_bounce(figure, flight.t, x.r_IB[:, 0, 2], lowest[:, 0], energy),
    )


def draw_bounce(figure: Figure, t: Array, height: Array, lowest: Array, energy: Array) -> None:
    """Height of the first box, and the energy errors of all."""
    above, below = figure.subplots(2, 1, sharex=True)
    above.plot(t, height, "C0", lw=0.9, label="centre of mass")
    above.plot(t, lowest, "C1", lw=0.7, label="lowest corner")
    above.axhline(0.0, color="k", lw=0.6)
    above.set(ylabel="height [m]", title="Box on a plane, e = 1, no friction, h = 5 ms (first trial)")
    above.set_ylim(top=1.3 * height.max())
    above.legend(loc="upper right", ncols=2)
    for k in range(energy.shape[1]):
        below.semilogy(t[1:], np.maximum(energy[1:, k], 1e-16), f"C{k + 2}", lw=0.8, label=f"trial {k}")
    below.axhline(1e-11, color="k", ls="--", lw=0.8, label="bound")
    below.set(xlabel="time [s]", ylabel="relative change of energy [-]")
    below.legend(loc="lower right", ncols=4)


# Friction

LAWS = ((0.0, 0.5), (0.6, 0.3), (0.8, 0.0), (1.0, 0.3))  # (e, mu) of thrown boxes
MU = 0.3  # of the sliding block
E_IMPACT, MU_IMPACT = 0.8, 0.5  # of the random impacts


@case("pc/friction", title="Restitution and friction: energy, impacts against the six-DOF body, Kane's paradox")
def friction(seed: int) -> Result:
    """Throw boxes under four laws, slide one, and hit the plane with a corner 400 times."""
    steps = 1000
    bodies = [box(e, mu) for e, mu in LAWS]
    flights = [body.fly(tumbling(seed, 3), steps, 0.005) for body in bodies]
    energies = [body.energy(flight.x) for body, flight in zip(bodies, flights, strict=True)]
    rise = max((np.diff(E, axis=0) / E[0]).max() for E in energies)
    lost = np.mean([~flight.touch.converged for flight in flights])
    t, v, expected = slide()
    hits = [corner_impact(seed, k) for k in range(400)]
    apart = max(difference(seven_dof(*hit)[0], six_dof(*hit)) for hit in hits[:100])
    same, zero = (np.array([seven_dof(*hit, e_T)[1] for hit in hits]) for e_T in (E_IMPACT, 0.0))
    gained = int((zero > 1e-9).sum())
    metrics = {"largest_rise": rise, "not_converged": lost, "six_dof_difference": apart}
    return Result(
        {**metrics, "impacts": len(hits), "gained_with_e_T_0": gained, "largest_gain_with_e_T_0": zero.max()},
        [
            at_most("energy, largest relative rise in a step", rise, 1e-12),
            at_most("share of steps not converged", lost, 1e-3),
            at_most("sliding block against v - mu g t [m/s]", np.abs(v - expected).max(), 1e-10),
            at_most("impacts, 7 against 6 degrees of freedom, relative", apart, 4e-12),
            at_most("gain in an impact with e_T = e", same.max(), 1e-12),
            at_least("impacts that gain with e_T = 0 (Kane's paradox)", gained, 1),
        ],
        lambda figure: draw_friction(figure, flights[0].t, energies, (t, v, expected), (same, zero)),
    )


def slide() -> tuple[Array, Array, Array]:
    """Time, speed and the speed by hand of a flat block that slides at 1 m/s until just before it stops."""
    h, half = 0.005, np.array([0.5, 0.3, 0.05])
    Theta, corners = MASS / 3 * np.diag(half @ half - half**2), CORNERS / HALF * half
    block = ContactBody(MASS, Theta, corners, (Plane(),), 0.0, MU, (0.0, 0.0, -GRAVITY))
    start = Motion([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, half[2] - 1e-9], [0.0] * 3, [1.0, 0.0, 0.0])
    flight = block.fly(start, int(1.0 / (MU * GRAVITY * h)), h)
    return flight.t, flight.x.v_I[:, 0], 1.0 - MU * GRAVITY * flight.t


def corner_impact(seed: int, k: int) -> tuple[Array, Array, Array]:
    """Attitude, corner and velocity (v, nu, Om) of a box that hits the plane with one corner."""
    rng = noise.stream(seed, k, "impact")
    q, X = quaternion.normalize(rng.normal(size=4)), CORNERS[rng.integers(8)]
    u = np.concatenate([rng.normal(size=3), [0.0], 3.0 * rng.normal(size=3)])
    approach = u[2] + quaternion.rotate(q, np.cross(u[4:], X))[2]
    return q, X, -np.sign(approach) * u


def seven_dof(q: Array, X: Array, u: Array, e_T: float = E_IMPACT) -> tuple[Array, float]:
    """The six velocities after the impact and its relative gain of energy, by the project's solver."""
    W = directions(q, X[None], 0.0, np.array([0.0, 0.0, 1.0]))
    after, _, _ = contact.impact(u, W, MASS, THETA, contact.ContactLaw(E_IMPACT, e_T, MU_IMPACT))
    before, E = (perfect_constraint.kinetic_energy(z[:3], z[3], z[4:], MASS, THETA) for z in (u, after))
    return np.delete(after, 3), E / before - 1.0


def six_dof(q: Array, X: Array, u: Array) -> Array:
    """The same impact of a rigid body without a scaling velocity: small projected steps, all impulses at once."""
    R, n = quaternion.to_matrix(q), np.array([0.0, 0.0, 1.0])
    J = np.array([[*d, *np.cross(X, R.T @ d)] for d in (n, *tangents(n))])
    u, answer = np.delete(u, 3), J / np.concatenate([np.full(3, MASS), np.diag(THETA)])
    G, xi_0 = answer @ J.T, (1.0 + E_IMPACT) * J @ u
    impulse, step = np.zeros(3), 1.0 / np.linalg.eigvalsh(G)[-1]
    for _ in range(2000):
        wanted = impulse - step * (xi_0 + G @ impulse)
        normal, friction = max(wanted[0], 0.0), np.hypot(*wanted[1:])
        impulse = np.array([normal, *(wanted[1:] * min(1.0, MU_IMPACT * normal / friction))])
    return u + impulse @ answer


def difference(u: Array, expected: Array) -> float:
    """How far two velocities are apart, relative to the largest number."""
    return float(np.abs(u - expected).max() / np.abs(expected).max())


def draw_friction(
    figure: Figure, t: Array, energies: list[Array], block: tuple[Array, Array, Array], gains: tuple[Array, Array]
) -> None:
    """Energies of the first boxes, their changes, the sliding block, and what impacts gain."""
    (energy, change), (slope, impact) = figure.subplots(2, 2)
    for E, (e, mu) in zip(energies, LAWS, strict=True):
        label = f"e = {e:g}, $\\mu$ = {mu:g}"
        energy.plot(t, E[:, 0], lw=1.0, label=label)
        change.plot(t[1:], np.diff(E[:, 0]) / E[0, 0], lw=0.6)
    energy.set(xlabel="time [s]", ylabel="energy [J]", title="Boxes thrown on a plane")
    energy.set_ylim(0.0, 1.6 * max(E[0, 0] for E in energies))
    energy.legend(loc="upper right", ncols=2)
    change.set_yscale("symlog", linthresh=1e-12)
    change.axhline(1e-12, color="k", ls="--", lw=0.8, label="bound of a rise")
    change.set_yticks([1e-12, 0.0, -1e-12, -1e-8, -1e-4, -1.0])
    change.set(xlabel="time [s]", ylabel="change of energy per step,\nrelative [-]", title="No step gains energy")
    change.set_ylim(-10.0, 1e-10)
    change.legend(loc="lower left")
    slope.plot(block[0], block[2], "k", lw=0.8, label=r"$v_0 - \mu g t$")
    slope.plot(block[0][::4], block[1][::4], "C0o", ms=3, label="simulated")
    slope.set(xlabel="time [s]", ylabel="speed [m/s]", title=f"Sliding block, $\\mu$ = {MU:g}")
    slope.legend()
    for values, label, colour in zip(gains, ("$e_T = e$", "$e_T = 0$"), ("C0", "C3"), strict=True):
        impact.plot(np.sort(values)[::-1], colour, lw=1.2, label=label)
    impact.axhline(0.0, color="k", lw=0.6)
    impact.set(xlabel="impact, largest gain first", ylabel="gain of energy, relative [-]", xlim=(0, 60))
    impact.set(
        ylim=(-0.1, 1.1 * max(gains[1].max(), 0.05)), title=f"Corner impacts, e = {E_IMPACT:g}, $\\mu$ = {MU_IMPACT:g}"
    )
    impact.legend()
