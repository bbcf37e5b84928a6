"""The settings of the flights before parting."""

from typing import NamedTuple

import numpy as np

from gnc.scenarios.papers.dqvi.data import Array


class Setting(NamedTuple):
    """One of the paper's settings: rate, frames per second, duration."""

    w_B: tuple[float, float, float]
    fps: int
    seconds: int = 240
    keep: int = 1  # every so many frames
    order4_fps: int = 0  # frames per second of the fourth order; 0: as the others
    reference_fps: int = 1920

    @property
    def name(self) -> str:
        """The paper's name of the rate, and the frames."""
        return f"{''.join(f'{w:g}' for w in self.w_B)} at {self.fps} fps"

    @property
    def round_off_m(self) -> float:
        """What round-off may make of the centre of mass: the momentum walks at random, its integral as time^1.5."""
        return 5e-11 * (self.seconds / 240) ** 1.5

    @property
    def t(self) -> Array:
        """The kept times [s]."""
        return np.arange(0, self.seconds * self.fps + 1, self.keep) / self.fps


SLOW = Setting((1.0, 1.0, 1.0), fps=10)
FAST = Setting((1.0, 1.0, 1.0), fps=60, keep=2)
QUICK = Setting((3.0, 3.0, 3.0), fps=60, keep=2)
LOCKING = Setting((3.0, 2.0, 1.0), fps=60, keep=2)
# 12 fps of the fourth order take as many solutions of the equation as 60 fps of the second.
LONG = Setting((1.0, 1.0, 1.0), fps=60, seconds=10_800, keep=120, order4_fps=12, reference_fps=480)
