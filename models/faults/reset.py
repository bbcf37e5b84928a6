"""A computer that resets."""

from __future__ import annotations

from typing import Literal

from gnc.models.faults.base import FaultPart


class ResetFault(FaultPart):
    """The computer of a craft resets at `from_s`: its filter forgets all and searches anew."""

    kind: Literal["reset"] = "reset"
