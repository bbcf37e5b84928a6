"""What happens once in a flight, at its own time in each trial: separation, capture, contact, a mode that changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

State = Any


@dataclass(frozen=True)
class Event:
    """Something that may happen after a step of the truth, once per trial."""

    name: str
    happens: Callable[[State, float], np.ndarray]  # (truth, time) -> (trials) bool
    act: Callable[[State, float], State] = lambda x, t: x  # what becomes of the truth; taken only where it happens


class Happened(dict[str, np.ndarray]):
    """When each event happened, per trial; NaN: not yet. Empty until the first step."""

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__({event.name: np.array(np.nan) for event in events})


def after(events: Sequence[Event], happened: Happened, x: State, t: float) -> State:
    """Return the truth after the events of this moment, and note their time."""
    for event in events:
        now = np.asarray(event.happens(x, t)) & np.isnan(happened[event.name])
        happened[event.name] = np.where(now, t, happened[event.name])
        if now.any():
            x = chosen(now, event.act(x, t), x)
    return x


def chosen(which: np.ndarray, first: State, second: State) -> State:
    """Return the first state in the trials that are chosen, the second in the others."""
    if isinstance(first, tuple):
        parts = [chosen(which, a, b) for a, b in zip(first, second, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    if first is second:
        return first
    first, second = np.asarray(first), np.asarray(second)
    return np.where(which.reshape(which.shape + (1,) * (max(first.ndim, second.ndim) - which.ndim)), first, second)
