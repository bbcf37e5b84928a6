"""A watch of the user's own."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gnc.contract import source_name
from gnc.errors import PartError
from gnc.estimators.fdir.base import Fdir, FdirPart
from gnc.models.known import Known
from gnc.parts import OwnPart


class OwnWatch(Fdir):
    """A user's class, which may leave methods out."""

    def __init__(self, own: Any) -> None:
        for name in ("start", "innovation", "telemetry", "excluded"):
            if hasattr(own, name):
                setattr(self, name, getattr(own, name))


class OwnFdir(OwnPart, FdirPart):
    """A watch of your own: a class with start(trials) -> memory and excluded(memory) -> {part: 1 where left out}.

    It sees by innovation(memory, name, valid, made, t) -> memory, telemetry(memory, command, report, t, h) -> memory.
    It is given J, sensors, actuators, sky, h, period_s, trials if its constructor asks for them by these names.
    """

    kind: Literal["own"] = "own"

    def build(self, known: Known) -> OwnWatch:
        """Return the watch."""
        own = self.made(**known.offered())
        sizes = {**dict.fromkeys(known.sensors, ()), **{name: (e.size,) for name, e in known.effectors.items()}}
        for name, out in own.excluded(own.start(known.trials)).items():
            wanted = (known.trials, *sizes[name]) if name in sizes else None
            if wanted != np.shape(out):
                expected = f"an array {wanted}" if wanted else f"one of {', '.join(sizes)}"
                told = f"expected {expected}, received {name} {np.shape(out)}"
                raise PartError(source_name(self.component.source), "excluded", told)
        return OwnWatch(own)
