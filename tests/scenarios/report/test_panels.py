"""Plots of flights that have no numbers in places: what is known is drawn, what is not leaves a gap, nothing warns.

One test for each guard against NaN in `panels.py`; each was seen to fail without it.
"""

import warnings
from functools import partial

import numpy as np
import pytest

from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.plots import figure
from gnc.scenarios.plots import panels as draw_panels
from gnc.scenarios.report.panels import Panels, label_of, steep, varies
from gnc.scenarios.report.plot import Plot, Series, Shade

ERROR, WHEELS = "sat.pointing_error_deg", "sat.wheels.torque_Nm"


@pytest.fixture(scope="module")
def flight():
    asked = {"e": {"signal": ERROR, "at_most": 1.0}, "lost": {"kind": "lost"}}
    changes = {"run": {"duration_s": 12.0, "record_s": 1.0}, "requirements": asked}
    changes |= {"events": {"slowed": {"kind": "slow", "of": "sat", "rate_deg_s": 1e-9}}}
    return Mission.like("pointing", changes).fly(3, 1)


@pytest.fixture
def panels(flight):
    """The plots of a flight whose numbers a test may take away; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield Panels(flight.mission, flight.signals.copy(deep=True))


def named(plots, words):
    return [plot for plot in plots if words in plot.title]


def test_a_signal_that_has_gaps_is_drawn_and_one_that_has_no_numbers_is_not(panels):
    signal = panels.flight[ERROR]
    signal.values[:, ::5] = np.nan
    plots = named(panels.target(), signal.attrs["long_name"])
    assert plots and all(np.isnan(plot.series[0].y).sum() == 3 for plot in plots)
    signal.values[:] = np.nan
    assert not named(panels.target(), signal.attrs["long_name"])


def test_whether_a_signal_varies_or_spans_decades_its_numbers_say():
    assert varies(np.array([[np.nan, 1.0, 2.0]])) and not varies(np.array([[np.nan, 1.0, 1.0], [np.nan] * 3]))
    assert steep(np.array([np.nan, 0.01, 0.01, 1.0])) and not steep(np.full(3, np.nan))


def test_where_no_trial_has_a_nees_there_is_neither_a_mean_nor_a_band(panels):
    panels.flight["sat.nees"].values[:, 3:6] = np.nan
    panels.flight["sat.nees"].values[0] = np.nan
    band, mean, own = next(plot for plot in panels.nees() if "sat" in plot.title).series
    gap = np.isin(np.arange(len(mean.y)), [3, 4, 5])
    assert (np.isnan(mean.y) == gap).all() and (np.isnan(band.lower) == gap).all() and np.isnan(own.y).all()


def test_the_limit_of_an_actuator_is_drawn_though_one_trial_is_lost(panels):
    torque = panels.flight[WHEELS]
    limit = next(limit for name, _, limit in panels.used() if name == WHEELS)
    torque.values[:] = 0.5 * limit
    torque.values[1, 4:] = np.nan
    (plot,) = named(panels.actuators(), torque.attrs["long_name"])
    assert plot.bounds["limit"] == limit
    torque.values[:] = np.nan
    (plot,) = named(panels.actuators(), torque.attrs["long_name"])
    assert not plot.bounds


def test_arithmetic_of_signals_has_the_name_of_the_signal_and_the_unit_of_what_asks_it():
    mission = Mission.like("rendezvous")
    assert label_of(mission, "1000 * position_error_m") == "position error [mm]"
    assert label_of(mission, "chaser.knowledge_error_deg") == "knowledge error [deg]"


def test_a_figure_explains_each_shade_where_it_comes_first():
    t, band = np.arange(3.0), [Shade("eclipse", [(0.0, 1.0)], "#667085")]
    line = [Series("it", t)]
    plots = [Plot("first", "t", "y", t, line), Plot("then", "t", "y", t, line, shades=band)]
    drawn = figure(partial(draw_panels, title="", plots=plots))
    texts = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in drawn.axes if axes.get_legend()]
    assert ["eclipse" in words for words in texts] == [False, True]


def test_an_event_that_never_happened_has_no_mark(panels):
    assert np.isnan(panels.flight["t_slowed"].values).all()
    assert "slowed" not in [shade.name for shade in panels.shades("sat")]
    panels.flight["t_slowed"].values[:] = 3.0
    assert [shade.spans for shade in panels.shades("sat") if shade.name == "slowed"] == [[(3.0, 3.0)]]
