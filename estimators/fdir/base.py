"""What every kind of FDIR (failure detection, isolation, recovery) gives flight software."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.parts import Part
from gnc.typing import Array


class Fdir:
    """Watches what is measured and what actuators tell, and says what is to be left out.

    The memory is an array (trials, numbers), or a NamedTuple of such. Everything is said by the names of the craft's
    parts. What is left out is not given to the filter, and not commanded.
    """

    of_filter: ClassVar[bool] = False  # whether its memory, an array, means nothing to a filter that begins anew

    def start(self, trials: int) -> Any:
        """Return the memory before the flight."""
        return np.zeros((trials, 0))

    def innovation(self, memory: Any, name: str, valid: Array, made: Any, t: Any) -> Any:
        """Return the memory after a measurement; `made` has y, S, nis, used, those too of a sensor that is left out."""
        return memory

    def telemetry(self, memory: Any, command: Mapping[str, Array], report: Report, t: Any, h: Any) -> Any:
        """Return the memory after h under commands by actuator; `report.effectors` are states at the end."""
        return memory

    def excluded(self, memory: Any) -> Mapping[str, Array]:
        """Return 1 for what is left out: (trials,) of a sensor, (trials, members) of an actuator."""
        return {}


class FdirPart(Part):
    """What watches for failures, and leaves out what has failed."""

    slot: ClassVar[str] = "fdir"

    def build(self, known: Known) -> Fdir:
        """Return the watch."""
        raise NotImplementedError
