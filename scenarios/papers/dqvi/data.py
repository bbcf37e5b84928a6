"""Mass and inertia of spacecraft and cargo, about the point where they part: as printed, and made consistent.

The printed data are no rigid body's. The whole has the principal moments 132.5, 246.1, 521.4 kg m^2, which violate the
triangle inequality, and what remains of it without the cargo is not even positive definite: its kinetic energy is
negative. The consistent data keep cargo, masses and centres of mass, and give the spacecraft an inertia of its own.
Source: DQVI section V; spec/pose.md, "The paper's data are unphysical".

The settings of the flights before parting.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnc.models.pose_body import PoseBody, PoseState

Array = NDArray[np.float64]

MASS, CARGO_MASS = 1000.0, 400.0  # [kg]
R_G, CARGO_R_G = (
    np.array([1.0, 0.8, 0.5]),
    np.array([-0.3, -0.1, -0.1]),
)  # centres of mass from the separation point [m]
PRINTED_J = np.array([[200.0, 100.0, 100.0], [100.0, 300.0, 100.0], [100.0, 100.0, 400.0]])  # of the whole [kg m^2]
CARGO_J = np.array([[100.0, 20.0, 20.0], [20.0, 100.0, 20.0], [20.0, 20.0, 100.0]])
CRAFT_J = np.array(
    [[300.0, 50.0, 40.0], [50.0, 350.0, 30.0], [40.0, 30.0, 400.0]]
)  # replaces what is left of PRINTED_J

DATA = ("paper", "consistent")  # the order in which `both` stacks them
TITLES = {"paper": "paper's data (unphysical)", "consistent": "consistent data"}
BOTH = f"{TITLES['paper']} and {TITLES['consistent']}"
UNPHYSICAL = (
    "metrics that begin with paper_ belong to data that no rigid body has: the principal moments of the whole, "
    "132.5, 246.1, 521.4 kg m^2, violate the triangle inequality; they are used by explicit opt-in"
)


def whole(data: str, **options: Any) -> PoseBody:
    """Spacecraft and cargo as one body; options are those of `PoseBody`, by default plain steps of second order."""
    options = {"order": 2, "substeps": False, **options}
    if data == "paper":
        return PoseBody.of(MASS, R_G, PRINTED_J, allow_unphysical=True, **options)
    r_craft = (MASS * R_G - CARGO_MASS * CARGO_R_G) / (MASS - CARGO_MASS)
    craft = PoseBody.of(MASS - CARGO_MASS, r_craft, CRAFT_J)
    return PoseBody(craft.M + cargo().M, **options)


def cargo(**options: Any) -> PoseBody:
    """The cargo, the same in both sets of data."""
    return PoseBody.of(CARGO_MASS, CARGO_R_G, CARGO_J, **{"order": 2, "substeps": False, **options})


def both(**options: Any) -> PoseBody:
    """Both sets of data as two trials of one body."""
    M = np.stack([whole(data).M for data in DATA])
    return PoseBody(M, allow_unphysical=True, **{"order": 2, "substeps": False, **options})


def start(w_B: Sequence[float], velocity: Sequence[float] = (0.0, 0.0, 0.0)) -> PoseState:
    """Separation point at the origin, axes aligned, a rate and a velocity of the centre of mass."""
    w = np.asarray(w_B, dtype=float)
    return PoseState(np.eye(8)[0], np.concatenate([w, np.asarray(velocity) - np.cross(w, R_G)]))


class Setting(NamedTuple):
    """One of the paper's settings: rate, frames per second, duration."""

    w_B: tuple[float, float, float]
    fps: int
    seconds: int = 240
    keep: int = 1  # every so many frames
    order4_fps: int = 0  # frames per second of the fourth order; 0: as the others
    reference_fps: int = 1920

    @property
    def name(self) -> str:
        """The paper's name of the rate, and the frames."""
        return f"{''.join(f'{w:g}' for w in self.w_B)} at {self.fps} fps"

    @property
    def round_off_m(self) -> float:
        """What round-off may make of the centre of mass: the momentum walks at random, its integral as time^1.5."""
        return 5e-11 * (self.seconds / 240) ** 1.5

    @property
    def t(self) -> Array:
        """The kept times [s]."""
        return np.arange(0, self.seconds * self.fps + 1, self.keep) / self.fps


SLOW = Setting((1.0, 1.0, 1.0), fps=10)
FAST = Setting((1.0, 1.0, 1.0), fps=60, keep=2)
QUICK = Setting((3.0, 3.0, 3.0), fps=60, keep=2)
LOCKING = Setting((3.0, 2.0, 1.0), fps=60, keep=2)
# 12 fps of the fourth order take as many solutions of the equation as 60 fps of the second.
LONG = Setting((1.0, 1.0, 1.0), fps=60, seconds=10_800, keep=120, order4_fps=12, reference_fps=480)
