"""Entry and exit against a fine search of the shadow itself, and the textbook's duration."""

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.models.environment import (
    Dipole,
    EnvironmentTable,
    KeplerOrbit,
    crossings,
    shadow_cone,
    shadow_cylinder,
    sun_position,
)
from gnc.models.environment.constants import EARTH_RADIUS

ORBIT = KeplerOrbit(6.878e6, 0.001, np.radians(97.4), np.radians(22.5))
DAY = 86400.0


def shadow_at(t, shadow=shadow_cone):
    return shadow(ORBIT.at(t).r_I, sun_position(ORBIT.epoch, t))


@pytest.mark.parametrize(
    ("edge", "dark"),
    [
        ("penumbra", lambda t: shadow_at(t) > 0.0),
        ("umbra", lambda t: shadow_at(t) >= 1.0),
        ("cylinder", lambda t: shadow_at(t, shadow_cylinder) > 0.5),
    ],
)
@pytest.mark.jit
def test_entry_and_exit_are_those_of_a_fine_search(edge, dark):
    entries, exits = crossings(ORBIT, 0.0, 11000.0, edge)
    assert len(entries) == len(exits) == 2
    coarse = np.arange(0.0, 11000.0, 1.0)
    changes = coarse[:-1][np.diff(dark(coarse).astype(int)) != 0]
    for start, crossing in zip(changes, np.sort(np.concatenate([entries, exits])), strict=True):
        fine = start + np.linspace(0.0, 1.0, 2001)
        found = fine[:-1][np.diff(dark(fine).astype(int)) != 0]
        assert crossing == pytest.approx(found[0], abs=1e-3)
    assert np.all(dark(entries + 1e-3)) and not np.any(dark(entries - 1e-3))
    assert not np.any(dark(exits + 1e-3)) and np.all(dark(exits - 1e-3))


@pytest.mark.jit
def test_penumbra_cylinder_and_umbra_lie_within_each_other():
    (p_in, p_out), (c_in, c_out), (u_in, u_out) = (
        crossings(ORBIT, 0.0, DAY, edge) for edge in ("penumbra", "cylinder", "umbra")
    )
    assert np.all((p_in < c_in) & (c_in < u_in)) and np.all((u_out < c_out) & (c_out < p_out))
    assert np.all((u_in - p_in > 5.0) & (u_in - p_in < 15.0))  # the Sun's half a degree at a degree in 15 s, aslant


@pytest.mark.parametrize("raan_deg", [0.0, 22.5, 45.0, 60.0])
@pytest.mark.jit
def test_a_circular_orbit_is_dark_as_long_as_its_sun_angle_says(raan_deg):
    """Wertz, Spacecraft Attitude Determination and Control, eq. (3-34): cylinder, the Sun at rest."""
    radius = 6.878e6
    orbit = KeplerOrbit(radius, 0.0, np.radians(97.4), np.radians(raan_deg), J2=0.0)
    entries, exits = crossings(orbit, 0.0, 4 * float(orbit.period), "cylinder")
    entry = entries[0]
    exit_ = exits[exits > entry][0]
    r, v = orbit.at(entry)
    normal = np.cross(r, v) / np.linalg.norm(np.cross(r, v))
    sun = sun_position(orbit.epoch, entry)
    cos_beta = np.sqrt(1.0 - (normal @ sun / np.linalg.norm(sun)) ** 2)
    half = np.arccos(np.sqrt(radius**2 - EARTH_RADIUS**2) / (radius * cos_beta))
    assert exit_ - entry == pytest.approx(float(orbit.period) * half / np.pi, abs=1.0)


@pytest.mark.jit
def test_an_orbit_along_the_terminator_has_no_shadow_and_the_start_may_lie_in_it():
    dawn_dusk = KeplerOrbit(7.9e6, 0.0, np.radians(90.0), np.radians(90.0))
    assert all(len(times) == 0 for times in crossings(dawn_dusk, 0.0, 20000.0))
    entries, exits = crossings(ORBIT, 0.0, 11000.0)
    inside = 0.5 * (entries[0] + exits[0])
    later = crossings(ORBIT, inside, 11000.0)
    assert later.exits[0] == pytest.approx(exits[0], abs=1e-5)
    assert later.entries[0] == pytest.approx(entries[1], abs=1e-5)


@pytest.mark.parametrize("name", ["cone", "cylinder"])
@pytest.mark.jit
def test_a_table_is_dark_at_the_same_times(name):
    table = EnvironmentTable.along(ORBIT, 11000.0, Dipole(), shadow=name)
    entries, exits = crossings(ORBIT, 0.0, 11000.0, "umbra" if name == "cone" else "cylinder")
    assert np.all(table.at(entries + 0.01).shadow == 1.0) and np.all(table.at(entries - 0.01).shadow < 1.0)
    assert np.all(table.at(exits - 0.01).shadow == 1.0) and np.all(table.at(exits + 0.01).shadow < 1.0)


@pytest.mark.parametrize("edge", ["penumbra", "umbra", "cylinder"])
def test_a_short_search_finds_what_a_long_one_does(edge):
    long, short = crossings(ORBIT, 1500.0, 2000.0, edge), crossings(ORBIT, 1800.0, 1900.0, edge)
    assert len(short.entries) == 1 and len(short.exits) == 0
    assert short.entries[0] == pytest.approx(long.entries[0], abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 100.0, "twilight"), "edge: 'twilight' is unknown; give one of penumbra, umbra, cylinder"),
        ((100.0, 100.0), "t_end: 100 s is not after t_start, 100 s"),
        ((0.0, np.nan), "t_end: nan is not finite"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        crossings(ORBIT, *arguments)
