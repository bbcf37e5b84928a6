"""The first heading of an inertial filter that only gravity tells its attitude: the likeliest of a ring.

A Kalman filter that begins 60 deg off takes its first corrections along wrong directions and is soon too sure of them.
So the log is begun with HEADINGS at once, candidates of one batch, until the innovations prefer one of them to all that
are more than RIVAL away by DECIDED of log-likelihood. The filter then begins there, near enough to be linear.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.inertial import UNKNOWN
from gnc.scenarios.replay.likelihood import Sums, batched
from gnc.scenarios.replay.session import connect

Array = Any

HEADINGS = np.radians(np.arange(-180.0, 180.0, 15.0))
SIGMA = np.radians(10.0)  # of each
RIVAL, DECIDED = np.radians(50.0), 20.0
MOST_INNOVATIONS = 50_000  # in which the motion may tell the heading


def likeliest(log: Path, config: Replay) -> tuple[Array, float]:
    """Return the heading to begin with, from that of the attitude by gravity alone, and its sigma."""
    best: int | None = None
    with TemporaryDirectory() as folder:
        session = connect(log, config, Path(folder), (HEADINGS, SIGMA))
        sums = Sums(session.config.filter.gate_probability)
        runner = batched([session], sums, len(HEADINGS))
        try:
            for block in session.blocks():
                runner.run(session.paired(block))
                t, terms = sums.found()
                if (best := _decided(terms)) is not None or len(t) > MOST_INNOVATIONS:
                    break
        finally:
            session.dropped.close(False)
            session.results.close(False)
    return (np.zeros(1), UNKNOWN) if best is None else (HEADINGS[best : best + 1], SIGMA)


def _decided(terms: Array) -> int | None:
    """Return the candidate that leads all others but its neighbours."""
    total = np.nan_to_num(terms.sum(axis=0), nan=-np.inf)
    if len(total) < len(HEADINGS):
        return None
    best = int(np.argmax(total))
    away = np.abs(np.angle(np.exp(1j * (HEADINGS - HEADINGS[best])))) > RIVAL
    return best if total[best] - total[away].max() > DECIDED else None
