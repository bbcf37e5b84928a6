"""Short flights of missions, for their tests."""

import numpy as np

from gnc.scenarios.missions.load import read


def flown(name, seed, trials, *settings, **options):
    """Return the flight of some trials, by their numbers or how many."""
    return read(name, settings).fly(trials, seed, **options)


def judged(name, seed, trials, *settings):
    return flown(name, seed, trials, *settings).verdict


def failed(verdict):
    return [check.name for check in verdict.checks if not check.ok]


def same_bits(many, one, place):
    """Tell whether a trial flown alone has the bits it has at a place of a batch."""
    return all(
        np.array_equal(many[name].values if "trial" not in many[name].dims else many[name].values[place : place + 1],
                       one[name].values, equal_nan=True)
        for name in many.data_vars
    )  # fmt: skip
