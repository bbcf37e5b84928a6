"""What is recorded of a body in free space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.history import Signal
from gnc.loop import Moment
from gnc.models import rates
from gnc.scenarios.attitude.satellite import SatelliteState
from gnc.scenarios.attitude.signals import SIGNALS, honesty, momentum_gap, turn_deg

Array = Any
OF_MOTION = ("q_IB", "w_B_deg_s", "knowledge_error_deg", "sigma_deg", "rate_error_deg_s", "nees", "momentum_gap")
OF_CAPTURE = ("pointing_error_deg", "wheel_Nms", "wheel_torque_Nm")
ENERGY = Signal("1", "kinetic energy over that of the start, less 1")

FREE_SIGNALS = {name: SIGNALS[name] for name in OF_MOTION} | {"energy_gap": ENERGY}
CAPTURE_SIGNALS = {name: SIGNALS[name] for name in (*OF_MOTION, *OF_CAPTURE)}


@dataclass(frozen=True)
class MotionObserver:
    """Turns a moment into the signals of a body that turns, whether it is controlled or not."""

    start: SatelliteState
    read: Callable[[Any], Any]  # belief -> attitude and rate

    def __call__(self, moment: Moment) -> dict[str, Any]:
        """Return the values of these signals."""
        x = moment.truth
        q_IB, w_B = self.read(moment.belief)
        return {
            "q_IB": x.q_IB,
            "w_B_deg_s": np.degrees(x.w_B),
            "knowledge_error_deg": turn_deg(q_IB, x.q_IB),
            "rate_error_deg_s": np.degrees(x.w_B - w_B),
            "momentum_gap": momentum_gap(x.q_IB, x.P_B, self.start.q_IB, self.start.P_B, x.impulse_I),
        } | honesty(moment.belief, x)


@dataclass(frozen=True)
class FreeObserver(MotionObserver):
    """The same of a free tumble, whose energy is that of the start."""

    J: Array  # (..., 3, 3) true

    def __call__(self, moment: Moment) -> dict[str, Any]:
        """Return the values of all signals."""
        energy, first = (rates.kinetic_energy(x.w_B, self.J) for x in (moment.truth, self.start))
        return super().__call__(moment) | {"energy_gap": energy / first - 1.0}
