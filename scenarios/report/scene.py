"""What the 3-D playback shows: boxes that move, arrows and cones attached to them, and the orbit around the Earth."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gnc import check
from gnc.errors import InputError
from gnc.scenarios.report.blocks import Array, samples, times


@dataclass(frozen=True)
class Body:
    """A box with axes; q_SB takes body components to the frame S of the scene, NaN hides the body."""

    name: str
    r: Array  # (T, 3) in the frame of the scene [m]; stored with seven digits, so choose a frame nearby
    q: Array  # (T, 4) scalar first
    size_m: Sequence[float] | Array  # (3) edges along the body axes
    colour: str = "#5b8def"

    def __post_init__(self) -> None:
        check.positive(f"size_m of {self.name!r}", check.vector(f"size_m of {self.name!r}", self.size_m, 3))
        check_colour(self.name, self.colour)


@dataclass(frozen=True)
class Arrow:
    """A vector drawn at a body, its longest sample at a length that is easy to see; the unit is part of the name."""

    name: str
    body: str
    vector: Array  # (T, 3) in the frame of the scene
    colour: str = "#f2a33a"

    def __post_init__(self) -> None:
        check_colour(self.name, self.colour)


@dataclass(frozen=True)
class Cone:
    """A cone fixed to a body: a field of view, or a corridor; it opens along an axis of that body."""

    name: str
    body: str
    apex_B: tuple[float, ...]  # (3) from the origin of the body [m]
    axis_B: tuple[float, ...]  # (3)
    angle_deg: float
    length_m: float = 0.0  # 0: as long as is easy to see
    radius_m: float = 0.0  # at the apex
    colour: str = "#1aa179"


@dataclass(frozen=True)
class Orbit:
    """Where in the orbit it happens, drawn small beside the scene in the same axes."""

    r: Array  # (T, 3) from the centre of the Earth, inertial [radii of the Earth]
    sun: Array  # (T, 3)


@dataclass(frozen=True)
class Scene:
    """Bodies, arrows and cones over one time axis."""

    t: Array  # (T,) increasing [s]
    bodies: Sequence[Body]
    arrows: Sequence[Arrow] = ()
    trails: bool = True
    caption: str = ""
    cones: Sequence[Cone] = ()
    orbit: Orbit | None = None

    def __post_init__(self) -> None:
        n = times("t of the scene", self.t, at_least=2).size
        names = [body.name for body in self.bodies]
        if not names or len(set(names)) < len(names):
            raise InputError(f"bodies of the scene: {names}; give one or more, each with a name of its own")
        for body in self.bodies:
            samples(f"r of {body.name!r}", body.r, (n, 3))
            samples(f"q of {body.name!r}", body.q, (n, 4))
        for cone in self.cones:
            check.one_of(f"body of cone {cone.name!r}", cone.body, tuple(names))
            check_colour(cone.name, cone.colour)
        for arrow in self.arrows:
            samples(f"vector of {arrow.name!r}", arrow.vector, (n, 3))
            check.one_of(f"body of arrow {arrow.name!r}", arrow.body, tuple(names))


def check_colour(name: str, colour: str) -> None:
    """Refuse what is not a colour of six hexadecimal digits."""
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", colour):
        raise InputError(f"colour of {name!r}: {colour!r} is not a colour; write it as '#5b8def'")
