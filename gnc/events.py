"""What happens once in a flight, at its own time in each trial: separation, capture, contact, a mode that changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch import chosen, when

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


def after(events: Sequence[Event], happened: Happened, x: State, t: Any, part: Callable[..., Any]) -> State:
    """Return the truth after the events of this moment, and note their time; `part` calls what an event consists of."""
    for event in events:
        before = happened[event.name]
        now = part(f"event {event.name}", event.happens, x, t) & (before != before)
        happened[event.name] = chosen(now, t, before)
        x = when(now, part, (f"act of event {event.name}", event.act, x, t), x)
    return x
