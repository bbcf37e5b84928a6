"""A site on the ground: where it is by astropy, how high the craft stands over it, and where the axis points."""

import numpy as np
import pytest
from astropy import units
from astropy.coordinates import EarthLocation
from astropy.time import Time
from astropy.utils import iers

from gnc import quaternion
from gnc.controllers.guidance.pointing import PointingPart
from gnc.errors import InputError
from gnc.models.orbits.base import Circular

PLACE = {"at": "site", "latitude_deg": 14.7, "longitude_deg": -17.4, "altitude_m": 100.0}


class Known:
    """What guidance asks for."""

    sky = Circular().sky(1.0, 600.0)


def test_the_axis_points_at_the_site_and_its_elevation_is_that_of_astropy():
    iers.conf.auto_download = False
    plan = PointingPart(**PLACE).build(Known)
    for t in (0.0, 251.5, 600.0):
        when = Time("2025-03-20T09:01:00", scale="utc") + t * units.s
        site_I = EarthLocation.from_geodetic(-17.4, 14.7, 100.0).get_gcrs_posvel(when)[0].xyz.to_value(units.m)
        r_I = Known.sky.at(t).r_I
        assert plan._sky.tabulated(plan._site, t).r_I == pytest.approx(site_I, abs=500.0)  # UT1 and polar motion
        sight = site_I - r_I
        axis = quaternion.rotate(plan.at(t).q_IR, np.array([0.0, 0.0, 1.0]))
        off = np.degrees(np.arccos(axis @ sight / np.linalg.norm(sight)))
        assert off < np.degrees(500.0 / np.linalg.norm(sight))
        up = np.degrees(np.arcsin(-sight @ site_I / np.linalg.norm(sight) / np.linalg.norm(site_I)))
        assert float(plan.asked("elevation_deg", t, None)) == pytest.approx(up, abs=0.01)


@pytest.mark.parametrize("wrong", [{"at": "site"}, {"at": "nadir", "latitude_deg": 1.0, "longitude_deg": 2.0}])
def test_a_site_has_a_place_and_nothing_else_has(wrong):
    with pytest.raises((InputError, ValueError), match="takes latitude_deg"):
        PointingPart(**wrong)
