"""The Sun: where it is, and how much of it the Earth hides; and the Moon.

Shadow is the hidden fraction of the Sun's disc: 0 in sunlight, 1 in the umbra. The Earth is a sphere of its equatorial
radius, without atmosphere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnc.batch import batched, minimum, where
from gnc.linalg import cross
from gnc.models.environment.constants import ASTRONOMICAL_UNIT, DAY, EARTH_RADIUS, LIGHT_SPEED, SUN_RADIUS
from gnc.models.environment.epoch import Epoch
from gnc.models.environment.spline import cubic, evaluated
from gnc.typing import Array

AU_PER_DAY = ASTRONOMICAL_UNIT / DAY  # [m/s]
MOON_KNOT_S = 3600.0
UNDER_GROUND = 1.0 - 1e-9  # sine of the Earth's radius there, where nothing flies: short of infinity


def sun_position(epoch: Epoch, t: Any) -> Array:
    """Return the apparent geocentric position of the Sun (..., 3), inertial axes (GCRS) [m].

    The direction has the annual aberration (20 arcsec), as everything that sees the Sun or its light has. Source: ERFA
    epv00 (VSOP2000), within 11 m/s and 14 000 km (0.02 arcsec) from 1900 to 2100, and ab.
    """
    import erfa

    heliocentric, barycentric = erfa.epv00(*epoch.tt(t))
    to_sun = -heliocentric["p"]
    distance = np.sqrt(np.sum(to_sun**2, axis=-1))
    beta = barycentric["v"] * (AU_PER_DAY / LIGHT_SPEED)
    inverse_lorentz = np.sqrt(1.0 - np.sum(beta**2, axis=-1))
    apparent = erfa.ab(to_sun / distance[..., None], beta, distance, inverse_lorentz)
    return (ASTRONOMICAL_UNIT * distance)[..., None] * apparent


def moon_direction(epoch: Epoch, t: Any, r_I: Array) -> Array:
    """Return the unit vectors (times, 3) from r_I to the Moon, between knots a cubic of time. Source: ERFA moon98."""
    import erfa

    few = np.linspace(t[0], t[-1] + 1.0, 4 + int((t[-1] - t[0]) / MOON_KNOT_S))
    to_moon = ASTRONOMICAL_UNIT * evaluated(few, cubic(few, erfa.moon98(*epoch.tt(few))["p"]), t) - r_I
    return to_moon / np.linalg.norm(to_moon, axis=-1, keepdims=True)


def _length(v):
    return np.sqrt(v @ v)


@batched("(3),(3)->(),(),()")
def discs(r_I, sun_position_I):
    """Return how the discs of Sun and Earth appear from r.

    Sine of the Sun's radius; sine of the gap from the limb of the Earth to the Sun's centre, negative behind the limb;
    tangent of the Earth's radius.
    """
    to_sun = sun_position_I - r_I
    distance, radius = _length(to_sun), _length(r_I)
    earth = minimum(EARTH_RADIUS / radius, UNDER_GROUND)
    cos_earth = np.sqrt(1.0 - earth * earth)
    scale = 1.0 / (distance * radius)
    sine, cosine = scale * _length(cross(r_I, to_sun)), -scale * (r_I @ to_sun)  # of the angle between the centres
    above = cosine * cos_earth + sine * earth <= 0.0  # the limb is more than 90 degrees away
    return SUN_RADIUS / distance, where(above, 1.0, sine * cos_earth - cosine * earth), earth / cos_earth


@batched("(3),(3)->()")
def shadow_cone(r_I, sun_position_I):
    """Return the fraction of the Sun's disc that the Earth covers: umbra and penumbra, within the tip of the umbra.

    In the plane of the Sun's disc, of radius a, the limb is an arc of radius b = tan(the Earth's radius) about a point
    c = b + gap away; the shared area is a^2 arccos(x/a) + b^2 arccos((c - x)/b) - c y.
    Source: Montenbruck and Gill, Satellite Orbits, 2000, eqs. (3.85) to (3.94), with b itself in place of its tangent.
    """
    a, gap, b = discs(r_I, sun_position_I)
    partly = abs(gap) < a
    near = where(partly, gap, 0.0)
    c = b + near
    x = (near * (b + c) + a * a) / (2.0 * c)
    y = np.sqrt(a * a - x * x)
    area = a * a * np.arctan2(y, x) + b * b * np.arctan2(y, c - x) - c * y
    return where(partly, area / (math.pi * a * a), _dark(gap))


def _dark(outside):
    """Return 1 where a number is negative, 0 where it is not, and NaN for NaN."""
    return where(outside < 0.0, 1.0, where(outside >= 0.0, 0.0, outside))
