"""The problem of a study, from the options of a command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gnc import check
from gnc.errors import InputError
from gnc.scenarios.study.attitude import Tumble


def numbers(option: str, text: str, counts: tuple[int, ...] = ()) -> list[float]:
    """Read numbers with commas between, 1/3 too; `counts` tells how many there may be."""
    try:
        values = [check.number(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option}: expected numbers with commas between, got {text!r}") from None
    if counts and len(values) not in counts:
        raise InputError(f"{option}: expected {' or '.join(map(str, counts))} numbers, got {len(values)}")
    return values


def sigma_deg(in_deg: float | None, in_arcsec: float | None, default: float) -> float:
    """Return the noise of a sensor, given in one unit or in the other."""
    if in_deg is not None and in_arcsec is not None:
        raise InputError("--sigma-deg, --sigma-arcsec: give one of them")
    sigma = in_deg if in_deg is not None else default if in_arcsec is None else in_arcsec / 3600.0
    if not sigma > 0.0:
        raise InputError(f"--sigma-deg: expected a number > 0, got {sigma:g}")
    return sigma


def inertia(text: str) -> Any:
    """Read an inertia: three moments, or xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, *products = numbers("--inertia", text, (3, 6))
    xy, xz, yz = products or (0.0, 0.0, 0.0)
    J = check.inertia("--inertia", np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    return tuple(map(tuple, J.tolist()))


def vectors(text: str) -> Any:
    """Read measured directions: three numbers each, semicolons between; they are normalised."""
    rows = [numbers("--vectors", part, (3,)) for part in text.split(";")]
    lengths = np.linalg.norm(rows, axis=1)
    if len(rows) < 2 or not (lengths > 0.0).all() or np.linalg.matrix_rank(rows) < 2:
        raise InputError(f"--vectors: expected two directions or more that are not parallel, got {text!r}")
    return tuple(map(tuple, (np.array(rows) / lengths[:, None]).tolist()))


def random_bodies(problem: Tumble, count: int, seed: int) -> Iterator[Tumble]:
    """Draw bodies, physical inertias in random axes, and axes of tumble; the speed stays."""
    rng = np.random.default_rng([seed, 21])
    for _ in range(count):
        masses = rng.uniform(0.1, 1.0, 3)
        axes, axis = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
        J = 3.0 * axes @ np.diag(masses.sum() - masses) @ axes.T / masses.sum()
        w = np.degrees(problem.rate_rad_s) * axis / np.linalg.norm(axis)
        yield replace(problem, J=tuple(map(tuple, (0.5 * (J + J.T)).tolist())), w0_deg_s=tuple(w.tolist()))
