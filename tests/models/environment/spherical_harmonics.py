"""An evaluation of Gauss coefficients of its own: the potential by SciPy's Legendre functions, differentiated."""

import math
from pathlib import Path

import numpy as np
import ppigrf
from scipy.special import lpmv

RADIUS = 6371.2e3


def coefficients(model, year):
    """Read the Gauss coefficients of a year, linear between the file's epochs; m < 0 are those of the sines."""
    lines = (Path(ppigrf.__file__).parent / f"{model}.shc").read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    years = np.array(rows[1], float)
    return {(int(row[0]), int(row[1])): np.interp(year, years, np.array(row[2:], float)) for row in rows[2:]}


def potential(gauss, r):
    """Return V = a sum (a/r)^(n+1) P_nm (g cos + h sin), Schmidt's normalisation, at points (..., 3) [nT m]."""
    radius, longitude = np.linalg.norm(r, axis=-1), np.arctan2(r[..., 1], r[..., 0])
    total = np.zeros(radius.shape)
    for (n, m), value in gauss.items():
        order = abs(m)
        schmidt = math.sqrt((2 - (order == 0)) * math.factorial(n - order) / math.factorial(n + order))
        legendre = (-1) ** order * schmidt * lpmv(order, n, r[..., 2] / radius)
        wave = np.sin(order * longitude) if m < 0 else np.cos(order * longitude)
        total += value * legendre * wave * (RADIUS / radius) ** (n + 1)
    return RADIUS * total


def field(gauss, r, h=4e3):
    """Return B = -grad V by differences of sixth order [nT]."""
    weights = ((1, 0.75), (2, -0.15), (3, 1 / 60))
    return -np.stack(
        [
            sum(w * (potential(gauss, r + k * h * e) - potential(gauss, r - k * h * e)) for k, w in weights) / h
            for e in np.eye(3)
        ],
        axis=-1,
    )
