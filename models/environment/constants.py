"""Numbers of the Earth and the Sun, SI.

Sources: WGS 84 (radius, flattening, rate), EGM2008 (mu, J2), IAU 2012 resolution B2 (astronomical unit), IAU 2015
resolution B3 (radius of the Sun), Kopp and Lean 2011 (total irradiance 1361 W/m^2).
"""

import math

DAY = 86400.0  # [s]

EARTH_MU = 3.986004418e14  # [m^3/s^2]
EARTH_RADIUS = 6378137.0  # equatorial [m]
EARTH_FLATTENING = 1.0 / 298.257223563
EARTH_J2 = 1.08262668e-3
EARTH_RATE = 7.292115e-5  # [rad/s]
TROPICAL_YEAR = 365.24219 * DAY  # [s]

ASTRONOMICAL_UNIT = 149597870700.0  # [m]
SUN_RADIUS = 6.957e8  # [m]
LIGHT_SPEED = 299792458.0  # [m/s]
SOLAR_PRESSURE = 1361.0 / LIGHT_SPEED  # on a black plate at one astronomical unit [N/m^2]

SUN_SYNCHRONOUS_RATE = 2.0 * math.pi / TROPICAL_YEAR  # of the mean Sun [rad/s]
