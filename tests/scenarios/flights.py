"""Short flights of scenarios, for their tests."""

import numpy as np

from gnc.config import override
from gnc.scenarios.catalogue import scenario
from gnc.scenarios.scenario import fly


def configured(name, *settings):
    config = scenario(name).Config()
    return override(config, list(settings)) if settings else config


def flown(name, seed, trials, *settings):
    """Return configuration and flight of some trials, by their numbers or how many."""
    config = configured(name, *settings)
    which = np.arange(trials) if isinstance(trials, int) else np.array(trials)
    return config, fly(scenario(name), config, seed, which)


def judged(name, seed, trials, *settings):
    return scenario(name).judge(*flown(name, seed, trials, *settings))


def failed(verdict):
    return [check.name for check in verdict.checks if not check.ok]


def same_bits(many, one, place):
    """Tell whether a trial flown alone has the bits it has at a place of a batch."""
    return all(
        np.array_equal(many[name].values if "trial" not in many[name].dims else many[name].values[place : place + 1],
                       one[name].values, equal_nan=True)
        for name in many.data_vars
    )  # fmt: skip


def judged_from_what_it_names(name, seed, trials, *settings):
    """Return the verdict on a flight of which only the signals that are judged were kept."""
    found, config = scenario(name), configured(name, *settings)
    return found.judge(config, fly(found, config, seed, np.arange(trials), only=found.judged))
