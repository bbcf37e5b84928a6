"""Pointing as a part of a mission: at the Earth, the Sun, along the orbit, at a site on the ground."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gnc.batch import batched
from gnc.config import Vector3
from gnc.controllers.guidance.base import GuidancePart, Plan
from gnc.controllers.pointing import Pointing, Target, site, towards
from gnc.controllers.reference import AttitudeReference
from gnc.errors import InputError
from gnc.models.known import Known
from gnc.typing import Array

Where = Literal["nadir", "sun", "velocity", "orbit normal", "site"]
WGS84 = 1  # the ellipsoid, as erfa counts


class PointingPlan(Plan):
    """The reference of a pointing along the orbit."""

    def __init__(self, pointing: Pointing, sky: Any, site: Target | None = None) -> None:
        self._pointing, self._sky, self._site = pointing, sky, site
        self.words: Sequence[str] = () if site is None else ("elevation_deg",)

    def at(self, t: Any) -> AttitudeReference:
        """Return the reference."""
        env = self._sky.at(t)
        if self._site is None:
            return self._pointing.reference(env)
        return self._pointing.reference(env, towards(env, self._sky.tabulated(self._site, t)))

    def asked(self, word: str, t: Any, estimate: Any) -> Array:
        """Return how high the craft stands over the horizon of the site [deg]."""
        return _elevation(self._sky.at(t).r_I, self._sky.tabulated(self._site, t).r_I)


@batched("(3),(3)->()")
def _elevation(r_I, site_I):
    """Return the angle of the line of sight over the plane across the site's radius [deg]."""
    sight = r_I - site_I
    sine = sight @ site_I / np.sqrt((sight @ sight) * (site_I @ site_I))
    return np.arcsin(sine) * (180.0 / np.pi)


class PointingPart(GuidancePart):
    """One body axis to a direction, a second as near as can be to another."""

    kind: Literal["pointing"] = "pointing"
    needs_orbit: ClassVar[bool] = True
    axis_B: Vector3 = (0.0, 0.0, 1.0)
    """Body axis that points."""
    at: Where = "nadir"
    roll_axis_B: Vector3 = (0.0, 1.0, 0.0)
    """Body axis that is turned about it."""
    roll: Where = "orbit normal"
    """Where to, as near as can be."""
    latitude_deg: Annotated[float, Field(ge=-90, le=90)] | None = None
    """Of the site, geodetic."""
    longitude_deg: Annotated[float, Field(ge=-360, le=360)] | None = None
    """Of the site, to the East."""
    altitude_m: float = 0.0
    """Of the site over the ellipsoid."""

    @model_validator(mode="after")
    def _placed(self) -> Self:
        given = self.latitude_deg is not None and self.longitude_deg is not None
        if ("site" in (self.at, self.roll)) != given:
            raise InputError('at = "site" takes latitude_deg and longitude_deg, and nothing else does')
        return self

    def build(self, known: Known) -> PointingPlan:
        """Return the guidance."""
        at, roll = ("target" if one == "site" else one for one in (self.at, self.roll))
        pointing = Pointing(axis_B=self.axis_B, at=at, roll_axis_B=self.roll_axis_B, roll=roll)
        return PointingPlan(pointing, known.sky, None if self.latitude_deg is None else self._site(known.sky))

    def _site(self, sky: Any) -> Target:
        """Return where the site is at every half tick."""
        import erfa

        if sky.epoch is None:
            raise InputError("at = 'site': the orbit has no epoch, by which the Earth turns")
        r_E = erfa.gd2gc(
            WGS84, np.radians(self.longitude_deg or 0.0), np.radians(self.latitude_deg or 0.0), self.altitude_m
        )
        return site(sky.epoch, sky.h * np.arange(len(sky.rows.density)), r_E)
