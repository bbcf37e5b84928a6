"""Frames against astropy, the full IAU 2006 model, and Vallado's example."""

import socket

import astropy.units as u
import erfa
import numpy as np
import pytest
from astropy.coordinates import GCRS, ITRS, TEME, CartesianDifferential, CartesianRepresentation
from astropy.time import Time
from astropy.utils import iers

from gnc.models.environment import EnvironmentTable, Epoch, KeplerOrbit, TleOrbit
from gnc.models.environment.epoch import inertial_to_earth, teme_to_inertial, turn

EPOCHS = [Epoch(f"{year}-0{month}-01") for year in range(2006, 2026) for month in (2, 8)]
T = 41234.5
UT1_RATE = 7.292115e-5


@pytest.fixture(autouse=True)
def offline_astropy():
    with iers.conf.set_temp("auto_download", False), iers.conf.set_temp("auto_max_age", None):
        yield


def angle(A, B):
    """Return the angle of the rotation between matrices, by their largest difference."""
    return np.abs(A - B).max()


def astropy_time(epochs):
    return Time([epoch.utc.replace(tzinfo=None) for epoch in epochs], scale="utc").tai + T * u.s


def test_earth_axes_agree_with_the_full_iau_2006_model_to_two_milliarcseconds():
    for epoch in EPOCHS:
        full = erfa.c2t06a(*epoch.tt(T), *epoch.ut1(T), 0.0, 0.0)
        assert angle(inertial_to_earth(epoch, T), full) < np.radians(2e-3 / 3600)


def test_earth_axes_agree_with_astropy_up_to_ut1_within_nine_tenths_of_a_second():
    time = astropy_time(EPOCHS)
    axes = [GCRS(CartesianRepresentation(*(7000.0 * e) * u.km), obstime=time) for e in np.eye(3)]
    columns = [a.transform_to(ITRS(obstime=time)).cartesian.xyz.to_value(u.km).T / 7000.0 for a in axes]
    astropy = np.stack(columns, axis=-1)
    ours = np.stack([inertial_to_earth(epoch, T) for epoch in EPOCHS])
    assert angle(ours, astropy) < 0.9 * UT1_RATE + 3e-6  # and polar motion


def test_two_line_element_axes_agree_with_astropy_to_a_metre_in_low_orbit():
    r_km, v_km_s = np.array([5000.0, -3000.0, 4000.0]), np.array([3.0, 6.0, -2.0])
    for epoch in EPOCHS[::6]:
        time = astropy_time([epoch])[0]
        velocity = CartesianDifferential(*v_km_s * u.km / u.s)
        state = TEME(CartesianRepresentation(*r_km * u.km, differentials=velocity), obstime=time)
        gcrs = state.transform_to(GCRS(obstime=time)).cartesian
        R = teme_to_inertial(epoch, T)
        assert np.abs(turn(R, r_km) - gcrs.xyz.to_value(u.km)).max() < 1e-3
        rate = gcrs.differentials["s"].d_xyz.to_value(u.km / u.s)
        assert np.abs(turn(R, v_km_s) - rate).max() < 1e-6


def test_two_line_element_axes_agree_with_vallados_example_3_15_to_a_centimetre():
    teme_km = np.array([5094.18016210, 6127.64465950, 6380.34453270])
    gcrf_km = np.array([5102.50895790, 6123.01140070, 6378.13692820])
    R = teme_to_inertial(Epoch("2004-04-06T07:51:28.386009"), 0.0)
    assert np.linalg.norm(turn(R, teme_km) - gcrf_km) < 1e-5


def test_nothing_opens_a_socket(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    EnvironmentTable.along(KeplerOrbit(7000e3, epoch="2029-12-31"), 60.0)
    TleOrbit(
        "1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753",
        "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667",
    ).at(0.0)
