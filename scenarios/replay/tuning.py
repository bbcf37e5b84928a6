"""Hints which noise is too small or too large, from innovations and from rest.

Of an honest filter the median of NIS is that of chi-square; r, the square root of their ratio, tells by how much the
innovations are larger than the filter expects. The median hardly feels outliers. Innovations that are too large and
correlated from one to the next say that the filter follows too slowly: its process (gyro, torque, acceleration) is
noisier than stated. Those that are too large and white say that the sensor is. A field whose length spreads much more
than its noise is disturbed, whatever the rest says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

NOTICEABLE = 1.15  # ratio of standard deviations from which a hint is given
SIGMAS = 3.0  # by which it has to exceed chance
DISTURBED = 3.0  # spread of a field's length over its noise
CORRELATED = 0.2  # of the first lag, from which the process is blamed

PROCESS = {
    "imu": "motion or field are rougher than the filter takes them for",
    "ins": "arw of the gyro or vrw of the accelerometer is too small",
    "gyro-mekf": "the gyro's arw or bias_walk is too small",
    "mekf": "filter.torque_psd is too small",
    "dqekf": "filter.wrench_psd is too small",
    "dqekf-kinematic": "filter.acceleration_psd is too small",
}


def hints(
    filter_kind: str,
    sensors: Mapping[str, Mapping[str, Any]],
    rest: Mapping[str, Mapping[str, Any]],
    spreads: Mapping[str, float] | None = None,
) -> list[str]:
    """Return sentences for the user, none if all is well."""
    said = []
    for name, found in sensors.items():
        spread = (spreads or {}).get(name, 0.0)
        if spread > DISTURBED and found.get("nis_median_ratio", 0.0) > 1.0:
            said.append(f"{name}: its length spreads {spread:.2g} times as much as its noise: it is disturbed; try imu")
        elif found.get("nis_median_ratio") is not None:
            said += _by_innovations(name, found, PROCESS[filter_kind], filter_kind != "imu")
    for name, found in rest.items():
        for level, (measured, stated) in found["levels"].items():
            said += _by_rest(name, level, measured, stated)
    return said


def _by_innovations(name: str, found: Mapping[str, Any], process: str, stated: bool) -> list[str]:
    ratio, first = float(np.sqrt(found["nis_median_ratio"])), found["correlation"][0]
    # Of n measurements chance moves the ratio by at most 0.9/sqrt(n), one sigma, and the correlation by 1/sqrt(n).
    chance = SIGMAS / np.sqrt(max(found["used"], 1))
    noticeable, correlated = max(NOTICEABLE, 1.0 + 0.9 * chance), max(CORRELATED, chance)
    if ratio > noticeable and first > correlated:
        return [
            f"{name}: innovations are {ratio:.2g} times as large as expected and correlated ({first:.2f}): {process}"
        ]
    if ratio > noticeable or (ratio < 1.0 / noticeable and stated):  # what is taken is cautious where a body turns fast
        size = "small" if ratio > 1.0 else "large"
        cause = f"its noise is {'stated' if stated else 'taken'} too {size}"
        return [f"{name}: innovations are {ratio:.2g} times as large as expected: {cause}"]
    if first > correlated:
        return [f"{name}: innovations are correlated ({first:.2f}): {process}, or the sensor has a bias"]
    return []


def _by_rest(name: str, level: str, measured: float, stated: float) -> list[str]:
    if not stated or not measured or 1.0 / NOTICEABLE < measured / stated < NOTICEABLE:
        return []
    size = "small" if measured > stated else "large"
    return [f"{name}: at rest {level} is {measured:.3g}, and {stated:.3g} is stated: too {size}"]
