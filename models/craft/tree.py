"""A craft of several bodies: a base with arm, panels or masses on joints, moved by the variational tree.

Kicks at both ends of a step and a constrained drift between them, so that the books of momentum close to rounding.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import ValidationInfo, field_validator, model_validator

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched
from gnc.config import Edges, Inertia, NonNegative, Percent, Positive, Vector3
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.history import Signal
from gnc.linalg import cross
from gnc.models import books
from gnc.models.actuators.wrench import JointMotors
from gnc.models.books import Books
from gnc.models.craft.base import Carrier, Craft, CraftPart, Effects, Joints, Nominal, Report, Shape, Site
from gnc.models.craft.pose import PoseStart
from gnc.models.environment.disturbances import Disturbance
from gnc.models.loads.base import load_wrench
from gnc.models.multibody import Body, Load, Tree, TreeState, VariationalTree, kinematics, sections
from gnc.models.multibody.variational_bodies import BodyStates
from gnc.models.pose_body import PoseState
from gnc.typing import Array

SIGNALS = {
    "q_IB": Signal("1", "true attitude of the base, body to inertial, scalar first"),
    "r_IB_m": Signal("m", "true position of the base's origin, inertial axes"),
    "w_B_deg_s": Signal("deg/s", "true rate of the base, body axes"),
    "v_B_m_s": Signal("m/s", "true velocity of the base's origin, body axes"),
    "momentum_gap": Signal("1", "momentum less start and impulses, over all that was handled"),
}


class TreeCraftState(NamedTuple):
    """All bodies, and the base and joints beside them for those who look."""

    bodies: BodyStates
    dq_IB: Array  # (trials, 8) of the base
    chi_B: Array  # (trials, 6)
    gamma: Array  # (trials, G) joint coordinates [rad, m]
    rate: Array  # (trials, D)
    P_B: Array  # (trials, 3) angular momentum of all about their centre of mass, base axes, wheels included
    books: Books
    effectors: tuple[Array, ...]  # state of each actuator

    @property
    def q_IB(self) -> Array:
        """Attitude of the base."""
        return self.dq_IB[..., :4]

    @property
    def w_B(self) -> Array:
        """Rate of the base."""
        return self.chi_B[..., :3]


@dataclass(frozen=True, eq=False)
class TreeCraft(Carrier):
    """The truth of a craft of several bodies; loads and actuators act on its base, motors in its joints."""

    tree: Tree
    sky: Any
    loads: Sequence[Disturbance]
    effects: Effects
    begin: TreeState
    compilable: ClassVar[bool] = False

    @functools.cached_property
    def moving(self) -> VariationalTree:
        """The integrator."""
        return VariationalTree(self.tree)

    @functools.cached_property
    def _names(self) -> list[str]:
        return [joint.name for joint in self.tree.joints]

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What it tells about itself."""
        signals = dict(SIGNALS)
        for joint in self.tree.joints:
            unit = "deg" if joint.kind == "R" else "rad, m"
            about = f"coordinates of the joint of the {joint.name}"
            signals[f"{joint.name}.joint_deg" if joint.kind == "R" else f"{joint.name}.joint"] = Signal(unit, about)
            reaction = f"of the base on the {joint.name} at its joint, its axes"
            signals[f"{joint.name}.reaction_N"] = Signal("N", f"force {reaction}")
            signals[f"{joint.name}.reaction_Nm"] = Signal("N m", f"torque {reaction}, without that of a motor")
            signals[f"{joint.name}.q"] = Signal("1", f"attitude of the {joint.name}, scalar first")
            signals[f"{joint.name}.r_m"] = Signal("m", f"mass centre of the {joint.name}, inertial axes")
        for frame in self.tree.frames:
            signals[f"{frame.name}_I_m"] = Signal("m", f"place of the {frame.name}, inertial axes")
        return signals | self.effects.signals

    def start(self) -> TreeCraftState:
        """Return the state at time zero."""
        bodies = self.moving.start(self.begin)
        states = self.effects.start(len(self.begin.dq_IB))
        return self._read(bodies, books.opened(self._momentum(bodies)), states)

    def step(self, x: TreeCraftState, command: tuple[Array, ...], t: Any, h: Any) -> TreeCraftState:
        """Move over h under what acts on the base and in the joints."""
        env, base = self.sky.at(t), self.tree.body_names[self.tree.root]
        outputs, states = self.effects.act(command, x.effectors, h)
        wrench_B = self.effects.load_B(outputs, x.effectors, states, x.q_IB, x.w_B, env, h)
        if self.loads:
            wrench_B = wrench_B + load_wrench(self.loads, x.q_IB, env)
        wrenches = np.zeros((len(wrench_B), len(self.tree.bodies), 6))
        wrenches[:, self.tree.body(base)] = wrench_B
        efforts = self._efforts(outputs, len(wrench_B))
        acting, late = Load(efforts, wrenches), t + 0.5 * h

        def load(s: float, y: TreeState) -> Load:
            if self.sky.tide is None:
                return acting
            poses = x.bodies.dq_IC if s < late else self.moving.start(y).dq_IC
            return acting._replace(wrench=wrenches + self._weights(poses, self.sky.at(t if s < late else t + h)))

        bodies = self.moving.step(x.bodies, h, load, t)
        after = self._read(bodies, x.books, states)
        ledger = books.entered(x.books, x.dq_IB, after.dq_IB, wrench_B, h)
        if self.sky.tide is not None:
            for poses, around in ((x.bodies.dq_IC, self.sky.at(t)), (bodies.dq_IC, self.sky.at(t + h))):
                ledger = books.fallen(ledger, self._fall(poses, around), h)
        return after._replace(books=ledger._replace(handled=ledger.handled + h * _passed(bodies.before)))

    def _forces(self, dq_IC: Array, env: Any) -> tuple[Array, Array]:
        """Return the places of the bodies' centres of mass, and what gravity beside an orbit pulls them with."""
        r_I = dual_quaternion.to_pose(dq_IC)[1]
        return r_I, self.moving.bodies.masses[..., None] * self.sky.tide.acceleration_I(r_I, env)

    def _weights(self, dq_IC: Array, env: Any) -> Array:
        """Return what gravity does to each body (trials, B, 6), at its origin, its axes."""
        order = self.moving.bodies.order
        wrenches = np.empty((*dq_IC.shape[:-1], 6))
        wrenches[..., order, :] = _weight(dq_IC, self._forces(dq_IC, env)[1], self.moving.bodies.centres)
        return wrenches

    def _fall(self, dq_IC: Array, env: Any) -> Array:
        """Return the wrench of gravity on all bodies together, about the inertial origin (trials, 6)."""
        each = _moment(*self._forces(dq_IC, env))
        return functools.reduce(np.add, (each[..., i, :] for i in range(each.shape[-2])))

    def _efforts(self, outputs: Sequence[Any], n: int) -> Array:
        efforts = np.zeros((n, self.tree.freedoms))
        for effector, torques in zip(self.effects.each, outputs, strict=True):
            if isinstance(effector, JointMotors):
                for k, name in enumerate(effector.joints):
                    efforts[:, self.tree.rate_slice(name)] += torques[:, k : k + 1]
        return efforts

    def report(self, x: TreeCraftState) -> Report:
        """Return what actuators and the joints' encoders tell, and the pose where that counts as known."""
        rho_B = self.effects.rho_B(x.effectors, x.w_B)
        return Report(
            self.effects.telemetry(x.effectors), rho_B, PoseState(x.dq_IB, x.chi_B), joints=Joints(x.gamma, x.rate)
        )

    def observe(self, x: TreeCraftState, command: tuple[Array, ...], t: float) -> Mapping[str, Array]:
        """Return the values of all signals."""
        q_IB, r_IB = dual_quaternion.to_pose(x.dq_IB)
        gap = books.gap(x.books, self._momentum(x.bodies))
        values = {"q_IB": q_IB, "r_IB_m": r_IB, "w_B_deg_s": np.degrees(x.w_B), "v_B_m_s": x.chi_B[..., 3:]}
        values["momentum_gap"] = gap
        state = TreeState(x.dq_IB, x.chi_B, x.gamma, x.rate)
        poses = dict(zip(self.moving.bodies.order, np.moveaxis(x.bodies.dq_IC, -2, 0), strict=True))
        for i, joint in enumerate(self.tree.joints):
            angle = x.gamma[..., self.tree.gamma_slice(joint.name)]
            key, seen = ("joint_deg", np.degrees(angle[..., 0])) if joint.kind == "R" else ("joint", angle)
            q, r = dual_quaternion.to_pose(poses[self.tree.body(joint.child)])
            reaction = x.bodies.before[..., i, :]
            own = {key: seen, "reaction_Nm": reaction[..., :3], "reaction_N": reaction[..., 3:], "q": q, "r_m": r}
            values |= {f"{joint.name}.{name}": value for name, value in own.items()}
        for frame in self.tree.frames:
            dq_IF = kinematics.frame_pose(self.tree, state, frame.name)
            values[f"{frame.name}_I_m"] = dual_quaternion.to_pose(dq_IF)[1]
        return values | self.effects.observe(command, x.effectors)

    def _read(self, bodies: BodyStates, ledger: Books, effectors: tuple[Array, ...]) -> TreeCraftState:
        state = self.moving.read(bodies)
        momentum_I, centre_I = self._momentum(bodies), self._centre(bodies)
        P_B = _about(state.dq_IB, momentum_I, centre_I) + self.effects.rho_B(effectors, state.dq_IB)
        return TreeCraftState(bodies, *state, P_B, ledger, effectors)

    def _momentum(self, bodies: BodyStates) -> Array:
        """Return the momentum of all bodies about the inertial origin (trials, 6)."""
        each = _momentum(bodies.dq_IC, bodies.twist_C, self.moving.bodies.inertias)
        return functools.reduce(np.add, (each[..., i, :] for i in range(each.shape[-2])))

    def _centre(self, bodies: BodyStates) -> Array:
        """Return the centre of mass of all bodies, inertial axes."""
        masses, places = self.moving.bodies.masses[..., None], dual_quaternion.to_pose(bodies.dq_IC)[1]
        each = masses * places
        total = functools.reduce(np.add, (each[..., i, :] for i in range(each.shape[-2])))
        return total / functools.reduce(np.add, (masses[..., i, :] for i in range(masses.shape[-2])))


@batched("(8),(3),(8)->(6)")
def _weight(dq_IC, force_I, dq_BC):
    """Return the wrench at the origin of a body that is pulled at its centre of mass, whose axes are the body's."""
    force_B = quaternion.inverse_rotate(dq_IC[:4], force_I)
    return np.concatenate([cross(dual_quaternion.to_pose(dq_BC)[1], force_B), force_B])


@batched("(3),(3)->(6)")
def _moment(r_I, force_I):
    """Return a force at a place as a wrench about the origin."""
    return np.concatenate([cross(r_I, force_I), force_I])


@batched("(8),(6),(6,6)->(6)")
def _momentum(dq_IC, twist_C, M):
    return dual_quaternion.transform_wrench(dq_IC, spatial.momentum(M, twist_C))


def _passed(reactions: Array) -> Array:
    """Return how much torque and force the joints pass on, (trials, 2): rounding of the books is relative to it too."""
    each = np.stack([books.size(reactions[..., :3]), books.size(reactions[..., 3:])], axis=-1)
    return functools.reduce(np.add, (each[..., i, :] for i in range(each.shape[-2])), np.zeros((len(each), 2)))


@batched("(8),(6),(3)->(3)")
def _about(dq_IB, momentum_I, centre_I):
    """Return the angular momentum about a centre, body axes."""
    return quaternion.inverse_rotate(dq_IB[:4], momentum_I[:3] - cross(centre_I, momentum_I[3:]))


# Its part of a mission


class TreeStart(PoseStart):
    """How a trial begins: the base, and the joints, at rest."""

    joints_deg: tuple[float, ...] = ()
    """Coordinates of the joints in their order: angles in degrees, lengths in metres; none: all at zero."""
    joint_sigma_deg: NonNegative = 0.0
    """Beside them, one sigma of each angle."""

    def coordinates(self, tree: Tree, draws: Draws) -> Array:
        """Return the coordinates of each trial."""
        gamma = sections.coordinates(tree, self.joints_deg, "start.joints_deg")
        off = draws.vector("joints", np.radians(self.joint_sigma_deg), len(gamma))
        return gamma + np.where(sections.angular(tree), off, 0.0)


class TreePart(CraftPart):
    """A base with bodies on joints: an arm, panels, masses that swing; from tables or from a URDF file."""

    kind: Literal["tree"] = "tree"
    falls: ClassVar[bool] = True
    shaping: ClassVar[frozenset[str]] = frozenset({"posture_deg", "centre_m", "size_m"})
    mass_kg: Positive = 400.0
    """Of the base alone; a URDF file tells its own mass, inertia and centre."""
    J_kgm2: Inertia = ((220.0, 4.0, -3.0), (4.0, 210.0, 2.0), (-3.0, 2.0, 170.0))
    """Of the base alone, about its centre of mass."""
    J_error_percent: Percent = 0.0
    """By how much the base's true moments and axes are off, one sigma; flight software believes in J_kgm2."""
    mass_error_percent: Percent = 0.0
    """By how much the true mass of each body is off, one sigma, and with it the inertia of those on joints."""
    centre_m: Vector3 = (0.0, 0.0, 0.0)
    """The base's centre of mass from its origin."""
    size_m: Edges = (1.6, 1.6, 2.0)
    """Edges of the box that is drawn."""
    bodies: dict[str, sections.HungBody] = {}
    """What hangs on it; bodies stand after those they hang on."""
    spots: dict[str, sections.Spot] = {}
    """Places on the bodies, whose way is told."""
    urdf: str = ""
    """A URDF file in place of base and bodies, beside the mission's file."""
    posture_deg: tuple[float, ...] = ()
    """Joint coordinates at which flight software takes the whole craft for one rigid body; none: those of the start."""
    start: TreeStart = TreeStart()

    @field_validator("urdf")
    @classmethod
    def _beside_the_file(cls, path: str, info: ValidationInfo) -> str:
        beside = Path(info.context["directory"] if info.context else ".") / path
        return str(beside) if path and beside.is_file() else path

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.urdf and self.bodies:
            raise InputError("urdf and bodies are both given; keep one")
        return self

    def nominal(self) -> Tree:
        """Return the tree without errors."""
        return self._tree(None if self.urdf else np.array(self.J_kgm2), {})

    def _tree(self, J: Array | None, scales: Mapping[str, Array]) -> Tree:
        if self.urdf:
            from gnc.models.multibody import urdf

            return sections.scaled(urdf.load(self.urdf), J, scales, self.spots)
        mass = np.asarray(scales.get(sections.BASE, 1.0)) * self.mass_kg
        base = Body(sections.BASE, mass, J, np.array(self.centre_m))
        return sections.tree(base, self.bodies, self.spots, scales)

    def truth(self, site: Site) -> Craft:
        """Return the craft of each trial."""
        draws, n = site.draws, site.trials
        J = self.nominal().bodies[0].J_com if self.urdf else np.array(self.J_kgm2)
        if np.any(np.asarray(self.J_error_percent) > 0.0):
            J = draws.inertia("inertia", J, self.J_error_percent)
        scales = {}
        if np.any(np.asarray(self.mass_error_percent) > 0.0):
            names = (sections.BASE, *self.bodies) if not self.urdf else self.nominal().body_names
            scales = sections.scales(draws, names, self.mass_error_percent)
        tree = self._tree(J, scales)
        dq_IB, twist = self.start.draw(draws, site.others, site.sky)
        chi_B = spatial.shift_twist(twist, -np.array(self.centre_m))
        gamma = np.broadcast_to(self.start.coordinates(tree, draws), (n, tree.coordinates)).copy()
        effects = Effects.of(self.actuators, site)
        _check(tree, effects)
        loads = [part.truth(name, J, draws) for name, part in self.loads.items()]
        begin = TreeState(dq_IB, chi_B, gamma, np.zeros((n, tree.freedoms)))
        return TreeCraft(tree, site.sky, loads, effects, begin)

    def shapes(self, name: str) -> list[Shape]:
        """Return the boxes of base and bodies; those of a URDF file are not known."""
        moving = {key: body for key, body in self.bodies.items() if body.joint != sections.FIXED}
        hung = [Shape(key, body.size_m, f"{name}.{key}.q", f"{name}.{key}.r_m") for key, body in moving.items()]
        return [*super().shapes(name), *hung]

    def belief(self) -> Nominal:
        """Return the craft as one rigid body in its posture, and its tree."""
        tree = self.nominal()
        gamma = sections.coordinates(tree, self.posture_deg or self.start.joints_deg, "posture_deg")
        M = kinematics.momentum_matrix(tree, tree.state()._replace(gamma=gamma))[:, :6]
        return Nominal(spatial.parts(M)[2], M, tree=tree)


def _check(tree: Tree, effects: Effects) -> None:
    """Refuse motors in joints that are not there, or that move several ways."""
    single = {joint.name for joint in tree.joints if len(joint.type.free) == 1}
    for name, effector in zip(effects.names, effects.each, strict=True):
        for joint in getattr(effector, "joints", ()):
            if joint not in single:
                there = ", ".join(sorted(single)) or "none"
                raise InputError(f"actuators.{name}.joints: {joint!r} is no joint that a motor can move; {there} are")
