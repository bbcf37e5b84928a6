"""What names of columns tell: groups of axes, quantities, units, stamps.

`Gyroscope X (deg/s)`, `w_RS_S_x [rad s^-1]`, `gyr_0`, `imu_gyr[0]`, `omega_x_rad_s`, and x, y, z of a table `Gyroscope`
are all axes of a gyro. Columns of one quantity differ in their axis only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

TIME = re.compile(
    r"t|utc|date_?time|(utc|gps)_?time|time_?utc|time|ts|stamp|timestamp|epoch|seconds|secs|(seconds|time|t)_?elapsed|elapsed(_time)?",
    re.I,
)
LOGGED = re.compile(r"(log|publish|receive|received)_?time", re.I)  # when it was written: if there is no better
RATE = re.compile(r"(sampling|sample|data)?_?(rate|freq|frequency)(_hz)?|fs(_hz)?|f_s", re.I)
MASK = re.compile(r"movement|moving|moves", re.I)
TRUTH = re.compile(r"tru|ref|opt|gt|ground|vicon|mocap|rigid", re.I)
BRACKETS = re.compile(r"\s*[\[(]\s*([^\d\])][^\])]*)?[\])]\s*$")
AXIS = re.compile(r"([_ ]?\[\d+\]|[_ .]?\d|[_ .-]?[wxyz]|(?<=q)[cs]|[_.](?:[enud]|east|north|up|down))$", re.I)
INNER_AXIS = re.compile(r"_[wxyz](?=_)", re.I)  # before a unit
ALIASES = {  # of units, without blanks and hats
    "rad/s": "rad/s rads-1 rad_s radians/s radian/s rad/sec rps",
    "deg/s": "deg/s degs-1 deg_s dps °/s degrees/s deg/sec",
    "m/s^2": "m/s2 ms-2 m_s2 ms2 mps2 m/s/s m/s²",
    "mdps": "mdps",
    "g": "g gs gee", "mg": "mg milli-g", "uT": "ut µt μt microtesla microteslas", "nT": "nt nanotesla", "T": "t tesla",
    "mG": "mg mgauss milligauss", "G": "gauss g gs", "m": "m meter meters metre metres", "m/s": "m/s ms-1 m_s mps",
}  # fmt: skip
SECONDS = {"s": "s sec secs second seconds", "ms": "ms msec", "us": "us µs usec", "ns": "ns nsec"}
SUFFIX = re.compile(r"_(deg_s|dps|rad_s|m_s2|ms2|mps2|nt|ut|mg|mdps|gauss|m_s|mps|m|s|ms|us|ns)$", re.I)
KINDS: tuple[tuple[str, str, tuple[tuple[str, float, float], ...]], ...] = (
    # by words of the name without its axis, then by the usual length of the vector: unit, lowest, highest
    ("", r"bias|b_[aw](_|$)|user", ()),  # nothing that a sensor says
    ("gyro", r"gyr|omega|angular|rate|rotation|(^|[_. ])[gw]($|_rs)",
     (("rad/s", 0.0, 20.0), ("deg/s", 20.0, 3e3), ("mdps", 3e3, 3e6))),
    ("accelerometer", r"acc|force|(^|[_. ])a($|_rs)", (("m/s^2", 4.0, 60.0), ("g", 0.4, 4.0), ("mg", 600.0, 6e3))),
    ("magnetometer", r"mag|field|(^|[_. ])[bm]$",
     (("uT", 15.0, 80.0), ("nT", 1.5e4, 8e4), ("T", 1.5e-5, 8e-5), ("G", 0.15, 1.5), ("mG", 150.0, 800.0))),
    ("vector", r"sun|css|horizon|nadir|star_vector", (("", 0.0, 1e9),)),
    ("velocity", r"vel|(^|[_. ])v($|_rs)", (("m/s", 0.0, 2e4),)),
    ("position", r"^$|pos|gnss|gps|trans|(^|[_. ])[pr]($|_rs)", (("m", 0.0, 1e9),)),
)  # fmt: skip
BODY = r"(^|[_. ])(b|body|meas|measured|sensor)($|[_. ])"
WORLD = r"(^|[_. ])(i|eci|inertial|ref|reference|model|n)($|[_. ])"
GEODETIC = (r"lat(itude)?", r"(lon|lng)(gitude)?", r"(alt(itude)?|height|elevation|hmsl)")


class Name(NamedTuple):
    """The parts of a column's name."""

    stem: str
    axis: str
    unit: str  # as it is written

    @property
    def time_unit(self) -> str | None:
        """Return the unit of stamps, if the name has one."""
        return next((unit for unit, names in SECONDS.items() if self.unit in names.split()), None)


@dataclass(frozen=True)
class Group:
    """Columns of one quantity, in order of their axes."""

    stem: str
    columns: list[str]
    kind: str
    unit: str  # as it is written
    order: str = "wxyz"  # of a quaternion


def parsed(name: str) -> Name:
    """Take a name apart."""
    text, unit = name.strip().lstrip("#").strip(), ""
    if found := BRACKETS.search(text):
        text, unit = text[: found.start()], re.sub(r"[\s^·*]", "", found[1] or "").lower()
    axis = AXIS.search(text) or INNER_AXIS.search(text)
    stem = text if axis is None else text[: axis.start()] + text[axis.end() :]
    if not unit and (found := SUFFIX.search(stem)):
        stem, unit = stem[: found.start()], found[1].lower()
    return Name(stem.strip(" _.").lower(), "" if axis is None else axis[0].strip("[]_. -").lower(), unit)


def time_column(columns: Sequence[str]) -> str | None:
    """Return the column of stamps: the first that is called so; a plain one before one with an axis' letter."""
    texts = [SUFFIX.sub("", BRACKETS.sub("", name.strip().lstrip("#").strip())) for name in columns]
    found = (n for way in (TIME, LOGGED) for n, text in zip(columns, texts, strict=True) if way.fullmatch(text))
    return next(found, None)


def rate_of(scalars: Mapping[str, float]) -> float | None:
    """Return the rate of rows that a log states beside its columns."""
    return next((float(value) for name, value in scalars.items() if RATE.fullmatch(name) and value > 0.0), None)


def groups(columns: Sequence[str], title: str) -> list[Group]:
    """Return columns that differ in their axis only; a table's title tells what names do not."""
    together: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name in columns:
        stem, axis, unit = parsed(name)
        if axis:
            together.setdefault((stem, unit), []).append((axis, name))
    found = [_group(stem, unit, members, title) for (stem, unit), members in together.items() if len(members) in (3, 4)]
    where = [next((c for c in columns if re.search(rf"(^|[_. ]){p}$", parsed(c).stem)), None) for p in GEODETIC]
    if None not in where:
        found.append(Group("geodetic", [str(c) for c in where], "geodetic", ""))
    return found


def _group(stem: str, unit: str, members: list[tuple[str, str]], title: str) -> Group:
    """Put columns into the order of their axes: x, y, z, with a scalar where it is, or as they are numbered."""
    letters = all(axis in "wxyzcs" for axis, _ in members)
    last = letters and members[-1][0] in "wcs"
    ranks = "xyzwcs" if last else "wcsxyz"
    ordered = members
    if letters or all(axis.isdigit() for axis, _ in members):
        ordered = sorted(members, key=lambda m: ranks.index(m[0]) if letters else int(m[0]))
    names, kind = [name for _, name in ordered], ""
    if len(names) == 3:
        kind = next((k for k, words, _ in KINDS if re.search(words, stem) and (stem or k != "position")), "?")
        if kind == "?":
            kind = next((k for k, words, _ in KINDS if re.search(words, title.lower() if title else stem)), "")
    last = last or ordered[0][0] == "1"  # q1 to q4 have the scalar at the end by custom, q0 to q3 at the front
    return Group(stem, names, kind, unit, "xyzw" if last else "wxyz")


def unit_of(group: Group, length: float) -> str | None:
    """Return the unit that the name states, or that makes a vector of such a length likely; None if none does."""
    units = next((units for kind, _, units in KINDS if kind == group.kind), ())
    for unit, _, _ in units:
        if group.unit and group.unit in ALIASES.get(unit, "").split():
            return unit
    return next((unit for unit, low, high in units if low <= length < high), None)


def vectors(guesses: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return directions in body axes with the columns of the same in inertial axes."""
    found, guesses = [], [g for g in guesses if g["kind"] in ("vector", "magnetometer")]
    for body in guesses:
        stem = re.sub(BODY, "", body["stem"])
        worlds = [g for g in guesses if re.search(WORLD, g["stem"]) and re.sub(WORLD, "", g["stem"]) == stem]
        if worlds and body not in worlds:
            found.append(body | {"kind": "vector", "reference": worlds[0]["columns"]})
    return found
