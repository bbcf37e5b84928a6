"""Artificial flights that worker processes can import."""

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gnc import noise
from gnc.montecarlo import sampling
from gnc.montecarlo.dispersions import LogNormal, Normal

STEPS = 20
CONFIGURATION = {"walk": {"gain": 2.0, "bias": 0.5}}
DISPERSIONS = {
    "gain": LogNormal(kind="log-normal", key="walk.gain", sigma=0.2),
    "bias": Normal(kind="normal", key="walk.bias", sigma=0.1),
}


@dataclass(frozen=True)
class Walk:
    """A random walk whose steps scale with a dispersed gain."""

    seed: int = 1
    total: int = 100
    delay_s: float = 0.0
    lost: tuple[int, ...] = ()

    def fly(self, trials):
        time.sleep(self.delay_s)
        fields = sampling.draw(DISPERSIONS, CONFIGURATION, self.seed, trials, self.total)
        z = noise.normal(self.seed, trials, "walk", (STEPS, 2))
        x = fields["walk.bias"][:, None] + np.cumsum(fields["walk.gain"][:, None] * z[:, :, 0], axis=1)
        lost = np.array(["step limit" if trial in self.lost else "" for trial in trials])
        x[lost != ""] = np.nan
        return {
            "error": x,
            "nees": z[:, :, 0] ** 2 + z[:, :, 1] ** 2,
            "final": x[:, -1],
            "steps": np.full(len(trials), STEPS),
            "success": np.abs(x[:, -1]) < 10.0,
            "lost": lost,
            **sampling.columns(fields),
        }


@dataclass(frozen=True)
class KillsItsWorker:
    """Kills the process it flies in with -9, once for each of some trials; files tell whether it did."""

    inner: Walk
    folder: Path
    at: tuple[int, ...] = field(default=(20,))

    def fly(self, trials):
        for trial in set(trials.tolist()) & set(self.at):
            mark = self.folder / f"killed-at-{trial}"
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return self.inner.fly(trials)


@dataclass(frozen=True)
class AlwaysKillsItsWorker:
    """Never lets a worker finish."""

    def fly(self, trials):
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Coin:
    """Succeeds with a probability."""

    seed: int
    probability: float

    def fly(self, trials):
        return {"success": noise.uniform(self.seed, trials, "coin") < self.probability}
