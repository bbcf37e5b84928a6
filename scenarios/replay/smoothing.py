"""Smoothing of a whole log by `gnc.estimators.smoothing.rts`, with flat memory.

Forwards, the filter leaves its state before every span of ticks, and the ticks wait in a file. Backwards, span by span,
it flies them once more and tells its predictions and their F. With a lag, the way back begins as much later as the lag
asks for.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np

from gnc.estimators.smoothing import Node, State, rts
from gnc.scenarios.replay.filter_protocol import ReplayFilter
from gnc.scenarios.replay.run import Runner
from gnc.scenarios.replay.ticks import Span, cut
from gnc.trees import mapped

Array = Any

STATE = ("belief", "now", "_gated_from", "_agreed", "_doubts")  # of a runner that begins again


class Spool:
    """Things in a file without a name, any of which is read again."""

    def __init__(self, folder: Path) -> None:
        self._file, self._places = TemporaryFile(dir=folder), list[int]()  # noqa: SIM115 - as long as the runner

    def __len__(self) -> int:
        return len(self._places)

    def append(self, thing: Any) -> None:
        """Write a thing behind the others."""
        self._places.append(self._file.seek(0, 2))
        pickle.dump(thing, self._file, protocol=5)

    def __getitem__(self, i: int) -> Any:
        self._file.seek(self._places[i])
        return pickle.load(self._file)  # noqa: S301 - written by this process


class Flown(NamedTuple):
    """Ticks as the filter flew them, all with the ticks first."""

    after: Any
    C: Array
    parts: tuple[Array, ...]  # of the chart, after the corrections
    C_predicted: Array
    predicted: tuple[Array, ...]
    F: Array


class SmoothingRunner(Runner):
    """A runner whose estimates use what follows too."""

    def smooth_into(self, folder: Path, lag_s: float | None) -> None:
        """Tell where files wait, and how much of what follows is used: all, if there is no lag."""
        self._lag_s, self._lost, self._ends = lag_s, False, list[float]()
        self._spans, self._smoothed = Spool(folder), Spool(folder)

    def take(self, span: Span) -> None:
        """Take ticks forwards: innovations are recorded, and when there will be estimates."""
        while len(span.t) and not self._lost:
            n = len(span.t)
            if self._lag_s is not None:
                n = max(int(np.searchsorted(span.t, span.t[0] + self._lag_s, side="right")), 1)
            state = {name: getattr(self, name) for name in STATE}
            super().take(span.part(0, n))
            if not self._lost:
                self._spans.append((span.part(0, n), state, self._fresh))
                self._fresh = False
                self._ends.append(float(span.t[n - 1]))
            span = span.part(n, len(span.t))

    def _note(self, t: Array, beliefs: Any) -> None:
        """Write no estimate yet; a filter that is lost ends the log before the span."""
        lost = ~np.isfinite(beliefs.C).all(axis=(-1, -2))
        if lost.any() and not self._lost:
            self._lost, self._results.lost_s = True, float(t[lost][0])

    def finish(self) -> None:
        """Go back, and write in order of time."""
        super().finish()
        end = {name: getattr(self, name) for name in STATE}
        for i in range(len(self._spans) - 1, -1, -1):
            self._smoothed.append(self._back(i))
        vars(self).update(end)
        for i in range(len(self._smoothed) - 1, -1, -1):
            t, beliefs = self._smoothed[i]
            self._results.write({"t": t, **self._filter.columns(beliefs)})

    def _back(self, i: int) -> tuple[Array, Any]:
        """Return times and beliefs of a span, smoothed."""
        if self._lag_s is not None:
            self._following = None
            ahead = int(np.searchsorted(self._ends, self._ends[i] + self._lag_s))
            for j in range(min(ahead, len(self._ends) - 1), i, -1):
                self._flown_back(j)
        span, smoothed = self._flown_back(i)
        return span.t[span.noted], mapped(lambda x: x[span.noted], smoothed)

    def _flown_back(self, i: int) -> tuple[Span, Any]:
        span, state, fresh = self._spans[i]
        vars(self).update(state)
        flown = self._fly(span)
        parts, C, following = smoothed(self._filter, flown, self._following)
        self._following = None if fresh else following  # what follows a gap does not tell what was before
        return span, self._filter.moved(flown.after, parts, C)

    _following: tuple[Node, State, Array] | None = None

    def _fly(self, span: Span) -> Flown:
        """Fly a span once more."""
        flown: list[Flown] = []
        for part, (after, _, predicted, (held, coasted)) in self.passed(span, slopes=True):
            n = len(part.t)
            C = np.array(after.C[:n])
            C[n - 1] = self.belief.C  # which may have grown
            parts = [cut(self._filter.parts(belief), n) for belief in (after, predicted)]
            flown.append(Flown(cut(after, n), C, parts[0], predicted.C[:n], parts[1], coasted[:n] @ held[:n]))
        return _joined(flown)


def _joined(trees: Sequence[Any]) -> Any:
    if not isinstance(trees[0], tuple):
        return np.concatenate(trees)
    parts = [_joined(part) for part in zip(*trees, strict=True)]
    return type(trees[0])(*parts) if hasattr(trees[0], "_fields") else tuple(parts)


def smoothed(
    filter_: ReplayFilter, flown: Flown, following: tuple[Node, State, Array] | None
) -> tuple[State, Array, tuple[Node, State, Array]]:
    """Return parts and covariances of ticks, and what the ticks before them ask of the first.

    That is how it was predicted (a node whose own state is theirs to fill in), and its smoothed state.
    """
    at = lambda parts, k: tuple(part[k] for part in parts)  # noqa: E731
    ahead = [Node((), C, F, tuple(x), C) for C, F, *x in zip(flown.C_predicted, flown.F, *flown.predicted, strict=True)]
    nodes = [*ahead[1:], *([following[0]] if following else [])]
    last = following[1:] if following else (at(flown.parts, -1), flown.C[-1])
    nodes = [n._replace(x=at(flown.parts, k), C=flown.C[k]) for k, n in enumerate(nodes)]
    found = list(rts(filter_.chart, nodes, last))[bool(following) :][::-1]
    parts = tuple(np.array(part) for part in zip(*(x for x, _ in found), strict=True))
    return parts, np.array([C for _, C in found]), (ahead[0], *found[0])
